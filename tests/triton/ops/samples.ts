/**
 * A small call of every op: operands as `float32[8]`, several after commas, alternatives after bars; a range in braces
 * bounds the values. Tests run each on the evaluator and on Triton, and compile each.
 */
import { libdevice, tl } from "tilescript";
import { libdeviceTable } from "../../../src/rules/libdevice-table.js";
import { reduceKinds } from "../../../src/rules/descriptor-rules.js";
import { dtypeOfLetter } from "../../../src/rules/libdevice-rules.js";
import type { Op } from "../../../src/ir/op.js";
import type { DTypeName } from "../../../src/types/dtype.js";

/** Ops that other tests try: memory, functions and the author's own Python, in tests of their own. */
const ELSEWHERE: readonly string[] = [
  "choose",
  "inBounds",
  "toPointer",
  "nextPowerOf2",
  "bitLength",
  "raw",
  "inlineAsmElementwise",
  "gdcWait",
  "gdcLaunchDependents",
  "smid",
  "hipSmid",
  "numWarps",
  "numThreads",
  "hipNumWarps",
  "hipNumThreads",
];
export function isSampledElsewhere({ name, effect, operands }: Op): boolean {
  const kinds = Object.values(operands);
  return effect !== "pure" || ELSEWHERE.includes(name) || kinds.some((kind) => /address|tensor|function/.test(kind));
}

type Apply = (...operands: any[]) => unknown;
export interface Sample {
  /** The op's name in the table. */
  readonly op: string;
  /** Alternatives between bars; empty where the call takes none, so that no operand is made for nothing. */
  readonly operands: string;
  readonly apply: Apply;
  /** What the call needs of Triton. */
  readonly since39?: boolean;
  /** The call gets the tensors themselves, which it may write, instead of tiles loaded from them. */
  readonly whole?: boolean;
  /** Which of equal elements it names is open. */
  readonly anyOfEqual?: boolean;
}

const INTS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split(" ");
const FLOATS = "float16 bfloat16 float32 float64".split(" ");
const WIDE = ["float32", "float64"];
const ALL = [...INTS, ...FLOATS];

const each = (dtypes: readonly string[], spec: string) => dtypes.map((d) => spec.replaceAll("T", d)).join(" | ");
const samples: Sample[] = [];
function add(op: string, operands: string, apply: Apply, since39 = false): void {
  samples.push({ op, operands, apply, since39 });
}
function addWhole(op: string, operands: string, apply: Apply): void {
  samples.push({ op, operands, apply, whole: true });
}
const t = tl as unknown as Record<string, Apply>;
const unary = (names: string, dtypes: readonly string[], spec: string) => {
  for (const op of names.split(" ")) add(op, each(dtypes, spec), (x) => t[op]!(x));
};
const binary = (names: string, dtypes: readonly string[], spec: string) => {
  for (const op of names.split(" ")) add(op, each(dtypes, spec), (x, y) => t[op]!(x, y));
};

// Operators.
binary("add sub mul minimum maximum", ALL, "T[8], T[8]");
binary("add sub mul minimum maximum", ["int8"], "T[8], int32[8] | int16[4, 8], uint16[8] | int32[8], uint32[8]");
binary("add mul maximum", ["float16"], "T[8], bfloat16[8] | T[8], float32[1] | int32[4, 1], T[8]");
binary("div", [...INTS, ...FLOATS], "T[8], T[8]{1,5}");
binary("floorDiv mod cdiv", INTS, "T[8]{0,50}, T[8]{1,5}");
binary("floorDiv mod", ["int32", "int64"], "T[8], T[8]{1,5}");
binary("mod", FLOATS, "T[8], T[8]{1,5}");
binary("lt le gt ge eq ne", ["int32", "uint8", "float32", "float16", "bfloat16"], "T[8], T[8]");
binary("and or xor", ["int1", ...INTS], "T[8], T[8]");
binary("shl shr", INTS, "T[8], T[8]{0,5}");
binary("logicalAnd logicalOr", ["int1"], "T[8], T[8] | T[4, 1], T[8]");
unary("not", ["int1", ...INTS], "T[8]");
unary("neg", ["int8", "int32", "int64", ...FLOATS], "T[8]");
add("add", each(["int8", "float16", "bfloat16", "float64"], "T[8]"), (x) => tl.add(x, 1));
add("gt", each(["int8", "float16", "bfloat16", "float64"], "T[8]"), (x) => x.gt(1));
for (const op of ["lt", "le", "gt", "ge", "eq", "ne"]) add(op, "int1[8]", (x) => t[op]!(x, 0.5));
add("maximum", each(["int8", "float16", "bfloat16", "float64"], "T[8]"), (x) => tl.maximum(x, 1));
// A number that the tile's dtype lacks is rounded to it, before anything is computed.
for (const op of ["mul", "eq", "lt", "where", "fma"])
  add(op, each(["float16", "bfloat16"], "T[8]"), (x) =>
    op === "fma"
      ? tl.fma(x, x, 0.1)
      : op === "where"
        ? tl.where(x.gt(0), x, 0.1)
        : t[op]!(tl.where(x.gt(0), 0.1, x), 0.1),
  );
add("full", each(["float16", "bfloat16"], "T[8]"), (x) => tl.full([8], 0.1, x.dtype).to(tl.float32));
// A number beside a mask is an integer or a float32.
add("lt", "int1[8]", (x) => x.lt(3));
add("gt", "int1[8]", (x) => x.gt(-1));
add("eq", "int1[8]", (x) => x.eq(0.001));
add("ge", "int1[8]", (x) => x.ge(-2.5));
add("maximum", each(["float32", "float16"], "T[8], T[8]"), (x, y) => tl.maximum(x, y, { propagateNan: "all" }));
add("where", each(["int8", "float32", "bfloat16"], "int1[8], T[8], T[8]"), (c, x, y) => tl.where(c, x, y));
add("where", "int1[8] | int1[4, 8]", (c) => tl.where(c, 1, 0));
add("where", "int1[8]", (c) => tl.where(c, -1.5, 2));
add("where", "int1[8]", (c) => tl.where(c, true, false));
add("where", "int1[8]", (c) => tl.where(c, false, 3));
add("where", "int1[8], int1[8]", (c, x) => tl.where(c, x, true));
add("where", "float32[8]", (x) => x.add(tl.where(x.gt(0), -1e6, 0.0)));
add("where", each(["float8e4nv", "float8e5"], "int1[8], T[8]"), (c, x) => tl.where(c, x, 0));
add("where", each(["float8e4nv", "float16"], "int1[8], T[8]"), (c, x) => tl.where(c, 0, x));

// Math.
unary("relu", ALL, "T[8]");
binary("hypot", WIDE, "T[8], T[8] | T[4, 1], T[8]");
unary("exp exp2 sin cos erf floor ceil sigmoid", WIDE, "T[8]");
add("sigmoid", "float32[8]", (x) => x.add(tl.sigmoid(1.5)).add(tl.sigmoid(2)));
unary("log log2 sqrt rsqrt", WIDE, "T[8]{0.1,9}");
unary("sqrtRn", ["float32"], "T[8]{0,9}");
unary("abs", [...INTS, ...FLOATS], "T[8]");
binary("fdiv", FLOATS, "T[8], T[8]{0.5,4}");
add("fdiv", "float32[8]", (x) => tl.fdiv(x, 3, { ieeeRounding: true }));
add("fdiv", "float32[8]", (x) => tl.fdiv(x, 3, { approx: true }), true);
binary("divRn", ["float32"], "T[8], T[8]{0.5,4}");
binary("umulhi", ["int32", "uint32", "int64", "uint64"], "T[8], T[8]");
add("fma", each(FLOATS, "T[8], T[8], T[8]"), (x, y, z) => tl.fma(x, y, z));
add("fma", "float16[8]", (x) => tl.fma(x, 2, 1));
add("fma", each(FLOATS, "T[8]"), (x) => tl.fma(2, x, 1));
add("fma", "float32[8]", (x) => tl.fma(2, 3, x));
add("fma", "float32[8]", (x) => x.add(tl.fma(1.5, 2, 3)));
add("clamp", "float32[8]", (x) => x.add(tl.clamp(1.5, 0, 1)));
add("clamp", "int32[8]", (x) => x.add(tl.clamp(5, 1, 3)), true);
add("clamp", "float16[8]{-2,2} | float32[8]{-2,2}", (x) => tl.clamp(1, x, 2));
add("clamp", "float32[8]{2,9}", (x) => tl.clamp(1, 2, x));
add("fdiv", each(FLOATS, "T[8]{0.5,4}"), (x) => tl.fdiv(1, x));
add("divRn", "float32[8]{0.5,4}", (x) => tl.divRn(1, x));
add("umulhi", "int32[8] | uint32[8] | int64[8]", (x) => tl.umulhi(3, x));
add("abs", "int32[8]", (x) => x.add(tl.abs(-3)));
add("exp", "float32[8]", (x) => x.add(tl.exp(2)));
add("clamp", "float16[8] | bfloat16[8] | float32[8]", (x) => tl.clamp(x, -1, 1));
add("clamp", each(INTS, "T[8], T[8]{0,2}, T[8]{3,9}"), (x, y, z) => tl.clamp(x, y, z), true);
add("clamp", "float32[8]", (x) => tl.clamp(x, -1, 1, { propagateNan: "all" }));
for (const dim of [0, 1]) add("softmax", each(WIDE, "T[4, 8]"), (x) => t.softmax!(x, dim), dim === 1);

// Casts, and a dtype that is known.
add("as", "int8[8] | float16[8]", (x) => x.as(x.dtype));
const targets = ["int1", ...ALL];
for (const from of ["int32", "uint8", "int64", "float32", "float16", "bfloat16", "int1"])
  for (const to of targets) add("to", `${from}[8]{0,9}`, (x) => x.to(tl[to as "int8"]));
const FP8 = "float8e5 float8e4nv float8e4b15 float8e4b8 float8e5b16".split(" ");
for (const narrow of FP8)
  for (const wide of ["float16", "bfloat16", "float32"] as const) {
    if (wide === "bfloat16" && narrow === "float8e4b15") continue;
    add("to", `${wide}[8]`, (x) => x.to(tl[narrow as "float8e5"]));
    add("to", `${narrow}[8]`, (x) => x.to(tl[wide]));
  }
add("cast", "float32[8]", (x) => tl.cast(x, tl.float16));
add("to", "float32[8]", (x) => x.to(tl.int32, { bitcast: true }));
add("to", "float32[8]", (x) => x.to(tl.float16, { fpDowncastRounding: "rtz" }));
add("to", "float32[8]", (x) => x.to(tl.bfloat16, { fpDowncastRounding: "rtz" }));

// Shapes.
add("expandDims", "int32[8]", (x) => tl.expandDims(x, 1));
add("expandDims", "int32[8]", (x) => tl.expandDims(x, [0, 2]));
add("unsqueeze", "int32[8]", (x) => tl.unsqueeze(x, 1), true);
add("squeeze", "float32[8, 1]", (x) => tl.squeeze(x, 1), true);
add("item", "float32[1]", (x) => tl.item(x));
add("trans", "float32[4, 8]", (x) => tl.trans(x));
add("trans", "float32[2, 4, 8]", (x) => tl.trans(x, [2, 0, 1]));
add("permute", "int16[2, 4, 8]", (x) => x.permute([1, 2, 0]));
add("reshape", "float32[4, 8]", (x) => tl.reshape(x, [8, 4]));
add("reshape", "float32[8]", (x) => tl.reshape(x, [2, 4]));
add("view", "float32[4, 8]", (x) => tl.view(x, [32]));
add("ravel", "float32[4, 8]", (x) => tl.ravel(x));
add("broadcastTo", "float32[4, 1]", (x) => tl.broadcastTo(x, [4, 8]));
add("broadcast", "float32[4, 1], int32[8]", (x, y) => tl.broadcast(x, y));
add("zerosLike", each(ALL, "T[4, 8]"), (x) => tl.zerosLike(x));
add("zeros", "", () => tl.zeros([4, 8], tl.float16));
add("full", "", () => tl.full([4], 3, tl.int8));
add("arange", "", () => tl.arange(4, 8));
add("programId", "", () => tl.programId(0));
add("numPrograms", "", () => tl.numPrograms(1));

// Putting together and taking apart.
binary("join interleave", ["int8", "float32"], "T[8], T[8] | T[4, 8], T[4, 8]");
add("split", "float32[8, 2] | int32[4, 8, 2]", (x) => tl.split(x));
add("cat", "float32[8], float32[8]", (x, y) => tl.cat(x, y), true);
add("cat", "int32[4, 8], int32[4, 8]", (x, y) => tl.cat(x, y, { dim: 1 }), true);
add("flip", each(["int32", "float16", "float32"], "T[4, 8]"), (x) => tl.flip(x));
add("flip", "int32[4, 8]", (x) => tl.flip(x, 0));
add("gather", "float32[8], int32[16]{0,7}", (x, i) => tl.gather(x, i, 0));
add("gather", "float32[4, 8], int64[4, 2]{0,7}", (x, i) => tl.gather(x, i, 1));
add("swizzle2d", "int32[8]{0,3}, int32[8]{0,3}", (i, j) => tl.swizzle2d(i, j, 4, 4, 2));

// Reductions and scans.
const NARROW = ["int8", "uint8", "int16", "int32", "int64", ...FLOATS];
for (const axis of [undefined, 0, 1]) {
  add("sum", each(NARROW, "T[4, 8]"), (x) => tl.sum(x, axis as 0));
  add("max", each(NARROW, "T[4, 8]"), (x) => tl.max(x, axis as 0));
  add("min", each(["uint8", "float16"], "T[4, 8]"), (x) => tl.min(x, axis as 0, { keepDims: true }));
  add("xorSum", each(["int8", "int32", "uint64"], "T[4, 8]"), (x) => tl.xorSum(x, axis as 0));
}
add("sum", each(["int8", "float16"], "T[8]"), (x) => tl.sum(x, 0, { dtype: tl.float32, keepDims: true }));
add("max", each(["int32", "float16", "bfloat16", "float32"], "T[4, 8]"), (x) => tl.max(x, 1, { returnIndices: true }));
add("min", "float32[8]", (x) => tl.min(x, 0, { returnIndices: true, keepDims: true }));
for (const op of ["argmax", "argmin"]) add(op, each(["int32", "float32"], "T[4, 8]"), (x) => t[op]!(x, 1));
samples.push({
  op: "argmax",
  operands: "float32[4, 8]",
  apply: (x) => tl.argmax(x, 0, { tieBreakLeft: false, keepDims: true }),
  anyOfEqual: true,
});
add("reduceOr", each(["int32", "uint8"], "T[4, 8]"), (x) => tl.reduceOr(x, 0));
for (const op of ["cumsum", "cumprod"]) {
  add(op, each(NARROW, "T[4, 8]"), (x) => t[op]!(x, 1));
  add(op, each(["int32", "float32"], "T[4, 8]"), (x) => t[op]!(x, 0, { reverse: true }));
  add(op, "int8[8]", (x) => t[op]!(x, 0, { dtype: tl.int64 }), op === "cumprod");
}
unary("sort bitonicMerge", ["int8", "int32", "int64", "float16", "float32", "float64"], "T[4, 8]");
add("sort", "float32[8]", (x) => tl.sort(x, 0, { descending: true }));
add("topk", each(["int8", "int32", "float16", "float32"], "T[4, 8]"), (x) => tl.topk(x, 4));
add("topk", "int8[4, 8]", (x) => tl.topk(x, 8));
add("topk", "float32[8]", (x) => tl.topk(x, 2, 0, { descending: false }), true);
add("histogram", each(["int32", "uint32"], "T[16]{0,9}"), (x) => tl.histogram(x, 8));
add("histogram", "int32[16]{0,7}, int1[16]", (x, mask) => tl.histogram(x, 8, { mask }));

// Random numbers.
for (const op of ["rand", "randn", "randint", "rand4x", "randn4x", "randint4x"]) {
  add(op, "int32[8] | uint32[8] | int64[4, 8] | int8[8]{0,99}", (x) => t[op]!(42, x));
  add(op, "int32[8]", (x) => t[op]!(42, x, 7));
}
add("rand", "int32[], int32[8] | int64[], int32[8]", (seed, x) => tl.rand(seed, x));
add("philox", "int32[8], uint32[8]", (a, d) => tl.philox(7, a, 0, d, 3));
add("philox", "int32[8]", (b) => tl.philox(7, 5, b, 0, 0));
add("philox", each(["int32", "uint32", "int64", "uint64"], "T[8], T[8], T[8], T[8]"), (a, b, c, d) =>
  tl.philox(7, a, b, c, d),
);
add("uintToUniformFloat", each(["int32", "uint32", "int64", "uint64"], "T[8]"), (x) => tl.uintToUniformFloat(x));
add("pairUniformToNormal", "float32[8]{0,1}, float32[8]{0,1}", (x, y) => tl.pairUniformToNormal(x, y));

// Hints and debugging.
add("multipleOf", "int32[8]", (x) => tl.multipleOf(x.mul(16), 16));
add("maxContiguous", "", () => tl.maxContiguous(tl.arange(0, 8), 8));
add("maxConstancy", "int32[8]", (x) => tl.maxConstancy(x.mul(0), [8]));
add("trusted", "float32[8]", (x) => tl.trusted(x, "it is right"));
add("expectZero", "float32[8], int1[8]", (x, mask) => tl.expectZero(x.mul(0), mask), true);
const after = (run: (x: any) => void) => (x: any) => (run(x), x);
add(
  "assume",
  "int32[8]",
  after((x) => tl.assume(tl.sum(x.mul(0), 0).eq(0))),
);
add(
  "deviceAssert",
  "int32[8]",
  after((x) => tl.deviceAssert(x.eq(x), "not itself", { mask: x.gt(0) })),
);
add(
  "devicePrint",
  "int32[8]",
  after((x) => tl.devicePrint("x", x, { hex: true })),
);
add(
  "staticAssert",
  "int32[8]",
  after(() => tl.staticAssert(true, "never")),
);
add(
  "staticPrint",
  "int32[8]",
  after(() => tl.staticPrint()),
);
add(
  "debugBarrier",
  "int32[8]",
  after(() => tl.debugBarrier()),
);
for (const op of ["isCuda", "isHip", "isHipCdna3", "isHipCdna4", "isHipGfx1250"] as const)
  add(
    op,
    "int32[8]",
    after(() => tl.staticPrint(tl.targetInfo[op]())),
    op === "isHipGfx1250",
  );
add(
  "cudaCapabilityGeq",
  "int32[8]",
  after(() => tl.staticPrint(tl.targetInfo.cudaCapabilityGeq(9, 0))),
);

// Tensor descriptors.
const MOVED = ["int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"];
const blocks = (x: any, rows = 8) => tl.makeTensorDescriptor(x, [rows as 8, 16]) as any;
addWhole("makeTensorDescriptor", "float32[24, 32]", (x) => {
  const pad = { paddingOption: "nan" } as const;
  return tl.makeTensorDescriptor(x.ptr, [20, 24], [32, 1], [16, 16], pad).load([8, 16]);
});
addWhole("makeTensorDescriptor", "float16[4, 8, 16]", (x) => tl.makeTensorDescriptor(x, [2, 4, 16]).load([1, 4, 0]));
addWhole("makeTensorDescriptor", "int32[64]", (x) => tl.makeTensorDescriptor(x, [32]).load([48]));
addWhole("loadTensorDescriptor", each(MOVED, "T[20, 32]"), (x) => tl.loadTensorDescriptor(blocks(x), [16, 16]));
addWhole("storeTensorDescriptor", each(MOVED, "T[20, 32], T[8, 16]"), (x, y) =>
  tl.storeTensorDescriptor(blocks(x), [16, 16], blocks(y).load([0, 0])),
);
addWhole("descriptorGather", each(["int32", "float16", "float32"], "T[20, 32]"), (x) =>
  blocks(x, 1).gather(tl.arange(0, 16).mul(2), 16),
);
addWhole("descriptorScatter", each(["int32", "float16", "float32"], "T[20, 32], T[8, 16]"), (x, y) =>
  blocks(x, 1).scatter(blocks(y).load([0, 0]), tl.arange(0, 8).mul(3), 16),
);
const reduces = { atomicAdd: "add", atomicMax: "extreme", atomicMin: "extreme", atomicAnd: "bits", atomicOr: "bits" };
for (const [name, kind] of Object.entries({ ...reduces, atomicXor: "bits" })) {
  // Triton asks the GPU that is there whether it takes 16-bit floats.
  const isHere = (dtype: string) => kind === "add" || !dtype.includes("float");
  addWhole(
    `descriptor${name[0]!.toUpperCase()}${name.slice(1)}`,
    each(reduceKinds[kind as "add"].dtypes.filter(isHere), "T[20, 32], T[8, 16]"),
    (x, y) => blocks(x)[name]([16, 16], blocks(y).load([0, 0])),
  );
}

// Products.
add("dot", "float16[16, 16], float16[16, 16] | bfloat16[16, 16], bfloat16[16, 16]", (x, y) => tl.dot(x, y));
add("dot", each(FP8, "T[32, 32], T[32, 32]"), (x, y) => tl.dot(x, y));
for (const of of ["float16[16, 16], float16[16, 16]", "float8e5[32, 32], float8e5[32, 32]"]) {
  add("dot", of, (x, y) => tl.dot(x, y, { outDtype: tl.float16 }));
  add("dot", of, (x, y) => tl.dot(x, y, tl.dot(x, y, { outDtype: tl.float16 }), { outDtype: tl.float16 }));
}
add("dot", "int8[32, 32], int8[32, 32]", (x, y) => tl.dot(x, y, undefined, { outDtype: tl.int32 }));
add("dot", "float32[16, 16], float32[16, 16]", (x, y) => tl.dot(x, y, undefined, { inputPrecision: "ieee" }));

add("dotScaled", "uint8[16, 32], uint8[16, 2]{126,128}, uint8[32, 16], uint8[16, 2]{126,128}", (a, sa, b, sb) =>
  tl.dotScaled(a, sa, "e2m1", b, sb, "e2m1"),
);
add(
  "dotScaled",
  "uint8[16, 64]{0,120}, uint8[16, 2]{126,128}, bfloat16[64, 16], uint8[16, 2]{126,128}, float32[16, 16]",
  (a, sa, b, sb, c) => tl.dotScaled(a, sa, "e5m2", b, sb, "bf16", c),
);

add("dotScaled", "uint8[16, 64]{0,120}, uint8[16, 2]{126,128}, bfloat16[64, 16]", (a, sa, b) =>
  tl.dotScaled(a, sa, "e5m2", b, null, "bf16"),
);
add("dotScaled", "bfloat16[16, 64], uint8[64, 16]{0,120}, uint8[16, 2]{126,128}", (a, b, sb) =>
  tl.dotScaled(a, null, "bf16", b, sb, "e5m2"),
);

for (const [name, rules] of Object.entries(libdeviceTable))
  for (const rule of rules.split(" ")) {
    const operands = [...rule.split("->")[0]!].map((letter) => `${dtypeOfLetter(letter)}[8]`).join(", ");
    const call = libdevice[name as "asin"] as unknown as Apply;
    add(`libdevice${name[0]!.toUpperCase()}${name.slice(1)}`, operands, (...args) => call(...args));
  }

export { samples };

/** One operand: its dtype, its shape, and what its values lie between. */
export interface Operand {
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  readonly range?: readonly [number, number] | undefined;
}

export function operandsOf(text: string): readonly Operand[] {
  if (text === "") return [];
  return text.split(/, (?=[a-z])/).map((part) => {
    const [, dtype, dims, range] = /^(\w+)\[([\d, ]*)\](?:\{(.*)\})?$/.exec(part)!;
    const shape = dims === "" ? [] : dims!.split(", ").map(Number);
    return { dtype: dtype as DTypeName, shape, range: range?.split(",").map(Number) as [number, number] | undefined };
  });
}
