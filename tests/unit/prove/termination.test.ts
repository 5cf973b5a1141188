/** `while` loops that are shown to end by a measure that each iteration decreases, and loops that are not. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { withMonomials } from "../../../src/prove/algebra/polynomial.js";
import { modelOf } from "../../../src/prove/model/model.js";
import { withTermTable } from "../../../src/symbolic/term.js";
import { uniform } from "../../../src/numerics/random.js";
import { drawnCount, sampledTests, seedOfRun } from "../../support/sampled-tests.js";
import { proofSummary } from "../../../src/runtime/report/proof-text.js";

sampledTests("while loops that end", "src/prove");

const params = {
  x: tensor(tl.float32, ["N"]),
  flags: tensor.inout(tl.int32, ["N"]),
  y: tensor.out(tl.float32, ["N"]),
  start: scalar(tl.int32, { range: [0, 1000] }),
};
type Args = Parameters<Parameters<typeof kernel<"k", typeof params>>[2]>[0];

async function proofOf(loop: (args: Args, state: any) => void) {
  const k = kernel("k", { params, grid: ({ N }) => [N], config: {} }, (args) => {
    const { x, y, start } = args;
    const state = { n: tl.mut(start.add(0)), low: tl.mut(start.mul(0)) };
    loop(args, state);
    const i = tl.inBounds(tl.programId(0));
    tl.store(y.at(i), tl.load(x.at(i)).mul(state.n.value.add(state.low.value).to(tl.float32)));
  });
  return (await build(k)).proof();
}

async function verdictOf(loop: (args: Args, state: any) => void): Promise<string> {
  const { obligations } = await proofOf(loop);
  const found = obligations.filter(({ property }) => property === "termination");
  expect(found).toHaveLength(1);
  return found[0]!.verdict.kind;
}

test.each<[string, (args: Args, state: any) => void]>([
  [
    "counts down",
    (_, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0),
        () => void (n.value = n.value.sub(1)),
      ),
  ],
  [
    "counts up to a size",
    ({ N }, { n }) =>
      tl.whileLoop(
        () => n.value.lt(N),
        () => void (n.value = n.value.add(3)),
      ),
  ],
  [
    "halves",
    (_, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0),
        () => void (n.value = n.value.floorDiv(2)),
      ),
  ],
  [
    "searches by bisection",
    ({ x }, { n, low }) =>
      tl.whileLoop(
        () => low.value.lt(n.value),
        () => {
          const middle = low.value.add(n.value).floorDiv(2);
          tl.when(tl.load(x.at(middle)).gt(0), () => void (low.value = middle.add(1))).otherwise(
            () => void (n.value = middle),
          );
        },
      ),
  ],
  [
    "stops early",
    ({ x }, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0).and(tl.load(x.at(n.value)).gt(0)),
        () => void (n.value = n.value.sub(1)),
      ),
  ],
])("a loop that %s ends", async (_, loop) => {
  expect(await verdictOf(loop)).toBe("proved");
});

test.each<[string, (args: Args, state: any) => void]>([
  [
    "changes nothing that its condition reads",
    (_, { n, low }) =>
      tl.whileLoop(
        () => n.value.gt(0),
        () => void (low.value = low.value.add(1)),
      ),
  ],
  [
    "moves away from its end",
    (_, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0),
        () => void (n.value = n.value.add(1)),
      ),
  ],
  [
    "may step over the number that ends it",
    (_, { n }) =>
      tl.whileLoop(
        () => n.value.ne(0),
        () => void (n.value = n.value.sub(2)),
      ),
  ],
  [
    "moves in one arm only",
    ({ x }, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0),
        () => void tl.when(tl.load(x.at(n.value)).gt(0), () => void (n.value = n.value.sub(1))),
      ),
  ],
  [
    "has a search whose middle may stay",
    ({ x }, { n, low }) =>
      tl.whileLoop(
        () => low.value.lt(n.value),
        () => {
          const middle = low.value.add(n.value).floorDiv(2);
          tl.when(tl.load(x.at(middle)).gt(0), () => void (low.value = middle)).otherwise(
            () => void (n.value = middle),
          );
        },
      ),
  ],
  [
    "waits for another program",
    ({ flags }) =>
      tl.whileLoop(
        () => tl.atomicAdd(flags.at(0), 0).eq(0),
        () => {},
      ),
  ],
  [
    "goes on if either of two numbers is positive",
    ({ start }, { n }) =>
      tl.whileLoop(
        () => n.value.gt(0).or(start.gt(7)),
        () => void (n.value = n.value.sub(1)),
      ),
  ],
])("nothing shows that a loop ends that %s", async (_, loop) => {
  expect(await verdictOf(loop)).toBe("unknown");
  expect(proofSummary(await proofOf(loop))).toMatch(/; nothing shows that the while loop of line \d+ ends/);
});

// ---- random loops ---------------------------------------------------------------------------------------------------

/** An integer of the state `a` and `b`, as numbers or as handles. */
type Step = <T>(a: T, b: T, ops: Ops<T>) => T;

interface Ops<T> {
  readonly add: (x: T, y: T | number) => T;
  readonly sub: (x: T, y: T | number) => T;
  readonly half: (x: T) => T;
  readonly least: (x: T, y: T | number) => T;
  readonly greatest: (x: T, y: T | number) => T;
}

const onNumbers: Ops<number> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  half: (x) => Math.trunc(x / 2),
  least: Math.min,
  greatest: Math.max,
};
const onHandles: Ops<any> = {
  add: (x, y) => x.add(y),
  sub: (x, y) => x.sub(y),
  half: (x) => x.floorDiv(2),
  least: (x, y) => tl.minimum(x, y),
  greatest: (x, y) => tl.maximum(x, y),
};

const STEPS: readonly Step[] = [
  (a) => a,
  (a, b) => b,
  (a, _, { add }) => add(a, 1),
  (a, _, { sub }) => sub(a, 1),
  (a, _, { sub }) => sub(a, 3),
  (a, b, { sub }) => sub(b, 1),
  (a, _, { half }) => half(a),
  (a, b, { half, add }) => half(add(a, b)),
  (a, b, { half, add }) => add(half(add(a, b)), 1),
  (a, b, { least }) => least(a, b),
  (a, b, { least, add }) => least(add(a, 2), b),
  (a, _, { greatest, sub }) => greatest(sub(a, 2), 0),
];

interface Loop {
  /** The loop goes on while the first is less than the second. */
  readonly bounds: readonly [Step, Step];
  readonly then: readonly [Step, Step];
  /** Instead, where the condition of a branch is false. */
  readonly otherwise: readonly [Step, Step];
}

function drawLoop(seed: number): Loop {
  const random = uniform(seed);
  const step = () => STEPS[Math.floor(random() * STEPS.length)]!;
  return { bounds: [step(), step()], then: [step(), step()], otherwise: [step(), step()] };
}

/** True if the loop ends, whichever arms it takes. */
function ends({ bounds: [low, high], then, otherwise }: Loop, start: readonly [number, number], arms: () => boolean) {
  let [a, b] = start;
  for (let i = 0; i < 2_000; i++) {
    if (low(a, b, onNumbers) >= high(a, b, onNumbers)) return true;
    const [x, y] = arms() ? then : otherwise;
    [a, b] = [x(a, b, onNumbers), y(a, b, onNumbers)];
  }
  return false;
}

/** True if the loop is shown to end, where its arithmetic is exact. */
function isShownToEnd({ bounds: [low, high], then, otherwise }: Loop): boolean {
  const k = kernel("k", { params, grid: ({ N }) => [N], config: {} }, ({ x, start }) => {
    const [a, b] = [tl.mut(start.floorDiv(3)), tl.mut(start.add(0))];
    tl.whileLoop(
      () => low(a.value, b.value, onHandles).lt(high(a.value, b.value, onHandles)),
      () => {
        const [before, limit] = [a.value, b.value];
        const set = ([first, second]: readonly [Step, Step]) => {
          const [next, nextLimit] = [first(before, limit, onHandles), second(before, limit, onHandles)];
          [a.value, b.value] = [next, nextLimit];
        };
        tl.when(tl.load(x.at(0)).gt(0), () => set(then)).otherwise(() => set(otherwise));
      },
    );
  });
  const ir = trace(definitionOf(k));
  return withTermTable(() => withMonomials(() => modelOf(ir, [], {}).whileLoops.every((loop) => loop.ends)));
}

test("what is shown to end ends, from every start", { timeout: 600_000 }, () => {
  const first = seedOfRun() * 1000;
  let proved = 0;
  for (let seed = first; seed < first + drawnCount("random while loops", 640, 80); seed++) {
    const loop = drawLoop(seed);
    if (!isShownToEnd(loop)) continue;
    proved++;
    const random = uniform(seed);
    for (let start = 0; start < 60; start++)
      for (const arms of [() => true, () => false, () => random() < 0.5])
        expect({ seed, start, ends: ends(loop, [Math.floor(start / 3), start], arms) }).toMatchObject({ ends: true });
  }
  expect(proved).toBeGreaterThan(0);
});

/** A loop that ends only if the element that it copies is large. */
const loopOnData = kernel(
  "loop_on_data",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK, N }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const state = tl.mut(tl.full([], 0, tl.int32));
    tl.whileLoop(
      () => state.value.lt(N),
      () => {
        tl.store(y.at(i), tl.load(x.at(i)));
        state.value = tl.load(y.at(0)).to(tl.int32);
      },
    );
  },
);

test("a search for counterexamples ends although a loop does not", { timeout: 120_000 }, async () => {
  const compiled = await build(loopOnData);
  const evaluate = () =>
    compiled.evaluate({ sizes: { N: 40 }, dtypes: {}, config: 0, seed: 1 }, { maxIterations: 100 });
  expect(evaluate).toThrow("this loop does not end within 100 iterations");
  const kinds = compiled.proof().obligations.map(({ verdict }) => verdict.kind);
  expect(kinds).not.toContain("refuted");
});
