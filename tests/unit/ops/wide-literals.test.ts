/** Literals of 64 bits, which JavaScript's numbers round, keep every bit. */
import { expect, test } from "vitest";
import { build, kernel, tensor, tl } from "tilescript";
import { evaluate } from "../../support/evaluate.js";

const MAX = 9223372036854775807n;
const MIN = -9223372036854775808n;
const ODD = 6364136223846793005n;

const over = (dtype: "int64" | "uint64", body: (v: any, x: any) => any) =>
  kernel(
    "k",
    { params: { x: tensor(tl[dtype], [4]), out: tensor.out(tl[dtype], [4]) }, grid: () => [1] },
    ({ x, out }: any) => {
      const i = tl.arange(0, 4);
      tl.store(out.at(i), body(tl.load(x.at(i)), x));
    },
  );

const run = (body: (v: any, x: any) => any) =>
  evaluate(
    over("int64", body),
    { sizes: {} },
    { x: { dtype: "int64", shape: [4], data: BigInt64Array.of(5n, -5n, MIN, MAX) } },
  );
const values = (body: (v: any, x: any) => any) => [...Object.values(run(body).outputs)[0]!.data];

test("operators, stores and `where` compute with the literal that is written", () => {
  expect(values((v) => v.and(MAX))).toEqual([5n, MAX - 4n, 0n, MAX]);
  expect(values((v) => v.xor(MIN))).toEqual([MIN + 5n, MAX - 4n, 0n, -1n]);
  expect(values((v) => v.mul(0).add(ODD))).toEqual([ODD, ODD, ODD, ODD]);
  expect(values((v) => tl.where(v.lt(MAX), ODD, v))).toEqual([ODD, ODD, ODD, MAX]);
  expect(values((v) => tl.maximum(v, ODD))).toEqual([ODD, ODD, ODD, MAX]);
  expect(values((v) => v.mod(ODD))).toEqual([5n, -5n, MIN % ODD, MAX % ODD]);
  expect(values((v) => tl.full(v.shape, MIN, tl.int64))).toEqual([MIN, MIN, MIN, MIN]);
  expect(values((_, x) => tl.load(x.at(tl.arange(0, 4).add(2)), { other: ODD }))).toEqual([MIN, MAX, ODD, ODD]);
});

test("the emitted text has every digit", async () => {
  const { python } = await build(over("uint64", (v) => v.and(0x9e3779b97f4a7c15n).add(18446744073709551615n)));
  expect(python).toContain("0x9E3779B97F4A7C15");
  expect(python).toContain("18446744073709551615");
});

test("a literal beyond the dtype is refused, and one that JavaScript rounds is to be a bigint", async () => {
  const refused = (dtype: "int64" | "uint64", literal: unknown) =>
    build(over(dtype, (v) => v.add(literal))).then(
      () => "built",
      (error: Error) => error.message,
    );
  expect(await refused("int64", MAX)).toBe("built");
  expect(await refused("int64", MAX + 1n)).toContain("add: 9223372036854775808 is out of range for int64");
  expect(await refused("int64", Number(MAX))).toContain(
    "write a number beyond 2⁵³, which JavaScript rounds, as a bigint: 9223372036854775807n",
  );
  expect(await refused("uint64", 2n ** 64n)).toContain("is out of range for uint64");
});
