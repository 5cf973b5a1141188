/** What inputs are declared to hold says nothing of inputs that hold nothing. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";

const BLOCK = constexpr();
const params = {
  x: tensor(tl.float32, ["M"]),
  ids: tensor(tl.int32, ["N"], { range: [0, "M"] }),
  y: tensor.out(tl.float32, ["L"]),
  BLOCK,
};
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

/** What is not proved, as `property verdict`, for `M` elements that `N` indices point into. */
async function open(body: (args: any) => void, more: object = {}): Promise<readonly string[]> {
  const spec = { params, grid: ({ L, BLOCK }: any) => [tl.cdiv(L, BLOCK)], config: { BLOCK: 16 }, ...more };
  const { obligations } = (
    await build(kernel("picks", spec as never, ((args: any) => void body(args)) as never))
  ).proof();
  return obligations.flatMap(({ property, verdict }) =>
    verdict.kind === "proved" ? [] : [`${property} ${verdict.kind}`],
  );
}

describe("an index that is loaded", () => {
  const picks =
    (index: (ids: any, i: any, N: any) => any) =>
    ({ x, ids, y, N, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(tl.inBounds(index(ids, i, N)))));
    };
  const masked = picks((ids, i) => tl.load(ids.at(i)));

  test("is the first one where a mask left it out, which no element has if there are no indices", async () => {
    expect(await open(masked)).toEqual(["bounds refuted"]);
    expect(await open(picks((ids, i, N) => tl.load(ids.at(i), { mask: i.lt(N), other: 0 })))).toEqual([
      "bounds refuted",
    ]);
    expect(await open(masked, { requires: ({ M }: any) => [M.ge(1)] })).toEqual([]);
  });

  test("has an element to point to where programs and indices are as many", async () => {
    expect(await open(masked, { grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)] })).toEqual(["coverage refuted"]);
    const same = { params: { ...params, y: tensor.out(tl.float32, ["N"]) } };
    expect(await open(masked, { ...same, grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)] })).toEqual([]);
  });

  test("in one arm says nothing of the other", async () => {
    const body = ({ x, ids, y, N, BLOCK }: any) => {
      const i = index(BLOCK);
      tl.when(N.gt(0), () => {
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.load(ids.at(tl.inBounds(0)))))));
      }).otherwise(() => {
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(0))));
      });
    };
    expect(await open(body)).toEqual(["bounds refuted"]);
  });
});

test("a table whose slots lie in pages says that pages are not empty", async () => {
  const of = (role: any) => ({
    k: tensor(tl.float32, ["N", "D"]),
    slots: tensor(tl.int64, ["N"], { range: ({ PAGES, PAGE }: any) => [0, PAGES.mul(PAGE)] }),
    cache: role(tl.float32, ["PAGES", "PAGE", "D"]),
    WIDTH: constexpr.launch(({ D }: any) => tl.nextPowerOf2(D)),
  });
  const body = ({ k, slots, cache, PAGE, WIDTH }: any) => {
    const token = tl.inBounds(tl.programId(0));
    const slot = tl.load(slots.at(token));
    const d = tl.arange(0, WIDTH);
    const [page, place] = [tl.inBounds(slot.floorDiv(PAGE)), tl.inBounds(slot.mod(PAGE))];
    tl.store(tl.trusted(cache.at(page, place, d), "each slot is taken once"), tl.load(k.at(token, d)));
  };
  const more = { params: of(tensor.inout), grid: ({ N }: any) => [N], config: {} };
  expect(await open(body, more)).toEqual(["race waived"]);
});

test("the columns of a matrix that is updated are not 0, since a launch writes something", async () => {
  const matrix = {
    k: tensor(tl.float32, ["N", "H", "D"]),
    cache: tensor.inout(tl.float32, ["N", "H", "D"]),
    WIDTH: constexpr.launch(({ H, D }: any) => tl.nextPowerOf2(H.mul(D))),
  };
  const body = ({ k, cache, D, WIDTH }: any) => {
    const i = tl.arange(0, WIDTH);
    const at = [tl.programId(0), i.floorDiv(D), i.mod(D)] as const;
    tl.store(cache.gather(...at), tl.load(k.gather(...at)));
  };
  expect(await open(body, { params: matrix, grid: ({ N }: any) => [N], config: {} })).toEqual([]);
});
