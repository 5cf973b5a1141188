/** What authors write out of habit who port kernels by heart: slices, truth values and functions of Python's. */
import { type First, line } from "./first-contact.js";

/** Lines of a kernel's body that are one error in the editor. */
export const habitLines: readonly First[] = [
  line(
    "const [v0, i0] = tl.max(f, 0); v0; i0;",
    "const [v0, i0] = tl.max(f, 0, { returnIndices: true }); v0; i0;",
    "max: gives one tile and no list; write tl.max(x, axis, { returnIndices: true }) for [values, indices]",
  ),
  line(
    "tl.min(f, 1)[0];",
    "tl.min(f, 1);",
    "min: gives one tile and no list; write tl.min(x, axis, { returnIndices: true }) for [values, indices]",
  ),
  line(
    "const { values } = tl.max(f, 0); values;",
    "const [values] = tl.max(f, 0, { returnIndices: true }); values;",
    "max: gives one tile and no list; write tl.max(x, axis, { returnIndices: true }) for [values, indices]",
  ),
  line(
    "const [s0, s1] = tl.sort(f); s0; s1;",
    "tl.sort(f);",
    "sort: gives one tile and no list; write tl.sort(x.to(tl.int64).mul(n).add(i)).mod(n), for integers x from 0 on and their indices i below n",
  ),
  line(
    "tl.argsort(rm);",
    "tl.sort(rm.to(tl.int64).mul(64).add(rm)).mod(64);",
    "argsort: tl has none; write tl.sort(x.to(tl.int64).mul(n).add(i)).mod(n), for integers x from 0 on and their indices i below n",
  ),
  line(
    "f.argsort();",
    "tl.sort(f);",
    "argsort: this tile has none; write tl.sort(x.to(tl.int64).mul(n).add(i)).mod(n), for integers x from 0 on and their indices i below n",
  ),
  line(
    "tl.ones([BLOCK_M], tl.float32);",
    "tl.full([BLOCK_M], 1, tl.float32);",
    "ones: tl has none; write tl.full(shape, 1, dtype)",
  ),
  line(
    "tl.empty([BLOCK_M], tl.float32);",
    "tl.zeros([BLOCK_M], tl.float32);",
    "empty: tl has none; write tl.zeros(shape, dtype)",
  ),
  line(
    "tl.any(inside, 0);",
    "tl.max(inside.to(tl.int32), 0).ne(0);",
    "any: tl has none; write tl.max(x.to(tl.int32), axis).ne(0)",
  ),
  line(
    "inside.all();",
    "tl.min(inside.to(tl.int32), 0).ne(0);",
    "all: this tile has none; write tl.min(x.to(tl.int32), axis).ne(0)",
  ),
  line(
    "f.maskedFill(inside.col, 0);",
    "tl.where(inside.col, 0, f);",
    "maskedFill: this tile has none; write tl.where(mask, value, x)",
  ),
  line("inside.logical_not();", "inside.not();", "logical_not: this tile has none; write x.not()"),
  line("rm.bitwise_and(7);", "rm.and(7);", "bitwise_and: this tile has none; write x.and(y)"),
  line("rm.lshift(1);", "rm.shl(1);", "lshift: this tile has none; write x.shl(y)"),
  line(
    "tl.libdevice.tanh(f);",
    "libdevice.tanh(f);",
    'libdevice: tl has none; write libdevice.tanh(x) and so on, after import { libdevice } from "tilescript"',
  ),
  line(
    "tl.extra.cuda.libdevice.tanh(f);",
    "libdevice.tanh(f);",
    'extra: tl has none; write libdevice.tanh(x) and so on, after import { libdevice } from "tilescript"',
  ),
  line(
    "tl.make_block_ptr(p, [M], [1], [0], [BLOCK_M], [0]);",
    "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]);",
    "make_block_ptr: tl has none; write tl.makeTensorDescriptor(x, [BLOCK]), or x.at(i, j), whose mask follows from the tensor",
  ),
  line(
    "tl.advance(p, BLOCK_M);",
    "tl.load(a.at(rm.add(BLOCK_M), rk));",
    "advance: tl has none; write the next indices, x.at(i.add(BLOCK))",
  ),
  line(
    "rm.at(0);",
    "tl.load(ids.at(0));",
    "at: this tile has none; write tl.load(t.at(i)) of the tensor t, which loads one element",
  ),
  line(
    "p.at(rm);",
    "tl.load(p.add(rm));",
    "at: this pointer has none; write x.add(i), or declare it tensor(dtype, dims) instead of pointer(dtype)",
  ),
  line("p[0];", "tl.load(p.add(0));", "this pointer has no elements by index; write tl.load(x.add(i))"),
  line("tl.load(a.at(-1, rk));", "tl.load(a.at(M.sub(1), rk));", "at: -1 is no index of axis 0; write M.sub(1)"),
  line("tl.load(a.at(rm, -2));", "tl.load(a.at(rm, K.sub(2)));", "at: -2 is no index of axis 1; write K.sub(2)"),
  line(
    "tl.store(p.add(rm), f);",
    "tl.store(p.add(rm), tl.sum(f, 1));",
    "store: the address is [BLOCK_M], the value is [BLOCK_M, BLOCK_N]; give both one shape, with an index of tl.arange(0, BLOCK) for each axis of the value, value.T or tl.sum(value, axis)",
  ),
  line(
    "tl.load(a.at(rm, rk), { mask: inside });",
    "tl.load(a.at(rm, rk), { mask: inside.col });",
    "load: the mask is [BLOCK_M], the address is [BLOCK_M, BLOCK_K]; write a mask of each axis, rows.lt(M).col.and(cols.lt(N).row)",
  ),
  line(
    "tl.where(1, f, 0);",
    "tl.where(f.gt(0), f, 0);",
    "where: the condition is a tile of int1; compare, as in x.gt(0)",
  ),
  line(
    "tl.zeros([100], tl.float32);",
    "tl.zeros([128], tl.float32);",
    "zeros: 100 is not a power of two up to 1048576; write the next one, and mask the elements past 100",
  ),
  line(
    "if (CAUSAL) tl.store(p, 0);",
    "tl.when(CAUSAL, () => tl.store(p, 0));",
    "`if` on a traced value is always taken; use tl.when(condition, () => …)",
  ),
  line(
    "CAUSAL && tl.store(p, 0);",
    "tl.when(CAUSAL, () => tl.store(p, 0));",
    "`&&` on a traced value picks its right side, which always runs; write tl.when(CAUSAL, () => tl.store(p, 0))",
  ),
];

/** Lines for which the editor has no words, or more than one error. */
export const habitLinesOfTheBuild: readonly First[] = [
  line(
    "tl.load(p.add(rm), { mask: 0 <= rm < M });",
    "",
    "`<= … <` is Python's, and JavaScript compares a truth value with the third; write rm.ge(0).and(rm.lt(M))",
  ),
  line(
    "if (1 <= M <= 5) f;",
    "",
    "`<= … <=` is Python's, and JavaScript compares a truth value with the third; write M.ge(1).and(M.le(5))",
  ),
  line(
    "tl.devicePrint(f as any);",
    "",
    'devicePrint: the prefix is a string of ASCII characters; write tl.devicePrint("x", x)',
  ),
  line(
    "if (a != None) f;",
    "",
    "None: Python's name, not JavaScript's; write undefined, or leave the argument out; of an optional tensor, tl.when(x.given, () => { … })",
  ),
];

/** Specs, and what the build says. */
export const habitKernels: readonly (readonly [code: string, says: string])[] = [
  [
    'kernel("one", { params: { y: tensor.out(tl.float32, ["M"]), SLOTS: constexpr(), i: tensor(tl.int32, ["K"], { range: ({ SLOTS }: any) => [0, SLOTS - 1] }) }, config: { SLOTS: 4 }, grid: ({ M }) => [M] }, ({ y, i }) => tl.store(y.at(tl.load(i.at(0))), 0))',
    "`-` is JavaScript's and cannot compute with a traced value; write SLOTS.sub(1)",
  ],
  [
    'kernel("one", { params: { y: tensor.out(tl.float32, ["M"]), n: scalar(tl.int32, { range: ({ M }: any) => [1, M + 1] }) }, grid: ({ M }) => [M] }, ({ y, n }) => tl.store(y.at(n), 0))',
    "`+` is JavaScript's and cannot compute with a traced value; write M.add(1)",
  ],
  [
    'kernel("one", { params: { w: tensor(tl.float32, ["T", 2]), y: tensor.out(tl.float32, ["T"]) }, grid: ({ T }) => [T] }, ({ w, y }) => tl.store(y.at(0), tl.load(w.at(0, 2))))',
    "at: 2 is no index of axis 1; write a number from 0 to below 2",
  ],
  [
    'kernel("one", { params: { w: tensor(tl.float32, ["T", 2]), y: tensor.out(tl.float32, ["T"]) }, grid: ({ T }) => [T] }, ({ w, y }) => tl.store(y.at(0), tl.load(w.at(0, -1))))',
    "at: -1 is no index of axis 1; write a number from 0 to below 2",
  ],
  [
    'kernel("one", { params: { w: tensor(tl.float32, ["T", 2]), y: tensor.out(tl.float32, ["T"]) }, grid: ({ T }) => [T] }, ({ w, y }) => tl.store(y.at(0), tl.load(w.at(0, 3))))',
    "at: 3 is no index of axis 1; write a number from 0 to below 2",
  ],
  [
    'kernel("one", { params: { x: tensor(tl.float32, ["N"]), s: scalar(tl.float32), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1], reference: ({ x, s }: any) => x.mul(s.neg()) }, ({ x, y }) => tl.store(y.at(0), tl.load(x.at(0))))',
    "neg: a number of a reference has none; write x.mul(-1)",
  ],
  [
    'kernel("one", { params: { x: tensor(tl.float32, ["N"]), s: scalar(tl.float32), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1], reference: ({ x, s }: any) => x.mul(s.sqrt()) }, ({ x, y }) => tl.store(y.at(0), tl.load(x.at(0))))',
    "sqrt: a number of a reference has none; write x.pow(0.5)",
  ],
];
