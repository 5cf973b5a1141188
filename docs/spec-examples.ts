/** An example of each param builder and each part of a spec: parts of a kernel file, the rest of which is `y = x`. */

import type { LaunchOptions } from "../src/params/spec.js";
import type { KernelFileParts } from "../src/diagnostics/explanations/explanation.js";
import type { RawSpec } from "../src/dsl/spec-schema.js";

const X = `x: tensor(tl.float32, ["N"])`;
const Y = `y: tensor.out(tl.float32, ["N"])`;
const BLOCK = "BLOCK: constexpr()";
const COPY = "tl.store(y.at(i), tl.load(x.at(i)));";
const ROWS = {
  params: `x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), ${BLOCK}`,
  grid: "({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)]",
  body: "const row = tl.inBounds(tl.programId(0));\nconst i = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));\ntl.store(y.at(row, i), tl.load(x.at(row, i)));",
};

/** Examples of the param builders. */
export const builders = {
  tensor: ROWS,
  "tensor.out": { params: `${X}, ${Y}, ${BLOCK}` },
  "tensor.inout": {
    params: `x: tensor.inout(tl.float32, ["N"]), ${BLOCK}`,
    names: "x, N, BLOCK",
    body: "tl.store(x.at(i), tl.load(x.at(i)).mul(2));",
  },
  "tensor(…).optional()": {
    params: `${X}, bias: tensor(tl.float32, ["N"]).optional(), ${Y}, ${BLOCK}`,
    names: "x, bias, y, N, BLOCK",
    body: "const sum = tl.mut(tl.load(x.at(i)));\ntl.when(bias.given, () => {\n  sum.value = sum.value.add(tl.load(bias.at(i)));\n});\ntl.store(y.at(i), sum.value);",
  },
  descriptor: {
    params: `x: descriptor(tl.float16, ["M", "N"], ["BM", "BN"]), y: descriptor.out(tl.float16, ["M", "N"], ["BM", "BN"]), BM: constexpr(), BN: constexpr()`,
    grid: "({ M, N, BM, BN }) => [tl.cdiv(M, BM), tl.cdiv(N, BN)]",
    config: "config: { BM: 64, BN: 64 },",
    names: "x, y, BM, BN",
    body: "const at = [tl.programId(0).mul(BM), tl.programId(1).mul(BN)] as const;\ny.store(at, x.load(at));",
  },
  pointer: {
    params: `p: pointer(tl.float32, { numel: "N" }), ${Y}, ${BLOCK}`,
    names: "p, y, N, BLOCK",
    body: "tl.store(y.at(i), tl.load(p.add(i), { mask: i.lt(N), other: 0 }));",
  },
  scalar: {
    params: `${X}, ${Y}, scale: scalar(tl.float32, { default: 1 }), ${BLOCK}`,
    names: "x, y, scale, N, BLOCK",
    body: "tl.store(y.at(i), tl.load(x.at(i)).mul(scale));",
  },
  constexpr: { params: `${X}, ${Y}, ${BLOCK}`, config: "config: { BLOCK: 128 }," },
  "constexpr.int": {
    params: `${X}, ${Y}, TIMES: constexpr.int({ default: 2, range: [1, 8] }), ${BLOCK}`,
    names: "x, y, TIMES, N, BLOCK",
    body: "tl.store(y.at(i), tl.load(x.at(i)).mul(TIMES));",
  },
  "constexpr.float": {
    params: `${X}, ${Y}, EPS: constexpr.float({ default: 1e-5 }), ${BLOCK}`,
    names: "x, y, EPS, N, BLOCK",
    body: "tl.store(y.at(i), tl.load(x.at(i)).add(EPS));",
  },
  "constexpr.bool": {
    params: `${X}, ${Y}, TWICE: constexpr.bool({ default: false }), ${BLOCK}`,
    names: "x, y, TWICE, N, BLOCK",
    body: "const value = tl.mut(tl.load(x.at(i)));\ntl.when(TWICE, () => {\n  value.value = value.value.mul(2);\n});\ntl.store(y.at(i), value.value);",
  },
  "constexpr.string": {
    params: `${X}, ${Y}, ACTIVATION: constexpr.string(["none", "relu"], { default: "none" }), ${BLOCK}`,
    names: "x, y, ACTIVATION, N, BLOCK",
    body: 'const value = tl.mut(tl.load(x.at(i)));\ntl.when(ACTIVATION.eq("relu"), () => {\n  value.value = tl.maximum(value.value, 0);\n});\ntl.store(y.at(i), value.value);',
  },
  "constexpr.fn": {
    before: "const same = (v: any) => v;\nconst relu = (v: any) => tl.maximum(v, 0);",
    params: `${X}, ${Y}, ACTIVATION: constexpr.fn({ same, relu }, { default: "same" }), ${BLOCK}`,
    names: "x, y, ACTIVATION, N, BLOCK",
    body: "tl.store(y.at(i), ACTIVATION(tl.load(x.at(i))));",
  },
  "constexpr.dtype": {
    before: 'const OUT = tl.dtype("OUT", [tl.float16, tl.float32]);',
    params: `${X}, y: tensor.out(OUT, ["N"]), OUT: constexpr.dtype(OUT, { default: tl.float16 }), ${BLOCK}`,
    body: "tl.store(y.at(i), tl.load(x.at(i)).to(OUT));",
  },
  "constexpr.launch": {
    params: `${X}, ${Y}, BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N))`,
    grid: "() => [1]",
    config: "",
  },
  "constexpr.launch.bool": {
    params: `${X}, ${Y}, LARGE: constexpr.launch.bool(({ N }) => N.ge(1024)), ${BLOCK}`,
    names: "x, y, LARGE, N, BLOCK",
    body: "tl.when(LARGE, () => {\n  tl.store(y.at(i), tl.load(x.at(i)));\n}).otherwise(() => {\n  tl.store(y.at(i), tl.load(x.at(i)).add(0));\n});",
  },
} as const satisfies Readonly<Record<string, KernelFileParts>>;

/** Examples of the options of tensors. */
export const tensorOptions = {
  contiguous: { params: `x: tensor(tl.float32, ["N"], { contiguous: true }), ${Y}, ${BLOCK}` },
  offsets: { params: `x: tensor(tl.float32, ["N"], { offsets: tl.int64 }), ${Y}, ${BLOCK}` },
  zeroed: {
    params: `${X}, y: tensor.out(tl.float32, [1], { zeroed: true }), ${BLOCK}`,
    body: "tl.atomicAdd(y.at(0), tl.sum(tl.load(x.at(i)), 0));",
  },
  range: {
    params: `x: tensor(tl.float32, ["M"]), ids: tensor(tl.int32, ["N"], { range: [0, "M"] }), ${Y}, ${BLOCK}`,
    names: "x, ids, y, N, BLOCK",
    body: "tl.store(y.at(i), tl.load(x.at(tl.load(ids.at(i)))));",
  },
  partition: {
    params: `x: tensor(tl.float32, ["TOTAL"]), starts: tensor(tl.int32, ["R"], { partition: "TOTAL" }), y: tensor.out(tl.float32, ["R"])`,
    grid: "({ R }) => [R.sub(1)]",
    config: "",
    names: "x, starts, y",
    body: "const row = tl.inBounds(tl.programId(0));\ntl.store(y.at(row), tl.load(x.at(tl.load(starts.at(row)))));",
  },
} as const satisfies Readonly<Record<string, KernelFileParts>>;

/** An example of each part of a spec. TypeScript reports missing ones. */
export const specParts = {
  params: ROWS,
  grid: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
  config: { config: "config: { BLOCK: 128, numWarps: 4 }," },
  autotune: {
    config:
      'autotune: {\n  key: ["N"],\n  configs: [\n    { BLOCK: 256, numWarps: 4 },\n    { BLOCK: 1024, numWarps: 8 },\n  ],\n},',
  },
  dims: {
    params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["BLOCKS"]), ${BLOCK}`,
    spec: "dims: { BLOCKS: ({ N, BLOCK }) => tl.cdiv(N, BLOCK) },",
    body: "tl.store(y.at(tl.inBounds(tl.programId(0))), tl.sum(tl.load(x.at(i)), 0));",
  },
  heuristics: {
    params: `${X}, ${Y}, ${BLOCK}, EVEN: constexpr.bool()`,
    spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },",
    names: "x, y, EVEN, N, BLOCK",
    body: `tl.when(EVEN, () => {\n  ${COPY}\n}).otherwise(() => {\n  ${COPY}\n});`,
  },
  requires: { spec: "requires: ({ N, BLOCK }) => [N.mod(BLOCK).eq(0)]," },
  launch: { spec: "launch: { launchPdl: true }," },
  triton: { spec: 'triton: "3.9",' },
  targets: { spec: 'targets: { cuda: 90, reason: "its blocks fill the shared memory of Hopper" },' },
  warpSpecialize: { spec: 'warpSpecialize: "never",' },
  doNotSpecialize: { spec: 'doNotSpecialize: ["N"],' },
  doNotSpecializeOnAlignment: { spec: 'doNotSpecializeOnAlignment: ["x"],' },
  sameStrides: { spec: 'sameStrides: [["x", "y"]],' },
  reference: { spec: "reference: ({ x }) => x.clone()," },
  inputs: { spec: "inputs: ({ N }, torch) => ({ x: torch.rand([N]) })," },
  shapes: { spec: "shapes: [{ N: 1000 }, { N: 1 << 20 }]," },
  tolerance: { spec: "tolerance: { rtol: 1e-3, atol: 1e-3 }," },
  providers: {
    spec: "reference: ({ x }) => x.clone(),\nproviders: { plusZero: ({ x }) => x.add(0) },",
  },
  invariant: { spec: 'invariant: ["N"],' },
  flops: { spec: "flops: ({ N }) => 2 * N," },
  doc: { spec: 'doc: "y = x.",' },
} as const satisfies Readonly<Record<keyof RawSpec, KernelFileParts>>;

/** Launch options of a config. */
export const launchOptions = {
  numWarps: { config: "config: { BLOCK: 128, numWarps: 8 }," },
  numStages: { config: "config: { BLOCK: 128, numStages: 3 }," },
  numCtas: { config: "config: { BLOCK: 128, numCtas: 1 }," },
  maxnreg: { config: "config: { BLOCK: 128, maxnreg: 128 }," },
} as const satisfies Readonly<Record<keyof LaunchOptions, KernelFileParts>>;
