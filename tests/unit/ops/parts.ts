/** The parts of an op, which lie in several files. One that is missing is named, with the place where it belongs. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Op } from "../../../src/ir/op.js";

const ROOT = join(import.meta.dirname, "../../..");
export const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
export const OP_FILES = readdirSync(join(ROOT, "src/ops")).map((name) => `src/ops/${name}`);

/** Where the parts are looked for. */
export interface Places {
  /** The text of each file of `src/ops`. */
  readonly sources: readonly string[];
  /** The text of docs/language.md. */
  readonly page: string;
  /** Whether an op has a sample that runs on Triton. */
  readonly isSampled: (op: Op) => boolean;
  /** Whether the editor is asked about a call of an op. */
  readonly isAsked: (op: Op) => boolean;
}

/** Known to the GPU or to the launch alone: a kernel with one is not evaluated in-process. */
const NOT_EVALUATED = /^(raw|inlineAsmElementwise|globaltimer|memrealtime|(hip)?[sS]mid|(hipN|n)um(Warps|Threads))$/;

export function missingParts(op: Op, { sources, page, isSampled, isAsked }: Places): readonly string[] {
  const { name } = op;
  // libdevice's ops come from their table, which has a comment for each.
  if (name.startsWith("libdevice")) return [];
  const parts: readonly (readonly [boolean, string, string])[] = [
    [
      sources.some((text) => new RegExp(`\\*/\\nexport const ${name} =`).test(text)),
      "JSDoc",
      `write a comment right above \`export const ${name}\` in its file of src/ops`,
    ],
    [isSampled(op), "a sample, which runs on Triton", "add a call to tests/triton/ops/samples.ts"],
    [isAsked(op), "a call that the editor is asked about", "add one to tests/types/call-samples.ts"],
    [
      (op.evaluate ?? op.fold ?? op.parts ?? op.facts.answer) !== undefined || NOT_EVALUATED.test(name),
      "evaluation",
      "give the record `evaluate`, or `fold` for constexprs; a derived op has `parts`",
    ],
    [
      !op.method || declaredMethods(sources).includes(name),
      "the method's type, with a comment",
      `declare \`${name}\` in \`interface TileOps\` in the op's file`,
    ],
    [isOnPage(op, page), "its line in docs/language.md", "run npm run docs"],
  ];
  return parts.filter(([has]) => !has).map(([, part, where]) => `${name}: ${part} is missing; ${where}`);
}

/** Methods that are declared without an op that has them. */
export function missingRecords({ sources }: Pick<Places, "sources">): readonly string[] {
  return declaredMethods(sources)
    .filter((name) => !sources.some((text) => new RegExp(`^export const ${name} =`, "m").test(text)))
    .map((name) => `${name}: its record is missing; write \`export const ${name}\`, or remove it from TileOps`);
}

/** Members of `TileOps` that have a comment. */
function declaredMethods(sources: readonly string[]): readonly string[] {
  return sources.flatMap((text) =>
    [...text.matchAll(/interface TileOps \{\n([^]*?)\n {2}\}/g)].flatMap(([, members]) =>
      [...members!.matchAll(/\*\/\n {4}(\w+)[<:]/g)].map(([, name]) => name!),
    ),
  );
}

/** As a function, a method of tensors, or a method of descriptors, whose names are Triton's. */
function isOnPage({ name, operands, spelling }: Op, page: string): boolean {
  if (spelling.form === "call" && spelling.name.startsWith("tl.target_info.")) return true;
  const method =
    "desc" in operands && spelling.form === "method"
      ? spelling.name.replace(/_(\w)/g, (_, c) => c.toUpperCase())
      : name;
  return [`tl.${name}`, `x.${name}`, `desc.${method}`].some((call) => page.includes(`\`${call}(`));
}
