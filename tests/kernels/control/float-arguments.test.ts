/**
 * A number that the caller passes is a scalar tensor of float32: every op takes it, on the interpreter as when it is
 * compiled, and a division by zero gives an infinity.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, kernel, type Scalar, scalar, tensor, tl } from "tilescript";
import { closeDevice, openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { requirePython } from "../../support/python.js";
import type { Device } from "../../../src/runtime/devices/device.js";

const LANES = 16;

type Given = Scalar<"float32">;

/** Each gives 1 for p = 0.1 where float32 counts. */
const ops: Readonly<Record<string, (p: Given) => Scalar<"float32">>> = {
  "a cast": (p) => p.to(tl.float16).to(tl.float32).mul(10).sub(1).abs().lt(0.01).to(tl.float32),
  "a cast of a sum": (p) => p.add(0.9).to(tl.float16).to(tl.float32),
  "a division by zero": (p) => p.div(p.sub(p)).eq(Infinity).to(tl.float32),
  "a function": (p) => tl.exp(p.mul(0)),
};

let device: Device;
beforeAll(async () => {
  await requirePython();
  device = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(device));

it.each(Object.keys(ops))("should run %s on the interpreter and the evaluator", async (name) => {
  const compiled = await build(
    kernel(
      "from_a_number",
      {
        params: { p: scalar(tl.float32, { default: 0.1 }), y: tensor.out(tl.float32, [LANES]) },
        grid: () => [1],
        reference: (_inputs, torch) => torch.full([LANES], 1, { dtype: tl.float32 }),
        // Two ops cast to float16 on purpose.
        tolerance: { rtol: 1e-5 },
      },
      ({ p, y }) => {
        tl.store(y.at(tl.arange(0, LANES)), tl.full([LANES], ops[name]!(p), tl.float32));
      },
    ),
  );
  const at = { sizes: {}, dtypes: {}, config: 0, seed: 0, scalars: { p: 0.1 } };
  const { outputs } = compiled.evaluate(at);
  expect([...outputs["y"]!.data]).toEqual(Array.from({ length: LANES }, () => 1));
  const { status, failure, by } = await verifyCase(compiled, device, at);
  expect({ status, failure, by }).toEqual({ status: "passed", failure: undefined, by: "python" });
});
