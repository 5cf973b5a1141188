/** Kernels whose rows lie between offsets that a tensor is declared to hold, as their authors write them. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";

const spec = {
  params: {
    offsets: tensor(tl.int32, ["EDGES"], { partition: "TOTAL" }),
    y: tensor.out(tl.float32, ["TOTAL"]),
    BLOCK: constexpr(),
  },
  grid: ({ EDGES }: any) => [EDGES.sub(1)],
  config: { BLOCK: 16 },
};

/** What is not proved, as `property verdict`. */
async function open(body: (args: any) => void): Promise<readonly string[]> {
  const { obligations } = (
    await build(kernel("rows", spec as never, ((args: any) => void body(args)) as never))
  ).proof();
  return obligations.flatMap(({ property, verdict }) =>
    verdict.kind === "proved" ? [] : [`${property} ${verdict.kind}`],
  );
}

/** The ends of a row; the views mask what no author claims. */
function ends({ offsets }: any): readonly [any, any] {
  const row = tl.programId(0);
  return [tl.load(offsets.at(row)), tl.load(offsets.at(row.add(1)))];
}

describe("each program writes its row", () => {
  const lanes = (BLOCK: any) => tl.arange(0, BLOCK);

  test("from its start to its end", async () => {
    const body = (args: any) => {
      const { y, BLOCK } = args;
      const [start, end] = ends(args);
      for (const first of tl.range(start, end, BLOCK)) {
        const i = first.add(lanes(BLOCK));
        tl.store(y.at(i), 1, { mask: i.lt(end) });
      }
    };
    expect(await open(body)).toEqual([]);
  });

  const counted = (isMasked: boolean, less: number) => (args: any) => {
    const { y, BLOCK } = args;
    const [start, end] = ends(args);
    const length = end.sub(start);
    for (const first of tl.range(0, length.sub(less), BLOCK)) {
      const i = first.add(lanes(BLOCK));
      tl.store(y.at(start.add(i)), 1, isMasked ? { mask: i.lt(length) } : {});
    }
  };

  test("by its length, counted from its start", async () => {
    expect(await open(counted(true, 0))).toEqual([]);
  });

  test("unless a block reaches into the next row, or the last element is left out", async () => {
    expect(await open(counted(false, 0))).toEqual(["race refuted"]);
    expect(await open(counted(true, 1))).toContain("coverage refuted");
  });

  test("by its number of blocks, which is never negative", async () => {
    const body = (blocks: (length: any, BLOCK: any) => any) => (args: any) => {
      const { y, BLOCK } = args;
      const [start, end] = ends(args);
      const length = end.sub(start);
      for (const block of tl.range(blocks(length, BLOCK))) {
        const i = block.mul(BLOCK).add(lanes(BLOCK));
        tl.store(y.at(start.add(i)), 1, { mask: i.lt(length) });
      }
    };
    expect(await open(body((length, BLOCK) => tl.cdiv(length, BLOCK)))).toEqual([]);
    expect(await open(body((length, BLOCK) => length.floorDiv(BLOCK)))).toContain("coverage refuted");
  });

  test("but not what lies between two rows in the wrong order", async () => {
    const body = (args: any) => {
      const { y } = args;
      const [start, end] = ends(args);
      tl.store(y.at(start.sub(end).floorDiv(2).abs()), 1);
    };
    expect(await open(body)).toContain("dividend refuted");
  });
});
