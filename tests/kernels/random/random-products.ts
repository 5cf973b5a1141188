/** Random products of matrices that have a warp-specialized form: layouts, loops over tiles, epilogues, outputs. */
import { constexpr, descriptor, kernel, tensor, tl } from "tilescript";
import { drawFrom, type RandomKernel } from "./random-numbers.js";

const TILES = [
  [64, 128, 64],
  [64, 256, 32],
  [128, 128, 64],
  [128, 128, 32],
  [128, 256, 64],
  [256, 128, 64],
  [128, 256, 32],
] as const;

/** Sizes M, N, K with and without partial blocks. */
const ODD = [
  [200, 264, 136],
  [456, 520, 328],
] as const;
const WHOLE = [
  [192, 256, 128],
  [400, 528, 336],
] as const;

type Step = "scale" | "bias" | "rowScale" | "relu" | "swish" | "norm" | "max" | "residual";
const STEPS: readonly Step[] = ["scale", "bias", "rowScale", "relu", "swish", "norm", "max", "residual"];

export function randomProduct(seed: number): RandomKernel {
  const { pick, chance, whole } = drawFrom(seed * 7919 + 1);
  const dtype = pick(["float16", "bfloat16"] as const);
  const T = tl.dtype("T", [tl[dtype]]);
  const [BLOCK_M, BLOCK_N, BLOCK_K] = pick(TILES);
  const swapA = chance(0.3);
  const swapB = chance(0.4);
  const described = chance(0.35);
  const wraps = !described && chance(0.4);
  const order = pick(["grid", "two axes", "loop"] as const);
  const counts = chance(0.5);
  const sums = chance(0.3);
  const halves = !wraps && chance(0.3);
  const outDtype = chance(0.25) ? tl.float32 : T;
  const steps = Array.from({ length: whole(0, 3) }, () => pick(STEPS)).filter(
    (step, i, all) => all.indexOf(step) === i && !(wraps && (step === "norm" || step === "max")),
  );
  // A half of the columns has no fold of the whole row.
  const own = halves ? steps.filter((step) => step !== "norm" && step !== "max") : steps;
  const second = chance(0.2) && !halves && BLOCK_M < 256;
  const name = `product_${seed}`;
  const aDims = swapA ? ["K", "M"] : ["M", "K"];
  const bDims = swapB ? ["N", "K"] : ["K", "N"];
  const block = (dims: readonly string[]) => dims.map((dim) => `BLOCK_${dim}`);
  const params: any = {
    a: described ? (descriptor as any)(T, aDims, block(aDims)) : (tensor as any)(T, aDims),
    b: described ? (descriptor as any)(T, bDims, block(bDims)) : (tensor as any)(T, bDims),
    ...(own.includes("bias") && { bias: tensor(T, ["N"]) }),
    ...(own.includes("rowScale") && { rowScale: tensor(tl.float32, ["M"]) }),
    ...(own.includes("residual") && { residual: tensor(T, ["M", "N"]) }),
    c: tensor.out(outDtype as any, ["M", "N"]),
    ...(second && { d: tensor.out(tl.float32, ["M", "N"]) }),
    BLOCK_M: constexpr(),
    BLOCK_N: constexpr(),
    BLOCK_K: constexpr(),
    ...(halves && { HALF_N: constexpr() }),
  };
  const tilesOf = ({ M, N, BLOCK_M: m, BLOCK_N: n }: any) => [tl.cdiv(M, m), tl.cdiv(N, n)];
  const spec: any = {
    params,
    config: { BLOCK_M, BLOCK_N, BLOCK_K, ...(halves && { HALF_N: BLOCK_N / 2 }), numWarps: 8, numStages: 2 },
    grid: (meta: any) => {
      const [m, n] = tilesOf(meta);
      if (order === "two axes") return [m, n];
      return order === "grid" ? [m.mul(n)] : [tl.minimum(meta.device.multiProcessorCount, m.mul(n))];
    },
  };
  const tile = (args: any, pidM: any, pidN: any): void => {
    const offM = pidM.mul(args.BLOCK_M);
    const offN = pidN.mul(args.BLOCK_N);
    const rm = offM.add(tl.arange(0, args.BLOCK_M));
    const rn = offN.add(tl.arange(0, args.BLOCK_N));
    const am = wraps ? tl.inBounds(rm.mod(args.M)) : rm;
    const bn = wraps ? tl.inBounds(rn.mod(args.N)) : rn;
    const acc = tl.mut(tl.zeros([args.BLOCK_M, args.BLOCK_N], tl.float32));
    const turn = (k: any): void => {
      const rk = k.add(tl.arange(0, args.BLOCK_K));
      const x = described
        ? args.a.load(swapA ? [k, offM] : [offM, k])
        : tl.load(args.a.at(...(swapA ? [rk, am] : [am, rk])));
      const y = described
        ? args.b.load(swapB ? [offN, k] : [k, offN])
        : tl.load(args.b.at(...(swapB ? [bn, rk] : [rk, bn])));
      const [left, right]: any = [swapA ? x.T : x, swapB ? y.T : y];
      acc.value = sums ? acc.value.add(tl.dot(left, right)) : (tl.dot as any)(left, right, acc.value);
    };
    if (counts) for (const step of tl.range(tl.cdiv(args.K, args.BLOCK_K))) turn(step.mul(args.BLOCK_K));
    else for (const k of tl.range(0, args.K, args.BLOCK_K)) turn(k);
    const finish = (x: any, columns: any): any => own.reduce((value, step) => apply(step, value, args, rm, columns), x);
    const write = (x: any, columns: any): void => (tl.store as any)(args.c.at(rm, columns), x.to(outDtype));
    if (halves) {
      const parts = tl.split(
        tl.permute(tl.reshape(acc.value as any, [args.BLOCK_M, 2, args.HALF_N]) as any, [0, 2, 1]) as any,
      );
      for (const [i, part] of (parts as any[]).entries()) {
        const first = i === 0 ? offN : offN.add(args.HALF_N);
        const columns = first.add(tl.arange(0, args.HALF_N));
        write(finish(part, columns), columns);
      }
    } else {
      write(finish(acc.value, rn), rn);
      if (second) (tl.store as any)(args.d.at(rm, rn), acc.value);
    }
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
    order,
    ...(described ? ["descriptors"] : wraps ? ["wrapped"] : ["views"]),
    ...(swapA ? ["a.T"] : []),
    ...(swapB ? ["b.T"] : []),
    ...(halves ? ["halves"] : []),
    ...(second ? ["two outputs"] : []),
    ...own,
  ].join(", ");
  // The copy engine takes rows of whole 16 bytes, and rows of a.T are as long as M.
  const odd = swapA ? 0 : 7;
  const sizes = (seed % 2 ? ODD : WHOLE).map(([M, N, K]) => ({ M: M - odd, N, K }));
  return { name, kernel: (kernel as any)(name, spec, body), dtype, words, sizes, isStrided: false };
}

function apply(step: Step, x: any, args: any, rows: any, columns: any): any {
  switch (step) {
    case "scale":
      return x.mul(0.125);
    case "bias":
      return x.add((tl.load as any)(args.bias.at(columns)).to(tl.float32).row);
    case "rowScale":
      return x.mul((tl.load as any)(args.rowScale.at(rows)).col);
    case "relu":
      return tl.maximum(x, 0);
    case "swish":
      return x.div(tl.exp2(x.mul(-1.44269504)).add(1));
    case "norm":
      return x.mul(tl.rsqrt(tl.sum(x.mul(x), 1).add(1)).col);
    case "max":
      return x.sub(tl.max(x, 1).col);
    case "residual":
      return x.add((tl.load as any)(args.residual.at(rows, columns)).to(tl.float32));
  }
}
