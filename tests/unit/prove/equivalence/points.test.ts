/** The terms of kernels and of references, compared with the evaluator element by element at small sizes. */
import { expect, test } from "vitest";
import { signatureOf } from "../../../../src/codegen/module/signature.js";
import { describeUnsupported, inputsOf } from "../../../../src/eval/evaluate-case.js";
import { evaluateKernel } from "../../../../src/eval/evaluate-kernel.js";
import { Bindings, launchOf } from "../../../../src/eval/bindings.js";
import { tensorsOf, type KernelIR, type TensorParam } from "../../../../src/ir/nodes.js";
import { Budget } from "../../../../src/prove/algebra/budget.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { normalizerOf, scopeOf, storedCases, storesTo } from "../../../../src/prove/equivalence/compare.js";
import { STEPS } from "../../../../src/prove/equivalence/integer-form.js";
import { NoRule } from "../../../../src/prove/equivalence/rational.js";
import { withAtoms, type Case } from "../../../../src/prove/equivalence/polynomial.js";
import { casesReal } from "../../../../src/prove/equivalence/loops.js";
import { TorchReference } from "../../../../src/prove/equivalence/torch-reference.js";
import { FactScopes } from "../../../../src/prove/model/fact-scopes.js";
import { modelOf, type SymbolicModel } from "../../../../src/prove/model/model.js";
import { number, withTermTable } from "../../../../src/symbolic/term.js";
import { evaluateReference } from "../../../../src/torch/evaluate-torch.js";
import { examples } from "../../../support/examples.js";
import { isFullRun, sampleCases } from "../../../support/sampled-tests.js";
import { RealValuation } from "../../../support/real-valuation.js";
import { smallLaunch, valuesOf } from "../../../support/small-launch.js";
import { checkedOf, loweredOf, traced } from "../../../support/traced-examples.js";

/** The elements of an output that are compared. */
const MAX_ELEMENTS = 12;

const tested = sampleCases("terms of examples", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => [`examples/${name}.ts`],
  isWhole: true,
});
const kernels = tested.flatMap(({ name, kernel }) => {
  const { ir, operator } = traced(kernel);
  return (operator?.kernels ?? [ir]).map((each) => ({ name: `${name} ${each.name}`, ir: each }));
});

/** Indices of a shape, spread over all of its elements. */
function indicesOf(shape: readonly number[]): readonly (readonly number[])[] {
  const total = shape.reduce((a, b) => a * b, 1);
  const step = Math.max(1, Math.floor(total / MAX_ELEMENTS));
  return Array.from({ length: Math.min(total, MAX_ELEMENTS) }, (_, i) => {
    let position = (i * step) % total;
    return shape
      .toReversed()
      .map((size) => {
        const digit = position % size;
        position = Math.floor(position / size);
        return digit;
      })
      .toReversed();
  });
}

interface Side {
  readonly cases: readonly Case[];
  readonly reference: ReturnType<TorchReference["tensor"]> | undefined;
}

/** The terms of the last store to an output that has a rule, and of its reference. */
function sidesOf(ir: KernelIR, model: SymbolicModel, output: TensorParam): readonly Side[] {
  const stores = storesTo(model, output);
  return stores.map(({ stored, use }) => {
    const budget = new Budget(...STEPS);
    const { normalizer, elements } = normalizerOf(stored, model, new FactScopes(model, budget), budget);
    use(normalizer);
    const cases = storedCases(stored, normalizer, elements);
    const { reference } = ir;
    const outputs = tensorsOf(ir, "out", "inout");
    const node = reference?.kind === "recorded" ? reference.outputs[outputs.indexOf(output)] : undefined;
    let tensor: Side["reference"];
    try {
      tensor = node && stores.length === 1 ? new TorchReference(scopeOf(ir, model)).tensor(node) : undefined;
      // A tensor without a rule for its elements says so when it is asked for one.
      tensor?.at(tensor.shape.map(() => number(0)));
    } catch (error) {
      if (!(error instanceof NoRule)) throw error;
      tensor = undefined;
    }
    return { cases, reference: tensor };
  });
}

const compared: string[] = [];

test.each(kernels)("$name: terms have the evaluator's values", ({ name, ir }) => {
  withTermTable(() =>
    withMonomials(() =>
      withAtoms(() => {
        const [config] = ir.tuning.configs;
        const model = modelOf(ir, checkedOf(ir), {});
        const launch = smallLaunch(ir, modelOf(ir, checkedOf(ir), {}));
        if (!launch || !config) return;
        const { testCase } = launch;
        if (describeUnsupported(ir, {}) !== undefined) return;
        const inputs = inputsOf(ir, signatureOf(loweredOf(ir)), testCase);
        const run = { ...launchOf(ir, testCase), inputs, absent: testCase.absent, unrounded: true };
        const { outputs, rounded } = evaluateKernel(ir, run);
        if (rounded.length > 0) return;
        const bindings = new Bindings(ir, launchOf(ir, testCase));
        const numbers = { ...bindings.sizes, ...bindings.scalars, ...bindings.constexprs };
        const values = valuesOf(ir, testCase);
        for (const output of tensorsOf(ir, "out")) {
          const written = outputs[output.name];
          if (!written) continue;
          let sides: readonly Side[];
          try {
            sides = sidesOf(ir, model, output);
          } catch (error) {
            if (error instanceof NoRule) continue;
            throw error;
          }
          if (sides.length !== 1) continue;
          const [{ cases, reference }] = sides as [Side];
          const missing = Object.fromEntries((testCase.absent ?? []).map((each) => [each, null]));
          const evaluated =
            reference && ir.reference?.kind === "recorded"
              ? evaluateReference(
                  ir.reference.outputs,
                  { ...(numbers as Record<string, number>), ...inputs, ...missing },
                  { unrounded: true },
                )
              : undefined;
          const position = tensorsOf(ir, "out", "inout").indexOf(output);
          for (const index of indicesOf(written.shape)) {
            const offset = index.reduce((sofar, each, axis) => sofar * written.shape[axis]! + each, 0);
            const point = new RealValuation(
              new Map([...values, ...index.map((each, axis) => [`i${axis}`, each] as const)]),
              inputs,
            );
            const kernelValue = point.value(casesReal(cases));
            if (kernelValue !== undefined) {
              compared.push(`kernel ${name} ${output.name}`);
              expect(kernelValue, `${name} ${output.name}[${index}]`).toBeCloseToReal(Number(written.data[offset]));
            }
            const wanted = evaluated?.[position];
            const referenceValue =
              reference &&
              point.value(reference.at(reference.shape.length === 0 ? [] : index.map((each) => number(each))));
            if (wanted && referenceValue !== undefined) {
              compared.push(`reference ${name} ${output.name}`);
              expect(referenceValue, `the reference of ${name} ${output.name}[${index}]`).toBeCloseToReal(
                Number(wanted.data[wanted.shape.length === 0 ? 0 : offset]),
              );
            }
          }
        }
      }),
    ),
  );
});

test.runIf(isFullRun())("most terms are compared, of both sides", () => {
  const of = (side: string) => [...new Set(compared)].filter((each) => each.startsWith(side)).length;
  expect(of("kernel")).toBeGreaterThanOrEqual(40);
  expect(of("reference")).toBeGreaterThanOrEqual(18);
});

expect.extend({
  toBeCloseToReal(received: number, expected: number) {
    // Both are NaN where a drawn value has no logarithm.
    const pass = Object.is(received, expected) || Math.abs(received - expected) <= 1e-9 * (1 + Math.abs(expected));
    return { pass, message: () => `${received} is not ${expected}` };
  },
});

declare module "vitest" {
  interface Assertion<T = any> {
    toBeCloseToReal(expected: number): T;
  }
}
