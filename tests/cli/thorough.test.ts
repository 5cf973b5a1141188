/** `verify`: what is drawn, what repeated runs show, how small a failing case gets, and that it can be run again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { sampledTests } from "../support/sampled-tests.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { reproduceCase, verifyThoroughly } from "../../src/runtime/verify/thorough.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import type { CompiledKernel, TestCase } from "../../src/compiled/compiled-kernel.js";
import { vectorAdd } from "../support/fixtures/vector-add.js";
import { cli, expectUsageError } from "../support/cli.js";
import { requirePython } from "../support/python.js";
import type { Device } from "../../src/runtime/devices/device.js";

sampledTests("verifications");

interface Wrong {
  /** The value that lanes from this one on add. */
  readonly from?: number;
  /** All programs write the first block, each its own number. */
  readonly race?: true;
}

/** `y = x + 1`, or a mistake. */
const increment = ({ from, race }: Wrong = {}): Promise<CompiledKernel> =>
  build(
    kernel(
      "increment",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        autotune: { configs: [{ BLOCK: 16 }, { BLOCK: 64 }], key: ["N"] },
        reference: ({ x }) => x.add(1),
      },
      ({ x, y, BLOCK }) => {
        const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const value = tl.load(x.at(offsets)).add(1);
        if (from !== undefined) tl.store(y.at(offsets), tl.where(offsets.lt(from), value, 0));
        else tl.store(y.at(offsets), value);
        // Within the tolerance, but whoever is last decides it.
        if (race) tl.store(y.ptr, tl.load(x.ptr).add(1).add(tl.programId(0).to(tl.float32).mul(1e-6)));
      },
    ),
  );

/** It takes no maximum off. */
const naiveSoftmax = kernel(
  "naive_softmax",
  {
    params: { x: tensor(tl.float32, ["M", 16]), y: tensor.out(tl.float32, ["M", 16]) },
    grid: ({ M }) => [M],
    reference: ({ x }, torch) => torch.softmax(x, -1),
  },
  ({ x, y }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, 16);
    const powers = tl.exp(tl.load(x.at(row, cols)));
    tl.store(y.at(row, cols), powers.div(tl.sum(powers, 0)));
  },
);

let interpreter: Device;
const evaluator = () => openDevice({ device: "eval" });
beforeAll(async () => {
  await requirePython();
  interpreter = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(interpreter));

const options = { selection: { seed: 5 }, runs: 40, timeLimitMs: 60_000 };
/** The runs, one case for each of two configs, six of special rows, and N at 1 and at 16. */
const CASES = options.runs + 2 + 6 + 2;

/** It stores one element after another, however its output lies in memory. */
const unstrided = kernel(
  "unstrided",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
    grid: ({ N }) => [tl.cdiv(N, 16)],
    reference: ({ x }) => x.add(1),
  },
  ({ x, y, N }) => {
    const offsets = tl.programId(0).mul(16).add(tl.arange(0, 16));
    tl.store(y.ptr.add(offsets), tl.load(x.at(offsets)).add(1), { mask: offsets.lt(N) });
  },
);

describe.each(["interpreter", "eval"] as const)("on the %s", { timeout: 120_000 }, (kind) => {
  /** A kernel that passes is also called as a user calls it, with its autotuner. */
  const passes = (cases: number): readonly string[] => Array(kind === "interpreter" ? cases + 1 : cases).fill("passed");
  const device = async (): Promise<Device> => (kind === "eval" ? evaluator() : interpreter);

  it("should draw every config, layout, empty and large sizes, and pass what is right", async () => {
    const { outcomes, skipped: left } = await verifyThoroughly(await increment(), await device(), options);
    expect(outcomes.map(({ status }) => status)).toEqual(passes(CASES));
    const sizes = outcomes.map(({ testCase: at }) => at.sizes["N"]!);
    expect([sizes.includes(0), sizes.includes(1), sizes.some((size) => size > 1000)]).toEqual([true, true, true]);
    expect(new Set(outcomes.map(({ testCase: at }) => at.config))).toEqual(new Set([0, 1]));
    expect(new Set(outcomes.map(({ testCase: at }) => at.layouts?.["x"] ?? "contiguous"))).toEqual(
      new Set(["contiguous", "sliced", "offset", "expanded"]),
    );
    expect(left).toEqual(["NaN and infinities among the inputs: --special draws them"]);
  });

  it("should run first what no proof covers, and drop no case", async () => {
    const built = await increment();
    const certificate = built.proof();
    const obligations = certificate.obligations.map((each) => ({
      ...each,
      verdict: { kind: "unknown", missing: "" } as const,
    }));
    const unproved = { ...built, proof: () => ({ ...certificate, obligations }) };
    const orderOf = async (each: CompiledKernel): Promise<readonly TestCase[]> => {
      const { outcomes } = await verifyThoroughly(each, await device(), { ...options, runs: 12 });
      expect(outcomes.map(({ status }) => status)).toEqual(passes(CASES - options.runs + 12));
      return outcomes.slice(0, CASES - options.runs + 12).map(({ testCase }) => testCase);
    };
    const [proved, other] = [await orderOf(built), await orderOf(unproved)];
    const texts = (list: readonly TestCase[]) => list.map((each) => JSON.stringify(each)).toSorted();
    expect(texts(proved)).toEqual(texts(other));
    const lastSpecial = (list: readonly TestCase[]): number =>
      list.findLastIndex(({ special = [] }) => special.length > 0);
    expect(lastSpecial(proved)).toBeLessThan(lastSpecial(other));
    const configs = proved.map(({ config }) => config);
    expect(configs.indexOf(1)).toBeLessThan(lastSpecial(proved));
    expect(new Set(configs)).toEqual(new Set([0, 1]));
  });

  it("should find the smallest case that fails, and run it again from what it prints", async () => {
    const wrong = await increment({ from: 37 });
    const { outcomes, thorough } = await verifyThoroughly(wrong, await device(), options);
    const { status, testCase: at } = outcomes.at(-1)!;
    expect({ status, sizes: at.sizes }).toEqual({ status: "failed", sizes: { N: 38 } });
    expect(at.layouts).toMatchObject({ x: "contiguous" });
    const json = /^--case '(.*)'$/.exec(thorough!.replay!)![1]!;
    const again = await cli(wrong, "--verify", "--device", kind, "--case", json, "--json");
    expect(again.code).toBe(1);
    const report = JSON.parse(again.out) as { cases: { sizes: object; outputs: { wrong: number }[] }[] };
    expect(report.cases).toMatchObject([{ sizes: { N: 38 }, outputs: [{ wrong: 1 }] }]);
  });

  it("should run a case again however its inputs lie", async () => {
    for (const x of ["contiguous", "sliced", "offset", "expanded"]) {
      const json = JSON.stringify({ sizes: { N: 38 }, layouts: { x } });
      const again = await cli(await increment(), "--verify", "--device", kind, "--case", json, "--json");
      expect({ x, code: again.code, err: again.err }).toEqual({ x, code: 0, err: "" });
    }
  });

  it("should run a case again however its output lies, and find a store that leaves out its strides", async () => {
    const { outcomes } = await verifyThoroughly(await build(unstrided), await device(), options);
    const { status, testCase: at } = outcomes.at(-1)!;
    expect({ status, y: at.layouts!["y"] }).toEqual({ status: "failed", y: "sliced" });
    for (const [y, right, wrong] of [
      ["contiguous", "passed", "passed"],
      ["offset", "passed", "passed"],
      ["sliced", "passed", "failed"],
    ] as const)
      for (const [kernel, expected] of [
        [await increment(), right],
        [await build(unstrided), wrong],
      ] as const) {
        const placed = { ...at, layouts: { ...at.layouts, y } };
        const { outcomes: again } = await reproduceCase(kernel, await device(), placed, { tolerance: {} });
        expect({ y, found: again.map((each) => each.status) }).toEqual({
          y,
          found: expected === "passed" && kernel.configs.length > 1 ? passes(1) : [expected],
        });
        // Python's values tell, before the evaluator looks at what has passed and finds why.
        if (expected === "failed" && kind === "interpreter")
          expect(again.map(({ findings }) => findings)).toEqual([[]]);
      }
  });

  it("should see what overflows where the reference does not, and run it again", async () => {
    const wrong = await build(naiveSoftmax);
    const { outcomes, thorough } = await verifyThoroughly(wrong, await device(), options);
    const { status, testCase: at, problems } = outcomes.at(-1)!;
    expect({ status, special: at.special }).toEqual({ status: "failed", special: ["large"] });
    expect(problems[0]).toContain("with 100 and -100 among the inputs, elements are NaN or infinite");
    expect(thorough?.replay).toContain('"special":["large"]');
    const { outcomes: again } = await reproduceCase(wrong, await device(), at, { tolerance: {} });
    expect(again.map(({ status: each }) => each)).toEqual(["failed"]);
  });

  it("should see what depends on the order of programs within the tolerance", async () => {
    const { outcomes } = await verifyThoroughly(await increment({ race: true }), await device(), options);
    const { status, problems, findings } = outcomes.at(-1)!;
    expect(status).toBe("failed");
    expect([...problems, ...findings.map(({ code }) => code)].join()).toMatch(
      /differs when programs run in reverse|race/,
    );
  });

  it("should agree with the reference where NaN and infinities are", async () => {
    const { outcomes } = await verifyThoroughly(await increment(), await device(), { ...options, special: true });
    expect(outcomes.map(({ status }) => status)).toEqual(passes(CASES));
    expect(outcomes.some(({ testCase: at }) => at.special?.includes("nan"))).toBe(true);
  });

  it("should stop at the time limit and say what was not run", async () => {
    const { outcomes, skipped: left } = await verifyThoroughly(await increment(), await device(), {
      ...options,
      timeLimitMs: 0,
    });
    expect(outcomes.length).toBeLessThan(CASES);
    expect(left.at(-1)).toMatch(new RegExp(`of ${CASES} cases, as 0 s were over: no case had .*x sliced`));
  });
});

it("should find a smaller case where the worker dies each time", { timeout: 180_000 }, async () => {
  const dies = vectorAdd({
    replace: { "    (n,) = x.shape": "    (n,) = x.shape\n    n < 37 or __import__('os')._exit(7)" },
  });
  const { outcomes, thorough } = await verifyThoroughly(dies, interpreter, {
    selection: { seed: 5, dtypes: { T: "float32" } },
    runs: 20,
    timeLimitMs: 25_000,
  });
  const last = outcomes.at(-1)!;
  expect(last).toMatchObject({ status: "failed", failure: { kind: "crash" } });
  expect(last.testCase.sizes["N"]).toBeGreaterThanOrEqual(37);
  expect(thorough!.smallerTried).toBeGreaterThan(1);
  // The worker was replaced: a case that does not die passes.
  const at = { ...last.testCase, sizes: { N: 36 } };
  expect(await verifyCase(dies, interpreter, at)).toMatchObject({ status: "passed" });
});

describe("mistakes with --case", () => {
  it.each([
    ["[]", /must be a JSON object/],
    ["{", /must be a JSON object/],
    ['{"sise":{}}', /unknown key sise; a case has sizes, dtypes/],
    ['{"sizes":{"M":3}}', /there is no size M; the sizes are N/],
    ['{"sizes":{"N":-3}}', /N=-3 is not a whole number/],
    ['{"sizes":{"N":3},"layouts":{"z":"sliced"}}', /there is no tensor z; the tensors are x, y/],
    ['{"sizes":{"N":3},"layouts":{"y":"expanded"}}', /the layout of y must be one of contiguous, sliced, offset, not/],
    ['{"sizes":{"N":3},"config":7}', /configs 0 to 1/],
    ['{"sizes":{"N":3},"config":"0"}', /config and seed must be whole numbers/],
  ])("%s should end with one line and code 2", async (json, message) => {
    expectUsageError(await cli(await increment(), "--verify", "--device", "eval", "--case", json), message);
  });
});
