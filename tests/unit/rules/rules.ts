/**
 * Small kernels that Triton 3.9 refuses to compile, and how each would be written here. The Python is the body
 * of a kernel whose arguments are pointers p, q (float32), h (float16), integers n and a float f.
 */
import { tl } from "tilescript";

/** Arguments of the kernel in which each rule stands. Types are bypassed: what counts is what the build says. */
export type Author = (args: any, tl: any) => unknown;
export interface Rule {
  readonly id: string;
  readonly python: string;
  readonly here: Author;
}

const rule = (id: string, python: string, here: Author): Rule => ({ id, python, here });
const z = (dtype: string, ...shape: readonly number[]) =>
  (tl as any).zeros(shape.length > 0 ? shape : [16], (tl as any)[dtype]);
const lanes = () => tl.arange(0, 16) as any;

const float8 = ["float8e5", "float8e4nv"].flatMap((dtype) => [
  rule(`Q01_${dtype}_add`, `${dtype} x + y`, () => z(dtype).add(z(dtype))),
  rule(`Q01_${dtype}_mul`, `${dtype} x * y`, () => z(dtype).mul(z(dtype))),
  rule(`Q01_${dtype}_cmp`, `${dtype} x < y`, () => z(dtype).lt(z(dtype))),
  rule(`Q01_${dtype}_max`, `${dtype} tl.maximum(x, y)`, (_, t) => t.maximum(z(dtype), z(dtype))),
  rule(`Q01_${dtype}_neg`, `${dtype} -x`, () => z(dtype).neg()),
  rule(`Q01_${dtype}_cast64`, `${dtype} x.to(tl.float64)`, (_, t) => z(dtype).to(t.float64)),
]);

const atomics = (
  [
    ["fp16", "float16", ["atomicMax", "atomicXchg", "atomicAnd"]],
    ["bf16", "bfloat16", ["atomicMax", "atomicXchg", "atomicAnd"]],
    ["i16", "int16", ["atomicAdd", "atomicMax", "atomicXchg", "atomicAnd"]],
    ["i8", "int8", ["atomicAdd", "atomicMax", "atomicXchg", "atomicAnd"]],
    ["fp8e5", "float8e5", ["atomicAdd", "atomicMax", "atomicXchg", "atomicAnd"]],
  ] as const
).flatMap(([short, dtype, ops]) =>
  ops.map((op) =>
    rule(`M01_${op.slice(6).toLowerCase()}_${short}`, `${op} of ${dtype}`, ({ a }, t) =>
      t[op](a.toPointer(t[dtype]).add(lanes()), z(dtype)),
    ),
  ),
);

export const rules: readonly Rule[] = [
  rule("A05", "int8 x + 300", () => z("int8").add(300)),
  rule("A07", "uint32 x + (-1)", () => z("uint32").add(-1)),
  rule("A16", "18446744073709551616", (_, t) => t.full([], 18446744073709551616n, t.uint64)),
  rule("A23", "int32 x + 1099511627776", () => z("int32").add(1099511627776)),
  rule("B06", "int32 // uint32", () => z("int32").floorDiv(z("uint32"))),
  rule("B07", "int32 % uint32", () => z("int32").mod(z("uint32"))),
  rule("B08", "float32 x // x", () => z("float32").floorDiv(z("float32"))),
  rule("B16", "float8e5 x + x", () => z("float8e5").add(z("float8e5"))),
  rule("B17", "float8e5 + int32", () => z("float8e5").add(z("int32"))),
  rule("B29", "~float32", () => z("float32").not()),
  rule("B30", "x ** 2", () => z("float32").pow(2)),
  rule("B31", "x @ x", () => z("float16", 16, 16).matmul(z("float16", 16, 16))),
  rule("C03", "uint8 x < -1", () => z("uint8").lt(-1)),
  rule("C04", "int8 x < 300", () => z("int8").lt(300)),
  rule("C06", "p == p", ({ p }) => p.eq(p)),
  rule("C08", "float32 x & 1", () => z("float32").and(1)),
  rule("C16", "int32 x and x", () => z("int32").logicalAnd(z("int32"))),
  rule("C18", "not n", ({ n }, t) => t.when(n.not(), () => undefined)),
  rule("E02", "p + 1.0", ({ p }) => p.add(1.5)),
  rule("E03", "p + q", ({ p, q }) => p.add(q)),
  rule("E05", "4 - p", ({ p }, t) => t.sub(4, p)),
  rule("E06", "p - q", ({ p, q }) => p.sub(q)),
  rule("E09", "p * 2", ({ p }) => p.mul(2)),
  rule("E13", "tl.load(h + i, other=0.0)", ({ h }, t) => t.load(h.add(lanes()), { other: 0 })),
  rule("E14", "tl.load(h + i, mask=i)", ({ h }, t) => t.load(h.add(lanes()), { mask: lanes() })),
  rule("E15", "tl.load(h, mask=i < 4)", ({ h }, t) => t.load(h, { mask: lanes().lt(4) })),
  rule("E19", "store with a mask larger than the pointer", ({ h }, t) =>
    t.store(h.add(lanes().col), 0, { mask: t.arange(0, 32).lt(4).row }),
  ),
  rule("E23", "tl.store(p, i)", ({ p }, t) => t.store(p, lanes())),
  rule("E24", "tl.store(p + i, 1.0, mask=i)", ({ p }, t) => t.store(p.add(lanes()), 1, { mask: lanes() })),
  rule("E25", "store to a const pointer", ({ x }, t) => t.store(x.ptr.add(lanes()), 1)),
  rule("E26", "store of a tile larger than the pointer", ({ p }, t) =>
    t.store(p.add(lanes().col), z("float32", 16, 16)),
  ),
  rule("E27", "tl.load(p + i, boundary_check=(0,))", ({ p }, t) => t.load(p.add(lanes()), { boundaryCheck: [0] })),
  rule("E28", "tl.load(p + i, padding_option='zero')", ({ p }, t) => t.load(p.add(lanes()), { paddingOption: "zero" })),
  rule("E30", "cache_modifier='.xx'", ({ p }, t) => t.load(p.add(lanes()), { cacheModifier: ".xx" })),
  rule("E32", "load with cache_modifier='.wb'", ({ p }, t) => t.load(p.add(lanes()), { cacheModifier: ".wb" })),
  rule("E34", "store with cache_modifier='.ca'", ({ p }, t) => t.store(p.add(lanes()), 1, { cacheModifier: ".ca" })),
  rule("E35", "tl.load(i)", (_, t) => t.load(lanes())),
  rule("E41", "tl.store(p + i, 1.0, i < 4, (0,))", ({ p }, t) => t.store(p.add(lanes()), 1, lanes().lt(4), [0])),
  rule("E44", "p[0]", ({ p }) => p[0].add(1)),
  rule("F03", "[16] + [32]", () => z("float32", 16).add(z("float32", 32))),
  rule("F04", "[16] + [16, 32]", () => z("float32", 16).add(z("float32", 16, 32))),
  rule("F06", "broadcast_to([16], [32, 16])", () => z("float32", 16).broadcastTo([32, 16])),
  rule("F08", "broadcast_to([16, 2], [16, 32])", () => z("float32", 16, 2).broadcastTo([16, 32])),
  rule("G07", "float8e5 x.to(tl.int32)", (_, t) => z("float8e5").to(t.int32)),
  rule("G08", "int32 x.to(tl.float8e5)", (_, t) => z("int32").to(t.float8e5)),
  rule("G10", "fp_downcast_rounding of an upcast", (_, t) => z("float16").to(t.float32, { fpDowncastRounding: "rtz" })),
  rule("G11", "fp_downcast_rounding='up'", (_, t) => z("float32").to(t.float16, { fpDowncastRounding: "up" })),
  rule("G13", "bitcast of 32 bits to 16", (_, t) => z("float32").to(t.int16, { bitcast: true })),
  rule("G14", "bitcast of 1 bit to 8", (_, t) => z("int1").to(t.int8, { bitcast: true })),
  rule("G21", "float(n)", ({ n }) => Number(n)),
  rule("G22", "int(f)", ({ f }) => Math.trunc(f)),
  rule("G24", "float32 x.to(pointer)", (_, t) => z("float32").toPointer(t.float32)),
  rule("G26", "x.to('fp32')", () => z("bfloat16").to("fp32")),
  rule("H03", "tl.arange(0, 48)", (_, t) => t.arange(0, 48)),
  rule("H04", "tl.arange(0, n)", ({ n }, t) => t.arange(0, n)),
  rule("H05", "tl.arange(4, 4)", (_, t) => t.arange(4, 4)),
  rule("H06", "tl.arange(2**32, 2**32 + 4)", (_, t) => t.arange(4294967296, 4294967300)),
  rule("H07", "tl.arange(-8, 8)", (_, t) => t.arange(-8, 8)),
  rule("H09", "tl.arange(0, 2097152)", (_, t) => t.arange(0, 2097152)),
  rule("H10", "tl.zeros([1024, 2048])", () => z("float32", 1024, 2048)),
  rule("H11", "tl.zeros([16, 3])", () => z("float32", 16, 3)),
  rule("H12", "tl.zeros([0])", () => z("float32", 0)),
  rule("H14", "tl.full([16], 1.5, tl.int32)", (_, t) => t.full([16], 1.5, t.int32)),
  rule("H20", "tl.full([16], -1, tl.uint32)", (_, t) => t.full([16], -1, t.uint32)),
  rule("H22", "tl.full of a tile", (_, t) => t.full([16], z("float32"), t.float32)),
  rule("H23", "tl.zeros([n])", ({ n }, t) => t.zeros([n], t.float32)),
  rule("H24", "tl.zeros(B)", ({ B }, t) => t.zeros(B, t.float32)),
  rule("H27", "tl.program_id(3)", (_, t) => t.programId(3)),
  rule("H28", "tl.program_id(n)", ({ n }, t) => t.programId(n)),
  rule("I02", "x.reshape(256)", () => z("float32", 16, 32).reshape([256])),
  rule("I03", "x.reshape(-1)", () => z("float32", 16, 32).reshape([-1])),
  rule("I05", "x[0]", () => z("float32")[0].add(1)),
  rule("I06", "x[0:4]", () => z("float32").slice(0, 4)),
  rule("I09", "tl.expand_dims(x, (0, 0))", (_, t) => t.expandDims(z("float32"), [0, 0])),
  rule("I12", "tl.trans of rank 1", (_, t) => t.trans(z("float32"))),
  rule("I14", "tl.permute(x, (0, 0, 1))", (_, t) => t.permute(z("float32", 2, 4, 8), [0, 0, 1])),
  rule("I17", "tl.join of two dtypes", (_, t) => t.join(z("float32", 4), z("int32", 4))),
  rule("I19", "tl.split of a last axis of 4", (_, t) => t.split(z("float32", 4, 4))),
  rule("I23", "tl.cat([16], [32])", (_, t) => t.cat(z("float32", 16), z("float32", 32))),
  rule("I27", "tl.sort(x, dim=0) of rank 2", (_, t) => t.sort(z("float32", 4, 16), 0)),
  rule("I28", "tl.sort(x, dim=-1) of rank 2", (_, t) => t.sort(z("float32", 4, 16), -1)),
  rule("I31", "tl.topk(x, 3)", (_, t) => t.topk(z("float32"), 3)),
  rule("I35", "tl.gather of other sizes", (_, t) => t.gather(z("float32", 8, 16), z("int32", 4, 32), 1)),
  rule("I36", "tl.gather with a float index", (_, t) => t.gather(z("float32", 8, 16), z("float32", 8, 16), 1)),
  rule("I38", "tl.histogram of int64", (_, t) => t.histogram(z("int64", 128), 64)),
  rule("I39", "tl.histogram(x, 60)", (_, t) => t.histogram(z("int32", 128), 60)),
  rule("I42", "x.item() of two elements", () => z("float32", 2).item()),
  rule("J05", "tl.sum(x, 2) of rank 2", (_, t) => t.sum(z("float32", 4, 16), 2)),
  rule("J07", "tl.sum(n)", ({ n }, t) => t.sum(n)),
  rule("J09", "tl.argmax(x, None)", (_, t) => t.argmax(z("float32", 4, 16), null)),
  rule("J14", "tl.xor_sum of floats", (_, t) => t.xorSum(z("float32", 4, 16), 1)),
  rule("J18", "tl.associative_scan(x, None, f)", (_, t) =>
    t.associativeScan(z("float32", 4, 16), null, (a: any, b: any) => a.add(b)),
  ),
  rule("J22", "tl.sigmoid of float16", (_, t) => t.sigmoid(z("float16", 4, 16))),
  rule("J23", "tl.reduce of two shapes", (_, t) =>
    t.reduce([z("float32", 4, 16), z("int32", 4, 8)], 1, ([a, i]: any, [b, j]: any) => [a.add(b), t.maximum(i, j)]),
  ),
  rule("J24", "tl.reduce with a function that changes the dtype", (_, t) =>
    t.reduce(z("float16"), 0, (a: any, b: any) => a.add(b).to(t.float32)),
  ),
  rule("K01", "tl.exp of float16", (_, t) => t.exp(z("float16"))),
  rule("K02", "float16 x.exp()", () => z("float16").exp()),
  rule("Q03_exp_method_fp16", "float16 x.exp(), stored", ({ h }, t) =>
    t.store(h.add(lanes()), t.load(h.add(lanes())).exp()),
  ),
  rule("K04", "tl.exp of int32", (_, t) => t.exp(z("int32"))),
  rule("K06", "tl.sqrt_rn of float64", (_, t) => t.sqrtRn(z("float64"))),
  rule("K09", "tl.fdiv of int32", (_, t) => t.fdiv(z("int32"), z("int32"))),
  rule("K13", "tl.fma of int32", (_, t) => t.fma(z("int32"), z("int32"), z("int32"))),
  rule("K15", "tl.umulhi of int8", (_, t) => t.umulhi(z("int8"), z("int8"))),
  rule("K17", "triton.next_power_of_2 in a kernel", ({ n }, t) => t.nextPowerOf2(n)),
  rule("K20", "libdevice.tanh of float16", (_, t) => t.libdevice.tanh(z("float16"))),
  ...["uint8", "int16", "int32"].map((dtype) =>
    rule(`L01_${dtype}`, `tl.dot of ${dtype}`, (_, t) => t.dot(z(dtype, 32, 64), z(dtype, 64, 32))),
  ),
  rule("K27", "float32 x.cdiv(2.0)", () => z("float32").cdiv(2.5)),
  rule("L02", "tl.dot(float16, bfloat16)", (_, t) => t.dot(z("float16", 32, 64), z("bfloat16", 64, 32))),
  rule("L05", "tl.dot(…, out_dtype=tl.bfloat16)", (_, t) =>
    t.dot(z("bfloat16", 32, 64), z("bfloat16", 64, 32), undefined, { outDtype: t.bfloat16 }),
  ),
  rule("L11", "tl.dot with an accumulator of another shape", (_, t) =>
    t.dot(z("float16", 32, 64), z("float16", 64, 32), z("float32", 32, 16)),
  ),
  rule("L12", "tl.dot([32, 64], [32, 32])", (_, t) => t.dot(z("float16", 32, 64), z("float16", 32, 32))),
  rule("L13", "tl.dot with K of 8", (_, t) => t.dot(z("float16", 16, 8), z("float16", 8, 16))),
  rule("L16", "tl.dot of float8 with K of 16", (_, t) => t.dot(z("float8e5", 16, 16), z("float8e5", 16, 16))),
  rule("L20", "tl.dot of two batches", (_, t) => t.dot(z("float16", 4, 32, 64), z("float16", 2, 64, 32))),
  rule("L21", "tl.dot of ranks 2 and 3", (_, t) => t.dot(z("float16", 32, 64), z("float16", 2, 64, 32))),
  rule("L22", "tl.dot of rank 1", (_, t) => t.dot(z("float16", 64), z("float16", 64))),
  rule("L23", "tl.dot of scalars", ({ f }, t) => t.dot(f, f)),
  rule("L24_fp16", "tl.dot(…, input_precision='fp16')", (_, t) =>
    t.dot(z("float32", 32, 64), z("float32", 64, 32), undefined, { inputPrecision: "fp16" }),
  ),
  rule("L27", "tl.dot(…, input_precision='ieee', allow_tf32=False)", (_, t) =>
    t.dot(z("float32", 32, 64), z("float32", 64, 32), undefined, { inputPrecision: "ieee", allowTf32: false }),
  ),
  rule("L28", "tl.dot(…, max_num_imprecise_acc=128) with K of 64", (_, t) =>
    t.dot(z("float8e5", 32, 64), z("float8e5", 64, 32), undefined, { maxNumImpreciseAcc: 128 }),
  ),
  rule("L43", "tl.dot_scaled with scales of two group sizes", (_, t) =>
    t.dotScaled(
      z("float8e4nv", 128, 64),
      z("uint8", 128, 4),
      "e4m3",
      z("float8e4nv", 64, 128),
      z("uint8", 128, 2),
      "e4m3",
    ),
  ),
  rule("L46", "tl.dot_scaled(…, out_dtype=tl.float16)", (_, t) =>
    t.dotScaled(
      z("float8e4nv", 128, 64),
      z("uint8", 128, 2),
      "e4m3",
      z("float8e4nv", 64, 128),
      z("uint8", 128, 2),
      "e4m3",
      undefined,
      { outDtype: t.float16 },
    ),
  ),
  rule("L47", "tl.dot_scaled of the format e3m4", (_, t) =>
    t.dotScaled(
      z("float8e4nv", 128, 64),
      z("uint8", 128, 2),
      "e3m4",
      z("float8e4nv", 64, 128),
      z("uint8", 128, 2),
      "e4m3",
    ),
  ),
  rule("L50", "tl.dot_scaled(…, lhs_k_pack=False) of e4m3", (_, t) =>
    t.dotScaled(
      z("float8e4nv", 128, 64),
      z("uint8", 128, 2),
      "e4m3",
      z("float8e4nv", 64, 128),
      z("uint8", 128, 2),
      "e4m3",
      undefined,
      { lhsKPack: false },
    ),
  ),
  ...atomics,
  rule("M05", "tl.atomic_add(p + i, 1.0, mask=i)", ({ p }, t) => t.atomicAdd(p.add(lanes()), 1, { mask: lanes() })),
  rule("M09", "sem='seq_cst'", ({ a }, t) => t.atomicAdd(a.toPointer(t.int32), 1, { sem: "seq_cst" })),
  rule("M11", "tl.atomic_cas(tile of pointers, 0, 1)", ({ a }, t) =>
    t.atomicCas(a.toPointer(t.int32).add(lanes()), 0, 1),
  ),
  rule("M12", "tl.atomic_cas(int64 pointer, 0, 1)", ({ a }, t) => t.atomicCas(a.toPointer(t.int64), 0, 1)),
  rule("M14", "tl.atomic_cas of int8", ({ a }, t) => t.atomicCas(a.toPointer(t.int8), 0, 1)),
  rule("M16", "tl.atomic_load(p, sem='release')", ({ a }, t) => t.atomicLoad(a.toPointer(t.int32), { sem: "release" })),
  rule("M17", "tl.atomic_poll of float32", ({ p }, t) => t.atomicPoll(p, 1)),
  rule("M18", "an atomic on a const pointer", ({ x }, t) => t.atomicAdd(x.ptr, 1)),
  rule("M19", "tl.atomic_xchg of int1", ({ a }, t) => t.atomicXchg(a.toPointer(t.int1), true)),
  rule("M21", "an atomic of a tile on a scalar pointer", ({ p }, t) => t.atomicAdd(p, z("float32"))),
  rule("M22", "tl.atomic_add(p, 1.0, mask=True)", ({ p }, t) => t.atomicAdd(p, 1, { mask: true })),
  rule("O01", "if on a tile", (_, t) => t.when(z("int1"), () => undefined)),
  rule("O03", "a variable that a branch gives another dtype", ({ n }, t) => {
    const x = t.mut(t.full([], 1, t.float32));
    t.when(n.gt(0), () => void (x.value = t.full([], 2, t.int32)));
  }),
  rule("O04", "a value of a branch used after it", ({ n }, t) => {
    let y: any;
    t.when(n.gt(0), () => void (y = t.full([], 1, t.float32)));
    return y.add(1);
  }),
  rule("O06", "arms of two dtypes", ({ n }, t) =>
    t.when(n.gt(0), () => t.full([], 1, t.float32)).otherwise(() => t.full([], 2, t.int32)),
  ),
  rule("O08", "a loop that changes a variable's dtype", ({ n }, t) => {
    const x = t.mut(t.full([], 0, t.int32));
    for (const i of t.range(n)) x.value = x.value.to(t.float32).add(i.to(t.float32));
  }),
  rule("O09", "a loop that changes a variable's shape", ({ n }, t) => {
    const x = t.mut(t.full([], 0, t.float32));
    for (const i of t.range(n)) x.value = x.value.add(z("float32").add(i.to(t.float32)));
  }),
  rule("O10", "a loop that widens its accumulator", ({ n, f }, t) => {
    const x = t.mut(z("float16"));
    for (const i of t.range(n)) x.value = x.value.mul(f).add(i.to(t.float16));
  }),
  rule("O12", "range(f)", ({ f }, t) => [...t.range(f)]),
  rule("O15", "tl.static_range(n)", ({ n }, t) => [...t.staticRange(n)]),
  rule("O21", "break", ({ n }, t) => {
    for (const i of t.range(n)) if (i > 3) break;
  }),
  rule("O20", "while True", (_, t) =>
    t.whileLoop(
      () => true,
      () => undefined,
    ),
  ),
  rule("O22", "continue", ({ n }, t) => {
    for (const i of t.range(n)) if (i > 3) continue;
  }),
  rule("O23", "return in a loop", ({ n }, t) => {
    for (const i of t.range(n)) t.when(i.gt(3), () => t.exit());
  }),
  rule("O28", "1.0 if n > 0 else 2", ({ n }, t) => t.when(n.gt(0), () => 1).otherwise(() => 2)),
  rule("O29", "1.0 if tile else 2.0", (_, t) => t.when(z("int1"), () => z("float32")).otherwise(() => z("float32"))),
  rule("O35", "(n, 2.0)[n]", ({ n }) => [n, 2][n]),
  rule("O42", "tiles handed to a function that is not inlined", (_, t) =>
    t.fn((a: any, b: any) => a.mul(b), { noinline: true })(z("float32"), z("float32")),
  ),
  rule("O54", "tl.device_print('é', n)", ({ n }, t) => t.devicePrint("é", n)),
  rule("O56", "tl.static_assert(n > 0)", ({ n }, t) => t.staticAssert(n.gt(0))),
  rule("O64", "x[0] = 1.0", () => void (z("float32")[0] = 1)),
  rule("O82", "a value of a loop used after it", ({ n }, t) => {
    let last: any;
    for (const i of t.range(n)) last = i.mul(2);
    return last.add(1);
  }),
  rule("O85", "tl.multiple_of(x, [8, 8]) of rank 1", (_, t) => t.multipleOf(lanes(), [8, 8])),
  rule("O86", "tl.multiple_of(x, n)", ({ n }, t) => t.multipleOf(lanes(), n)),
  rule("P14", "tl.where(None, 1, 2)", (_, t) => t.where(null, 1, 2)),
  rule("P15", "tl.exp of bfloat16", (_, t) => t.exp(z("bfloat16"))),
  ...float8,
  rule("Q04_hist64", "tl.histogram of int64", (_, t) => t.histogram(z("int64", 128), 128)),
  rule("Q04_hist8", "tl.histogram of int8", (_, t) => t.histogram(z("int8", 128), 128)),
  rule("Q04_sortfp8", "tl.sort of float8e5", (_, t) => t.sort(z("float8e5", 128))),
  rule("R04", "other larger than the pointer", ({ p }, t) =>
    t.load(p.add(lanes().col), { mask: lanes().col.lt(4), other: z("float32", 16, 8) }),
  ),
  rule("R09", "a loop that widens an integer", ({ n }, t) => {
    const s = t.mut(t.full([], 0, t.int32));
    for (const i of t.range(3)) s.value = s.value.add(n.to(t.int64)).add(i.to(t.int64));
  }),
  rule("R29", "a float16 accumulator that gets a float32 product", ({ n }, t) => {
    const x = t.mut(z("float16", 32, 32));
    for (const i of t.range(n))
      x.value = x.value.add(t.dot(z("float16", 32, 64), z("float16", 64, 32))).add(i.to(t.float32));
  }),
  rule("R30", "int1 // 1", () => z("int1").floorDiv(1)),
  rule("R38", "tl.static_assert(B == 1, msg='x')", ({ B }, t) => t.staticAssert(B.eq(1), { msg: "x" })),
];

/** Exports that are not rules, and why. */
export const notApplicable: readonly { readonly why: string; readonly ids: string }[] = [
  {
    why: "Python's syntax (unary +, abs(), in, for-else, lists, lambdas, chained =, import, enumerate, dict) has no form here: JavaScript's own runs while the kernel is traced",
    ids: "B27 B32 C23 O30 O31 O51 O52 O61 O65 O76 O80",
  },
  {
    why: "names of Python (globals, undefined names, functions that cannot be compiled): TypeScript resolves names",
    ids: "O48 O49 O77 P01",
  },
  {
    why: "a false static_assert is what the author asks for, and Triton says it with the author's message",
    ids: "O57",
  },
  {
    why: "depends on the GPU or on options of a launch, not on the kernel",
    ids: "E47 E48 G19 P09 P11 Q07_dot80_fp8e4nv",
  },
  { why: "const pointers do not mix with others in tl.where; emitted pointers are not const", ids: "R05" },
  { why: "x.T of rank 3 is emitted as tl.trans(x), which swaps the last two axes", ids: "I13" },
  { why: "a constexpr as a loop's variable: state that begins with one is emitted as a tensor", ids: "R12" },
  { why: "x[:, :] has no form here: axes are added with expandDims", ids: "I07" },
  { why: "pointers to pointers and casts of const pointers: an address that is loaded is an int64", ids: "E45 R07" },
  {
    why: "a number bound to a local is a run-time scalar in Triton; emission never binds one",
    ids: "R18 R19 R20 R22",
  },
  { why: "block pointers are gone from Triton", ids: "N01 N02 N03 N04 N05 N06" },
  {
    why: "tensor descriptors are not among these rules",
    ids: "N11 N12 N13 N14 N16 N18 N19 N20 N21 N23 N24 N25 N27 N28 N29 Q09_desc_gather90 Q09_desc_i1",
  },
];
