/** Calls that are right, several for each op: what questions to the editor and to the build are drawn from. */
import { dtypeOfLetter } from "../../src/rules/libdevice-rules.js";
import { libdeviceTable } from "../../src/rules/libdevice-table.js";

const each = (names: string, call: (name: string) => string) => names.split(" ").map(call);
const f = "float32_M_N";
const i = "int32_M";

const functions = [
  ...each("add sub mul div mod minimum maximum", (op) => `tl.${op}(${f}, ${f})`),
  ...each("add mul", (op) => `${f}.${op}(${f}, 2, float32_M_1)`),
  ...each("floorDiv cdiv and or xor shl shr", (op) => `tl.${op}(${i}, ${i})`),
  ...each("lt le gt ge eq ne", (op) => `tl.${op}(${f}, ${f})`),
  ...each("logicalAnd logicalOr", (op) => `tl.${op}(int1_M, int1_M)`),
  ...each("add sub mul div floorDiv mod shl shr lt le gt ge eq ne cdiv", (op) => `M.${op}(2)`),
  ...each("add sub mul div lt le gt ge eq ne", (op) => `EPS.${op}(0.5)`),
  "tl.neg(float32_M)",
  "M.neg()",
  "EPS.neg()",
  "FLAG.not()",
  "FLAG.and(FLAG)",
  "FLAG.or(FLAG)",
  "tl.not(int1_M)",
  ...each("exp exp2 log log2 sin cos sqrt rsqrt erf floor ceil sigmoid sqrtRn abs", (op) => `tl.${op}(${f})`),
  ...each("fdiv divRn", (op) => `tl.${op}(${f}, ${f})`),
  `tl.relu(${f})`,
  `tl.hypot(${f}, ${f})`,
  `tl.fma(${f}, ${f}, 1)`,
  `tl.clamp(${f}, 0, 1)`,
  `tl.umulhi(${i}, ${i})`,
  `tl.where(int1_M_N, ${f}, 0)`,
  `tl.where(int1_M_N, ${f}, ${f})`,
  "tl.where(int1_M, 1, 0)",
  "tl.abs(-1)",
  ...each("fdiv divRn", (op) => `tl.${op}(1, ${f})`),
  `tl.fma(1, ${f}, 2)`,
  `tl.clamp(0, 1, ${f})`,
  "tl.fma(1.5, 2, 3)",
  "tl.clamp(1.5, 0, 1)",
  `tl.umulhi(3, ${i})`,
  "tl.inBounds(0)",
  "tl.choose(FLAG, M, 2)",
  "FLAG.choose(64, 32)",
  "tl.as(float32_M, tl.float32)",
  "float16_M_N.as(tl.float16)",
  `tl.softmax(${f}, 1)`,
  "tl.cast(float32_M, tl.float16)",
  "float32_M.to(tl.int32)",
  "M.to(tl.int32)",
  "tl.arange(0, M)",
  "tl.arange(4, 8)",
  "tl.zeros([M, 16], tl.float32)",
  "tl.full([M], 1, tl.int32)",
  "tl.zerosLike(float32_M)",
  "tl.programId(0)",
  "tl.numPrograms(0)",
];

const shapes = [
  "tl.trans(float32_M_N)",
  "tl.trans(float32_2_M_N, [2, 0, 1])",
  "tl.permute(float32_M_N, [1, 0])",
  "tl.ravel(float32_8_8)",
  "tl.reshape(float32_8_8, [4, 16])",
  "tl.view(float32_8_8, [64])",
  "tl.expandDims(float32_M, 1)",
  "tl.expandDims(float32_M, [0, 2])",
  "tl.unsqueeze(float32_M, 0)",
  "tl.squeeze(float32_M_1, 1)",
  "tl.broadcastTo(float32_M_1, [M, N])",
  "tl.broadcast(float32_M_1, float32_M_N)",
  "tl.item(float32_1)",
  "tl.join(float32_M, float32_M)",
  "tl.interleave(float32_8, float32_8)",
  "tl.cat(float32_8, float32_8)",
  "tl.split(float32_M_2)",
  "tl.flip(float32_M_N)",
  "tl.gather(float32_8_8, int32_8_4, 1)",
  "tl.swizzle2d(int32_M, int32_M, 4, 4, 2)",
];

const reductions = [
  ...each("sum max min argmax argmin cumsum cumprod", (op) => `tl.${op}(${f}, 1)`),
  ...each("sum max min", (op) => `tl.${op}(${f})`),
  ...each("max min", (op) => `tl.${op}(${f}, 1, { returnIndices: true })`),
  ...each("xorSum reduceOr", (op) => `tl.${op}(int32_M_N, 0)`),
  `tl.reduce(${f}, 1, (a, b) => a.add(b))`,
  `tl.associativeScan(${f}, 1, (a, b) => a.add(b))`,
  `tl.mapElementwise((a) => a.add(1), ${f})`,
  ...each("sort bitonicMerge", (op) => `tl.${op}(float32_8_8)`),
  "tl.topk(float32_8_8, 2)",
  "tl.histogram(int32_M, 8)",
];

const products = [
  "tl.dot(float16_M_K, float16_K_N)",
  "tl.dot(float16_M_K, float16_K_N, float32_M_N)",
  "tl.dot(float16_M_K, float16_K_N, { outDtype: tl.float16 })",
  "tl.dot(float16_M_K, float16_K_N, float16_M_N, { outDtype: tl.float16 })",
  'tl.dotScaled(float8e4nv_32_64, uint8_32_2, "e4m3", float8e4nv_64_32, uint8_32_2, "e4m3")',
  'tl.dotScaled(float8e4nv_32_64, uint8_32_2, "e4m3", float8e4nv_64_32, uint8_32_2, "e4m3", float32_32_32)',
  'tl.dotScaled(uint8_16_32, uint8_16_2, "e2m1", bfloat16_64_16, null, "bf16")',
];

const memory = [
  "tl.load(v_in_float32_M)",
  "tl.load(p_in_float32_M)",
  "tl.load(p_in_float32_M, { mask: int1_M, other: 0 })",
  "tl.store(v_out_float32_M, float32_M)",
  "tl.store(p_out_float32_M, float32_M, { mask: int1_M })",
  "tl.inBounds(int32_M)",
  "t_in_float32_A_B.at(int32_M, int32_N)",
  "t_in_float32_A_B.gather(int32_M, int32_M)",
  "t_in_float32_A_B.permute([1, 0])",
  "v_in_float32_M_N.permute([1, 0])",
  "p_in_float32_.add(int32_M)",
  "p_in_float32_.sub(int32_M)",
  "p_in_float32_.to(tl.int64)",
  "p_in_float32_.toPointer(tl.int8)",
  "int64_M.toPointer(tl.float16)",
  "tl.toPointer(int64_M, tl.float16)",
  "tl.makeTensorDescriptor(t_in_float32_A_B, [16, 16])",
  "tl.makeTensorDescriptor(p_in_float32_, [20, 24], [32, 1], [16, 16])",
  "tl.loadTensorDescriptor(d_in_float32_16_16, [0, int32_])",
  "tl.storeTensorDescriptor(d_out_float32_16_16, [0, int32_], float32_16_16)",
  "d_in_float32_16_16.load([0, int32_])",
  "d_out_float32_16_16.store([0, int32_], float32_16_16)",
  "d_in_float32_1_16.gather(int32_M, 0)",
  "d_out_float32_1_16.scatter(float32_M_16, int32_M, 0)",
  "d_inout_float32_16_16.atomicAdd([0, 0], float32_16_16)",
  ...each("atomicMax atomicMin", (op) => `d_inout_int32_16_16.${op}([0, 0], int32_16_16)`),
  ...each("atomicAnd atomicOr atomicXor", (op) => `d_inout_int32_16_16.${op}([0, 0], int32_16_16)`),
  ...each("Add Max Min And Or Xor Xchg", (op) => `tl.atomic${op}(p_inout_int32_M, int32_M)`),
  "tl.atomicAdd(v_inout_float32_M, float32_M)",
  "tl.atomicCas(p_inout_int32_M, int32_M, int32_M)",
  "tl.atomicLoad(p_in_int32_)",
  "tl.atomicStore(p_inout_int32_, 1)",
  "tl.atomicPoll(p_in_int32_, 1)",
];

const others = [
  ...each("rand randn randint rand4x randn4x randint4x", (op) => `tl.${op}(7, int32_M)`),
  "tl.philox(7, int32_M, int32_M, int32_M, int32_M)",
  "tl.uintToUniformFloat(int32_M)",
  "tl.pairUniformToNormal(float32_M, float32_M)",
  ...each("multipleOf maxContiguous maxConstancy", (op) => `tl.${op}(int32_M, 8)`),
  ...each("multipleOf maxContiguous maxConstancy", (op) => `tl.${op}(int32_M_N, [8, N])`),
  "tl.expectZero(float32_M, int1_M)",
  "tl.trusted(float32_M, 'it is right')",
  "tl.assume(int1_)",
  'tl.deviceAssert(int1_M, "no")',
  'tl.devicePrint("x", float32_M)',
  "tl.staticAssert(FLAG)",
  "tl.staticPrint(M)",
  "tl.debugBarrier()",
  ...each("isCuda isHip isHipCdna3 isHipCdna4 isHipGfx1250", (query) => `tl.targetInfo.${query}()`),
  "tl.targetInfo.cudaCapabilityGeq(9, 0)",
  'tl.raw("tl.math.erf({0})", [float32_M], { dtype: tl.float32, shape: [M] })',
  'tl.inlineAsmElementwise("abs.f32 $0, $1;", "=f,f", [float32_M], tl.float32)',
  ...each("gdcWait gdcLaunchDependents globaltimer memrealtime smid hipSmid", (op) => `tl.${op}()`),
  ...each("numWarps numThreads hipNumWarps hipNumThreads", (op) => `tl.${op}()`),
];

/** On the host, before a launch. */
const sizes = each("nextPowerOf2 bitLength", (op) => `tl.${op}(M)`);

const libraries = Object.entries(libdeviceTable).flatMap(([name, rules]) =>
  rules
    .split(" ")
    .map((rule) => [...rule.split("->")[0]!].map((letter) => `${dtypeOfLetter(letter)}_M`).join(", "))
    .map((args) => `libdevice.${name}(${args})`),
);

export const samples: readonly string[] = [
  ...functions,
  ...shapes,
  ...reductions,
  ...products,
  ...memory,
  ...others,
  ...sizes,
  ...libraries,
];
