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
