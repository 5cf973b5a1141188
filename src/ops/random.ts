/** Counter-based random numbers. The results are the same on the GPU and in the evaluator. */
import {
  broadcastShapes,
  broadcastTo,
  fromNumbers,
  sizeOf,
  type TileArray,
  tileArray,
  cast,
} from "../numerics/array.js";
import { type BigData, isBig, type NumberData } from "../numerics/numeric-int.js";
import { normals, philox32, philox64, uniform32, uniform64, type Words } from "../numerics/random.js";
import { allocateUninitialized } from "../numerics/buffer-pool.js";
import type { Validate } from "../types/rule-error.js";
import {
  inferNormals,
  inferPhilox,
  inferRandom,
  inferUniform,
  type NormalPair,
  type PhiloxOut,
  type Quad,
  type WhyCounter,
  type WhyOffsets,
  type WhySeed,
  type WhyUniform,
  type WhyUniformPair,
  type WhyWords,
} from "../rules/elementwise-rules.js";
import { defineOp } from "./define.js";
import { tileOf } from "../values/operands.js";
import type { ShapeOf } from "../rules/math-rules.js";
import type { Tile } from "../types/tile.js";
import type { RuntimeArguments } from "../ir/op.js";
import { Message } from "../diagnostics/message.js";

type Args = RuntimeArguments<typeof operands>;
type Kind = "float32" | "uint32";

const ROUNDS = 10;

const operands = { seed: "value", offset: "tile", nRounds: "constant?" } as const;
const tuple = (type: ReturnType<typeof inferRandom>) => (type instanceof Message ? type : [type, type, type, type]);

/** Computes the four Philox output words of each offset. */
function randomWords({ seed, offset, nRounds = ROUNDS }: Args): Four<Uint32Array> {
  const key = cast(tileOf(seed, "int64"), "uint64").data[0] as bigint;
  const [k0, k1] = [Number(key & 0xffffffffn), Number(key >> 32n)];
  const tile = offset;
  const wide = isBig(tile.dtype);
  const { length } = tile.data;
  const low = wide ? wordsAt(tile.data as BigData, 0n) : (tile.data as NumberData);
  const high = wide ? wordsAt(tile.data as BigData, 32n) : undefined;
  const allocateWords = () => allocateUninitialized(Uint32Array, length);
  const words: Four<Uint32Array> = [allocateWords(), allocateWords(), allocateWords(), allocateWords()];
  const [a, b, c, d] = words;
  const rounds = Number(nRounds);
  low.forEach((word, i) => {
    const counters: Words<number> = [word, high?.[i] ?? 0, 0, 0];
    philox32(counters, k0, k1, rounds);
    a[i] = counters[0];
    b[i] = counters[1];
    c[i] = counters[2];
    d[i] = counters[3];
  });
  return words;
}

type Four<T> = readonly [T, T, T, T];

/** The 32 bits of each value that start at bit `shift`. */
const wordsAt = (data: BigData, shift: bigint): Uint32Array =>
  Uint32Array.from(data as ArrayLike<bigint>, (value) => Number(BigInt.asUintN(32, value >> shift)));

const toTile = ({ shape, poison }: TileArray, dtype: Kind, data: Uint32Array | Float32Array) => {
  return tileArray(dtype, shape, data, poison);
};

/** Generators of four tiles for each distribution. */
const generators = {
  int: randomWords,
  uniform: (args: Args): Four<Float32Array> => {
    const [a, b, c, d] = randomWords(args);
    const toUniform = (words: Uint32Array) => Float32Array.from(words, uniform32);
    return [toUniform(a), toUniform(b), toUniform(c), toUniform(d)];
  },
  normal: (args: Args): Four<Float32Array> => {
    const [a, b, c, d] = generators.uniform(args);
    return [...normalPair(a, b), ...normalPair(c, d)];
  },
};

/** Converts two lists of uniform numbers to two of normal ones. */
function normalPair(u1: Float32Array, u2: Float32Array): readonly [Float32Array, Float32Array] {
  const [first, second] = [new Float32Array(u1.length), new Float32Array(u1.length)];
  u1.forEach((u, i) => ([first[i], second[i]] = normals(u, u2[i]!)));
  return [first, second];
}

type One<Name extends string, E extends Kind> = <const S, X>(
  seed: Validate<S, WhySeed<Name, S>>,
  offset: Validate<X, WhyOffsets<Name, X>>,
  nRounds?: number,
) => Tile<E, ShapeOf<X>>;
type FourTiles<Name extends string, E extends Kind> = <const S, X>(
  seed: Validate<S, WhySeed<Name, S>>,
  offset: Validate<X, WhyOffsets<Name, X>>,
  nRounds?: number,
) => Quad<Tile<E, ShapeOf<X>>>;

function defineOne<Name extends string, E extends Kind>(name: Name, dtype: E, kind: keyof typeof generators) {
  return defineOp<One<Name, E>>()({
    name,
    operands,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}` },
    infer: ({ seed, offset }) => inferRandom(name, seed.type, offset.type, dtype),
    evaluate: (args) => toTile(args.offset, dtype, generators[kind](args)[0]),
    facts: { nonNegative: () => kind !== "normal", needsTensor: ["offset"] },
  });
}

function defineFour<Name extends string, E extends Kind>(name: Name, dtype: E, kind: keyof typeof generators) {
  return defineOp<FourTiles<Name, E>>()({
    name,
    operands,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}` },
    infer: ({ seed, offset }) => tuple(inferRandom(name, seed.type, offset.type, dtype)),
    evaluate: (args) => generators[kind](args).map((data) => toTile(args.offset, dtype, data)),
    facts: { needsTensor: ["offset"] },
  });
}

/** A random uint32 for each offset: `tl.randint(seed, offset)`. */
export const randint = defineOne("randint", "uint32", "int");
/** Uniform float32 in [0, 1): `tl.rand(seed, offset)`. */
export const rand = defineOne("rand", "float32", "uniform");
/** Standard normal float32: `tl.randn(seed, offset)`. */
export const randn = defineOne("randn", "float32", "normal");
/** Four random uint32 for each offset at the cost of one: `a, b, c, d = tl.randint4x(seed, offset)`. */
export const randint4x = defineFour("randint4x", "uint32", "int");
/** Four uniform float32 in [0, 1) for each offset at the cost of one: `a, b, c, d = tl.rand4x(seed, offset)`. */
export const rand4x = defineFour("rand4x", "float32", "uniform");
/** Four standard normal float32 for each offset: `a, b, c, d = tl.randn4x(seed, offset)`. */
export const randn4x = defineFour("randn4x", "float32", "normal");

/** The four output words of Philox for four counters: `a, b, c, d = tl.philox(seed, c0, c1, c2, c3)`. */
export const philox = defineOp<
  <const S, const A, const B, const C, const D>(
    seed: Validate<S, WhySeed<"philox", S>>,
    c0: Validate<A, WhyCounter<undefined, A>>,
    c1: Validate<B, WhyCounter<A, B>>,
    c2: Validate<C, WhyCounter<A, C>>,
    c3: Validate<D, WhyCounter<A, D>>,
    nRounds?: number,
  ) => PhiloxOut<A, B, C, D>
>()({
  name: "philox",
  operands: { seed: "value", c0: "value", c1: "value", c2: "value", c3: "value", nRounds: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.philox" },
  infer: ({ seed, c0, c1, c2, c3 }) => inferPhilox(seed.type, [c0.type, c1.type, c2.type, c3.type]),
  evaluate: ({ seed, c0, c1, c2, c3, nRounds = ROUNDS }, { result }) => {
    const { dtype, shape } = result;
    const key = cast(tileOf(seed, "int64"), "uint64").data[0] as bigint;
    const counters = [c0, c1, c2, c3].map((c) => broadcastTo(cast(tileOf(c, "int32"), dtype), shape));
    const lanes = Array.from({ length: sizeOf(shape) }, (_, i): Words<number> | Words<bigint> => {
      const lane = counters.map(({ data }) => data[i]);
      if (dtype === "uint64") philox64(lane as Words<bigint>, key, 0n, Number(nRounds));
      else philox32(lane as Words<number>, Number(key & 0xffffffffn), Number(key >> 32n), Number(nRounds));
      return lane as Words<number>;
    });
    return ([0, 1, 2, 3] as const).map((i) =>
      fromNumbers(
        dtype,
        shape,
        lanes.map((words) => words[i]),
      ),
    );
  },
});

/** Converts random words to float32 in [0, 1): `tl.uint_to_uniform_float(x)`. */
export const uintToUniformFloat = defineOp<<X>(x: Validate<X, WhyWords<X>>) => Tile<"float32", ShapeOf<X>>>()({
  name: "uintToUniformFloat",
  operands: { x: "tile" },
  effect: "pure",
  spelling: { form: "call", name: "tl.uint_to_uniform_float" },
  infer: ({ x }) => inferUniform(x.type),
  evaluate: ({ x }) => {
    const { data, shape, poison } = x;
    const uniform = Float32Array.from(data as ArrayLike<number | bigint>, (bits) =>
      typeof bits === "bigint" ? uniform64(bits) : uniform32(bits),
    );
    return tileArray("float32", shape, uniform, poison);
  },
  facts: { nonNegative: () => true },
});

/** Converts uniform to normal random numbers (Box-Muller): `a, b = tl.pair_uniform_to_normal(u, v)`. */
export const pairUniformToNormal = defineOp<
  <X, Y>(u1: Validate<X, WhyUniform<X>>, u2: Validate<Y, WhyUniformPair<X, Y>>) => NormalPair<X, Y>
>()({
  name: "pairUniformToNormal",
  operands: { u1: "tile", u2: "tile" },
  effect: "pure",
  spelling: { form: "call", name: "tl.pair_uniform_to_normal" },
  infer: ({ u1, u2 }) => inferNormals(u1.type, u2.type),
  evaluate: ({ u1, u2 }) => {
    const shape = broadcastShapes(u1.shape, u2.shape);
    const [a, b] = [broadcastTo(u1, shape), broadcastTo(u2, shape)];
    const pair = normalPair(a.data as Float32Array, b.data as Float32Array);
    return pair.map((data) => tileArray("float32", shape, data, a.poison ?? b.poison));
  },
});
