/** What `check` says to require where something is open: what it names closes it, and the kernel's own launches meet it. */
import { describe, expect, it } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofDiagnostics } from "../../../src/runtime/report/proof-text.js";
import { suggestRequires } from "../../../src/runtime/report/suggest-requires.js";

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
  return proofDiagnostics(proof, suggestRequires(compiled, proof)).map(({ message }) => message);
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
