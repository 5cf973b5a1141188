/** Triton compiles another kernel where an integer is 1 or a multiple of 16, so `verify` has each of them at both. */
import { expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { specializedCases } from "../../../src/runtime/cases/features.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyThoroughly } from "../../../src/runtime/verify/thorough.js";

const scaled = compile(
  kernel(
    "scaled",
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        factor: scalar(tl.int32, { default: 3, range: [1, 20] }),
        BLOCK: constexpr(),
      },
      grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
      requires: ({ N }) => [N.ge(2)],
      config: { BLOCK: 32 },
      reference: ({ x, factor }) => x.mul(factor),
      shapes: [{ M: 3, N: 500 }],
    },
    ({ x, y, factor, BLOCK }) => {
      const [row, cols] = [tl.programId(0), tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK))];
      tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(factor));
    },
  ),
);

const at = { sizes: { M: 3, N: 7 }, scalars: { factor: 3 }, dtypes: {}, config: 0, seed: 0 };
const numbersOf = ({ sizes, scalars }: { sizes: object; scalars?: object }) => ({ ...sizes, ...scalars });

test("each size and integer scalar is 1 and 16 in turn, where the kernel takes it", () => {
  expect(specializedCases(scaled, at).map(numbersOf)).toEqual([
    { M: 1, N: 7, factor: 3 },
    { M: 3, N: 7, factor: 1 },
    { M: 16, N: 7, factor: 3 },
    { M: 3, N: 16, factor: 3 },
    { M: 3, N: 7, factor: 16 },
  ]);
  expect(specializedCases(scaled, at, ["M", "factor"]).map(numbersOf)).toEqual([{ M: 3, N: 16, factor: 3 }]);
});

test("verify runs them", async () => {
  const device = await openDevice({ device: "eval" });
  const { outcomes } = await verifyThoroughly(scaled, device, { selection: { seed: 0 }, runs: 0, timeLimitMs: 60_000 });
  const numbers = outcomes.map(({ testCase }) => numbersOf(testCase)) as { M: number; N: number; factor: number }[];
  const isAlone = (name: "M" | "N" | "factor", value: number): boolean =>
    numbers.some(
      (each) => each[name] === value && Object.values(each).filter((number) => number === value).length === 1,
    );
  expect((["M", "N", "factor"] as const).map((name) => [isAlone(name, 1), isAlone(name, 16)])).toEqual([
    [true, true],
    [false, true],
    [true, true],
  ]);
});
