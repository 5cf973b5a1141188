/** Examples of `definition-codes.ts`. */
import type { Explanation } from "./explanation.js";

const FILL = {
  params: 'y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()',
  names: "y, N, BLOCK",
  body: "tl.store(y.at(i), 1);",
};

export const definitions = {
  "kernel-result": {
    meaning: "A kernel's function returns nothing. A kernel returns results through its output tensors.",
    message:
      "example: the kernel's function returns something; store it instead, tl.store(y.at(i), x), and return nothing",
    failing: { body: "return tl.load(x.at(i));" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
  },
  "missing-part": {
    meaning: "A kernel needs params, a grid and a function. An operator needs params and a function.",
    message: "example: grid is missing; write grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
    failing: `export const example = kernel("example", { params: { y: tensor.out(tl.float32, [16]) } }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
});`,
    passing: `export const example = kernel("example", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
});`,
  },
  "no-source": {
    meaning:
      "The build cannot read the kernel's TypeScript file, for example in a web page. Names in the emitted Python then come from ops, and JavaScript operators on traced values are reported only when they throw.",
    message:
      "example: its source cannot be read, so names come from ops and hidden coercions go unnoticed; build from the TypeScript file",
    command: "node bundled.js",
    remedy: "npx tilescript check kernel.ts",
  },
  "not-a-kernel": {
    meaning: "A function that expects a kernel received another value.",
    message: "this is not a kernel; pass the value that kernel(…) returned",
    failing: `import { build } from "tilescript";
await build({ name: "example" });`,
    passing: `import { build } from "tilescript";
await build(kernel("example", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
}));`,
  },
  "no-launch-cache": {
    meaning:
      "A later call can skip the wrapper's checks only if the first call determines everything that a launch needs. The module has no launch cache and launches like any Triton kernel.",
    message:
      'example has no launch cache: no input determines its device; leave launch: "fast" out, in the spec or as --launch fast',
    failing: { ...FILL, spec: 'launch: "fast",' },
    passing: FILL,
  },
  "not-specialized": {
    meaning:
      "The kernel requests a warp-specialized kernel but matches no supported pattern. A matrix product must be a loop that accumulates products of blocks, then an epilogue in which no row depends on another, then stores of blocks.",
    message:
      'example has no warp-specialized form: it multiplies no matrices; write warpSpecialize: "never" to launch the plain kernel instead',
    failing: { spec: 'warpSpecialize: "always",' },
    passing: { spec: 'warpSpecialize: "never",' },
  },
  "python-name": {
    meaning: "The emitted Python uses the name unchanged, so it must be a Python identifier.",
    message: 'kernel: "add-one" cannot be a Python name; write "add_one"',
    failing: `export const example = kernel("add-one", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 1);
});`,
    passing: `export const example = kernel("add_one", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 1);
});`,
  },
  "reserved-name": {
    meaning: "Python, PyTorch, a Triton launch or a benchmark already uses this name.",
    message: "example: eager is always measured; give the provider another name",
    failing: { spec: "providers: { eager: ({ x }) => x.clone() }," },
    passing: { spec: "providers: { clone: ({ x }) => x.clone() }," },
  },
  "spec-shapes": {
    meaning:
      "Each entry of `shapes` must give a number for every size that the caller's tensors determine, and for no other name.",
    message: "example: shapes[0] has no N; give each size a number",
    failing: { spec: "shapes: [{ M: 100 }]," },
    passing: { spec: "shapes: [{ N: 100 }]," },
  },
  "spec-value": {
    meaning: "A part of the spec has a value of an unsupported form.",
    message:
      "example: tolerance is 0.001; it is { rtol: 1e-3, atol: 1e-3 }, numbers from 0 up, or one of them, and such parts by the name of an output, { q: { atol: 1 } }",
    failing: { spec: "tolerance: 1e-3," },
    passing: { spec: "tolerance: { rtol: 1e-3, atol: 1e-3 }," },
  },
  "triton-version": {
    meaning: "The kernel uses a feature of Triton 3.9. This is an error if the spec declares support for 3.6.",
    message:
      'example: tl.expect_zero, used like this, needs Triton 3.9; set triton: "3.9" in the kernel if you want that',
    failing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.expectZero(v, v.lt(0)));" },
    passing: {
      spec: 'triton: "3.9",',
      body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.expectZero(v, v.lt(0)));",
    },
  },
  "unknown-part": {
    meaning: "The spec has no part of this name, so it would have no effect.",
    message: "example: confg is not a part of a spec; write config",
    failing: { config: "confg: { BLOCK: 16 }," },
    passing: { config: "config: { BLOCK: 16 }," },
  },
  "unused-tensor": {
    meaning: "A tensor is declared but not used, so callers would pass it for nothing.",
    message: "example: the tensor z is never used; remove it from params",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), z: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
    },
    passing: { params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()` },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

// Examples of `config-codes.ts`.

const configs = (list: string, extra = "") => `autotune: { key: ["N"], configs: [${list}]${extra} },`;
const TWO = "{ BLOCK: 16 }, { BLOCK: 32 }";
const LATER = (size: string) => ({
  body: `const j = tl.programId(0).mul(BLOCK).add(tl.arange(0, ${size}));\ntl.store(y.at(j), tl.load(x.at(j)));`,
});

export const configurations = {
  "autotune-key": {
    meaning:
      "The autotuner caches the best config by its key: names of sizes, scalars and constexprs that callers determine.",
    message: "example: the autotune key M is not a size, scalar or constexpr; it may be N",
    failing: { config: `autotune: { key: ["M"], configs: [${TWO}] },` },
    passing: { config: configs(TWO) },
  },
  "autotune-reset": {
    meaning:
      "Autotuning runs the kernel several times on the same memory. Tensors that a run reads and writes must be restored in between.",
    message: 'example: autotuning runs the kernel several times and y is updated in place; add restoreValue: ["y"]',
    failing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()`,
      config: configs(TWO),
      body: "tl.store(y.at(i), tl.load(y.at(i)).add(tl.load(x.at(i))));",
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()`,
      config: configs(TWO, `, restoreValue: ["y"]`),
      body: "tl.store(y.at(i), tl.load(y.at(i)).add(tl.load(x.at(i))));",
    },
  },
  "config-missing": {
    meaning: "Each config must give a value to each constexpr that configs set.",
    message: "example: its config: BLOCK is missing; give it a value",
    failing: { config: "config: { numWarps: 4 }," },
    passing: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "config-name": {
    meaning: "A config contains only launch options, and constexprs whose values come from configs.",
    message: "example: its config: BLOK is not a constexpr of this kernel; write BLOCK",
    failing: { config: "config: { BLOCK: 16, BLOK: 32 }," },
    passing: { config: "config: { BLOCK: 16 }," },
  },
  "config-repeated": {
    meaning: "Two configs are equal, so autotuning would measure the same config twice.",
    message: "example: config 1 (BLOCK: 16): it repeats config 0; leave one out",
    failing: { config: configs("{ BLOCK: 16 }, { BLOCK: 16 }") },
    passing: { config: configs(TWO) },
  },
  "config-sources": {
    meaning: "A kernel has either one `config`, or `autotune` with at least one config.",
    message: "example: autotune has no configs; list at least one",
    failing: { config: configs("") },
    passing: { config: configs(TWO) },
  },
  "config-value": {
    meaning: "A value in a config has the wrong type for its constexpr or launch option.",
    message: "example: its config: numWarps is 3; it is a power of two up to 32",
    failing: { config: "config: { BLOCK: 16, numWarps: 3 }," },
    passing: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "configs-in-source": {
    meaning: "`tune --write` replaces the list of configs in the kernel's file, but the file has no literal list.",
    message: "example: write autotune.configs as a list in the kernel's spec",
    command: "npx tilescript tune kernel.ts --write",
    remedy: 'autotune: { key: ["N"], configs: [{ BLOCK: 16 }] }',
  },
  "dot-size": {
    meaning: "Triton requires a minimum size for each side of the tiles of a matrix product.",
    message: "dot: the inner dimension 8 is 8; 16-bit operands need at least 16",
    failing: {
      params: `a: tensor(tl.float16, [16, 8]), b: tensor(tl.float16, [8, 16]), y: tensor.out(tl.float32, [16, 16])`,
      grid: "() => [1]",
      config: "",
      names: "a, b, y",
      body: `const [m, k] = [tl.arange(0, 16), tl.arange(0, 8)];
tl.store(y.at(m, m), tl.dot(tl.load(a.at(m, k)), tl.load(b.at(k, m))));`,
    },
    passing: {
      params: `a: tensor(tl.float16, [16, 16]), b: tensor(tl.float16, [16, 16]), y: tensor.out(tl.float32, [16, 16])`,
      grid: "() => [1]",
      config: "",
      names: "a, b, y",
      body: `const m = tl.arange(0, 16);
tl.store(y.at(m, m), tl.dot(tl.load(a.at(m, m)), tl.load(b.at(m, m))));`,
    },
  },
  "tile-size": {
    meaning: "In every config, the dims of a tile are powers of two, and the tile has at most 2²⁰ elements.",
    message: "BLOCK is 100; a tile's dimension is a power of two, such as 64 or 128",
    failing: { config: "config: { BLOCK: 100 }," },
    passing: { config: "config: { BLOCK: 128 }," },
  },
  "tuning-space": {
    meaning: "The space of `tune` lists values of constexprs and options that configs set.",
    message: "example: the space has no values for BLOCK; list them, as in [32, 64]",
    failing: { config: configs(TWO, ", space: { BLOCK: [] }") },
    passing: { config: configs(TWO, ", space: { BLOCK: [16, 32] }") },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const host = {
  "computed-later": {
    meaning:
      "The wrapper computes sizes first, then launch-time constexprs, computed config values and properties of the device. It computes heuristics after it has chosen a config, in the order of params. No value may depend on a later one.",
    message:
      "example: EVEN is computed before a config is chosen, and names BLOCK of the configs; compute EVEN in heuristics",
    failing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.launch.bool(({ N, BLOCK }) => N.mod(BLOCK).eq(0))`,
      config: configs(TWO),
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      config: `${configs(TWO)}\nheuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },`,
    },
  },
  "grid-axes": {
    meaning: "A grid has one to three axes, each with a number of programs.",
    message: "grid: has 4 axes; give one, two or three",
    failing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK), 1, 1, 1]" },
    passing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK), 1, 1]" },
  },
  "heuristic-target": {
    meaning: "Heuristics compute constexpr params that are integers or flags.",
    message: "example: heuristics names EVEN, which is neither a constexpr() nor a constexpr.bool() of params",
    failing: { spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) }," },
    passing: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },",
    },
  },
  "host-only": {
    meaning:
      "Python computes grids, sizes and heuristics before a launch, with integer arithmetic. Tiles exist only in the kernel.",
    message: "nextPowerOf2 exists on the host only; use it in constexpr.launch(…), the grid or requires",
    failing: LATER("tl.nextPowerOf2(N)"),
    passing: LATER("BLOCK"),
  },
  "host-result": {
    meaning: "A function that computes a grid, a size or a constexpr must return a value of the declared form.",
    message: "this callback returns nothing; write return before its result, or leave the braces out",
    failing: { grid: "({ N, BLOCK }) => { [tl.cdiv(N, BLOCK)]; }" },
    passing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
  },
  "host-value": {
    meaning:
      "Python cannot compute the grid, a size, a constexpr or a requirement in this test case. The wrapper raises an error before the launch.",
    message:
      "example: this divides by zero at N=40, BLOCK=16, where Python raises ZeroDivisionError; divide by a number that is never 0, such as tl.maximum(1, …), or ask for it in requires",
    failing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK.floorDiv(32))]" },
    passing: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
    run: { sizes: { N: 40 } },
  },
  "launch-option": {
    meaning:
      "`launch` has only options that are the same for all configs. Configs have numWarps and the other options.",
    message:
      "example: launch: no option numWarps; it has launchPdl, launchCooperativeGrid, enableFpFusion, and configs have the others",
    failing: { spec: "launch: { numWarps: 4 }," },
    passing: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "specialized-names": {
    meaning:
      "`doNotSpecialize` lists sizes and scalars. `doNotSpecializeOnAlignment` may also list tensors and pointers.",
    message: "example: doNotSpecialize names x; it may name N",
    failing: { spec: 'doNotSpecialize: ["x"],' },
    passing: { spec: 'doNotSpecialize: ["N"],' },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

// Examples of `reference-codes.ts`, `operator-codes.ts` and `call-codes.ts`.

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
