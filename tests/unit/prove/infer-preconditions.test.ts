/** What a launch would have to meet so that a proof holds; with it as a requirement, the proof does hold. */
import { describe, expect, it } from "vitest";
import type { HostExpression, MissingPrecondition } from "../../../src/compiled/compiled-kernel.js";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";

const BLOCK = 16;

interface Part {
  readonly params?: object;
  readonly grid: (args: any) => readonly unknown[];
  readonly requires?: (args: any) => readonly unknown[];
  readonly index: (args: any) => any;
}

/** Copies what an index reaches. */
async function copying({ params, grid, requires, index }: Part): Promise<{
  readonly lacks: readonly MissingPrecondition[];
  readonly open: number;
  /** What is open if a launch had to meet this too. */
  readonly lacksWith: (...more: readonly HostExpression[]) => readonly MissingPrecondition[] | undefined;
}> {
  const copy = kernel(
    "copy",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.inout(tl.float32, ["N"]),
        BLOCK: constexpr(),
        ...params,
      },
      grid,
      config: { BLOCK },
      ...(requires && { requires }),
    } as never,
    ((args: any) => {
      const at = tl.inBounds(index(args));
      tl.store(args.y.at(at), tl.load(args.x.at(at)));
    }) as never,
  );
  const built = await build(copy);
  const open = built
    .proof()
    .obligations.filter(({ property, verdict }) => property === "bounds" && verdict.kind !== "proved");
  return {
    lacks: built.suggestPreconditions!()!,
    open: open.length,
    lacksWith: (...more) => built.suggestPreconditions!(more),
  };
}

const wanted = (lacks: readonly MissingPrecondition[], property: string): readonly HostExpression[] =>
  lacks.filter((each) => each.property === property).flatMap((each) => each.wanted);
const N = { param: "N" };

describe("what is open", () => {
  it("should be closed by a size that covers a number of programs", async () => {
    const rows: Part = { params: { BLOCK: scalar(tl.int32) }, grid: () => [12], index: () => tl.programId(0) };
    const { lacks, lacksWith } = await copying({ ...rows, params: {} });
    const atLeast12: HostExpression = { op: "ge", of: [N, { value: 12 }] };
    expect(wanted(lacks, "bounds")).toContainEqual(atLeast12);
    expect([lacksWith(atLeast12), lacksWith({ op: "ge", of: [N, { value: 11 }] })]).toEqual([[], lacks]);
    const { lacks: none, open } = await copying({ ...rows, params: {}, requires: (args) => [args.N.ge(12)] });
    expect([none, open]).toEqual([[], 0]);
  });

  it("should be closed by a whole number of blocks", async () => {
    const blocks: Part = {
      grid: (args) => [tl.cdiv(args.N, args.BLOCK)],
      index: (args) => tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK)),
    };
    const whole = { op: "eq", of: [{ op: "mod", of: [N, { param: "BLOCK" }] }, { value: 0 }] };
    expect(wanted((await copying(blocks)).lacks, "bounds")[0]).toEqual(whole);
    const { lacks, open } = await copying({ ...blocks, requires: (args) => [args.N.mod(args.BLOCK).eq(0)] });
    expect([lacks, open]).toEqual([[], 0]);
  });

  it("should be closed by a divisor that is positive", async () => {
    const divided: Part = {
      params: { heads: scalar(tl.int32) },
      grid: (args) => [args.N],
      index: (args) => tl.programId(0).floorDiv(args.heads),
    };
    expect(wanted((await copying(divided)).lacks, "dividend")).toContainEqual({
      op: "ge",
      of: [{ param: "heads" }, { value: 1 }],
    });
    const { lacks, open } = await copying({ ...divided, requires: (args) => [args.heads.ge(1)] });
    expect([lacks, open]).toEqual([[], 0]);
  });

  it("should have no condition where memory decides", async () => {
    const { lacks } = await copying({
      params: { places: tensor(tl.int32, ["K"]) },
      grid: (args) => [args.K],
      index: (args) => tl.load(args.places.at(tl.programId(0))),
    });
    expect(wanted(lacks, "bounds").filter((each) => JSON.stringify(each).includes("N"))).toEqual([]);
    expect(lacks).not.toEqual([]);
  });
});
