/** What a proof leaves open is counted in the cases of a verification: where it was reached, and where nothing was. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { summarize } from "../../../src/runtime/verify/plan-cases.js";
import { verifyThoroughly } from "../../../src/runtime/verify/thorough.js";

const gathering = kernel(
  "gathering",
  {
    params: {
      ids: tensor(tl.int32, ["M"]),
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["M"]),
      BLOCK: constexpr(),
    },
    grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],
    config: { BLOCK: 16 },
    inputs: ({ M }, torch) => ({ ids: torch.zeros([M]).to(tl.int32) }),
    reference: ({ ids, x }) => x.index_select(0, ids),
    requires: ({ N }) => [N.ge(1)],
  },
  ({ ids, x, y, N, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const id = tl.load(ids.at(i), { other: 0 });
    tl.store(y.at(i), tl.load(x.at(tl.inBounds(id))));
    // No case that is drawn is as large.
    tl.when(N.gt(100_000), () => tl.store(y.at(i), tl.load(x.at(tl.inBounds(id.add(1))))));
  },
);

test("verify says in how many cases it reached what is not proved", async () => {
  const device = await openDevice({ device: "eval" });
  const options = { selection: { seed: 1 }, runs: 5, timeLimitMs: 60_000 };
  const verification = await verifyThoroughly(await build(gathering), device, options);
  const said = summarize(verification, device).notChecked.filter((text) => text.includes("it is not proved"));
  const ran = verification.outcomes.length;
  expect(said.map((text) => text.replace(/ at \S+,/, ""))).toEqual([
    `bounds of the load from x for all shapes: it is not proved, and was reached in ${ran} of ${ran} cases`,
    "bounds of the load from x for all shapes: it is not proved, and was reached in no case",
    "overflow of the arithmetic of indices for all shapes: it is not proved, and was reached in no case",
  ]);
});
