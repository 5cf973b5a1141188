/** Conditions of `elseWhen` that load: they load only where no earlier arm runs. */
import { expect, test } from "vitest";
import { kernel, tensor, tl, build } from "tilescript";
import { evaluate, float32s } from "../../support/evaluate.js";

const over = (body: (x: any, y: any, i: any) => void) =>
  kernel(
    "k",
    { params: { x: tensor(tl.float32, [3]), y: tensor.out(tl.float32, [5]) }, grid: () => [5] },
    ({ x, y }: any) => {
      body(x, y, tl.inBounds(tl.programId(0)));
    },
  );

/** Beyond the three elements of x, the first arm runs. */
const guarded = over((x, y, i) => {
  tl.when(i.ge(3), () => tl.store(y.at(i), 7))
    .elseWhen(tl.load(x.at(tl.inBounds(i))).lt(0), () => tl.store(y.at(i), -1))
    .elseWhen(tl.load(x.at(tl.inBounds(i))).gt(0), () => tl.store(y.at(i), 1))
    .otherwise(() => tl.store(y.at(i), 0));
});

test("a condition that loads runs only where no earlier arm does", () => {
  const result = evaluate(guarded, { sizes: {} }, { x: float32s(-2, 0, 3) });
  expect(result.findings).toEqual([]);
  expect([...Object.values(result.outputs)[0]!.data]).toEqual([-1, 0, 1, 7, 7]);
});

test("arms that return values may follow such a condition", () => {
  const valued = over((x, y, i) => {
    const chain = tl.when(i.ge(3), () => tl.full([], 7, tl.float32));
    const v = tl.load(x.at(tl.inBounds(i)));
    const result = chain
      .elseWhen(v.lt(0), () => tl.full([], -1, tl.float32))
      .otherwise(() => tl.full([], 1, tl.float32));
    tl.store(y.at(i), result);
  });
  const result = evaluate(valued, { sizes: {} }, { x: float32s(-2, 0, 3) });
  expect(result.findings).toEqual([]);
  expect([...Object.values(result.outputs)[0]!.data]).toEqual([-1, 1, 1, 7, 7]);
});

test("what such a condition loads is no value after it", async () => {
  const escaping = over((x, y, i) => {
    const chain = tl.when(i.ge(3), () => tl.store(y.at(i), 7));
    const v = tl.load(x.at(tl.inBounds(i)));
    chain.elseWhen(v.lt(0), () => tl.store(y.at(i), -1));
    tl.store(y.at(i), v);
  });
  await expect(build(escaping)).rejects.toThrow("this condition");
});
