/** One kernel for each construct of control flow. Compiled for a GPU, emitted, evaluated and run by tests beside this. */
import { constexpr, kernel, type Scalar, type Shape, tensor, type Tile, tl } from "tilescript";

const vector = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() };
const launch = {
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)] as [any],
  config: { BLOCK: 16 },
};

/** The number of halvings until a sum is small, and what is left: a loop whose end only the data decide. */
export const halvings = kernel("halvings", { params: vector, ...launch, config: { BLOCK: 16 } }, ({ x, y, BLOCK }) => {
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.mut(tl.load(x.at(offsets)));
  const turns = tl.mut(tl.full([], 0, tl.int32));
  tl.whileLoop(
    () => tl.sum(values.value, 0).gt(1),
    () => {
      values.value = values.value.mul(0.5);
      turns.value = turns.value.add(1);
    },
  );
  tl.store(y.at(offsets), values.value.add(turns.value.to(tl.float32)));
});

/** The same, with a condition that takes two statements. */
export const halvingsNamed = kernel("halvings_named", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.mut(tl.load(x.at(offsets)));
  tl.whileLoop(
    () => {
      // What is left.
      const total = tl.sum(values.value, 0);
      return total.gt(1).and(total.lt(1000));
    },
    () => {
      values.value = values.value.mul(0.5);
    },
    { disableLicm: true },
  );
  tl.store(y.at(offsets), values.value);
});

/** Programs beyond the first two leave their block alone. */
export const leaves = kernel(
  "leaves",
  { params: { ...vector, y: tensor.inout(tl.float32, ["N"]) }, ...launch },
  ({ x, y, BLOCK }) => {
    const pid = tl.programId(0);
    tl.when(pid.ge(2), () => tl.exit());
    const offsets = pid.mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(offsets), tl.load(x.at(offsets)));
  },
);

/** Running sums from the end: the loop counts down. */
export const backwards = kernel("backwards", { params: vector, ...launch, grid: () => [1] }, ({ x, y, N }) => {
  const total = tl.mut(tl.full([], 0, tl.float32));
  for (const i of tl.range(N.sub(1), -1, -1)) {
    total.value = total.value.add(tl.load(x.at(i)));
    tl.store(y.at(i), total.value);
  }
});

/** Every option of a loop. */
export const options = kernel("options", { params: vector, ...launch, grid: () => [1] }, ({ x, y, N, BLOCK }) => {
  const all = {
    numStages: 2,
    loopUnrollFactor: 2,
    disallowAccMultiBuffer: true,
    flatten: true,
    warpSpecialize: false,
    disableLicm: true,
  };
  for (const start of tl.range(0, N, BLOCK, all)) {
    const offsets = start.add(tl.arange(0, BLOCK));
    tl.store(y.at(offsets), tl.load(x.at(offsets)).mul(2));
  }
});

/** Tiles whose size counts with the index of an unrolled loop. */
export const unrolled = kernel(
  "unrolled",
  { params: { ...vector, y: tensor.inout(tl.float32, ["N"]) }, ...launch, grid: () => [1] },
  ({ x, y }) => {
    for (const i of tl.staticRange(1, 3)) {
      for (const j of tl.staticRange(1, 3)) {
        const WIDTH = i.mul(2).mul(j);
        const lanes = tl.arange(0, WIDTH);
        const total = tl.sum(tl.load(x.at(lanes)), 0).add(j);
        tl.store(y.at(i.mul(2).add(j).sub(3)), total);
      }
    }
  },
);

/** What one arm makes, a later arm of the same condition uses. */
export const carried = kernel(
  "carried",
  {
    params: { ...vector, SCALED: constexpr.bool(), SHIFT: constexpr() },
    ...launch,
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 16, SCALED: true, SHIFT: 1 },
        { BLOCK: 16, SCALED: false, SHIFT: 3 },
      ],
    },
    config: undefined as never,
  },
  ({ x, y, N, BLOCK, SCALED, SHIFT }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const scale = tl.when(SCALED, () => tl.load(x.at(0)));
    const added = tl.when(SCALED, () => {
      const shift = scale.value.add(N.to(tl.float32));
      return [shift, shift.mul(2)] as const;
    });
    const value = tl.mut(tl.load(x.at(offsets)));
    tl.when(SHIFT.gt(2), () => {
      const other = tl.max(value.value, 0);
      value.value = value.value.add(other);
    });
    tl.when(SCALED, () => {
      const [shift, twice] = added.value;
      value.value = value.value.mul(scale.value).add(shift).add(twice);
    });
    tl.when(SCALED.not(), () => {
      value.value = value.value.mul(3);
    });
    tl.store(y.at(offsets), value.value);
  },
);

/** Values less their mean, and how far they go. */
const centered = tl.fn((values: any, BLOCK: any) => {
  // The padding counts as zeros.
  const mean = tl.sum(values, 0).div(BLOCK);
  const moved = values.sub(mean);
  return [moved, tl.max(moved, 0)] as const;
});

const scaledBy = tl.fn("scaled_by", (values: any, factor: any) =>
  values.mul(factor).add(tl.zeros(values.shape, tl.float32)),
);

const stored = tl.fn((out: any, offsets: any, value: any) => {
  tl.store(out.at(offsets), value);
});

/** Helper functions: several results, constexprs, several call sites, a tensor of the kernel, one that calls another. */
export const helped = kernel("helped", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const both = tl.fn((values: any) => scaledBy(scaledBy(values, 0.5), 4));
  const [moved, most] = centered(tl.load(x.at(offsets)), BLOCK);
  const [again] = centered(both(moved), BLOCK);
  stored(y, offsets, scaledBy(again.add(most), 0.5));
});

/** A function that Triton calls instead of copying it. */
const doubled = tl.fn((a: any, b: any) => a.add(b).mul(2), { noinline: true });
export const called = kernel("called", { params: vector, ...launch }, ({ x, y, N, BLOCK }) => {
  const pid = tl.programId(0);
  const offsets = pid.mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(offsets), tl.load(x.at(offsets)).add(doubled(pid, N).to(tl.float32)));
});

/** Folds with functions of the author: one tile, several, both directions. */
export const combined = kernel("combined", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const lanes = tl.arange(0, BLOCK);
  const offsets = tl.programId(0).mul(BLOCK).add(lanes);
  const values = tl.load(x.at(offsets));
  const largest = tl.reduce(values, -1, (a, b) => tl.maximum(a, b));
  const [best, where] = tl.reduce([values, lanes], 0, ([a, i], [b, j]) => {
    const first = a.gt(b).or(a.eq(b).and(i.lt(j)));
    return [tl.where(first, a, b), tl.where(first, i, j)];
  });
  const sums = tl.associativeScan(values, 0, (a, b) => a.add(b), { reverse: true });
  const kept = tl.reduce(
    values,
    0,
    tl.fn("product", (a: any, b: any) => a.mul(b)),
    { keepDims: true },
  );
  tl.store(y.at(offsets), sums.add(largest).add(best).add(where.to(tl.float32)).add(kept));
});

const T = tl.dtype("T", [tl.float16, tl.float32]);
/** A dtype variable in helper functions. */
const narrowed = tl.fn((values: any, other: any) => tl.zeros(values.shape, T).add(values.to(T)).add(other.to(T)));
export const typed = kernel(
  "typed",
  { params: { x: tensor(T, ["N"]), y: tensor.out(T, ["N"]), BLOCK: constexpr() }, ...launch },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets));
    const wide = values.to(tl.float32);
    tl.store(y.at(offsets), narrowed(wide, wide).add(tl.associativeScan(values, 0, (a, b) => a.add(b))));
  },
);

/** A branch for every element. */
export const mapped = kernel("mapped", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.load(x.at(offsets));
  const chosen = tl.mapElementwise(
    (value, offset) => tl.when(value.gt(0), () => value.mul(offset.to(tl.float32))).otherwise(() => tl.exp(value)),
    values,
    offsets,
  );
  tl.store(y.at(offsets), chosen);
});

/** Python and assembly as they are. */
export const escaped = kernel("escaped", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  tl.gdcWait();
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.load(x.at(offsets));
  const bent = tl.raw("tl.math.erf({0})", [values.mul(2)], { dtype: tl.float32, shape: [BLOCK] });
  const sum = tl.raw("{0} if {1} > 8 else {0} * 2", [bent.add(values), BLOCK], { dtype: tl.float32, shape: [BLOCK] });
  tl.raw("tl.debug_barrier()", [], { effect: "write" });
  const added = tl.inlineAsmElementwise("add.f32 $0, $1, $2;", "=r,r,r", [sum, values], tl.float32);
  const [low, high] = tl.inlineAsmElementwise(
    "mov.b32 $0, $2; mov.b32 $1, $3;",
    "=r,=r,r,r",
    [added, values],
    [tl.float32, tl.float32],
    { isPure: false },
  );
  tl.store(y.at(offsets), sum.mul(2).add(low).add(high));
  tl.gdcLaunchDependents();
});

/** Waits for the kernel before it, which is nothing where programs run in order. */
export const dependent = kernel("dependent", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  tl.gdcWait();
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(offsets), tl.load(x.at(offsets)));
  tl.gdcLaunchDependents();
});

/** The square, as a function of the module. */
const squared = tl.fn("squared", (values: any) => values.mul(values));
/** Its argument is a function. */
const twice = tl.fn("twice", (f: any, values: any) => f(f(values)));

/** Functions that a config chooses by name: called, folded with, and handed to a function. */
export const chosen = kernel(
  "chosen",
  {
    params: {
      ...vector,
      ACTIVATION: constexpr.fn({
        relu: (values: any) => tl.maximum(values, 0),
        squared,
        none: (values: any) => values,
      }),
      COMBINE: constexpr.fn({ add: (a: any, b: any) => a.add(b), max: (a: any, b: any) => tl.maximum(a, b) }),
    },
    ...launch,
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 16, ACTIVATION: "relu", COMBINE: "add" },
        { BLOCK: 16, ACTIVATION: "squared", COMBINE: "max" },
        { BLOCK: 16, ACTIVATION: "none", COMBINE: "add" },
      ],
    },
    config: undefined as never,
  },
  ({ x, y, BLOCK, ACTIVATION, COMBINE }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets));
    // Between the load and the store.
    const active = ACTIVATION(values);
    const again = twice(ACTIVATION, active.sub(1));
    tl.store(y.at(offsets), COMBINE(active, again));
  },
);

/** A name of the module that a Python file has too. */
const bounded = tl.fn("_bounded", <S extends Shape>(values: Tile<"float32", S>) => tl.maximum(values, -2));
/** What the Python file computes, said again with tiles. */
const capped = tl.extern("./ops.py", "capped", {
  evaluate: <S extends Shape>(values: Tile<"float32", S>, scale: Scalar<"float32">, name: "leaky" | "none") => {
    const leaky = name === "leaky" ? tl.where(values.gt(0), values, values.mul(0.25)) : values;
    return tl.minimum(tl.maximum(leaky.mul(scale), -30), 30);
  },
});
/** Stores for every element, and gives nothing. */
const pick = tl.extern("./ops.py", "pick", {
  evaluate: (values: any, offsets: any, out: any, count: any) =>
    tl.store(out.add(offsets), values.add(1), { mask: offsets.lt(count) }),
});

/** Functions of a Python file, with what they need of it. */
export const foreign = kernel(
  "foreign",
  { params: { ...vector, y: tensor.out(tl.float32, ["N"], { contiguous: true }) }, ...launch },
  ({ x, y, N, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const scale = tl.load(x.at(0)).add(1);
    const soft = capped(bounded(tl.load(x.at(offsets))), scale, "leaky");
    pick(capped(soft, scale, "none"), offsets, y.ptr, N);
  },
);

/** Numbers where Triton takes them, with no tile beside them. */
export const numbers = kernel("numbers", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.load(x.at(offsets));
  const found = tl.mut(false);
  const count = tl.mut(0);
  const half = tl.mut(0.5);
  for (const i of tl.range(4)) {
    found.value = found.value.or(tl.sum(tl.where(values.gt(1), 1, 0)).gt(i));
    count.value = count.value.add(tl.where(found.value, 1, BLOCK));
    half.value = half.value.add(0.25);
  }
  found.value = true;
  const penalty = tl.where(values.lt(0), -1e6, 0.0);
  const bounded = tl
    .clamp(0, values, 2)
    .add(tl.fma(2, values, 0.5))
    .add(tl.fdiv(1, values.add(9)).mul(0))
    .add(tl.abs(-2));
  const exact = tl.where(found.value, tl.where(values.gt(0), true, false), false);
  const sum = bounded
    .add(penalty)
    .add(count.value)
    .add(half.value)
    .add(tl.where(exact, tl.load(x.at(tl.inBounds(0))), 0));
  tl.store(y.at(offsets), sum.add(tl.exp(0)).add(tl.where(values.gt(1), -0.5, 0)));
});

const [WIDE, NARROW] = [{ FLAG: true }, { FLAG: false }].map((flag) => ({ BLOCK: 16, ...flag }));
/** A size that a flag chooses, and state that exists under that flag only. */
export const chosenSize = kernel(
  "chosen_size",
  {
    params: { ...vector, FLAG: constexpr.bool() },
    grid: ({ N, BLOCK, FLAG }) => [tl.cdiv(N, FLAG.choose(BLOCK.mul(2), BLOCK))],
    autotune: { key: ["N"], configs: [WIDE!, NARROW!] },
  },
  ({ x, y, BLOCK, FLAG }) => {
    const SPAN = FLAG.choose(BLOCK.mul(2), BLOCK);
    const SCALE = FLAG.and(SPAN.gt(16)).not().choose(0.5, 2);
    const offsets = tl.programId(0).mul(SPAN).add(tl.arange(0, SPAN));
    const values = tl.load(x.at(offsets));
    const total = tl.mut(tl.zeros([SPAN], tl.float32));
    const [peak, turns] = tl.when(FLAG, () => [tl.mut(values), tl.mut(0)]).value;
    for (const i of tl.range(3)) {
      total.value = total.value.add(values);
      tl.when(FLAG, () => {
        peak.value = tl.maximum(peak.value, total.value.mul(i));
        turns.value = turns.value.add(1);
      });
    }
    const [first, second] = tl
      .when(FLAG, () => [peak.value, turns.value.to(tl.float32)])
      .otherwise(() => [total.value, tl.full([], 1, tl.float32)]);
    tl.store(y.at(offsets), first.mul(SCALE).add(second));
  },
);

/** Shapes that nested flags decide: of results of branches and helper functions, and of state. */
export const chosenShapes = kernel(
  "chosen_shapes",
  {
    params: { ...vector, WIDE: constexpr.bool(), DEEP: constexpr.bool() },
    grid: ({ N, BLOCK, WIDE, DEEP }) => [tl.cdiv(N, WIDE.choose(DEEP.choose(BLOCK.mul(4), BLOCK.mul(2)), BLOCK))],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 8, WIDE: true, DEEP: true },
        { BLOCK: 8, WIDE: true, DEEP: false },
        { BLOCK: 8, WIDE: false, DEEP: true },
        { BLOCK: 8, WIDE: false, DEEP: false },
      ],
    },
  },
  ({ x, y, BLOCK, WIDE, DEEP }) => {
    const SPAN = WIDE.choose(DEEP.choose(BLOCK.mul(4), BLOCK.mul(2)), BLOCK);
    const offsets = tl.programId(0).mul(SPAN).add(tl.arange(0, SPAN));
    const values = tl.load(x.at(offsets), { other: 0 });
    const swapped = tl
      .when(WIDE, () => {
        const [even, odd] = tl.split(tl.reshape(values, [SPAN.floorDiv(2), 2]));
        return tl.reshape(tl.join(odd, even), [SPAN]);
      })
      .otherwise(() => values.neg());
    const nested = tl
      .when(WIDE, () => tl.when(DEEP, () => swapped.mul(2)).otherwise(() => tl.flip(swapped, 0)))
      .otherwise(() => tl.reshape(tl.reshape(swapped, [BLOCK]), [SPAN]));
    const state = tl.mut(tl.zeros([SPAN], tl.float32));
    const turns = tl.mut(0);
    const deep = tl.when(DEEP, () => tl.mut(nested)).value;
    tl.whileLoop(
      () => turns.value.lt(3),
      () => {
        turns.value = turns.value.add(1);
        tl.when(WIDE, () => {
          state.value = state.value.add(nested.mul(turns.value));
        });
        tl.when(DEEP, () => {
          deep.value = tl.maximum(deep.value, state.value);
        });
      },
    );
    const last = tl.when(DEEP, () => deep.value.add(tl.sum(state.value, 0))).otherwise(() => squared(state.value));
    tl.store(y.at(offsets), last.add(swapped));
  },
);

const ANY = tl.dtype("ANY", [tl.float32, tl.int32, tl.float16]);
/** Code by dtype: an arm is typed for the dtypes that reach it. */
export const byDType = kernel(
  "by_dtype",
  { params: { ...vector, x: tensor(ANY, ["N"]), y: tensor.out(ANY, ["N"]) }, ...launch },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const values = tl.load(x.at(offsets));
    const WIDE = ANY.is(tl.float16).choose(0, 1);
    const changed = tl
      .when(ANY.is(tl.int32), () => values.as(tl.int32).and(6).add(WIDE).to(ANY))
      .elseWhen(ANY.is(tl.float32), () => tl.exp2(tl.floor(values.as(tl.float32))).to(ANY))
      .otherwise(() => values.as(tl.float16).add(WIDE).to(ANY));
    tl.store(y.at(offsets), changed);
  },
);

/** What a program can ask of the GPU that it runs on. */
export const asking = kernel("asking", { params: vector, ...launch }, ({ x, y, BLOCK }) => {
  const began = tl.globaltimer();
  const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  const values = tl.load(x.at(offsets)).add(tl.smid().to(tl.float32)).mul(tl.numWarps());
  tl.store(y.at(offsets), values.add(tl.numThreads()));
  const ended = tl.globaltimer();
  tl.store(y.at(0), ended.sub(began).to(tl.float32));
});
