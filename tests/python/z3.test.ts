/**
 * z3 agrees with the proofs of the examples, as far as it settles them. It is installed from PyPI; without a connection
 * the tests are skipped. `npm run bench -- smt` gives it all scripts and more time.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { examples, sourcesOf } from "../support/examples.js";
import { toolFolder } from "../support/pip.js";
import { sampleCases } from "../support/sampled-tests.js";
import { type Agreement, agreementOf } from "../support/z3.js";

/** The number of scripts of a kernel, spread over its obligations. */
const MAX_SCRIPTS = 4;

const folder = await toolFolder("z3", "z3-solver").catch(() => undefined);
const z3 = join(folder ?? "", "z3");

const sampled = sampleCases("examples for z3", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => sourcesOf(name),
  minimum: 2,
  maximum: 4,
  hasOwnTests: true,
});

async function agreements(scripts: readonly string[]): Promise<readonly Agreement[]> {
  const answers: Agreement[] = [];
  const step = Math.max(1, Math.ceil(scripts.length / MAX_SCRIPTS));
  for (let i = 0; i < scripts.length; i += step) answers.push(await agreementOf(z3, scripts[i] ?? "", 1));
  return answers;
}

test.skipIf(!folder).each(sampled)("z3 contradicts no proof of $name", async ({ kernel }) => {
  const scripts = (await build(kernel))
    .smt()
    .flatMap(({ obligations }) => obligations.flatMap(({ config, scripts = [] }) => (config === 0 ? scripts : [])));
  expect(await agreements(scripts)).not.toContain("disagreed");
});

test.skipIf(!folder)("a wrong proof is found", async () => {
  const proved = ["(set-info :status unsat)", "(declare-const x (_ BitVec 8))", "(assert (bvslt x x))", "(check-sat)"];
  const wrong = proved.with(2, "(assert (bvslt x (bvadd x x)))");
  expect(await agreementOf(z3, proved.join("\n"), 10)).toBe("agreed");
  expect(await agreementOf(z3, wrong.join("\n"), 10)).toBe("disagreed");
});
