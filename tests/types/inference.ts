/** What an author reads when hovering: each line compiles only where the type is exactly the one written. */
import {
  constexpr,
  kernel,
  libdevice,
  NDArray,
  op,
  pointer,
  scalar,
  tensor,
  tl,
  type ConstBool,
  type Constexpr,
  type Constexprs,
  type Dim,
  type Element,
  type Inputs,
  type Kernel,
  type LaunchOptions,
  type Mut,
  type MutPointer,
  type OneOf,
  type OptionalTorchTensor,
  type Outputs,
  type Pointer,
  type Scalar,
  type Shape,
  type Tensor,
  type Tile,
  type TorchScalar,
  type TorchTensor,
  type View,
} from "tilescript";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(...mismatch: Equal<A, B> extends true ? [] : ["these types differ"]): void {
  void mismatch;
}

const W = tl.dtype("W", [tl.float32, tl.float64]);
const D = tl.dtype("T", [tl.float16, tl.bfloat16]);
type T = OneOf<"T", ["float16", "bfloat16"]>;

// Helpers, generic over a shape, over a dimension, over a dtype.
const relu = <S extends Shape>(x: Tile<"float32", S>) => tl.maximum(x, 0);
const centered = <M extends Dim, N extends Dim>(x: Tile<"float32", [M, N]>) => x.sub(tl.sum(x, 1).col);
const outer = <M extends Dim, N extends Dim>(x: Tile<"int32", [M]>, y: Tile<"int32", [N]>) => x.col.mul(y.row);
const wide = <E extends Element, S extends Shape>(x: Tile<E, S>) => x.to(tl.float32);
const only = <E extends Element, S extends Shape>(mask: Tile<"int1", S>, x: Tile<E, S>) => tl.where(mask, x, x);

export const probe = kernel(
  "probe",
  {
    params: {
      a: tensor(tl.float16, ["M", "K"]),
      b: tensor(D, ["K", "N"]),
      q: tensor(D, ["Z", "H", "S", "HEAD"]),
      c: tensor.out(tl.float32, ["M", "N"]),
      p: pointer(tl.int8),
      CAUSAL: constexpr.bool(),
      ACTIVATION: constexpr.fn({ relu, same: <S extends Shape>(x: Tile<"float32", S>) => x }),
      HEAD: constexpr(),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    grid: ({ M, BLOCK_M }) => [tl.cdiv(M, BLOCK_M)],
    config: { BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32 },
  },
  ({ a, b, q, c, p, M, K, CAUSAL, ACTIVATION, HEAD, BLOCK_M, BLOCK_N, BLOCK_K }) => {
    same<typeof a, Tensor<"float16", ["M", "K"], "in">>();
    same<typeof M, Scalar<"int32">>();
    same<typeof CAUSAL, ConstBool<"CAUSAL">>();
    const wideTile = tl.zeros([BLOCK_M], W);
    const tangent = libdevice.tanh(wideTile);
    same<typeof tangent, Tile<OneOf<"W", ["float32", "float64"]>, ["BLOCK_M"]>>();
    const sign = libdevice.signbit(wideTile);
    same<typeof sign, Tile<"int32", ["BLOCK_M"]>>();
    const active = ACTIVATION(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    same<typeof active, Tile<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    const isRelu = ACTIVATION.eq("relu");
    same<typeof isRelu, ConstBool<"ACTIVATION == relu">>();
    same<typeof BLOCK_M, Constexpr<"BLOCK_M">>();

    // Constexprs keep their text, and it becomes a dimension.
    const half = BLOCK_M.floorDiv(2);
    same<typeof half, Constexpr<"BLOCK_M // 2">>();
    const blocks = tl.cdiv(M, BLOCK_M);
    same<typeof blocks, Scalar<"int32">>();
    const tiles = tl.cdiv(BLOCK_M, 16);
    same<typeof tiles, Constexpr<"cdiv(BLOCK_M, 16)">>();
    const narrow = tl.zeros([half, 8], D);
    same<typeof narrow, Tile<T, ["BLOCK_M // 2", 8]>>();

    const rm = tl.programId(0).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    same<typeof rm, Tile<"int32", ["BLOCK_M"]>>();
    const rn = tl.arange(0, BLOCK_N);
    const inside = rm.lt(M);
    same<typeof inside, Tile<"int1", ["BLOCK_M"]>>();
    const rk = tl.arange(0, BLOCK_K);
    const grid = rm.col.mul(BLOCK_K).add(rk.row);
    same<typeof grid, Tile<"int32", ["BLOCK_M", "BLOCK_K"]>>();

    // Views: a scalar drops its axis.
    const at = a.at(tl.inBounds(rm), rk);
    same<typeof at, View<"float16", ["BLOCK_M", "BLOCK_K"], "in">>();
    const x = tl.load(at);
    same<typeof x, Tile<"float16", ["BLOCK_M", "BLOCK_K"]>>();
    const y = tl.load(b.at(rk, rn));
    same<typeof y, Tile<T, ["BLOCK_K", "BLOCK_N"]>>();
    const head = tl.load(q.at(0, M, rm, tl.arange(0, HEAD)));
    same<typeof head, Tile<T, ["BLOCK_M", "HEAD"]>>();
    const turned = tl.load(a.at(rm, rk).T);
    same<typeof turned, Tile<"float16", ["BLOCK_K", "BLOCK_M"]>>();
    const row = tl.load(a.at(M, rk));
    same<typeof row, Tile<"float16", ["BLOCK_K"]>>();
    const picked = tl.load(a.gather(rm.col, rk.row));
    same<typeof picked, Tile<"float16", ["BLOCK_M", "BLOCK_K"]>>();

    // Raw pointers.
    const ptrs = p.add(rm.col.mul(K), rk.row);
    same<typeof ptrs, Pointer<"int8", ["BLOCK_M", "BLOCK_K"]>>();
    const bytes = tl.load(ptrs, { mask: rm.lt(M).col, other: 0 });
    same<typeof bytes, Tile<"int8", ["BLOCK_M", "BLOCK_K"]>>();
    const bumped = tl.mut(ptrs);
    same<typeof bumped, MutPointer<"int8", ["BLOCK_M", "BLOCK_K"]>>();

    // Promotion, products, reductions.
    const sum = x.add(bytes);
    same<typeof sum, Tile<"float16", ["BLOCK_M", "BLOCK_K"]>>();
    const f = tl.dot(x, y.to(tl.float16));
    same<typeof f, Tile<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    const ints = tl.dot(bytes, tl.trans(bytes));
    same<typeof ints, Tile<"int32", ["BLOCK_M", "BLOCK_M"]>>();
    const rows = tl.sum(f, 1);
    same<typeof rows, Tile<"float32", ["BLOCK_M"]>>();
    const kept = tl.sum(bytes, 0, { keepDims: true });
    same<typeof kept, Tile<"int32", [1, "BLOCK_K"]>>();
    const all = tl.max(f);
    same<typeof all, Scalar<"float32">>();
    const most = tl.max(y, 0);
    same<typeof most, Tile<"float32", ["BLOCK_N"]>>();
    const fraction = rm.div(3);
    same<typeof fraction, Tile<"float32", ["BLOCK_M"]>>();
    const chosen = tl.where(inside.col, f, 0);
    same<typeof chosen, Tile<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    const cast = f.to(D);
    same<typeof cast, Tile<T, ["BLOCK_M", "BLOCK_N"]>>();

    // State, loops, branches.
    const acc = tl.mut(f);
    same<typeof acc, Mut<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    same<typeof acc.value, Tile<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    for (const k of tl.range(0, K, BLOCK_K)) same<typeof k, Scalar<"int32">>();
    for (const k of tl.range(0, K.to(tl.int64))) same<typeof k, Scalar<"int64">>();
    for (const k of tl.range(K, { numStages: 3 })) same<typeof k, Scalar<"int32">>();
    for (const k of tl.range(0, K.to(tl.int64), { flatten: true })) same<typeof k, Scalar<"int64">>();
    const hi = tl.when(CAUSAL, () => M).otherwise(() => K);
    same<typeof hi, Scalar<"int32">>();

    const positive = relu(rows);
    same<typeof positive, Tile<"float32", ["BLOCK_M"]>>();
    const shifted = centered(f);
    same<typeof shifted, Tile<"float32", ["BLOCK_M", "BLOCK_N"]>>();
    const product = outer(rm, rn);
    same<typeof product, Tile<"int32", ["BLOCK_M", "BLOCK_N"]>>();
    const widened = wide(y);
    same<typeof widened, Tile<"float32", ["BLOCK_K", "BLOCK_N"]>>();
    const masked = only(inside, rm);
    same<typeof masked, Tile<"int32", ["BLOCK_M"]>>();

    tl.store(c.at(rm, rn), acc.value);
  },
);
same<(typeof probe)["name"], "probe">();
same<typeof probe extends Kernel<"probe", any> ? true : false, true>();

// What callers give and get.
const called = kernel(
  "called",
  {
    params: {
      a: tensor(W, ["M", "K"]),
      v: tensor(W, ["K"]),
      mask: tensor(tl.int1, ["M"]).optional(),
      n: tensor.inout(tl.int64, ["M"]),
      c: tensor.out(tl.float16, ["M"]),
      p: pointer(tl.int32),
      alpha: scalar(tl.float32),
      FLAG: constexpr.bool(),
      MODE: constexpr.string(["up", "down"]),
      OUT: constexpr.dtype([tl.float16, tl.float32]),
      BLOCK: constexpr(),
    },
    grid: ({ M }) => [M],
    config: { BLOCK: 16 },
  },
  () => {},
);
type Of<K> = K extends Kernel<any, infer P> ? P : never;
type Called = Of<typeof called>;
type Wide = "float32" | "float64";
same<Inputs<Called>["a"], NDArray<Wide>>();
same<Inputs<Called>["v"], NDArray<Wide> | Float32Array | Float64Array>();
same<Inputs<Called>["mask"], NDArray<"int1"> | null | undefined>();
same<Inputs<Called>["n"], NDArray<"int64"> | BigInt64Array>();
same<Inputs<Called>["p"], NDArray<"int32"> | Int32Array>();
same<Inputs<Called>["alpha"], number | undefined>();
same<keyof Inputs<Called>, "a" | "v" | "mask" | "n" | "p" | "alpha" | "M" | "K">();
same<Constexprs<Called>["FLAG"], boolean | undefined>();
same<Constexprs<Called>["MODE"], "up" | "down" | undefined>();
same<keyof Constexprs<Called>, "FLAG" | "MODE" | "OUT" | "BLOCK" | keyof LaunchOptions>();
same<Outputs<Called>, { readonly n: NDArray<"int64">; readonly c: NDArray<"float16">; readonly p: NDArray<"int32"> }>();
same<Outputs<Called>["n"]["data"], BigInt64Array>();
same<Outputs<Called>["c"]["data"], Float32Array>();

const half = NDArray.zeros([2], tl.float16);
same<typeof half, NDArray<"float16">>();
same<ReturnType<(typeof half)["t"]>, NDArray<"float16">>();
const floats = NDArray.of(new Float64Array(2));
same<typeof floats, NDArray<"float64">>();
const plain = NDArray.of([1, 2], [2]);
same<typeof plain, NDArray<"float32">>();

// What the functions of an operator get, and what a call of a kernel gives.
const operator = op(
  "operator",
  {
    params: {
      x: tensor(W, ["M", "N"]),
      mask: tensor(tl.int1, ["M"]).optional(),
      y: tensor.out(tl.float16, ["M"]),
      alpha: scalar(tl.float32),
    },
  },
  ({ x, mask, alpha, M }, torch) => {
    same<typeof x, TorchTensor>();
    same<typeof mask, OptionalTorchTensor>();
    same<typeof alpha, TorchScalar>();
    same<typeof M, TorchScalar>();
    const given = called.call({ a: x, v: torch.ones([4]), n: torch.zeros([4]), mask: null, alpha });
    same<typeof given, { readonly c: TorchTensor }>();
    return { y: given.c, kept: x.sum(0) };
  },
  (known, gradients) => {
    same<(typeof known)["kept"], TorchTensor>();
    same<keyof typeof known, "x" | "mask" | "alpha" | "M" | "N" | "y" | "kept">();
    same<keyof typeof gradients, "y">();
    return { x: gradients.y.mul(known.kept) };
  },
);
same<(typeof operator)["name"], "operator">();
same<keyof (typeof operator)["spec"]["params"], "x" | "mask" | "y" | "alpha">();
