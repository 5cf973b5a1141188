/** Constexprs that a caller passes and that are tile dims. A launch checks them as the build checks configs. */
import { compiledOps } from "./compiled-ops.js";
import { dtypeBindings, substitution } from "./dtype-bindings.js";
import { type ConstexprParam, type KernelIR, paramsOf } from "../ir/nodes.js";
import { type Substitution, typedArguments } from "../ir/typed.js";
import { resultsOf } from "../ir/walk.js";

export interface TileSize {
  /** A tile dimension, so it must be a power of two. */
  readonly param: ConstexprParam;
  /**
   * The smallest value that every op accepts for at least one combination of dtypes, such as for the inner dim of a
   * dot.
   */
  readonly least: number;
}

export function tileSizes(ir: KernelIR): readonly TileSize[] {
  const dimensions = tileDims(ir);
  const params = paramsOf(ir, "constexpr").filter(
    ({ from, name }) => (from === "dim" || from === "argument") && dimensions.has(name),
  );
  if (params.length === 0) return [];
  const minimums = dtypeBindings(ir).map((binding) => minimumSizes(ir, substitution(binding)));
  return params.map((param) => ({ param, least: Math.min(...minimums.map((sizes) => sizes.get(param.name) ?? 1)) }));
}

/** The numbers that are tile dims in every config: `tl.arange(0, 128)`. */
export const constantTileDims = (ir: KernelIR): readonly number[] =>
  [...tileDims(ir)].filter((dim): dim is number => typeof dim === "number" && dim > 1);

/** The dims of the tiles that every launch compiles. */
export function tileDims(ir: KernelIR): ReadonlySet<number | string> {
  const dimensions = new Set<number | string>();
  for (const statement of compiledOps(ir))
    for (const { type } of resultsOf(statement))
      if (type.kind === "tile") for (const dim of type.shape) dimensions.add(dim);
  return dimensions;
}

/** The smallest value that every op accepts for each dim, for one combination of dtypes. */
function minimumSizes(ir: KernelIR, bound: Substitution): ReadonlyMap<number | string, number> {
  const minimums = new Map<number | string, number>();
  for (const statement of compiledOps(ir))
    for (const { dim, minimum: size } of statement.op.needs.minimumDims?.(typedArguments(statement, bound)) ?? [])
      minimums.set(dim, Math.max(ir.limits.scaled(size), minimums.get(dim) ?? 1));
  return minimums;
}
