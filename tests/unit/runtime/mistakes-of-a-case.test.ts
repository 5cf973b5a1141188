/** Mistakes that show only at a case's sizes are reported as the author's, at their line, not as the evaluator's. */
import { expect, it } from "vitest";
import { type Args, build, constexpr, kernel, tensor, tl } from "tilescript";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { fc } from "../../support/property.js";

const device = await openDevice({ device: "eval" });
const at = { sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 };
const params = {
  x: tensor(tl.float32, ["N"]),
  y: tensor.out(tl.float32, ["N"]),
  D: constexpr.int({ default: 0 }),
  BLOCK: constexpr(),
};
const spec = { params, config: { BLOCK: 64 }, shapes: [{ N: 100 }] };
const twice = ({ x, y, BLOCK }: Args<typeof params>): void => {
  const cols = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(cols), tl.load(x.at(cols)).mul(2));
};
const ZERO = "divides by zero at N=100, D=0, BLOCK=64";
const STEP = "this loop has a step of 0";

const mistaken = {
  grid: kernel("k", { ...spec, grid: ({ N, D }) => [tl.cdiv(N, D)] }, twice),
  requirement: kernel(
    "k",
    { ...spec, grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)], requires: ({ N, D }) => [N.mod(D).eq(0)] },
    twice,
  ),
  heuristic: kernel(
    "k",
    {
      ...spec,
      params: { ...params, EVEN: constexpr.bool() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      heuristics: { EVEN: ({ N, D }) => N.mod(D).eq(0) },
    },
    twice,
  ),
  "launch constexpr": kernel(
    "k",
    {
      ...spec,
      params: { ...params, WIDTH: constexpr.launch(({ N, D }) => tl.cdiv(N!, D!)) },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    },
    ({ y, WIDTH }) => tl.store(y.at(tl.arange(0, WIDTH)), 1),
  ),
  size: kernel(
    "k",
    {
      ...spec,
      params: { ...params, y: tensor.out(tl.float32, ["P"]) },
      dims: { P: ({ N, D }) => N.floorDiv(D) },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    },
    ({ y, BLOCK }) => tl.store(y.at(tl.arange(0, BLOCK)), 1),
  ),
  "negative size": kernel(
    "k",
    {
      ...spec,
      params: { ...params, y: tensor.out(tl.float32, ["P"]) },
      dims: { P: ({ N }) => N.sub(200) },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    },
    ({ y, BLOCK }) => tl.store(y.at(tl.arange(0, BLOCK)), 1),
  ),
  "step of a constexpr": kernel("k", { ...spec, grid: () => [1] }, (args) => {
    for (const _ of tl.range(0, 4, args.D)) twice(args);
  }),
  "step of a size": kernel("k", { ...spec, grid: () => [1] }, (args) => {
    for (const _ of tl.range(0, 4, args.N.sub(args.N))) twice(args);
  }),
};

it.each<[keyof typeof mistaken, string, string, string?]>([
  ["grid", "launch", ZERO],
  ["requirement", "launch", ZERO],
  ["heuristic", "launch", ZERO],
  ["launch constexpr", "launch", ZERO],
  ["size", "launch", ZERO],
  ["negative size", "launch", "dims: P is -100", "a computed size is negative: P = -100"],
  ["step of a constexpr", "loop", STEP],
  ["step of a size", "loop", STEP],
])("should name the author's line for a wrong %s", async (name, kind, message, refusal) => {
  const compiled = await build(mistaken[name] as Parameters<typeof build>[0]);
  expect(compiled.refusal(at)).toBe(refusal);
  expect(fc.sample(cases(compiled), 3)).toHaveLength(3);
  const { status, failure } = await verifyCase(compiled, device, at);
  expect({ status, kind: failure?.kind }).toEqual({ status: "failed", kind });
  expect(failure?.message).toContain(message);
  expect(failure?.at?.file).toMatch(/mistakes-of-a-case\.test\.ts$/);
});

it("should refuse a case for a requirement that does not depend on the division", async () => {
  const guarded = kernel(
    "k",
    { ...spec, grid: ({ N, D }) => [tl.cdiv(N, D)], requires: ({ N, D }) => [D.gt(0), N.mod(D).eq(0)] },
    twice,
  );
  expect((await build(guarded)).refusal(at)).toBe("it requires D > 0; here D is 0");
});

it("should take what PyTorch refuses as a mistake, unless all outputs are empty", async () => {
  const greatest = kernel(
    "greatest",
    {
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
      grid: ({ M }) => [M],
      config: { BLOCK: 16 },
      reference: ({ x }) => x.amax(1),
    },
    ({ x, y, N, BLOCK }) => {
      const row = tl.inBounds(tl.programId(0));
      const most = tl.mut(tl.full([BLOCK], -Infinity, tl.float32));
      for (const k of tl.range(0, N, BLOCK)) {
        const value = tl.load(x.at(row, k.add(tl.arange(0, BLOCK))), { other: -Infinity });
        most.value = tl.maximum(most.value, value);
      }
      tl.store(y.at(row), tl.max(most.value, 0));
    },
  );
  const compiled = await build(greatest);
  const of = (M: number, N: number) => verifyCase(compiled, device, { ...at, sizes: { M, N } });
  expect(await of(3, 0)).toMatchObject({
    status: "failed",
    failure: { kind: "torch", message: expect.stringContaining("amax: an axis that it folds has no elements") },
  });
  expect(await of(0, 0)).toMatchObject({ status: "passed" });
  expect(await of(3, 5)).toMatchObject({ status: "passed" });
});
