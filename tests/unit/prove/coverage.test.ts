/** Whether every element of an output is written, for every shape. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import type { ProofProperty, Verdict } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const x = tensor(tl.float32, ["N"]);
const y = tensor.out(tl.float32, ["N"]);
const BLOCK = constexpr();
const spec = {
  params: { x, y, BLOCK },
  grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
  autotune: { key: ["N"], configs: [{ BLOCK: 16 }, { BLOCK: 64 }] },
};
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

async function verdictsOf(
  property: ProofProperty,
  body: (args: any) => void,
  more: object = {},
): Promise<readonly Verdict[]> {
  const { obligations } = (
    await build(kernel("covering", { ...spec, ...more } as never, ((args: any) => void body(args)) as never))
  ).proof();
  return obligations.flatMap((each) => (each.property === property ? [each.verdict] : []));
}
const coverage = async (body: (args: any) => void, more?: object) => (await verdictsOf("coverage", body, more))[0]!;
const unwritten = { kind: "refuted", finding: { code: "never-written" } };

describe("one store", () => {
  const store = ({ x, y, BLOCK }: any) => tl.store(y.at(index(BLOCK)), tl.load(x.at(index(BLOCK))));

  test("covers an output in blocks", async () => {
    expect(await coverage(store)).toEqual({ kind: "proved", configs: "together" });
  });

  test("covers it where bits of program and lane are joined", async () => {
    const joined = (lanes: number) => (args: any) => {
      const i = tl.programId(0).shl(4).or(tl.arange(0, lanes));
      tl.store(args.y.at(i), tl.load(args.x.at(i)));
    };
    const grid = { grid: ({ N }: any) => [tl.cdiv(N, 16)] };
    expect(await coverage(joined(16), grid)).toMatchObject({ kind: "proved" });
    expect(await coverage(joined(8), grid)).toMatchObject(unwritten);
    expect((await coverage(joined(32), grid)).kind).not.toBe("proved");
  });

  test("leaves out the last block of a grid that is one short, or that rounds down", async () => {
    const short = { grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK).sub(1)] };
    expect(await coverage(store, short)).toMatchObject({ ...unwritten, at: { sizes: { N: 1 } } });
    const down = { grid: ({ N, BLOCK }: any) => [tl.maximum(N.floorDiv(BLOCK), 1)] };
    expect(await coverage(store, down)).toMatchObject(unwritten);
  });

  test("leaves out the end of a row that is longer than its only block", async () => {
    const row = ({ x, y, BLOCK }: any) => tl.store(y.at(tl.arange(0, BLOCK)), tl.load(x.at(tl.arange(0, BLOCK))));
    expect(await coverage(row, { grid: () => [1] })).toMatchObject({ ...unwritten, at: { sizes: { N: 17 } } });
    const fits = { grid: () => [1], requires: ({ N, BLOCK }: any) => [BLOCK.ge(N)] };
    expect(await coverage(row, fits)).toMatchObject({ kind: "proved" });
  });

  test("of every second element leaves out the others", async () => {
    const second = ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)).mul(2);
      tl.store(y.at(i), tl.load(x.at(i)));
    };
    expect(await coverage(second)).toMatchObject({ ...unwritten, at: { sizes: { N: 2 } } });
  });

  test("covers nothing that its own mask leaves out", async () => {
    const ragged = ({ x, y, N, BLOCK }: any) => {
      const i = index(BLOCK);
      tl.store(y.ptr.add(i.mul(y.stride(0))), tl.load(x.at(i)), { mask: i.lt(N.sub(1)) });
    };
    expect(await coverage(ragged)).toMatchObject(unwritten);
  });

  test("covers an output in a loop, whose iterations it must be known to take", async () => {
    const counted = ({ x, y, N, BLOCK }: any) => {
      for (const first of tl.range(tl.programId(0).mul(BLOCK), N, tl.numPrograms(0).mul(BLOCK))) {
        const i = first.add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)));
      }
    };
    expect(await coverage(counted, { grid: () => [4] })).toMatchObject({ kind: "proved" });
    const waiting = ({ x, y, N, BLOCK }: any) => {
      const first = tl.mut(tl.full([], 0, tl.int32));
      tl.whileLoop(
        () => first.value.lt(N),
        () => {
          const i = first.value.add(tl.arange(0, BLOCK));
          tl.store(y.at(i), tl.load(x.at(i)));
          first.value = first.value.add(BLOCK);
        },
      );
    };
    expect(await coverage(waiting, { grid: () => [1] })).toMatchObject({
      kind: "unknown",
      missing: expect.stringContaining("the number of iterations of the loop around its store is unknown"),
    });
  });
});

describe("one store from the end", () => {
  /** Stores x to y at an index that a right kernel counts down, or a twin that is one off. */
  const store =
    (indexOf: (args: any, lane: any) => any) =>
    ({ x, y, ...args }: any) => {
      const i = indexOf(args, tl.arange(0, args.BLOCK));
      tl.store(y.at(i), tl.load(x.at(i)));
    };

  test.each([
    [
      "block",
      (last: number) =>
        ({ N, BLOCK }: any, lane: any) =>
          tl.cdiv(N, BLOCK).sub(last).sub(tl.programId(0)).mul(BLOCK).add(lane),
    ],
    [
      "lane",
      (last: number) =>
        ({ N, BLOCK }: any, lane: any) =>
          N.sub(last).sub(tl.programId(0).mul(BLOCK)).sub(lane),
    ],
    [
      "block and lane",
      (last: number) =>
        ({ N, BLOCK }: any, lane: any) =>
          tl.cdiv(N, BLOCK).sub(tl.programId(0)).mul(BLOCK).sub(last).sub(lane),
    ],
    [
      "lane of its block",
      (last: number) =>
        ({ BLOCK }: any, lane: any) =>
          tl.programId(0).mul(BLOCK).add(BLOCK.sub(last)).sub(lane),
    ],
  ])("covers an output by %s, unless it starts one off", async (_, index) => {
    expect(await coverage(store(index(1)))).toMatchObject({ kind: "proved" });
    expect(await coverage(store(index(2)))).toMatchObject(unwritten);
    expect(await verdictsOf("race", store(index(1)))).toMatchObject([{ kind: "proved" }]);
  });

  test("covers rows in a loop that counts down", async () => {
    const rows =
      (shift: number) =>
      ({ x, y, N, BLOCK }: any) => {
        const steps = tl.cdiv(N, BLOCK);
        for (const i of tl.range(steps)) {
          const column = steps.sub(shift).sub(i).mul(BLOCK).add(tl.arange(0, BLOCK));
          tl.store(y.at(column), tl.load(x.at(column)));
        }
      };
    expect(await coverage(rows(1), { grid: () => [1] })).toMatchObject({ kind: "proved" });
    expect(await coverage(rows(2), { grid: () => [1] })).toMatchObject(unwritten);
  });
});

describe("several stores", () => {
  const matrix = {
    x: tensor(tl.float32, ["M", "N"]),
    y: tensor.out(tl.float32, ["M", "N"]),
    BLOCK_M: constexpr(),
    BLOCK_N: constexpr(),
    PART: constexpr(),
  };
  /** Blocks of a matrix in parts, side by side or one below the other, of which the last is `last`. */
  const inParts = (parts: number, isBelow: boolean, last = parts - 1) => ({
    params: matrix,
    grid: ({ M, N, BLOCK_M, BLOCK_N }: any) => [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)],
    autotune: {
      key: ["M", "N"],
      configs: [
        { BLOCK_M: 32, BLOCK_N: 32, PART: 32 / parts },
        { BLOCK_M: 64, BLOCK_N: 64, PART: 64 / parts },
        { BLOCK_M: 128, BLOCK_N: 128, PART: 128 / parts },
      ],
    },
    body({ x, y, BLOCK_M, BLOCK_N, PART }: any): void {
      const [m, n] = [tl.programId(0).mul(BLOCK_M), tl.programId(1).mul(BLOCK_N)];
      for (let part = 0; part < parts; part++) {
        const shift = PART.mul(part === parts - 1 ? last : part);
        const row = isBelow ? m.add(shift).add(tl.arange(0, PART)) : m.add(tl.arange(0, BLOCK_M));
        const column = isBelow ? n.add(tl.arange(0, BLOCK_N)) : n.add(shift).add(tl.arange(0, PART));
        tl.store(y.at(row, column), tl.load(x.at(row, column)));
      }
    },
  });

  test.each([
    ["halves side by side", 2, false],
    ["halves of rows", 2, true],
    ["quarters side by side", 4, false],
  ])("cover blocks in %s, unless one is written twice", async (_, parts, isBelow) => {
    const { body, ...right } = inParts(parts, isBelow);
    expect(await coverage(body, right)).toEqual({ kind: "proved", configs: "together" });
    const wrong = inParts(parts, isBelow, parts - 2);
    expect(await coverage(wrong.body, right)).toMatchObject(unwritten);
  });

  test("that are halves in the first config alone leave elements out in others", async () => {
    const { body, ...right } = inParts(2, false);
    const configs = [
      { BLOCK_M: 32, BLOCK_N: 32, PART: 16 },
      { BLOCK_M: 64, BLOCK_N: 128, PART: 32 },
    ];
    const wrong = { ...right, autotune: { key: ["M", "N"], configs } };
    expect(await coverage(body, wrong)).toMatchObject({ ...unwritten, at: { config: 1 } });
  });

  test("cover every second element each", async () => {
    const pairs =
      (shift: number) =>
      ({ x, y, BLOCK }: any) => {
        const even = index(BLOCK).mul(2);
        tl.store(y.at(even), tl.load(x.at(even)));
        tl.store(y.at(even.add(shift)), tl.load(x.at(even.add(shift))));
      };
    const more = { grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK.mul(2))] };
    expect(await coverage(pairs(1), more)).toMatchObject({ kind: "proved" });
    expect(await coverage(pairs(2), more)).toMatchObject(unwritten);
  });

  test("cover the halves of an output whose size is even", async () => {
    const halves = ({ x, y, N, BLOCK }: any) => {
      const half = N.floorDiv(2);
      const i = index(BLOCK);
      const mask = i.lt(half);
      for (const at of [i, i.add(half)]) tl.store(y.ptr.add(at.mul(y.stride(0))), tl.load(x.at(at)), { mask });
    };
    const more = { grid: ({ N, BLOCK }: any) => [tl.cdiv(N.floorDiv(2), BLOCK)] };
    const even = { ...more, requires: ({ N }: any) => [N.mod(2).eq(0)] };
    expect(await coverage(halves, even)).toMatchObject({ kind: "proved" });
    expect(await coverage(halves, { ...more, requires: ({ N }: any) => [N.ge(2)] })).toMatchObject(unwritten);
  });

  test("of both arms of a condition cover together, those of one arm do not", async () => {
    const arms =
      (both: boolean) =>
      ({ x, y, N, BLOCK }: any) => {
        const i = index(BLOCK);
        const isWhole = tl.programId(0).add(1).mul(BLOCK).le(N);
        const whole = tl.when(isWhole, () => tl.store(y.at(i), tl.load(x.at(i))));
        if (both) whole.otherwise(() => tl.store(y.at(i), 0));
      };
    expect(await coverage(arms(true))).toMatchObject({ kind: "proved" });
    expect(await coverage(arms(false))).toMatchObject(unwritten);
  });

  test("of two halves cover together", async () => {
    const halves =
      (shift: number) =>
      ({ x, y, N, BLOCK }: any) => {
        const half = N.floorDiv(2);
        const i = index(BLOCK);
        const value = tl.load(x.at(i));
        tl.store(y.ptr.add(i.mul(y.stride(0))), value, { mask: i.lt(half) });
        tl.store(y.ptr.add(i.mul(y.stride(0))), value, { mask: i.ge(half.add(shift)).and(i.lt(N)) });
      };
    expect(await coverage(halves(0))).toMatchObject({ kind: "proved" });
    expect(await coverage(halves(1))).toMatchObject(unwritten);
  });

  test("after an exit in a branch of a branch leave out what the exit does", async () => {
    const leaving =
      (leaves: boolean) =>
      ({ x, y, N, BLOCK }: any) => {
        tl.when(N.gt(20), () => {
          tl.when(tl.programId(0).eq(1), () => {
            if (leaves) tl.exit();
            else tl.store(y.at(0), 1);
          });
        });
        tl.store(y.at(index(BLOCK)), tl.load(x.at(index(BLOCK))));
      };
    expect(await coverage(leaving(false))).toMatchObject({ kind: "proved" });
    expect(await coverage(leaving(true))).toMatchObject(unwritten);
  });
});

test("outputs that start as zeros, and tensors that are updated, need no store", async () => {
  const none = ({ x, y, BLOCK }: any) => tl.atomicAdd(y.at(index(BLOCK)), tl.load(x.at(index(BLOCK))));
  const once = { autotune: undefined, config: { BLOCK: 16 } };
  // An atomic gives no element its first value.
  expect(await coverage(none, once)).toMatchObject({ kind: "unknown", missing: expect.stringContaining("no store") });
  const zeroed = { params: { x, y: tensor.out(tl.float32, ["N"], { zeroed: true }), BLOCK }, ...once };
  expect(await verdictsOf("coverage", none, zeroed)).toEqual([]);
  expect(
    await verdictsOf("coverage", none, { params: { x, y: tensor.inout(tl.float32, ["N"]), BLOCK }, ...once }),
  ).toEqual([]);
});

test("rows of a partition cover what lies behind them", async () => {
  const rows = (options: object) => ({
    params: { x, offsets: tensor(tl.int32, ["EDGES"], options), y, BLOCK },
    grid: ({ EDGES }: any) => [EDGES.sub(1)],
  });
  const body = ({ x, y, offsets, BLOCK }: any) => {
    const row = tl.programId(0);
    const end = tl.load(offsets.at(tl.inBounds(row.add(1))));
    for (const first of tl.range(tl.load(offsets.at(tl.inBounds(row))), end, BLOCK)) {
      const i = first.add(tl.arange(0, BLOCK));
      tl.store(y.ptr.add(i.mul(y.stride(0))), tl.load(x.at(i)), { mask: i.lt(end) });
    }
  };
  expect(await coverage(body, rows({ partition: "N" }))).toMatchObject({ kind: "proved" });
  expect(await coverage(body, rows({}))).toMatchObject({
    kind: "unknown",
    missing: expect.stringContaining("what offsets holds"),
  });
});
