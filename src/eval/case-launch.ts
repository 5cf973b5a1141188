/** The launch values of a case. */
import type { TestCase, Ranges } from "../compiled/compiled-kernel.js";
import { sizesWithoutTensor } from "../analysis/optional-sizes.js";
import type { KernelIR } from "../ir/nodes.js";
import { rangeOf } from "../ir/walk.js";
import { Bindings, type Launch } from "./bindings.js";

export function launchOf(ir: KernelIR, at: TestCase): Launch {
  const config = ir.tuning.configs[at.config];
  if (!config) throw new Error(`there is no config ${at.config}; ${ir.name} has ${ir.tuning.configs.length}`);
  const { dtypes, scalars, absent = [], gpu } = at;
  const zeros = sizesWithoutTensor(ir, absent).map((name) => [name, 0] as const);
  const sizes = { ...at.sizes, ...Object.fromEntries(zeros) };
  for (const [name, value] of Object.entries(at.constexprs ?? {}))
    if (name in config.values && config.values[name] !== value)
      throw new Error(
        `${name} is ${config.values[name]} in config ${at.config}, and a case gives ${value}; leave it out`,
      );
  return { sizes, dtypes, scalars, constexprs: { ...at.constexprs, ...config.values }, ...(gpu && { gpu }) };
}

/** The declared ranges of a case: of tensors' elements, scalars and constexprs. */
export function rangesOf(ir: KernelIR, at: TestCase): Ranges {
  const declared = ir.params.flatMap((param) => {
    const range = rangeOf(param);
    return range ? [[param.name, range] as const] : [];
  });
  // Every evaluation asks, and few kernels declare any.
  if (declared.length === 0) return {};
  const bindings = new Bindings(ir, launchOf(ir, at));
  return Object.fromEntries(
    declared.map(([name, range]) => [name, bindings.host(range).map(Number) as [number, number]]),
  );
}

/** Sizes of a case by name, including derived ones and dims that are constexprs. */
export function sizesOf(ir: KernelIR, at: TestCase): Readonly<Record<string, number>> {
  return { ...at.sizes, ...new Bindings(ir, launchOf(ir, at)).sizes };
}

/** Constexprs of a case by name, including those that the launch computes. */
export function constexprsOf(ir: KernelIR, at: TestCase): Readonly<Record<string, number | boolean | string>> {
  const { constexprs } = new Bindings(ir, launchOf(ir, at));
  const entries = Object.entries(constexprs);
  return Object.fromEntries(entries.map(([name, each]) => [name, typeof each === "bigint" ? Number(each) : each]));
}
