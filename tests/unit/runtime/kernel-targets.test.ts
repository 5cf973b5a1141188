/** A kernel that its author declares for some GPUs is refused on others, and never passes there. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, op, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { supportsGpu, formatTargets } from "../../../src/compiled/gpus.js";
import { localCompilers } from "../../../src/runtime/devices/devices.js";
import { compileForTargets } from "../../../src/runtime/target-compile/targets.js";
import { compileDiagnostics, compileJson, compileText } from "../../../src/runtime/report/compile-report.js";
import { parseTargets, targets } from "../../../src/runtime/system/gpu-targets.js";
import { verify, whyNotRunOn, summarize } from "../../../src/runtime/verify/plan-cases.js";
import pc from "picocolors";
import type { Device } from "../../../src/runtime/devices/device.js";

const hopper = kernel(
  "hopper",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
    targets: { cuda: 90, hip: ["gfx950"], reason: "it needs 200 KiB of shared memory" },
    reference: ({ x }) => x.clone(),
    shapes: [{ N: 100 }],
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(i)));
  },
);
const twice = op("twice", { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) } }, ({ x }) => ({
  y: hopper.call({ x: hopper.call({ x }).y }).y,
}));
const TEXT = "sm_90 and later, gfx950: it needs 200 KiB of shared memory";

test("a compute capability and all later ones, and the architectures that are listed", async () => {
  const [declared] = (await build(hopper)).targets!;
  expect(formatTargets(declared!)).toBe(TEXT);
  expect(targets.filter(({ triton }) => supportsGpu(declared!, triton)).map(({ name }) => name)).toEqual([
    "cuda:90",
    "cuda:100",
    "cuda:103",
    "cuda:120",
    "hip:gfx950",
  ]);
  const amd = { hip: ["gfx942"], reason: "" };
  expect(targets.filter(({ triton }) => supportsGpu(amd, triton)).map(({ name }) => name)).toEqual(["hip:gfx942"]);
});

test("the wrapper checks the GPU before anything is launched, and a kernel for all of them does not", async () => {
  const { python } = await build(hopper);
  const check = `_check_gpu(x.device, 90, ["gfx950"], "hopper is for ${TEXT}")`;
  expect(python.replaceAll(/\s+/g, " ").replaceAll("( ", "(").replaceAll(", )", ")").replaceAll(" )", ")")).toContain(
    check,
  );
  expect(python.indexOf("_check_gpu(")).toBeLessThan(python.indexOf("hopper_kernel["));
  expect(python).toContain('raise RuntimeError(f"{description}; this GPU is {found}")');
  const { spec, body } = definitionOf(hopper);
  const anywhere = await build(kernel("hopper", { ...spec, targets: undefined } as never, body as never));
  expect(anywhere.python).not.toContain("_check_gpu");
});

test("compile refuses a target that the kernel is not for, at the author's line", async () => {
  const compiled = await build(hopper);
  const request = {
    service: localCompilers({ versions: {} } as never),
    targets: parseTargets("cuda:80,hip:gfx942"),
    selections: [{ seed: 0 }],
  };
  const [found] = await compileForTargets([compiled], request);
  expect(found!.compilations).toEqual([]);
  const [diagnostic, ...more] = compileDiagnostics(found!);
  expect(more).toEqual([]);
  expect(diagnostic).toMatchObject({
    code: "other-target",
    severity: "error",
    message: `hopper: not run for cuda:80 and hip:gfx942, as the kernel is for ${TEXT}; compile it for those, or change targets in its spec`,
    at: { file: import.meta.filename, line: 20 },
  });
  const facts = { triton: "", python: "", seconds: 0 };
  const report = compileJson([found!], [[diagnostic!]], facts);
  expect(report).toMatchObject({ ok: false, kernels: [{ compiled: [], not_run: ["cuda:80", "hip:gfx942"] }] });
  expect(compileText(found!, facts, pc.createColors(false))).toContain("cuda:80: not run, the kernel is not for it");
});

/** What verifying asks of a device before it runs anything. */
const gpu = (target: readonly [string, number | string, number]): Device =>
  ({ kind: target[0], hello: { target }, unchecked: [] }) as never;

test.each([hopper, twice])("$name is not run on a GPU that it is not for, and does not pass", async (each) => {
  const compiled = await build(each);
  const here = gpu(["cuda", 80, 32]);
  const why = `not run on cuda:80, as the kernel is for ${TEXT}`;
  const verification = await verify(compiled, here, { selection: { seed: 0 } });
  expect(verification).toMatchObject({ outcomes: [], skipped: [why] });
  const summary = summarize(verification, here);
  expect(summary.correct).toBe(false);
  expect(JSON.stringify(summary)).toContain(why);
  for (const target of [["cuda", 90, 32] as const, ["hip", "gfx950", 64] as const])
    expect(whyNotRunOn(compiled, gpu(target))).toBeUndefined();
  expect(whyNotRunOn(compiled, { kind: "eval" } as Device)).toBeUndefined();
});
