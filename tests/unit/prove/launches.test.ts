/** A proof shows for each config a launch that it is about. Where there is none, `check` says which requirements exclude it. */
import { describe, expect, it, test } from "vitest";
import { constexpr, kernel, scalar, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofDiagnostics } from "../../../src/runtime/report/proof-text.js";
import { sampleCases, sampledTests } from "../../support/sampled-tests.js";
import { examples, sourcesOf } from "../../support/examples.js";

sampledTests("launches of variants", "src/prove");

interface Given {
  readonly requires?: (args: any) => readonly unknown[];
  readonly params?: object;
  readonly tuning?: object;
  readonly body?: (args: any) => void;
}

async function proofOf({ requires = () => [], params = {}, tuning = { config: { BLOCK: 16 } }, body }: Given) {
  const copy = kernel(
    "copy",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr(), ...params },
      grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
      requires,
      ...tuning,
    } as never,
    ((args: any) => {
      const i = tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK));
      tl.store(args.y.at(i), tl.load(args.x.at(i)));
      body?.({ ...args, i });
    }) as never,
  );
  const built = await build(copy);
  const proof = built.proof();
  const said = proofDiagnostics(proof).map(({ severity, code, message }) => ({ severity, code, message }));
  return { built, proof, said: said.filter(({ code }) => code !== "not-proved") };
}

const configs = (...blocks: readonly number[]) => ({
  autotune: { key: ["N"], configs: blocks.map((BLOCK) => ({ BLOCK })) },
});

describe("requirements that no launch meets", () => {
  it("should be named by line, without those that have no part in it", async () => {
    const { proof, said } = await proofOf({
      requires: ({ N, BLOCK }) => [
        N.mod(4).eq(0),
        N.gt(100),
        //
        N.lt(BLOCK),
      ],
    });
    expect(proof.launches).toEqual([]);
    const [obligation] = proof.obligations.filter(({ property }) => property === "launch");
    const lines = (obligation!.verdict as any).by.map(({ line }: { line: number }) => line);
    expect(lines).toEqual([lines[0], lines[0] + 2]);
    expect(said).toEqual([
      {
        severity: "error",
        code: "no-launch",
        message: `no launch of copy satisfies the requirements of lines ${lines.join(", ")}, so nothing about it is proved; change a requirement or the config`,
      },
    ]);
  });

  it("should be a warning where other configs have launches", async () => {
    const { proof, said } = await proofOf({
      tuning: { autotune: { key: ["N"], configs: [{ BLOCK: 16 }, { BLOCK: 64 }] } },
      requires: ({ N, BLOCK }) => [N.eq(40), N.le(BLOCK)],
    });
    expect(proof.launches.map(({ config, sizes }) => [config, sizes])).toEqual([[1, { N: 40 }]]);
    expect(said.map(({ severity, code, message }) => [severity, code, message.slice(0, 31)])).toEqual([
      ["warning", "no-launch", "no launch of config 0 satisfies"],
    ]);
  });

  it("should be said without a reason where none is shown", async () => {
    // Its only solutions are beyond the sizes that the search tries.
    const hard = ({ N }: any) => [N.mul(N).mod(10_007).eq(5_003)];
    const { said } = await proofOf({ requires: hard });
    expect(said.map(({ severity, code }) => [severity, code])).toEqual([["warning", "no-launch"]]);
    expect(said[0]!.message).toMatch(
      /^no launch of copy was found that satisfies its requirements: no size that was tried satisfies them; list sizes/,
    );
  });

  it("should be found among the author's shapes", async () => {
    const N = Array.from({ length: 10_007 }, (_, n) => n).find((n) => (n * n) % 10_007 === 4)!;
    const { proof, said } = await proofOf({
      requires: ({ N }) => [N.mul(N).mod(10_007).eq(4), N.gt(5_000)],
      tuning: { config: { BLOCK: 16 }, shapes: [{ N: 10_007 - N }] },
    });
    expect(said).toEqual([]);
    expect(proof.launches.map(({ sizes }) => sizes)).toEqual([{ N: 10_007 - N }]);
  });

  it("should take numbers with which a requirement of a float is met", async () => {
    const { proof, said } = await proofOf({
      params: { p: scalar(tl.float32) },
      requires: ({ p }) => [p.ge(0), p.lt(1)],
    });
    expect(said).toEqual([]);
    expect(proof.launches).toHaveLength(1);
  });
});

describe("an access that no launch reaches", () => {
  const unreached = { severity: "warning", code: "unreached-access" };

  it.each<[string, (args: any) => void]>([
    ["a branch", ({ x, y, i, N }) => tl.when(N.lt(0), () => tl.store(y.at(i), tl.load(x.at(i))))],
    [
      "an arm that no config takes",
      ({ x, y, i, BLOCK }) => tl.when(BLOCK.gt(64), () => tl.store(y.at(i), tl.load(x.at(i)))),
    ],
    ["a mask", ({ x, y, i, N }) => tl.store(y.at(i), tl.load(x.at(i)), { mask: i.lt(0).logicalAnd(i.lt(N)) })],
  ])("should be pointed out: %s", async (_, body) => {
    const { said } = await proofOf({ tuning: configs(16, 64), body });
    expect(said).toContainEqual(
      expect.objectContaining({ ...unreached, message: expect.stringContaining("no launch reaches the ") }),
    );
  });

  it.each<[string, (args: any) => void]>([
    ["a branch", ({ x, y, i, N }) => tl.when(N.lt(3), () => tl.store(y.at(i), tl.load(x.at(i))))],
    [
      "an arm that one config takes",
      ({ x, y, i, BLOCK }) => tl.when(BLOCK.gt(16), () => tl.store(y.at(i), tl.load(x.at(i)))),
    ],
    [
      "a loop",
      ({ x, y, i, N }) => {
        for (const _ of tl.range(0, N.sub(5))) tl.store(y.at(i), tl.load(x.at(i)));
      },
    ],
  ])("should be silent where one does: %s", async (_, body) => {
    const { said } = await proofOf({ tuning: configs(16, 64), body });
    expect(said.filter(({ code }) => code === unreached.code)).toEqual([]);
  });
});

const chosen = sampleCases("launches of examples", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => sourcesOf(name),
  minimum: 4,
});

test.each(chosen)("$name has a launch of each config, which the evaluator accepts", async ({ kernel: example }) => {
  const built = await build(example);
  for (const part of built.parts ?? [built]) {
    const { launches, obligations } = part.proof();
    expect(obligations.filter(({ property }) => property === "launch")).toEqual([]);
    expect(launches.length).toBeGreaterThan(0);
    for (const launch of launches) expect(part.refusal(launch)).toBeUndefined();
  }
});
