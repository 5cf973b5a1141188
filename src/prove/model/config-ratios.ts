/** Constexprs that have a constant ratio in all configs, such as `BLOCK_N = 2 * HALF_N`. One symbol represents both. */
import { type KernelIR, paramsOf } from "../../ir/nodes.js";
import { zip } from "../algebra/zip.js";

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
    .flatMap(({ name }) => {
      const values = configs.map((config) => Number(config.values[name]));
      const [first] = values;
      const isRelatable = values.every((each) => Number.isInteger(each) && each >= 1) && new Set(values).size > 1;
      return first !== undefined && isRelatable ? [{ name, first, values }] : [];
    })
    .toSorted((x, y) => x.first - y.first);
  const ratios = new Map<string, ConstexprRatio>();
  columns.forEach(({ name, first, values }, i) => {
    for (const base of columns.slice(0, i)) {
      const times = first / base.first;
      if (ratios.has(base.name) || !Number.isInteger(times)) continue;
      if (!zip(values, base.values).every(([value, baseValue]) => value === times * baseValue)) continue;
      ratios.set(name, { times, of: base.name });
      return;
    }
  });
  return ratios;
}
