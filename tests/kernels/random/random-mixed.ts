/** Random products whose second factor follows from integers, which have a warp-specialized form. */
import { constexpr, kernel, tensor, tl } from "tilescript";
import { drawFrom, type RandomKernel } from "./random-numbers.js";

const TILES = [
  [64, 128, 64],
  [128, 128, 64],
  [128, 128, 32],
  [256, 128, 64],
  [128, 128, 128],
] as const;

/** Sizes M, N, K with and without partial blocks. */
const SIZES = [
  [200, 272, 144],
  [77, 528, 336],
  [192, 256, 128],
] as const;

/** Elements of K that share a scale. */
const GROUP = 64;

/** Integers and how many weights one has. */
const PACKED = [
  ["int8", 8, 1],
  ["int8", 8, 2],
  ["int32", 32, 4],
  ["int32", 32, 8],
] as const;

export function randomMixed(seed: number): RandomKernel {
  const { pick, chance } = drawFrom(seed * 6271 + 5);
  const dtype = pick(["float16", "bfloat16"] as const);
  const [BLOCK_M, BLOCK_N, BLOCK_K] = pick(TILES);
  const [word, bits, count] = pick(PACKED);
  const order = pick(["grid", "two axes", "loop"] as const);
  const wraps = chance(0.5);
  const scale = pick(["none", "column", "turn", "end"] as const);
  const zero = pick(["none", "number", "loaded"] as const);
  const helps = chance(0.5);
  const swaps = count > 1 && chance(0.3);
  const name = `mixed_${seed}`;
  const params: any = {
    a: tensor(tl[dtype], ["M", "K"]),
    w: tensor(tl[word], [count > 1 ? "K_WORDS" : "K", "N"]),
    ...(scale === "turn" && { scale: tensor(tl[dtype], ["GROUPS", "N"]) }),
    ...((scale === "column" || scale === "end") && { scale: tensor(tl[dtype], ["N"]) }),
    ...(zero === "loaded" && { zeros: tensor(tl.int32, ["GROUPS", "N"], { range: [0, 8] }) }),
    c: tensor.out(tl[dtype], ["M", "N"]),
    BLOCK_M: constexpr(),
    BLOCK_N: constexpr(),
    BLOCK_K: constexpr(),
  };
  const tilesOf = ({ M, N, BLOCK_M: m, BLOCK_N: n }: any) => [tl.cdiv(M, m), tl.cdiv(N, n)];
  const spec: any = {
    params,
    config: { BLOCK_M, BLOCK_N, BLOCK_K, numWarps: 8, numStages: 2 },
    grid: (meta: any) => {
      const [m, n] = tilesOf(meta);
      if (order === "two axes") return [m, n];
      return order === "grid" ? [m.mul(n)] : [tl.minimum(meta.device.multiProcessorCount, m.mul(n))];
    },
  };
  /** The weights of a place in each word. */
  const weightsAt = (words: any, place: number): any => {
    if (count === 1) return words;
    const shifted = place === 0 ? words : words.shr((bits / count) * place);
    return shifted.and(2 ** (bits / count) - 1);
  };
  const widened = (weights: any, minus: any, times: any): any => {
    const moved = zero === "none" ? weights : weights.sub(zero === "number" ? 3 : minus.row);
    const wide = moved.to(tl[dtype]);
    return scale === "none" || scale === "end" ? wide : wide.mul(times.row);
  };
  const helped = (tl.fn as any)(widened);
  /** The rows of these places, in turn. */
  const joined = (words: any, places: readonly number[], minus: any, times: any): any => {
    const [place, ...others] = places;
    if (others.length === 0) {
      const given = [minus, times].filter((each) => each !== undefined);
      const isHelped = helps && given.length === 2;
      return (isHelped ? helped : widened)(weightsAt(words, place!), minus, times);
    }
    const half = (first: number) =>
      joined(
        words,
        places.filter((_, i) => i % 2 === first),
        minus,
        times,
      );
    return (tl.join as any)(half(0), half(1));
  };
  const factorOf = (args: any, k: any, rk: any, wn: any): any => {
    const at = count > 1 ? k.floorDiv(count).add(tl.arange(0, args.BLOCK_K.floorDiv(count))) : rk;
    const words = (tl.load as any)(args.w.at(at, wn));
    const group = tl.inBounds(k.floorDiv(GROUP));
    const times =
      scale === "turn"
        ? (tl.load as any)(args.scale.at(group, wn))
        : scale === "column"
          ? (tl.load as any)(args.scale.at(wn))
          : undefined;
    const minus = zero === "loaded" ? (tl.load as any)(args.zeros.at(group, wn)) : undefined;
    const places = Array.from({ length: count }, (_, i) => i);
    const rows = joined(words, places, minus, times);
    if (count === 1) return rows;
    const more = places.slice(1, Math.log2(count) + 1).map((i) => i + 1);
    if (!swaps) return (tl.reshape as any)(tl.permute(rows, [0, ...more, 1] as any), [args.BLOCK_K, args.BLOCK_N]);
    return (tl.reshape as any)(tl.permute(rows, [1, 0, ...more] as any), [args.BLOCK_N, args.BLOCK_K]).T;
  };
  const tile = (args: any, pidM: any, pidN: any): void => {
    const rm = pidM.mul(args.BLOCK_M).add(tl.arange(0, args.BLOCK_M));
    const rn = pidN.mul(args.BLOCK_N).add(tl.arange(0, args.BLOCK_N));
    const am = wraps ? tl.inBounds(rm.mod(args.M)) : rm;
    const wn = wraps ? tl.inBounds(rn.mod(args.N)) : rn;
    const acc = tl.mut(tl.zeros([args.BLOCK_M, args.BLOCK_N], tl.float32));
    for (const k of tl.range(0, args.K, args.BLOCK_K)) {
      const rk = k.add(tl.arange(0, args.BLOCK_K));
      acc.value = (tl.dot as any)(tl.load(args.a.at(am, rk)), factorOf(args, k, rk, wn), acc.value);
    }
    const sums: any = acc.value;
    const result = scale === "end" ? sums.mul((tl.load as any)(args.scale.at(wn)).to(tl.float32).row) : sums;
    tl.store(args.c.at(rm, rn), result.to(tl[dtype]));
  };
  const body = (args: any): void => {
    const [m, n] = tilesOf(args);
    if (order === "two axes") return tile(args, tl.programId(0), tl.programId(1));
    if (order === "grid") return tile(args, tl.programId(0).floorDiv(n), tl.programId(0).mod(n));
    for (const each of tl.range(tl.programId(0), m.mul(n), tl.numPrograms(0)))
      tile(args, each.mod(m), each.floorDiv(m));
  };
  const words = [
    `${dtype} ${BLOCK_M}x${BLOCK_N}x${BLOCK_K}`,
    `${count} in ${word}`,
    order,
    ...(wraps ? ["wrapped"] : []),
    ...(scale === "none" ? [] : [`scale ${scale}`]),
    ...(zero === "none" ? [] : [`zero ${zero}`]),
    ...(helps ? ["helper"] : []),
    ...(swaps ? ["column by column"] : []),
  ].join(", ");
  const sizes = [SIZES[seed % 2]!, SIZES[2]].map(([M, N, K]) => mixedSizes(M, N, K, count));
  return { name, kernel: (kernel as any)(name, spec, body), dtype, words, sizes, isStrided: false };
}

/** The sizes of a mixed product with so many weights in a word. */
const mixedSizes = (M: number, N: number, K: number, count: number) => ({
  M,
  N,
  K,
  GROUPS: Math.ceil(K / GROUP),
  ...(count > 1 && { K_WORDS: K / count }),
});
