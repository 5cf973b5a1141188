/**
 * An index of `tl.range` is a scalar tensor: every op takes it, on the interpreter as when it is compiled, and its
 * arithmetic wraps around.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, kernel, type Scalar, tensor, type Tile, tl } from "tilescript";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { compileAll } from "../../support/aot.js";
import { requirePython } from "../../support/python.js";
import type { Device } from "../../../src/runtime/devices/device.js";

const at = { sizes: {}, dtypes: {}, config: 0, seed: 0 };
const LANES = 16;

type Index = Scalar<"int32">;
type Lanes = Tile<"int32", []> | Tile<"int32", [1]> | Tile<"int32", [typeof LANES]>;

/** Each gives 1 for the sum over the indices 0 and 1. */
const ops: Readonly<Record<string, (k: Index) => Lanes>> = {
  "tl.broadcastTo": (k) => tl.broadcastTo(k, [LANES]),
  "tl.expandDims": (k) => tl.expandDims(k, 0),
  "tl.join": (k) => tl.sum(tl.join(k, k), 0).sub(k),
  "tl.broadcast": (k) => tl.broadcast(k, tl.zeros([LANES], tl.int32))[0],
  "tl.full": (k) => tl.full([LANES], k, tl.int32),
  "tl.where": (k) => tl.where(k.eq(1), k, 0),
  "tl.randint with an index as its seed": (k) => tl.randint(k, tl.arange(0, LANES)).to(tl.int32).mul(0).add(k),
  "tl.randint with an index as its offset": (k) => tl.randint(3, k).to(tl.int32).mul(0).add(k),
  "a cast": (k) => k.to(tl.int64).to(tl.int32),
  "a cast of a quotient": (k) => k.div(2).mul(2).to(tl.int32),
  "a cast of a comparison": (k) => k.eq(1).to(tl.int32),
  "a sum past int32": (k) => k.add(2147483647).gt(0).to(tl.int32).mul(-1).add(1),
};

let device: Device;
beforeAll(async () => {
  device = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(device));

/** Adds up what `each` gives for the indices. */
const summing = (each: (k: Index) => Lanes) =>
  build(
    kernel(
      "sum_of_indices",
      {
        params: { y: tensor.out(tl.int32, [LANES]) },
        grid: () => [1],
        reference: (_inputs, torch) => torch.full([LANES], 1, { dtype: tl.int32 }),
      },
      ({ y }) => {
        const sum = tl.mut(tl.zeros([LANES], tl.int32));
        for (const k of tl.range(0, 2)) sum.value = sum.value.add(each(k) as Tile<"int32", [typeof LANES]>);
        tl.store(y.at(tl.arange(0, LANES)), sum.value);
      },
    ),
  );

it.each(Object.keys(ops))("should run %s of an index on the interpreter and the evaluator", async (name) => {
  const compiled = await summing(ops[name]!);
  const { status, failure, by } = await verifyCase(compiled, device, at);
  expect({ status, failure, by }).toEqual({ status: "passed", failure: undefined, by: "python" });
  expect(compiled.evaluate(at, { tolerance: {} }).comparison?.correct).toBe(true);
});

it("should be cast by a function, which takes the Python integer of a bare interpreter", async () => {
  const { python } = await summing((k) => k.mul(2).add(1).to(tl.int64).mul(0).to(tl.int32).add(k.to(tl.int32)));
  expect(python).toMatch(/tl\.cast\(k \* 2 \+ 1, tl\.int64\)/);
  expect(python).toMatch(/tl\.cast\(k, tl\.int32\)/);
});

it("should compile each", { timeout: 120_000 }, async () => {
  const python = await requirePython();
  const jobs = await Promise.all(Object.values(ops).map(async (each) => ({ kernel: await summing(each) })));
  const compiled = await compileAll(python, jobs);
  const refused = Object.keys(ops).flatMap((name, i) => (compiled[i]!.ok ? [] : [[name, compiled[i]]]));
  expect(refused).toEqual([]);
});
