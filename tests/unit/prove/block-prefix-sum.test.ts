/** Programs that share out the blocks of all rows of a partition, as if they were one long list. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { sampledTests } from "../../support/sampled-tests.js";

sampledTests("prefix sums of blocks", "src/prove");

const BLOCKS = ({ TOTAL, GROUPS, N, BLOCK_M, BLOCK_N }: any) =>
  tl.cdiv(TOTAL, BLOCK_M).add(GROUPS).mul(tl.cdiv(N, BLOCK_N));

const right = {
  partition: { ends: "TOTAL" } as string | { readonly ends: string } | undefined,
  grid: (sizes: any) => [tl.minimum(sizes.PROGRAMS, BLOCKS(sizes))],
  first: (program: any) => program,
  endOf: (ends: any, group: any) => tl.load(ends.at(group)),
  tiles: (rows: any, { BLOCK_M, tilesN }: any) => tl.cdiv(rows, BLOCK_M).mul(tilesN),
  step: ({ PROGRAMS }: any) => PROGRAMS,
  mask: (rm: any, rows: any) => rm.lt(rows),
  visited: (left: any, { PROGRAMS }: any) => tl.cdiv(tl.maximum(left, 0), PROGRAMS),
  next: (next: any, visited: any, tiles: any, { PROGRAMS }: any) => next.add(visited.mul(PROGRAMS)).sub(tiles),
  start: (_start: any, end: any) => end,
};

type Parts = typeof right;

/** What is not proved, as `property verdict`; `parts` are those that differ from the right ones. */
async function open(parts: Partial<Parts> = {}): Promise<readonly string[]> {
  const with_ = { ...right, ...parts };
  const rows = kernel(
    "rows",
    {
      params: {
        ends: tensor(tl.int32, ["GROUPS"], { partition: with_.partition }),
        c: tensor.out(tl.float32, ["TOTAL", "N"]),
        PROGRAMS: constexpr.int({ default: 3, range: [1, 1024] }),
        BLOCK_M: constexpr(),
        BLOCK_N: constexpr(),
      },
      grid: with_.grid,
      config: { BLOCK_M: 16, BLOCK_N: 8 },
    } as never,
    (({ ends, c, N, GROUPS, PROGRAMS, BLOCK_M, BLOCK_N }: any) => {
      const tilesN = tl.cdiv(N, BLOCK_N);
      const sizes = { PROGRAMS, BLOCK_M, tilesN };
      const next = tl.mut(with_.first(tl.programId(0)));
      const start = tl.mut(0);
      for (const group of tl.range(GROUPS)) {
        const end = with_.endOf(ends, group);
        const rows = end.sub(start.value);
        const tiles = with_.tiles(rows, sizes);
        for (const tile of tl.range(next.value, tiles, with_.step(sizes))) {
          const rm = tile.floorDiv(tilesN).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
          const rn = tile.mod(tilesN).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
          const values = tl.full([BLOCK_M, BLOCK_N], 1, tl.float32).add(group.to(tl.float32));
          tl.store(c.at(start.value.add(rm), rn), values, { mask: with_.mask(rm, rows).col });
        }
        const visited = with_.visited(tiles.sub(next.value), sizes);
        next.value = with_.next(next.value, visited, tiles, sizes);
        start.value = with_.start(start.value, end);
      }
    }) as never,
  );
  const { obligations } = (await build(rows)).proof();
  return obligations.flatMap(({ property, verdict }) =>
    verdict.kind === "proved" ? [] : [`${property} ${verdict.kind}`],
  );
}

test("each block of each row is written by one program", async () => {
  expect(await open()).toEqual([]);
});

describe("nothing of it is taken for granted:", () => {
  test.each<[string, Partial<Parts>, string]>([
    [
      "the grid leaves out the blocks that rows fill partly",
      {
        grid: ({ TOTAL, N, BLOCK_M, BLOCK_N, PROGRAMS }: any) => [
          tl.minimum(PROGRAMS, tl.cdiv(TOTAL, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))),
        ],
      },
      "coverage",
    ],
    [
      "the grid counts two groups less",
      { grid: (sizes: any) => [tl.minimum(sizes.PROGRAMS, BLOCKS(sizes).sub(tl.cdiv(sizes.N, sizes.BLOCK_N).mul(2)))] },
      "coverage",
    ],
    ["all programs begin with the first block", { first: (program: any) => program.mul(0) }, "race"],
    ["a program skips its first block", { first: (program: any) => program.add(1) }, "coverage"],
    [
      "a program's next block is not counted from the next row",
      { next: (next: any, visited: any, _tiles: any, { PROGRAMS }: any) => next.add(visited.mul(PROGRAMS)) },
      "coverage",
    ],
    [
      "one stride less is counted as visited",
      { visited: (left: any, { PROGRAMS }: any) => tl.maximum(left, 0).floorDiv(PROGRAMS) },
      "race",
    ],
    [
      "what a program visits is counted in blocks",
      { next: (next: any, visited: any, tiles: any) => next.add(visited).sub(tiles) },
      "race",
    ],
    ["the loop takes every block", { step: () => 1 as never }, "race"],
    ["a block reaches into the next row", { mask: (rm: any) => rm.ge(0) }, "race"],
    ["a row's last element is left out", { mask: (rm: any, rows: any) => rm.lt(rows.sub(1)) }, "coverage"],
    [
      "only whole blocks are counted",
      { tiles: (rows: any, { BLOCK_M, tilesN }: any) => rows.floorDiv(BLOCK_M).mul(tilesN) },
      "coverage",
    ],
    ["rows start at the first", { start: (start: any) => start }, "race"],
    [
      "an end is that of the row before",
      { endOf: (ends: any, group: any) => tl.load(ends.at(group.sub(1))) },
      "coverage",
    ],
    ["ends have only a range", { partition: undefined }, "race"],
  ])("%s", async (_, parts, wrong) => {
    expect((await open(parts)).join()).toContain(wrong);
  });
});
