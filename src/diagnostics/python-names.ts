/** What is said of names that authors bring from Python and that JavaScript does not have. */
import { unknownName } from "./catalog/operand-codes.js";
import type { MessageOfCode } from "./diagnostic.js";

/** Names of Python's that are none in JavaScript. */
const pythonNames: Readonly<Record<string, string>> = {
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
  // Keyword arguments, which JavaScript takes for assignments.
  mask: "options in an object at the end, { mask: i.lt(N), other: 0 }",
  other: "options in an object at the end, { mask: i.lt(N), other: 0 }",
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
  // CUDA's
  blockIdx: "tl.programId(0)",
  threadIdx: "tl.arange(0, BLOCK), which has all elements of the program's block",
  blockDim: "a constexpr, BLOCK: constexpr() among the params",
  gridDim: "tl.numPrograms(0)",
  __syncthreads: "tl.debugBarrier()",
};

/** Options of ops that are written so, `f(keepDims = true)`. */
const optionNames: Readonly<Record<string, string>> = {
  keepDims: "{ keepDims: true } at the end",
  returnIndices: "{ returnIndices: true } at the end",
  inputPrecision: '{ inputPrecision: "ieee" } at the end',
  numStages: "{ numStages: 3 } at the end",
};

/** What is said of a name that stands for an argument, `f(axis = 1)`, or undefined for one that no op of Triton has. */
export function keywordName(name: string): MessageOfCode | undefined {
  if (Object.hasOwn(pythonNames, name)) return unknownName.undefined(name, pythonNames[name]!);
  return Object.hasOwn(optionNames, name) ? unknownName.unimported(name, optionNames[name]!) : undefined;
}

/** What the package exports. */
export const EXPORTS = /^(?:tl|libdevice|tensor|scalar|pointer|descriptor|constexpr)$/;

/** What is said of a name that a file uses outside of functions, as in a spec's lists, and that is not defined. */
export function undefinedName(error: Error): MessageOfCode | undefined {
  const made = /^(\w+) is not a constructor$/.exec(error.message)?.[1];
  if (made !== undefined && EXPORTS.test(made)) return unknownName.constructed(made);
  const name = /^(\w+) is not defined$/.exec(error.message)?.[1];
  if (!(error instanceof ReferenceError) || name === undefined) return undefined;
  if (EXPORTS.test(name)) return unknownName.unexported(name);
  if (Object.hasOwn(pythonNames, name)) return unknownName.undefined(name, pythonNames[name]!);
  return unknownName.unquoted(name);
}
