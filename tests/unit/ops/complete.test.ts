/** Every op has all its parts. A part that is missing is named, with the place where it belongs. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type * as define from "../../../src/ops/define.js";
import type { Op } from "../../../src/ir/op.js";
import { isSampledElsewhere, samples } from "../../triton/ops/samples.js";

const defined = vi.hoisted((): { op: unknown }[] => []);
vi.mock("../../../src/ops/define.js", async (original) => {
  const real = await original<typeof define>();
  const noted = <F>(made: F): F => {
    defined.push({ op: real.opOf(made) });
    return made;
  };
  return {
    ...real,
    defineOp: () => (record: never) => noted(real.defineOp()(record)),
    defineCall: () => (record: never, callOf: never) => noted(real.defineCall()(record, callOf)),
  };
});
const { table } = await import("../../../src/ops/table.js");
await import("../../../src/dsl/tl.js");

const ROOT = join(import.meta.dirname, "../../..");
const FILES = readdirSync(join(ROOT, "src/ops")).map((name) => `src/ops/${name}`);
for (const file of FILES) await import(join(ROOT, file));

const source = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
const page = readFileSync(join(ROOT, "docs/language.md"), "utf8");
const sampled = new Set(samples.map(({ op }) => op));
/** Members of `TileOps` that have a comment. */
const methods = new Set(
  [...source.values()].flatMap((text) =>
    [...text.matchAll(/interface TileOps \{\n([^]*?)\n {2}\}/g)].flatMap(([, members]) =>
      [...members!.matchAll(/\*\/\n {4}(\w+)[<:]/g)].map(([, name]) => name!),
    ),
  ),
);

/** Ops that authors reach by something other than a name: calls of helper functions, and `T.bits` and its kin. */
const UNNAMED = ["is", "call", "extern", "bits", "isFloating", "isInteger", "isSigned"];
/** Known to the GPU or to the launch alone: a kernel with one is not evaluated in-process. */
const NOT_EVALUATED =
  /^(raw|inlineAsmElementwise|globaltimer|memrealtime|(hip)?[sS]mid|(hipN|n)um(Warps|Threads)|is(Cuda|Hip\w*)|cudaCapabilityGeq)$/;

function missing(op: Op): readonly string[] {
  const { name } = op;
  // libdevice's ops come from their table, which has a comment for each.
  if (name.startsWith("libdevice")) return [];
  const parts: readonly (readonly [boolean, string, string])[] = [
    [
      [...source.values()].some((text) => new RegExp(`\\*/\\nexport const ${name} =`).test(text)),
      "JSDoc",
      `write a comment right above \`export const ${name}\` in its file of src/ops`,
    ],
    [
      isSampledElsewhere(op) || sampled.has(name),
      "a sample, which asks the type question and runs on Triton",
      "add a call to tests/triton/ops/samples.ts",
    ],
    [
      (op.evaluate ?? op.fold ?? op.parts) !== undefined || NOT_EVALUATED.test(name),
      "evaluation",
      "give the record `evaluate`, or `fold` for constexprs; a derived op has `parts`",
    ],
    [
      !op.method || methods.has(name),
      "the method's type, with a comment",
      `declare \`${name}\` in \`interface TileOps\` in the op's file`,
    ],
    [isOnPage(op), "its line in docs/language.md", "run npm run docs"],
  ];
  return parts.filter(([has]) => !has).map(([, part, where]) => `${name}: ${part} is missing; ${where}`);
}

/** As a function, a method of tensors, or a method of descriptors, whose names are Triton's. */
function isOnPage({ name, operands, spelling }: Op): boolean {
  if (spelling.form === "call" && spelling.name.startsWith("tl.target_info.")) return true;
  const method =
    "desc" in operands && spelling.form === "method"
      ? spelling.name.replace(/_(\w)/g, (_, c) => c.toUpperCase())
      : name;
  return [`tl.${name}`, `x.${name}`, `desc.${method}`].some((call) => page.includes(`\`${call}(`));
}

test("every op that is defined is exported", () => {
  const reached = new Set([...table.map(({ name }) => name), ...UNNAMED]);
  const names = [...new Set(defined.map(({ op }) => (op as Op).name))];
  expect(names.length).toBeGreaterThan(table.length - 10);
  expect(
    names
      .filter((name) => !reached.has(name))
      .map((name) => `${name}: its export is missing; export it from its file, and its file from src/ops/index.ts`),
  ).toEqual([]);
  expect(UNNAMED.filter((name) => !names.includes(name))).toEqual([]);
});

test("every op has all its parts", () => {
  expect(table.flatMap(missing)).toEqual([]);
});
