/** A difference of prefix sums loses small elements beside large ones, which random numbers do not show. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, op, tensor, tl } from "tilescript";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { verify } from "../../../src/runtime/verify/plan-cases.js";

const device = { kind: "eval", reason: "", unchecked: [] } as const;

type Body = (values: any, at: any, BLOCK: any) => any;
const suffixSum = ({ x }: any, torch: any) => torch.flip(torch.cumsum(torch.flip(x, [0]), 0), [0]);
const reversed: Body = (v) => tl.cumsum(v, 0, { reverse: true });
const lessPrefix: Body = (v) => tl.sum(v, 0).sub(tl.cumsum(v, 0)).add(v);

/** A kernel from one row to a row. */
const overRow = (body: Body, spec: object = {}, dtype: any = tl.float32) =>
  kernel(
    "over_row",
    {
      params: {
        x: tensor(dtype, ["N"]),
        y: tensor.out(dtype, ["N"]),
        BLOCK: constexpr.launch(({ N }: any) => tl.nextPowerOf2(N)),
      },
      grid: () => [1],
      requires: ({ N }: any) => [N.ge(1)],
      reference: suffixSum,
      shapes: [{ N: 64 }],
      ...spec,
    } as never,
    (({ x, y, BLOCK }: any) => {
      const i = tl.arange(0, BLOCK);
      tl.store(y.at(i), body(tl.load(x.at(i)).to(tl.float32), i, BLOCK).to(dtype));
    }) as never,
  );

const failuresOf = async (compiled: Awaited<ReturnType<typeof build>>) => {
  const { outcomes } = await verify(compiled, device, { selection: { seed: 0 } });
  return outcomes.flatMap(({ status, label, problems, findings }) =>
    status === "failed" ? [[label, ...problems, ...findings.map(({ message }) => message)].join(": ")] : [],
  );
};

test("a suffix sum as the total less the prefix sum fails, at the difference", async () => {
  const failures = await failuresOf(compile(overRow(lessPrefix)));
  expect(failures.map((failure) => failure.split(":")[0])).toContain("cancelling rows");
  for (const failure of failures.filter((each) => each.startsWith("cancelling")))
    expect(failure).toMatch(/^cancelling rows: the difference of sums at .*prefix-differences\.test\.ts:12:\d+ loses/);
});

test.each<[string, Body]>([
  ["negated", (v) => v.sub(tl.cumsum(v, 0)).add(tl.sum(v, 0))],
  [
    "a total of a combine function",
    (v) => (tl.reduce(v, 0, (a: any, b: any) => a.add(b)) as any).sub(tl.cumsum(v, 0)).add(v),
  ],
  [
    "a scan of a combine function",
    (v) => tl.sum(v, 0).sub(tl.associativeScan(v, 0, (a: any, b: any) => a.add(b))).add(v), // prettier-ignore
  ],
  [
    "a total that a loop-carried variable holds",
    (v) => {
      const total = tl.mut(tl.sum(v, 0));
      for (const _ of tl.range(0, 2)) total.value = (total.value as any).add(0);
      return (total.value as any).sub(tl.cumsum(v, 0)).add(v);
    },
  ],
])("so does one that is %s", async (_, body) => {
  const failures = await failuresOf(compile(overRow(body)));
  expect(failures.map((failure) => failure.split(":")[0])).toContain("cancelling rows");
});

test.each<[string, Body, object?, any?]>([
  ["a suffix sum that adds up what remains", reversed],
  ["one of float16", reversed, {}, tl.float16],
  [
    "one whose reference computes the same difference",
    lessPrefix,
    { reference: ({ x }: any) => x.sum(0).sub(x.cumsum(0)).add(x) },
  ],
  ["one with a tolerance of its author", lessPrefix, { tolerance: { atol: 0.1 } }],
  ["an exclusive prefix sum", (v) => tl.cumsum(v, 0).sub(v), { reference: ({ x }: any) => x.cumsum(0).sub(x) }],
])("%s passes", async (_, body, spec, dtype) => {
  const compiled = compile(overRow(body, spec, dtype));
  const isCancelling = (failure: string): boolean => failure.startsWith("cancelling");
  expect((await failuresOf(compiled)).filter(isCancelling)).toEqual([]);
});

test("a difference that no sum precedes has no cancelling rows", () => {
  const centered: Body = (v, i, BLOCK) => v.sub(tl.sum(v, 0).div(BLOCK)).add(tl.cumsum(v, 0).mul(0));
  expect(compile(overRow(centered)).prefixDifference).toBeUndefined();
  expect(compile(overRow(lessPrefix)).prefixDifference).toBeDefined();
});

test("the kernels of an operator are searched too", async () => {
  const spec = { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, shapes: [{ N: 64 }] };
  const operator = (body: Body) => {
    const inner = overRow(body, { reference: undefined, shapes: undefined }) as any;
    return build(
      op("suffix", { ...spec, reference: suffixSum } as never, (({ x }: any) => inner.call({ x })) as never) as never,
    );
  };
  expect((await failuresOf(await operator(lessPrefix))).map((failure) => failure.split(":")[0])).toContain(
    "cancelling rows",
  );
  expect(await failuresOf(await operator(reversed))).toEqual([]);
});
