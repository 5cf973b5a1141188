/**
 * What goes wrong on a GPU costs its case and no other: an access outside, too little memory, a kernel that never ends.
 * `npx tsx tests/gpu/faults.ts` runs them without vitest.
 */
import assert from "node:assert/strict";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import type { TestCase, CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import type { FailureKind } from "../../src/runtime/worker/protocol.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import type { Device } from "../../src/runtime/devices/device.js";

const params = { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() };

const right = kernel(
  "right",
  {
    params,
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }, torch) => torch.mul(x, 2),
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(i)).mul(2));
  },
);

/** Writes 2^46 bytes behind its tensor, which no GPU has. */
const outside = kernel(
  "outside",
  {
    params,
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }, torch) => torch.mul(x, 2),
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const far = i.to(tl.int64).add(2 ** 44);
    tl.store(y.ptr.add(far), tl.load(x.at(i)).mul(2));
  },
);

/** A terabyte of output. */
const huge = kernel(
  "huge",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N", 1 << 30]) },
    grid: ({ N }) => [N],
    reference: ({ x }, torch) =>
      torch
        .mul(x, 2)
        .reshape(-1, 1)
        .expand(-1, 1 << 30),
  },
  ({ x, y }) => tl.store(y.at(tl.programId(0), 0), tl.load(x.at(tl.programId(0)))),
);

/** Waits for a change that nobody makes. */
const endless = kernel(
  "endless",
  {
    params: { ...params, flag: tensor.inout(tl.int32, [1], { range: [0, 1] }) },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x, flag }, torch) => [torch.mul(x, 2), flag],
  },
  ({ x, y, flag, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.whileLoop(
      () => tl.atomicAdd(flag.ptr, 0).eq(0),
      () => {},
    );
    tl.store(y.at(i), tl.load(x.at(i)).mul(2));
  },
);

interface Fault {
  readonly name: string;
  readonly kernel: unknown;
  readonly sizes: TestCase["sizes"];
  readonly deadlineMs?: number;
  readonly kinds: readonly FailureKind[];
  readonly says: RegExp;
}

export const faults: readonly Fault[] = [
  {
    name: "an access outside every tensor",
    kernel: outside,
    sizes: { N: 1000 },
    kinds: ["device-error", "crash"],
    says: /illegal memory access|CUDA error|HIP error|SIG/,
  },
  { name: "too little memory", kernel: huge, sizes: { N: 256 }, kinds: ["out-of-memory"], says: /out of memory/ },
  {
    name: "a kernel that never ends",
    kernel: endless,
    sizes: { N: 1000 },
    deadlineMs: 60_000,
    kinds: ["timeout"],
    says: /no answer within 60 s; the worker was stopped/,
  },
];

/** The case fails, in words without a traceback; the next one is right, as before. */
export async function checkFault(fault: Fault, device: Device): Promise<void> {
  const pass = async (kernel: CompiledKernel): Promise<void> => {
    const outcome = await verifyCase(kernel, device, { sizes: { N: 1000 }, dtypes: {}, config: 0, seed: 0 });
    assert.equal(outcome.status, "passed", JSON.stringify(outcome.failure ?? outcome.comparisons));
  };
  const clean = await build(right);
  await pass(clean);
  const at = { sizes: fault.sizes, dtypes: {}, config: 0, seed: 0 };
  const { status, failure } = await verifyCase(await build(fault.kernel), device, at, { deadlineMs: fault.deadlineMs });
  assert.equal(status, "failed");
  assert.ok(failure && fault.kinds.some((kind) => kind === failure.kind), JSON.stringify(failure));
  assert.match(failure.message, fault.says);
  assert.doesNotMatch(failure.message, /Traceback/);
  await pass(clean);
}

if (process.argv[1] === import.meta.filename) {
  const device = await openDevice({ device: "auto" });
  try {
    for (const fault of device.kind === "cuda" || device.kind === "hip" ? faults : []) {
      await checkFault(fault, device);
      console.log(`${fault.name}: its case failed, the next one passed`);
    }
    if (device.kind === "eval" || device.kind === "interpreter") console.log(`skipped: ${device.reason}`);
  } finally {
    await closeDevice(device);
  }
}
