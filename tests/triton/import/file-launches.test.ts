/** The launches in a kernel's own file give the grid; what they do not show, the wrapper's caller passes. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { sampledTests } from "../../support/sampled-tests.js";
import { typeErrors } from "../../support/tsc.js";
import { importedOnce, useImporter } from "./importer.js";

sampledTests("launches in the file of a kernel", "src/import");

const file = fileURLToPath(new URL("file_launches.py", import.meta.url));
const typesByKernel = new Map(
  [...readFileSync(file, "utf8").matchAll(/^# (\S+)\n[^#]*?^def (\w+)/gm)].map(([, types, name]) => [name!, types!]),
);

const { importedByTypes } = useImporter();
const imported = importedOnce((name) =>
  importedByTypes(
    file,
    { name, types: typesByKernel.get(name)! },
    { lift: ["launched_twice", "zeroed_rows"].includes(name) },
  ),
);

it.each([
  ["tuned", "grid: ({ n, BLOCK }) => [tl.cdiv(n, BLOCK)],"],
  ["tuned", "heuristics: { EVEN: ({ n, BLOCK }) => n.mod(BLOCK).eq(0), },"],
  // The dtypes of the tensors that a call passes are part of the autotuner's key.
  ["tuned", 'key: ["n"],'],
  ["in_place", "grid: ({ n }) => [tl.cdiv(n, 16), 1],"],
  ["in_place", 'restoreValue: ["x", "s"],'],
  ["zeroed", "total: pointer(tl.float32, { zeroed: true }),"],
  ["zeroed", 'autotune: { key: ["n"], configs: [{ BLOCK: 16 }, { BLOCK: 32 }], },'],
  ["zeroed_rows", 'total: tensor.out(tl.float32, ["M", "n"], { contiguous: true, zeroed: true }),'],
  ["launched_twice", "grid: ({ programs0 }) => [programs0, 2],"],
  [
    "launched_twice",
    "requires: ({ M, programs0, B }) => [M.ge(programs0.mul(B).mul(2)), programs0.ge(tl.cdiv(tl.cdiv(M, B), 2))],",
  ],
  ["not_launched", "programs_: scalar(tl.int32),"],
  ["not_launched", "// TODO(import): how many programs the kernel has\n"],
  ["not_launched", "grid: ({ programs_ }) => [programs_],"],
])("should give %s: %s", async (name, part) => {
  const { status, leftOut, text, ...outcome } = await imported(name);
  expect([status, leftOut], "reason" in outcome ? outcome.reason : text).toEqual(["equal", undefined]);
  expect(text?.replaceAll(/\s+/g, " ")).toContain(part.replaceAll(/\s+/g, " "));
});

it.each(["zeroed_by_some", "zeroed_in_part"])("should say that the hook of %s is left out", async (name) => {
  const { leftOut } = await imported(name);
  expect(leftOut?.map(({ text }) => text)).toEqual(["the pre_hook of a config is left out"]);
});

it("should refute nothing by a number of programs that no launch shows", async () => {
  const { built, text } = await imported("launched_twice");
  const verdicts = built!.proof().obligations.map(({ verdict }) => verdict.kind);
  expect(verdicts, text).not.toContain("refuted");
});

it("should write what the TypeScript compiler takes", async () => {
  const texts = await Promise.all(
    [...typesByKernel.keys()].map(async (name) => [`${name}.ts`, (await imported(name)).text!] as const),
  );
  expect(typeErrors("file-launches", Object.fromEntries(texts))).toEqual([]);
});
