/** Examples of `param-codes.ts`. */
import type { Explanation } from "./explanation.js";

const X = `x: tensor(tl.float32, ["N"])`;
const Y = `y: tensor.out(tl.float32, ["N"])`;
const BLOCK = "BLOCK: constexpr()";
const USES_BIAS =
  "tl.store(y.at(i), tl.load(x.at(i)));\ntl.when(bias.given, () => tl.store(y.at(i), tl.load(bias.at(i))));";

export const params = {
  "all-optional": {
    meaning: "A kernel that writes tensors needs at least one that is not optional.",
    message: "example: every tensor may be left out, so a call may do nothing; let one be required",
    failing: {
      params: `x: tensor(tl.float32, ["N"]).optional(), y: tensor.out(tl.float32, ["N"]).optional(), ${BLOCK}`,
      body: "tl.when(x.given.and(y.given), () => tl.store(y.at(i), tl.load(x.at(i))));",
    },
    passing: {
      params: `${X}, y: tensor.out(tl.float32, ["N"]).optional(), ${BLOCK}`,
      body: "tl.when(y.given, () => tl.store(y.at(i), tl.load(x.at(i))));",
    },
  },
  "descriptor-block": {
    meaning: "Each dim of a descriptor's block must be a number, or a constexpr that no heuristic computes.",
    message: "example: the block of x names WIDTH, which is not a constexpr() of params",
    failing: {
      params: `x: descriptor(tl.float32, ["N"], ["WIDTH"]), ${Y}, ${BLOCK}`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK)]));",
    },
    passing: {
      params: `x: descriptor(tl.float32, ["N"], ["BLOCK"]), ${Y}, ${BLOCK}`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK)]));",
    },
  },
  "descriptor-padding": {
    meaning: "Elements outside a tensor read as 0 or as NaN. Integers have no NaN.",
    message: "descriptor: integers have no NaN; they are padded with 0",
    failing: {
      params: `x: descriptor(tl.int32, ["N"], ["BLOCK"], { paddingOption: "nan" }), y: tensor.out(tl.int32, ["N"]), ${BLOCK}`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK)]));",
    },
    passing: {
      params: `x: descriptor(tl.int32, ["N"], ["BLOCK"]), y: tensor.out(tl.int32, ["N"]), ${BLOCK}`,
      body: "tl.store(y.at(i), x.load([tl.programId(0).mul(BLOCK)]));",
    },
  },
  "dtype-members": {
    meaning: "A dtype variable lists each dtype once. If a property differs among them, test it inside the kernel.",
    message: "dtype: T names a member twice; name each once",
    failing: `export const T = tl.dtype("T", [tl.float16, tl.float16]);`,
    passing: `export const T = tl.dtype("T", [tl.float16, tl.bfloat16]);`,
  },
  "dtype-name": {
    meaning: "The name of a dtype variable consists of letters, digits and underscores.",
    message: 'dtype: "my dtype" is not a name; write one such as "T"',
    failing: `export const T = tl.dtype("my dtype", [tl.float16, tl.bfloat16]);`,
    passing: `export const T = tl.dtype("T", [tl.float16, tl.bfloat16]);`,
  },
  "dtype-variable": {
    meaning: "Each call must determine the dtype of a variable, through an input or a `constexpr.dtype` param.",
    message: "example: no argument gives the dtype T of y; add a param constexpr.dtype(T)",
    failing: {
      before: `const T = tl.dtype("T", [tl.float16, tl.float32]);`,
      params: `${X}, y: tensor.out(T, ["N"]), ${BLOCK}`,
      body: "tl.store(y.at(i), tl.load(x.at(i)).to(T));",
    },
    passing: {
      before: `const T = tl.dtype("T", [tl.float16, tl.float32]);`,
      params: `${X}, y: tensor.out(T, ["N"]), OUT: constexpr.dtype(T), ${BLOCK}`,
      body: "tl.store(y.at(i), tl.load(x.at(i)).to(T));",
    },
  },
  "optional-dim": {
    meaning:
      "A size is 0 if the caller omits all tensors that have it. A constexpr is the dim of a tile, which is never 0.",
    message:
      "example: WIDTH is a constexpr and a dim of bias, which may be left out; let a required tensor have it, or make it a size, which is 0 then",
    failing: {
      params: `${X}, bias: tensor(tl.float32, ["WIDTH"]).optional(), ${Y}, WIDTH: constexpr(), ${BLOCK}`,
      names: "x, bias, y, N, BLOCK",
      body: USES_BIAS,
    },
    passing: {
      params: `${X}, bias: tensor(tl.float32, ["M"]).optional(), ${Y}, ${BLOCK}`,
      names: "x, bias, y, N, BLOCK",
      body: USES_BIAS,
    },
  },
  "param-choices": {
    meaning:
      "A `constexpr.string` lists its strings, and a `constexpr.fn` its functions by name. Each choice occurs once.",
    message: "constexpr.string: the first argument lists the strings that are allowed, each once",
    failing: { params: `${X}, ${Y}, MODE: constexpr.string([]), ${BLOCK}` },
    passing: { params: `${X}, ${Y}, MODE: constexpr.string(["fast", "exact"], { default: "fast" }), ${BLOCK}` },
  },
  "param-default": {
    meaning: "The default of a constexpr must be one of its choices.",
    message: 'constexpr.string: the default "slow" is not one of "fast", "exact"',
    failing: { params: `${X}, ${Y}, MODE: constexpr.string(["fast", "exact"], { default: "slow" }), ${BLOCK}` },
    passing: { params: `${X}, ${Y}, MODE: constexpr.string(["fast", "exact"], { default: "fast" }), ${BLOCK}` },
  },
  "param-dims": {
    meaning:
      "A tensor lists its axes as names of sizes or as numbers. A size that is computed from others needs a name, too.",
    message:
      'tensor: "2 * N" is not a dim; write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }',
    failing: { params: `${X}, y: tensor.out(tl.float32, ["2 * N"]), ${BLOCK}` },
    passing: { params: `${X}, ${Y}, ${BLOCK}` },
  },
  "param-dtype": {
    meaning: "The first argument of a param is its dtype.",
    message: "tensor: a dtype is not text; write tl.float32",
    failing: { params: `x: tensor("float32", ["N"]), ${Y}, ${BLOCK}` },
    passing: { params: `${X}, ${Y}, ${BLOCK}` },
  },
  "param-kind": {
    meaning: "A param must be a result of `tensor`, `descriptor`, `pointer`, `scalar` or `constexpr`.",
    message:
      "example: scale is a number, not a param; write scale: constexpr() among the params and config: { scale: 2 }",
    failing: { params: `${X}, ${Y}, scale: 2, ${BLOCK}` },
    passing: { params: `${X}, ${Y}, scale: scalar(tl.float32), ${BLOCK}` },
  },
  "param-name": {
    meaning: "A param cannot have the name of a size, or of a property that every JavaScript object has.",
    message:
      "example: N is a scalar and a size of a tensor; rename the scalar, and where no input has the size compute it, dims: { N: ({ count }) => count }",
    failing: {
      params: `${X}, ${Y}, N: scalar(tl.int32), ${BLOCK}`,
    },
    passing: { params: `${X}, ${Y}, count: scalar(tl.int32), ${BLOCK}` },
  },
  "param-option": {
    meaning: "The param has no such option, so it would have no effect.",
    message: "tensor: there is no option contigous; write contiguous",
    failing: { params: `x: tensor(tl.float32, ["N"], { contigous: true }), ${Y}, ${BLOCK}` },
    passing: { params: `x: tensor(tl.float32, ["N"], { contiguous: true }), ${Y}, ${BLOCK}` },
  },
  "param-partition": {
    meaning:
      "A partition is a one-dimensional tensor of int32 or int64 row offsets. They start at 0, never decrease, and end at the size of another tensor.",
    message: "tensor: a partition of TOTAL holds offsets of rows; declare it tl.int32 or tl.int64",
    failing: {
      params: `values: tensor(tl.float32, ["TOTAL"]), x: tensor(tl.float32, ["N"], { partition: "TOTAL" }), ${Y}, ${BLOCK}`,
    },
    passing: {
      params: `values: tensor(tl.float32, ["TOTAL"]), x: tensor(tl.int32, ["N"], { partition: "TOTAL" }), ${Y}, ${BLOCK}`,
      names: "values, x, y, BLOCK",
      body: "tl.store(y.at(i), tl.load(values.at(i)).add(tl.load(x.at(i)).to(tl.float32)));",
    },
  },
  "param-range": {
    meaning: "A range has a minimum and an exclusive end. Values that configs set must be inside it.",
    message: "constexpr.int: nothing lies in the range from 8 to 1; write the lowest value first",
    failing: { params: `${X}, ${Y}, WIDTH: constexpr.int({ range: [8, 1] }), ${BLOCK}` },
    passing: { params: `${X}, ${Y}, WIDTH: constexpr.int({ range: [1, 8] }), ${BLOCK}` },
  },
  "range-bound": {
    meaning: "The bounds of an input's range are numbers or sizes of tensors.",
    message: "example: the range of x names ROWS, which is not a size of a tensor; those are N",
    failing: { params: `x: tensor(tl.int32, ["N"], { range: [0, "ROWS"] }), y: tensor.out(tl.int32, ["N"]), ${BLOCK}` },
    passing: { params: `x: tensor(tl.int32, ["N"], { range: [0, "N"] }), y: tensor.out(tl.int32, ["N"]), ${BLOCK}` },
  },
} as const satisfies Readonly<Record<string, Explanation>>;
