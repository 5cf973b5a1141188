/** A small launch of a kernel, for tests of its terms. */
import type { TestCase } from "../../src/compiled/compiled-kernel.js";
import { Bindings, launchOf } from "../../src/eval/bindings.js";
import { estimateWork } from "../../src/eval/cost-estimate.js";
import { refusal } from "../../src/eval/refusal.js";
import { paramsOf, type KernelIR } from "../../src/ir/nodes.js";
import { integersOf, LaunchSearch, testCaseOf } from "../../src/prove/launch-search.js";
import type { SymbolicModel } from "../../src/prove/model/model.js";
import { loweredOf } from "./traced-examples.js";

const MAX_LANES = 1e6;
/** Tensors that the copy engine reads have rows of a multiple of 16 bytes. */
const ROW_MULTIPLE = 16;

/** A small launch, with the values of its symbols. Sizes of 1 hide which index is which, and sizes of 0 hide all. */
export function smallLaunch(
  ir: KernelIR,
  model: SymbolicModel,
): { testCase: TestCase; values: Map<string, number> } | undefined {
  const lowered = loweredOf(ir);
  const configs = ir.tuning.configs.map(({ values }, index) => ({ values, index }));
  const isSize = (name: string) => paramsOf(ir, "size").some((param) => param.name === name);
  const candidates = configs.flatMap(({ values, index }) =>
    [...new LaunchSearch(model.launch, model.launch.facts).sizes()].slice(0, 400).flatMap((sizes) =>
      [1, ROW_MULTIPLE].map((factor) => {
        const scaled = [...sizes].map(([name, size]) => [name, isSize(name) ? size * factor : size] as const);
        const all = new Map([...scaled, ...integersOf(values)]);
        return { testCase: testCaseOf(ir, index, all), values: all };
      }),
    ),
  );
  const isUsable = ({ testCase }: { testCase: TestCase }): boolean => {
    try {
      return refusal(lowered, testCase) === undefined && estimateWork(ir, testCase).lanes <= MAX_LANES;
    } catch {
      return false;
    }
  };
  const sizeOf = ({ testCase }: { testCase: TestCase }) => Object.values(testCase.sizes).reduce((a, b) => a * b, 1);
  const atLeast = (least: number) =>
    candidates
      .filter(({ testCase }) => Object.values(testCase.sizes).every((size) => size >= least))
      .toSorted((x, y) => sizeOf(x) - sizeOf(y));
  return [...atLeast(2), ...atLeast(1), ...candidates].find(isUsable);
}

/** The values of the symbols of a launch. */
export function valuesOf(ir: KernelIR, testCase: TestCase): Map<string, number> {
  const bindings = new Bindings(ir, launchOf(ir, testCase));
  const numbers = { ...bindings.sizes, ...bindings.scalars, ...bindings.constexprs };
  const values = new Map(
    Object.entries(numbers).flatMap(([key, value]) =>
      typeof value === "string" ? [] : [[key, Number(value)] as const],
    ),
  );
  for (const { given, name } of paramsOf(ir, "tensor"))
    if (given) values.set(`${given.parameter} given`, testCase.absent?.includes(name) ? 0 : 1);
  return values;
}
