/**
 * What people write first who know Triton, PyTorch or Python, each with what the build says. The editor's part is a
 * chapter of `mistakes.md`; where the checker has no words, or says more than one thing, only the build is asked.
 */
import type { Mistake } from "./mistake.js";

export interface First extends Mistake {
  /** The build's message. */
  readonly says: string;
}
export const line = (wrong: string, right: string, says: string): First => ({ title: wrong, wrong, right, says });

const elements = "compute on the whole tile, or load the element from memory, tl.load(x.at(i))";
const floats = "needs integers, got float32; divide integers with floorDiv, or cast with .to(tl.int32)";
const size = "this tensor has none; write the size's own name, which the kernel's function takes: ({ x, N }) => …";

/** Lines of a kernel's body that are one error in the editor. */
export const firstLines: readonly First[] = [
  // Addresses
  line(
    "tl.load(total + rm);",
    "tl.load(total.at(rm, rn));",
    "`+` is JavaScript's and cannot compute with a traced value; write total.at(rm) for a tensor, with one index for each axis, or total.add(rm) for a pointer",
  ),
  line(
    "tl.store(p + rm, 0);",
    "tl.store(p.add(rm), 0);",
    "`+` is JavaScript's and cannot compute with a traced value; write p.at(rm) for a tensor, with one index for each axis, or p.add(rm) for a pointer",
  ),
  line(
    "tl.load(a.add(rm));",
    "tl.load(a.at(rm, rk));",
    "add: this is a whole tensor; load a tile of it first, tl.load(x.at(…))",
  ),
  line(
    "a.load([rm, rk]);",
    "tl.load(a.at(rm, rk));",
    "load: this tensor has none; write tl.load(x.at(i, j)), one index for each axis",
  ),
  line("a.at(rm, rk).load();", "tl.load(a.at(rm, rk));", "load: this view has none; write tl.load(x.at(i, j))"),
  line(
    "a[rm];",
    "tl.load(a.at(rm, rk));",
    "`[…]` is JavaScript's and takes no traced value; write tl.load(a.at(rm)) to read, tl.store(a.at(rm), value) to write",
  ),
  line("rm[0];", "tl.load(ids.at(0));", `this tile has no elements by index; ${elements}`),
  line("[...rm];", "rm;", `this tile has no elements that JavaScript could take one by one; ${elements}`),
  line(
    "for (const e of rm) e;",
    "for (const e of tl.range(M)) e;",
    `this tile has no elements that JavaScript could take one by one; ${elements}`,
  ),
  line(
    "for (const e of M) e;",
    "for (const e of tl.range(M)) e;",
    "this tile has no elements that JavaScript could take one by one; use it as it is, or loop up to it, for (const i of tl.range(n))",
  ),
  // Division
  line(
    "tl.load(ids.at(rm / 2));",
    "tl.load(ids.at(rm.floorDiv(2)));",
    "`/` is JavaScript's and cannot compute with a traced value; write rm.floorDiv(2) for integers, such as indices and sizes, or rm.div(2) for floats",
  ),
  line("tl.load(ids.at(rm.div(2)));", "tl.load(ids.at(rm.floorDiv(2)));", `at: ${floats}`),
  line("tl.load(p.add(rm.div(2)));", "tl.load(p.add(rm.floorDiv(2)));", `add: ${floats}`),
  line("for (const k of tl.range(K.div(2))) k;", "for (const k of tl.range(K.floorDiv(2))) k;", `range: ${floats}`),
  line(
    "tl.arange(0, BLOCK_M / 2);",
    "tl.arange(0, BLOCK_M.floorDiv(2));",
    "`/` is JavaScript's and cannot compute with a traced value; write BLOCK_M.floorDiv(2) for integers, such as indices and sizes, or BLOCK_M.div(2) for floats",
  ),
  line(
    "tl.arange(0, BLOCK_M.div(2));",
    "tl.arange(0, BLOCK_M.floorDiv(2));",
    "arange: bounds must be integers, this constexpr is a float; divide integers with floorDiv",
  ),
  // Names
  line("tl.program_id(0);", "tl.programId(0);", "program_id: tl has none; write tl.programId"),
  line("tl.atomic_add(p, 1);", "tl.atomicAdd(p, 1);", "atomic_add: tl has none; write tl.atomicAdd"),
  line(
    "for (const k of tl.static_range(4)) k;",
    "for (const k of tl.staticRange(4)) k;",
    "static_range: tl has none; write tl.staticRange",
  ),
  line("tl.expand_dims(rm, 1);", "tl.expandDims(rm, 1);", "expand_dims: tl has none; write tl.expandDims"),
  line(
    "tl.pow(f, 2);",
    "libdevice.pow(f, 2);",
    "pow: tl has none; write libdevice.pow(x, y), or x.mul(x) for a square",
  ),
  line("tl.isnan(f);", "f.ne(f);", "isnan: tl has none; write x.ne(x)"),
  line("libdevice.tanh(f.half());", "libdevice.tanh(f);", "half: this tile has none; write x.to(tl.float16)"),
  line("tl.round(f);", "libdevice.rint(f);", "round: tl has none; write libdevice.rint(x)"),
  line(
    "tl.tensor([1, 2]);",
    "tl.full([2], 1, tl.int32);",
    "tensor: tl has none; write tl.full(shape, value, dtype), or tl.join(x, y)",
  ),
  line("tl.math.rsqrt(f);", "tl.rsqrt(f);", "math: tl has none; write tl.exp(x), tl.rsqrt(x) and so on, or libdevice"),
  line("x.dot(y);", "tl.dot(x, y);", "dot: this tile has none; write tl.dot(x, y)"),
  line("f.round();", "libdevice.rint(f);", "round: this tile has none; write libdevice.rint(x)"),
  line("tl.mean(f, 1);", "tl.sum(f, 1).div(64);", "mean: tl has none; write tl.sum(x, axis).div(N)"),
  line("tl.matmul(x, y);", "tl.dot(x, y);", "matmul: tl has none; write tl.dot(x, y)"),
  line("f.to(tl.fp16);", "f.to(tl.float16);", "fp16: tl has none; write tl.float16"),
  line("f.to(tl.bool);", "f.to(tl.int1);", "bool: tl has none; write tl.int1"),
  line(
    "tl.full([BLOCK_M], -tl.inf, tl.float32);",
    "tl.full([BLOCK_M], -Infinity, tl.float32);",
    "inf: tl has none; write JavaScript's Infinity",
  ),
  line("f.astype(tl.float16);", "f.to(tl.float16);", "astype: this tile has none; write x.to(dtype)"),
  line("f.pow(2);", "f.mul(f);", "pow: this tile has none; write libdevice.pow(x, y), or x.mul(x) for a square"),
  line(
    "f.where(inside.col, 0);",
    "tl.where(inside.col, f, 0);",
    "where: this tile has none; write tl.where(condition, x, y)",
  ),
  line("rm.unsqueeze(1);", "rm.col;", "unsqueeze: this tile has none; write x.expandDims(axis), x.col or x.row"),
  line("rm.length;", "rm.shape[0];", "length: this tile has none; write x.shape[0]"),
  line("tl.cdiv(a.shape[1], BLOCK_K);", "tl.cdiv(K, BLOCK_K);", `shape: ${size}`),
  line("a.size(0);", "M;", `size: ${size}`),
  line("a.strides[0];", "a.stride(0);", "strides: this tensor has none; write x.stride(axis)"),
  line(
    "tl.arange(0, BLOCK_M.value);",
    "tl.arange(0, BLOCK_M);",
    "value: a constexpr has none; write it without .value",
  ),
  line("cdiv(K, BLOCK_K);", "tl.cdiv(K, BLOCK_K);", "cdiv is not defined here; write tl.cdiv"),
  line(
    "triton.cdiv(K, BLOCK_K);",
    "tl.cdiv(K, BLOCK_K);",
    "triton: Python's name, not JavaScript's; write tl, as in tl.cdiv(N, BLOCK); a triton.Config is an object, { BLOCK: 64, numWarps: 4 }",
  ),
  line(
    "tl.load(p.add(rm), { mask: None });",
    "tl.load(p.add(rm));",
    "None: Python's name, not JavaScript's; write undefined, or leave the argument out; of an optional tensor, tl.when(x.given, () => { … })",
  ),
  // State
  line("acc.add(f);", "acc.value.add(f);", "add: this is state; read it with .value, as in acc.value.add"),
  line(
    "acc.to(tl.float16);",
    "acc.value.to(tl.float16);",
    "to: this is state; read it with .value, as in acc.value.to",
  ),
  line(
    "acc += f;",
    "acc.value = acc.value.add(f);",
    "`+=` is JavaScript's and cannot compute with a traced value; write acc.value = acc.value.add(f)",
  ),
  line("acc.vlaue = f;", "acc.value = f;", "vlaue: state has none; write acc.value = x"),
  // Arguments by name and by position
  line(
    "tl.load(p.add(rm), inside, 0.0);",
    "tl.load(p.add(rm), { mask: inside, other: 0 });",
    "load: takes 1 argument by position, got 3; write tl.load(address, { mask, other, … })",
  ),
  line(
    "tl.load(p.add(rm), inside);",
    "tl.load(p.add(rm), { mask: inside });",
    "load: takes 1 argument by position, got 2; write tl.load(address, { mask, other, … })",
  ),
  line(
    "tl.store(p.add(rm), 0, inside);",
    "tl.store(p.add(rm), 0, { mask: inside });",
    "store: takes 2 arguments by position, got 3; write tl.store(address, value, { mask, cacheModifier, evictionPolicy })",
  ),
  line(
    "tl.atomicAdd(p.add(rm), 1, inside);",
    "tl.atomicAdd(p.add(rm), 1, { mask: inside });",
    "atomicAdd: takes 2 arguments by position, got 3; write tl.atomicAdd(address, value, { mask, sem, scope })",
  ),
  line(
    "tl.sum(f, { axis: 1 });",
    "tl.sum(f, 1);",
    "sum: axis goes by position, not by name; write tl.sum(x, 1, { keepDims, dtype })",
  ),
  line(
    "tl.argmax(f, { axis: 1 });",
    "tl.argmax(f, 1);",
    "argmax: axis goes by position, not by name; write tl.argmax(x, 1, { keepDims, tieBreakLeft })",
  ),
  line(
    "tl.cumsum(f, { dim: 1 });",
    "tl.cumsum(f, 1);",
    "cumsum: dim goes by position, not by name; write tl.cumsum(x, 1, { reverse, dtype })",
  ),
  line(
    "f.sum({ axis: 1 });",
    "f.sum(1);",
    "sum: axis goes by position, not by name; write tl.sum(x, 1, { keepDims, dtype })",
  ),
  line(
    "tl.sum(f, 1, { keep_dims: true });",
    "tl.sum(f, 1, { keepDims: true });",
    "sum: no option keep_dims; write keepDims",
  ),
  line(
    "tl.zeros([BLOCK_M], { dtype: tl.float32 });",
    "tl.zeros([BLOCK_M], tl.float32);",
    "zeros: dtype goes by position, not by name; write tl.zeros(shape, dtype)",
  ),
  line(
    "tl.full([BLOCK_M], 0, { dtype: tl.float32 });",
    "tl.full([BLOCK_M], 0, tl.float32);",
    "full: dtype goes by position, not by name; write tl.full(shape, value, dtype)",
  ),
  line("tl.zeros(BLOCK_M, tl.float32);", "tl.zeros([BLOCK_M], tl.float32);", "zeros: a shape is a list; write [BLOCK]"),
  line(
    "tl.programId({ axis: 0 });",
    "tl.programId(0);",
    "programId: axis goes by position, not by name; write tl.programId(0)",
  ),
  line("tl.arange(BLOCK_M);", "tl.arange(0, BLOCK_M);", "arange: end is missing; write tl.arange(start, end)"),
  line(
    "tl.dot(x, y, { allow_tf32: false });",
    'tl.dot(x, y, { inputPrecision: "ieee" });',
    'dot: no option allow_tf32; write inputPrecision: "ieee"',
  ),
  line(
    "tl.dot(x, y, { acc: acc.value });",
    "tl.dot(x, y, acc.value);",
    "dot: acc goes by position, not by name; write tl.dot(a, b, acc, { inputPrecision, maxNumImpreciseAcc, outDtype })",
  ),
  line(
    'tl.dot(x, y, { input_precision: "ieee" });',
    'tl.dot(x, y, { inputPrecision: "ieee" });',
    "dot: no option input_precision; write inputPrecision",
  ),
  line(
    "tl.max(f, f);",
    "tl.maximum(f, f);",
    "max: the axis is a number by position, tl.max(x, 0); of two values, tl.maximum(x, y)",
  ),
  line("tl.min(M, K);", "tl.minimum(M, K);", "min: a scalar has no axis; of two values, tl.minimum(x, y)"),
  line(
    "for (const k of tl.range(0, K, 1, { num_stages: 2 })) k;",
    "for (const k of tl.range(0, K, 1, { numStages: 2 })) k;",
    "range: no option num_stages; write numStages",
  ),
];

/** Lines that only the build refuses, or about which the checker says several things. */
export const firstLinesOfTheBuild: readonly First[] = [
  line(
    "for (let k = 0; k < K; k += BLOCK_K) tl.load(a.at(rm, k));",
    "",
    "`for` on a traced condition never ends; write for (const k of tl.range(0, K, BLOCK_K))",
  ),
  line(
    "for (let k = 0; k < K / BLOCK_K; k++) tl.load(a.at(rm, k));",
    "",
    "`for` on a traced condition never ends; write for (const k of tl.range(0, tl.cdiv(K, BLOCK_K)))",
  ),
  line(
    "for (const k of tl.range(Math.ceil(K / BLOCK_K))) k;",
    "",
    "`Math.ceil` and `/` are JavaScript's and cannot compute with a traced value; write tl.cdiv(K, BLOCK_K)",
  ),
  line(
    "tl.store(p, (async () => tl.full([], 2, tl.float32))() as any);",
    "",
    "this is a promise, and a kernel does not wait; remove async and await",
  ),
  line(
    "tl.when(M.gt(1), async () => tl.store(p, 1) as any);",
    "",
    "this is a promise, and a kernel does not wait; remove async and await",
  ),
  // Python's keyword arguments, which JavaScript takes for assignments
  line(
    "tl.load(p.add(rm), mask = rm.lt(M), other = 0.0);",
    "",
    "mask: Python's name, not JavaScript's; write options in an object at the end, { mask: i.lt(N), other: 0 }",
  ),
  line(
    "tl.zeros([BLOCK_M], dtype = tl.float32);",
    "",
    "dtype: Python's name, not JavaScript's; write the dtype at its place, tl.zeros([BLOCK], tl.float32)",
  ),
  line(
    "tl.sum(tl.load(a.at(rm, rk)), axis = 1);",
    "",
    "axis: Python's name, not JavaScript's; write the axis at its place, tl.sum(x, 1)",
  ),
  line(
    'rm[":", null].add(rn);',
    "",
    "this tile has no [:, None]; write x.col for x[:, None], and x.row for x[None, :]",
  ),
  line('rn[null, ":"];', "", "this tile has no [:, None]; write x.col for x[:, None], and x.row for x[None, :]"),
];

/** What the options of a kernel are on the first try, and what the build says. */
export const firstKernels: readonly (readonly [code: string, says: string])[] = [
  [
    'kernel("one", { params: {}, grid: () => [1] }, () => {})(1)',
    "one: a kernel is no function; write await kernel.run({ x, y }), with its inputs by name",
  ],
  [
    'kernel("one", { params: {}, grid: () => [1] }, () => {})[[1, 1]](1)',
    "one: the grid stands in the spec; write await kernel.run({ x, y }), with its inputs by name",
  ],
  [
    'kernel("one", { params: {}, grid: () => [1] }, () => {})[(meta) => [1]](1)',
    "one: the grid stands in the spec; write await kernel.run({ x, y }), with its inputs by name",
  ],
  [
    'kernel("one", { params: {}, grid: () => [1] }, () => {}).warmup(1)',
    "warmup: the kernel one has none; write kernel.run, kernel.evaluate or kernel.check",
  ],
  [
    "kernel({ params: {}, grid: () => [1] }, () => {})",
    'kernel: the first argument is its name, not an object; write kernel("name", { … }, ({ x, N }) => { … })',
  ],
  [
    'kernel("one", ({ x }) => {}, { params: {}, grid: () => [1] })',
    'one: the second argument is the spec, not a function; write kernel("one", { params: …, grid: … }, ({ x, N }) => { … })',
  ],
  [
    'kernel("one", { params: {}, grid: [1] }, () => {})',
    "one: grid is an array; grid must be a function, such as grid: () => [1]",
  ],
  [
    'kernel("one", { params: { x: tl.float32 }, grid: () => [1] }, () => {})',
    'one: x is a dtype, not a param; write x: tensor(tl.float32, ["N"]), or scalar(tl.float32)',
  ],
  [
    'kernel("one", { params: { BLOCK: 128 }, grid: () => [1] }, () => {})',
    "one: BLOCK is a number, not a param; write BLOCK: constexpr() among the params and config: { BLOCK: 128 }",
  ],
  [
    'kernel("one", { params: { BLOCK: constexpr }, grid: () => [1] }, () => {})',
    'one: BLOCK is a function that makes params; call it, as in constexpr() or tensor(tl.float32, ["N"])',
  ],
  [
    'kernel("one", { params: { BLOCK: constexpr(128) }, grid: () => [1] }, () => {})',
    "constexpr: takes nothing, got 128; write constexpr(), and the value in config: { BLOCK: 64 }",
  ],
  [
    'kernel("one", { params: { x: tensor(tl.float32, ["N"], { optional: true }) }, grid: () => [1] }, () => {})',
    "tensor: there is no option optional; write .optional() behind it",
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"], { zero: true }) }, grid: () => [1] }, () => {})',
    "tensor: there is no option zero; it takes contiguous, offsets, zeroed",
  ],
  [
    'kernel("one", { params: { x: tensor.in(tl.float32, ["N"]) }, grid: () => [1] }, () => {})',
    "in: tensor has none; write tensor(…) for an input, tensor.out(…) for an output, tensor.inout(…) for a tensor updated in place",
  ],
  [
    'kernel("one", { params: {}, grid: () => [1], numWarps: 4 }, () => {})',
    "one: numWarps is not a part of a spec; write config: { BLOCK: 64, numWarps: 4 }",
  ],
  [
    'kernel("one", { params: {}, grid: () => [1], specialise: "auto" }, () => {})',
    'one: specialise is not a part of a spec; write warpSpecialize: "auto"',
  ],
  [
    'kernel("one", { params: {}, grid: () => [1], specialize: "auto" }, () => {})',
    'one: specialize is not a part of a spec; write warpSpecialize: "auto"',
  ],
  [
    'kernel("one", { params: {}, grid: () => [1], configs: [{ BLOCK: 64 }] }, () => {})',
    'one: configs is not a part of a spec; write autotune: { key: ["N"], configs: [{ BLOCK: 64 }] }, or config: { BLOCK: 64 } for one',
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() }, grid: () => [1], config: { BLOCK: 64, num_warps: 4 } }, ({ x, BLOCK }: any) => tl.store(x.at(tl.arange(0, BLOCK)), 0))',
    "one: its config: num_warps is not a constexpr of this kernel; write numWarps",
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"]) }, grid: ({ Z }: any) => [Z] }, ({ x }: any) => tl.store(x.at(0), 0))',
    "Z: one has no such argument; it has device, N",
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"]) }, grid: () => [1] }, ({ X }: any) => tl.store(X.at(0), 0))',
    "X: one has no such argument; it has x, N",
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"]) }, grid: () => [1] }, (x: any) => tl.store(x.at(0), 0))',
    "one: the kernel's function takes one object; write ({ x, N }) => { … }",
  ],
  [
    'kernel("one", { params: { x: tensor.out(tl.float32, ["N"]) }, grid: () => [1] }, async ({ x }: any) => tl.store(x.at(0), 0))',
    "this is a promise, and a kernel does not wait; remove async and await",
  ],
];
