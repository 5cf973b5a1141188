/** docs/language.md, made from the op records and the comments above them. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { dtypeNames, isFp8, isInt, type DTypeName, dtypeTargets, formatTargets } from "../src/types/dtype.js";
import { libdeviceTable, libdeviceTargets } from "../src/rules/libdevice-table.js";
import { Message } from "../src/diagnostics/message.js";
import { isValueKind, type Op } from "../src/ir/op.js";
import { dtypeOfLetter } from "../src/rules/libdevice-rules.js";
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
  /** Absent for control flow, which is not an op. */
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
        const entries = [...text.matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/)\nexport (?:const|function) (\w+)\b/g)]
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
    if (kind === "dtype") return { type: { kind: "none" }, dtype };
    return undefined;
  };
  const args = Object.fromEntries(Object.entries(operands).map(([name, kind]) => [name, operandOf(name, kind)]));
  return !(infer(args) instanceof Message);
}

const isWhole = (names: readonly DTypeName[], group: readonly DTypeName[]) =>
  group.every((name) => names.includes(name));
const groups: readonly (readonly [string, readonly DTypeName[]])[] = [
  ["integers", dtypeNames.filter((name) => isInt(name) && name !== "int1")],
  ["8-bit floats", dtypeNames.filter(isFp8)],
];

/** The dtypes that the op's rule accepts, for ops whose only typed operands are tiles. */
export function dtypesOf(op: Op): string {
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
  const derivedNote = op?.parts ? " Emitted as a Python function that calls other ops." : "";
  const targetNote = op?.needs.targets ? ` Backends: ${formatTargets(op.needs.targets)}.` : "";
  return `- \`${formatCall(languageEntry)}\`: ${languageEntry.text.replace(/`$/, "`.")}${methodNote}${derivedNote}${op ? dtypesOf(op) : ""}${targetNote}`;
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

If a JavaScript number or a constexpr is combined with a tile, it gets the tile's dtype: \`x.mul(2)\` is float16 if \`x\` is. Without a tile, it has Triton's default dtype: int32 for a whole number, float32 for a number with a fraction, and int1 for \`true\` and \`false\`. For example, \`tl.where(mask, 1, 0)\` is int32, \`tl.mut(0)\` is an int32 scalar, and \`tl.mut(false)\` is an int1 scalar.

JavaScript does not distinguish 0.0 from 0, so \`tl.where(mask, -1e6, 0.0)\` is int32 too. If you combine the result with a float32 tile, it becomes float32. Otherwise, write \`tl.where(mask, -1e6, 0.0).to(tl.float32)\`.`;

const constexprs = `## Code that depends on a constexpr

A constexpr can select these parts of a kernel at compile time:

- **Size.** \`const BLOCK = FLAG.choose(64, 32)\` is emitted as \`BLOCK: tl.constexpr = 64 if FLAG else 32\`. The condition may be a flag, a comparison of constexprs, \`bias.given\` or a test of a dtype. The choices are constexprs, numbers or booleans. If the result is the size of a tile, the build checks the tile for both choices.
- **Value.** \`const [start, length] = tl.when(VARLEN, () => […]).otherwise(() => […])\` assigns the values of the selected arm. Both arms must return the same dtypes and shapes.
- **Variable.** \`const sums = tl.when(FLAG, () => tl.mut(…)).value\` exists only if FLAG is true. A later arm can read and write the variable if its condition implies FLAG, such as \`FLAG.and(OTHER)\`. The arm may be in a loop.
- **Dtype.** A dtype variable \`T\` has the conditions \`T.is(tl.int8)\`, \`T.isFloating\`, \`T.isInteger\` and \`T.isSigned\`, and the number \`T.bits\`. In an arm under such a condition, \`x.as(tl.int8)\` is the tile \`x\` with the narrower type. To narrow it to several dtypes, pass \`T.only(tl.float16, tl.bfloat16)\`. The build checks each arm for the dtypes that can reach it, and reports an \`as\` in the wrong arm. To store into a tensor of \`T\`, write \`.to(T)\`, which has no cost.

\`\`\`ts
tl.when(T.is(tl.int8), () => {
  total.value = total.value.add(tl.dot(a.as(tl.int8), b.as(tl.int8)).to(tl.float32));
}).otherwise(() => {
  const F = T.only(tl.float16, tl.bfloat16);
  total.value = tl.dot(a.as(F), b.as(F), total.value);
});
\`\`\``;

const helpers = `## Types of helper functions

To annotate a helper function, use the kernel's dtype variable in the types of its tiles:

\`\`\`ts
const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

const scaled = (x: TileOf<typeof T, ["BLOCK"]>, by: ScalarOf<typeof tl.float32>): TileOf<typeof T, ["BLOCK"]> =>
  x.to(tl.float32).mul(by).to(T);
\`\`\`

| type | type arguments |
| --- | --- |
| \`ScalarOf\` | dtype |
| \`TileOf\`, \`MutOf\` | dtype, shape |
| \`TensorOf\`, \`ViewOf\`, \`PointerOf\`, \`DescriptorOf\` | dtype, shape, and the access: \`"in"\` (default), \`"out"\` or \`"inout"\` |

A size such as \`M\` has the type \`Scalar<"int32">\`, and a constexpr has the type \`Constexpr<"BLOCK">\`. For a function that accepts any shape, add a type parameter: \`<S extends Shape>(x: TileOf<typeof T, S>)\`.`;

const functions = `## Ways to share a function

Kernels can share code in three ways:

- **TypeScript function.** The build inlines it at each call, so the Python does not contain it. If JavaScript code selects one of several functions, it does so during the build.
- **\`tl.fn\`.** TileScript emits the function as a separate \`@triton.jit\` function for each combination of argument types. The arguments may be functions too.
- **\`constexpr.fn({ relu, gelu })\`.** A config or the caller selects one of the functions by name. A call \`ACTIVATION(x)\` becomes \`if ACTIVATION == "relu": …\`, and Triton compiles only the selected arm. The name is an ordinary constexpr, so autotuning can select it and \`ACTIVATION.eq("relu")\` tests it. You can pass the function to \`tl.fn\`.

## Functions written in Python

\`tl.extern("./ops.py", "softcap", { evaluate: (x, cap) => … })\` calls a \`@triton.jit\` function of a Python file. The path is relative to your file. The emitted module contains a copy of the function, and of the jit functions and \`tl.constexpr\` globals that the function uses. If a name already exists in the module, TileScript renames the copy.

Describe the function in one of two ways:

- \`evaluate\` is the same computation with \`tl\`. TileScript derives the types and the effect on memory from it, and the evaluator runs it.
- \`{ result: (x) => x, effect: "pure" }\` describes only the result and the effect: \`result\` returns tiles with the dtypes and shapes of the result. The evaluator then cannot run a kernel that calls the function.

The function may use \`torch\`, \`triton\`, \`triton.language as tl\` and names imported from Triton's modules. TileScript passes numbers and strings unchanged, so \`30\` is an integer in Python.`;

/** Forms that TileScript does not support, each with the reason and an alternative. */
const notHere: readonly string[] = [
  "**A dtype that depends on a flag**, such as int64 in one arm of `tl.when(FLAG, …)` and int32 in the other. In TypeScript, the result has only one type. Cast both arms to the wider dtype, or make the dtype a param, `I: constexpr.dtype(I)`, and cast to it.",
  "**A tile whose rank depends on a flag.** The type of a tile has one rank. Add axes of size 1, or write code for each rank in an arm of `tl.when`.",
  "**`tl.where(mask, -1e6, 0.0)` as float32.** In JavaScript, both numbers are whole numbers, so the result is int32. Add `.to(tl.float32)`.",
  "**A rank that depends on a constexpr**, as in `tl.reshape(x, [2] * log2(n))`. The rank of a tile is fixed in its type. Reshape to the axes that one step needs: `tl.reshape(x, [N.floorDiv(2), 2])` with `tl.split`, or `[OUTER, 2, INNER]` inside `tl.staticRange`. For sorting, use `tl.sort`, `tl.topk` and `tl.bitonicMerge`.",
  "**A shape that depends on a flag**, as in the result of a branch. All arms must have one type. Declare the selected size, `const W = tl.choose(SPLIT, BN.floorDiv(2), BN)`, and reshape to it in each arm: `tl.reshape(part, [BM, W])`. The build checks the tiles of an arm only in the configs that use the arm. Alternatively, store the tile in each arm.",
  "**Numbers without a dtype.** At least one operand of `tl.fdiv`, `tl.divRn`, `tl.umulhi` and `tl.swizzle2d` must have a dtype. So must a number in `tl.where`, if the other choice is an 8-bit float and the number is not 0. To give a number a dtype, write `tl.full([], 1.5, tl.float32)`.",
  "**`launchPdl` on AMD.** Triton supports this launch option only on NVIDIA and rejects a launch with it. Omit the option in a kernel that runs on both.",
  `**Tuples of tensors.** Triton 3.6 does not pass tuples. Declare several optional tensors instead: \`peer0: peer(), peer1: peer()\` with \`const peer = () => tensor.inout(T, ["M"]).optional()\`. Loop over them in JavaScript: \`for (const each of [peer0, peer1]) tl.when(each.given, () => …)\`. Triton compiles the kernel once for each set of passed tensors, as it would for each length of a tuple.`,
  `**A tensor whose rank depends on a flag.** The declaration of a tensor fixes its rank. Declare an axis whose size depends on the flag, so that the size can be 1: \`dims: { AXES: ({ PICTURES }) => PICTURES.mul(2).add(1) }\`. Alternatively, declare one optional tensor for each rank.`,
  `**Strides as constexprs.** Triton already specializes on strides that are 1 or multiples of 16, and the strides of a \`contiguous\` tensor follow from its sizes. To fix other strides, declare a contiguous tensor with numbers among its dims.`,
  `**A scalar, or a constexpr that configs set, as a dim of an output.** A scalar or a config does not set the dims of tensors. Derive a size with another name from it: \`dims: { PARTS: ({ SPLIT_K }) => SPLIT_K }\`.`,
  `**A \`partition\` of a number that is not the size of a tensor**, as in a kernel that reads only the offsets. To generate rows and to prove accesses, TileScript needs the tensor that the rows divide. Declare a \`range\` for the offsets instead, and compute them in \`inputs\`.`,
  "**A requirement about which optional tensors are passed**, such as `dz` only together with `z`. `requires` receives only numbers; `z.given` exists only in the body. Let the kernel write zeros to `dz` if `z` is not passed.",
  `**Scratch memory.** Programs can pass values to each other through a \`tensor.inout\`, but TileScript compares its final content like any result. Let the reference compute the content, or let the last program write zeros. For a loop that waits for another program, TileScript assumes as many iterations as the largest size. On Triton's interpreter, \`run\` may therefore skip the kernel as too large; \`run --device eval\` accepts small shapes.`,
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
  return ["| function | signatures | backend |", "| --- | --- | --- |", ...rows.sort()].join("\n");
}

/** The whole page. */
export function languagePage(): string {
  const sectionTexts = sections().map(({ title, entries }) => `## ${title}\n\n${entries.map(entry).join("\n")}`);
  return [
    "# The language",
    "This page lists every op of `tl`, with the Python that TileScript emits for it. Ops have Triton's names in camelCase; [a table](#names-of-triton) at the end has every Triton name. A call passes the operands in order, and then one object with the options. A question mark marks an optional operand or option. [Params and spec](spec.md) describes the rest of a kernel.",
    '"Also a method" means that `x.add(y)` is another form of `tl.add(x, y)`. A _host expression_ is a computation before the launch, such as those in `grid`, `config` and `requires`.',
    "After the ops, the page explains [numbers](#numbers), [code that depends on a constexpr](#code-that-depends-on-a-constexpr), [helper functions](#types-of-helper-functions) and [forms that TileScript does not support](#unsupported-forms).",
    ...sectionTexts,
    numbers,
    constexprs,
    helpers,
    functions,
    `## libdevice\n\n\`import { libdevice } from "tilescript"\` gives access to the device libraries of CUDA and HIP. The table lists their functions with the exact dtypes. A function without an entry in the last column exists on both.\n\n${libdevice()}`,
    `## 8-bit floats\n\nYou can load, store and move 8-bit floats, multiply them in \`tl.dot\`, and cast them to float16, bfloat16 and float32. There is no cast from float8e4b15 to bfloat16. For arithmetic, cast 8-bit floats to a wider float. These 8-bit floats exist on one backend: ${Object.entries(
      dtypeTargets,
    )
      .map(([name, targets]) => `${name} (${formatTargets(targets)})`)
      .join(", ")}.`,
    `## Unsupported forms\n\nTriton accepts these forms, but TileScript does not. Each entry has the reason and an alternative.\n\n${notHere.map((line) => `- ${line}`).join("\n")}`,
    `## Names of Triton\n\nThis table lists every public name of \`triton.language\` 3.9 and its name in TileScript.\n\n${names()}`,
  ].join("\n\n");
}
