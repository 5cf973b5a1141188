/** Outputs of examples that are called invariant have the same bits in launches of several sizes, in each config. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { tensorsOf } from "../../../../src/ir/nodes.js";
import { modelOf } from "../../../../src/prove/model/model.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { withTermTable } from "../../../../src/symbolic/term.js";
import { examples } from "../../../support/examples.js";
import { differingBits } from "../../../support/invariance-bits.js";
import { sampleCases } from "../../../support/sampled-tests.js";
import { smallLaunch } from "../../../support/small-launch.js";
import { checkedOf, traced } from "../../../support/traced-examples.js";

const tested = sampleCases("invariance of examples", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => [`examples/${name}.ts`],
});

test.each(tested)("$name", async ({ kernel }) => {
  const { ir, operator } = traced(kernel);
  const proofs = (await build(kernel)).invariance();
  for (const each of operator?.kernels ?? [ir]) {
    const launch = withTermTable(() => withMonomials(() => smallLaunch(each, modelOf(each, checkedOf(each), {}))));
    if (!launch) continue;
    for (const { output, sizes } of proofs.filter((proof) => proof.kernel === each.name))
      for (const { size, verdict } of sizes) {
        if (verdict.kind !== "invariant" || !tensorsOf(each, "out", "inout").some(({ name }) => name === output))
          continue;
        const { difference, compared } = differingBits(each, launch.testCase, size, [output]);
        expect({ output, size, difference }).toEqual({ output, size, difference: undefined });
        expect({ output, size, compared: compared > 0 }).toEqual({ output, size, compared: true });
      }
  }
});
