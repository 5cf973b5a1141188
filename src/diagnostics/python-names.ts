/** Messages for names from Python that JavaScript does not have. */
import { unknownName } from "./catalog/operand-codes.js";
import type { MessageOfCode } from "./diagnostic.js";

const MASK_OPTIONS = "options in an object at the end, { mask: i.lt(N), other: 0 }";

/** Names from Python and CUDA, with their replacements. */
const pythonNames = new Map(
  Object.entries({
    None: "undefined, or leave the argument out; of an optional tensor, tl.when(x.given, () => { … })",
    True: "true",
    False: "false",
    float: "Infinity, -Infinity or the number itself; of a value, x.to(tl.float32)",
    inf: "Infinity",
    nan: "NaN",
    int: "x.to(tl.int32)",
    print: 'tl.devicePrint("x", x)',
    assert: 'tl.staticAssert(condition) for constexprs, or tl.deviceAssert(condition, "text")',
    len: "the size's name, or x.shape",
    range: "for (const i of tl.range(0, N, BLOCK))",
    triton: "tl, as in tl.cdiv(N, BLOCK); a triton.Config is an object, { BLOCK: 64, numWarps: 4 }",
    torch: "it in the reference, which gets torch as its second argument; in a kernel use tl",
    math: "JavaScript's Math for numbers, and tl for values of the program",
    np: "tl",
    min: "tl.minimum(x, y), or Math.min for numbers",
    max: "tl.maximum(x, y), or Math.max for numbers",
    sum: "tl.sum(x, axis)",
    abs: "tl.abs(x)",
    // Keyword arguments, which JavaScript parses as assignments.
    mask: MASK_OPTIONS,
    other: MASK_OPTIONS,
    axis: "the axis at its place, tl.sum(x, 1)",
    dim: "the axis at its place, x.sum(1), or by name in an object at the end, x.sum({ dim: 1 })",
    keepdim: "options in an object at the end, x.sum(1, { keepdim: true })",
    acc: "the accumulator at its place, tl.dot(x, y, acc)",
    dtype: "the dtype at its place, tl.zeros([BLOCK], tl.float32)",
    keep_dims: "options in an object at the end, { keepDims: true }",
    return_indices: "options in an object at the end, { returnIndices: true }",
    input_precision: 'options in an object at the end, { inputPrecision: "ieee" }',
    num_stages: "options in an object at the end, { numStages: 3 }",
    num_warps: "numWarps in a config of the spec",
    // Names from CUDA.
    blockIdx: "tl.programId(0)",
    threadIdx: "tl.arange(0, BLOCK), which has all elements of the program's block",
    blockDim: "a constexpr, BLOCK: constexpr() among the params",
    gridDim: "tl.numPrograms(0)",
    __syncthreads: "tl.debugBarrier()",
  }),
);

/** Options of ops that an author may write as `f(keepDims = true)`. */
const optionNames = new Map(
  Object.entries({
    keepDims: "{ keepDims: true } at the end",
    returnIndices: "{ returnIndices: true } at the end",
    inputPrecision: '{ inputPrecision: "ieee" } at the end',
    numStages: "{ numStages: 3 } at the end",
  }),
);

/** The message for a name used as a keyword argument, `f(axis = 1)`; undefined if no op of Triton has this argument. */
export function keywordName(name: string): MessageOfCode | undefined {
  const replacement = pythonNames.get(name);
  if (replacement !== undefined) return unknownName.undefined(name, replacement);
  const option = optionNames.get(name);
  return option === undefined ? undefined : unknownName.unimported(name, option);
}

/** The names that the package exports. */
export const EXPORTS = /^(?:tl|libdevice|tensor|scalar|pointer|descriptor|constexpr)$/;

/** The message for an undefined name outside of functions, such as in a list of the spec. */
export function undefinedName(error: Error): MessageOfCode | undefined {
  const constructed = /^(\w+) is not a constructor$/.exec(error.message)?.[1];
  if (constructed !== undefined && EXPORTS.test(constructed)) return unknownName.constructed(constructed);
  const name = /^(\w+) is not defined$/.exec(error.message)?.[1];
  if (!(error instanceof ReferenceError) || name === undefined) return undefined;
  if (EXPORTS.test(name)) return unknownName.unexported(name);
  const replacement = pythonNames.get(name);
  return replacement === undefined ? unknownName.unquoted(name) : unknownName.undefined(name, replacement);
}

/** Messages for lines of Python syntax that JavaScript cannot parse. */

type Remedy = (match: readonly string[]) => string;

const remedies: readonly (readonly [pattern: RegExp, said: Remedy])[] = [
  [/^\s*#/, () => "`#` begins no comment in JavaScript; write // …"],
  [
    /^\s*(?:from\s+\S+\s+)?import\s+[\w.]+(?:\s+as\s+\w+)?\s*$/,
    () => 'this import is Python\'s; write import { constexpr, kernel, tensor, tl } from "tilescript"',
  ],
  [
    /^\s*@[\w.]+/,
    () =>
      'a kernel has no decorator; write export const add = kernel("add", { params: …, grid: … }, ({ x, N }) => { … })',
  ],
  [
    /^\s*def\s+(\w+)/,
    ([, name]) =>
      `\`def\` is Python's; write const ${name} = (x, y) => { … }, and of a kernel kernel("${name}", { params: …, grid: … }, ({ x, N }) => { … })`,
  ],
  [
    /^\s*for\s+(\w+)\s+in\b/,
    ([, name]) => `\`for … in …:\` is Python's; write for (const ${name} of tl.range(0, N, BLOCK)) { … }`,
  ],
  [
    /^\s*(?:el)?if\b.*:\s*$|^\s*(?:else|elif)\b[^{]*:/,
    () => "`if …:` is Python's; write tl.when(condition, () => { … }).otherwise(() => { … })",
  ],
  [/^\s*while\b.*:\s*$/, () => "`while …:` is Python's; write tl.whileLoop(() => condition, () => { … })"],
  [/\blambda\b/, () => "`lambda` is Python's; write (x) => …"],
  [
    /\[\s*(?::|None\b)[^\]]*\]|\[[^\]]*(?::|\bNone)\s*\]/,
    () => "`x[:, None]` is Python's; write x.col, and x.row for x[None, :]",
  ],
  [
    /([\w.]+(?:\([\w., ]*\))?)\s+@\s+([\w.]+(?:\([\w., ]*\))?)/,
    ([, a, b]) => `JavaScript has no \`@\`; write tl.dot(${a}, ${b})`,
  ],
  [/\bif\b.+\belse\b/, () => "`a if c else b` is Python's; write tl.where(c, a, b)"],
  [/\bnot\s+([\w.]+)/, ([, x]) => `\`not\` is Python's; write ${x}.not()`],
  [/\s(and|or)\s/, ([, operator]) => `\`${operator}\` is Python's; write a.${operator}(b)`],
];

/** `z.at(i) = x` */
function assignmentToCall(call: string, value: string): string {
  const remedy =
    /\.at\([^()]*\)$/.test(call) && value.length <= 40 ? `tl.store(${call}, ${value})` : "tl.store(y.at(i), x)";
  return `a call cannot be assigned; write ${remedy}`;
}

/** The message for a syntax error in a line of the author's; `message` is the parser's text. */
export function pythonSyntax(message: string, line: string): string | undefined {
  // Strings and comments are not syntax.
  const code = line.replace(/(["'])(?:\\.|(?!\1).)*\1|\/\/.*$/g, '""');
  if (message.startsWith("Invalid assignment target")) {
    const [, call, value] = /^\s*([\w.]+\(.*?\))\s*=\s*([^=].*?);?\s*$/.exec(code) ?? [];
    if (call !== undefined && value !== undefined) return assignmentToCall(call, value);
  }
  if (message.startsWith('"await"')) return "a kernel does not wait; remove await";
  for (const [pattern, remedyFor] of remedies) {
    const match = pattern.exec(code);
    if (match) return remedyFor(match);
  }
  return undefined;
}
