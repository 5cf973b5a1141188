/** Constexprs that have a constant ratio in all configs, such as `BLOCK_N = 2 * HALF_N`. One symbol represents both. */
import { type KernelIR, paramsOf } from "../../ir/nodes.js";

/** A constexpr as a multiple of another. */
export interface ConstexprRatio {
  readonly times: number;
  readonly of: string;
}

/**
 * The constexprs that are multiples of others, by name. Constexprs with the same value in all configs are not related.
 */
export function configRatios(ir: KernelIR): ReadonlyMap<string, ConstexprRatio> {
  const { configs } = ir.tuning;
  const columns = paramsOf(ir, "constexpr")
    .filter(({ from }) => from === "config")
    .map(({ name }) => ({ name, values: configs.map(({ values }) => Number(values[name])) }))
    .filter(({ values }) => values.every((each) => Number.isInteger(each) && each >= 1) && new Set(values).size > 1)
    .toSorted((x, y) => x.values[0]! - y.values[0]!);
  const ratios = new Map<string, ConstexprRatio>();
  columns.forEach(({ name, values }, i) => {
    for (const base of columns.slice(0, i)) {
      const times = values[0]! / base.values[0]!;
      if (ratios.has(base.name) || !Number.isInteger(times)) continue;
      if (!values.every((each, config) => each === times * base.values[config]!)) continue;
      ratios.set(name, { times, of: base.name });
      return;
    }
  });
  return ratios;
}
