/** Proofs of programs that share values, calls and state: what follows every way through such a program would not end. */
import { expect, test } from "vitest";
import { compile, constexpr, kernel, tensor, tl } from "tilescript";
import type { Certificate } from "../../../src/compiled/compiled-kernel.js";
import { sampledTests } from "../../support/sampled-tests.js";

sampledTests("values that accesses share", "src/prove");

const LONG = 40;

function proofOf(body: (args: any, index: any) => void): Certificate {
  const made = kernel(
    "shared",
    {
      params: { x: tensor.inout(tl.float32, ["N"]), B: constexpr() },
      grid: ({ N, B }) => [tl.cdiv(N, B)],
      config: { B: 16 },
    },
    (args) => body(args, tl.programId(0).mul(args.B).add(tl.arange(0, args.B))),
  );
  return compile(made).proof();
}

const open = ({ obligations }: Certificate): readonly string[] =>
  obligations.flatMap(({ property, verdict }) => (verdict.kind === "proved" ? [] : [property]));

test.each<[string, (value: any, iteration: number) => any]>([
  ["sums", (v) => v.add(v)],
  ["products", (v) => v.mul(v)],
  ["products and sums", (v, iteration) => v.mul(v).add(iteration)],
  ["choices", (v, iteration) => tl.where(v.gt(iteration), v.add(v), v.add(1))],
  ["extremes", (v, iteration) => tl.minimum(v, v.add(iteration)).add(v)],
])("an index that is a chain of %s is followed as far as it stays small, and its sums are not proved", (_, step) => {
  const start = performance.now();
  const proof = proofOf(({ x }, index) => {
    const iterations = Array.from({ length: LONG }, (__, iteration) => iteration);
    const at: any = iterations.reduce<any>(step, index);
    tl.store(x.at(at), tl.load(x.at(at)));
  });
  expect(open(proof)).toContain("overflow");
  expect(performance.now() - start).toBeLessThan(30_000);
});

test("a mask that is a chain of conditions is not taken for one that keeps an access in bounds", () => {
  const proof = proofOf(({ x, N }, index) => {
    let mask: any = index.lt(N);
    for (let iteration = 0; iteration < LONG; iteration++) mask = mask.and(index.ne(iteration)).or(mask.not());
    tl.store(x.ptr.add(index), 1, { mask });
  });
  expect(open(proof)).toContain("bounds");
});

test("values that a program computes one after the other, thousands of them, are followed", () => {
  const proof = proofOf(({ x, N }, index) => {
    let [at, value]: any[] = [index, tl.load(x.at(index))];
    for (let iteration = 0; iteration < 2_000; iteration++) value = value.mul(0.5);
    for (let iteration = 0; iteration < 500; iteration++) at = tl.minimum(at, N.add(iteration));
    tl.store(x.at(at), value);
  });
  expect(open(proof)).toContain("race");
});

test("state of loops that lie in one another is followed, and floats with it", () => {
  const nested = (depth: number, body: () => void): void => {
    if (depth === 0) return body();
    for (const _ of tl.range(0, 2)) nested(depth - 1, body);
  };
  const proof = proofOf(({ x }, index) => {
    const at: any = tl.mut(index);
    const value: any = tl.mut(tl.load(x.at(index)) as any);
    nested(10, () => {
      at.value = at.value.add(1);
      value.value = value.value.mul(2);
    });
    tl.store(x.at(at.value), value.value);
  });
  expect(open(proof)).toContain("race");
});

test("of helper functions that call one another twice each, too often to follow, nothing is proved", () => {
  const step = (inner: any): any =>
    tl.fn((x: any, at: any) => {
      inner(x, at);
      inner(x, at.add(1));
    });
  const last: any = tl.fn((x: any, at: any) => {
    tl.store(x.ptr.add(at), 1);
  });
  const all = Array.from({ length: 20 }).reduce<any>(step, last);
  const { obligations } = proofOf(({ x }, index) => all(x, index));
  expect(obligations.map(({ property, verdict }) => [property, verdict.kind])).toEqual([["bounds", "unknown"]]);
});
