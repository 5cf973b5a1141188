import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import type { Tolerance } from "../../src/compiled/compiled-kernel.js";
import type { Selection } from "../../src/runtime/cases/selection.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { jsonReport } from "../../src/runtime/report/verify-report.js";
import { verify } from "../../src/runtime/verify/plan-cases.js";
import { authorFile, vectorAdd } from "../support/fixtures/vector-add.js";
import { cli } from "../support/cli.js";
import { requirePython } from "../support/python.js";
import type { Device } from "../../src/runtime/devices/device.js";

sampledTests("verifications");

interface Report {
  readonly correct: boolean;
  readonly max_abs_diff: number | null;
  readonly max_rel_diff: number | null;
  readonly details: string;
  readonly not_checked: string[];
  readonly cases: {
    readonly status: string;
    readonly sizes: { N: number };
    readonly dtypes: { T: string };
    readonly config: number;
    readonly layouts?: { x: string };
    readonly problems?: string[];
    readonly error?: { kind: string; message: string; at?: { file: string; line: number } };
    readonly outputs: { wrong: number; worst: { index: number[]; expected: number; got: number | null } }[];
  }[];
}

let device: Device;

async function run(
  replace: Record<string, string>,
  selection: Partial<Selection> = {},
  tolerance: Partial<Tolerance> = {},
) {
  const verification = await verify(vectorAdd({ replace }), device, {
    selection: { seed: 0, ...selection },
    tolerance,
  });
  // Through JSON, as a program would read it.
  return JSON.parse(JSON.stringify(jsonReport(verification, device))) as Report;
}

beforeAll(async () => {
  await requirePython();
  device = await openDevice({ device: "interpreter" });
}, 60_000);
afterAll(() => closeDevice(device));

describe("verification on Triton's interpreter", { timeout: 60_000 }, () => {
  it("should pass over shapes, dtypes, layouts and every config", async () => {
    const report = await run({});
    expect(report).toMatchObject({ correct: true });
    expect(new Set(report.cases.map(({ config }) => config))).toEqual(new Set([0, 1, "autotuned"]));
    expect(new Set(report.cases.map(({ dtypes }) => dtypes.T))).toEqual(new Set(["float32", "float16", "bfloat16"]));
    expect(new Set(report.cases.map(({ layouts }) => layouts?.x))).toEqual(new Set([undefined, "sliced", "offset"]));
    const sizes = [...new Set(report.cases.map(({ sizes }) => sizes.N))];
    expect(sizes).toEqual([4096, 13, 2003, 1, 128]);
    expect(report.max_abs_diff).toBeGreaterThan(0);
    expect(report.max_rel_diff).toBeGreaterThan(0);
    expect(report.not_checked).toContain("declared shape N=98432000: too large for this device");
  });

  it("should show the worst element of a wrong kernel", async () => {
    const report = await run(
      { "x + y, mask": "x + y + (offsets == 1237), mask" },
      { sizes: { N: 2000 }, dtypes: { T: "float32" } },
    );
    expect(report).toMatchObject({ correct: false });
    expect(report.details).toMatch(/out\[1237\] is -?[\d.]+, expected -?[\d.]+; 1 of 2000 elements differ/);
    const [worst] = report.cases[0]!.outputs.map((output) => output.worst);
    expect(worst!.index).toEqual([1237]);
    expect(worst!.got! - worst!.expected).toBeCloseTo(1, 5);
  });

  it("should see an element that was never written", async () => {
    const report = await run({ "mask = offsets < n": "mask = offsets < n - 1" }, { sizes: { N: 100 } });
    expect(report).toMatchObject({ correct: false, max_abs_diff: null });
    expect(
      report.cases.every(({ outputs }) => outputs[0]!.worst.index[0] === 99 && outputs[0]!.worst.got === null),
    ).toBe(true);
  });

  it("should see a write past the end of an output", async () => {
    const report = await run({ "x + y, mask=mask": "x + y" }, { sizes: { N: 100 } });
    expect(report.correct).toBe(false);
    expect(report.cases.map(({ problems }) => problems)).toEqual([
      ["the kernel wrote outside a tensor that its wrapper allocated"],
      ["the kernel wrote outside an output that was passed to it: out"],
      ["the kernel wrote outside a tensor that its wrapper allocated"],
    ]);
  });

  it.each([
    // What is behind the inputs is NaN, and so is what is written there.
    ["an output, of what lies behind the inputs", "mask = offsets < n", "mask = offsets < n + 1"],
    ["an output", "x + y, mask=mask", "x + y, mask=offsets < n + 1"],
    ["an output, at its start", "x + y, mask=mask", "x + y, mask=mask)\n    tl.store(out_ptr - 1, 1.0"],
    ["an input", "x + y, mask=mask", "x + y, mask=mask)\n    tl.store(x_ptr + n * stride_x, 1.0"],
  ])("should see one element that is written outside %s", async (_, before, after) => {
    const report = await run({ [before]: after }, { sizes: { N: 100 } });
    expect(report.correct).toBe(false);
    for (const { problems } of report.cases) expect(problems?.[0]).toMatch(/^the kernel wrote outside/);
  });

  it.each([
    ["shared memory", 'OutOfResources(300000, 232448, "shared memory")', "shared memory, Required: 300000"],
    [
      "registers",
      'PTXASError("ptxas fatal   : (C7600) Register allocation failed with register count of 168")',
      "Register allocation failed",
    ],
  ])("should leave a config that needs more %s to the autotuner, which passes it over", async (_, error, says) => {
    const unfit = `raise __import__("triton").runtime.errors.${error}\n    (n,) = x.shape`;
    const large = await run({
      "    (n,) = x.shape": `    if vector_add_kernel.configs[0].kwargs["BLOCK"] == 1024: ${unfit}`,
    });
    expect(large).toMatchObject({ correct: true });
    expect(new Set(large.cases.map(({ config, status }) => `${config} ${status}`))).toEqual(
      new Set(["0 passed", "1 unchecked", "autotuned passed"]),
    );
    expect(large.not_checked).toContainEqual(
      expect.stringMatching(new RegExp(`^config 1 does not fit this GPU, and .* passes it over: .*${says}`)),
    );
    // Not if it is the only one.
    const none = await run({ "    (n,) = x.shape": `    ${unfit}` });
    expect(none).toMatchObject({ correct: false });
  });

  it("should see a changed input", async () => {
    const report = await run({
      "tl.store(out_ptr": "tl.store(x_ptr + offsets * stride_x, x + 1, mask=mask)\n    tl.store(out_ptr",
    });
    expect(report.correct).toBe(false);
    expect(report.details).toContain("the kernel changed an input: x");
  });

  it("should check only what was asked for", async () => {
    const report = await run({}, { sizes: { N: 300 }, dtypes: { T: "bfloat16" }, config: 1 });
    expect(report.cases.map(({ sizes, dtypes, config }) => [sizes.N, dtypes.T, config])).toEqual([
      [300, "bfloat16", 1],
    ]);
    expect(report.not_checked).toContain("1 of 2 configs");
  });

  it("should take the tolerance of the command line", async () => {
    const off = { "x + y, mask": "x + y + 1e-4, mask" };
    const some = { sizes: { N: 300 }, dtypes: { T: "float32" } };
    expect((await run(off, some)).correct).toBe(false);
    expect((await run(off, some, { atol: 1e-3 })).correct).toBe(true);
  });

  it("should map an exception to the author's line", async () => {
    const report = await run({ "out = torch.empty(": "out = torch.emtpy(" }, { sizes: { N: 300 }, config: 0 });
    const error = report.cases[0]!.error!;
    expect(report.correct).toBe(false);
    expect(error).toMatchObject({ kind: "python-error", at: { file: authorFile, line: 29 } });
    expect(error.message).toContain("emtpy");
  });

  it("should map an exception inside the kernel to the author's line", async () => {
    const report = await run(
      { "mask = offsets < n": "mask = offsets < undefined_name" },
      { sizes: { N: 300 }, config: 0 },
    );
    expect(report.cases[0]!.error).toMatchObject({ kind: "python-error", at: { file: authorFile, line: 18 } });
    expect(report.details).toContain("undefined_name");
  });

  it("should report a module that can't be imported", async () => {
    const report = await run({ "import torch": "import torch_that_is_not_there" }, { sizes: { N: 300 }, config: 0 });
    expect(report.cases[0]!.error).toMatchObject({ kind: "python-error", at: { line: 3 } });
  });

  it("should report a crash of the worker and go on", async () => {
    const replace = {
      "out = torch.empty(":
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV) if n == 4096 else 0\n        out = torch.empty(",
    };
    const report = await run(replace, { dtypes: { T: "float32" } });
    const crashed = report.cases.filter(({ error }) => error?.kind === "crash");
    expect(crashed.length).toBeGreaterThan(0);
    expect(crashed.every(({ sizes }) => sizes.N === 4096)).toBe(true);
    expect(crashed[0]!.error!.message).toContain("SIGSEGV");
    expect(report.cases.some(({ sizes, status }) => sizes.N === 2003 && status === "passed")).toBe(true);
  });

  it("should leave the rest where every case hangs, and go on with the next kernel", async () => {
    const hangs = vectorAdd({ replace: { "    (n,) = x.shape": "    while True: pass\n    (n,) = x.shape" } });
    const { outcomes, skipped: left } = await verify(hangs, device, { selection: { seed: 0 }, deadlineMs: 3000 });
    // The first shape meets every config and dtype, so none of these is left out for lack of time.
    expect(outcomes.map(({ status, failure }) => `${status} ${failure?.kind}`)).toEqual(
      Array(3).fill("failed timeout"),
    );
    expect(left.at(-1)).toMatch(/^\d+ further cases: 3 cases hung$/);
    expect(await run({}, { sizes: { N: 300 }, config: 0, dtypes: { T: "float32" } })).toMatchObject({ correct: true });
  });

  it("should not mix what the module prints with its answers", async () => {
    const report = await run({ "    (n,) = x.shape": '    (n,) = x.shape\n    print("{}")' }, { sizes: { N: 300 } });
    expect(report.correct).toBe(true);
  });
});

describe("--run", { timeout: 60_000 }, () => {
  it("should verify, say where, and exit with 0", async () => {
    const { code, out } = await cli(vectorAdd(), "--run", "--device", "interpreter");
    expect(code).toBe(0);
    expect(out).toMatch(/^vector_add passed: 27 of 27 cases passed on interpreter, with 1 of 2 declared shapes/);
    expect(out).toMatch(/versions +Python 3[\d.]+, torch 2\S+, triton 3\S+, numpy \S+/);
    expect(out).toMatch(/configs +2 of 2 tried/);
    expect(out).toMatch(
      /float32: abs \S+, rel \S+ \(rtol 1e-5, 1e-5 of the RMS\); PyTorch in the same dtype abs \S+$/m,
    );
    expect(out).toContain("nothing was compiled for a GPU");
  });

  it("should exit with 1 and print JSON alone", async () => {
    const wrong = vectorAdd({ replace: { "x + y, mask": "x - y, mask" } });
    const { code, out } = await cli(wrong, "--run", "--json", "--device", "interpreter", "--shape", "N=300");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ correct: false, kernel: "vector_add", device: "interpreter" });
  });
});
