/** A requirement that holds of every launch anyway is pointed out; one that a launch may break is not. */
import { expect, test } from "vitest";
import { constexpr, kernel, op, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofSummary } from "../../../src/runtime/report/proof-text.js";
import { lineOf } from "../../support/evaluate.js";

async function needless(requires: (args: any) => readonly unknown[], more: object = {}): Promise<readonly number[]> {
  const rows = kernel(
    "rows",
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
        ...more,
      },
      grid: ({ M }: any) => [M],
      requires,
    } as never,
    (({ x, y, BLOCK }: any) => {
      const cols = tl.arange(0, BLOCK);
      tl.store(y.at(tl.programId(0), cols), tl.load(x.at(tl.programId(0), cols)));
    }) as never,
  );
  const proof = (await build(rows)).proof();
  const found = proof.obligations.filter(({ property }) => property === "requirement");
  // Several stand on one line: the column says which is meant.
  const said = proofSummary(proof).match(/\d+, column \d+ requires holds of every launch anyway/g) ?? [];
  expect(new Set(said).size).toBe(found.length);
  return found.map(({ at }) => at!.line);
}

test("what the launch computes, what sizes are, and what another requirement says", async () => {
  expect(await needless(({ BLOCK, N }) => [BLOCK.ge(N)])).toHaveLength(1);
  expect(await needless(({ M }) => [M.ge(0)])).toHaveLength(1);
  // An empty output is no launch.
  expect(await needless(({ N }) => [N.ge(1)])).toHaveLength(1);
  expect(await needless(({ M, N }) => [M.ge(N), N.ge(7), M.ge(5)])).toHaveLength(1);
});

test("a requirement that a launch may break is none", async () => {
  expect(await needless(({ BLOCK, N }) => [BLOCK.le(N)])).toEqual([]);
  expect(await needless(({ M }) => [M.ge(2)])).toEqual([]);
  expect(await needless(({ N }) => [N.mod(16).eq(0)])).toEqual([]);
  expect(await needless(({ N, M }) => [N.mod(16).eq(0), M.le(N)])).toEqual([]);
  expect(await needless(() => [], { n: scalar(tl.int32, { range: [0, 9] }) })).toEqual([]);
});

test("requirements that contradict each other are none", async () => {
  expect(await needless(({ N }) => [N.ge(9), N.le(3), N.ge(5)])).toEqual([]);
});

test("the range of a parameter is none, also where an operator calls the kernel", async () => {
  const [x, y] = [tensor(tl.float32, ["N"]), tensor.out(tl.float32, ["N"])];
  const shifted = kernel(
    "shifted",
    {
      params: { x, y, shift: scalar(tl.int32, { range: [0, 9] }) },
      grid: ({ N }) => [N],
      requires: ({ shift }) => [shift.ge(0)], // required
    },
    ({ x, y, shift }) => {
      const i = tl.programId(0);
      tl.store(y.at(i), tl.load(x.at(i.add(shift)), { other: 0 }));
    },
  );
  const shift = op("shift", { params: { x, y } }, ({ x }) => shifted.call({ x, shift: 3 }));
  const { obligations } = (await build(shift)).proof();
  const found = obligations.filter(({ property }) => property === "requirement");
  expect(found.map(({ at }) => at?.line)).toEqual([lineOf(import.meta.url, "required")]);
});
