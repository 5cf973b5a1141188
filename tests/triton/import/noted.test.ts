/** What noted launches say of a kernel with views: its grid by sizes, and what a launch has to meet. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import type { ReadKernel } from "../../../src/runtime/worker/protocol.js";
import { sampledTests } from "../../support/sampled-tests.js";
import type { ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { DEADLINE_MS, useImporter } from "./importer.js";

sampledTests("what noted launches say", "src/import/launch-facts");

const file = fileURLToPath(new URL("noted_kernels.py", import.meta.url));

const importer = useImporter();
let kernels: readonly ReadKernel[];

beforeAll(async () => {
  ({ kernels } = await importer.readLaunched(file));
}, DEADLINE_MS);

async function imported(name: string): Promise<ImportedKernel> {
  const read = kernels.find((each) => each.name === name)!;
  const made = await importer.imported(read, { lift: true });
  expect(made.status, made.text).toBe("equal");
  return made;
}

/** Of what the launches say, everything is proved. */
const verdicts = ({ built }: ImportedKernel): readonly string[] => [
  ...new Set(built!.proof().obligations.map(({ verdict }) => verdict.kind)),
];

it.each([
  ["rows", "grid: ({ M }) => [M],", "requires: ({ BLOCK, count }) => [BLOCK.ge(count)],"],
  ["blocks", "grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],", "requires: ({ M, BLOCK }) => [M.mod(BLOCK).eq(0)],"],
  ["per_head", "grid: ({ heads, M }) => [heads.mul(M)],", "requires: ({ N, D }) => [N.ge(D), D.ge(N)],"],
  ["clamped", "grid: ({ count, BLOCK }) => [tl.cdiv(count, BLOCK)],", "requires: ({ M, count }) => [M.ge(count)],"],
  ["backwards", "grid: () => [1],", "M.ge(STEPS)"],
])("should write the grid of %s by sizes, and what its accesses need", async (name, grid, requires) => {
  const made = await imported(name);
  expect(made.text).toContain(grid);
  expect(made.text).toContain(requires);
  expect(verdicts(made)).toEqual(["proved"]);
});

it("should leave an output that is not all written to the caller", async () => {
  const made = await imported("first_row");
  expect(made.text).toContain("tensor.inout(");
  expect(verdicts(made)).not.toContain("refuted");
});

it("should keep the pointer where launches contradict what its view needs", async () => {
  const made = await imported("squares");
  expect(made.text).toContain("x: pointer(tl.float32),");
  expect(made.accesses!.find(({ why }) => why !== undefined)?.why).toContain("out of bounds");
  expect(verdicts(made)).not.toContain("refuted");
});
