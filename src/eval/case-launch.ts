/** Launch arguments of a test case. */
import type { TestCase, Ranges } from "../compiled/compiled-kernel.js";
import { sizesWithoutTensor } from "../analysis/optional-sizes.js";
import type { KernelIR } from "../ir/nodes.js";
import { rangeOf } from "../ir/walk.js";
import { Bindings, type Launch } from "./bindings.js";

export function launchOf(ir: KernelIR, testCase: TestCase): Launch {
  const config = ir.tuning.configs[testCase.config];
  if (!config) throw new Error(`there is no config ${testCase.config}; ${ir.name} has ${ir.tuning.configs.length}`);
  const { dtypes, scalars, absent = [], gpu } = testCase;
  const zeros = sizesWithoutTensor(ir, absent).map((name) => [name, 0] as const);
  const sizes = { ...testCase.sizes, ...Object.fromEntries(zeros) };
  for (const [name, value] of Object.entries(testCase.constexprs ?? {}))
    if (name in config.values && config.values[name] !== value)
      throw new Error(
        `${name} is ${config.values[name]} in config ${testCase.config}, and a case gives ${value}; leave it out`,
      );
  return { sizes, dtypes, scalars, constexprs: { ...testCase.constexprs, ...config.values }, ...(gpu && { gpu }) };
}

/** The declared ranges in a test case: of tensor elements, scalars and constexprs. */
export function rangesOf(ir: KernelIR, testCase: TestCase): Ranges {
  const declared = ir.params.flatMap((param) => {
    const range = rangeOf(param);
    return range ? [[param.name, range] as const] : [];
  });
  // Fast path: most kernels declare no range.
  if (declared.length === 0) return {};
  const bindings = new Bindings(ir, launchOf(ir, testCase));
  return Object.fromEntries(
    declared.map(([name, range]) => [name, bindings.host(range).map(Number) as [number, number]]),
  );
}

/** Sizes of a test case by name, including derived sizes and dims that are constexprs. */
export function sizesOf(ir: KernelIR, testCase: TestCase): Readonly<Record<string, number>> {
  return { ...testCase.sizes, ...new Bindings(ir, launchOf(ir, testCase)).sizes };
}

/** Constexprs of a test case by name, including those computed by the launch. */
export function constexprsOf(ir: KernelIR, testCase: TestCase): Readonly<Record<string, number | boolean | string>> {
  const { constexprs } = new Bindings(ir, launchOf(ir, testCase));
  const entries = Object.entries(constexprs);
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}
