/** Whether programs, or lanes of one store, meet at an element, for every shape. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import type { Obligation } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const BLOCK = constexpr();
const spec = {
  params: { y: tensor.inout(tl.float32, ["N"]), BLOCK },
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
  config: { BLOCK: 16 },
};
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

async function racesOf(body: (args: any) => void, more: object = {}): Promise<readonly Obligation[]> {
  const { obligations } = (
    await build(kernel("meeting", { ...spec, ...more } as never, ((args: any) => void body(args)) as never))
  ).proof();
  return obligations.filter(({ property }) => property === "race");
}
const kinds = async (body: (args: any) => void, more?: object) =>
  (await racesOf(body, more)).map(({ verdict }) => verdict.kind);
const codes = async (body: (args: any) => void, more?: object) =>
  (await racesOf(body, more)).map(({ verdict }) => (verdict.kind === "refuted" ? verdict.finding.code : verdict.kind));

describe("programs", () => {
  test("that write blocks of their own do not meet; those whose blocks overlap do", async () => {
    const apart = ({ y, BLOCK }: any) => tl.store(y.at(index(BLOCK)), 1);
    expect(await kinds(apart)).toEqual(["proved"]);
    const overlap = ({ y, BLOCK }: any) =>
      tl.store(y.at(tl.programId(0).mul(BLOCK.sub(1)).add(tl.arange(0, BLOCK))), 1);
    expect(await codes(overlap)).toEqual(["race"]);
  });

  test("of an axis that no index depends on meet, unless one of them alone writes", async () => {
    const grid = ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK), 2];
    expect(await codes(({ y, BLOCK }) => tl.store(y.at(index(BLOCK)), 1), { grid })).toEqual(["race"]);
    const guarded = ({ y, BLOCK }: any) => tl.when(tl.programId(1).eq(1), () => tl.store(y.at(index(BLOCK)), 1));
    expect(await kinds(guarded, { grid })).toEqual(["proved"]);
  });

  test("that walk over tiles do not meet, unless they visit a tile again", async () => {
    const walking =
      (step: (programs: any) => any) =>
      ({ y, N, BLOCK }: any) => {
        for (const tile of tl.range(tl.programId(0), tl.cdiv(N, BLOCK), step(tl.numPrograms(0))))
          tl.store(y.at(tile.mul(BLOCK).add(tl.arange(0, BLOCK))), 1);
      };
    expect(
      await kinds(
        walking((programs) => programs),
        { grid: () => [3] },
      ),
    ).toEqual(["proved"]);
    expect(
      await codes(
        walking(() => 1),
        { grid: () => [3] },
      ),
    ).toEqual(["race"]);
  });

  test("that read what others write meet them, and those that read their own do not", async () => {
    const shifted =
      (by: number) =>
      ({ y, BLOCK }: any) => {
        const value = tl.load(y.at(index(BLOCK).add(by)));
        tl.store(y.at(index(BLOCK)), value);
      };
    expect(await kinds(shifted(0))).toEqual(["proved", "proved"]);
    expect(await codes(shifted(1))).toContain("race");
  });

  test("may meet in atomics, but not in an atomic and a store", async () => {
    const counting =
      (stores: boolean) =>
      ({ y, BLOCK }: any) => {
        tl.atomicAdd(y.at(tl.arange(0, BLOCK)), 1);
        if (stores) tl.store(y.at(index(BLOCK)), 1);
      };
    expect(await kinds(counting(false))).toEqual([]);
    expect(await codes(counting(true))).toEqual(["race"]);
  });

  test("are not proved apart where an index may leave its axis, which reaches other elements", async () => {
    const leaving = ({ y, BLOCK }: any) => {
      const [row, column] = [tl.programId(0), tl.arange(0, BLOCK)];
      tl.store(y.ptr.add(row.mul(y.stride(0)).add(column.mul(y.stride(1)))), 1);
    };
    const params = { ...spec.params, y: tensor.inout(tl.float32, ["M", "N"]) };
    expect(await kinds(leaving, { params, grid: ({ M }: any) => [M] })).not.toContain("proved");
  });

  test("that write where loaded values say are unknown, as these may repeat", async () => {
    const scattered = ({ y, ids, BLOCK }: any) =>
      tl.store(y.at(tl.load(ids.at(index(BLOCK)))), index(BLOCK).to(tl.float32));
    const params = { ...spec.params, ids: tensor(tl.int32, ["N"]) };
    const [race] = await racesOf(scattered, { params });
    expect(race?.verdict).toMatchObject({ kind: "unknown", missing: expect.stringContaining("what ids holds") });
  });
});

describe("lanes of one store", () => {
  const grid = () => [1];

  test("that write several values to one element are found", async () => {
    const body = ({ y, BLOCK }: any) => {
      const lanes = tl.arange(0, BLOCK);
      tl.store(y.at(lanes.floorDiv(2)), lanes.to(tl.float32));
    };
    expect(await codes(body, { grid })).toEqual(["lane-conflict"]);
  });

  test("that write one value together are right", async () => {
    const body = ({ y, BLOCK }: any) => tl.store(y.at(tl.arange(0, BLOCK).floorDiv(2)), 1);
    expect(await kinds(body, { grid })).toEqual(["proved"]);
  });

  test("of which one alone is active are right", async () => {
    const body = ({ y, N, BLOCK }: any) => {
      const lanes = tl.arange(0, BLOCK);
      const mask = lanes.eq(3).and(N.gt(0));
      tl.store(y.ptr.add(lanes.mul(0)), lanes.to(tl.float32), { mask });
    };
    expect(await kinds(body, { grid, requires: ({ N }: any) => [N.ge(1)] })).toEqual(["proved"]);
  });
});
