/** Random mistakes in the IR of examples: what is still called invariant has the same bits in launches of several sizes. */
import { expect, test } from "vitest";
import type { KernelIR } from "../../../../src/ir/nodes.js";
import { cachedProof, kernelInvariance } from "../../../../src/pipeline/proof.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { modelOf } from "../../../../src/prove/model/model.js";
import { withTermTable } from "../../../../src/symbolic/term.js";
import { mutate } from "../../../kernels/small-world/mutate.js";
import { drawn } from "../../../support/drawn.js";
import { examples } from "../../../support/examples.js";
import { differingBits } from "../../../support/invariance-bits.js";
import { drawnCount, seedOfRun } from "../../../support/sampled-tests.js";
import { smallLaunch } from "../../../support/small-launch.js";
import { checkedOf, loweredOf, traced } from "../../../support/traced-examples.js";

/** Small kernels of several kinds, whose proofs take little time. */
const MUTATED = new Set(
  "add-rms-norm cross-entropy flash-attention gemm-tma layer-norm paged-attention rms-norm rotary silu-mul softmax vector-add vector-sum".split(
    " ",
  ),
);
const kernels = examples
  .filter(({ name }) => MUTATED.has(name))
  .flatMap(({ kernel }) => {
    const { ir, operator } = traced(kernel);
    return operator?.kernels ?? [ir];
  });
/** No key chooses a config, so that most of them are invariant. */
const withoutKey = (ir: KernelIR): KernelIR => ({
  ...ir,
  tuning: { ...ir.tuning, configs: ir.tuning.configs.slice(0, 1) },
});

test("no mutant that is called invariant has other bits", { timeout: 3_600_000 }, () => {
  const first = seedOfRun() * 1000;
  const count = drawnCount("mutants of invariance", 400, 24);
  const tally = { mutants: 0, invariant: 0, compared: 0 };
  for (let seed = first; tally.mutants < count && seed < first + 20 * count; seed++) {
    const random = drawn(seed * 7919);
    random();
    const draw = (below: number): number => Math.floor(random() * below);
    const right = kernels[draw(kernels.length)]!;
    const mutant = mutate(withoutKey(right), draw);
    if (!mutant || !isTyped(mutant.ir)) continue;
    const { invariant, compared, differences } = invariantBits(mutant.ir);
    tally.mutants++;
    tally.invariant += invariant;
    tally.compared += compared;
    expect({ seed, what: `${right.name}: ${mutant.what}`, differences }).toMatchObject({ differences: [] });
  }
  console.log(tally);
  expect(tally.compared).toBeGreaterThan(0);
});

/** False if a change gives an op arguments that its rule refuses. */
function isTyped(ir: KernelIR): boolean {
  try {
    loweredOf(ir);
    return true;
  } catch {
    return false;
  }
}

function invariantBits(ir: KernelIR): { invariant: number; compared: number; differences: readonly string[] } {
  const lowered = loweredOf(ir);
  const proofs = kernelInvariance(ir, lowered, cachedProof(undefined, ir, lowered));
  const sizes = new Set(
    proofs.flatMap(({ sizes }) => sizes.filter(({ verdict }) => verdict.kind === "invariant").map(({ size }) => size)),
  );
  const launch = withTermTable(() => withMonomials(() => smallLaunch(ir, modelOf(ir, checkedOf(ir), {}))));
  const differences: string[] = [];
  let compared = 0;
  for (const size of launch ? sizes : []) {
    const outputs = proofs
      .filter(({ sizes }) => sizes.some((each) => each.size === size && each.verdict.kind === "invariant"))
      .map(({ output }) => output);
    const { difference, compared: count } = differingBits(ir, launch!.testCase, size, outputs);
    compared += count;
    if (difference !== undefined) differences.push(difference);
  }
  return { invariant: sizes.size, compared, differences };
}
