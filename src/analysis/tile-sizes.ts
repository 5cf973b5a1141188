/** Constexprs that a caller passes and that are tile dimensions. A launch checks them as the build checks configs. */
import { compiledOps } from "./compiled-ops.js";
import type { ConstexprParam, KernelIR } from "../ir/nodes.js";
import { typedArguments } from "../ir/typed.js";
import { resultsOf } from "../ir/walk.js";

export interface TileSize {
  /** A tile dimension, so it must be a power of two. */
  readonly param: ConstexprParam;
  /** The smallest value that an op accepts, such as for the inner dimension of a dot. */
  readonly least: number;
}

export function tileSizes(ir: KernelIR): readonly TileSize[] {
  const dimensions = new Set<number | string>();
  const least = new Map<number | string, number>();
  for (const statement of compiledOps(ir)) {
    for (const { type } of resultsOf(statement))
      if (type.kind === "tile") for (const dim of type.shape) dimensions.add(dim);
    for (const bound of statement.op.needs.least?.(typedArguments(statement)) ?? [])
      least.set(bound.dim, Math.max(bound.least, least.get(bound.dim) ?? 1));
  }
  return ir.params.flatMap((param) =>
    param.kind === "constexpr" && (param.from === "dim" || param.from === "argument") && dimensions.has(param.name)
      ? [{ param, least: least.get(param.name) ?? 1 }]
      : [],
  );
}
