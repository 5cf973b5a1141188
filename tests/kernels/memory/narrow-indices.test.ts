/** Indices of 8 and 16 bits, of which products with sizes would wrap. */
import { expect, test } from "vitest";
import { build, kernel, tensor, tl } from "tilescript";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";

const [ROWS, COLS] = [120, 40];
const x: TensorData = {
  dtype: "float32",
  shape: [ROWS, COLS],
  data: Float32Array.from({ length: ROWS * COLS }, (_, i) => i),
};

const NARROW = ["int8", "uint8", "int16", "uint16", "uint32"] as const;

test.each(NARROW)("rows that are %s are counted with the sizes of a contiguous tensor", async (name) => {
  const T = tl[name];
  const rows = kernel(
    "rows",
    {
      params: {
        x: tensor(tl.float32, ["N", COLS], { contiguous: true }),
        r: tensor(T, ["R"], { range: [0, "N"] }),
        y: tensor.out(tl.float32, ["R", 4]),
      },
      grid: () => [1],
    },
    ({ x, r, y }) => {
      const [row, column] = [tl.arange(0, 4), tl.arange(0, 4)];
      tl.store(y.at(row, column), tl.load(x.at(tl.load(r.at(row)), column)));
    },
  );
  const given = [0, 7, 119];
  const at = { sizes: { N: ROWS, R: 3 }, dtypes: {}, config: 0, seed: 1 };
  const compiled = await build(rows);
  const { findings, outputs } = compiled.evaluate(at, {
    inputs: { x, r: { dtype: name, shape: [3], data: (name === "uint32" ? Uint32Array : Int32Array).from(given) } },
    lowered: true,
  });
  expect(findings).toEqual([]);
  expect([...outputs["y"]!.data]).toEqual(given.flatMap((row) => [0, 1, 2, 3].map((column) => row * COLS + column)));
});

test("a size that the dtype of an index does not hold is compared all the same", async () => {
  const table = kernel(
    "table",
    {
      params: {
        x: tensor(tl.float32, [300]),
        codes: tensor(tl.int8, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
      },
      grid: ({ N }) => [N],
    },
    ({ x, codes, y }) => {
      const i = tl.inBounds(tl.programId(0));
      tl.store(y.at(i), tl.load(x.at(tl.load(codes.at(i)))));
    },
  );
  const { findings, outputs } = (await build(table)).evaluate(
    { sizes: { N: 3 }, dtypes: {}, config: 0, seed: 1 },
    {
      inputs: {
        x: { dtype: "float32", shape: [300], data: Float32Array.from({ length: 300 }, (_, i) => i) },
        codes: { dtype: "int8", shape: [3], data: Int32Array.of(5, -1, 127) },
      },
      lowered: true,
    },
  );
  expect({ findings, y: [...outputs["y"]!.data] }).toEqual({ findings: [], y: [5, 0, 127] });
});

test("an index whose dtype may also be int64 keeps all of its bits", async () => {
  const T = tl.dtype("T", [tl.int8, tl.int64]);
  const either = kernel(
    "either",
    {
      params: {
        x: tensor(tl.float32, [100, 4], { contiguous: true }),
        codes: tensor(T, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
      },
      grid: ({ N }) => [N],
    },
    ({ x, codes, y }) => {
      const i = tl.inBounds(tl.programId(0));
      tl.store(y.at(i), tl.load(x.at(tl.load(codes.at(i)), 0)));
    },
  );
  const { findings, outputs } = (await build(either)).evaluate(
    { sizes: { N: 2 }, dtypes: { T: "int64" }, config: 0, seed: 1 },
    {
      inputs: {
        x: { dtype: "float32", shape: [100, 4], data: Float32Array.from({ length: 400 }, (_, i) => i) },
        codes: { dtype: "int64", shape: [2], data: BigInt64Array.of(5n, 2n ** 32n + 5n) },
      },
      lowered: true,
    },
  );
  expect({ findings, y: [...outputs["y"]!.data] }).toEqual({ findings: [], y: [20, 0] });
});

test.each(NARROW)("an offset of %s is not taken away from a pointer: its negative wraps", async (name) => {
  const back = kernel(
    "back",
    {
      params: { x: tensor(tl.float32, ["N"]), v: tensor(tl[name], ["N"]), y: tensor.out(tl.float32, ["N"]) },
      grid: () => [1],
    },
    ({ x, v, y }) => {
      const i = tl.arange(0, 16);
      // @ts-expect-error the editor says the same
      tl.store(y.at(i), tl.load(x.ptr.add(300).sub(tl.load(v.at(i), { other: 0 }))));
    },
  );
  await expect(build(back)).rejects.toThrow(
    `sub: Triton adds the negative of an offset, which wraps in ${name}; cast with .to(tl.int64)`,
  );
});
