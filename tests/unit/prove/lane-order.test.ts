/** Lanes of one program that access one element between two barriers: proved to be one lane, refuted, or open. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { uniform } from "../../../src/numerics/random.js";
import { build } from "../../../src/pipeline/build.js";
import { drawnCount, sampledTests, seedOfRun } from "../../support/sampled-tests.js";
import { soundnessViolations } from "../../support/soundness.js";

sampledTests("orders of lanes", "src/prove");

const params = {
  x: tensor(tl.float32, ["N"]),
  y: tensor.inout(tl.float32, ["N"]),
  ids: tensor(tl.int32, ["N"]),
  BLOCK: constexpr(),
};
type Body = Parameters<typeof kernel<"k", typeof params>>[2];

/** The verdicts of `order`, in the order of the lines. */
async function verdicts(body: Body): Promise<readonly string[]> {
  const k = kernel("k", { params, grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 } }, body);
  const { obligations } = (await build(k)).proof();
  return obligations.flatMap(({ property, verdict }) => (property === "order" ? [verdict.kind] : []));
}

const blockOf = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

describe("proved", () => {
  test.each<[string, Body, number]>([
    ["the same lane", ({ y, BLOCK }) => tl.store(y.at(blockOf(BLOCK)), tl.load(y.at(blockOf(BLOCK))).mul(2)), 1],
    [
      "the same lane in each iteration",
      ({ y, BLOCK }) => {
        for (const _ of tl.range(0, 3)) tl.store(y.at(blockOf(BLOCK)), tl.load(y.at(blockOf(BLOCK))).mul(2));
      },
      2,
    ],
    [
      "blocks of a loop, whose elements determine the lane",
      ({ x, y, N, BLOCK }) => {
        const lanes = tl.arange(0, BLOCK);
        for (const start of tl.range(tl.programId(0).mul(BLOCK), N, tl.numPrograms(0).mul(BLOCK)))
          tl.store(y.at(start.add(lanes)), tl.load(x.at(start.add(lanes))));
      },
      1,
    ],
    [
      "other lanes behind a barrier",
      ({ x, y, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        tl.debugBarrier();
        const other = tl.load(y.at(blockOf(BLOCK).xor(1)));
        tl.debugBarrier();
        tl.store(y.at(blockOf(BLOCK)), other);
      },
      0,
    ],
    [
      "a barrier in each iteration",
      ({ y, BLOCK }) => {
        for (const _ of tl.range(0, 3)) {
          const other = tl.load(y.at(blockOf(BLOCK).xor(1)));
          tl.debugBarrier();
          tl.store(y.at(blockOf(BLOCK)), other);
          tl.debugBarrier();
        }
      },
      0,
    ],
    [
      "a barrier in both arms",
      ({ x, y, N, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        tl.when(N.gt(100), () => tl.debugBarrier()).otherwise(() => tl.debugBarrier());
        tl.atomicAdd(y.at(blockOf(BLOCK).xor(1)), tl.load(x.at(blockOf(BLOCK))));
      },
      0,
    ],
    [
      "elements of different halves",
      ({ y }) => {
        const [low, high] = [tl.load(y.at(tl.arange(0, 8))), tl.load(y.at(tl.arange(0, 8).add(8)))];
        tl.store(y.at(tl.arange(0, 8)), low.sub(high));
        tl.store(y.at(tl.arange(0, 8).add(8)), low.add(high));
      },
      2,
    ],
  ])("%s", async (_, body, count) => {
    expect(await verdicts(body)).toEqual(Array(count).fill("proved"));
  });
});

describe("refuted", () => {
  test.each<[string, Body, readonly string[]]>([
    [
      "a scalar over what a tile stored",
      ({ x, y, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        tl.store(y.at(tl.inBounds(0)), 0);
      },
      ["refuted"],
    ],
    [
      "a read of what another lane stored",
      ({ x, y, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        const other = tl.load(y.at(blockOf(BLOCK).xor(1)));
        tl.debugBarrier();
        tl.store(y.at(blockOf(BLOCK)), other);
      },
      ["refuted"],
    ],
    [
      "a store over what another lane reads",
      ({ y, BLOCK }) => tl.store(y.at(blockOf(BLOCK).xor(1)), tl.load(y.at(blockOf(BLOCK)))),
      ["refuted"],
    ],
    [
      "a barrier that only one arm has",
      ({ x, y, N, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        tl.when(N.gt(100), () => tl.debugBarrier());
        tl.atomicAdd(y.at(blockOf(BLOCK).xor(1)), tl.load(x.at(blockOf(BLOCK))));
      },
      ["refuted"],
    ],
    [
      "a barrier that a loop of no iteration skips",
      ({ x, y, N, BLOCK }) => {
        tl.store(y.at(blockOf(BLOCK)), tl.load(x.at(blockOf(BLOCK))));
        for (const _ of tl.range(100, N)) tl.debugBarrier();
        tl.atomicAdd(y.at(blockOf(BLOCK).xor(1)), tl.load(x.at(blockOf(BLOCK))));
      },
      ["refuted"],
    ],
    [
      "iterations whose lanes move",
      ({ x, y }) => {
        for (const i of tl.range(0, 2)) {
          const at = tl.arange(0, 8).add(i);
          tl.store(y.at(at), tl.load(x.at(tl.arange(0, 8))));
        }
      },
      ["refuted"],
    ],
    [
      "iterations that are not next to each other",
      ({ x, y }) => {
        for (const i of tl.range(0, 3)) {
          const lanes = tl.arange(0, 8);
          tl.store(y.at(lanes.xor(i.floorDiv(2)).add(i.mod(2).mul(8))), tl.load(x.at(lanes.add(i))));
        }
      },
      ["refuted"],
    ],
    [
      "tiles of other shapes",
      ({ x, y }) => {
        tl.store(y.at(tl.arange(0, 16)), tl.load(x.at(tl.arange(0, 16))));
        const half = tl.load(y.at(tl.arange(0, 8)));
        tl.debugBarrier();
        tl.store(y.at(tl.arange(0, 8)), half.mul(2));
      },
      ["refuted"],
    ],
  ])("%s", async (_, body, kinds) => {
    expect(await verdicts(body)).toEqual(kinds);
  });
});

test("what memory holds decides it: open, and the remedy is a barrier", async () => {
  const k = kernel("k", { params, grid: () => [1], config: { BLOCK: 16 } }, ({ y, ids, BLOCK }) => {
    const at = tl.load(ids.at(tl.arange(0, BLOCK)));
    tl.store(y.at(at), tl.load(y.at(at)).mul(2));
  });
  const { obligations } = (await build(k)).proof();
  const order = obligations.filter(({ property }) => property === "order");
  expect(order.map(({ verdict }) => verdict)).toMatchObject([
    { kind: "unknown", remedies: expect.arrayContaining([{ kind: "barrier" }]) },
  ]);
});

// ---- random programs ------------------------------------------------------------------------------------------------

/** Indices of lanes, some with the index of a loop. */
const INDICES: readonly ((lanes: any, i: any) => any)[] = [
  (lanes) => lanes,
  (lanes) => lanes,
  (lanes) => lanes.add(1),
  (lanes) => lanes.add(8),
  (lanes) => lanes.xor(1),
  (lanes) => lanes.mul(2),
  (lanes) => lanes.mul(2).add(1),
  (lanes) => lanes.floorDiv(2),
  (lanes, i) => lanes.add(tl.mul(i, 8)),
  (lanes, i) => lanes.add(i),
  (lanes, i) => lanes.mul(4).add(i),
];

/** A block of statements that follow from a seed, because blocks are traced several times, each by itself. */
function randomBlock({ x, y, N }: any, seed: number, i: unknown, depth: number): void {
  const random = uniform(seed);
  const draw = (below: number): number => Math.floor(random() * below);
  for (let count = 1 + draw(3); count > 0; count--) {
    const lanes = tl.arange(0, draw(5) === 0 ? 4 : 8);
    const at = INDICES[draw(INDICES.length)]!(lanes, i);
    switch (draw(depth > 1 ? 6 : 8)) {
      case 0:
        tl.debugBarrier();
        break;
      case 1:
        tl.atomicAdd(y.at(at), tl.load(x.at(lanes)));
        break;
      case 2:
        tl.store(y.at(at), tl.load(x.at(lanes)));
        break;
      case 6:
        for (const j of tl.range(0, 1 + draw(3))) randomBlock({ x, y, N }, seed * 7 + count, j, depth + 1);
        break;
      case 7:
        tl.when(N.gt(40), () => randomBlock({ x, y, N }, seed * 7 + count, i, depth + 1)).otherwise(() =>
          tl.debugBarrier(),
        );
        break;
      default:
        tl.store(y.at(at), tl.load(y.at(INDICES[draw(INDICES.length)]!(lanes, i))).add(1));
    }
  }
}

test("no lanes of a program meet that are shown not to", { timeout: 600_000 }, async () => {
  const first = seedOfRun() * 1000;
  const count = { proved: 0, found: 0 };
  for (let seed = first; seed < first + drawnCount("programs with barriers", 640, 60); seed++) {
    const k = kernel("k", { params, grid: () => [1], config: { BLOCK: 8 } }, (args) => randomBlock(args, seed, 0, 0));
    const compiled = await build(k);
    const proof = compiled.proof();
    count.proved += proof.obligations.filter(
      (each) => each.property === "order" && each.verdict.kind === "proved",
    ).length;
    for (const N of [30, 64]) {
      const { findings } = compiled.evaluate({ sizes: { N }, dtypes: {}, config: 0, seed });
      count.found += findings.filter(({ code }) => code === "unordered-lanes").length;
      expect({ seed, N, wrong: soundnessViolations(proof, findings) }).toEqual({ seed, N, wrong: [] });
    }
  }
  expect(Math.min(count.proved, count.found)).toBeGreaterThan(10);
});
