/** docs/language.md, made from the op records and the comments above them. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { dtypeNames } from "../src/ir/dtype.js";
import { libdeviceTable } from "../src/ir/libdevice-table.js";
import type { Op } from "../src/ir/op.js";
import * as ops from "../src/ops/index.js";
import { table } from "../src/ops/table.js";
import { elsewhere, excluded } from "../tests/ops/conformance-excluded.js";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["src/ops", "src/dsl"];

interface Entry {
  readonly name: string;
  readonly text: string;
}

interface Section {
  readonly file: string;
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** The text of a comment on one line. */
function plain(comment: string): string {
  return comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join(" ")
    .trim();
}

function sections(): readonly Section[] {
  const known = new Set(table.map(({ name }) => name));
  const control = new Set(["mut", "range", "staticRange", "when", "whileLoop", "exit", "fn"]);
  return FOLDERS.flatMap((folder) =>
    readdirSync(resolve(ROOT, folder))
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .flatMap((name): Section[] => {
        const text = readFileSync(resolve(ROOT, folder, name), "utf8");
        const entries = [...text.matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/)\nexport const (\w+) =/g)]
          .filter(([, , op]) => (folder === "src/ops" ? known.has(op!) : control.has(op!)))
          .map(([, comment, op]) => ({ name: op!, text: plain(comment!) }));
        const title = plain(/^\/\*\*(?:(?!\*\/)[^])*\*\//.exec(text)?.[0] ?? "").split(/(?<=[.:;]) /)[0]!;
        return entries.length === 0 ? [] : [{ file: `${folder}/${name}`, title: title.replace(/[.:;]$/, ""), entries }];
      }),
  );
}

/** `x, axis?, { keepDims? }` */
function call({ operands, options }: Op): string {
  const words = (names: Op["operands"]) =>
    Object.entries(names).map(([name, kind]) => (kind.endsWith("?") ? `${name}?` : name));
  const optional = words(options);
  return [...words(operands), ...(optional.length > 0 ? [`{ ${optional.join(", ")} }`] : [])].join(", ");
}

/** Whether `tl` has it; some ops are methods of descriptors only. */
const isFunction = ({ name, operands }: Op): boolean => name in ops || !("desc" in operands);

/** How authors call an op. */
function written(op: Op): string {
  if (op.spelling.form === "lowered") return `x.${op.name}(…)`;
  if (op.spelling.form !== "method" || isFunction(op)) return `tl.${op.name}(${call(op)})`;
  const { desc: _, ...operands } = op.operands;
  return `desc.${camel(op.spelling.name)}(${call({ ...op, operands })})`;
}

const camel = (name: string) => name.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());

function entry({ name, text }: Entry): string {
  const op = table.find((candidate) => candidate.name === name);
  const head = op ? `\`${written(op)}\`` : `\`tl.${name}\``;
  const also = op?.method ? " Also a method." : "";
  return `- ${head}: ${text}${also}`;
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What each name of Triton is here. */
function names(): string {
  const rows = new Map<string, string>();
  for (const op of table) {
    const { name, spelling } = op;
    if (spelling.form === "call" && spelling.name.startsWith("tl.") && !spelling.name.slice(3).includes("."))
      rows.set(spelling.name.slice(3), `tl.${name}`);
    else if (spelling.form !== "call" && spelling.form !== "lowered" && isFunction(op))
      rows.set(snake(name), `tl.${name}`);
  }
  for (const dtype of dtypeNames) rows.set(dtype, `tl.${dtype}`);
  for (const [name, where] of Object.entries(elsewhere)) rows.set(name, where);
  for (const [name, why] of Object.entries(excluded)) rows.set(name, `not offered: ${why}`);
  const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, here]) => `| \`${name}\` | ${here} |`);
  return ["| Triton | TileScript |", "| --- | --- |", ...lines].join("\n");
}

const functions = `## Three ways to share a function

- An ordinary TypeScript function is written out where it is called: nothing of it is left in Python. The choice among several is made while the kernel is built.
- \`tl.fn\` makes a \`@triton.jit\` function of its own, once for each combination of argument types, that the kernel calls. It may take functions too: it is then made once for each.
- \`constexpr.fn({ relu, gelu })\`, among a kernel's params, is one of several functions, which each call of the wrapper or each config chooses by name: \`ACTIVATION(x)\` becomes \`if ACTIVATION == "relu": …\`, of which Triton keeps one arm when it compiles. The name is an argument like any other: autotuning may choose it, \`ACTIVATION.eq("relu")\` asks for it, and \`tl.fn\` may be handed the function.

## Functions that are Python already

\`tl.extern("./ops.py", "softcap", { evaluate: (x, cap) => … })\` is a \`@triton.jit\` function of a Python file beside the author's. The emitted module stays a file of its own: the function is copied into it, as it is written there, with the jit functions and the \`tl.constexpr\` globals that it uses; a name that the module has already is changed. What it is in TypeScript is said by \`evaluate\`, the same computation with \`tl\`, which gives its types and what it does to memory, and which the evaluator runs; or by \`{ result: (x) => x, effect: "pure" }\`, where only tiles of the dtypes and shapes that come out are given, and a kernel that calls it is not evaluated in-process. It may use \`torch\`, \`triton\`, \`triton.language as tl\` and names that are imported from modules of triton. Numbers and strings are handed over as they are, so \`30\` is an integer there.`;

/** The whole page. */
export function languagePage(): string {
  const parts = sections().map(
    ({ title, file, entries }) => `## ${title}\n\nFrom \`${file}\`.\n\n${entries.map(entry).join("\n")}`,
  );
  const libdevice = Object.keys(libdeviceTable)
    .sort()
    .map((name) => `\`${name}\``);
  return [
    "# The language",
    "Made from the op records and their comments by `npm run docs`. Operands come in order, options in one object at the end; a question mark says that it may be left out. Names are Triton's in camelCase, and each comment shows the line that is emitted.",
    ...parts,
    functions,
    `## libdevice\n\n\`import { libdevice } from "tilescript"\`: functions of CUDA's and HIP's device libraries, each with its exact dtypes.\n\n${libdevice.join(", ")}.`,
    `## Names of Triton\n\nEvery public name of \`triton.language\` 3.9 and what it is here.\n\n${names()}`,
  ].join("\n\n");
}
