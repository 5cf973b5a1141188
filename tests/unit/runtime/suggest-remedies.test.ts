/** What `check` says to do where something is open: what it names closes it, and the kernel's own launches meet it. */
import { describe, expect, it, test } from "vitest";
import type { CachedProof, CompiledKernel, ProofProperty } from "../../../src/compiled/compiled-kernel.js";
import { constexpr, kernel, pointer, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofDiagnostics } from "../../../src/runtime/report/proof-text.js";
import { suggestRemedies } from "../../../src/runtime/report/suggest-remedies.js";

interface Part {
  readonly shapes?: readonly object[];
  readonly requires?: (args: any) => readonly unknown[];
}

/** Each of `heads` programs copies its element, and divides by `heads`. */
const divided = ({ shapes = [{ N: 40, heads: 4 }], requires }: Part): ReturnType<typeof build> =>
  build(
    kernel(
      "divided",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), heads: scalar(tl.int32) },
        grid: ({ N }: any) => [N],
        shapes,
        ...(requires && { requires }),
      } as never,
      (({ x, y, heads }: any) => {
        const i = tl.inBounds(tl.programId(0));
        tl.store(y.at(i), tl.load(x.at(tl.inBounds(i.floorDiv(heads)))));
      }) as never,
    ),
  );

/** A fixed number of programs, each with its element. */
const twelve = ({ shapes, requires }: Part): ReturnType<typeof build> =>
  build(
    kernel(
      "twelve",
      {
        params: { x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: () => [12],
        config: { BLOCK: 16 },
        ...(shapes && { shapes }),
        ...(requires && { requires }),
      } as never,
      (({ x }: any) => {
        const i = tl.inBounds(tl.programId(0));
        tl.store(x.at(i), tl.load(x.at(i)).add(1));
      }) as never,
    ),
  );

async function messages(built: ReturnType<typeof build>): Promise<readonly string[]> {
  const compiled = await built;
  const proof = compiled.proof();
  return proofDiagnostics(proof, suggestRemedies(compiled, proof)).map(({ message }) => message);
}

describe("what is open", () => {
  it("should come with a requirement that closes it", async () => {
    const open = await messages(divided({}));
    const said = /; with `requires: \(\{ heads \}\) => \[heads\.ge\(1\)\]` it is proved$/;
    expect(open.length).toBeGreaterThan(1);
    expect(open).toEqual(open.map(() => expect.stringMatching(said)));
    expect(await messages(divided({ requires: ({ heads }) => [heads.ge(1)] }))).toEqual([]);
  });

  it("should come without one that the kernel's own shapes do not meet", async () => {
    const offered = "with `requires: ({ N }) => [N.ge(12)]` it is proved";
    expect((await messages(twelve({ shapes: [{ N: 12 }, { N: 50 }] }))).join("\n")).toContain(offered);
    expect((await messages(twelve({ shapes: [{ N: 5 }, { N: 50 }] }))).join("\n")).not.toContain("requires:");
    expect(await messages(twelve({ requires: ({ N }) => [N.ge(12)] }))).toEqual([]);
  });
});

type Body = (args: any) => unknown;

interface Rows {
  readonly params?: object;
  readonly spec?: object;
  readonly body: Body;
}

/** A kernel of blocks of elements, with other params and other parts of its spec. */
const rows = ({ params = {}, spec = {}, body }: Rows): ReturnType<typeof build> =>
  build(
    kernel(
      "rows",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), ...params },
        grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        ...spec,
      } as never,
      ((args: any) => body({ ...args, i: tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK)) })) as never,
    ),
  );

const copy: Body = ({ x, y, i }) => tl.store(y.at(i), tl.load(x.at(i)));
const ids = (options?: object) => ({ ids: tensor(tl.int32, ["N"], options) });
const gathered: Body = ({ x, ids, y, i }) => tl.store(y.at(i), tl.load(x.at(tl.inBounds(tl.load(ids.at(i))))));
const raw = (options?: object) => ({ p: pointer(tl.float32, options as never) });
const pointed: Body = ({ p, x, y, i, N }) =>
  tl.store(y.at(i), tl.load(p.add(i), { mask: i.lt(N), other: 0 }).add(tl.load(x.at(i))));
/** Loads at an index that no range of ids keeps in bounds. */
const followed =
  (claim: (index: any) => any, use = (loaded: any): any => loaded): Body =>
  ({ x, y, ids, i }) => {
    const at = claim(tl.maximum(tl.load(ids.at(i), { other: 0 }), 5));
    tl.store(y.at(i), tl.load(x.at(i)).add(use(tl.load(x.at(at)))));
  };
/** Adds the sum of the powers of each block. */
const summed =
  (other: number): Body =>
  ({ x, y, i }) =>
    tl.store(y.at(i), tl.load(x.at(i)).add(tl.sum(tl.exp(tl.load(x.at(i), { other })), 0)));
/** Adds the sum of `x + 1` of each block. */
const added =
  (select: (terms: any, args: any) => any): Body =>
  (args) => {
    const { x, y, i } = args;
    const terms = select(tl.load(x.at(i), { other: 0 }).add(1), args);
    tl.store(y.at(i), tl.load(x.at(i)).add(tl.sum(terms, 0)));
  };
const once = { grid: () => [1] };
/** Doubles elements in the order that memory holds. */
const permuted =
  (between: () => void): Body =>
  (args) => {
    copy(args);
    const at = tl.load(args.ids.at(args.i));
    const doubled = tl.load(args.z.at(at)).mul(2);
    between();
    tl.store(args.z.at(at), doubled);
  };
const assuming: Body = (args) => {
  tl.assume(tl.load(args.ids.at(0), { other: 1 }).ge(1));
  copy(args);
};

describe.each<{
  readonly title: string;
  readonly property: ProofProperty;
  readonly wrong: Rows;
  readonly says: string;
  /** What the author then writes. */
  readonly fixed: Partial<Rows>;
}>([
  {
    title: "a promise about an input",
    property: "bounds",
    wrong: { params: ids(), body: gathered },
    says: 'with `range: [0, "N"]` as an option of ids it is proved',
    fixed: { params: ids({ range: [0, "N"] }) },
  },
  {
    title: "the extent of a pointer",
    property: "bounds",
    wrong: { params: raw(), body: pointed },
    says: 'with `numel: "N"` as an option of p it is proved',
    fixed: { params: raw({ numel: "N" }) },
  },
  {
    title: "a claim that is left out",
    property: "bounds",
    wrong: { params: ids(), body: followed(tl.inBounds) },
    says: "without its tl.inBounds, so that the view masks it, it is proved",
    fixed: { body: followed((index) => index) },
  },
  {
    title: "the value of lanes that a mask leaves out",
    property: "padding",
    wrong: { body: summed(0) },
    says: "with `other: -Infinity` at the loads that it depends on it is proved",
    fixed: { body: summed(-Infinity) },
  },
  {
    title: "the lanes that a view masks, after other arithmetic",
    property: "padding",
    wrong: { body: added((x) => x) },
    says: "with `tl.where(mask, …, 0)` around its operand it is proved, where mask tells which lanes its load reads",
    fixed: { body: added((x, { i, N }) => tl.where(i.lt(N), x, 0)) },
  },
  {
    title: "a barrier",
    property: "order",
    wrong: { params: { ...ids(), z: tensor.inout(tl.float32, ["N"]) }, spec: once, body: permuted(() => undefined) },
    says: "with tl.debugBarrier() before it, it is proved",
    fixed: { body: permuted(() => tl.debugBarrier()) },
  },
  {
    title: "an assumption that is left out",
    property: "claim",
    wrong: { params: ids(), body: assuming },
    says: "without it, the rest is proved",
    fixed: { body: copy },
  },
  {
    title: "an output that starts with zeros",
    property: "coverage",
    wrong: { params: ids(), body: ({ ids, y, i }) => tl.store(y.at(tl.load(ids.at(i))), 1) },
    says: "with `zeroed: true` as an option of y it is proved",
    fixed: { params: { ...ids(), y: tensor.out(tl.float32, ["N"], { zeroed: true }) } },
  },
])("$title", ({ property, wrong, says, fixed }) => {
  const openIn = (compiled: CompiledKernel) =>
    compiled
      .proof()
      .obligations.filter(({ property: each, verdict }) => each === property && verdict.kind !== "proved");

  it("should be said, as it was tried", async () => {
    const compiled = await rows(wrong);
    const open = openIn(compiled);
    expect(open.map(({ verdict }) => verdict.kind)).toEqual(open.map(() => "unknown"));
    const suggestion = suggestRemedies(compiled, compiled.proof());
    expect(open.map((each) => suggestion(each).text)).toEqual([says]);
  });

  it("should close it when the author writes it", async () => {
    expect(openIn(await rows({ ...wrong, ...fixed }))).toEqual([]);
  });
});

test("the kernel with a remedy is proved once, if proofs are cached", async () => {
  const proofs = new Map<string, CachedProof>();
  const written: string[] = [];
  const cache = {
    read: (text: string) => proofs.get(text),
    write: (text: string, proof: CachedProof) => void (written.push(text), proofs.set(text, proof)),
  };
  const suggested = async () => {
    const compiled = await divided({});
    const proof = compiled.proof(cache);
    return proofDiagnostics(proof, suggestRemedies(compiled, proof, cache));
  };
  const first = await suggested();
  const count = written.length;
  expect(count).toBeGreaterThan(1);
  expect(await suggested()).toEqual(first);
  expect(written.length).toBe(count);
});

describe("a range of an input", () => {
  const described = (inputs: (sizes: any, torch: any) => object): Rows => ({
    params: ids(),
    spec: { shapes: [{ N: 3000 }], inputs },
    body: gathered,
  });
  const offered = 'range: [0, "N"]';

  it("should be said if the spec's inputs are in it", async () => {
    const inside = rows(described(({ N }, torch) => ({ ids: torch.randint(0, N, [N]).to(tl.int32) })));
    expect((await messages(inside)).join()).toContain(offered);
  });

  it.each([
    ["beyond it", ({ N }: any, torch: any) => ({ ids: torch.randint(0, N.mul(2), [N]).to(tl.int32) })],
    ["below it", ({ N }: any, torch: any) => ({ ids: torch.randint(-1, N, [N]).to(tl.int32) })],
  ])("should not be said if some are %s", async (_, inputs) => {
    const [said] = await messages(rows(described(inputs)));
    expect(said).toMatch(/^the load from x /);
    expect(said).not.toContain(offered);
  });
});

describe("a remedy that was tried in vain", () => {
  it.each([
    ["opens another gap", { params: ids(), body: followed(tl.inBounds, (loaded) => tl.max(loaded, 0)) }],
    [
      "closes nothing",
      {
        params: raw(),
        body: ({ p, x, y, i }: any) => tl.store(y.at(i), tl.load(p.add(i)).add(tl.load(x.at(i)))),
      },
    ],
  ] as const)("should not be said if it %s", async (_, part) => {
    const [said] = await messages(rows(part));
    expect(said).toMatch(/; no change that was tried closes it$/);
  });
});
