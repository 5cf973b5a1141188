/** Kernels whose indices are hard to follow: what is shown of them, and which requirement closes what is not. */
import { describe, expect, test } from "vitest";
import { kernel, tensor, tl } from "../../../src/index.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { build } from "../../../src/pipeline/build.js";
import { suggestRemedies } from "../../../src/runtime/report/suggest-remedies.js";
import { bitonic, butterfly, grouped, im2col, packTriangle } from "../../kernels/small-world/hard-kernels.js";
import { sampledTests } from "../../support/sampled-tests.js";

sampledTests("proofs of hard kernels", "src/prove");

/** The properties that are not proved. */
const openIn = (compiled: CompiledKernel): readonly string[] => [
  ...new Set(
    compiled.proof().obligations.flatMap(({ property, verdict }) => (verdict.kind === "proved" ? [] : [property])),
  ),
];

/** The kernel with other requirements. */
function withRequires(exported: unknown, requires: (args: any) => readonly unknown[]): Promise<CompiledKernel> {
  const { name, spec, body } = definitionOf(exported);
  return build(kernel(name, { ...spec, requires } as never, body as never));
}

/** What `check` says to require for the overflow of a kernel. */
async function boundsFor(exported: unknown, requires: (args: any) => readonly unknown[]): Promise<string | undefined> {
  const compiled = await withRequires(exported, requires);
  const proof = compiled.proof();
  const open = proof.obligations.find(({ property, verdict }) => property === "overflow" && verdict.kind === "unknown");
  const suggestion = open && suggestRemedies(compiled, proof)(open);
  return suggestion?.fix?.kind === "require" ? suggestion.fix.condition : suggestion?.text;
}

describe("is proved", () => {
  test.each([
    ["pairs of a butterfly in place", butterfly],
    ["pairs of a bitonic step at a distance of the caller", bitonic],
    ["patches as columns", im2col],
    ["tiles in groups of rows", grouped],
  ])("%s", async (_, exported) => {
    expect(openIn(await build(exported))).toEqual([]);
  });

  test("the bounds of a packed triangle; that its rows meet nowhere follows from no rule", async () => {
    expect(openIn(await build(packTriangle))).toEqual(["coverage", "race"]);
  });
});

describe("comes with the bounds that were tried", () => {
  test.each<[string, unknown, (args: any) => readonly unknown[], string]>([
    ["a butterfly", butterfly, ({ N, H }) => [H.ge(1), N.mod(H.mul(2)).eq(0)], "N.le(2 ** 30)"],
    [
      "a bitonic step",
      bitonic,
      ({ N, J, K }) => [J.ge(1), K.mod(J.mul(2)).eq(0), K.ge(1), N.mod(K).eq(0)],
      "N.le(2 ** 28), J.le(2 ** 28)",
    ],
    ["patches", im2col, () => [], "KH.le(2 ** 30), KW.le(2 ** 30)"],
    ["a triangle", packTriangle, ({ N, T }) => [T.eq(N.mul(N.add(1)).floorDiv(2))], "T.le(2 ** 30)"],
  ])("%s", async (_, exported, requires, bounds) => {
    expect(await boundsFor(exported, requires)).toBe(bounds);
  });

  test("and not with bounds that the declared shapes break", async () => {
    const { spec } = definitionOf(butterfly);
    const large = { ...definitionOf(butterfly), spec: { ...spec, shapes: [{ N: 2 ** 31 - 2 ** 21, H: 8 }] } };
    const compiled = await build(
      kernel(
        "butterfly",
        { ...large.spec, requires: ({ N, H }: any) => [H.ge(1), N.mod(H.mul(2)).eq(0)] } as never,
        large.body as never,
      ),
    );
    const proof = compiled.proof();
    const open = proof.obligations.find(
      ({ property, verdict }) => property === "overflow" && verdict.kind === "unknown",
    );
    expect(open && suggestRemedies(compiled, proof)(open)).not.toMatchObject({ fix: { condition: "N.le(2 ** 30)" } });
  });
});

test.each([
  { more: 0, meets: false },
  { more: 1, meets: true },
])("pairs at a distance of H + $more", async ({ more, meets }) => {
  const pairs = kernel(
    "pairs",
    {
      params: { x: tensor.inout(tl.float32, ["N"], { contiguous: true }), w: tensor(tl.float32, ["H"]) },
      grid: ({ N, H }) => [N.floorDiv(H.mul(2))],
      requires: ({ N, H }) => [N.le(2 ** 30), H.ge(2), N.mod(H.mul(2)).eq(0)],
    },
    ({ x, w, H }) => {
      for (const k of tl.range(0, H)) {
        const a = tl.programId(0).mul(H.mul(2)).add(k);
        tl.store(x.at(a), tl.load(w.at(k)));
        tl.store(x.at(a.add(H).add(more)), tl.load(w.at(k)).add(1));
      }
    },
  );
  expect(openIn(await build(pairs))).toEqual(meets ? ["race"] : []);
});
