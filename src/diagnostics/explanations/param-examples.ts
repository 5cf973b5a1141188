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

// Examples of `operand-codes.ts`, `rule-codes.ts` and `extern-codes.ts`.

const MATRIX = {
  params: `x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
  body: "tl.store(y.at(i), tl.load(x.at(0, i)));",
};
const HALVES = `x: tensor(tl.float16, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`;
const UNSIGNED = `x: tensor(tl.uint32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr()`;
const INTEGERS = `x: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr()`;
const SQUARE = `a: tensor(tl.float32, ["M", "K"]), b: tensor(tl.float32, ["K", "N"]), c: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr()`;
const SIDES = `const [rows, columns] = [tl.arange(0, BLOCK), tl.arange(0, BLOCK)];
const [left, right] = [tl.load(a.at(rows, columns)), tl.load(b.at(rows, columns))];`;
const STATE = "const sum = tl.mut(tl.zeros([BLOCK], tl.float32));";

export const operands = {
  arguments: {
    meaning: "An op has too few arguments, too many, or an argument that is not a value of the program.",
    message: "maximum: y is missing; write tl.maximum(x, y, { propagateNan })",
    failing: { body: "tl.store(y.at(i), tl.maximum(tl.load(x.at(i))));" },
    passing: { body: "tl.store(y.at(i), tl.maximum(tl.load(x.at(i)), 0));" },
  },
  coercion: {
    meaning: "JavaScript tried to convert a traced value to a number, which exists only while the kernel runs.",
    message: "JavaScript cannot compute with a traced value (int32); use its methods, such as .add(…), .lt(…), .eq(…)",
    failing: { body: "tl.store(y.at(i), tl.load(x.at([2].at(N as never) as never)));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(N.floorDiv(2))));" },
  },
  "default-precision": {
    meaning:
      "Triton rounds float32 operands of a product to TF32 unless the kernel sets `inputPrecision`. Verification allows for this rounding, and the build warns.",
    message:
      'dot: multiplies float32 in TF32, with 11 bits, on GPUs that have it; state the precision: { inputPrecision: "tf32" }, or "ieee" for all bits of float32',
    failing: {
      params: SQUARE,
      grid: "() => [1]",
      spec: "requires: ({ M, K, N, BLOCK }) => [BLOCK.ge(M), BLOCK.ge(K), BLOCK.ge(N)],",
      names: "a, b, c, BLOCK",
      body: `${SIDES}\ntl.store(c.at(rows, columns), tl.dot(left, right));`,
    },
    passing: {
      params: SQUARE,
      grid: "() => [1]",
      spec: "requires: ({ M, K, N, BLOCK }) => [BLOCK.ge(M), BLOCK.ge(K), BLOCK.ge(N)],",
      names: "a, b, c, BLOCK",
      body: `${SIDES}\ntl.store(c.at(rows, columns), tl.dot(left, right, undefined, { inputPrecision: "ieee" }));`,
    },
  },
  "missing-property": {
    meaning: "The value does not have this property.",
    message: "T: needs a tensor of rank 2, this is tensor<float32[N]>; use permute",
    failing: { body: "tl.store(y.T.at(i), tl.load(x.at(i)));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
  },
  "unknown-effect": {
    meaning: "Python code in a kernel must declare its effect on memory with one of these words.",
    message: "raw: no effect none; it is pure, read or write",
    failing: {
      body: 'tl.store(y.at(i), tl.raw("{0} * 2", [tl.load(x.at(i))], { shape: [BLOCK], dtype: tl.float32, effect: "none" }));',
    },
    passing: {
      body: 'tl.store(y.at(i), tl.raw("{0} * 2", [tl.load(x.at(i))], { shape: [BLOCK], dtype: tl.float32, effect: "pure" }));',
    },
  },
  "unknown-name": {
    meaning: "`tl`, a value, a variable or the kernel's arguments do not have this name.",
    message: "program_id: tl has none; write tl.programId",
    failing: { body: "tl.store(y.at(i), tl.load(x.at(i)).add((tl as any).program_id(0)));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)).add(tl.programId(0)));" },
  },
  "unknown-option": {
    meaning: "The function has no option of this name.",
    message: "load: no option evictonPolicy; write evictionPolicy",
    failing: { body: 'tl.store(y.at(i), tl.load(x.at(i), { evictonPolicy: "evict_first" }));' },
    passing: { body: 'tl.store(y.at(i), tl.load(x.at(i), { evictionPolicy: "evict_first" }));' },
  },
  "unmasked-view": {
    meaning: "The op has no mask, so a view whose index may be out of bounds cannot be used.",
    message:
      "atomicPoll: takes no mask, so each index of a view must be in bounds; say so with tl.inBounds(index), or use x.ptr.add(…)",
    failing: {
      params: `x: tensor.inout(tl.int32, ["N"]), BLOCK: constexpr()`,
      names: "x, N",
      spec: 'triton: "3.9",\ninputs: ({ N }, torch) => ({ x: torch.ones([N]).to(tl.int32) }),',
      body: "tl.atomicPoll(x.at(tl.programId(0)), 1);",
    },
    passing: {
      params: `x: tensor.inout(tl.int32, ["N"]), BLOCK: constexpr()`,
      names: "x, N",
      spec: 'triton: "3.9",\ninputs: ({ N }, torch) => ({ x: torch.ones([N]).to(tl.int32) }),',
      body: "tl.atomicPoll(x.at(tl.inBounds(tl.programId(0))), 1);",
    },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const rules = {
  "address-as-value": {
    meaning: "A pointer or a view is an address. Load the values before an op computes with them.",
    message: "exp: this is an address; load it first, tl.load(…)",
    failing: { body: "tl.store(y.at(i), tl.exp(x.at(i)));" },
    passing: { body: "tl.store(y.at(i), tl.exp(tl.load(x.at(i))));" },
  },
  "dot-operands": {
    meaning: "The operands of a matrix product must have the same dtype and the same inner dim.",
    message: "dot: needs tiles of rank 2 or 3, this is [BLOCK]; of two vectors, tl.sum(a.mul(b))",
    failing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.dot(v, v));" },
    passing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), v.mul(v));" },
  },
  "dtype-mismatch": {
    meaning: "The two dtypes do not combine implicitly. Cast one operand.",
    message: "store: the tensor holds int32, the value is uint32; cast with .to(tl.int32)",
    failing: { params: UNSIGNED, body: "tl.store(y.at(i), tl.load(x.at(i)).add(i));" },
    passing: { params: UNSIGNED, body: "tl.store(y.at(i), tl.load(x.at(i)).to(tl.int32).add(i));" },
  },
  "dtype-unsupported": {
    meaning: "The op does not support this dtype.",
    message: "exp: works on float32 and float64, not on float16; cast with .to(tl.float32)",
    failing: { params: HALVES, body: "tl.store(y.at(i), tl.exp(tl.load(x.at(i))));" },
    passing: { params: HALVES, body: "tl.store(y.at(i), tl.exp(tl.load(x.at(i)).to(tl.float32)));" },
  },
  "needs-address": {
    meaning: "Memory access needs a pointer, a view or a descriptor.",
    message: "load: this is a tile of values, not an address; write x.at(i, j) of a tensor x",
    failing: { body: "tl.store(y.at(i), tl.load(i));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
  },
  "needs-constexpr": {
    meaning: "Triton must know this number at compile time, so it must be a constexpr or a number.",
    message:
      "arange: bounds must be constexprs or numbers, this is a run-time int32; declare a block size among the params, BLOCK: constexpr()",
    failing: {
      body: "const j = tl.programId(0).mul(BLOCK).add(tl.arange(0, N));\ntl.store(y.at(j), tl.load(x.at(j)));",
    },
    passing: {
      body: "const j = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));\ntl.store(y.at(j), tl.load(x.at(j)));",
    },
  },
  "number-type": {
    meaning:
      "A JavaScript number gets the dtype of the tile that it is combined with, and must be representable in it. Without a tile, use `tl.full` to set the dtype.",
    message: "mul: 0.5 is not a whole number and the tile is int32; cast it first, .to(tl.float32)",
    failing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).mul(0.5));" },
    passing: { params: INTEGERS, body: "tl.store(y.at(i), tl.load(x.at(i)).to(tl.float32).mul(0.5).to(tl.int32));" },
  },
  "operand-kind": {
    meaning: "The op needs an operand of another kind, such as a tile, a scalar or an integer.",
    message: "full: the value is a scalar, this is [BLOCK]",
    failing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.full([BLOCK], v, tl.float32));" },
    passing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), v.mul(tl.full([BLOCK], 2, tl.float32)));" },
  },
  "option-value": {
    meaning: "The option accepts only these values.",
    message: 'load: evictionPolicy is "first"; it is one of "", "evict_first", "evict_last"',
    failing: { body: 'tl.store(y.at(i), tl.load(x.at(i), { evictionPolicy: "first" }));' },
    passing: { body: 'tl.store(y.at(i), tl.load(x.at(i), { evictionPolicy: "evict_first" }));' },
  },
  "read-only": {
    meaning: "A kernel must not write an input, because the caller still uses it.",
    message: "store: this tensor is an input; declare it tensor.out(...) or tensor.inout(...)",
    failing: { body: "tl.store(x.at(i), tl.load(x.at(i)));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
  },
  "shape-mismatch": {
    meaning: "Shapes broadcast as in PyTorch, but ranks are explicit. `.row` and `.col` add an axis.",
    message: "add: [BLOCK] and [32] do not broadcast, BLOCK is not 32; make a grid of them with .col and .row",
    failing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), v.add(tl.zeros([32], tl.float32)));" },
    passing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), v.add(tl.zeros([BLOCK], tl.float32)));" },
  },
  "state-as-value": {
    meaning: "`tl.mut` is a variable: `.value` reads its value.",
    message: "add: this is state; read it with .value",
    failing: { body: `${STATE}\ntl.store(y.at(i), tl.load(x.at(i)).add(sum));` },
    passing: { body: `${STATE}\ntl.store(y.at(i), tl.load(x.at(i)).add(sum.value));` },
  },
  "tensor-as-value": {
    meaning: "A tensor argument is in memory. Load a tile of it.",
    message: "exp: this is a whole tensor; load a tile of it first, tl.load(x.at(…))",
    failing: { body: "tl.store(y.at(i), tl.exp(x));" },
    passing: { body: "tl.store(y.at(i), tl.exp(tl.load(x.at(i))));" },
  },
  "truth-value": {
    meaning: "Masks are int1 and combine only with int1. A comparison converts integers to masks.",
    message: "store: a mask is int1, this is int32; compare it, .ne(0)",
    failing: { body: "tl.store(y.at(i), tl.load(x.at(i)), { mask: i.add(1) });" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)), { mask: i.add(1).ne(0) });" },
  },
  "wrong-axis": {
    meaning: "The tile does not have this axis, or the number of indices differs from the number of axes.",
    message: "at: [M, N] needs one index an axis, 1 given; write x.at(i, j), an index for each",
    failing: { ...MATRIX, body: "tl.store(y.at(i), tl.load(x.at(i)));" },
    passing: MATRIX,
  },
} as const satisfies Readonly<Record<string, Explanation>>;

const PYTHON = {
  "ops.py":
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef twice(x):\n    return x * 2\n\n\ndef plain(x):\n    return x\n",
};
const CALL = "tl.store(y.at(i), twice(tl.load(x.at(i))));";

export const externs = {
  "extern-file": {
    meaning: "TileScript copies an existing Python function from a file, whose path is relative to the kernel's file.",
    message: "extern: the file ./missing.py beside this one cannot be read",
    failing: { before: 'const twice = tl.extern("./missing.py", "twice", { evaluate: (v) => v.mul(2) });', body: CALL },
    passing: { before: 'const twice = tl.extern("./ops.py", "twice", { evaluate: (v) => v.mul(2) });', body: CALL },
    otherFiles: PYTHON,
  },
  "extern-meaning": {
    meaning:
      "TileScript does not interpret Python. `evaluate` describes the computation of the function, or `result` its result type.",
    message: "extern: no result is described; write { evaluate: (x) => … }, or { result: (x) => … }",
    failing: { before: 'const twice = tl.extern("./ops.py", "twice", {});', body: CALL },
    passing: { before: 'const twice = tl.extern("./ops.py", "twice", { evaluate: (v) => v.mul(2) });', body: CALL },
    otherFiles: PYTHON,
  },
  "extern-source": {
    meaning:
      "The Python file does not contain the function, or the function uses names that a kernel's module cannot provide.",
    message: "extern: ./ops.py: plain is an ordinary Python function; put @triton.jit above it",
    failing: { before: 'const twice = tl.extern("./ops.py", "plain", { evaluate: (v) => v.mul(2) });', body: CALL },
    passing: { before: 'const twice = tl.extern("./ops.py", "twice", { evaluate: (v) => v.mul(2) });', body: CALL },
    otherFiles: PYTHON,
  },
} as const satisfies Readonly<Record<string, Explanation>>;
