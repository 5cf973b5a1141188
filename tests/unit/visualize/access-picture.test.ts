/** What a picture shows is what was accessed: cells are counted in the SVG. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { gemm } from "../../../examples/gemm.js";
import { accessPicture } from "../../../src/visualize/access-picture.js";
import { programMap, writtenTensors } from "../../../src/visualize/program-map.js";
import { accessMaps } from "../../../src/visualize/access-map.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { evaluate } from "../../support/evaluate.js";

/** The area of each look in the panel of a tensor, in cells. */
function areas(svg: string, name: string): Record<string, number> {
  const panel = svg.split("\n").find((line) => line.includes(`>${name} [`))!;
  const cell = cellSize(panel);
  const found: Record<string, number> = {};
  for (const [, width, height, look] of panel.matchAll(/<rect [^>]*?width="([\d.]+)" height="([\d.]+)" class="(\w+)"/g))
    found[look!] = (found[look!] ?? 0) + Math.round((Number(width) * Number(height)) / (cell * cell));
  return found;
}

/** The distance between two lines of the grid. */
const cellSize = (panel: string): number => Number(/class="grid" d="M([\d.]+) /.exec(panel)![1]);

const accessesOf = (k: unknown, sizes: Record<string, number>, program: readonly number[] | "all" = "all") =>
  evaluate(k, { sizes }, {}, undefined, { accesses: program }).accesses!;

test("program 5 of a matrix product of 40³ in blocks of 16", async () => {
  const built = await buildWith(gemm, [{ values: { BLOCK_M: 16, BLOCK_N: 16, BLOCK_K: 16, GROUP_M: 2 } }]);
  const at = { sizes: { M: 40, N: 40, K: 40 }, dtypes: { T: "float16" }, config: 0, seed: 0 };
  const { accesses = [] } = built.evaluate(at, { accesses: [5] });
  expect(accesses).toHaveLength(7);
  const svg = accessPicture(accesses);
  expect(svg).toContain("gemm: program (5)");
  expect(areas(svg, "a")).toEqual({ loaded: 16 * 40, masked: 16 * 8 });
  expect(areas(svg, "b")).toEqual({ loaded: 16 * 40, masked: 16 * 8 });
  expect(areas(svg, "c")).toEqual({ stored: 16 * 8, masked: 16 * 8 });
  expect(accessMaps(accesses).map(({ counts }) => counts)).toEqual([
    { loaded: 640, stored: 0, both: 0, masked: 128, refused: 0 },
    { loaded: 640, stored: 0, both: 0, masked: 128, refused: 0 },
    { loaded: 0, stored: 128, both: 0, masked: 128, refused: 0 },
  ]);
  const all = built.evaluate(at, { accesses: "all" }).accesses!;
  expect(writtenTensors(all)).toEqual([
    { tensor: "c", shape: [40, 40], elements: 1600, written: 1600, atomic: 0, raced: 0, programs: 9 },
  ]);
  const map = areas(programMap(all), "c");
  expect(Object.values(map).reduce((sum, area) => sum + area, 0)).toBe(1600);
});

describe("mistakes", () => {
  /** Blocks that begin at `start` and hold `BLOCK` rows. */
  const copies = (start: (pid: any, BLOCK: any) => any) =>
    kernel(
      "copies",
      {
        params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]), BLOCK: constexpr() },
        config: { BLOCK: 4 },
        grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],
      },
      ({ x, y, BLOCK }) => {
        const rows = start(tl.programId(0), BLOCK).add(tl.arange(0, BLOCK));
        const columns = tl.arange(0, 8);
        tl.store(y.at(rows, columns), tl.load(x.at(rows, columns)));
      },
    );

  test("gaps and races are seen in the map of programs", () => {
    const gaps = accessesOf(
      copies((pid, BLOCK) => pid.mul(BLOCK).mul(2)),
      { M: 16, N: 8 },
    );
    expect(writtenTensors(gaps)).toMatchObject([{ elements: 128, written: 64, raced: 0, programs: 2 }]);
    expect(programMap(gaps)).toContain("64 of 128 elements by 2 programs, 64 by none");
    const races = accessesOf(
      copies((pid, BLOCK) => pid.mul(BLOCK).sub(pid)),
      { M: 16, N: 8 },
    );
    expect(writtenTensors(races)).toMatchObject([{ elements: 128, written: 104, raced: 24 }]);
    expect(areas(programMap(races), "y").refused).toBe(24);
  });

  test("refused lanes are red and said below", () => {
    const wrong = kernel(
      "wrong",
      { params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, [4, 8]) }, grid: () => [1] },
      ({ x, y }) => {
        const [rows, columns] = [tl.arange(0, 4), tl.arange(0, 8)];
        tl.store(y.at(rows, columns), tl.load(x.at(tl.inBounds(rows), columns)));
      },
    );
    const svg = accessPicture(accessesOf(wrong, { M: 3, N: 6 }));
    // The last row is out of bounds; beyond column 6 its lanes are masked.
    expect(areas(svg, "x")).toEqual({ loaded: 18, masked: 8, refused: 6 });
    expect(svg).toContain("Refused lanes have findings");
  });
});

describe("large tensors", () => {
  const wide = (rows: number) =>
    kernel(
      "wide",
      { params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) }, grid: () => [1] },
      ({ x, y }) => {
        const [i, j] = [tl.arange(0, rows), tl.arange(0, 1024)];
        tl.store(y.at(i, j), tl.load(x.at(i, j)).add(1));
      },
    );

  test("have several elements in a cell, which the picture says, and no element gets lost", () => {
    const svg = accessPicture(accessesOf(wide(32), { M: 500, N: 700 }));
    expect(svg).toContain("Each cell is 16 × 16 elements.");
    expect(svg).toContain("22,400 loaded, 10,368 masked off");
    // 32 rows are two rows of cells; 700 columns reach into the 44th cell, which holds masked lanes too.
    expect(areas(svg, "x").loaded).toBe(2 * 44);
    expect(svg).toContain("of 192 elements: 192 loaded; 64 masked off");
    expect(svg.length).toBeLessThan(30_000);
  });

  test("a block of which few elements are touched is fainter", () => {
    const svg = accessPicture(accessesOf(wide(8), { M: 500, N: 1000 }));
    expect(svg).toMatch(/class="loaded" opacity="0\.6\d"/);
  });
});

test("a vector is folded into rows, and other tensors of more axes stack their slabs", () => {
  const k = kernel(
    "k",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["A", "B", "C"]) },
      grid: () => [1],
    },
    ({ x, y }) => {
      const lanes = tl.arange(0, 128);
      const [a, b, c] = [tl.arange(0, 2), tl.arange(0, 4), tl.arange(0, 4)];
      tl.store(y.at(a, b, c), tl.zeros([2, 4, 4], tl.float32).add(tl.sum(tl.load(x.at(lanes)), 0)));
    },
  );
  const svg = accessPicture(accessesOf(k, { N: 70, A: 2, B: 3, C: 4 }));
  expect(svg).toContain("x [70] in rows of 32");
  expect(areas(svg, "x")).toEqual({ loaded: 70, masked: 58 });
  expect(areas(svg, "y")).toEqual({ stored: 24 });
  expect(svg).toContain("y: 8 further lanes, not active, lie beyond the picture.");
});

test("a program without accesses gets a picture that says so", () => {
  expect(accessPicture([])).toContain("Nothing is read or written.");
});
