/** Wrong kernels fail: on Triton's interpreter by their numbers, in the evaluator with the line that is to blame. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { build, type TestCase } from "tilescript";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { interpreter } from "../../support/cli.js";
import { maskDropped, right, tailUnmasked, wrongStride } from "./kernels.js";

const source = readFileSync(new URL("./kernels.ts", import.meta.url), "utf8").split("\n");
const lineOf = (mark: string) => source.findIndex((line) => line.includes(`// blame: ${mark}`)) + 1;

const at = (sizes: Record<string, number>): TestCase => ({ sizes, dtypes: {}, config: 0, seed: 3 });
// More columns than rows in B: its strides swapped leave it.
const odd = at({ M: 50, N: 60, K: 45 });

describe("the evaluator", () => {
  test("has nothing to say of the right kernel", async () => {
    const { findings, comparison } = (await build(right)).evaluate(odd);
    expect(findings).toEqual([]);
    expect(comparison?.correct).toBe(true);
  });

  test.each([
    [maskDropped, "mask", "out-of-bounds"],
    [tailUnmasked, "tail", "false-in-bounds"],
    [wrongStride, "strides", "out-of-bounds"],
  ])("$name is found at its line", async (kernel, mark, code) => {
    const { findings } = (await build(kernel)).evaluate(odd);
    const [first] = findings;
    expect(first?.code).toBe(code);
    expect(first?.at?.file).toMatch(/mutants\/kernels\.ts$/);
    expect(first?.at?.line).toBe(lineOf(mark));
    expect(first?.lane).toHaveLength(2);
    expect(first?.program).toHaveLength(2);
  });
});

describe("Triton's interpreter", { timeout: 60_000 }, () => {
  const device = interpreter();

  test("passes the right kernel", async () => {
    expect((await verifyCase(await build(right), device(), odd)).status).toBe("passed");
  });

  test("shows the worst element of a wrong stride", async () => {
    // A square B keeps every address inside: only the numbers are wrong.
    const outcome = await verifyCase(await build(wrongStride), device(), at({ M: 50, N: 45, K: 45 }));
    expect(outcome.status).toBe("failed");
    const worst = outcome.comparisons[0]?.worst;
    expect(worst?.output).toBe("c");
    expect(worst?.index).toHaveLength(2);
    expect(Number(worst?.expected)).not.toBeCloseTo(Number(worst!.got), 1);
  });

  test.each([[maskDropped], [tailUnmasked]])("fails $name", async (kernel) => {
    const outcome = await verifyCase(await build(kernel), device(), odd);
    expect(outcome.status).toBe("failed");
    expect(outcome.problems.length + outcome.comparisons.filter(({ wrong }) => wrong > 0).length).toBeGreaterThan(0);
  });
});
