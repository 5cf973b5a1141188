/** Examples of `reference-codes.ts`, `operator-codes.ts` and `call-codes.ts`. */
import type { Explanation } from "./explanation.js";

const ADD_ONE = `const addOne = kernel(
  "add_one",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(i)).add(1));
  },
);
`;
const PARAMS = `{ params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) } }`;
const operator = (body: string, params = PARAMS) =>
  `${ADD_ONE}\nexport const example = op("plus", ${params}, ${body});`;
const GOOD = operator("({ x }) => ({ y: addOne.call({ x }).y })");
const callOf = (call: string) => `${ADD_ONE}\nawait addOne.run(${call});`;

export const references = {
  "reference-argument": {
    meaning: "Functions of torch accept torch values, numbers, booleans, strings and lists of these.",
    message: "reference: torch.float32 is not a value here; write tl.float32",
    failing: { spec: "reference: ({ x }, torch) => x.to(torch.float32)," },
    passing: { spec: "reference: ({ x }) => x.to(tl.float32)," },
  },
  "reference-coercion": {
    meaning: "A reference is traced, so JavaScript operators do not compute with torch values.",
    message:
      "reference: JavaScript's operators cannot compute with a torch value; write its methods, x.mul(y) for x * y, x.matmul(y) for x @ y, x.gt(y) for x > y",
    failing: { spec: "reference: ({ x }) => x * 1," },
    passing: { spec: "reference: ({ x }) => x.mul(1)," },
  },
  "reference-flag": {
    meaning: "A traced flag is truthy in JavaScript, so `?:` never records the other side.",
    message:
      "reference: takes NEGATE, and no result depends on it; JavaScript treats every recorded value as true, so write NEGATE.choose(a, b) instead of NEGATE ? a : b, or leave NEGATE out",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), NEGATE: constexpr.bool(), BLOCK: constexpr()`,
      spec: "reference: ({ x, NEGATE }) => (NEGATE ? x.neg() : x),",
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), NEGATE: constexpr.bool(), BLOCK: constexpr()`,
      spec: "reference: ({ x, NEGATE }) => NEGATE.choose(x.neg(), x),",
    },
  },
  "reference-in-place": {
    meaning:
      "References, inputs, providers and operators are traced as expressions of new tensors, which would omit an in-place change.",
    message: "reference: mul_ changes a tensor in place, which cannot be recorded; write mul(…) and use its result",
    failing: {
      spec: "reference: ({ x }) => { const scaled = x.clone(); scaled.mul_(2); return scaled; },",
      body: "tl.store(y.at(i), tl.load(x.at(i)).mul(2));",
    },
    passing: { spec: "reference: ({ x }) => x.mul(2),", body: "tl.store(y.at(i), tl.load(x.at(i)).mul(2));" },
  },
  "reference-result": {
    meaning: "A reference must return one torch expression per output, with the output's shape.",
    message: "reference: gives 2 results, the kernel has 1 output (y); give one for each",
    failing: { spec: "reference: ({ x }) => [x, x]," },
    passing: { spec: "reference: ({ x }) => x," },
  },
  "spec-inputs": {
    meaning: "`inputs` must return torch expressions, by the names of tensors that the kernel reads.",
    message: "inputs: y is not a tensor that the kernel reads; those are x",
    failing: { spec: "inputs: ({ N }, torch) => ({ y: torch.rand([N]) })," },
    passing: { spec: "inputs: ({ N }, torch) => ({ x: torch.rand([N]) })," },
  },
  "torch-call": {
    meaning: "PyTorch would reject this call of the reference, too.",
    message: "reshape: [40] does not reshape to [3, 7]",
    failing: { spec: "reference: ({ x }) => x.reshape([3, 7])," },
    passing: { spec: "reference: ({ x }) => x.reshape([40])," },
    run: { sizes: { N: 40 } },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const operators = {
  "kernel-call": {
    meaning: "Inside `op`, a kernel call passes arguments by name, with tensors of the kernel's shapes and dtypes.",
    message: "add_one.call: there is no argument z; leave it out, or declare it in the params of add_one",
    failing: operator("({ x }) => ({ y: addOne.call({ z: x }).y })"),
    passing: GOOD,
  },
  "operator-alias": {
    meaning: "PyTorch rejects an operator that returns memory of its inputs, or the same memory twice.",
    message: "plus: y shares memory with x; return a copy, .clone()",
    failing: operator("({ x }) => {\n  addOne.call({ x });\n  return { y: x };\n}"),
    passing: GOOD,
  },
  "operator-gradient": {
    meaning: "`backward` must return gradients of floating-point inputs, by their names.",
    message: "plus: backward returns z, which is not an input; return gradients by the names of inputs",
    failing: operator("({ x }) => ({ y: addOne.call({ x }).y }), (_, { y }) => ({ z: y.clone() })"),
    passing: operator("({ x }) => ({ y: addOne.call({ x }).y }), (_, { y }) => ({ x: y.clone() })"),
  },
  "operator-kernels": {
    meaning: "An operator must call at least one kernel, and its kernels must have different names.",
    message: "plus: it calls no kernel; write kernel.call({ … }) in its function",
    failing: operator("({ x }) => ({ y: x.add(1) })"),
    passing: GOOD,
  },
  "operator-params": {
    meaning: "PyTorch passes input tensors and numbers to an operator, and receives new tensors.",
    message: "plus: an operator needs an output; declare it, y: tensor.out(…)",
    failing: operator("({ x }) => ({ y: addOne.call({ x }).y })", `{ params: { x: tensor(tl.float32, ["N"]) } }`),
    passing: GOOD,
  },
  "operator-result": {
    meaning: "An operator's function must return each declared output by its name, with its shape and dtype.",
    message: "plus: the function does not return y; return it by name, { y }",
    failing: operator("({ x }) => ({ z: addOne.call({ x }).y })"),
    passing: GOOD,
  },
  "triton-op": {
    meaning: "torch.compile cannot trace the launch of this kernel. A custom_op supports any kernel.",
    message: "example: triton_op cannot have the heuristic of EVEN; torch.compile cannot trace it, so emit a custom_op",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },",
    },
    passing: { params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()` },
    run: { op: { namespace: "example", form: "triton_op" } },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const calls = {
  "call-argument": {
    meaning: "A call must pass each input by name, as an array with its dtype and shape.",
    message: "add_one: x is a JavaScript array; give an NDArray of float32 with shape [N]",
    failing: callOf("{ x: [1, 2, 3] }"),
    passing: callOf('{ x: Float32Array.of(1, 2, 3) }, { device: "eval" }'),
  },
  "call-refused": {
    meaning: "The sizes do not satisfy the kernel's `requires`.",
    message: "example: the kernel refuses this call: it requires (N % 16) == 0; here N is 10",
    failing: {
      spec: "requires: ({ N }) => N.mod(16).eq(0),",
      after: 'await example.run({ x: new Float32Array(10) }, { device: "eval" });',
    },
    passing: {
      spec: "requires: ({ N }) => N.mod(16).eq(0),",
      after: 'await example.run({ x: new Float32Array(32) }, { device: "eval" });',
    },
  },
  "device-run": {
    meaning: "The emitted kernel failed on the device. The message is that of Triton or PyTorch, at your line.",
    message: "example: RuntimeError: …",
    command: "npx tsx script.ts",
    remedy: "npx tilescript run kernel.ts --device eval",
  },
  "host-array": {
    meaning: "An NDArray needs a shape, a dtype, and as many elements as the shape requires.",
    message: "shape [2, 2] has 4 elements, got 3 values",
    failing: "NDArray.of([1, 2, 3], [2, 2]);",
    passing: "NDArray.of([1, 2, 3, 4], [2, 2]);",
  },
} as const satisfies Readonly<Record<string, Explanation>>;
