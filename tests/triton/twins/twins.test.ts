/**
 * The emitted kernels beside kernels written by hand, compiled for sm_90: no more than one instruction in a hundred more,
 * and none more in their loops. What is above is an entry of `pairs.ts` with its cause.
 */
import { expect, test } from "vitest";
import { sampleCases } from "../../support/sampled-tests.js";
import { tritonPythons } from "../../support/python.js";
import { comparePair } from "./compare.js";
import { nameOf, pairs } from "./pairs.js";

const tested = sampleCases("pairs of emitted and hand-written kernels", pairs, {
  key: nameOf,
  sources: ({ file, isPort, twin }) => [
    `${isPort ? "tests/kernels/ports" : "examples"}/${file}.ts`,
    `tests/triton/twins/${twin}.py`,
  ],
  maximum: 1,
  perRun: 4,
  hasOwnTests: true,
});

test.each(tested.map((pair) => [nameOf(pair), pair] as const))(
  "%s should have no more instructions than what a person writes",
  { timeout: 600_000 },
  async (_, { excess = {}, ...pair }) => {
    for (const { name, python } of await tritonPythons()) {
      const found = await comparePair(python, pair);
      for (const sizes of ["aligned", "odd"] as const) {
        const { cause: _cause, ...known } = excess[`${name} ${sizes}`] ?? {};
        expect({ triton: name, sizes, ...found[sizes] }).toEqual({ triton: name, sizes, ...known });
      }
    }
  },
);
