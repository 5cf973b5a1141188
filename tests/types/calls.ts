/** Calls of every op by family, on operands of their own dimensions, for measuring what they cost the checker. */

/** Calls on the operands that {@link program} declares under the suffix `n`. */
export const families: Readonly<Record<string, (n: string) => readonly string[]>> = {
  create: (n) => [
    `tl.arange(0, M${n})`,
    `tl.zeros([M${n}, N${n}], tl.float32)`,
    `tl.full([M${n}], 1, tl.int32)`,
    `tl.zerosLike(z${n})`,
    `tl.programId(0)`,
    `tl.numPrograms(0)`,
  ],
  arithmetic: (n) => [
    ...["add", "sub", "mul", "div", "mod"].map((op) => `z${n}.${op}(z${n})`),
    `z${n}.add(1)`,
    `z${n}.add(v${n}.col)`,
    `v${n}.col.add(z${n}, 1)`,
    `z${n}.neg()`,
    `i${n}.floorDiv(i${n})`,
    `tl.cdiv(i${n}, 4)`,
    `M${n}.mul(2).add(N${n})`,
  ],
  bits: (n) => [
    ...["shl", "shr", "and", "or", "xor"].map((op) => `i${n}.${op}(i${n})`),
    `i${n}.not()`,
    `m${n}.logicalAnd(m${n})`,
    `m${n}.logicalOr(m${n})`,
    `tl.umulhi(i${n}, i${n})`,
  ],
  compare: (n) => [...["lt", "le", "gt", "ge", "eq", "ne"].map((op) => `z${n}.${op}(z${n})`), `v${n}.lt(0)`],
  math: (n) => [
    ..."exp exp2 log log2 sin cos sqrt rsqrt erf floor ceil sigmoid sqrtRn abs softmax"
      .split(" ")
      .map((op) => `tl.${op}(z${n})`),
    ...["fdiv", "divRn", "minimum", "maximum"].map((op) => `tl.${op}(z${n}, z${n})`),
    `tl.fma(z${n}, z${n}, 1)`,
    `tl.clamp(z${n}, 0, 1)`,
    `tl.where(m${n}, z${n}, 0)`,
  ],
  cast: (n) => [`z${n}.to(tl.float16)`, `tl.cast(z${n}, tl.int32)`, `z${n}.to(tl.int32, { bitcast: true })`],
  shape: (n) => [
    `tl.trans(z${n})`,
    `tl.permute(z${n}, [1, 0])`,
    `tl.ravel(w${n})`,
    `tl.reshape(w${n}, [4, 16])`,
    `tl.view(w${n}, [64])`,
    `tl.expandDims(v${n}, 1)`,
    `tl.unsqueeze(v${n}, 0)`,
    `tl.squeeze(v${n}.col, 1)`,
    `tl.broadcastTo(v${n}.col, [M${n}, N${n}])`,
    `tl.broadcast(v${n}.col, z${n})`,
    `tl.item(tl.full([1], 0, tl.float32))`,
  ],
  join: (n) => [
    ...["join", "interleave", "cat"].map((op) => `tl.${op}(w${n}, w${n})`),
    `tl.split(tl.join(v${n}, v${n}))`,
    `tl.flip(z${n})`,
    `tl.gather(w${n}, tl.full([8, 4], 0, tl.int32), 1)`,
    `tl.swizzle2d(i${n}, i${n}, 4, 4, 2)`,
  ],
  reduce: (n) => [
    ..."sum max min argmax argmin cumsum cumprod".split(" ").map((op) => `tl.${op}(z${n}, 1)`),
    `tl.xorSum(i${n}, 0)`,
    `tl.reduceOr(i${n}, 0)`,
    `tl.max(z${n}, 1, { returnIndices: true })`,
    `tl.reduce(z${n}, 1, (a, b) => a.add(b))`,
    `tl.associativeScan(z${n}, 1, (a, b) => a.add(b))`,
    `tl.mapElementwise((a) => a.add(1), z${n})`,
    ...["sort", "bitonicMerge"].map((op) => `tl.${op}(w${n})`),
    `tl.topk(w${n}, 2)`,
    `tl.histogram(i${n}, 8)`,
  ],
  dot: (n) => [`tl.dot(x${n}, y${n}, z${n})`, `tl.dotScaled(s${n}, e${n}, "e4m3", r${n}, e${n}, "e4m3")`],
  memory: (n) => [
    `tl.load(t.at(i${n}, j${n}))`,
    `tl.load(p.add(i${n}), { mask: i${n}.lt(8), other: 0 })`,
    `tl.store(t.at(i${n}, j${n}), z${n})`,
    `tl.load(t.at(tl.inBounds(i${n}), j${n}))`,
  ],
  atomic: (n) => [
    ...["Add", "Max", "Min"].map((op) => `tl.atomic${op}(t.at(i${n}, j${n}), z${n})`),
    ...["And", "Or", "Xor", "Xchg"].map((op) => `tl.atomic${op}(q.add(i${n}), i${n})`),
    `tl.atomicCas(q.add(i${n}), i${n}, i${n})`,
  ],
  random: (n) => [
    ..."rand randn randint rand4x randn4x randint4x".split(" ").map((op) => `tl.${op}(7, i${n})`),
    `tl.philox(7, i${n}, i${n}, i${n}, i${n})`,
    `tl.uintToUniformFloat(i${n})`,
    `tl.pairUniformToNormal(v${n}, v${n})`,
  ],
  hints: (n) => [
    ...["multipleOf", "maxContiguous", "maxConstancy"].map((op) => `tl.${op}(i${n}, 8)`),
    `tl.assume(i0.lt(8).sum(0).gt(0))`,
    `tl.deviceAssert(m${n}, "no")`,
    `tl.devicePrint("x", z${n})`,
    `tl.expectZero(z${n}, m${n})`,
  ],
  libdevice: (n) => [
    ..."sin asin erfinv j0 cbrt".split(" ").map((op) => `libdevice.${op}(z${n})`),
    `libdevice.pow(z${n}, z${n})`,
    `libdevice.fma(z${n}, z${n}, z${n})`,
  ],
  control: (n) => [`tl.mut(z${n}).value = z${n}`, `for (const k of tl.range(0, K${n}, M${n})) k`],
};

/**
 * A program that makes these calls on `count` sets of operands, each of its own dimensions: tiles `x` [M, K], `y` [K, N],
 * `z` [M, N], `v` [M], `w` [8, 8], a mask `m` of `z`, integers `i` [M] and `j` [N], …
 */
export function program(calls: (n: string) => readonly string[], count: number): string {
  const names = Array.from({ length: count }, (_, i) => String(i));
  const declare = (n: string) => {
    const dims = ["M", "N", "K"].map((name) => `declare const ${name}${n}: Constexpr<"${name}${n}">;`);
    const tile = (name: string, dtype: string, ...shape: readonly string[]) =>
      `declare const ${name}${n}: Tile<"${dtype}", [${shape.map((dim) => (/\d/.test(dim) ? dim : `"${dim}${n}"`)).join(", ")}]>;`;
    return [
      ...dims,
      tile("x", "float16", "M", "K"),
      tile("y", "float16", "K", "N"),
      tile("z", "float32", "M", "N"),
      tile("m", "int1", "M", "N"),
      tile("v", "float32", "M"),
      tile("w", "float32", "8", "8"),
      tile("i", "int32", "M"),
      tile("j", "int32", "N"),
      tile("s", "float8e4nv", "32", "64"),
      tile("r", "float8e4nv", "64", "32"),
      tile("e", "uint8", "32", "2"),
    ].join("\n");
  };
  return [
    `import { libdevice, tl, type Constexpr, type Pointer, type Tensor, type Tile } from "tilescript";`,
    `declare const t: Tensor<"float32", ["A", "B"], "inout">;`,
    `declare const p: Pointer<"float32", []>;`,
    `declare const q: Pointer<"int32", [], "inout">;`,
    ...names.map(declare),
    ...names.flatMap(calls).map((call) => `${call};`),
    "export {};",
  ].join("\n");
}
