/** Seeded mistakes in what kernels compute: what has the normal form of the right value has its numbers too. */
import { expect, test } from "vitest";
import { signatureOf } from "../../../../src/codegen/module/signature.js";
import { describeUnsupported, inputsOf } from "../../../../src/eval/evaluate-case.js";
import { tensorsOf, type KernelIR } from "../../../../src/ir/nodes.js";
import { Budget } from "../../../../src/prove/algebra/budget.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import {
  compareCases,
  normalizerOf,
  storedCases,
  storedReal,
  storesTo,
} from "../../../../src/prove/equivalence/compare.js";
import { STEPS } from "../../../../src/prove/equivalence/integer-form.js";
import { NoRule } from "../../../../src/prove/equivalence/rational.js";
import { withAtoms } from "../../../../src/prove/equivalence/polynomial.js";
import type { Real } from "../../../../src/prove/equivalence/real.js";
import { FactScopes } from "../../../../src/prove/model/fact-scopes.js";
import { modelOf } from "../../../../src/prove/model/model.js";
import { Valuation } from "../../../../src/prove/launch-search.js";
import { withTermTable } from "../../../../src/symbolic/term.js";
import { drawn } from "../../../support/drawn.js";
import { examples } from "../../../support/examples.js";
import { mutated, sizeOf } from "../../../support/mutations.js";
import { RealValuation } from "../../../support/real-valuation.js";
import { isFullRun, sampleCases } from "../../../support/sampled-tests.js";
import { smallLaunch, valuesOf } from "../../../support/small-launch.js";
import { checkedOf, loweredOf, traced } from "../../../support/traced-examples.js";

/** The number of mistakes in an output: in a small expression, and in a large one. */
const MISTAKES = { small: 80, large: 10 } as const;
const LARGE = 60;
const POINTS = 6;
const tally = { rejected: 0, unknown: 0, equivalent: 0, evaluated: 0 };

/** Examples of each kind of computation. */
const MUTATED = new Set(
  "add-layer-norm add-rms-norm all-reduce asin flash-attention gemm layer-norm rms-norm rotary silu-mul softmax softmax-rows vector-add vector-sum".split(
    " ",
  ),
);
const chosen = examples.filter(({ name }) => MUTATED.has(name));
const tested = sampleCases("mutants of examples", chosen, {
  key: ({ name }) => name,
  sources: ({ name }) => [`examples/${name}.ts`],
  isWhole: true,
});
const kernels = tested.flatMap(({ name, kernel }) => {
  const { ir, operator } = traced(kernel);
  return (operator?.kernels ?? [ir]).map((each) => ({ name: `${name} ${each.name}`, ir: each }));
});

test.each(kernels)("$name: no mistake is accepted", ({ name, ir }) => {
  withTermTable(() => withMonomials(() => withAtoms(() => mutate(name, ir))));
});

function mutate(name: string, ir: KernelIR): void {
  const model = modelOf(ir, checkedOf(ir), {});
  const launch = smallLaunch(ir, model);
  if (!launch || describeUnsupported(ir, {}) !== undefined) return;
  const { testCase } = launch;
  const inputs = inputsOf(ir, signatureOf(loweredOf(ir)), testCase);
  const sizes = valuesOf(ir, testCase);
  for (const output of tensorsOf(ir, "out"))
    for (const { stored, use } of storesTo(model, output)) {
      const budget = new Budget(...STEPS);
      const { normalizer, elements } = normalizerOf(stored, model, new FactScopes(model, budget), budget);
      use(normalizer);
      const { access } = stored;
      let right: ReturnType<typeof storedCases>;
      let real: Real;
      try {
        right = storedCases(stored, normalizer, elements);
        real = storedReal(stored);
      } catch (error) {
        if (error instanceof NoRule) continue;
        throw error;
      }
      const draw = drawn(name.length * 1000 + output.name.length);
      const drawPoint = drawn(11);
      for (let i = 0; i < (sizeOf(real) > LARGE ? MISTAKES.large : MISTAKES.small); i++) {
        const wrong = mutated(real, draw);
        const fresh = normalizerOf(stored, model, new FactScopes(model, budget), budget).normalizer;
        let isAccepted: boolean;
        try {
          storedCases(stored, fresh, elements);
          fresh.needs.splice(0);
          const cases = fresh.cases(wrong, []);
          isAccepted = compareCases(cases, right, fresh, []) === undefined;
        } catch (error) {
          if (!(error instanceof NoRule)) throw error;
          tally.unknown++;
          continue;
        }
        if (!isAccepted) {
          tally.rejected++;
          continue;
        }
        tally.equivalent++;
        let points = 0;
        for (let point = 0; point < POINTS; point++) {
          const at = new Map(sizes);
          const isDrawn = [...access.scope, ...access.lanes].every((variable) => {
            const range = model.environment.ranges.get(variable);
            const end = range ? new Valuation(at).integer(range.to) : 3;
            if (end === undefined) return false;
            at.set(variable, Math.floor(drawPoint() * Math.min(end, point < 3 ? end : 2)));
            return true;
          });
          const valuation = new Valuation(at);
          const holds = [access.mask, ...access.path].every((each) => valuation.truth(each) === true);
          if (!isDrawn || !holds) continue;
          const numbers = new RealValuation(at, inputs);
          let pair: readonly (number | undefined)[];
          try {
            pair = [real, wrong].map((each) => numbers.value(each));
          } catch (error) {
            if (error instanceof RangeError) continue;
            throw error;
          }
          const [expected, got] = pair;
          if (expected === undefined || got === undefined) continue;
          if (!Number.isFinite(expected) || !Number.isFinite(got)) continue;
          points++;
          expect(Math.abs(got - expected), `${name} ${output.name}: ${got} for ${expected}`).toBeLessThanOrEqual(
            1e-6 * (1 + Math.abs(expected)),
          );
        }
        if (points > 0) tally.evaluated++;
      }
    }
}

test.runIf(isFullRun())("there are enough mistakes", () => {
  expect(tally.rejected).toBeGreaterThanOrEqual(1000);
  expect(tally.evaluated).toBeGreaterThanOrEqual(300);
});
