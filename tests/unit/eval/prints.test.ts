/** What kernels print, and how arrays are shown. */
import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import { constexpr, kernel, NDArray, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";

const printing = kernel(
  "printing",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 2 },
    reference: ({ x }) => x.clone(),
  },
  ({ x, y, BLOCK }) => {
    const pid = tl.programId(0);
    const i = pid.mul(BLOCK).add(tl.arange(0, BLOCK));
    const value = tl.load(x.at(i));
    tl.devicePrint("x", value);
    tl.devicePrint("ids", pid, i, { hex: true });
    tl.store(y.at(i), value);
  },
);
const inputs = { x: { dtype: "float32", shape: [3], data: Float32Array.of(1.5, 2, -0.25) } };
const at = { sizes: { N: 3 }, dtypes: {}, config: 0, seed: 1 };

test("each element is printed once, with its line, program and lane", () => {
  const { printed, comparison } = compile(printing).evaluate(at, { inputs, lowered: true });
  expect(comparison?.correct).toBe(true);
  expect(printed?.filter((line) => line.includes(" x: "))).toEqual([
    "prints.test.ts:19 program (0, 0, 0) lane [0] x: 1.5",
    "prints.test.ts:19 program (0, 0, 0) lane [1] x: 2",
    "prints.test.ts:19 program (1, 0, 0) lane [0] x: -0.25",
    "prints.test.ts:19 program (1, 0, 0) lane [1] x: 0",
  ]);
  expect(printed?.slice(-3)).toEqual([
    "prints.test.ts:20 program (1, 0, 0) ids(operand 0): 0x1",
    "prints.test.ts:20 program (1, 0, 0) lane [0] ids(operand 1): 0x2",
    "prints.test.ts:20 program (1, 0, 0) lane [1] ids(operand 1): 0x3",
  ]);
});

test("a call from TypeScript prints to the console", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await printing.evaluate({ x: NDArray.of([1, 2, 3]) });
  expect(log.mock.calls.length).toBe(10);
  log.mockRestore();
});

test("lines beyond a thousand are counted", () => {
  const { printed } = compile(printing).evaluate({ ...at, sizes: { N: 2000 } });
  expect(printed).toHaveLength(1001);
  expect(printed!.at(-1)).toBe("4000 more lines were printed");
});

test("an array shows its values", () => {
  const whole = NDArray.of([1, 2.5, 3, 1 / 3, -Infinity, 6], [2, 3]);
  expect(inspect(whole)).toBe("NDArray float32[2, 3] [[1, 2.5, 3],\n [0.333333, -Infinity, 6]]");
  expect(inspect(whole.t())).toBe("NDArray float32[3, 2] [[1, 0.333333],\n [2.5, -Infinity],\n [3, 6]]");
  expect(inspect(NDArray.of([], [0]))).toBe("NDArray float32[0] []");
  const large = NDArray.of(Int32Array.from({ length: 1000 }, (_, i) => i));
  expect(inspect(large)).toBe("NDArray int32[1000] [0, 1, 2, …, 997, 998, 999]");
});
