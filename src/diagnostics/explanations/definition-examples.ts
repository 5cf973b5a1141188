/** Examples of `definition-codes.ts`. */
import type { Explanation } from "./explanation.js";

export const definitions = {
  "kernel-result": {
    means: "A kernel's function returns nothing: results leave a kernel through memory.",
    says: "example: the kernel's function returns something; store it instead, tl.store(y.at(i), x), and return nothing",
    fails: { body: "return tl.load(x.at(i));" },
    passes: { body: "tl.store(y.at(i), tl.load(x.at(i)));" },
  },
  "missing-part": {
    means: "A kernel needs params, a grid and a function; an operator needs params and a function.",
    says: "example: grid is missing; write grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
    fails: `export const example = kernel("example", { params: { y: tensor.out(tl.float32, [16]) } }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
});`,
    passes: `export const example = kernel("example", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
});`,
  },
  "no-source": {
    means:
      "The kernel was built where its TypeScript file cannot be read, as in a page. Names in the Python come from ops, and JavaScript operators on traced values are not found before they throw.",
    says: "example: its source cannot be read, so names come from ops and hidden coercions go unnoticed; build from the TypeScript file",
    command: "node bundled.js",
    remedy: "npx tilescript check kernel.ts",
  },
  "not-a-kernel": {
    means: "A function that takes a kernel was given something else.",
    says: "this is not a kernel; give what kernel(…) returned",
    fails: `import { build } from "tilescript";
await build({ name: "example" });`,
    passes: `import { build } from "tilescript";
await build(kernel("example", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 0);
}));`,
  },
  "not-specialized": {
    means:
      "The kernel asks for a warp-specialized form, which its text does not have. The form is a loop over blocks of two tensors whose product a state takes up, then arithmetic of each row by itself, then stores of blocks.",
    says: 'example has no warp-specialized form: it multiplies no matrices; write specialize: "never" to launch the plain kernel instead',
    fails: { spec: 'specialize: "always",' },
    passes: { spec: 'specialize: "never",' },
  },
  "python-name": {
    means: "The name goes into the emitted Python as it is, so it must be an identifier there.",
    says: 'kernel: "add-one" cannot be a Python name; write "add_one"',
    fails: `export const example = kernel("add-one", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 1);
});`,
    passes: `export const example = kernel("add_one", { params: { y: tensor.out(tl.float32, [16]) }, grid: () => [1] }, ({ y }) => {
  tl.store(y.at(tl.arange(0, 16)), 1);
});`,
  },
  "reserved-name": {
    means: "Python, PyTorch, a launch of Triton or a measurement uses this name already.",
    says: "example: eager is always measured; give the provider another name",
    fails: { spec: "providers: { eager: ({ x }) => x.clone() }," },
    passes: { spec: "providers: { clone: ({ x }) => x.clone() }," },
  },
  "spec-shapes": {
    means: "Each of `shapes` gives a number for every size that a caller's tensors decide, and nothing else.",
    says: "example: shapes[0] has no N; give each size a number",
    fails: { spec: "shapes: [{ M: 100 }]," },
    passes: { spec: "shapes: [{ N: 100 }]," },
  },
  "spec-value": {
    means: "A part of the spec has a value of another form than the build reads.",
    says: "example: tolerance is 0.001; it is { rtol: 1e-3, atol: 1e-3 }, numbers from 0 up, or one of them, and such parts by the name of an output, { q: { atol: 1 } }",
    fails: { spec: "tolerance: 1e-3," },
    passes: { spec: "tolerance: { rtol: 1e-3, atol: 1e-3 }," },
  },
  "triton-version": {
    means: "The kernel uses what Triton has since 3.9. It is an error where the kernel says that it runs on 3.6.",
    says: 'example: tl.expect_zero, used like this, needs Triton 3.9; set triton: "3.9" in the kernel if you want that',
    fails: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.expectZero(v, v.lt(0)));" },
    passes: {
      spec: 'triton: "3.9",',
      body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.expectZero(v, v.lt(0)));",
    },
  },
  "unknown-part": {
    means: "The spec has no part of this name, so it would have no effect.",
    says: "example: confg is not a part of a spec; write config",
    fails: { config: "confg: { BLOCK: 16 }," },
    passes: { config: "config: { BLOCK: 16 }," },
  },
  "unused-tensor": {
    means: "A tensor is declared and never used: callers pass it for nothing.",
    says: "example: the tensor z is never used; remove it from params",
    fails: {
      params: `x: tensor(tl.float32, ["N"]), z: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
    },
    passes: { params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()` },
  },
} as const satisfies Readonly<Record<string, Explanation>>;
