/**
 * The messages between the runner and its Python worker, one JSON object per line.
 * `python/tilescript_worker/protocol.py` is the other side. A change to either increments `PROTOCOL_VERSION` in both.
 */
import type { Config, Layout, SpecialValue, Tolerance } from "../../compiled/compiled-kernel.js";
import type {
  FileGrid,
  KernelTree,
  LaunchSignature,
  RecordedBlocks,
  RecordedLaunch,
  Tuning,
} from "../../import/tree.js";
import type { Resources, Target } from "../system/gpu-targets.js";

export const PROTOCOL_VERSION = 13;

/** A number. JSON has no NaN and no infinities, so they are encoded as strings. */
export type WireNumber = number | "nan" | "inf" | "-inf";
/** An element. Integers beyond 2^53 are encoded as decimal strings. */
export type WireElement = WireNumber | `${bigint}`;

/** A scalar or constexpr. A number that JSON would change is encoded as Python text with the type that parses it. */
export type WireArgument = number | boolean | string | { readonly float: string } | { readonly int: string };

export interface WireTensor {
  readonly name: string;
  readonly python: string;
  readonly role: "in" | "out" | "inout";
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly layout: Layout;
  readonly fill: Fill;
}

/**
 * The source of a tensor's values: a normal distribution, optionally with special values; numbers or integers in
 * [`low`, `high`); ascending offsets from 0 to `total` or ascending ends up to `total`; or a file with the elements in
 * row-major order.
 */
export type Fill =
  | { readonly kind: "normal"; readonly special?: readonly SpecialValue[] }
  | { readonly kind: "uniform"; readonly low: number; readonly high: number }
  | {
      readonly kind: "integers";
      readonly low: number;
      readonly high: number;
      readonly special?: readonly SpecialValue[];
    }
  | { readonly kind: "partition"; readonly total: number; readonly holds: "offsets" | "ends" }
  | { readonly kind: "file"; readonly path: string };

/** The arguments of a wrapper. */
export interface RunRequest {
  /** Path of the emitted module. */
  readonly module: string;
  /** Names of the module's `@triton.jit` functions. */
  readonly jits: readonly string[];
  /** The index of each function's config, modulo its number of configs; null lets Triton choose. */
  readonly config: number | null;
  readonly inputs: readonly WireTensor[];
  /**
   * The arguments of the module's `draw_inputs` except the device, and the Python names of the inputs that it returns.
   */
  readonly drawn?: {
    readonly arguments: Readonly<Record<string, WireArgument>>;
    readonly tensors: readonly string[];
  };
  readonly outputs: readonly WireTensor[];
  /** Python names of the wrapper's results, in order: outputs and tensors updated in place; null for an omitted one. */
  readonly results: readonly (string | null)[];
  /** Properties of the GPU that the interpreter or a compilation simulates, by PyTorch's names. */
  readonly gpu?: Readonly<Record<string, number>>;
  /** Scalars, sizes and constexprs from the caller, by Python name; null for omitted tensors. */
  readonly arguments: Readonly<Record<string, WireArgument | null | { readonly dtype: string }>>;
  readonly seed: number;
}

export interface HelloRequest {
  readonly type: "hello";
}

export interface VerifyRequest extends RunRequest {
  readonly type: "verify";
  /** Python names of the tensors whose gradient is compared with torch.autograd of the reference. */
  readonly gradients: readonly string[];
  /** By the Python name of each output; `NAME.grad` for a gradient. */
  readonly tolerances: Readonly<Record<string, Tolerance>>;
  /** The maximum relative error of one operation of the kernel; 0 if it computes in float64. */
  readonly roundingUnit: number;
  /** Pass poisoned outputs as `out=` instead of letting the wrapper allocate them. */
  readonly passOut: boolean;
  /** The number of runs on the same inputs, whose results must be bitwise equal. */
  readonly repeats: number;
  /** True if every second run of the interpreter may execute the programs in reverse order. */
  readonly reversible: boolean;
  /** True if floats are added in no fixed order, so repeated runs agree only within the tolerances. */
  readonly unordered: boolean;
  /**
   * The index of the warp-specialized kernel's config to run as well, modulo the configs that fit the sizes; null for
   * none.
   */
  readonly specialized: number | null;
  /** True if the call must find no autotuned config, as a user's first call. It runs at least twice. */
  readonly startsCold: boolean;
}

/** Calls the wrapper on given inputs. Files carry the elements, because JSON would need several times their size. */
export interface CallRequest extends RunRequest {
  readonly type: "call";
  /** The folder for the elements of each result, in a file `NAME.out` by Python name. */
  readonly folder: string;
  /** Python names of the inputs that are raw pointers, whose memory may be written. */
  readonly pointers: readonly string[];
}

export interface CallResult {
  /** The reasons why nothing ran: this device's results are unreliable. */
  readonly unreliable: readonly string[];
}

export interface BenchRequest extends RunRequest {
  readonly type: "bench";
  /** The number of calls before timing starts, and of timed calls. */
  readonly warmup: number;
  readonly iterations: number;
  /** The baselines to measure: `eager`, `torch.compile`, `torch.compile max-autotune`, or providers of the author. */
  readonly providers: readonly string[];
  /** True to report the state of the GPU. */
  readonly state?: boolean;
  /** Tolerances by the Python name of each output; they also apply to the author's providers. */
  readonly tolerances: Readonly<Record<string, Tolerance>>;
}

export interface PrewarmRequest extends RunRequest {
  readonly type: "prewarm";
}

export interface CompileRequest extends RunRequest {
  readonly type: "compile";
  /** Arguments of Triton's `GPUTarget`. */
  readonly target: Target["triton"];
  /** The config of the warp-specialized kernel to compile in place of the plain one; null for the plain one. */
  readonly specialized: number | null;
}

/** Compiles every kernel that a test case launches, into Triton's cache. */
export interface AheadRequest extends RunRequest {
  readonly type: "ahead";
  readonly target: Target["triton"];
  /** The same as in `verify`. */
  readonly gradients?: readonly string[];
}

export interface AheadResult {
  /** The kernels' keys in Triton's cache. */
  readonly keys: readonly string[];
}

/** Requests the keys that test cases would look up in Triton's cache. Nothing is compiled or run. */
export interface LaunchesRequest {
  readonly type: "launches";
  readonly cases: readonly (RunRequest & Pick<AheadRequest, "gradients">)[];
  /** The target GPU. Default: this process's GPU. */
  readonly target?: Target["triton"];
}

export interface LaunchesResult {
  /**
   * The kernels that each test case launches, except those already loaded in this process; empty if the case fails
   * earlier.
   */
  readonly launches: readonly (readonly { readonly key: string; readonly cached: boolean }[])[];
}

/** Reads the kernels of a Triton file. */
export interface ImportRequest {
  readonly type: "import";
  readonly file: string;
  /** The kernels to read; if empty, all of them. */
  readonly kernels: readonly string[];
  /** The argument types of a call, by parameter name. */
  readonly types?: LaunchSignature;
  /** A script that launches them. */
  readonly call?: string;
}

/** One call of an imported kernel: its arguments, and the kernel's IR for them. */
export interface ReadCall {
  readonly arguments: LaunchSignature;
  readonly ttir: string;
}

/** CPU seconds in Triton's compiler, in the user's script and in our code. */
export interface Spent {
  readonly triton: number;
  readonly script: number;
  readonly own: number;
}

/** A kernel of the file, with the line of its function; `refused` is the reason why it cannot be read. */
export type ReadKernel = { readonly name: string; readonly line: number; readonly spent?: Spent } & (
  | { readonly refused: string }
  /** The first function is the kernel. */
  | {
      readonly functions: KernelTree["functions"];
      readonly calls: readonly ReadCall[];
      readonly tuning: Tuning;
      readonly launch?: RecordedLaunch;
      readonly fileGrid?: FileGrid | null;
      readonly blocks?: RecordedBlocks;
    }
);

export interface ImportResult {
  readonly kernels: readonly ReadKernel[];
  readonly spent: Spent;
  /** The reason why the script stopped early. */
  readonly stopped?: string;
}

/** Compares an emitted kernel with its original by their Triton IR. */
export interface MatchRequest {
  readonly type: "match";
  readonly module: string;
  readonly jit: string;
  readonly calls: readonly (ReadCall & {
    /** The original's parameters that are not constants, in order. */
    readonly runtime: readonly string[];
    /** The original's parameters for each possible parameter of the emitted kernel; empty for a stride of 1. */
    readonly names: Readonly<Record<string, readonly string[]>>;
    /** The original's pointers that are views in the emitted kernel; absent without views. */
    readonly views?: readonly string[];
  })[];
}

/**
 * The result of a comparison: equal IR, the first operations that differ, or the reason why Triton does not compile the
 * emitted kernel.
 */
export type CallMatch =
  | { readonly kind: "equal" }
  | { readonly kind: "differs"; readonly original: string; readonly imported: string }
  | { readonly kind: "uncompiled"; readonly reason: string };

export interface MatchResult {
  readonly calls: readonly CallMatch[];
  readonly spent: Spent;
}

export interface CompileResult extends Resources {
  /** Compile time; about 0 for a cached kernel. */
  readonly seconds: number;
  /**
   * The compiled config of the warp-specialized kernel. Null if none was compiled, because it does not support all
   * tensors and sizes.
   */
  readonly specialized: Config | null;
  /** One entry per kernel that the test case launches, on NVIDIA targets. */
  readonly machineCode: readonly MachineCode[];
}

/** Findings in a kernel's machine code about ptxas. */
export interface MachineCode {
  /** The compiler with its version. */
  readonly compiler: string;
  /** The environment variable that selects another ptxas. */
  readonly variable: string;
  /** Reads of uniform registers before any write, the first per register. */
  readonly unwritten?: readonly UnwrittenRead[];
  /** The reason why the code was not checked. */
  readonly unchecked?: string;
}

export interface UnwrittenRead {
  readonly register: string;
  readonly address: string;
  readonly instruction: string;
}

export interface HelloResult {
  readonly device: "cuda" | "hip" | "interpreter";
  readonly deviceName: string;
  readonly capability: readonly number[] | null;
  /** The compile target, if there is a GPU. */
  readonly target: Target["triton"] | null;
  /** Memory bandwidth in GB/s, computed from clock and bus width, if an NVIDIA driver reports them. */
  readonly memoryGbps: number | null;
  /** The names of all GPUs that torch sees. */
  readonly gpus: readonly string[];
  /** The number of GPUs, of which the worker may use one. */
  readonly gpuCount: number;
  readonly versions: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
}

/** Values around the worst element, along the last two axes; `start` is the index of the first one. */
export interface Neighborhood {
  readonly start: readonly number[];
  readonly expected: readonly (readonly WireElement[])[];
  readonly got: readonly (readonly WireElement[])[];
}

export interface WireComparison {
  /** Python name of the output. */
  readonly output: string;
  readonly wrong: number;
  readonly total: number;
  readonly maxAbsDiff: WireNumber;
  readonly maxRelDiff: WireNumber;
  readonly worst?: {
    readonly index: readonly number[];
    readonly expected: WireElement;
    readonly got: WireElement;
    readonly around: Neighborhood;
  };
  /** The reason why the output could not be compared element by element. */
  readonly problem?: string;
  /** The error of PyTorch's result in the inputs' dtype, against the float64 reference. */
  readonly referenceDiff?: WireNumber;
}

/**
 * The index of a config among those that fit the sizes, and their number; or the reason why it exceeds the GPU's
 * resources.
 */
export type SpecializedRun = { readonly config: number; readonly of: number } | { readonly misfit: string };

export interface VerifyResult {
  /** Empty without a reference. */
  readonly comparisons: readonly WireComparison[];
  /** Writes to memory outside the kernel's outputs. */
  readonly problems: readonly string[];
  /** True if memory outside all tensors was written, so the process may be damaged. */
  readonly corrupted: boolean;
  /** The run of the warp-specialized kernel. Null if there is none, or if its launch does not support the test case. */
  readonly specialized: SpecializedRun | null;
  /** The number of kernels that Triton had to compile. */
  readonly compiled: number;
  /** The reasons why results are unreliable on this device; empty if they are reliable. */
  readonly unreliable: readonly string[];
}

/** GPU time of a call in milliseconds: the median, and the 20th and 80th percentiles. */
export interface Timing {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** CPU time of a call in milliseconds. Launches are asynchronous, so the CPU runs ahead of the GPU. */
  readonly host?: number;
  /** The measured GPU, such as `cuda:1`, if several GPUs measure. */
  readonly on?: string;
}

export interface BenchResult {
  /** Times of `kernel` and each provider, or the reason why a provider has none. */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>> & { readonly kernel: Timing };
  /**
   * The config that the autotuner chose. Null if several kernels each have their own, or the warp-specialized one ran.
   */
  readonly config: number | null;
  /** The reference's operations as counted by PyTorch; 0 if it counts none of them. */
  readonly flops: number;
  /** The state of the GPU right after the kernel was timed, if its driver reports it. */
  readonly state?: GpuState;
}

/** Clocks in MHz, the reasons that limit them (NVML's bit set, in hexadecimal), temperature in °C and power in W. */
export interface GpuState {
  readonly driver?: string;
  readonly sm_mhz?: number;
  readonly max_sm_mhz?: number;
  readonly memory_mhz?: number;
  readonly limited_by?: string;
  readonly celsius?: number;
  readonly watts?: number;
}

export interface PrewarmResult {
  readonly seconds: number;
  /** Triton's cache folder, and the number of its new subfolders. */
  readonly folder: string;
  readonly added: number;
  readonly config: number | null;
  /** True if other processes find the autotuner's choice in the cache. */
  readonly keepsChoice: boolean;
}

/** A line of the emitted module in a traceback. */
export interface WireFrame {
  readonly line: number;
  readonly function: string;
  readonly text: string;
}

export type FailureKind =
  | "python-error"
  | "reference"
  | "compile-error"
  | "out-of-memory"
  | "no-space"
  | "out-of-resources"
  | "device-error"
  | "unsupported"
  | "no-device"
  | "protocol"
  | "crash"
  | "connection"
  | "timeout";

export interface WireFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly exception?: string;
  readonly frames: readonly WireFrame[];
  /** The whole traceback, with the output of the compilers. */
  readonly raw?: string;
  /** True if the process is unreliable and must be replaced. */
  readonly fatal: boolean;
}

/** The result type of each request. */
export interface Results {
  readonly hello: HelloResult;
  readonly verify: VerifyResult;
  readonly bench: BenchResult;
  readonly call: CallResult;
  readonly prewarm: PrewarmResult;
  readonly compile: CompileResult;
  readonly ahead: AheadResult;
  readonly launches: LaunchesResult;
  readonly import: ImportResult;
  readonly match: MatchResult;
}

export type WorkerRequest =
  | HelloRequest
  | VerifyRequest
  | CallRequest
  | BenchRequest
  | PrewarmRequest
  | CompileRequest
  | AheadRequest
  | LaunchesRequest
  | ImportRequest
  | MatchRequest;

/** A reply. `on` names the actor of a cluster that handled the request. */
export type Reply<Type extends keyof Results = keyof Results> =
  | { readonly ok: true; readonly result: Results[Type]; readonly on?: string }
  | { readonly ok: false; readonly error: WireFailure };

/**
 * True if the process that sent this reply must be replaced: it is unreliable, or a test case overwrote memory that the
 * next one may use.
 */
export function isDamaging(reply: Reply): boolean {
  return reply.ok ? "corrupted" in reply.result && reply.result.corrupted : reply.error.fatal;
}

export function fromWire(value: WireNumber): number {
  if (typeof value === "number") return value;
  if (value === "nan") return Number.NaN;
  return value === "inf" ? Infinity : -Infinity;
}

export function elementFromWire(value: WireElement): number | bigint {
  if (typeof value === "number" || value === "nan" || value === "inf" || value === "-inf") return fromWire(value);
  return BigInt(value);
}

/**
 * Encodes a scalar or constexpr. JSON has no NaN, no infinities and no -0, and JavaScript rounds the digits of large
 * integers.
 */
export function toWire(value: number | boolean | string): WireArgument {
  if (typeof value !== "number") return value;
  if (Object.is(value, -0)) return { float: "-0.0" };
  if (!Number.isFinite(value)) return { float: String(value).toLowerCase().replace("infinity", "inf") };
  const isLong = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= 2 ** 64;
  return isLong ? { int: String(BigInt(value)) } : value;
}
