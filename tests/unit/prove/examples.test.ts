/** What is proved of the examples. */
import { expect, test } from "vitest";
import type { ProofProperty } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";
import { sampleCases, isFullRun } from "../../support/sampled-tests.js";
import { examples } from "../../support/examples.js";

const proved = new Map<ProofProperty, number>();
/** What they write, and where, is read from inputs. */
const INDEXED: ReadonlySet<string> = new Set(["grouped-gemm", "moe-gemm"]);

/** Numbers that nothing bounds decide an index: any stride of a pooling window. */
const UNBOUNDED: ReadonlySet<string> = new Set(["max-pool-3d"]);

const tested = sampleCases("proofs of examples", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => [`examples/${name}.ts`],
  isWhole: true,
});

test.each(tested)("nothing of $name is refuted", async ({ name, kernel }) => {
  const { obligations } = (await build(kernel)).proof();
  for (const { property, verdict } of obligations)
    if (verdict.kind === "proved") proved.set(property, (proved.get(property) ?? 0) + 1);
  expect(obligations.map(({ verdict }) => verdict.kind)).not.toContain("refuted");
  const open = obligations.filter(({ verdict }) => verdict.kind !== "proved");
  const left = UNBOUNDED.has(name) ? open.filter(({ property }) => property !== "overflow") : open;
  if (!INDEXED.has(name)) expect(left.map(({ property, of }) => `${property} of ${of}`)).toEqual([]);
});

test.runIf(isFullRun())("most of each property of the examples is proved for all shapes and configs", () => {
  const atLeast = (property: ProofProperty, count: number) =>
    expect(proved.get(property)).toBeGreaterThanOrEqual(count);
  atLeast("bounds", 137);
  atLeast("coverage", 36);
  atLeast("race", 42);
});
