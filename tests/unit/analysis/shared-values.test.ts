/** Values that are used twice each: what follows every way through such a program would not end. */
import { expect, test } from "vitest";
import { compile, constexpr, kernel, tensor, tl } from "tilescript";

const DEEP = 150;

type Step = (value: any, turn: number) => any;

function chain(step: Step, of: "values" | "indices"): unknown {
  const repeated = (value: any): any => Array.from({ length: DEEP }, (_, turn) => turn).reduce(step, value);
  return kernel(
    "chain",
    {
      params: { x: tensor.inout(tl.float32, ["N"]), B: constexpr() },
      grid: ({ N, B }) => [tl.cdiv(N, B)],
      config: { B: 16 },
    },
    ({ x, B }) => {
      const index = tl.programId(0).mul(B).add(tl.arange(0, B));
      const at = of === "indices" ? repeated(index) : index;
      const value = tl.load(x.at(at));
      tl.store(x.at(at), of === "values" ? repeated(value) : value);
    },
  );
}

test.each<[string, Step]>([
  ["sums", (v) => v.add(v)],
  ["differences", (v, turn) => v.sub(turn).sub(v)],
  ["products", (v) => v.mul(v)],
  ["products and sums", (v, turn) => v.mul(turn + 2).add(v)],
  ["choices", (v, turn) => tl.where(v.gt(turn), v, v.neg())],
  ["extremes", (v, turn) => tl.minimum(v, v.sub(turn))],
  ["branches", (v, turn) => tl.when(tl.programId(0).gt(turn), () => v.add(v)).otherwise(() => v.mul(v))],
])("a chain of %s is compiled", (_, step) => {
  const start = performance.now();
  for (const of of ["values", "indices"] as const)
    expect(compile(chain(step, of) as never).python).toContain("tl.store(");
  expect(performance.now() - start).toBeLessThan(30_000);
});

test.each<[string, Step]>([
  ["quotients", (v, turn) => tl.cdiv(v, turn + 2).add(v)],
  ["bits", (v) => v.xor(v.shr(1))],
  ["products and sums", (v) => v.mul(v).add(1)],
])("a chain of %s of indices is compiled", (_, step) => {
  expect(compile(chain(step, "indices") as never).python).toContain("tl.store(");
});
