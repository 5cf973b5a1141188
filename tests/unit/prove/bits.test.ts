/** Bitwise ops of indices: a rule that knows numbers says nothing of lanes, and where none holds the result is unknown. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";

const exchanged = (claims: boolean) =>
  kernel(
    "exchanged",
    {
      params: { x: tensor(tl.int32, ["N"]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ x, y, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const i = tl.programId(0).mul(BLOCK).add(lanes);
      // The partner of each element in a butterfly.
      const partner = i.xor(1);
      const value = tl.load(x.at(claims ? tl.inBounds(partner) : partner));
      tl.store(y.at(i), value.add(lanes.or(lanes)).add(lanes.and(lanes)));
    },
  );

test("a masked partner is proved, and one that is claimed is not", async () => {
  const [masked, claimed] = await Promise.all([false, true].map(async (claims) => build(exchanged(claims))));
  const bounds = (compiled: typeof masked) =>
    compiled!.proof().obligations.flatMap(({ property, verdict }) => (property === "bounds" ? [verdict.kind] : []));
  expect(new Set(bounds(masked))).toEqual(new Set(["proved"]));
  expect(bounds(claimed).filter((kind) => kind !== "proved")).toHaveLength(1);
});
