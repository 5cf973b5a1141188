/** Only the arm that a config takes has tiles in that config: what is too small in the other one is no mistake. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, tensor, tl, TileScriptError } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

/** The types of these kernels are not what the tests are about. */
type Loose = any;
type Body = (args: Loose, x: Loose, at: { readonly rows: Loose; readonly columns: Loose }) => void;

/** Doubles x, in a way that the configs decide. */
function doubled(body: Body, configs: readonly object[], spec: object = {}): Loose {
  const whole = {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BM: constexpr(),
      BN: constexpr(),
      SPLIT: constexpr.bool(),
      PARTS: constexpr(),
    },
    grid: ({ M, N, BM, BN }: Loose) => [tl.cdiv(M, BM), tl.cdiv(N, BN)],
    autotune: { key: ["M"], configs },
    reference: ({ x }: Loose) => x.mul(2),
    ...spec,
  };
  return kernel("doubled", whole as Loose, (args: Loose) => {
    const rows = tl.programId(0).mul(args.BM).add(tl.arange(0, args.BM));
    const columns = tl.programId(1).mul(args.BN).add(tl.arange(0, args.BN));
    body(args, tl.load(args.x.at(rows, columns)).mul(2), { rows, columns });
  });
}

const WIDE = { BM: 16, BN: 32, SPLIT: true, PARTS: 4 };
const NARROW = { BM: 16, BN: 1, SPLIT: false, PARTS: 1 };
const when = tl.when as Loose;

/** To two halves and back. */
const halves = ({ BM, BN }: Loose, x: Loose): Loose =>
  (tl as Loose).reshape((tl as Loose).reshape(x, [BM, 2, BN.floorDiv(2)]), [BM, BN]);
const store = ({ y }: Loose, { rows, columns }: Loose, value: Loose): void => void tl.store(y.at(rows, columns), value);

describe("a tile that one config could not have, in an arm that it does not take", () => {
  test.each<[string, Body]>([
    [
      "a flag",
      (args, x, at) => when(args.SPLIT, () => store(args, at, halves(args, x))).otherwise(() => store(args, at, x)),
    ],
    [
      "a negated flag",
      (args, x, at) =>
        when(args.SPLIT.not(), () => store(args, at, x)).otherwise(() => store(args, at, halves(args, x))),
    ],
    [
      "a comparison",
      (args, x, at) =>
        when(args.PARTS.gt(1), () => store(args, at, halves(args, x))).otherwise(() => store(args, at, x)),
    ],
    [
      "a second condition",
      (args, x, at) =>
        when(args.PARTS.eq(1), () => store(args, at, x)).elseWhen(args.SPLIT, () => store(args, at, halves(args, x))),
    ],
    [
      "nested flags",
      (args, x, at) =>
        when(args.SPLIT, () =>
          when(args.PARTS.eq(4), () => store(args, at, halves(args, x))).otherwise(() => store(args, at, x)),
        ).otherwise(() => store(args, at, x)),
    ],
    [
      "a helper function that only this arm calls",
      (args, x, at) => {
        const inHalves = tl.fn((tile: Loose) => halves(args, tile)) as Loose;
        when(args.SPLIT, () => store(args, at, inHalves(x))).otherwise(() => store(args, at, x));
      },
    ],
    [
      "an epilogue in two halves",
      (args, x, at) => {
        const { y, BM, BN, SPLIT } = args;
        when(SPLIT, () => {
          const half = BN.floorDiv(2);
          const [low, high] = (tl as Loose).split(
            (tl as Loose).permute((tl as Loose).reshape(x, [BM, 2, half]), [0, 2, 1]),
          );
          const columns = tl.programId(1).mul(BN).add(tl.arange(0, half));
          tl.store(y.at(at.rows, columns), low);
          tl.store(y.at(at.rows, columns.add(half)), high);
        }).otherwise(() => store(args, at, x));
      },
    ],
  ])("%s", (_, body) => {
    const { configs, evaluate } = compile(doubled(body, [WIDE, NARROW]));
    for (const config of configs.keys()) {
      const { comparison, findings } = evaluate(
        { sizes: { M: 20, N: 40 }, dtypes: {}, config, seed: 1 },
        { lowered: true },
      );
      expect({ config, correct: comparison?.correct, findings }).toEqual({ config, correct: true, findings: [] });
    }
  });

  test("decided by the caller", () => {
    const flags = {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        BM: constexpr(),
        BN: constexpr.int(),
        SPLIT: constexpr.bool(),
      },
      autotune: undefined,
      config: { BM: 16 },
    };
    const body: Body = (args, x, at) =>
      when(args.SPLIT, () => store(args, at, halves(args, x))).otherwise(() => store(args, at, x));
    const { refusal } = compile(doubled(body, [], flags));
    const at = (BN: number, SPLIT: boolean) => ({
      sizes: { M: 4, N: 4 },
      dtypes: {},
      constexprs: { BN, SPLIT },
      config: 0,
      seed: 0,
    });
    expect(refusal(at(1, false))).toBeUndefined();
    expect(refusal(at(2, true))).toBeUndefined();
    expect(refusal(at(1, true))).toBe("BN // 2 is 0, and a tile's dimension is a power of two");
  });
});

test("in the arm that a config takes, it is one", () => {
  const body: Body = (args, x, at) =>
    when(args.SPLIT, () => store(args, at, halves(args, x))).otherwise(() => store(args, at, x));
  const build = () => compile(doubled(body, [WIDE, { ...NARROW, SPLIT: true }]));
  expect(build).toThrow(TileScriptError);
  expect(build).toThrow("BN // 2 is 0 in config 1; a tile's dimension is a power of two");
});
