/** docs/language.md, made from the op records and the comments above them. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { dtypeNames, isFp8, isInt, type DTypeName } from "../src/types/dtype.js";
import { libdeviceTable, libdeviceTargets } from "../src/rules/libdevice-table.js";
import { isValueKind, type Op } from "../src/ir/op.js";
import { dtypeOfLetter } from "../src/rules/libdevice-rules.js";
import { dtypeTargets, formatTargets } from "../src/types/targets.js";
import { constexprType, tileType, type TileType, type Typed } from "../src/types/types.js";
import * as ops from "../src/ops/index.js";
import * as targetInfo from "../src/ops/target.js";
import { table } from "../src/ops/table.js";
import { elsewhere, excluded } from "../tests/triton/ops/conformance-excluded.js";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["src/ops", "src/dsl"];

export interface Entry {
  readonly name: string;
  readonly text: string;
  /** Absent for control flow, which is no op. */
  readonly op?: Op | undefined;
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

/** The ops and the control-flow functions, by the files that define them. */
export function sections(): readonly Section[] {
  const opNames = new Set(table.map(({ name }) => name));
  const control = new Set(["mut", "range", "staticRange", "when", "whileLoop", "exit", "fn"]);
  return FOLDERS.flatMap((folder) =>
    readdirSync(resolve(ROOT, folder))
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .flatMap((file): Section[] => {
        const text = readFileSync(resolve(ROOT, folder, file), "utf8");
        const entries = [...text.matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/)\nexport const (\w+) =/g)]
          .filter(([, , op]) => (folder === "src/ops" ? opNames.has(op!) : control.has(op!)))
          .map(([, comment, name]) => ({ name: name!, text: plain(comment!), op: opIn(`${folder}/${file}`, name!) }));
        const title = plain(/^\/\*\*(?:(?!\*\/)[^])*\*\//.exec(text)?.[0] ?? "").split(/(?<=[.:;]) /)[0]!;
        return entries.length === 0 ? [] : [{ file: `${folder}/${file}`, title: title.replace(/[.:;]$/, ""), entries }];
      }),
  );
}

/** `x, axis?, { keepDims? }` */
function call({ operands, options }: Op): string {
  const formatParameters = (names: Op["operands"]) =>
    Object.entries(names).map(([name, kind]) => (kind.endsWith("?") ? `${name}?` : name));
  const optional = formatParameters(options);
  return [...formatParameters(operands), ...(optional.length > 0 ? [`{ ${optional.join(", ")} }`] : [])].join(", ");
}

/** True if `tl` has the op; some ops are methods of descriptors only. */
const isFunction = ({ name, operands }: Op): boolean => name in ops || !("desc" in operands);

/** `gather` is a function of tiles in one file and a method of tensors, which is lowered, in another. */
function opIn(file: string, name: string): Op | undefined {
  const ofTensors = file === "src/ops/view.ts";
  return table.find((op) => op.name === name && (op.spelling.form === "lowered") === ofTensors);
}

export const isMethod = ({ op }: Entry): boolean => Boolean(op?.method);

/** The call of an entry, as authors write it. Queries of the target are in a separate namespace. */
export function formatCall(entry: Entry): string {
  const { op, name } = entry;
  if (!op) return `tl.${name}`;
  if (op.spelling.form === "lowered") return `x.${op.name}(…)`;
  if (op.name in targetInfo) return `tl.targetInfo.${op.name}(${call(op)})`;
  if (op.spelling.form !== "method" || isFunction(op)) return `tl.${op.name}(${call(op)})`;
  const { desc: _, ...operands } = op.operands;
  return `desc.${camel(op.spelling.name)}(${call({ ...op, operands })})`;
}

const camel = (name: string) => name.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());

/** Operands with a fixed type, in addition to the values. */
const roles: Readonly<Record<string, TileType>> = {
  condition: tileType("int1", [8]),
  mask: tileType("int1", [8]),
  index: tileType("int32", [8]),
  seed: tileType("int32", []),
};

/** True if the op's type rule accepts tiles of this dtype for all its value operands. */
function acceptsDType({ operands, infer }: Op, dtype: DTypeName, shape: readonly number[]): boolean {
  const hasValues = Object.entries(operands).some(([name, kind]) => isValueKind(kind) && !(name in roles));
  const operandOf = (name: string, kind: string): Typed | undefined => {
    if (isValueKind(kind)) return { type: (hasValues && roles[name]) || tileType(dtype, shape) };
    if (/^constants?$/.test(kind)) return { type: constexprType("int", "0"), literal: 0 };
    if (kind === "dtype") return { type: { kind: "none" }, dtype: "float32" };
    return undefined;
  };
  const args = Object.fromEntries(Object.entries(operands).map(([name, kind]) => [name, operandOf(name, kind)]));
  return typeof infer(args) !== "string";
}

const isWhole = (names: readonly DTypeName[], group: readonly DTypeName[]) =>
  group.every((name) => names.includes(name));
const groups: readonly (readonly [string, readonly DTypeName[]])[] = [
  ["integers", dtypeNames.filter((name) => isInt(name) && name !== "int1")],
  ["8-bit floats", dtypeNames.filter(isFp8)],
];

/** The dtypes that the op's rule accepts, for ops whose only typed operands are tiles. */
function dtypesOf(op: Op): string {
  const kinds = Object.values(op.operands);
  const isPlain =
    kinds.some(isValueKind) &&
    kinds.every((kind) => kind.endsWith("?") || isValueKind(kind) || /constant|dtype/.test(kind));
  if (!isPlain) return "";
  const shapes = [[], [8], [8, 8], [8, 2], [8, 1], [1]];
  const legal = dtypeNames.filter((dtype) => shapes.some((shape) => acceptsDType(op, dtype, shape)));
  if (legal.length === 0) return "";
  if (legal.length === dtypeNames.length) return " Any dtype.";
  const wholeGroups = groups.filter(([, group]) => isWhole(legal, group));
  const ungrouped = legal.filter((name) => !wholeGroups.some(([, group]) => group.includes(name)));
  return ` Dtypes: ${[...wholeGroups.map(([name]) => name), ...ungrouped].join(", ")}.`;
}

function entry(languageEntry: Entry): string {
  const { op } = languageEntry;
  const methodNote = op?.method ? " Also a method." : "";
  const derivedNote = op?.parts ? " Derived: a function of the emitted Python, made of other ops." : "";
  const targetNote = op?.needs.targets ? ` ${formatTargets(op.needs.targets)}.` : "";
  return `- \`${formatCall(languageEntry)}\`: ${languageEntry.text}${methodNote}${derivedNote}${op ? dtypesOf(op) : ""}${targetNote}`;
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The TileScript name of each Triton name. */
function names(): string {
  const rows = new Map<string, string>();
  for (const op of table) {
    const { name, spelling } = op;
    if (spelling.form === "call" && spelling.name.startsWith("tl.") && !spelling.name.slice(3).includes("."))
      rows.set(spelling.name.slice(3), `tl.${name}`);
    else if (spelling.form !== "call" && spelling.form !== "lowered" && !op.parts && isFunction(op))
      rows.set(snake(name), `tl.${name}`);
  }
  for (const dtype of dtypeNames) rows.set(dtype, `tl.${dtype}`);
  for (const [name, page] of Object.entries(elsewhere)) rows.set(name, page);
  for (const [name, reason] of Object.entries(excluded)) rows.set(name, `not offered: ${reason}`);
  const lines = [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, equivalent]) => `| \`${name}\` | ${equivalent} |`);
  return ["| Triton | TileScript |", "| --- | --- |", ...lines].join("\n");
}

const numbers = `## Numbers

A JavaScript number or a constexpr takes the dtype of the tile that it stands beside: \`x.mul(2)\` of a float16 tile is float16. With no tile beside it, it has the dtype that Triton gives it: int32, float32 for a fraction, int1 for \`true\` and \`false\`. So \`tl.where(mask, 1, 0)\` is int32, \`tl.mut(0)\` a scalar of int32, \`tl.mut(false)\` of int1. JavaScript cannot tell 0.0 from 0, so \`tl.where(mask, -1e6, 0.0)\` is int32 too. Beside a float32 tile it becomes float32; alone, write \`tl.where(mask, -1e6, 0.0).to(tl.float32)\`.`;

const constexprs = `## What depends on a constexpr

- A size: \`const BLOCK = FLAG.choose(64, 32)\` is written \`BLOCK: tl.constexpr = 64 if FLAG else 32\`. The condition is a flag, a comparison of constexprs, \`bias.given\`, or what a dtype is; the choices are constexprs, numbers or truth values. The build checks a tile's size for both values.
- A value: \`const [start, length] = tl.when(VARLEN, () => […]).otherwise(() => […])\`. Both arms give the same dtypes and shapes.
- State: \`const sums = tl.when(FLAG, () => tl.mut(…)).value\` exists where FLAG holds. Later arms whose conditions say that FLAG holds, such as \`FLAG.and(OTHER)\`, read and write it, in loops too.
- Code by dtype: a dtype variable asks \`T.is(tl.int8)\`, \`T.isFloating\`, \`T.isInteger\`, \`T.isSigned\` and \`T.bits\`. In an arm, \`x.as(tl.int8)\` is the tile \`x\` with the dtype that the arm is for, and \`x.as(T.only(tl.float16, tl.bfloat16))\` one with fewer members. The build types an arm for the dtypes that reach it, so \`as\` in the wrong arm is an error that names the dtype. To store in a tensor of \`T\`, write \`.to(T)\`, which costs nothing.

\`\`\`ts
tl.when(T.is(tl.int8), () => {
  total.value = total.value.add(tl.dot(a.as(tl.int8), b.as(tl.int8)).to(tl.float32));
}).otherwise(() => {
  const F = T.only(tl.float16, tl.bfloat16);
  total.value = tl.dot(a.as(F), b.as(F), total.value);
});
\`\`\``;

const helpers = `## Types of helper functions

A helper that takes tiles of a kernel's dtype variable says so with the variable itself:

\`\`\`ts
const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

const scaled = (x: TileOf<typeof T, ["BLOCK"]>, by: ScalarOf<typeof tl.float32>): TileOf<typeof T, ["BLOCK"]> =>
  x.to(tl.float32).mul(by).to(T);
\`\`\`

\`TileOf\`, \`ScalarOf\`, \`MutOf\`, \`TensorOf\`, \`ViewOf\`, \`PointerOf\` and \`DescriptorOf\` take the dtype and, but for \`ScalarOf\`, a shape; the last four but the access, \`"in"\`, \`"out"\` or \`"inout"\`, if it is no input. A size, such as \`M\`, is a \`Scalar<"int32">\`, a constexpr a \`Constexpr<"BLOCK">\`. To be generic in the shape, take it as a type parameter: \`<S extends Shape>(x: TileOf<typeof T, S>)\`.`;

const functions = `## Three ways to share a function

- An ordinary TypeScript function is inlined at each call; the Python does not contain it. If you choose among several, the build makes the choice.
- \`tl.fn\` makes a separate \`@triton.jit\` function that the kernel calls, one for each combination of argument types. It may also take functions as arguments.
- \`constexpr.fn({ relu, gelu })\`, among a kernel's params, is a choice among functions. A call of the wrapper or a config chooses one by name: \`ACTIVATION(x)\` becomes \`if ACTIVATION == "relu": …\`, of which Triton compiles one arm. The name is an ordinary constexpr: autotuning may choose it, \`ACTIVATION.eq("relu")\` tests it, and you may pass the function to \`tl.fn\`.

## Functions written in Python

\`tl.extern("./ops.py", "softcap", { evaluate: (x, cap) => … })\` calls a \`@triton.jit\` function of a Python file, given by its path relative to yours. The emitted module stays self-contained: it contains a copy of the function, with the jit functions and \`tl.constexpr\` globals that it uses. If the module already has one of their names, the copy is renamed.

Describe the function in one of two ways. \`evaluate\` is the same computation with \`tl\`: it gives the types and the effect on memory, and the evaluator runs it. \`{ result: (x) => x, effect: "pure" }\` gives only tiles of the resulting dtypes and shapes; a kernel that calls the function is then not evaluated in-process.

The function may use \`torch\`, \`triton\`, \`triton.language as tl\` and names imported from Triton's modules. Numbers and strings are passed as they are, so \`30\` is an integer in Python.`;

/** What cannot be said, with the reason and the way around. */
const notHere: readonly string[] = [
  "A value whose dtype depends on a flag, such as int64 in one arm of `tl.when(FLAG, …)` and int32 in the other. Its type would be different in each build, and the editor knows one. Cast both arms to the wider dtype; or take the dtype as a param, `I: constexpr.dtype(I)`, and cast to it.",
  "A tile whose rank depends on a flag. As above, its type has one rank. Add axes of size 1, or write the two arms with `tl.when`.",
  "`tl.where(mask, -1e6, 0.0)` as float32 with no tile beside it: JavaScript has one kind of number, so it is int32. Add `.to(tl.float32)`.",
  "`tl.reshape(x, [2] * log2(n))`: a rank that depends on a constexpr. A tile's shape is a list in its type, so its rank is fixed. Reshape to the two axes that one step needs, `tl.reshape(x, [N.floorDiv(2), 2])` with `tl.split`, or `[OUTER, 2, INNER]` inside `tl.staticRange`; `tl.sort`, `tl.topk` and `tl.bitonicMerge` are built in.",
  "A shape that a flag decides, of a branch's result or of state: all arms have one type. Name the chosen size, `const W = tl.choose(SPLIT, BN.floorDiv(2), BN)`, and reshape to it in each arm, `tl.reshape(part, [BM, W])`; or store in each arm. A tile is checked only in the configs that take its arm.",
  "Numbers alone in `tl.fdiv`, `tl.divRn`, `tl.umulhi` and `tl.swizzle2d`, and a number but 0 beside 8-bit floats in `tl.where`. Give one of them a dtype: `tl.full([], 1.5, tl.float32)`.",
  "`launchPdl` on AMD: Triton knows the launch option for NVIDIA only and refuses a launch with it. Leave it out of a kernel that runs on both.",
  `Tuples of tensors. Triton 3.6 passes no tuples. Declare optional tensors, \`peer0: peer(), peer1: peer()\` with \`const peer = () => tensor.inout(T, ["M"]).optional()\`, and loop over them in JavaScript: \`for (const each of [peer0, peer1]) tl.when(each.given, () => …)\`. Triton compiles the kernel anew for each choice that a call gives, as it would for each length of a tuple.`,
  `A rank that a flag decides. A tensor has as many axes as its declaration. Let a flag decide the size of an axis, \`dims: { AXES: ({ PICTURES }) => PICTURES.mul(2).add(1) }\`, so that one axis may be 1, or declare one optional tensor for each rank.`,
  `Strides as constexprs. Triton already specializes on strides that are 1 or multiples of 16, and a \`contiguous\` tensor takes its strides from its sizes. A tensor with further fixed strides is a contiguous tensor with numbers among its dims.`,
  `A scalar, or a constexpr that configs set, as a dim of outputs. A dim is what the tensors' shapes give. Derive a size of another name from it, \`dims: { PARTS: ({ SPLIT_K }) => SPLIT_K }\`.`,
  `A \`partition\` of a total that no tensor has as a size, such as offsets alone. Rows are drawn, and proved, as rows of something. Declare a \`range\`, and give the offsets in \`inputs\`.`,
  "A requirement about what optional tensors are given, such as `dz` only together with `z`. `requires` gets numbers, and the kernel decides by `z.given`. Let the kernel write zeros to `dz` where `z` is absent.",
  `Scratch memory that programs pass to each other and nobody compares: what a \`tensor.inout\` holds in the end is compared as any result. Let the reference give it, or let the last program put zeros back. A loop that waits for another program counts as many turns as the longest size, so that \`run\` may leave it out as too large on Triton's interpreter; \`run --device eval\` takes small shapes.`,
];

/** The signatures of each function of libdevice, and its backends. */
function libdevice(): string {
  const rows = Object.entries(libdeviceTable).map(([name, rules]) => {
    const overloads = rules.split(" ").map((rule) => {
      const [operandLetters, result] = rule.split("->") as [string, string];
      return `(${[...operandLetters].map(dtypeOfLetter).join(", ")}) → ${dtypeOfLetter(result)}`;
    });
    const targets = libdeviceTargets[name];
    return `| \`${name}\` | ${overloads.join("; ")} | ${targets ? formatTargets(targets) : ""} |`;
  });
  return ["| function | takes and gives | backend |", "| --- | --- | --- |", ...rows.sort()].join("\n");
}

/** The whole page. */
export function languagePage(): string {
  const sectionTexts = sections().map(
    ({ title, file, entries }) => `## ${title}\n\nFrom \`${file}\`.\n\n${entries.map(entry).join("\n")}`,
  );
  return [
    "# The language",
    "`npm run docs` makes this page from the op records and their comments. Operands come in order, options in one object at the end; a question mark marks an optional one. Names are Triton's in camelCase, and each entry shows the emitted Python.",
    ...sectionTexts,
    numbers,
    constexprs,
    helpers,
    functions,
    `## libdevice\n\n\`import { libdevice } from "tilescript"\`: functions of CUDA's and HIP's device libraries, with their exact dtypes.\n\n${libdevice()}`,
    `## 8-bit floats\n\nYou can load, store and move them, multiply them in \`tl.dot\` and cast them to float16, bfloat16 and float32 (float8e4b15 not to bfloat16). For arithmetic, cast to a wider float. Both backends have them, except: ${Object.entries(
      dtypeTargets,
    )
      .map(([name, targets]) => `${name} (${formatTargets(targets)})`)
      .join(", ")}.`,
    `## Not here\n\nWhat Triton can say and TileScript cannot, why, and what to write instead.\n\n${notHere.map((line) => `- ${line}`).join("\n")}`,
    `## Names of Triton\n\nEvery public name of \`triton.language\` 3.9 and its name in TileScript.\n\n${names()}`,
  ].join("\n\n");
}
