/** What `tl.trusted` waives, and what it does not. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { proofSummary } from "../../../src/runtime/report/proof-text.js";

const REASON = "each slot occurs once";

/** Puts rows where a list says. */
const scattering = (place: (view: any) => any) =>
  kernel(
    "scattering",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        slots: tensor(tl.int32, ["N"], { range: [0, "N"] }),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }: any) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
      inputs: ({ N }: any, torch: any) => ({ slots: torch.randperm(N).int() }),
    } as never,
    ({ x, slots, y, N, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const slot = tl.load(slots.at(i));
      tl.store(place(y.gather(slot)), tl.load(x.at(i)), { mask: i.lt(N) });
    },
  );

const verdicts = async (of: unknown) =>
  (await build(of)).proof().obligations.map(({ property, verdict }) => `${property} ${verdict.kind}`);

test("of a view waives coverage and races, with the author's reason, and no bounds", async () => {
  const plain = await verdicts(scattering((view) => view));
  expect(plain).toContain("coverage unknown");
  expect(plain).toContain("race unknown");
  const compiled = await build(scattering((view) => tl.trusted(view, REASON)));
  const { obligations } = compiled.proof();
  const waived = obligations.filter(({ verdict }) => verdict.kind === "waived");
  expect(waived.map(({ property, of, verdict }) => ({ property, of, verdict }))).toEqual([
    { property: "coverage", of: "y", verdict: { kind: "waived", reason: REASON } },
    { property: "race", of: "the store to y", verdict: { kind: "waived", reason: REASON } },
  ]);
  expect(obligations.filter(({ property }) => property === "bounds").map(({ verdict }) => verdict.kind)).toEqual([
    "proved",
    "proved",
    "proved",
  ]);
  expect(proofSummary(compiled.proof())).toBe(
    `3 of 3 accesses proved for all shapes and 1 config; the author says: ${REASON}`,
  );
});

test("of a view leaves what is proved proved, and the Python as it is", async () => {
  const copying = (place: (view: any) => any) =>
    kernel(
      "copying",
      {
        params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["N", "M"]), BLOCK: constexpr() },
        grid: ({ M, N, BLOCK }: any) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      } as never,
      ({ x, y, BLOCK }: any) => {
        const [i, j] = [0, 1].map((axis) =>
          tl
            .programId(axis as 0)
            .mul(BLOCK)
            .add(tl.arange(0, BLOCK)),
        );
        tl.store(place(y.at(j, i)), tl.load(x.at(i, j)).T);
      },
    );
  const [plain, trusted] = await Promise.all([
    build(copying((view) => view)),
    build(copying((view) => tl.trusted(view, REASON))),
  ]);
  expect(trusted.python).toBe(plain.python);
  expect(trusted.proof().obligations.every(({ verdict }) => verdict.kind === "proved")).toBe(true);
  const at = { sizes: { M: 5, N: 20 }, dtypes: {}, config: 0, seed: 1 };
  expect(trusted.evaluate(at, { lowered: true }).findings).toEqual([]);
});

test("what the evaluator finds it hides from nobody", async () => {
  const wrong = await build(scattering((view) => tl.trusted(view, REASON)));
  const slots = { dtype: "int32", shape: [3], data: Int32Array.of(0, 0, 1) };
  const { findings } = wrong.evaluate({ sizes: { N: 3 }, dtypes: {}, config: 0, seed: 1 }, { inputs: { slots } });
  expect(findings.map(({ code }) => code)).toContain("lane-conflict");
});

const reducing = (trust: (x: any) => any, options: object) =>
  kernel(
    "reducing",
    {
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
      grid: ({ M }: any) => [M],
      config: ({ N }: any) => ({ BLOCK: tl.nextPowerOf2(N) }),
    } as never,
    ({ x, y, N, BLOCK }: any) => {
      const row = tl.inBounds(tl.programId(0));
      const columns = tl.arange(0, BLOCK);
      const from = x.ptr.add(row.mul(x.stride(0)).add(columns.mul(x.stride(1))));
      const values = tl.load(from, { mask: columns.lt(N), ...options });
      tl.store(y.at(row), tl.max(trust(values), 0));
    },
  );
const padding = async (of: unknown) =>
  (await build(of))
    .proof()
    .obligations.flatMap(({ property, of: what, verdict }) =>
      property === "padding" ? [`${what}: ${verdict.kind}`] : [],
    );

test("of a value waives its padding", async () => {
  expect(await padding(reducing((x) => x, { other: 0 }))).toEqual(["padding in tl.max: unknown"]);
  expect(await padding(reducing((x) => tl.trusted(x, "they are positive"), { other: 0 }))).toEqual([
    "padding in tl.trusted: waived",
  ]);
});

test("gives no lane a value", async () => {
  expect(await padding(reducing((x) => tl.trusted(x, "they are positive"), {}))).toContain(
    "padding in the store to y: refuted",
  );
});

test("needs a reason, and a tile or a view", async () => {
  await expect(build(reducing((x) => tl.trusted(x, "" as never), { other: 0 }))).rejects.toThrow(
    "trusted: say why it is right",
  );
  await expect(build(scattering(() => tl.trusted(3 as never, REASON)))).rejects.toThrow(
    "trusted: needs a tile, or a view of a tensor, such as y.at(rows)",
  );
});
