/** Mistakes that the editor must refuse, one a pair: what an author wrote, and the nearest text that is right. */

import { operators } from "./mistakes-operators.js";

export interface Mistake {
  readonly title: string;
  readonly wrong: string;
  readonly right: string;
}
export interface Chapter {
  readonly title: string;
  /** `lines` stand in the setting's body; `kernels` are programs of their own. */
  readonly of: "lines" | "kernels";
  readonly mistakes: readonly Mistake[];
}

export const imports = `import { constexpr, kernel, libdevice, NDArray, op, pointer, scalar, tensor, tl, type Dim, type Tile } from "tilescript";`;

/** The kernel in whose body every line stands, up to that line. */
export const setting = `const T = tl.dtype("T", [tl.float16, tl.float32]);
const H = tl.dtype("H", [tl.float16, tl.bfloat16]);

kernel(
  "setting",
  {
    params: {
      a: tensor(tl.float16, ["M", "K"]),
      b: tensor(tl.float16, ["K", "N"]),
      c: tensor.out(tl.float16, ["M", "N"]),
      total: tensor.inout(tl.float32, ["M", "N"]),
      ids: tensor.inout(tl.int32, ["M"]),
      bytes: tensor(tl.uint8, ["M"]),
      t: tensor(T, ["M"]),
      h: tensor(H, ["M"]),
      p: pointer(tl.float32),
      scale: scalar(tl.float32),
      CAUSAL: constexpr.bool(),
      EPS: constexpr.float(),
      ACTIVATION: constexpr.string(["relu", "gelu"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    config: { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32 },
  },
  ({ a, b, c, total, ids, bytes, t, h, p, scale, M, K, CAUSAL, EPS, ACTIVATION, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    const rm = tl.arange(0, BLOCK_M);
    const rn = tl.arange(0, BLOCK_N);
    const rk = tl.arange(0, BLOCK_K);
    const x = tl.load(a.at(rm, rk)); // float16
    const y = tl.load(b.at(rk, rn)); // float16
    const f = tl.dot(x, y); // float32
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    const inside = rm.lt(M); // int1
    const u = tl.load(bytes.at(rm)); // uint8
    const v = tl.load(t.at(rm)); // T
    const w = tl.load(h.at(rm)); // H`;

/** Closes the setting. */
export const settingEnd = `  },
);

const softmax = kernel(
  "softmax",
  {
    params: {
      x: tensor(tl.float16, ["M", "N"]),
      scales: tensor(tl.float32, ["M"]),
      y: tensor.out(tl.float16, ["M", "N"]),
      alpha: scalar(tl.float32),
      CAUSAL: constexpr.bool(),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 64 },
  },
  () => {},
);
const x = NDArray.randn([4, 8], tl.float16);
const scales = new Float32Array(4);`;

const mistake = (title: string, wrong: string, right: string): Mistake => ({ title, wrong, right });
const lines = (title: string, mistakes: readonly Mistake[]): Chapter => ({ title, of: "lines", mistakes });

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
const nibbles = "tl.zeros([16, 16], tl.uint8)";
const same = '(v: Tile<"float16", [8]>) => v';
const half = '(v: Tile<"float16", [8]>) => v.to(tl.float32)';
const flag = 'x: tensor(tl.float32, ["N"]), FLAG: constexpr.bool()';
const both = 'x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr()';

export const chapters: readonly Chapter[] = [
  lines("Shapes", [
    mistake("a range to a run-time bound", "tl.arange(0, M);", "tl.arange(0, BLOCK_M);"),
    mistake("a range that is no power of two", "tl.arange(0, 48);", "tl.arange(0, 64);"),
    mistake(
      "a tile of a run-time size",
      "tl.zeros([M, BLOCK_N], tl.float32);",
      "tl.zeros([BLOCK_M, BLOCK_N], tl.float32);",
    ),
    mistake(
      "a tile whose size is no power of two",
      "tl.zeros([BLOCK_M, 100], tl.float32);",
      "tl.zeros([BLOCK_M, 128], tl.float32);",
    ),
    mistake("a tile of a run-time size, filled", "tl.full([K], 1, tl.float32);", "tl.full([BLOCK_K], 1, tl.float32);"),
    mistake("rows and columns that do not broadcast", "rm.add(rn);", "rm.col.add(rn.row);"),
    mistake("a reduced row that does not broadcast", "f.sub(tl.max(f, 1));", "f.sub(tl.max(f, 1).col);"),
    mistake(
      "one of several operands that does not broadcast",
      "rm.col.add(rn.row, rk);",
      "rm.col.add(rn.row, rm.col);",
    ),
    mistake("the column of a matrix", "f.col.add(1);", "tl.sum(f, 1).col.add(1);"),
    mistake("an axis that is not there", "tl.sum(f, 2);", "tl.sum(f, 1);"),
    mistake("the column of a tensor's row", "tl.load(a.at(0, rk).T);", "tl.load(a.at(0, rk)).col;"),
    mistake("a reduction of a scalar", "tl.sum(M, 0);", "tl.sum(rm, 0);"),
    mistake("an axis by name", 'tl.max(f, "rows");', "tl.max(f, 1);"),
    mistake("a new axis out of range", "f.expandDims(3);", "f.expandDims(2);"),
    mistake("the transpose of a vector", "tl.trans(rm);", "tl.trans(rm.col);"),
    mistake("dot: inner dimensions differ", "tl.dot(x, x);", "tl.dot(x, tl.trans(x));"),
    mistake(
      "dot: not transposed where it must be",
      "tl.dot(x, tl.load(b.at(rn, rk)));",
      "tl.dot(x, tl.load(b.at(rn, rk).T));",
    ),
    mistake("a zeros without a dtype", "tl.zeros([BLOCK_M]);", "tl.zeros([BLOCK_M], tl.int32);"),
    mistake("a zeros with a dtype as a string", 'tl.zeros([BLOCK_M], "float32");', "tl.zeros([BLOCK_M], tl.float32);"),
    mistake("the id of a fourth axis", "tl.programId(3);", "tl.programId(2);"),
    mistake("dot of vectors", "tl.dot(w, w);", "tl.sum(w.mul(w), 0);"),
    mistake(
      "dot: an accumulator of another shape",
      "tl.dot(x, y, tl.zeros([BLOCK_N, BLOCK_M], tl.float32));",
      "tl.dot(x, y, tl.zeros([BLOCK_M, BLOCK_N], tl.float32));",
    ),
  ]),
  lines("Dtypes", [
    mistake("exp of float16", "tl.exp(x);", "tl.exp(x.to(tl.float32));"),
    mistake("log of an integer", "tl.log(rm);", "tl.log(rm.to(tl.float32));"),
    mistake("exp of a dtype variable that may be float16", "tl.exp(v);", "tl.exp(v.to(tl.float32));"),
    mistake("a function that Triton does not have", "tl.tanh(f);", "tl.exp(f);"),
    mistake("dot: operands of two dtypes", "tl.dot(x, y.to(tl.bfloat16));", "tl.dot(x, y);"),
    mistake("dot of int32", "tl.dot(rm.col, rk.row);", "tl.dot(rm.col.to(tl.int8), rk.row.to(tl.int8));"),
    mistake(
      "dot: accumulating in float16",
      "tl.dot(x, y, tl.zeros([BLOCK_M, BLOCK_N], tl.float16));",
      "tl.dot(x, y, tl.zeros([BLOCK_M, BLOCK_N], tl.float32));",
    ),
    mistake(
      "dot: an option misspelt",
      'tl.dot(x, y, acc.value, { inputPrecision: "tf23" });',
      'tl.dot(x, y, acc.value, { inputPrecision: "ieee" });',
    ),
    mistake("a fraction on an integer tile", "rm.mul(0.5);", "rm.to(tl.float32).mul(0.5);"),
    mistake("a negative number on an unsigned tile", "u.add(-1);", "u.to(tl.int32).add(-1);"),
    mistake(
      "a fraction as an integer fill",
      "tl.full([BLOCK_M], 0.5, tl.int32);",
      "tl.full([BLOCK_M], 0.5, tl.float32);",
    ),
    mistake(
      "a float constexpr as an integer fill",
      "tl.full([BLOCK_M], EPS, tl.int32);",
      "tl.full([BLOCK_M], EPS, tl.float32);",
    ),
    mistake("arithmetic on a mask", "inside.add(1);", "inside.to(tl.int32).add(1);"),
    mistake("a sum of masks", "inside.add(inside);", "inside.and(inside);"),
    mistake("a dtype variable and float32", "v.add(scale);", "v.add(scale.to(T));"),
    mistake("two dtype variables", "v.mul(w);", "v.mul(w.to(T));"),
    mistake("floor division of floats", "f.floorDiv(2);", "f.div(2);"),
    mistake("division of signed by unsigned", "rm.div(u);", "rm.div(u.to(tl.int32));"),
    mistake("bits of floats", "f.and(1);", "f.to(tl.int32).and(1);"),
    mistake("not of a float", "f.not();", "f.gt(0).not();"),
    mistake("a mask and a number", "inside.and(1);", "inside.and(rm.ne(1));"),
    mistake("a float constexpr on an integer tile", "rm.add(EPS);", "rm.to(tl.float32).add(EPS);"),
    mistake("a flag on a tile", "rm.add(CAUSAL);", "rm.add(BLOCK_M);"),
    mistake("a string as an operand", 'rm.add("1");', "rm.add(1);"),
    mistake("no operand", "rm.add();", "rm.add(1);"),
    mistake("an address as an operand", "f.add(c.at(rm, rn));", "f.add(tl.load(total.at(rm, rn)));"),
    mistake("a tensor as an operand", "f.add(total);", "f.add(tl.load(total.at(rm, rn)));"),
    mistake("cdiv of floats", "tl.cdiv(scale, BLOCK_M);", "tl.cdiv(M, BLOCK_M);"),
    mistake("a dtype as a string", 'x.to("float32");', "x.to(tl.float32);"),
    mistake("a cast of integers to an 8-bit float", "rm.to(tl.float8e5);", "rm.to(tl.float32).to(tl.float8e5);"),
    mistake("arithmetic on an 8-bit float", "f.to(tl.float8e5).mul(2);", "f.mul(2).to(tl.float8e5);"),
    mistake("where: a condition that is no mask", "tl.where(rm, f, 0);", "tl.where(rm.ne(0).col, f, 0);"),
    mistake("where: shapes that do not broadcast", "tl.where(inside, f, 0);", "tl.where(inside.col, f, 0);"),
    mistake("where: two numbers", "tl.where(inside, 1, 0);", "tl.where(inside, rm, 0);"),
    mistake("where: a dtype variable and float32", "tl.where(inside, v, scale);", "tl.where(inside, v, scale.to(T));"),
  ]),
  lines("Memory", [
    mistake("too few indices", "a.at(rm);", "a.at(rm, 0);"),
    mistake("too many indices", "a.at(rm, rk, 0);", "a.at(rm, rk);"),
    mistake("a float as an index", "a.at(scale, rk);", "a.at(M, rk);"),
    mistake("a fraction as an index", "a.at(0.5, rk);", "a.at(0, rk);"),
    mistake("a matrix as an index", "a.at(rm.col, rk.row);", "a.gather(rm.col, rk.row);"),
    mistake("gather: index tiles that do not broadcast", "a.gather(rm, rk);", "a.gather(rm.col, rk.row);"),
    mistake("in bounds: not an index", "tl.inBounds(scale);", "tl.inBounds(M);"),
    mistake("a load of a whole tensor", "tl.load(a);", "tl.load(a.at(rm, rk));"),
    mistake("a load of a tile", "tl.load(x);", "tl.load(a.at(rm, rk));"),
    mistake("a load of state", "tl.load(acc);", "tl.load(total.at(rm, rn));"),
    mistake(
      "a mask of another shape",
      "tl.load(a.at(rm, rk), { mask: rn.lt(K).row });",
      "tl.load(a.at(rm, rk), { mask: rk.lt(K).row });",
    ),
    mistake(
      "a mask of rank 1 that does not fit",
      "tl.load(a.at(rm, rk), { mask: inside });",
      "tl.load(a.at(rm, rk), { mask: inside.col });",
    ),
    mistake(
      "a mask that would make the tile grow",
      "tl.load(p.add(rm), { mask: f.gt(0) });",
      "tl.load(p.add(rm), { mask: tl.sum(f, 1).gt(0) });",
    ),
    mistake("a mask of integers", "tl.load(p.add(rm), { mask: rm });", "tl.load(p.add(rm), { mask: rm.ne(0) });"),
    mistake(
      "other without a mask",
      "tl.load(p.add(rm), { other: 0 });",
      "tl.load(p.add(rm), { mask: inside, other: 0 });",
    ),
    mistake(
      "other of another dtype",
      "tl.load(a.at(rm, rk), { other: scale });",
      "tl.load(a.at(rm, rk), { other: scale.to(tl.float16) });",
    ),
    mistake(
      "an option misspelt",
      'tl.load(a.at(rm, rk), { evictionPolcy: "evict_first" });',
      'tl.load(a.at(rm, rk), { evictionPolicy: "evict_first" });',
    ),
    mistake(
      "a cache modifier of stores",
      'tl.load(a.at(rm, rk), { cacheModifier: ".wb" });',
      'tl.load(a.at(rm, rk), { cacheModifier: ".cg" });',
    ),
    mistake("float32 into float16", "tl.store(c.at(rm, rn), f);", "tl.store(c.at(rm, rn), f.to(tl.float16));"),
    mistake("float32 into a dtype variable", "tl.store(p.add(rm), v);", "tl.store(p.add(rm), v.to(tl.float32));"),
    mistake(
      "a value of another shape",
      "tl.store(c.at(rn, rm), f.to(tl.float16));",
      "tl.store(c.at(rn, rm), tl.trans(f.to(tl.float16)));",
    ),
    mistake(
      "a row into a rectangle",
      "tl.store(total.at(rm, rn), tl.sum(f, 1));",
      "tl.store(total.at(rm, rn), tl.sum(f, 1).col);",
    ),
    mistake("a store to an input", "tl.store(a.at(rm, rk), x);", "tl.store(c.at(rm, rk), x);"),
    mistake("a store to a tile", "tl.store(f, f);", "tl.store(total.at(rm, rn), f);"),
    mistake("a tile into one element", "tl.store(p, f);", "tl.store(p, tl.max(tl.max(f, 1), 0));"),
    mistake("a fraction into integers", "tl.store(ids.at(rm), 0.5);", "tl.store(ids.at(rm), 1);"),
    mistake("a store of nothing", "tl.store(total.at(rm, rn));", "tl.store(total.at(rm, rn), 0);"),
    mistake("a store of state", "tl.store(total.at(rm, rn), acc);", "tl.store(total.at(rm, rn), acc.value);"),
    mistake(
      "a mask of a store of another shape",
      "tl.store(total.at(rm, rn), f, { mask: rk.lt(K).row });",
      "tl.store(total.at(rm, rn), f, { mask: inside.col });",
    ),
    mistake("a pointer plus a pointer", "p.add(p);", "p.add(rm);"),
    mistake("a pointer plus floats", "p.add(scale);", "p.add(M);"),
    mistake("offsets that do not broadcast", "p.add(rm, rn);", "p.add(rm.col, rn.row);"),
    mistake("the stride of an axis that is not there", "a.stride(2);", "a.stride(1);"),
  ]),
  lines("State, loops and branches", [
    mistake("state of a number", "tl.mut(0);", "tl.mut(tl.full([], 0, tl.int32));"),
    mistake("state of state", "tl.mut(acc);", "tl.mut(acc.value);"),
    mistake("state used without its value", "tl.exp(acc);", "tl.exp(acc.value);"),
    mistake("state as an operand", "f.add(acc);", "f.add(acc.value);"),
    mistake("a method of state", "acc.add(1);", "acc.value.add(1);"),
    mistake(
      "a carried value whose dtype changes",
      "acc.value = acc.value.to(tl.float16);",
      "acc.value = acc.value.mul(2);",
    ),
    mistake(
      "a carried value whose shape changes",
      "acc.value = tl.sum(acc.value, 1);",
      "acc.value = acc.value.sub(tl.sum(acc.value, 1).col);",
    ),
    mistake("assignment to state itself", "acc = f;", "acc.value = f;"),
    mistake("a carried pointer to another dtype", "tl.mut(p).value = a.ptr;", "tl.mut(p).value = p.add(1);"),
    mistake("a branch on a tile", "tl.when(inside, () => {});", "tl.when(M.gt(0), () => {});"),
    mistake("a branch on an integer", "tl.when(M, () => {});", "tl.when(M.ne(0), () => {});"),
    mistake("a branch on a JavaScript boolean", "tl.when(true, () => {});", "tl.when(CAUSAL, () => {});"),
    mistake(
      "arms of two dtypes",
      "tl.when(CAUSAL, () => f).otherwise(() => f.to(tl.float16));",
      "tl.when(CAUSAL, () => f).otherwise(() => f.mul(2));",
    ),
    mistake(
      "an unknown choice",
      'tl.when(ACTIVATION.eq("rleu"), () => {});',
      'tl.when(ACTIVATION.eq("relu"), () => {});',
    ),
    mistake(
      "a loop whose condition is asked once",
      "tl.whileLoop(true, () => {});",
      "tl.whileLoop(() => tl.sum(tl.sum(acc.value, 1), 0).gt(1), () => {});",
    ),
    mistake(
      "a loop whose condition never changes",
      "tl.whileLoop(() => CAUSAL, () => {});",
      "tl.whileLoop(() => M.gt(0), () => {});",
    ),
    mistake(
      "a loop that does not move",
      "for (const k of tl.range(0, K, 0)) k;",
      "for (const k of tl.range(K, -1, -1)) k;",
    ),
    mistake(
      "an unknown option of a loop",
      "for (const k of tl.range(0, K, 1, { stages: 2 })) k;",
      "for (const k of tl.range(0, K, 1, { numStages: 2 })) k;",
    ),
    mistake(
      "a fold without an axis",
      "tl.reduce(f, undefined, (x, y) => x.add(y));",
      "tl.reduce(f, 1, (x, y) => x.add(y));",
    ),
    mistake(
      "a fold that gives another dtype",
      "tl.reduce(f, 0, (x, y) => x.add(y).to(tl.float16));",
      "tl.reduce(f, 0, (x, y) => tl.maximum(x, y));",
    ),
    mistake(
      "a scan of tiles of two shapes",
      "tl.associativeScan([f, rm], 0, (l, r) => l);",
      "tl.associativeScan([f, f], 0, ([x, i], [y, j]) => [x.add(y), i.add(j)]);",
    ),
    mistake(
      "a helper function called with another shape",
      'tl.fn((v: Tile<"float32", ["BLOCK_M"]>) => v)(f);',
      'tl.fn((v: Tile<"float32", ["BLOCK_M", "BLOCK_N"]>) => v)(f);',
    ),
    mistake("a loop to a float", "for (const k of tl.range(0, scale)) k;", "for (const k of tl.range(0, K)) k;"),
    mistake("a loop by a fraction", "for (const k of tl.range(0, K, 0.5)) k;", "for (const k of tl.range(0, K, 2)) k;"),
    mistake("a loop to a tile", "for (const k of tl.range(0, rm)) k;", "for (const k of tl.range(0, BLOCK_M)) k;"),
    mistake(
      "an unrolled loop to a run-time bound",
      "for (const k of tl.staticRange(0, K)) k;",
      "for (const k of tl.staticRange(0, BLOCK_K)) k;",
    ),
    mistake("a JavaScript if", "if (inside) tl.store(p, 1);", "tl.store(p.add(rm), 1, { mask: inside });"),
    mistake("a JavaScript if on a scalar", "if (M.gt(0)) tl.store(p, 1);", "tl.when(M.gt(0), () => tl.store(p, 1));"),
    mistake("a JavaScript if on a flag", "if (CAUSAL) tl.store(p, 1);", "tl.when(CAUSAL, () => tl.store(p, 1));"),
    mistake("a JavaScript &&", "const both = inside && rm.gt(0);", "const both = inside.and(rm.gt(0));"),
    mistake("a JavaScript ?:", "const z = inside ? 1 : 2;", "const z = tl.where(inside, rm, 2);"),
    mistake("a JavaScript +", "const z = rm + 1;", "const z = rm.add(1);"),
    mistake("a JavaScript *", "const z = f * 2;", "const z = f.mul(2);"),
    mistake("a JavaScript <", "const z = rm < M;", "const z = rm.lt(M);"),
    mistake("a JavaScript ===", "const z = rm === 1;", "const z = rm.eq(1);"),
    mistake("an index", "const z = rm[0];", "const z = tl.sum(rm, 0);"),
  ]),
  lines("Tensor descriptors", [
    mistake(
      "a block of another rank",
      "tl.makeTensorDescriptor(a, [BLOCK_M]);",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]);",
    ),
    mistake(
      "a block of a run-time size",
      "tl.makeTensorDescriptor(a, [M, BLOCK_K]);",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]);",
    ),
    mistake(
      "a descriptor of a pointer alone",
      "tl.makeTensorDescriptor(a.ptr, [BLOCK_M, BLOCK_K]);",
      "tl.makeTensorDescriptor(a.ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K]);",
    ),
    mistake(
      "a last stride that is not 1",
      "tl.makeTensorDescriptor(a.ptr, [M, K], [1, M], [BLOCK_M, BLOCK_K]);",
      "tl.makeTensorDescriptor(a.ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K]);",
    ),
    mistake(
      "integers padded with NaN",
      'tl.makeTensorDescriptor(ids, [BLOCK_M], { paddingOption: "nan" });',
      'tl.makeTensorDescriptor(h, [BLOCK_M], { paddingOption: "nan" });',
    ),
    mistake(
      "an offset too few",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([0]);",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([0, 0]);",
    ),
    mistake(
      "a range as an offset",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([rm, 0]);",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([M, 0]);",
    ),
    mistake(
      "a wide offset",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([M.to(tl.int64), 0]);",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).load([M, 0]);",
    ),
    mistake(
      "a store of another dtype through a descriptor",
      "tl.makeTensorDescriptor(c, [BLOCK_M, BLOCK_N]).store([0, 0], f);",
      "tl.makeTensorDescriptor(c, [BLOCK_M, BLOCK_N]).store([0, 0], f.to(tl.float16));",
    ),
    mistake(
      "a store of another shape through a descriptor",
      "tl.makeTensorDescriptor(total, [BLOCK_N, BLOCK_M]).store([0, 0], f);",
      "tl.makeTensorDescriptor(total, [BLOCK_M, BLOCK_N]).store([0, 0], f);",
    ),
    mistake(
      "a number stored through a descriptor",
      "tl.makeTensorDescriptor(total, [BLOCK_M, BLOCK_N]).store([0, 0], 1);",
      "tl.makeTensorDescriptor(total, [BLOCK_M, BLOCK_N]).store([0, 0], tl.full([BLOCK_M, BLOCK_N], 1, tl.float32));",
    ),
    mistake(
      "a store to an input through a descriptor",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).store([0, 0], x);",
      "tl.makeTensorDescriptor(c, [BLOCK_M, BLOCK_K]).store([0, 0], x);",
    ),
    mistake(
      "tl.load of a descriptor",
      "tl.load(tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]));",
      "tl.loadTensorDescriptor(tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]), [0, 0]);",
    ),
    mistake(
      "rows through a descriptor of wide blocks",
      "tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K]).gather(rm, 0);",
      "tl.makeTensorDescriptor(a, [1, BLOCK_K]).gather(rm, 0);",
    ),
    mistake(
      "the greater of float32 through a descriptor",
      "tl.makeTensorDescriptor(total, [BLOCK_M, BLOCK_N]).atomicMax([0, 0], f);",
      "tl.makeTensorDescriptor(total, [BLOCK_M, BLOCK_N]).atomicAdd([0, 0], f);",
    ),
  ]),
  lines("Atomics", [
    mistake("an atomic on an input", "tl.atomicAdd(bytes.ptr.add(rm), 1);", "tl.atomicAdd(ids.ptr.add(rm), 1);"),
    mistake("an atomic on a tile", "tl.atomicAdd(f, 1);", "tl.atomicAdd(total.at(rm, rn), f);"),
    mistake("an atomic maximum of halves", "tl.atomicMax(c.at(rm, rn), 1);", "tl.atomicMax(total.at(rm, rn), 1);"),
    mistake("bits of a float", "tl.atomicOr(total.at(rm, rn), 1);", "tl.atomicOr(ids.at(rm), 1);"),
    mistake("a sum of another dtype", "tl.atomicAdd(ids.at(rm), rm.to(tl.int64));", "tl.atomicAdd(ids.at(rm), rm);"),
    mistake("a fraction added to integers", "tl.atomicAdd(ids.at(rm), 0.5);", "tl.atomicAdd(total.at(rm, rn), 0.5);"),
    mistake(
      "an atomic's mask of lower rank",
      "tl.atomicAdd(total.at(rm, rn), f, { mask: rn.lt(3) });",
      "tl.atomicAdd(total.at(rm, rn), f, { mask: rn.lt(3).row });",
    ),
    mistake(
      "an atomic's mask that is known",
      "tl.atomicAdd(ids.at(rm), 1, { mask: true });",
      "tl.atomicAdd(ids.at(rm), 1, { mask: inside });",
    ),
    mistake(
      "a number in a compare-and-swap of a tile",
      "tl.atomicCas(ids.ptr.add(rm), rm, 1);",
      "tl.atomicCas(ids.ptr.add(rm), rm, tl.full([BLOCK_M], 1, tl.int32));",
    ),
    mistake(
      "a compare-and-swap with another shape",
      "tl.atomicCas(ids.ptr.add(rm), rm, rn);",
      "tl.atomicCas(ids.ptr.add(rm), rm, rm);",
    ),
    mistake(
      "an atomic load that releases",
      'tl.atomicLoad(ids.ptr, { sem: "release" });',
      'tl.atomicLoad(ids.ptr, { sem: "acquire" });',
    ),
  ]),
  {
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
      mistake(
        "a launch option in snake case",
        tuned("{ BLOCK: 64, num_warps: 4 }"),
        tuned("{ BLOCK: 64, numWarps: 4 }"),
      ),
      mistake(
        "a number of warps that is no power of two",
        tuned("{ BLOCK: 64, numWarps: 3 }"),
        tuned("{ BLOCK: 64, numWarps: 4 }"),
      ),
      mistake(
        "a key that names nothing",
        one('grid: () => [1], autotune: { key: ["Q"], configs: [{ BLOCK: 64 }] }'),
        one('grid: () => [1], autotune: { key: ["N"], configs: [{ BLOCK: 64 }] }'),
      ),
      mistake(
        "an input that trials reset",
        tuned("{ BLOCK: 64 }", ', resetToZero: ["x"]', both),
        tuned("{ BLOCK: 64 }", ', resetToZero: ["y"]', both),
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
        "an unknown argument that is not specialised",
        one('grid: () => [1], doNotSpecialize: ["M"]'),
        one('grid: () => [1], doNotSpecialize: ["N"]'),
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
        "an output that may be left out",
        one("grid: () => [1]", undefined, 'x: tensor.out(tl.float32, ["N"]).optional()'),
        one("grid: () => [1]", undefined, 'x: tensor(tl.float32, ["N"]).optional()'),
      ),
      mistake(
        "whether a tensor that is always there was given",
        one("grid: () => [1]", "({ x }) => { tl.when(x.given, () => {}); }", 'x: tensor(tl.float32, ["N"])'),
        one("grid: () => [1]", "({ x }) => { tl.when(x.given, () => {}); }", 'x: tensor(tl.float32, ["N"]).optional()'),
      ),
      mistake(
        "a range of an output",
        one("grid: () => [1]", undefined, 'x: tensor.out(tl.int32, ["N"], { range: [0, "N"] })'),
        one("grid: () => [1]", undefined, 'x: tensor(tl.int32, ["N"], { range: [0, "N"] })'),
      ),
    ],
  },
  {
    title: "Calls",
    of: "kernels",
    mistakes: [
      mistake("an input that is missing", "void softmax.evaluate({ x });", "void softmax.evaluate({ x, scales });"),
      mistake(
        "an input of another dtype",
        "void softmax.evaluate({ x: NDArray.randn([4, 8]), scales });",
        "void softmax.evaluate({ x: NDArray.randn([4, 8], tl.float16), scales });",
      ),
      mistake(
        "a typed array of another dtype",
        "void softmax.evaluate({ x, scales: new Float64Array(4) });",
        "void softmax.evaluate({ x, scales: new Float32Array(4) });",
      ),
      mistake(
        "an output among the inputs",
        "void softmax.run({ x, scales, y: x });",
        "void softmax.run({ x, scales });",
      ),
      mistake(
        "a constexpr among the inputs",
        "void softmax.check({ x, scales, BLOCK: 32 });",
        "void softmax.check({ x, scales }, { BLOCK: 32 });",
      ),
      mistake(
        "a constexpr that the kernel does not have",
        "void softmax.check({ x, scales }, { BLOCKS: 32 });",
        "void softmax.check({ x, scales }, { BLOCK: 32 });",
      ),
      mistake(
        "a flag that is a number",
        "void softmax.check({ x, scales }, { CAUSAL: 1 });",
        "void softmax.check({ x, scales }, { CAUSAL: true });",
      ),
      mistake(
        "a device that there is not",
        'void softmax.run({ x, scales }, { device: "gpu" });',
        'void softmax.run({ x, scales }, { device: "cuda" });',
      ),
      mistake(
        "an output that the kernel does not have",
        "void softmax.run({ x, scales }).then(({ outputs }) => outputs.z);",
        "void softmax.run({ x, scales }).then(({ outputs }) => outputs.y);",
      ),
      mistake(
        "an array of a dtype variable",
        'void NDArray.zeros([4], tl.dtype("T", [tl.float16, tl.float32]));',
        "void NDArray.zeros([4], tl.float16);",
      ),
    ],
  },
  operators,
];

/** What the checker has no way to see, or no words for: the build refuses these. A line here that fails is good news. */
export const unseen: readonly Mistake[] = [
  mistake("a JavaScript ||", "const either = inside || rm.gt(0);", "const either = inside.or(rm.gt(0));"),
  mistake("a JavaScript !", "const not = !inside;", "const not = inside.not();"),
  mistake("a JavaScript while", "while (M.gt(0)) break;", "for (const k of tl.range(0, M)) k;"),
  mistake(
    "a JavaScript if whose body uses the condition",
    "if (inside) tl.store(p.add(rm), inside.to(tl.float32));",
    "tl.store(p.add(rm), 1, { mask: inside });",
  ),
  mistake("a comparison of two tiles by identity", "const same = rm === rm.add(0);", "const same = rm.eq(rm.add(0));"),
  mistake("a tile in a template", "const text = `${f}`;", 'const text = "f";'),
  mistake("a fraction carried in integers", "tl.mut(rm).value = 0.5;", "tl.mut(rm.to(tl.float32)).value = 0.5;"),
  mistake("a number that its dtype cannot hold", "u.add(300);", "u.to(tl.int32).add(300);"),
  mistake("a range that starts below 0", "tl.arange(-4, 4);", "tl.arange(0, 8).sub(4);"),
  mistake("two numbers that span no power of two", "tl.arange(8, 56);", "tl.arange(8, 72);"),
  mistake("a tile of too many elements", "tl.zeros([2048, 1024], tl.int8);", "tl.zeros([1024, 1024], tl.int8);"),
];
