/** What a proof takes for granted is shown, too: each kernel is right over the integers, and wrong where int32 wraps. */
import { expect, test } from "vitest";
import { constexpr, kernel, NDArray, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofDiagnostics } from "../../../src/runtime/report/proof-text.js";
import { suggestRemedies } from "../../../src/runtime/report/suggest-remedies.js";

const f32 = tl.float32;
const a = scalar(tl.int32);
const rows = { y: tensor.out(f32, ["N"]), BLOCK: constexpr() };
const rowGrid = { config: { BLOCK: 16 }, grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)] as [any] };
const row = (BLOCK: any) => tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
const first = () => tl.inBounds(tl.zeros([1], tl.int32));
const floats = (count: number) => NDArray.randn([count], f32, 1);

interface Wrapping {
  readonly title: string;
  readonly spec: object;
  readonly body: (args: any) => void;
  /** The properties that are shown of the integers, and not of int32. */
  readonly properties: readonly string[];
  readonly remedy: string;
  /** Arguments with which the arithmetic wraps. */
  readonly args: object;
}

const wrapping: readonly Wrapping[] = [
  {
    title: "the condition of a branch around a store",
    spec: {
      params: { a, x: tensor(f32, ["N"]), y: tensor.inout(f32, ["K"]) },
      requires: ({ a }: any) => [a.ge(0)],
      grid: ({ N }: any) => [N],
    },
    body: ({ a, y, K }) => {
      const p = tl.programId(0);
      tl.when(p.add(a).lt(K), () => void tl.store(y.at(tl.inBounds(p)), 1));
    },
    properties: ["bounds"],
    remedy: "with `requires: ({ N, a }) => [N.le(2 ** 30), a.le(2 ** 30)]` it is proved",
    args: { a: 2 ** 31 - 1, x: floats(10), y: floats(3) },
  },
  {
    title: "the condition that leaves one program to write",
    spec: {
      params: { a, x: tensor(f32, ["N"]), y: tensor.inout(f32, [1]) },
      requires: ({ a }: any) => [a.ge(1)],
      grid: ({ N }: any) => [N],
    },
    body: ({ a, y }) => {
      const p = tl.programId(0);
      tl.when(p.mul(a).eq(0), () => void tl.store(y.at(first()), p.to(f32)));
    },
    properties: ["race"],
    remedy: "with `requires: ({ N, a }) => [N.le(2 ** 15), a.le(2 ** 15)]` it is proved",
    args: { a: 2 ** 30, x: floats(10), y: floats(1) },
  },
  {
    title: "the condition of a branch that writes the result",
    spec: { params: { a, ...rows }, ...rowGrid, requires: ({ a }: any) => [a.ge(1)] },
    body: ({ a, y, BLOCK }) => void tl.when(a.mul(a).gt(0), () => void tl.store(y.at(row(BLOCK)), 1)),
    properties: ["coverage"],
    remedy: "with `requires: ({ a }) => [a.le(2 ** 15)]` it is proved",
    args: { a: 65_536, N: 10 },
  },
  {
    title: "the end of a loop that writes the result",
    spec: { params: { a, ...rows }, ...rowGrid, requires: ({ a }: any) => [a.ge(1)] },
    body: ({ a, y, BLOCK }) => {
      for (const _ of tl.range(0, a.mul(a), 2 ** 20)) tl.store(y.at(row(BLOCK)), 1);
    },
    properties: ["coverage"],
    remedy: "with `requires: ({ a }) => [a.le(2 ** 15)]` it is proved",
    args: { a: 65_536, N: 10 },
  },
  {
    title: "a guard on loaded numbers",
    spec: {
      params: { ids: tensor(tl.int32, ["N"]), y: tensor.inout(f32, ["K"]) },
      grid: ({ N }: any) => [N],
    },
    body: ({ ids, y, K }) => {
      const j = tl.load(ids.at(tl.inBounds(tl.programId(0))));
      tl.when(j.ge(0).and(j.mul(4).lt(K)), () => void tl.atomicAdd(y.at(tl.inBounds(j)), 1));
    },
    properties: ["bounds"],
    remedy: "with `range: [0, 2 ** 28]` as an option of ids it is proved",
    args: { ids: Int32Array.from([2 ** 30, 1]), y: floats(8) },
  },
  {
    title: "a loaded number at the end of int32",
    spec: { params: { ids: tensor(tl.int32, ["N"]), x: tensor(f32, ["K"]), ...rows }, ...rowGrid },
    body: ({ ids, x, y, K, BLOCK }) => {
      const j = tl.load(ids.at(row(BLOCK)), { other: 0 });
      const mask = j.ge(0).and(j.add(1).lt(K));
      tl.store(y.at(row(BLOCK)), tl.load(x.at(tl.inBounds(j)), { mask, other: 0 }));
    },
    properties: ["bounds"],
    remedy: 'with `range: [0, "N"]` as an option of ids it is proved',
    args: { ids: Int32Array.from([2 ** 31 - 1, 0]), x: floats(4) },
  },
  {
    title: "the condition that keeps padding out of a sum",
    spec: {
      params: {
        a,
        x: tensor(f32, ["N"]),
        y: tensor.out(f32, [1]),
        BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      },
      requires: ({ a, N }: any) => [a.ge(0), N.ge(1)],
      grid: () => [1],
    },
    body: ({ a, x, y, N, BLOCK }) => {
      const i = tl.arange(0, BLOCK);
      const terms = tl.where(i.add(a).lt(N.add(a)), tl.exp(tl.load(x.at(i), { other: 0 })), 0);
      tl.store(y.at(first()), tl.sum(terms, 0));
    },
    properties: ["padding"],
    remedy: "with `requires: ({ a }) => [a.le(2 ** 30)]` it is proved",
    args: { a: 2 ** 31 - 6, x: floats(5) },
  },
];

test.each(wrapping)("$title must stay in int32", async ({ title, spec, body, properties, remedy, args }) => {
  const definition: any = kernel("wrapping", { doc: title, ...spec } as never, body as never);
  const compiled = await build(definition);
  const proof = compiled.proof();
  const { obligations } = proof;
  const open = obligations.filter(({ verdict }) => verdict.kind === "unknown");
  const overflow = open.find(({ property }) => property === "overflow");
  expect(overflow && suggestRemedies(compiled, proof)(overflow).text).toBe(remedy);
  for (const property of properties)
    expect(open).toContainEqual(
      expect.objectContaining({
        property,
        verdict: {
          kind: "unknown",
          missing: `it holds if the arithmetic of line ${overflow?.at?.line} stays in int32, which nothing shows`,
          isLemma: true,
        },
      }),
    );
  // `check` warns of the arithmetic alone.
  const warned = proofDiagnostics({ about: [], obligations, launches: [], configs: 1, promises: [], limits: [] });
  expect(warned.filter(({ message }) => message.includes("it holds if"))).toEqual([]);
  expect(warned.map(({ at }) => at?.line)).toContain(overflow?.at?.line);
  const { findings } = await definition.evaluate(args);
  expect(findings.map(({ code }: any) => code)).toContain("overflow");
});

test("arithmetic on what may wrap is not called proved: it may wrap where that does not", async () => {
  const chained = kernel(
    "chained",
    {
      doc: "Compares twice a product.",
      params: { a, x: tensor(f32, ["N"]), y: tensor.inout(f32, ["N"]) },
      requires: ({ a }) => [a.ge(1)],
      grid: ({ N }) => [N],
    },
    ({ a, y, N }) => {
      const p = tl.programId(0);
      const product = p.mul(a);
      const twice = product.mul(2);
      tl.when(twice.lt(N), () => void tl.store(y.at(p), 1));
    },
  );
  const overflows = (await build(chained)).proof().obligations.filter(({ property }) => property === "overflow");
  expect(overflows.map(({ verdict }) => verdict)).toEqual([
    expect.objectContaining({ kind: "unknown", missing: expect.stringMatching(/the result of \* stays in int32/) }),
    expect.objectContaining({
      kind: "unknown",
      missing: `it holds if the arithmetic of line ${overflows[0]?.at?.line} stays in int32, which nothing shows`,
      isLemma: true,
    }),
  ]);
  const { findings } = (await chained.evaluate({ a: 2 ** 30, x: floats(2), y: floats(2) })) as any;
  expect(findings.map(({ at }: any) => at.line)).toEqual([overflows[1]?.at?.line]);
});

test("a pointer that moves twice adds two offsets, each of which must be exact", async () => {
  const far = 2 ** 31 - 40;
  const twice = kernel(
    "twice",
    {
      doc: "Moves a pointer far ahead and back.",
      params: {
        x: tensor(f32, ["N"], { contiguous: true }),
        y: tensor.out(f32, ["N"], { contiguous: true }),
        BLOCK: constexpr(),
      },
      ...rowGrid,
    },
    ({ x, y, N, BLOCK }) => {
      const i = row(BLOCK);
      const mask = i.lt(N);
      tl.store(y.ptr.add(i.add(far)).add(-far), tl.load(x.ptr.add(i), { mask, other: 0 }), { mask });
    },
  );
  const { obligations } = (await build(twice)).proof();
  expect(obligations.map(({ verdict }) => verdict)).toContainEqual(
    expect.objectContaining({ kind: "refuted", finding: expect.objectContaining({ code: "overflow" }) }),
  );
});
