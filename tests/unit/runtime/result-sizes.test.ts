/** A constexpr that is a size of the result alone: callers pass it, and shapes give it. */
import { expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { compileCases } from "../../../src/runtime/cases/command-cases.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verify } from "../../../src/runtime/verify/plan-cases.js";

const device = await openDevice({ device: "eval" });

const firstColumns = (shapes?: readonly { M: number; N: number; K: number }[]) =>
  build(
    kernel(
      "first_columns",
      {
        params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "K"]), K: constexpr() },
        grid: ({ M }) => [M],
        requires: ({ N, K }) => [K.le(N)],
        reference: ({ x, K }) => x.narrow(1, 0, K),
        ...(shapes && { shapes }),
      },
      ({ x, y, K }) => {
        const row = tl.inBounds(tl.programId(0));
        const cols = tl.arange(0, K);
        tl.store(y.at(row, cols), tl.load(x.at(row, cols)));
      },
    ),
  );

it("should have the value of the author's shape", async () => {
  const compiled = await firstColumns([{ M: 3, N: 8, K: 4 }]);
  expect(compiled.shapes).toEqual([{ M: 3, N: 8, K: 4 }]);
  const { outcomes } = await verify(compiled, device, { selection: { seed: 0 } });
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
  expect(outcomes.map(({ testCase: at }) => at.sizes)).toContainEqual({ M: 3, N: 8, K: 4 });
  expect(compileCases(compiled, { seed: 0 }).cases.map(({ sizes }) => sizes)).toContainEqual({ M: 3, N: 8, K: 4 });
});

it("should have a value without shapes", async () => {
  const { outcomes } = await verify(await firstColumns(), device, { selection: { seed: 0 } });
  expect(outcomes.length).toBeGreaterThan(0);
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "passed"));
});
