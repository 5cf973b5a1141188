/** The accesses that an evaluation keeps: which lanes, at which indices, of which program, by which line. */
import { describe, expect, test } from "vitest";
import { descriptor, kernel, op, tensor, tl } from "tilescript";
import { gemm } from "../../../examples/gemm.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import type { Access } from "../../../src/compiled/access.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { evaluate, lineOf, onlyFinding } from "../../support/evaluate.js";

const line = (mark: string) => lineOf(import.meta.url, mark);
const sum = (lanes: Uint8Array) => lanes.reduce((total, lane) => total + lane, 0);
const wanted = (kernel: unknown, sizes: Record<string, number>, accesses: readonly number[] | "all" = [0]) =>
  evaluate(kernel, { sizes }, {}, undefined, { accesses });
const indices = ({ indices: axes }: Access) => axes.map((axis) => [...axis]);

const blocks = [{ values: { BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16, GROUP_M: 2 } }];
const cube = { sizes: { M: 40, N: 40, K: 40 }, dtypes: { T: "float16" }, config: 0, seed: 0 };

test("program 5 of a matrix product loads three blocks of each input and stores one", async () => {
  const built = await buildWith(gemm, blocks);
  const { accesses = [] } = built.evaluate(cube, { accesses: [5] });
  expect(accesses.map(({ kind, tensor, active }) => `${kind} ${tensor} ${sum(active)}`)).toEqual([
    "load a 256",
    "load b 256",
    "load a 256",
    "load b 256",
    "load a 128",
    "load b 128",
    "store c 128",
  ]);
  expect(accesses.map(({ refused }) => sum(refused))).toEqual([0, 0, 0, 0, 0, 0, 0]);
  const [first, , , , last, , stored] = accesses;
  expect(first!.program).toEqual([5]);
  expect(first!.grid).toEqual([9]);
  expect(first!.at?.file).toMatch(/gemm\.ts$/);
  // Groups of two rows of blocks: programs 0 to 5 take columns 0, 0, 1, 1, 2, 2 of rows 0 and 1.
  const lanes = Array.from({ length: 256 }, (_, lane) => [Math.floor(lane / 16), lane % 16] as const);
  expect(indices(first!)).toEqual([lanes.map(([i]) => 16 + i), lanes.map(([, k]) => k)]);
  expect(indices(last!)).toEqual([lanes.map(([i]) => 16 + i), lanes.map(([, k]) => 32 + k)]);
  expect([...last!.active]).toEqual(lanes.map(([, k]) => (32 + k < 40 ? 1 : 0)));
  expect(indices(stored!)).toEqual([lanes.map(([i]) => 16 + i), lanes.map(([, j]) => 32 + j)]);
});

test("nothing is kept unless it is asked for, and runs beside the author's add nothing", async () => {
  const built = await buildWith(gemm, blocks);
  expect(built.evaluate(cube)).not.toHaveProperty("accesses");
  // With the lowered kernel, and with an unrounded run to judge the result.
  expect(built.evaluate(cube, { accesses: [5], lowered: true }).accesses).toHaveLength(7);
  expect(built.evaluate(cube, { accesses: "all" }).accesses).toHaveLength(9 * 7);
});

test("a program that does not exist is refused with the grid", () => {
  const built = compile(gemm);
  expect(() => built.evaluate({ ...cube, config: 7 }, { accesses: [1, 2] })).toThrow(
    "accesses: there is no program (1, 2) in a grid of (2); ids count from 0",
  );
});

describe("indices", () => {
  const rows = tl.float32;

  test("of a view whose axes are exchanged are those of the tensor", () => {
    const k = kernel(
      "k",
      { params: { x: tensor(rows, ["M", "N"]), y: tensor.out(rows, ["N", "M"]) }, grid: () => [1] },
      ({ x, y }) => {
        const [i, j] = [tl.arange(0, 2), tl.arange(0, 4)];
        const ofView = tl.load(x.at(i, j).permute([1, 0]));
        tl.store(y.at(j, i), tl.load(x.permute([1, 0]).at(j, i)).add(ofView));
      },
    );
    const { accesses = [] } = wanted(k, { M: 2, N: 4 });
    expect(accesses.map(({ shape, tile }) => `${shape} in ${tile}`)).toEqual([
      "2,4 in 4,2",
      "2,4 in 4,2",
      "4,2 in 4,2",
    ]);
    for (const load of accesses.slice(0, 2))
      expect(indices(load)).toEqual([
        [0, 1, 0, 1, 0, 1, 0, 1],
        [0, 0, 1, 1, 2, 2, 3, 3],
      ]);
  });

  test("of a raw pointer are those of the elements behind its addresses", () => {
    const k = kernel(
      "k",
      { params: { x: tensor(rows, ["M", "N"]), y: tensor.out(rows, [8]) }, grid: () => [1] },
      ({ x, y }) => {
        const lanes = tl.arange(0, 8);
        tl.store(y.at(lanes), tl.load(x.ptr.add(lanes), { mask: lanes.lt(6), other: 0 }));
      },
    );
    const { accesses = [] } = wanted(k, { M: 2, N: 3 });
    expect(indices(accesses[0]!)).toEqual([
      [0, 0, 0, 1, 1, 1, 2, 2],
      [0, 1, 2, 0, 1, 2, 0, 1],
    ]);
    expect([...accesses[0]!.active]).toEqual([1, 1, 1, 1, 1, 1, 0, 0]);
  });

  test("of a descriptor's block go on beyond the tensor", () => {
    const k = kernel(
      "k",
      { params: { x: descriptor(rows, ["M", "N"], [2, 8]), y: tensor.out(rows, [2, 8]) }, grid: () => [1] },
      ({ x, y }) => {
        tl.store(y.at(tl.arange(0, 2), tl.arange(0, 8)), x.load([1, 0]));
      },
    );
    const { accesses = [] } = wanted(k, { M: 2, N: 4 });
    const [load] = accesses;
    expect(indices(load!)).toEqual([
      [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2],
      [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7],
    ]);
    expect(sum(load!.active)).toBe(4);
  });
});

test("an atomic is of a kind of its own", () => {
  const k = kernel("k", { params: { y: tensor.out(tl.int32, [1], { zeroed: true }) }, grid: () => [3] }, ({ y }) => {
    tl.atomicAdd(y.at(0), 1); // atomic
  });
  const { accesses = [] } = wanted(k, {}, "all");
  expect(accesses.map(({ kind, program, at }) => [kind, program, at?.line])).toEqual(
    [0, 1, 2].map((id) => ["atomic", [id], line("atomic")]),
  );
});

test("a lane with a finding is refused, neither active nor masked", () => {
  const k = kernel(
    "k",
    { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [4]) }, grid: () => [1] },
    ({ x, y }) => {
      const lanes = tl.arange(0, 4);
      tl.store(y.at(lanes), tl.load(x.at(tl.inBounds(lanes.add(1))), { other: 0, mask: lanes.lt(3) }));
    },
  );
  const evaluation = wanted(k, { N: 3 });
  expect(onlyFinding({ ...evaluation, findings: evaluation.findings.slice(0, 1) }).code).toBe("false-in-bounds");
  const [load] = evaluation.accesses!;
  expect([...load!.active]).toEqual([1, 1, 0, 0]);
  expect([...load!.refused]).toEqual([0, 0, 1, 0]);
});

test("each launch of an operator is told apart", () => {
  const double = kernel(
    "double",
    { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1] },
    ({ x, y }) => {
      const lanes = tl.arange(0, 8);
      tl.store(y.at(lanes), tl.load(x.at(lanes)).mul(2));
    },
  );
  const twice = op(
    "twice",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
      reference: ({ x }) => x.mul(4),
    },
    ({ x }) => ({ y: double.call({ x: double.call({ x }).y }).y }),
  );
  const { accesses = [] } = compile(twice).evaluate(
    { sizes: { N: 5 }, dtypes: {}, config: 0, seed: 0 },
    { accesses: [0] },
  );
  expect(accesses.map(({ kernel, launch, kind }) => `${kernel} ${launch} ${kind}`)).toEqual([
    "double 0 load",
    "double 0 store",
    "double 1 load",
    "double 1 store",
  ]);
});
