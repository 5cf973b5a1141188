/** What a case costs, estimated before it runs: loops whose turns follow from sizes are counted, others are guessed. */
import { expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

/** The work of one program with a body, and how the estimate came about. */
function work(body: (args: any) => void, N = 1024) {
  const built = kernel(
    "looping",
    { params: { x: tensor(tl.int32, ["N"]), y: tensor.inout(tl.int32, ["N"]) }, grid: () => [1] } as any,
    body as any,
  );
  return compile(built).work({ sizes: { N }, dtypes: {}, config: 0, seed: 0 });
}

const add = ({ y }: any): void => tl.store(y.at(0), tl.load(y.at(0)).add(1));

/** A loop that takes as many turns as `turns` says. */
const halving =
  (turns: (args: any) => any, body = add) =>
  (args: any) => {
    const left: { value: any } = tl.mut(turns(args));
    tl.whileLoop(
      () => left.value.gt(0),
      () => {
        body(args);
        left.value = left.value.floorDiv(2);
      },
    );
  };

test("a while loop whose state follows from sizes is followed", () => {
  const [few, more] = [
    work(halving(({ N }) => N)),
    work(
      halving(({ N }) => N),
      2 ** 20,
    ),
  ];
  expect([few.guessed, more.guessed]).toEqual([undefined, undefined]);
  // 11 turns and 21.
  expect(more.lanes / few.lanes).toBeCloseTo(21 / 11, 0);
});

test("one that data ends counts as many turns as the longest size, and says so", () => {
  const guessed = work(halving(({ x }) => tl.load(x.at(0))));
  expect(guessed.guessed).toBe(true);
  expect(guessed.lanes).toBeGreaterThan(50 * work(halving(({ N }) => N)).lanes);
});

test("state that a loop or an unknown branch has changed is not known after it", () => {
  const afterLoop = halving(({ N }) => {
    const count = tl.mut(tl.full([], 1, tl.int32));
    for (const _ of tl.range(0, N)) count.value = count.value.add(1);
    return count.value;
  });
  const afterBranch = halving(({ x }) => {
    const count = tl.mut(tl.full([], 1, tl.int32));
    tl.when(tl.load(x.at(0)).gt(0), () => void (count.value = count.value.add(1)));
    return count.value;
  });
  expect([work(afterLoop).guessed, work(afterBranch).guessed]).toEqual([true, true]);
});

test("a loop that never ends is not followed for ever", () => {
  const endless = (args: any) => {
    tl.whileLoop(
      () => args.N.gt(0),
      () => add(args),
    );
  };
  expect(work(endless).guessed).toBe(true);
});

test("a for loop with loaded bounds is guessed, one over a size is not", () => {
  const until = (end: (args: any) => any) => (args: any) => {
    for (const _ of tl.range(0, end(args))) add(args);
  };
  expect(work(until(({ N }) => N)).guessed).toBeUndefined();
  expect(work(until(({ x }) => tl.load(x.at(0)))).guessed).toBe(true);
});

test("a loop over a row of a partition takes as many turns as the mean row has blocks", () => {
  const rows = (params: object, TOTAL: number) => {
    const built = kernel(
      "rows",
      {
        params: { x: tensor(tl.float32, ["TOTAL"]), y: tensor.inout(tl.float32, ["R"]), ...params },
        dims: { EDGES: ({ R }: any) => R.add(1) },
        grid: ({ R }: any) => [R],
      } as any,
      (({ x, y, starts }: any) => {
        const row = tl.inBounds(tl.programId(0));
        const [start, end] = [row, tl.inBounds(row.add(1))].map((at) => tl.load(starts.at(at)) as any);
        for (const block of tl.range(0, tl.cdiv(end.sub(start), 32))) {
          const i = start.add((block as any).mul(32)).add(tl.arange(0, 32));
          tl.store(y.at(row), tl.load(y.at(row)).add(tl.sum(tl.load(x.at(i)), 0)) as any);
        }
      }) as any,
    );
    return compile(built).work({ sizes: { TOTAL, R: 10 }, dtypes: {}, config: 0, seed: 0 });
  };
  const declared = (TOTAL: number) =>
    rows({ starts: tensor(tl.int32, ["EDGES"], { partition: "TOTAL" } as any) }, TOTAL);
  const undeclared = rows({ starts: tensor(tl.int32, ["EDGES"]) }, 6400);
  expect([declared(6400).guessed, undeclared.guessed]).toEqual([true, true]);
  // 20 turns and 10 in each of 10 programs; 6,400 where nothing is declared.
  expect(declared(6400).lanes / declared(3200).lanes).toBeCloseTo(2, 0);
  expect(undeclared.lanes).toBeGreaterThan(200 * declared(6400).lanes);
  const bounded = rows({ starts: tensor(tl.int32, ["EDGES"], { range: [0, 2 ** 31] } as any) }, 6400);
  expect(bounded.lanes).toBeLessThanOrEqual(undeclared.lanes);
});

test("a search between two sizes counts no more turns than they are apart", () => {
  const search =
    (end: number) =>
    ({ x, y, N }: any) => {
      const [left, right] = [tl.mut(tl.full([], 0, tl.int32)), tl.mut(tl.full([], end, tl.int32))];
      tl.whileLoop(
        () => left.value.lt(right.value),
        () => {
          const middle = left.value.add(right.value).floorDiv(2);
          tl.when(tl.load(x.at(middle)).lt(N), () => void (left.value = middle.add(1))).otherwise(
            () => void (right.value = middle),
          );
          add({ y });
        },
      );
    };
  const [near, far] = [work(search(3)), work(search(700))];
  expect(near.guessed).toBe(true);
  expect(near.lanes).toBeLessThan(far.lanes / 50);
});

test("the start of a range that nothing is known of is 0, and a bound is known where one operand is", () => {
  const pages = ({ x, y }: any) => {
    const loaded = tl.load(x.at(0));
    const start = tl.when(loaded.gt(3), () => loaded).otherwise(() => loaded.mul(2));
    for (const _ of tl.range(start, tl.minimum(loaded, 5))) add({ y });
  };
  expect(work(pages).lanes).toBeLessThan(100);
});

test("a loop that data ends counts as many turns as it declares, and is no guess", () => {
  const loaded = ({ x }: any): any => tl.load(x.at(0));
  const halved = (most: unknown) =>
    work((args) => {
      const left: { value: any } = tl.mut(loaded(args));
      tl.whileLoop(
        () => left.value.gt(0),
        () => {
          add(args);
          left.value = left.value.floorDiv(2);
        },
        { most } as never,
      );
    });
  const counted = (most: (args: any) => unknown, N = 1024) =>
    work((args) => {
      for (const _ of tl.range(0, loaded(args), 1, { most: most(args) } as never)) add(args);
    }, N);
  expect([halved(40).guessed, counted(() => 40).guessed, halved(undefined).guessed]).toEqual([
    undefined,
    undefined,
    true,
  ]);
  expect(halved(40).lanes / halved(20).lanes).toBeCloseTo(2, 0);
  expect(counted(() => 40).lanes / counted(() => 20).lanes).toBeCloseTo(2, 0);
  // Of a size, and of what is computed from one.
  expect(counted(({ N }) => N, 400).lanes / counted(({ N }) => N, 200).lanes).toBeCloseTo(2, 0);
  expect(counted(({ N }) => tl.cdiv(N, 4), 400).guessed).toBe(undefined);
});

test("a bound that divides by zero leaves the cost a number", () => {
  const counted = work(({ N, ...args }) => {
    for (const _ of tl.range(0, N.sub(tl.programId(0).floorDiv(N).mul(N)))) add(args);
  }, 0);
  expect([counted.guessed, Number.isFinite(counted.lanes)]).toEqual([true, true]);
});
