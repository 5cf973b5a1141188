/** Whether `//` and `%` of indices have dividends and divisors that Triton and Python divide alike. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import type { Verdict } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";

const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() };
const spec = { params, grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)], config: { BLOCK: 16 } };
const index = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));

async function dividends(read: (args: any) => any, more: object = {}): Promise<readonly Verdict[]> {
  const body = (args: any) => void tl.store(args.y.at(index(args.BLOCK)), tl.load(args.x.at(read(args))));
  const { obligations } = (await build(kernel("dividing", { ...spec, ...more } as never, body as never))).proof();
  return obligations.flatMap(({ property, verdict }) => (property === "dividend" ? [verdict] : []));
}

describe("an index that is divided", () => {
  test("is proved where neither operand can be negative, for lanes that are left out too", async () => {
    const [verdict] = await dividends(({ N, BLOCK }) => index(BLOCK).add(1).mod(N));
    expect(verdict).toEqual({ kind: "proved", configs: "together" });
  });

  test("is refuted where the dividend goes below 0", async () => {
    const [verdict] = await dividends(({ N, BLOCK }) => index(BLOCK).sub(1).mod(N));
    expect(verdict).toMatchObject({ kind: "refuted", finding: { code: "negative-division" } });
  });

  test("is refuted where the divisor can be 0", async () => {
    const [verdict] = await dividends(({ N, BLOCK }) => index(BLOCK).mod(N.sub(1)));
    expect(verdict).toMatchObject({ kind: "refuted", at: { sizes: { N: 1 } }, finding: { code: "division" } });
  });

  test("by a number of the caller is unknown, until a requirement bounds it", async () => {
    const shifted = { params: { ...params, shift: scalar(tl.int32) } };
    const read = ({ N, BLOCK, shift }: any) => index(BLOCK).add(shift).mod(N);
    expect(await dividends(read, shifted)).toMatchObject([
      { kind: "unknown", missing: expect.stringContaining("nothing is known of shift") },
    ]);
    // A sum that wraps is negative, so it must be shown to stay in int32, too.
    expect(await dividends(read, { ...shifted, requires: ({ shift }: any) => [shift.ge(0)] })).toMatchObject([
      { kind: "unknown", missing: expect.stringMatching(/^it holds if the arithmetic of line \d+ stays in int32/) },
    ]);
    const bounded = ({ N, shift }: any) => [shift.ge(0), shift.lt(N), N.le(2 ** 29)];
    expect(await dividends(read, { ...shifted, requires: bounded })).toMatchObject([{ kind: "proved" }]);
    // What a requirement speaks of may be negative where it does not rule that out.
    expect(await dividends(read, { ...shifted, requires: ({ shift }: any) => [shift.ge(-9)] })).toMatchObject([
      { kind: "refuted", at: { scalars: { shift: -1 } }, finding: { code: "negative-division" } },
    ]);
  });

  test("is no matter where neither an address nor a mask depends on it", async () => {
    const body = ({ y, BLOCK }: any) => void tl.store(y.at(index(BLOCK)), index(BLOCK).sub(5).mod(3).to(tl.float32));
    const { obligations } = (
      await build(kernel("valued", { ...spec, params: { y: params.y, BLOCK: params.BLOCK } } as never, body as never))
    ).proof();
    expect(obligations.filter(({ property }) => property === "dividend")).toEqual([]);
  });
});

test("an offset without strides is refuted with a tensor that is not dense", async () => {
  const flat = (options: object) =>
    kernel(
      "flat",
      { ...spec, params: { ...params, y: tensor.out(tl.float32, ["N"], options) } } as never,
      (({ x, y, N, BLOCK }: any) => {
        const i = index(BLOCK);
        tl.store(y.ptr.add(i), tl.load(x.at(i)), { mask: i.lt(N) });
      }) as never,
    );
  const store = async (options: object) => (await build(flat(options))).proof().obligations[1]?.verdict;
  expect(await store({})).toMatchObject({
    kind: "refuted",
    at: { sizes: { N: 2 }, layouts: { y: "sliced" } },
    finding: { code: "out-of-bounds" },
  });
  expect(await store({ contiguous: true })).toMatchObject({ kind: "proved" });
});
