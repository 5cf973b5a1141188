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
const called = (call: string) => `${ADD_ONE}\nawait addOne.run(${call});`;

export const references = {
  "reference-argument": {
    means: "Functions of torch take torch values, numbers, truth values, strings and lists of these.",
    says: "reference: torch.float16 is not a value here; write tl.float16",
    fails: { spec: "reference: ({ x }, torch) => x.to(torch.float16).to(tl.float32)," },
    passes: { spec: "reference: ({ x }) => x.to(tl.float16).to(tl.float32)," },
  },
  "reference-coercion": {
    means: "A reference is recorded, so JavaScript operators do not compute with torch values.",
    says: "reference: JavaScript's operators cannot compute with a torch value; write its methods, x.mul(y) for x * y, x.matmul(y) for x @ y, x.gt(y) for x > y",
    fails: { spec: "reference: ({ x }) => x * 1," },
    passes: { spec: "reference: ({ x }) => x.mul(1)," },
  },
  "reference-flag": {
    means: "JavaScript takes a recorded flag for true, so `?:` never records the other side.",
    says: "reference: takes NEGATE, and no result depends on it; JavaScript treats every recorded value as true, so write NEGATE.choose(a, b) instead of NEGATE ? a : b, or leave NEGATE out",
    fails: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), NEGATE: constexpr.bool(), BLOCK: constexpr()`,
      spec: "reference: ({ x, NEGATE }) => (NEGATE ? x.neg() : x),",
    },
    passes: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), NEGATE: constexpr.bool(), BLOCK: constexpr()`,
      spec: "reference: ({ x, NEGATE }) => NEGATE.choose(x.neg(), x),",
    },
  },
  "reference-in-place": {
    means:
      "References, inputs, providers and operators are recorded as expressions of new tensors. A change in place would be left out.",
    says: "reference: mul_ changes a tensor in place, which cannot be recorded; write mul(…) and use its result",
    fails: {
      spec: "reference: ({ x }) => { const scaled = x.clone(); scaled.mul_(2); return scaled; },",
    },
    passes: { spec: "reference: ({ x }) => x.mul(2)," },
  },
  "reference-result": {
    means: "A reference returns a torch expression for each output, in the shape of that output.",
    says: "reference: gives 2 results, the kernel has 1 output (y); give one for each",
    fails: { spec: "reference: ({ x }) => [x, x]," },
    passes: { spec: "reference: ({ x }) => x," },
  },
  "spec-inputs": {
    means: "`inputs` returns torch expressions by the names of tensors that the kernel reads.",
    says: "inputs: y is not a tensor that the kernel reads; those are x",
    fails: { spec: "inputs: ({ N }, torch) => ({ y: torch.rand([N]) })," },
    passes: { spec: "inputs: ({ N }, torch) => ({ x: torch.rand([N]) })," },
  },
  "torch-call": {
    means: "PyTorch would refuse this call of the reference too.",
    says: "reshape: [40] does not reshape to [3, 7]",
    fails: { spec: "reference: ({ x }) => x.reshape([3, 7])," },
    passes: { spec: "reference: ({ x }) => x.reshape([40])," },
    run: { sizes: { N: 40 } },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const operators = {
  "kernel-call": {
    means: "A kernel is called by the names of its arguments, inside `op`, with tensors of its shapes and dtypes.",
    says: "add_one.call: there is no argument z; leave it out, or declare it in the params of add_one",
    fails: operator("({ x }) => ({ y: addOne.call({ z: x }).y })"),
    passes: GOOD,
  },
  "operator-alias": {
    means: "PyTorch refuses an operator that returns memory of its inputs, or the same memory twice.",
    says: "plus: y shares memory with x; return a copy, .clone()",
    fails: operator("({ x }) => {\n  addOne.call({ x });\n  return { y: x };\n}"),
    passes: GOOD,
  },
  "operator-gradient": {
    means: "`backward` returns gradients of floating inputs, by their names.",
    says: "plus: backward returns z, which is not an input; return gradients by the names of inputs",
    fails: operator("({ x }) => ({ y: addOne.call({ x }).y }), (_, { y }) => ({ z: y.clone() })"),
    passes: operator("({ x }) => ({ y: addOne.call({ x }).y }), (_, { y }) => ({ x: y.clone() })"),
  },
  "operator-kernels": {
    means: "An operator calls at least one kernel, and each of its kernels has a name of its own.",
    says: "plus: it calls no kernel; write kernel.call({ … }) in its function",
    fails: operator("({ x }) => ({ y: x.add(1) })"),
    passes: GOOD,
  },
  "operator-params": {
    means: "PyTorch hands an operator tensors to read and numbers, and gets new tensors.",
    says: "plus: an operator needs an output; declare it, y: tensor.out(…)",
    fails: operator("({ x }) => ({ y: addOne.call({ x }).y })", `{ params: { x: tensor(tl.float32, ["N"]) } }`),
    passes: GOOD,
  },
  "operator-result": {
    means: "An operator's function returns each declared output by its name, in its shape and dtype.",
    says: "plus: the function does not return y; return it by name, { y }",
    fails: operator("({ x }) => ({ z: addOne.call({ x }).y })"),
    passes: GOOD,
  },
  "triton-op": {
    means: "torch.compile cannot trace what this kernel's launch does; a custom_op takes any kernel.",
    says: "example: triton_op cannot have the heuristic of EVEN; torch.compile cannot trace it, so emit a custom_op",
    fails: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },",
    },
    passes: { params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()` },
    run: { op: { namespace: "example", form: "triton_op" } },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const calls = {
  "call-argument": {
    means: "A call gives each input by name, as an array of its dtype and shape.",
    says: "add_one: x is a JavaScript array; give an NDArray of float32 with shape [N]",
    fails: called("{ x: [1, 2, 3] }"),
    passes: called('{ x: Float32Array.of(1, 2, 3) }, { device: "eval" }'),
  },
  "call-refused": {
    means: "The kernel's `requires` does not hold for these sizes.",
    says: "example: the kernel refuses this call: it requires (N % 16) == 0; here N is 10",
    fails: {
      spec: "requires: ({ N }) => N.mod(16).eq(0),",
      after: 'await example.run({ x: new Float32Array(10) }, { device: "eval" });',
    },
    passes: {
      spec: "requires: ({ N }) => N.mod(16).eq(0),",
      after: 'await example.run({ x: new Float32Array(32) }, { device: "eval" });',
    },
  },
  "device-run": {
    means: "The emitted kernel failed on the device. The message is Triton's or PyTorch's, at the author's line.",
    says: "example: RuntimeError: …",
    command: "npx tsx script.ts",
    remedy: "npx tilescript run kernel.ts --device eval",
  },
  "host-array": {
    means: "An NDArray has a shape, a dtype and as many elements as the shape says.",
    says: "shape [2, 2] has 4 elements, got 3 values",
    fails: "NDArray.of([1, 2, 3], [2, 2]);",
    passes: "NDArray.of([1, 2, 3, 4], [2, 2]);",
  },
} as const satisfies Readonly<Record<string, Explanation>>;
