/** State of loops that no formula gives, or that is what the iteration before made of it. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import type { Certificate } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const params = {
  x: tensor(tl.float32, ["N"]),
  y: tensor.out(tl.float32, ["M"]),
  BLOCK: constexpr(),
};
const blocks = ({ M, BLOCK }: any) => [tl.cdiv(M, BLOCK)];

async function certificate(body: (args: any) => void, more: object = {}): Promise<Certificate> {
  const spec = { params, grid: blocks, config: { BLOCK: 16 }, ...more };
  return (await build(kernel("stateful", spec as never, ((args: any) => void body(args)) as never))).proof();
}

/** What is not proved, as `property verdict`. */
async function open(body: (args: any) => void, more: object = {}): Promise<readonly string[]> {
  const { obligations } = await certificate(body, more);
  return obligations.flatMap(({ property, verdict }) =>
    verdict.kind === "proved" || property === "overflow" ? [] : [`${property} ${verdict.kind}`],
  );
}
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

describe("what the iteration before made of state", () => {
  const walks =
    (begin: number, next: (iteration: any) => any) =>
    ({ x, y, N, BLOCK }: any) => {
      const before = tl.mut(begin);
      const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
      for (const iteration of tl.range(0, N)) {
        sum.value = sum.value.add(tl.load(x.at(tl.inBounds(before.value))));
        before.value = next(iteration);
      }
      tl.store(y.at(index(BLOCK)), sum.value);
    };

  test("is known in every iteration, and before the first", async () => {
    expect(await open(walks(0, (iteration) => iteration))).toEqual([]);
    expect(await open(walks(0, (iteration) => tl.maximum(iteration.sub(3), 0)))).toEqual([]);
  });

  test("may be wrong in the first iteration, or in those that follow", async () => {
    expect(await open(walks(-1, (iteration) => iteration))).toEqual(["bounds refuted"]);
    expect(await open(walks(0, (iteration) => iteration.add(2)))).toEqual(["bounds refuted"]);
    expect(await open(walks(0, (iteration) => iteration.sub(1)))).toEqual(["bounds refuted"]);
  });

  test("is what it was where there is no iteration", async () => {
    const body = ({ x, y, N, BLOCK }: any) => {
      const last = tl.mut(0);
      for (const iteration of tl.range(0, N)) last.value = iteration;
      tl.store(y.at(index(BLOCK)), tl.load(x.at(tl.inBounds(last.value))));
    };
    expect(await open(body)).toEqual(["bounds refuted"]);
    expect(await open(body, { requires: ({ N }: any) => [N.ge(1)] })).toEqual([]);
  });
});

describe("state that keeps within bounds", () => {
  const search =
    (half: (low: any, high: any) => any, above = 1) =>
    ({ x, y, N, BLOCK }: any) => {
      const [low, high] = [tl.mut(tl.zeros([BLOCK], tl.int32)), tl.mut(tl.zeros([BLOCK], tl.int32).add(N))];
      for (const _ of tl.range(20)) {
        const middle = half(low.value, high.value);
        const isOpen = low.value.lt(high.value);
        const value = tl.load(x.ptr.add(middle.mul(x.stride(0))), { mask: isOpen, other: 0 });
        const isRight = value.lt(0.5).and(isOpen);
        low.value = tl.where(isRight, middle.add(above), low.value);
        high.value = tl.where(isRight, high.value, tl.where(isOpen, middle, high.value));
      }
      tl.store(y.at(index(BLOCK)), low.value.to(tl.float32));
    };
  const middle = (low: any, high: any) => low.add(high).floorDiv(2);

  test("is found of a binary search, which needs no mask besides", async () => {
    const { obligations } = await certificate(search(middle));
    // The bounds hold of the integers. The sum of two numbers up to N wraps where N is large.
    for (const property of ["bounds", "dividend"]) {
      const left = obligations.filter((each) => each.property === property && each.verdict.kind !== "proved");
      expect(left.map(({ verdict }) => verdict)).toEqual([
        {
          kind: "unknown",
          missing: expect.stringMatching(/^it holds if the arithmetic of line \d+ stays in int32/),
          isLemma: true,
        },
      ]);
    }
  });

  test("is not found where a step leaves them", async () => {
    expect(await open(search((low, high) => middle(low, high).add(1)))).toContain("bounds refuted");
    expect(await open(search((low, high) => middle(low, high).sub(1)))).not.toEqual([]);
    expect(await open(search(middle, -1))).not.toEqual([]);
  });

  test("is found of a number that falls by what it has at most", async () => {
    const body =
      (most: (left: any, step: any) => any) =>
      ({ x, y, N, BLOCK }: any) => {
        const left: any = tl.mut(N);
        const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
        for (const iteration of tl.range(0, 8)) {
          sum.value = sum.value.add(tl.load(x.at(left.value.mod(7).add(tl.arange(0, BLOCK)))));
          left.value = left.value.sub(most(left.value, iteration));
        }
        tl.store(y.at(index(BLOCK)), sum.value);
      };
    expect(await open(body((left, step) => tl.minimum(left, step)))).toEqual([]);
    expect(await open(body((_, step) => step))).toContain("dividend refuted");
  });
});
