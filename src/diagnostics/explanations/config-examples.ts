/** Examples of `config-codes.ts`. */
import type { Explanation } from "./explanation.js";

const configs = (list: string, more = "") => `autotune: { key: ["N"], configs: [${list}]${more} },`;
const TWO = "{ BLOCK: 16 }, { BLOCK: 32 }";
const LATER = (size: string) => ({ body: `const j = tl.arange(0, ${size});\ntl.store(y.at(j), tl.load(x.at(j)));` });

export const configurations = {
  "autotune-key": {
    means:
      "The best config is kept for each value of the key: names of sizes, scalars and constexprs that the caller decides.",
    says: "example: the autotune key M is not a size, scalar or constexpr; it may be N",
    fails: { config: `autotune: { key: ["M"], configs: [${TWO}] },` },
    passes: { config: configs(TWO) },
  },
  "autotune-reset": {
    means:
      "Autotuning runs the kernel several times on the same memory, so what a run reads and changes is restored in between.",
    says: 'example: autotuning runs the kernel several times and y is updated in place; add restoreValue: ["y"] or resetToZero',
    fails: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()`,
      config: configs(TWO),
      body: "tl.store(y.at(i), tl.load(y.at(i)).add(tl.load(x.at(i))));",
    },
    passes: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()`,
      config: configs(TWO, `, restoreValue: ["y"]`),
      body: "tl.store(y.at(i), tl.load(y.at(i)).add(tl.load(x.at(i))));",
    },
  },
  "config-missing": {
    means: "Each config gives each of the kernel's sizes of blocks a value.",
    says: "example: its config: BLOCK is missing; give it a value",
    fails: { config: "config: { numWarps: 4 }," },
    passes: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "config-name": {
    means: "A config names constexprs that configs decide, and launch options.",
    says: "example: its config: BLOK is not a constexpr of this kernel; write BLOCK",
    fails: { config: "config: { BLOCK: 16, BLOK: 32 }," },
    passes: { config: "config: { BLOCK: 16 }," },
  },
  "config-repeated": {
    means: "Two configs are the same, so one of them is measured for nothing.",
    says: "example: config 1 (BLOCK: 16): it repeats config 0; leave one out",
    fails: { config: configs("{ BLOCK: 16 }, { BLOCK: 16 }") },
    passes: { config: configs(TWO) },
  },
  "config-sources": {
    means: "A kernel has one `config`, or `autotune` with at least one.",
    says: "example: autotune has no configs; list at least one",
    fails: { config: configs("") },
    passes: { config: configs(TWO) },
  },
  "config-value": {
    means: "A config gives a constexpr or a launch option a value of another kind than it takes.",
    says: "example: its config: numWarps is 3; it is a power of two up to 32",
    fails: { config: "config: { BLOCK: 16, numWarps: 3 }," },
    passes: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "configs-in-source": {
    means: "`tune --write` replaces the list of configs in the author's file, and finds none there.",
    says: "example: write autotune.configs as a list in the kernel's spec",
    command: "npx tilescript tune kernel.ts --write",
    remedy: 'autotune: { key: ["N"], configs: [{ BLOCK: 16 }] }',
  },
  "dot-size": {
    means: "Triton's matrix product wants each side of its tiles to have at least so many elements.",
    says: "dot: the inner dimension 8 is 8; 16-bit operands need at least 16",
    fails: {
      params: `a: tensor(tl.float16, [16, 8]), b: tensor(tl.float16, [8, 16]), y: tensor.out(tl.float32, [16, 16])`,
      grid: "() => [1]",
      config: "",
      names: "a, b, y",
      body: `const [m, k] = [tl.arange(0, 16), tl.arange(0, 8)];
tl.store(y.at(m, m), tl.dot(tl.load(a.at(m, k)), tl.load(b.at(k, m))));`,
    },
    passes: {
      params: `a: tensor(tl.float16, [16, 16]), b: tensor(tl.float16, [16, 16]), y: tensor.out(tl.float32, [16, 16])`,
      grid: "() => [1]",
      config: "",
      names: "a, b, y",
      body: `const m = tl.arange(0, 16);
tl.store(y.at(m, m), tl.dot(tl.load(a.at(m, m)), tl.load(b.at(m, m))));`,
    },
  },
  "tile-size": {
    means: "A tile's dimensions are powers of two, and it has at most 2²⁰ elements, in every config.",
    says: "BLOCK is 100; a tile's dimension is a power of two, such as 64 or 128",
    fails: { config: "config: { BLOCK: 100 }," },
    passes: { config: "config: { BLOCK: 128 }," },
  },
  "tuning-space": {
    means: "The space of `tune` lists values for what configs decide.",
    says: "example: the space has no values for BLOCK; list them, as in [32, 64]",
    fails: { config: configs(TWO, ", space: { BLOCK: [] }") },
    passes: { config: configs(TWO, ", space: { BLOCK: [16, 32] }") },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const host = {
  "computed-later": {
    means:
      "Sizes come first, then launch-time constexprs, what config computes and properties of the device; heuristics are computed once a config is chosen, in the order of params. Nothing is computed from itself.",
    says: "example: EVEN is computed before a config is chosen, and names BLOCK of the configs; compute EVEN in heuristics",
    fails: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.launch.bool(({ N, BLOCK }) => N.mod(BLOCK).eq(0))`,
      config: configs(TWO),
    },
    passes: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      config: `${configs(TWO)}\nheuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },`,
    },
  },
  "grid-axes": {
    means: "A grid has one to three axes, each a number of programs.",
    says: "grid: has 4 axes; give one, two or three",
    fails: { grid: "() => [1, 2, 3, 4]" },
    passes: { grid: "() => [1, 2, 3]" },
  },
  "heuristic-target": {
    means: "Heuristics compute constexprs of params: integers and flags.",
    says: "example: heuristics names EVEN, which is neither a constexpr() nor a constexpr.bool() of params",
    fails: { spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) }," },
    passes: {
      params: `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), EVEN: constexpr.bool()`,
      spec: "heuristics: { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) },",
    },
  },
  "host-only": {
    means:
      "Grids, sizes and heuristics are computed in Python before a launch: integer arithmetic there, tiles in the kernel.",
    says: "nextPowerOf2 exists on the host only; use it in constexpr.launch(…), the grid or requires",
    fails: LATER("tl.nextPowerOf2(N)"),
    passes: LATER("BLOCK"),
  },
  "host-result": {
    means: "What computes a grid, a size or a constexpr returns what was declared.",
    says: "this callback returns something other than sizes, constexprs and numbers; compute it from them",
    fails: { grid: "() => undefined" },
    passes: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
  },
  "host-value": {
    means:
      "The grid, a size, a constexpr or a requirement cannot be computed in this case: Python raises an error before the launch.",
    says: "example: this divides by zero at N=40, BLOCK=16, where Python raises ZeroDivisionError; divide by a number that is never 0, such as tl.maximum(1, …), or ask for it in requires",
    fails: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK.floorDiv(32))]" },
    passes: { grid: "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]" },
    run: { sizes: { N: 40 } },
  },
  "launch-option": {
    means: "`launch` has options that no config changes; configs have numWarps and the others.",
    says: "example: launch: no option numWarps; it has launchPdl, launchCooperativeGrid, enableFpFusion, and configs have the others",
    fails: { spec: "launch: { numWarps: 4 }," },
    passes: { config: "config: { BLOCK: 16, numWarps: 4 }," },
  },
  "specialized-names": {
    means: "`doNotSpecialize` names sizes and scalars, `doNotSpecializeOnAlignment` tensors and pointers too.",
    says: "example: doNotSpecialize names x; it may name N",
    fails: { spec: 'doNotSpecialize: ["x"],' },
    passes: { spec: 'doNotSpecialize: ["N"],' },
  },
} as const satisfies Readonly<Record<string, Explanation>>;
