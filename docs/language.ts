/** docs/language.md, made from the op records and the comments above them. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { dtypeNames, isFp8, isInt, type DTypeName } from "../src/types/dtype.js";
import { libdeviceTable, libdeviceTargets } from "../src/rules/libdevice-table.js";
import { isValueKind, type Op } from "../src/ir/op.js";
import { dtypeOfLetter } from "../src/rules/libdevice-rules.js";
import { dtypeTargets, targetWords } from "../src/types/targets.js";
import { constexprType, tileType, type TileType, type Typed } from "../src/types/types.js";
import * as ops from "../src/ops/index.js";
import { table } from "../src/ops/table.js";
import { elsewhere, excluded } from "../tests/triton/ops/conformance-excluded.js";

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

/** Operands that are asked for beside the values, with a type of their own. */
const roles: Readonly<Record<string, TileType>> = {
  condition: tileType("int1", [8]),
  mask: tileType("int1", [8]),
  index: tileType("int32", [8]),
  seed: tileType("int32", []),
};

/** Whether the op's own rule takes tiles of one dtype at all operands that are values. */
function takes({ operands, infer }: Op, dtype: DTypeName, shape: readonly number[]): boolean {
  const hasValues = Object.entries(operands).some(([name, kind]) => isValueKind(kind) && !(name in roles));
  const typed = (name: string, kind: string): Typed | undefined => {
    if (isValueKind(kind)) return { type: (hasValues && roles[name]) || tileType(dtype, shape) };
    if (/^constants?$/.test(kind)) return { type: constexprType("int", "0"), literal: 0 };
    if (kind === "dtype") return { type: { kind: "none" }, dtype: "float32" };
    return undefined;
  };
  const args = Object.fromEntries(Object.entries(operands).map(([name, kind]) => [name, typed(name, kind)]));
  return typeof infer(args) !== "string";
}

const isWhole = (names: readonly DTypeName[], group: readonly DTypeName[]) =>
  group.every((name) => names.includes(name));
const groups: readonly (readonly [string, readonly DTypeName[]])[] = [
  ["integers", dtypeNames.filter((name) => isInt(name) && name !== "int1")],
  ["8-bit floats", dtypeNames.filter(isFp8)],
];

/** The dtypes that the op's rule takes, where its operands are tiles and nothing else that has a type. */
function dtypesOf(op: Op): string {
  const kinds = Object.values(op.operands);
  const isPlain =
    kinds.some(isValueKind) &&
    kinds.every((kind) => kind.endsWith("?") || isValueKind(kind) || /constant|dtype/.test(kind));
  if (!isPlain) return "";
  const shapes = [[], [8], [8, 8], [8, 2], [8, 1], [1]];
  const legal = dtypeNames.filter((dtype) => shapes.some((shape) => takes(op, dtype, shape)));
  if (legal.length === 0) return "";
  if (legal.length === dtypeNames.length) return " Any dtype.";
  const whole = groups.filter(([, group]) => isWhole(legal, group));
  const left = legal.filter((name) => !whole.some(([, group]) => group.includes(name)));
  return ` Dtypes: ${[...whole.map(([name]) => name), ...left].join(", ")}.`;
}

function entry({ name, text }: Entry): string {
  const op = table.find((candidate) => candidate.name === name);
  const head = op ? `\`${written(op)}\`` : `\`tl.${name}\``;
  const also = op?.method ? " Also a method." : "";
  const only = op?.needs.targets ? ` ${targetWords(op.needs.targets)}.` : "";
  return `- ${head}: ${text}${also}${op ? dtypesOf(op) : ""}${only}`;
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

/** What each function of libdevice takes and gives, and who has it. */
function libdevice(): string {
  const rows = Object.entries(libdeviceTable).map(([name, rules]) => {
    const overloads = rules.split(" ").map((rule) => {
      const [given, result] = rule.split("->") as [string, string];
      return `(${[...given].map(dtypeOfLetter).join(", ")}) → ${dtypeOfLetter(result)}`;
    });
    const targets = libdeviceTargets[name];
    return `| \`${name}\` | ${overloads.join("; ")} | ${targets ? targetWords(targets) : ""} |`;
  });
  return ["| function | takes and gives | backend |", "| --- | --- | --- |", ...rows.sort()].join("\n");
}

/** The whole page. */
export function languagePage(): string {
  const parts = sections().map(
    ({ title, file, entries }) => `## ${title}\n\nFrom \`${file}\`.\n\n${entries.map(entry).join("\n")}`,
  );
  return [
    "# The language",
    "Made from the op records and their comments by `npm run docs`. Operands come in order, options in one object at the end; a question mark says that it may be left out. Names are Triton's in camelCase, and each comment shows the line that is emitted.",
    ...parts,
    functions,
    `## libdevice\n\n\`import { libdevice } from "tilescript"\`: functions of CUDA's and HIP's device libraries, each with its exact dtypes.\n\n${libdevice()}`,
    `## 8-bit floats\n\nThey load, store, move, multiply in \`tl.dot\` and cast to float16, bfloat16 and float32 (float8e4b15 not to bfloat16); arithmetic is on wider floats. On both backends but: ${Object.entries(
      dtypeTargets,
    )
      .map(([name, targets]) => `${name} (${targetWords(targets)})`)
      .join(", ")}.`,
    `## Names of Triton\n\nEvery public name of \`triton.language\` 3.9 and what it is here.\n\n${names()}`,
  ].join("\n\n");
}
