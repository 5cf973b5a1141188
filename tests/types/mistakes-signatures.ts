/** Mistakes in what a kernel declares. */
import { type Chapter, mistake } from "./mistake.js";

/** A helper that is generic over a dimension, and a kernel that calls it. */
function helper(arrow: string, call: string, args: string): string {
  const body = `({ ${args}: t, BLOCK }) => { const x = tl.load(t.at(tl.arange(0, BLOCK))); ${call}; }`;
  const params = 'x: tensor(tl.float16, ["N"]), BLOCK: constexpr()';
  return `const twice = <N extends Dim>${arrow};\n${one("grid: () => [1]", body, params)}`;
}

/** A kernel of one tensor; `spec` and `body` say what differs. */
function one(spec: string, body = "() => {}", params = 'x: tensor(tl.float32, ["N"]), BLOCK: constexpr()'): string {
  return `kernel("one", { params: { ${params} }, ${spec} }, ${body});`;
}
const tuned = (config: string, rest = "", params?: string) =>
  one(`grid: () => [1], autotune: { key: ["N"], configs: [${config}]${rest} }`, undefined, params);
const byGpu = (cuda: string, others = ", default: [{ BLOCK: 16 }]") =>
  one(`grid: () => [1], autotune: { key: ["N"], configs: { cuda: ${cuda}${others} } }`);
const nibbles = "tl.zeros([16, 16], tl.uint8)";
const same = '(v: Tile<"float16", [8]>) => v';
const half = '(v: Tile<"float16", [8]>) => v.to(tl.float32)';
const flag = 'x: tensor(tl.float32, ["N"]), FLAG: constexpr.bool()';
const both = 'x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()';

export const signatures: Chapter = {
  title: "Signatures",
  of: "kernels",
  mistakes: [
    mistake(
      "a config that misses a constexpr",
      tuned("{ BLOCK: 64 }, { numWarps: 4 }"),
      tuned("{ BLOCK: 64 }, { BLOCK: 128, numWarps: 4 }"),
    ),
    mistake("a config that misspells a constexpr", tuned("{ BLOKC: 64 }"), tuned("{ BLOCK: 64 }")),
    mistake("a config with an unknown name", tuned("{ BLOCK: 64, GROUP: 8 }"), tuned("{ BLOCK: 64, numStages: 2 }")),
    mistake(
      "a space that names no constexpr",
      tuned("{ BLOCK: 64 }", ", space: { BLOK: [32] }"),
      tuned("{ BLOCK: 64 }", ", space: { BLOCK: [32] }"),
    ),
    mistake(
      "a space without values",
      tuned("{ BLOCK: 64 }", ", space: { numWarps: [] }"),
      tuned("{ BLOCK: 64 }", ", space: { numWarps: [4, 8] }"),
    ),
    mistake(
      "operations counted by an unknown size",
      one("grid: () => [1], config: { BLOCK: 64 }, flops: ({ Q }) => Q"),
      one("grid: () => [1], config: { BLOCK: 64 }, flops: ({ N }) => 2 * N"),
    ),
    mistake("a launch option in snake case", tuned("{ BLOCK: 64, num_warps: 4 }"), tuned("{ BLOCK: 64, numWarps: 4 }")),
    mistake(
      "a misspelt constexpr in a list of configs for some GPUs",
      byGpu("{ 90: [{ BLOK: 64 }] }"),
      byGpu("{ 90: [{ BLOCK: 64 }] }"),
    ),
    mistake(
      "configs by GPU without default ones",
      byGpu("{ 90: [{ BLOCK: 64 }] }", ""),
      byGpu("{ 90: [{ BLOCK: 64 }] }"),
    ),
    mistake(
      "a key that names nothing",
      one('grid: () => [1], autotune: { key: ["Q"], configs: [{ BLOCK: 64 }] }'),
      one('grid: () => [1], autotune: { key: ["N"], configs: [{ BLOCK: 64 }] }'),
    ),
    mistake(
      "an input that trials reset",
      tuned("{ BLOCK: 64 }", ', restoreValue: ["x"]', both),
      tuned("{ BLOCK: 64 }", ', restoreValue: ["y"]', both),
    ),
    mistake(
      "no config where one is needed: a constexpr unset",
      one("grid: () => [1], config: {}"),
      one("grid: () => [1], config: { BLOCK: 64 }"),
    ),
    mistake("no grid", one("config: { BLOCK: 64 }"), one("grid: () => [1], config: { BLOCK: 64 }")),
    mistake("a grid of four axes", one("grid: ({ N }) => [N, N, N, N]"), one("grid: ({ N }) => [N, N, N]")),
    mistake("a grid of strings", one('grid: () => ["N"]'), one("grid: ({ N }) => [N]")),
    mistake("a grid that is a scalar", one("grid: ({ N }) => N"), one("grid: ({ N }) => [N]")),
    mistake(
      "a grid of floats",
      one("grid: ({ N, BLOCK }) => [N.div(BLOCK)]"),
      one("grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]"),
    ),
    mistake("an unknown size in the grid", one("grid: ({ M }) => [M]"), one("grid: ({ N }) => [N]")),
    mistake(
      "an unknown size in a requirement",
      one("grid: () => [1], requires: ({ M, BLOCK }) => [BLOCK.ge(M)]"),
      one("grid: () => [1], requires: ({ N, BLOCK }) => [BLOCK.ge(N)]"),
    ),
    mistake(
      "a requirement that is no condition",
      one("grid: () => [1], requires: ({ N }) => [N]"),
      one("grid: () => [1], requires: ({ N }) => [N.gt(0)]"),
    ),
    mistake(
      "an unknown size among the shapes",
      one("grid: () => [1], shapes: [{ N: 1, M: 2 }]"),
      one("grid: () => [1], shapes: [{ N: 1 }]"),
    ),
    mistake(
      "a size that the shapes miss",
      one("grid: () => [1], shapes: [{}]"),
      one("grid: () => [1], shapes: [{ N: 1 }]"),
    ),
    mistake(
      "an unknown name in the body",
      one("grid: () => [1]", "({ z }) => void z"),
      one("grid: () => [1]", "({ x }) => void x"),
    ),
    mistake(
      "a body that returns something",
      one("grid: () => [1]", "({ BLOCK }) => tl.arange(0, BLOCK)"),
      one("grid: () => [1]", "({ BLOCK }) => void tl.arange(0, BLOCK)"),
    ),
    mistake("an async body", one("grid: () => [1]", "async () => {}"), one("grid: () => [1]", "() => {}")),
    mistake(
      "a dtype misspelt",
      one("grid: () => [1]", undefined, 'x: tensor(tl.float61, ["N"])'),
      one("grid: () => [1]", undefined, 'x: tensor(tl.float16, ["N"])'),
    ),
    mistake(
      "a tensor without dims",
      one("grid: () => [1]", undefined, "x: tensor(tl.float16)"),
      one("grid: () => [1]", undefined, 'x: tensor(tl.float16, ["N"])'),
    ),
    mistake(
      "a constexpr that is not called",
      one("grid: () => [1]", undefined, "BLOCK: constexpr"),
      one("grid: () => [1]", undefined, "BLOCK: constexpr()"),
    ),
    mistake(
      "a reference with an unknown function",
      one("grid: () => [1], reference: ({ x }, torch) => torch.softmx(x, -1)"),
      one("grid: () => [1], reference: ({ x }, torch) => torch.softmax(x, -1)"),
    ),
    mistake(
      "a reference of an unknown input",
      one("grid: () => [1], reference: ({ z }) => z"),
      one("grid: () => [1], reference: ({ x }) => x"),
    ),
    mistake(
      "an option of a tensor misspelt",
      one("grid: () => [1]", undefined, 'x: tensor(tl.float16, ["N"], { contigous: true })'),
      one("grid: () => [1]", undefined, 'x: tensor(tl.float16, ["N"], { contiguous: true })'),
    ),
    mistake(
      "a default that is no choice",
      one("grid: () => [1]", undefined, 'ACT: constexpr.string(["relu", "gelu"], { default: "rleu" })'),
      one("grid: () => [1]", undefined, 'ACT: constexpr.string(["relu", "gelu"], { default: "relu" })'),
    ),
    mistake(
      "a library's function of a dtype variable that it lacks a member of",
      one(
        "grid: () => [1]",
        "({ x }) => void libdevice.tanh(tl.load(x.at(0)))",
        `x: tensor(tl.dtype("U", [tl.float16, tl.float32]), ["N"])`,
      ),
      one(
        "grid: () => [1]",
        "({ x }) => void libdevice.tanh(tl.load(x.at(0)))",
        `x: tensor(tl.dtype("U", [tl.float32, tl.float64]), ["N"])`,
      ),
    ),
    mistake(
      "a scaled product of 4-bit floats without scales",
      one(
        "grid: () => [1]",
        `() => void tl.dotScaled(${nibbles}, null, "e2m1", tl.zeros([32, 16], tl.float16), null, "fp16")`,
      ),
      one(
        "grid: () => [1]",
        `() => void tl.dotScaled(${nibbles}, tl.zeros([16, 1], tl.uint8), "e2m1", tl.zeros([32, 16], tl.float16), null, "fp16")`,
      ),
    ),
    mistake(
      "a function of a Python file called with another dtype",
      one(
        "grid: () => [1]",
        "() => void tl.extern('./ops.py', 'f', { result: (v: Tile<'float16', [8]>) => v })(tl.zeros([8], tl.float32))",
      ),
      one(
        "grid: () => [1]",
        "() => void tl.extern('./ops.py', 'f', { result: (v: Tile<'float16', [8]>) => v })(tl.zeros([8], tl.float16))",
      ),
    ),
    mistake(
      "functions to choose from that differ in type",
      one("grid: () => [1]", undefined, `ACT: constexpr.fn({ half: ${half}, same: ${same} })`),
      one("grid: () => [1]", undefined, `ACT: constexpr.fn({ same: ${same}, other: ${same} })`),
    ),
    mistake(
      "a default that is none of the functions",
      one("grid: () => [1]", undefined, `ACT: constexpr.fn({ same: ${same} }, { default: "smae" })`),
      one("grid: () => [1]", undefined, `ACT: constexpr.fn({ same: ${same} }, { default: "same" })`),
    ),
    mistake(
      "a config that chooses none of the functions",
      one('grid: () => [1], config: { ACT: "smae" }', undefined, `ACT: constexpr.fn({ same: ${same} })`),
      one('grid: () => [1], config: { ACT: "same" }', undefined, `ACT: constexpr.fn({ same: ${same} })`),
    ),
    mistake(
      "a chosen function of another dtype",
      one(
        "grid: () => [1]",
        "({ ACT }) => void ACT(tl.zeros([8], tl.float32))",
        `ACT: constexpr.fn({ same: ${same} })`,
      ),
      one(
        "grid: () => [1]",
        "({ ACT }) => void ACT(tl.zeros([8], tl.float16))",
        `ACT: constexpr.fn({ same: ${same} })`,
      ),
    ),
    mistake(
      "a default that is no dtype of the list",
      one("grid: () => [1]", undefined, "OUT: constexpr.dtype([tl.float16, tl.float32], { default: tl.int8 })"),
      one("grid: () => [1]", undefined, "OUT: constexpr.dtype([tl.float16, tl.float32], { default: tl.float16 })"),
    ),
    mistake(
      "a heuristic of no constexpr",
      one("grid: () => [1], heuristics: { EVEN: ({ N }) => N.mod(2).eq(0) }", undefined, flag),
      one("grid: () => [1], heuristics: { FLAG: ({ N }) => N.mod(2).eq(0) }", undefined, flag),
    ),
    mistake(
      "a heuristic of a flag that gives a number",
      one("grid: () => [1], heuristics: { FLAG: ({ N }) => N.mod(2) }", undefined, flag),
      one("grid: () => [1], heuristics: { FLAG: ({ N }) => N.mod(2).eq(0) }", undefined, flag),
    ),
    mistake(
      "a config that sets what a heuristic computes",
      one("grid: () => [1], heuristics: { FLAG: ({ N }) => N.gt(1) }, config: { FLAG: true }", undefined, flag),
      one("grid: () => [1], heuristics: { FLAG: ({ N }) => N.gt(1) }, config: {}", undefined, flag),
    ),
    mistake(
      "a key that a heuristic computes",
      one(
        'grid: () => [1], heuristics: { FLAG: ({ N }) => N.gt(1) }, autotune: { key: ["FLAG"], configs: [{}] }',
        undefined,
        flag,
      ),
      one(
        'grid: () => [1], heuristics: { FLAG: ({ N }) => N.gt(1) }, autotune: { key: ["N"], configs: [{}] }',
        undefined,
        flag,
      ),
    ),
    mistake(
      "an unknown argument that is not specialized",
      one('grid: () => [1], doNotSpecialize: ["M"]'),
      one('grid: () => [1], doNotSpecialize: ["N"]'),
    ),
    mistake(
      "an unknown size to be invariant in",
      one('grid: () => [1], invariant: ["M"]'),
      one('grid: () => [1], invariant: ["N"]'),
    ),
    mistake(
      "an unknown launch option",
      one("grid: () => [1], launch: { pdl: true }"),
      one("grid: () => [1], launch: { launchPdl: true }"),
    ),
    mistake(
      "zeros in an input",
      one("grid: () => [1]", undefined, 'x: tensor(tl.float32, ["N"], { zeroed: true })'),
      one("grid: () => [1]", undefined, 'x: tensor.out(tl.float32, ["N"], { zeroed: true })'),
    ),
    mistake(
      "a width that differs, as a number",
      'const half = tl.dtype("D", [tl.float16, tl.float32]).bits / 2;',
      'const half = tl.dtype("D", [tl.float16, tl.bfloat16]).bits / 2;',
    ),
    mistake(
      "a size derived from an unknown one",
      one("grid: () => [1], dims: { MT: ({ Z }) => Z }", undefined, 'x: tensor(tl.float32, ["N", "MT"])'),
      one("grid: () => [1], dims: { MT: ({ N }) => N.mul(2) }", undefined, 'x: tensor(tl.float32, ["N", "MT"])'),
    ),
    mistake(
      "a member of a dtype variable as a string",
      'tl.dtype("U", [tl.float16, "float32"]);',
      'tl.dtype("U", [tl.float16, tl.float32]);',
    ),
    mistake(
      "a helper called with another dtype",
      helper('(x: Tile<"float32", [N]>) => x.mul(2)', "twice(x)", "x"),
      helper('(x: Tile<"float16", [N]>) => x.mul(2)', "twice(x)", "x"),
    ),
    mistake(
      "a helper called with another rank",
      helper('(x: Tile<"float16", [N]>) => x.mul(2)', "twice(x.col)", "x"),
      helper('(x: Tile<"float16", [N]>) => x.mul(2)', "twice(x).col", "x"),
    ),
    mistake(
      "a helper that returns another shape",
      helper('(x: Tile<"float16", [N]>): Tile<"float16", [N]> => x.col', "twice(x)", "x"),
      helper('(x: Tile<"float16", [N]>): Tile<"float16", [N]> => x.mul(2)', "twice(x)", "x"),
    ),
    mistake(
      "whether a tensor that is always there was given",
      one("grid: () => [1]", "({ x }) => { tl.when(x.given, () => {}); }", 'x: tensor(tl.float32, ["N"])'),
      one("grid: () => [1]", "({ x }) => { tl.when(x.given, () => {}); }", 'x: tensor(tl.float32, ["N"]).optional()'),
    ),
    mistake(
      "a property that no device has",
      one("grid: ({ device }) => [device.sms]"),
      one("grid: ({ device }) => [device.multiProcessorCount]"),
    ),
    mistake(
      "a config that computes a truth value for a number of warps",
      one("grid: () => [1], config: ({ N }) => ({ BLOCK: 64, numWarps: N.gt(1024) })"),
      one("grid: () => [1], config: ({ N }) => ({ BLOCK: 64, numWarps: tl.minimum(N, 8) })"),
    ),
    mistake(
      "a range of an output",
      one("grid: () => [1]", undefined, 'x: tensor.out(tl.int32, ["N"], { range: [0, "N"] })'),
      one("grid: () => [1]", undefined, 'x: tensor(tl.int32, ["N"], { range: [0, "N"] })'),
    ),
  ],
};
