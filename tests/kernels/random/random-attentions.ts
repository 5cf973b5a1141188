/** Random attention kernels that have a warp-specialized form: masks, loops, changes of the scores, loads, heads, outputs. */
import { constexpr, kernel, tensor, tl } from "tilescript";
import { type Draw, drawFrom, type RandomKernel } from "./random-numbers.js";

const LOG2_E = 1.44269504;

const MASKS = ["end", "causal", "flag", "window", "none"] as const;
const SPANS = ["all keys", "seen keys", "two loops"] as const;
const CHANGES = ["cap", "clamp", "slope"] as const;
/** What hides keys by what a turn loads: a flag of each key, the document of rows and keys, the number of keys. */
const HIDES = ["shown", "documents", "lengths"] as const;
/** What is added to scores: a number of each, and the distance times a number of each head. */
const ADDS = ["bias", "slopes"] as const;
const OUTPUTS = ["logarithm", "best and total", "normalized", "float32", "reciprocal"] as const;

interface Recipe {
  readonly dtype: "float16" | "bfloat16";
  readonly mask: (typeof MASKS)[number];
  readonly span: (typeof SPANS)[number];
  readonly changes: readonly (typeof CHANGES)[number][];
  readonly hides: (typeof HIDES)[number] | undefined;
  readonly adds: readonly (typeof ADDS)[number][];
  readonly outputs: readonly (typeof OUTPUTS)[number][];
  /** Axes before rows: none, heads, batch and heads. */
  readonly lead: 0 | 1 | 2;
  /** Heads of queries for each head of keys. */
  readonly group: number;
  /** Whether there are other numbers of keys than of queries. */
  readonly isCross: boolean;
  /** Elements of a query and of a value. */
  readonly widths: readonly [number, number];
  readonly blocks: readonly [number, number];
  readonly window: number;
  /** Whether all scores are scaled, or the largest of each row and the exponents. */
  readonly scalesFirst: boolean;
  /** Whether `tl.dot` adds, or `add`. */
  readonly sums: boolean;
  /** What a hidden score is. */
  readonly hidden: number;
}

function draw({ pick, chance, whole }: Draw): Recipe {
  const mask = pick(MASKS);
  const lead = pick([1, 1, 1, 2, 0] as const);
  const isCross = mask !== "window" && chance(0.25);
  const widths = chance(0.2)
    ? ([64, 128] as const)
    : pick([
        [64, 64],
        [128, 128],
        [256, 256],
      ] as const);
  const some = <T>(list: readonly T[], p: number) => list.filter(() => chance(p));
  const drawn: Omit<Recipe, "hides" | "adds"> = {
    dtype: pick(["float16", "bfloat16"] as const),
    mask,
    // Keys beyond the last one count where nothing hides them, and the plain kernel has no more of them than the other.
    span: mask === "none" || mask === "window" ? "all keys" : isCross ? pick(["all keys", "two loops"]) : pick(SPANS),
    changes: some(CHANGES, 0.3),
    outputs: some(OUTPUTS, 0.25),
    lead,
    group: lead > 0 && chance(0.3) ? pick([2, 4]) : 1,
    isCross,
    widths,
    // With heads of 256 elements, registers hold the scores of 64 keys.
    blocks: [pick([64, 128]), Math.min(pick([64, 128]), widths[1] === 256 ? 64 : 128)],
    window: whole(1, 300),
    scalesFirst: chance(0.5),
    sums: chance(0.3),
    // Of a row that a window hides whole at first, -Infinity would leave NaN.
    hidden: mask === "window" || chance(0.2) ? -1e6 : -Infinity,
  };
  const hides = chance(0.25) ? pick(HIDES) : undefined;
  // Where a loop ends with a load, no other load may follow its index.
  const adds = some(ADDS, 0.15).filter((each) => (each === "bias" ? hides !== "lengths" : lead > 0));
  // Each row sees a key: the first one, or its own.
  const suits =
    hides === "documents" ? !isCross : hides === "shown" ? mask !== "window" : drawn.span === "all keys" && lead > 0;
  if (!hides || !suits || (hides === "lengths" && mask === "window")) return { ...drawn, hides: undefined, adds };
  return { ...drawn, hides, adds, hidden: hides === "lengths" ? drawn.hidden : -1e6 };
}

export function randomAttention(seed: number): RandomKernel {
  const random = drawFrom(seed * 104_729 + 7);
  const recipe = draw(random);
  const { dtype, mask, span, changes, outputs, lead, group, isCross, widths, blocks, hidden } = recipe;
  const name = `attention_${seed}`;
  const words = [
    `${dtype} ${blocks.join("x")} of ${widths.join(", ")}`,
    mask === "window" ? `window of ${recipe.window}` : mask,
    span,
    `${lead + 2} axes`,
    ...(group > 1 ? [`groups of ${group}`] : []),
    ...(isCross ? ["other keys"] : []),
    ...(recipe.scalesFirst ? ["scaled first"] : []),
    ...(recipe.sums ? ["sums"] : []),
    ...(hidden === -Infinity ? [] : ["faded"]),
    ...(recipe.hides ? [recipe.hides] : []),
    ...recipe.adds,
    ...changes,
    ...outputs,
  ].join(", ");
  const made = (kernel as any)(name, specOf(recipe), bodyOf(recipe));
  const sizes = sizesOf(recipe, random);
  return { name, kernel: made, dtype, words, sizes, isStrided: lead > 0 && random.chance(0.35) };
}

/** A size with whole blocks or a partial one, and one of few rows. */
function sizesOf({ lead, isCross, widths: [D, E] }: Recipe, { pick, whole }: Draw) {
  const heads = pick([1, 2, 3]);
  return [pick([256, 384, 512, whole(129, 700)]), whole(1, 200)].map((S) => ({
    ...(lead === 2 && { B: 2 }),
    ...(lead > 0 && { KH: heads }),
    S,
    ...(isCross && { N: pick([S, 128, whole(1, 500)]) }),
    D,
    ...(D !== E && { E }),
  }));
}

const T = (dtype: Recipe["dtype"]) => tl.dtype("T", [tl[dtype]]);

function specOf({ dtype, mask, outputs, lead, group, isCross, widths, blocks, hides, adds }: Recipe): any {
  const type = T(dtype);
  const before = (heads: string) => ["B", heads].slice(2 - lead);
  const [queries, keys] = [group > 1 ? "H" : "KH", "KH"].map(before) as [string[], string[]];
  const [rows, width] = [isCross ? "N" : "S", widths[0] === widths[1] ? "D" : "E"];
  const perRow = () => tensor.out(tl.float32, [...queries, "S"]);
  return {
    params: {
      q: tensor(type, [...queries, "S", "D"]),
      k: tensor(type, [...keys, rows, "D"]),
      v: tensor(type, [...keys, rows, width]),
      o: tensor.out(outputs.includes("float32") ? tl.float32 : type, [...queries, "S", width]),
      ...(outputs.includes("logarithm") && { lse: perRow() }),
      ...(outputs.includes("best and total") && { bests: perRow(), totals: perRow() }),
      ...(adds.includes("bias") && { bias: tensor(type, [...queries, "S", rows]) }),
      ...(adds.includes("slopes") && { slopes: tensor(tl.float32, queries) }),
      ...(hides === "shown" && { shown: tensor(tl.int8, [...keys, rows]) }),
      ...(hides === "documents" && { documents: tensor(tl.int32, ["S"]) }),
      ...(hides === "lengths" && { lengths: tensor(tl.int32, keys) }),
      D: constexpr(),
      ...(width === "E" && { E: constexpr() }),
      ...(mask === "flag" && { CAUSAL: constexpr.bool({ default: false }) }),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
    },
    ...(lead > 0 && group > 1 && { dims: { H: ({ KH }: any) => KH.mul(group) } }),
    grid: (sizes: any) => {
      const heads = lead === 0 ? 1 : sizes.KH.mul(group);
      return [tl.cdiv(sizes.S, sizes.BLOCK_M), lead === 2 ? sizes.B.mul(heads) : heads];
    },
    config: { BLOCK_M: blocks[0], BLOCK_N: blocks[1], numWarps: blocks[0] === 128 ? 8 : 4, numStages: 2 },
  };
}

function bodyOf(recipe: Recipe) {
  return (args: any): void => {
    const { q, k, v, S, D, BLOCK_M, BLOCK_N } = args;
    const E = recipe.widths[0] === recipe.widths[1] ? D : args.E;
    const [own, other] = placesOf(recipe, args);
    const all = recipe.isCross ? args.N : S;
    const keyCount =
      recipe.hides === "lengths" ? tl.minimum(tl.maximum(tl.load(args.lengths.at(...other)), 1), all) : all;
    const first = tl.programId(0).mul(BLOCK_M);
    const rm = first.add(tl.arange(0, BLOCK_M));
    const rd = tl.arange(0, D);
    const re = tl.arange(0, E);
    const queries: any = tl.load(q.at(...own, rm, rd));
    const scale = (tl.rsqrt(D.to(tl.float32)) as any).mul(LOG2_E);
    const best = tl.mut(tl.full([BLOCK_M], -Infinity, tl.float32));
    const total: any = tl.mut(tl.zeros([BLOCK_M], tl.float32));
    const acc: any = tl.mut(tl.zeros([BLOCK_M, E], tl.float32));
    const visit = (start: any, partial: boolean): void => {
      const columns = start.add(tl.arange(0, BLOCK_N));
      const rn: any = partial ? columns : tl.inBounds(columns);
      const keys: any = tl.load(k.at(...other, rn, rd));
      const products: any = tl.dot(queries, keys.T);
      const scaled = recipe.scalesFirst ? products.mul(scale) : products;
      const turn = { ...args, own, other, rm, rn, keyCount };
      const added = addedTo(changed(scaled, recipe, rm, rn), recipe, turn);
      const scores = shown(masked(added, recipe, turn, partial), recipe, turn);
      const [exponents, tops] = recipe.scalesFirst
        ? [scores, tl.max(scores, 1)]
        : [scores.mul(scale), (tl.max(scores, 1) as any).mul(scale)];
      const newBest: any = tl.maximum(best.value, tops as any);
      const weights: any = tl.exp2(exponents.sub(newBest.col));
      const alpha: any = tl.exp2((best.value as any).sub(newBest));
      total.value = total.value.mul(alpha).add(tl.sum(weights, 1));
      const values: any = tl.load(v.at(...other, rn, re));
      const kept = acc.value.mul(alpha.col);
      acc.value = recipe.sums
        ? kept.add(tl.dot(weights.to(T(recipe.dtype)), values))
        : (tl.dot as any)(weights.to(T(recipe.dtype)), values, kept);
      best.value = newBest;
    };
    for (const [from, to, partial] of loopsOf(recipe, { ...args, first, keyCount }))
      for (const start of tl.range(from, to, BLOCK_N)) visit(start, partial);
    write(recipe, { ...args, own, rm, re, E, best, total, acc });
  };
}

/** The indices of queries, then of keys, before the row. */
function placesOf({ lead, group }: Recipe, args: any): readonly [readonly any[], readonly any[]] {
  if (lead === 0) return [[], []];
  const program: any = tl.programId(1);
  const heads = () => args.KH.mul(group);
  const batch = lead === 2 ? [tl.inBounds(program.floorDiv(heads()))] : [];
  const head: any = tl.inBounds(lead === 2 ? program.mod(heads()) : program);
  return [
    [...batch, head],
    [...batch, group > 1 ? tl.inBounds(head.floorDiv(group)) : head],
  ];
}

/** The bounds of the loops over keys, with whether their blocks need a mask. */
function loopsOf({ mask, span }: Recipe, args: any): readonly any[] {
  const { first, keyCount, BLOCK_M, BLOCK_N } = args;
  // Made only where they are used: an unused one would count as a use of BLOCK_M.
  const seen = () => tl.minimum(first.add(BLOCK_M), keyCount);
  const choose = (causal: () => any, full: any) =>
    mask === "causal" ? causal() : mask === "flag" ? (tl as any).when(args.CAUSAL, causal).otherwise(() => full) : full;
  if (span === "all keys") return [[0, keyCount, true]];
  const end = choose(seen, keyCount);
  if (span === "seen keys") return [[0, end, true]];
  const edge = choose(() => tl.minimum(first, keyCount), keyCount);
  const whole = edge.floorDiv(BLOCK_N).mul(BLOCK_N);
  return [
    [0, whole, false],
    [whole, end, true],
  ];
}

function changed(scores: any, { changes }: Recipe, rm: any, rn: any): any {
  return changes.reduce((x, change) => {
    if (change === "clamp") return tl.minimum(tl.maximum(x, -6), 6);
    if (change === "slope") return x.add(rn.row.sub(rm.col).to(tl.float32).mul(0.01));
    return capped(x);
  }, scores);
}

function addedTo(scores: any, { adds }: Recipe, { bias, slopes, own, rm, rn }: any): any {
  const biased = adds.includes("bias") ? scores.add(tl.load(bias.at(...own, rm, rn)).to(tl.float32)) : scores;
  if (!adds.includes("slopes")) return biased;
  return biased.add(
    rn.row
      .sub(rm.col)
      .to(tl.float32)
      .mul(tl.load(slopes.at(...own)).mul(0.05)),
  );
}

/** The scores of keys that a load shows. */
function shown(scores: any, { hides, hidden }: Recipe, { shown, documents, other, rm, rn }: any): any {
  if (hides === "shown") return tl.where((tl.load(shown.at(...other, rn)) as any).ne(0).row, scores, hidden);
  if (hides !== "documents") return scores;
  const [rows, columns] = [rm, rn].map((each): any => tl.load(documents.at(each)));
  return tl.where(rows.col.eq(columns.row), scores, hidden);
}

/** `20 tanh(x / 20)` by way of exp2. */
const capped = (x: any): any => {
  const power: any = tl.exp2(x.mul((2 / 20) * LOG2_E));
  return power.sub(1).div(power.add(1)).mul(20);
};

function masked(scores: any, { mask, window, hidden, hides }: Recipe, args: any, partial: boolean): any {
  const { rm, rn, keyCount } = args;
  if ((mask === "none" && hides !== "lengths") || !partial) return scores;
  const seen = tl.where(rn.row.lt(keyCount), scores, hidden);
  const below = () => tl.where(rm.col.ge(rn.row), seen, hidden);
  if (mask === "causal") return below();
  if (mask === "flag") return (tl as any).when(args.CAUSAL, below).otherwise(() => seen);
  if (mask === "window") return tl.where(rm.col.ge(rn.row).and(rm.col.sub(rn.row).lt(window)), seen, hidden);
  return seen;
}

function write({ dtype, outputs }: Recipe, args: any): void {
  const { o, own, rm, re, best, total, acc } = args;
  const sum = total.value;
  const quotient = outputs.includes("reciprocal") ? acc.value.mul(tl.rsqrt(sum.mul(sum)).col) : acc.value.div(sum.col);
  const squares: any = tl.sum(quotient.mul(quotient), 1);
  const result = outputs.includes("normalized") ? quotient.mul((tl.rsqrt(squares.add(1)) as any).col) : quotient;
  tl.store(o.at(...own, rm, re), outputs.includes("float32") ? result : result.to(T(dtype)));
  if (outputs.includes("logarithm")) tl.store(args.lse.at(...own, rm), best.value.add(tl.log2(sum)));
  if (!outputs.includes("best and total")) return;
  tl.store(args.bests.at(...own, rm), best.value);
  tl.store(args.totals.at(...own, rm), sum);
}
