/**
 * Each construct of Python that Triton accepts, in a kernel written by hand: imported, it has the same IR. The others are
 * refused at their line, and what the reason says to write instead is imported.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { ImportedKernel, ImportTools } from "../../../src/runtime/import-check/imported-kernel.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { typeErrors } from "../../support/tsc.js";
import { useImporter } from "./importer.js";

interface Construct {
  readonly file: string;
  readonly name: string;
  /** What a call passes, from the comment before the kernel. */
  readonly types: string;
  /** The reason and its line, from a comment in front of the refused line. */
  readonly refusal?: { readonly reason: string; readonly line: number };
}

/** The kernels of a file beside this one. */
function constructsOf(name: string): readonly Construct[] {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const text = readFileSync(file, "utf8");
  const kernels = text.matchAll(/^# (.*)\n@triton\.jit\ndef (\w+)\([^]*?(?=\n\n\n|$(?![^]))/gm);
  return [...kernels].map(([body, types = "", kernel = ""]) => {
    const [before, reason] = body.split(/# refused: (.*)/);
    const lines = `${text.slice(0, text.indexOf(body))}${before}`.split("\n").length;
    return { file, name: kernel, types, ...(reason !== undefined && { refusal: { reason, line: lines + 1 } }) };
  });
}
const constructs = constructsOf("constructs.py");
const refused = constructsOf("refused.py");

const { importedByTypes } = useImporter();

const chosen = sampleCases("constructs of Python that are imported", constructs, {
  key: ({ name }) => name,
  sources: () => [
    "tests/triton/import/constructs.py",
    "src/import/translate-branches.ts",
    "src/import/translate-expressions.ts",
    "src/import/translate-statements.ts",
    "src/import/translate-tails.ts",
    "src/import/helper-types.ts",
    "src/import/hoist-constants.ts",
    "src/import/live-ranges.ts",
    "src/import/unroll-loops.ts",
  ],
});

/** Some arguments of their calls decide conditions, so that arms have no place in the file. */
const PARTIAL: ReadonlySet<string> = new Set([
  "what_is_left_out",
  "what_is_asked_before_it_is_left_out",
  "what_helpers_lack",
  "what_triton_compiles_for_no_flag",
  "what_only_left_out_code_makes",
  "left_out_code_that_the_program_decides",
]);

const texts: Record<string, string> = {};

const imported = (construct: Construct, options?: Pick<ImportTools, "specialize">): Promise<ImportedKernel> =>
  importedByTypes(construct.file, construct, options);

it.each(chosen)("should import $name with the same IR", async (construct) => {
  const { built: _, ...outcome } = await imported(construct);
  expect(outcome.status, JSON.stringify(outcome, undefined, 2)).toBe(
    PARTIAL.has(construct.name) ? "equal for the traced calls" : "equal",
  );
  texts[`${construct.name}.ts`] = outcome.text!;
});

// The compiler takes as long as several imports.
const further = sampleCases("checks of what is imported", ["compiler", "helpers"], {
  key: (each) => each,
  sources: () => ["tests/triton/import/constructs.test.ts", "src/import/helper-types.ts"],
  minimum: 0,
});

it.runIf(further.includes("compiler"))("should write what the TypeScript compiler takes", () => {
  expect(Object.keys(texts).length).toBeGreaterThan(0);
  expect(typeErrors("imported", texts)).toEqual([]);
});

it.runIf(further.includes("helpers"))(
  "should give the parameters of helper functions the types that calls give them",
  async () => {
    const of = async (name: string): Promise<string> =>
      (await imported(constructs.find((each) => each.name === name)!)).text!;
    expect(await of("helpers")).toMatch(
      /const chosen = tl\.fn\(\(a: TileOf<typeof tl\.float32, \["BLOCK"\]>, n: ScalarOf<typeof tl\.float32>\) => \{/,
    );
    expect(await of("helpers_of_several_types")).toContain("const moved = tl.fn((at: any, by: any): any => {");
  },
);

it("should assert what a chain without an else leaves open, since its last arm stands for it", async () => {
  const { text } = await imported(constructs.find(({ name }) => name === "a_chain_without_else")!);
  expect(text).toMatch(/tl\.when\(MODE\.eq\(1\)\.not\(\), \(\) => \{\s*tl\.staticAssert\(MODE\.eq\(2\)\);/);
});

it("should name the live ranges of a name by what distinguishes them", async () => {
  const of = async (name: string): Promise<string> =>
    (await imported(constructs.find((each) => each.name === name)!)).text!;
  const ranks = await of("a_name_of_several_ranks");
  expect(ranks).toContain("const best = tl.mut(tl.zeros([B], tl.float32));");
  expect(ranks).toContain("const best2d = tl.mut(x.add(best.value.col));");
  expect(ranks).toContain("best.value = tl.max(best2d.value, 1);");
  expect(ranks).toContain("const mask2d = mask.col.and(mask.row);");
  expect(ranks).toContain("const bestScalar = tl.sum(best.value);");
  const dtypes = await of("a_name_of_several_dtypes");
  expect(dtypes).toContain("({ x: xPtr, y, n, A, B }) => {");
  expect(dtypes).toContain("const wideFp32 = tl.mut(wide.to(tl.float32));");
  expect(dtypes).toContain("const x = tl.load(xPtr.add(at.value));");
  expect(dtypes).toContain("const xFp32 = x.to(tl.float32);");
  expect(dtypes).toContain("const nInt64 = n.to(tl.int64);");
});

/** Parameters to fix, where that is the remedy. */
const FIXED: Readonly<Record<string, string>> = { unrolled: "N" };

it.each(refused.filter(({ refusal }) => refusal))(
  "should refuse $name at its line, and import what the reason says to write",
  async (construct) => {
    expect(await imported(construct)).toMatchObject({ status: "not imported", ...construct.refusal });
    const fixed = FIXED[construct.name];
    const mended = refused.find(({ name }) => name === `${construct.name}_mended`);
    const outcome = mended ? await imported(mended) : await imported(construct, { specialize: new Set([fixed!]) });
    expect(outcome.status).toBe(mended ? "equal" : "equal for the traced flags");
  },
);
