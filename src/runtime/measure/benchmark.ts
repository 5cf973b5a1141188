/**
 * Measures a kernel on a GPU and compares it with PyTorch and the author's providers. Only verified cases are measured.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile, inEveryConfig } from "../target-compile/precompile.js";
import { describeCase, shapeOf } from "../cases/cases.js";
import { runInWorker } from "../verify/case-steps.js";
import { failureOf } from "../cases/outcome.js";
import type { BenchResult, HelloResult } from "../worker/protocol.js";
import type { Member, RequestServer } from "../worker/worker.js";
import { benchRequest, runRequest, dtypeOf } from "../devices/request.js";
import { headline } from "../verify/plan-cases.js";
import { type PythonDevice, openWorkspace, type Workspace } from "../devices/device.js";

/** The number of calls before timing starts, and of timed calls. */
export interface Iterations {
  readonly warmup: number;
  readonly iterations: number;
}

export const defaultIterations: Iterations = { warmup: 25, iterations: 100 };

export interface BenchOptions extends Iterations {
  readonly cases: readonly TestCase[];
  /** True if the autotuner chooses the config instead of the case. */
  readonly isAutotuned: boolean;
  /** True to measure `torch.compile` too; `max-autotune` is slow. */
  readonly withTorchCompile: boolean;
  /** True to query the GPU's clocks and temperature. */
  readonly withGpuState?: boolean;
  readonly onDone?: (done: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

export interface Measurement {
  readonly testCase: TestCase;
  /** The config that ran; `autotuned` if each of several kernels has its own, or if the warp-specialized kernel ran. */
  readonly config: number | "autotuned";
  readonly result: BenchResult;
  readonly bytes: number;
  /** 0 if unknown. */
  readonly flops: number;
  readonly roof?: RooflineBound;
  /** The GPU that was measured, if there are several. */
  readonly gpuName?: string;
}

export interface Benchmark {
  readonly kernel: CompiledKernel;
  readonly measurements: readonly Measurement[];
  /** Cases that were not measured, each with the reason. */
  readonly rejected: readonly string[];
  readonly seconds: number;
}

/** torch.compile with max-autotune tries its own configs. */
const DEADLINE_MS = 600_000;

export async function bench(
  source: CompiledKernel,
  device: PythonDevice,
  {
    cases,
    isAutotuned,
    withTorchCompile,
    withGpuState: state = false,
    warmup,
    iterations,
    onDone,
    onCompiled,
  }: BenchOptions,
): Promise<Benchmark> {
  const start = performance.now();
  const kernel = { ...source, ...source.emit({ providers: true }) };
  const authorProviders = kernel.providers ?? [];
  const torchProviders = ["eager", ...(withTorchCompile ? ["torch.compile", "torch.compile max-autotune"] : [])];
  const providers = [...(kernel.reference === "none" ? [] : torchProviders), ...authorProviders];
  const workspace = await openWorkspace(kernel, device.host);
  const options = { isAutotuned, providers, warmup, iterations, state, mode: device.kind };
  let results: (Measurement | string)[] = [];
  let done = 0;
  try {
    const launches = cases.flatMap((testCase) =>
      isAutotuned ? inEveryConfig(kernel, testCase, device.hello.target) : [testCase],
    );
    const requests = launches.map((testCase) => runRequest(kernel, workspace.module, testCase));
    await precompile(device, requests, onCompiled);
    results = await device.workers.map(cases, async (testCase, member) => {
      const result = await measure(kernel, device, workspace, testCase, member, options);
      onDone?.(++done);
      return result;
    });
  } finally {
    await workspace.remove();
  }
  const measurements = results.filter((each) => typeof each !== "string");
  const refused = results.filter((each) => typeof each === "string");
  return { kernel, measurements, rejected: refused, seconds: Math.round(performance.now() - start) / 1000 };
}

/** Verifies and measures a case. A string says why the case was not measured. */
async function measure(
  kernel: CompiledKernel,
  device: PythonDevice,
  workspace: Workspace,
  testCase: TestCase,
  { worker: memberWorker, deviceName: location }: Member,
  options: Parameters<typeof benchRequest>[3],
): Promise<Measurement | string> {
  const { isAutotuned = false } = options;
  const { worker, usedPlaces } = recordUsedPlaces(memberWorker);
  const formatRejection = (reason: string) => `${describeCase(testCase, 1)}: ${reason}`;
  const planned = { testCase, label: "measured", isExtra: false };
  // The worker keeps the module and the autotuner's choice, so it times exactly the code that was verified here.
  const verifyOptions = { passOut: false, isAutotuned, tolerance: {} };
  const outcome = await runInWorker(kernel, device, worker, workspace, planned, verifyOptions);
  if (outcome.status === "failed")
    return formatRejection(`not measured, because its result is wrong: ${headline(outcome)}`);
  if (outcome.status !== "passed" || outcome.by !== "python")
    return formatRejection(`not measured, because it could not be verified: ${outcome.unchecked.join("; ")}`);
  const reply = await worker.request(benchRequest(kernel, workspace.module, testCase, options), DEADLINE_MS);
  if (!reply.ok) return formatRejection(failureOf(kernel, reply.error).message);
  const config = isAutotuned ? (reply.result.config ?? "autotuned") : testCase.config;
  // Another actor may have chosen a config that is not verified.
  if (usedPlaces.size > 1)
    return formatRejection("not measured, because its actor was lost after it was verified; measure again");
  const gpuName = reply.on ?? location;
  return {
    ...measurementOf(kernel, device, testCase, config, reply.result),
    ...(gpuName !== undefined && { gpuName }),
  };
}

/** Wraps a worker to record the cluster locations that ran its requests. */
function recordUsedPlaces(worker: RequestServer): {
  readonly worker: RequestServer;
  readonly usedPlaces: ReadonlySet<string>;
} {
  const usedPlaces = new Set<string>();
  const request: RequestServer["request"] = async (...args) => {
    const reply = await worker.request(...args);
    if (reply.ok && reply.on !== undefined) usedPlaces.add(reply.on);
    return reply;
  };
  return { worker: { request, stop: () => worker.stop() }, usedPlaces };
}

function measurementOf(
  kernel: CompiledKernel,
  device: PythonDevice,
  testCase: TestCase,
  config: Measurement["config"],
  result: BenchResult,
): Measurement {
  const bytes = bytesOf(kernel, testCase);
  const flops = kernel.flops?.(testCase) ?? result.flops;
  const roof = roofOf(kernel, testCase, { bytes, flops }, limitsOf(device.hello));
  return { testCase, config, result, bytes, flops, ...(roof && { roof }) };
}

// The roofline model: peak rates of a GPU, and the minimum time of a case.

/**
 * Rates without sparsity: gigabytes per second of memory, and TFLOP/s (TOP/s) by the dtype of the operands. `vector` is
 * float32 outside tensor cores. `float32` is the default of Triton's `tl.dot`: TF32 on NVIDIA, and plain float32 on AMD
 * (`default_dot_input_precision` of its backends). Rates of GeForce cards assume float32 accumulation.
 */
interface Peak {
  /** A pattern for torch's device name. */
  readonly device: RegExp;
  readonly gbps: number;
  readonly tflops: Readonly<Partial<Record<"vector" | "float32" | "float16" | "float8" | "int8", number>>>;
}

// NVIDIA's datasheets of the A100, H100, H200 and their NVL boards (half of the figures with sparsity).
const ampere = { vector: 19.5, float32: 156, float16: 312, int8: 624 };
const hopper = { vector: 67, float32: 494.7, float16: 989.4, float8: 1978.9, int8: 1978.9 };
const hopperNvl = { vector: 60, float32: 417.5, float16: 835.5, float8: 1670.5, int8: 1670.5 };
// AMD's data sheets: CDNA 3 at 2.1 GHz with 304 compute units, CDNA 4 at 2.2 and 2.4 GHz with 256. A compute unit does
// 256 float32 operations per clock. Of float16 it does 2048 (CDNA 3) and 4096 (CDNA 4), and of 8-bit types twice as
// many.
const cdna3 = { vector: 163.4, float32: 163.4, float16: 1307.4, float8: 2614.9, int8: 2614.9 };
const mi350 = { vector: 144.2, float32: 144.2, float16: 2306.9, float8: 4613.7, int8: 4613.7 };
const mi355 = { vector: 157.3, float32: 157.3, float16: 2516.6, float8: 5033.2, int8: 5033.2 };

const peaks: readonly Peak[] = [
  // NVIDIA's datasheets of DGX B200, HGX B300 and GB200 NVL72, for one GPU.
  { device: /\bB200\b/, gbps: 8000, tflops: { vector: 75, float32: 1125, float16: 2250, float8: 4500, int8: 4500 } },
  { device: /\bGB200\b/, gbps: 8000, tflops: { vector: 80, float32: 1250, float16: 2500, float8: 5000, int8: 5000 } },
  { device: /\bB300\b/, gbps: 8000, tflops: { vector: 75, float32: 1125, float16: 2250, float8: 4500 } },
  { device: /\bH200 NVL/, gbps: 4800, tflops: hopperNvl },
  { device: /\bH200\b/, gbps: 4800, tflops: hopper },
  { device: /\bH100 NVL/, gbps: 3900, tflops: hopperNvl },
  { device: /\bH100 PCIe/, gbps: 2000, tflops: { vector: 51, float32: 378, float16: 756, float8: 1513, int8: 1513 } },
  { device: /\bH100\b/, gbps: 3350, tflops: hopper },
  { device: /\bA100-SXM.*80GB/, gbps: 2039, tflops: ampere },
  { device: /\bA100.*80GB/, gbps: 1935, tflops: ampere },
  { device: /\bA100\b/, gbps: 1555, tflops: ampere },
  // The datasheet of each card.
  { device: /\bL40S\b/, gbps: 864, tflops: { vector: 91.6, float32: 183, float16: 362, float8: 733, int8: 733 } },
  { device: /\bL4\b/, gbps: 300, tflops: { vector: 30.3, float32: 60, float16: 121, float8: 242.5, int8: 242.5 } },
  { device: /\bA10\b/, gbps: 600, tflops: { vector: 31.2, float32: 62.5, float16: 125, int8: 250 } },
  { device: /\bT4\b/, gbps: 320, tflops: { vector: 8.1, float16: 65, int8: 130 } },
  // NVIDIA's whitepapers on the RTX Blackwell and the Ada GPU architecture, appendix A of each.
  {
    device: /RTX 5090$/,
    gbps: 1792,
    tflops: { vector: 104.8, float32: 104.8, float16: 209.5, float8: 419, int8: 838 },
  },
  {
    device: /RTX 4090$/,
    gbps: 1008,
    tflops: { vector: 82.6, float32: 82.6, float16: 165.2, float8: 330.3, int8: 660.6 },
  },
  { device: /\bMI300X\b/, gbps: 5300, tflops: cdna3 },
  { device: /\bMI325X\b/, gbps: 6000, tflops: cdna3 },
  { device: /\bMI350X\b/, gbps: 8000, tflops: mi350 },
  { device: /\bMI355X\b/, gbps: 8000, tflops: mi355 },
];

export interface DeviceLimits {
  /** The origin of the figures. */
  readonly source: "datasheet" | "memory clock and bus";
  readonly gbps: number;
  readonly tflops?: Peak["tflops"];
}

/** The limits of a device; undefined if unknown. */
export function limitsOf({
  deviceName,
  memoryGbps,
}: Pick<HelloResult, "deviceName" | "memoryGbps">): DeviceLimits | undefined {
  const peak = peaks.find(({ device }) => device.test(deviceName));
  if (peak) return { source: "datasheet", gbps: peak.gbps, tflops: peak.tflops };
  return memoryGbps === null ? undefined : { source: "memory clock and bus", gbps: memoryGbps };
}

/** The minimum time of a case on a device, and the bottleneck. */
export interface RooflineBound {
  readonly ms: number;
  readonly by: "memory" | "compute";
}

/** max(bytes / bandwidth, operations / rate). Undefined if an unknown rate matters. */
export function roofOf(
  kernel: CompiledKernel,
  testCase: TestCase,
  { bytes, flops }: { readonly bytes: number; readonly flops: number },
  limits: DeviceLimits | undefined,
): RooflineBound | undefined {
  if (!limits) return undefined;
  const memory = bytes / limits.gbps / 1e6;
  if (flops === 0) return { ms: memory, by: "memory" };
  const rate = limits.tflops?.[rateOf(kernel, testCase)];
  if (rate === undefined) return undefined;
  const compute = flops / rate / 1e9;
  return compute > memory ? { ms: compute, by: "compute" } : { ms: memory, by: "memory" };
}

/** The rate that limits the arithmetic: tensor cores with the dtype of the first input, or plain float32. */
export function rateOf(kernel: CompiledKernel, testCase: TestCase): keyof Peak["tflops"] {
  const first = kernel.signature.tensors.find(({ role }) => role !== "out");
  const dtype = first ? dtypeOf(first, testCase) : "float32";
  if (kernel.signature.arithmetic.dots.length === 0) return "vector";
  if (dtype.startsWith("float8")) return "float8";
  if (dtype === "float16" || dtype === "bfloat16") return "float16";
  return dtype === "int8" || dtype === "uint8" ? "int8" : "float32";
}

/** The bytes that a call must transfer: each input is read once, each output written once, an updated tensor both. */
export function bytesOf(kernel: CompiledKernel, testCase: TestCase): number {
  const sizes = kernel.sizes(testCase);
  const present = kernel.signature.tensors.filter(({ name }) => !testCase.absent?.includes(name));
  return present.reduce((total, tensor) => {
    const elements = shapeOf(tensor.dims, sizes).reduce((product, dim) => product * dim, 1);
    return total + elements * bytesOfDType(dtypeOf(tensor, testCase)) * (tensor.role === "inout" ? 2 : 1);
  }, 0);
}

/** Bytes of an element in memory. A boolean occupies one byte. */
function bytesOfDType(dtype: string): number {
  const bits = /\d+/.exec(dtype.replace(/e\d.*/, ""));
  return Math.max(1, Number(bits?.[0] ?? 8) / 8);
}
