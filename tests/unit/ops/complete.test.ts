/** Every op has all its parts, and the pages that show how an op is added are true, with the messages that they quote. */
import { expect, test, vi } from "vitest";
import type * as define from "../../../src/ops/define.js";
import type { Op } from "../../../src/ir/op.js";
import { table } from "../../../src/ops/table.js";
import { isSampledElsewhere, samples } from "../../triton/ops/samples.js";
import { samples as calls } from "../../types/call-samples.js";
import { missingParts, missingRecords, OP_FILES, type Places, read } from "./parts.js";

const sampled = new Set(samples.map(({ op }) => op));
/** The names that calls of the editor's questions use. Those of descriptors are Triton's. */
const asked = new Set(calls.flatMap((call) => [...call.matchAll(/\.(\w+)\(/g)].map(([, name]) => name!)));
const places: Places = {
  sources: OP_FILES.map(read),
  page: read("docs/language.md"),
  isSampled: (op) => isSampledElsewhere(op) || sampled.has(op.name),
  isAsked: ({ name, operands }) => "desc" in operands || asked.has(name),
};

/** Ops that authors reach by something other than a name: calls of helper functions, and `T.bits` and its kin. */
const UNNAMED = ["is", "call", "extern", "bits", "isFloating", "isInteger", "isSigned"];

/** The names of all ops that are defined. The modules are loaded again, because other test files share their registry. */
async function definedNames(): Promise<readonly string[]> {
  const defined = new Set<string>();
  vi.resetModules();
  vi.doMock("../../../src/ops/define.js", async (original) => {
    const real = await original<typeof define>();
    const noted = <F>(made: F): F => {
      defined.add((real.opOf(made) as Op).name);
      return made;
    };
    return {
      ...real,
      defineOp: () => (record: never) => noted(real.defineOp()(record)),
      defineCall: () => (record: never, callOf: never) => noted(real.defineFunctionOp()(record, callOf)),
    };
  });
  try {
    for (const file of [...OP_FILES, "src/dsl/tl.ts"]) await import(/* @vite-ignore */ `../../../${file}`);
    return [...defined];
  } finally {
    vi.doUnmock("../../../src/ops/define.js");
    vi.resetModules();
  }
}

test("every op that is defined is exported", async () => {
  const reached = new Set([...table.map(({ name }) => name), ...UNNAMED]);
  const names = await definedNames();
  expect(names.length).toBeGreaterThan(table.length - 10);
  expect(
    names
      .filter((name) => !reached.has(name))
      .map((name) => `${name}: its export is missing; export it from its file, and its file from src/ops/index.ts`),
  ).toEqual([]);
  expect(UNNAMED.filter((name) => !names.includes(name))).toEqual([]);
});

test("every op has all its parts", () => {
  expect(table.flatMap((op) => missingParts(op, places))).toEqual([]);
  expect(missingRecords(places)).toEqual([]);
});

// ---- the pages ------------------------------------------------------------------------------------------------------

/** A change of one place in a file: what stands there with it, and without it. */
interface Hunk {
  readonly file: string;
  readonly with: string;
  readonly without: string;
}

const contributing = read("CONTRIBUTING.md");
const pages = contributing + read("docs/architecture.md");

/** The hunks of the diff that adds an op. */
function hunksOf(name: string): readonly Hunk[] {
  const diff = [...pages.matchAll(/```diff\n([^]*?)```/g)].find(([, text]) => text!.includes(`export const ${name} =`));
  return diff![1]!
    .split(/^--- /m)
    .slice(1)
    .flatMap((text) => {
      const file = /^\+\+\+ (.*)$/m.exec(text)![1]!;
      return text
        .split(/^@@.*\n/m)
        .slice(1)
        .map((hunk) => {
          const side = (mark: string) =>
            hunk
              .split("\n")
              .filter((line) => line.startsWith(" ") || line.startsWith(mark))
              .map((line) => `${line.slice(1)}\n`)
              .join("");
          return { file, with: side("+"), without: side("-") };
        });
    });
}

/** The files as they were before a hunk, whose text stands there once. */
function before(hunk: Hunk): (file: string) => string {
  expect(read(hunk.file).split(hunk.with), `${hunk.file} has:\n${hunk.with}`).toHaveLength(2);
  return (file) => (file === hunk.file ? read(file).replace(hunk.with, hunk.without) : read(file));
}

/** What is said of an op where a file lacks a part of it. */
function saidOf(name: string, file: (path: string) => string): readonly string[] {
  const has = (path: string) => new RegExp(`\\b${name}\\b`).test(file(path));
  const left: Places = {
    sources: OP_FILES.map(file),
    page: file("docs/language.md"),
    isSampled: () => has("tests/triton/ops/samples.ts"),
    isAsked: () => has("tests/types/call-samples.ts"),
  };
  return [
    ...missingParts(
      table.find((op) => op.name === name)!,
      left,
    ),
    ...missingRecords(left),
  ];
}

test.each(["log2", "relu"])("the pages show the change that adds %s, as the sources have it", (name) => {
  const hunks = hunksOf(name);
  expect(new Set(hunks.map(({ file }) => file)).size).toBeGreaterThanOrEqual(3);
  for (const hunk of hunks) before(hunk);
});

test("CONTRIBUTING.md quotes the messages about each part of the change that is missing", () => {
  const forgotten = hunksOf("log2").map((hunk) => saidOf("log2", before(hunk)));
  const unlisted = saidOf("log2", (file) => read(file).replace(/^- `tl\.log2\(.*\n/m, ""));
  const said = [...forgotten, unlisted];
  expect(said.every((sentences) => sentences.length > 0)).toBe(true);
  const quoted = contributing.replaceAll(/^ {3}/gm, "");
  expect(quoted).toContain(`\`\`\`text\n${[...new Set(said.flat())].join("\n")}\n\`\`\``);
});
