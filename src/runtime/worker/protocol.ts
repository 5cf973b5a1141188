/**
 * The messages between the runner and its Python worker, one JSON object a line. `python/tilescript_worker/protocol.py`
 * is the other side. A change of either raises `PROTOCOL_VERSION` in both.
 */
import type { Config, Layout, SpecialValue, Tolerance } from "../../compiled/compiled-kernel.js";
import type { FunctionTree, GivenSignature, NotedBlocks, NotedLaunch, Tuning } from "../../import/tree.js";
import type { Resources, Target } from "../system/gpu-targets.js";

export const PROTOCOL_VERSION = 12;

/** JSON has no NaN and no infinities: they travel as strings. */
export type WireNumber = number | "nan" | "inf" | "-inf";
/** An integer beyond 2^53 travels as its digits. */
export type WireElement = WireNumber | `${bigint}`;

/** A scalar or constexpr. What JSON would change travels as Python's text, beside the type that reads it. */
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
 * Where a tensor's values come from: the normal distribution, with special values among them, numbers or integers from
 * `low` up to but not including `high`, offsets that rise from 0 to `total` or ends that rise to it, or a file of its
 * elements in row-major order.
 */
export type Fill =
  | { readonly kind: "normal"; readonly special?: readonly SpecialValue[] }
  | { readonly kind: "uniform" | "integers"; readonly low: number; readonly high: number }
  | { readonly kind: "partition"; readonly total: number; readonly holds: "offsets" | "ends" }
  | { readonly kind: "file"; readonly path: string };

/** The arguments of a wrapper. */
export interface RunRequest {
  /** Path of the emitted module. */
  readonly module: string;
  /** Names of its `@triton.jit` functions. */
  readonly jits: readonly string[];
  /** The index of the config that each function runs, modulo its number of configs; null lets Triton choose. */
  readonly config: number | null;
  readonly inputs: readonly WireTensor[];
  /** The arguments of the module's `draw_inputs` besides a device, and the inputs that it returns, by Python name. */
  readonly drawn?: {
    readonly arguments: Readonly<Record<string, WireArgument>>;
    readonly tensors: readonly string[];
  };
  readonly outputs: readonly WireTensor[];
  /** Python names of the wrapper's results, in order: outputs and tensors updated in place; null for one left out. */
  readonly results: readonly (string | null)[];
  /** Properties of the GPU that the interpreter or a compilation stands for, by PyTorch's names. */
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
  /** What one operation of the kernel is off by at most, relative to what it gives; 0 if it computes in float64. */
  readonly roundingUnit: number;
  /** Pass poisoned outputs as `out=` instead of letting the wrapper allocate them. */
  readonly passOut: boolean;
  /** The number of runs on the same inputs, which must agree to the bit. */
  readonly repeats: number;
  /** Whether every second run of the interpreter may execute programs in reverse order. */
  readonly reversible: boolean;
  /** Floats are added in any order, so repeated runs only agree within the tolerances. */
  readonly unordered: boolean;
  /** The config of the warp-specialized kernel to run besides, modulo those that fit the sizes; null to run none. */
  readonly specialized: number | null;
}

/** Calls the wrapper on given inputs. Files carry the elements: JSON would take several times their size. */
export interface CallRequest extends RunRequest {
  readonly type: "call";
  /** Where the elements of each result are written, to `NAME.out` by its Python name. */
  readonly folder: string;
  /** Python names of the inputs that are raw pointers: whatever lies behind them may be written. */
  readonly pointers: readonly string[];
}

export interface CallResult {
  /** Why nothing ran: this device's results can't be trusted. */
  readonly unreliable: readonly string[];
}

export interface BenchRequest extends RunRequest {
  readonly type: "bench";
  /** Calls before timing starts, and calls to time. */
  readonly warmup: number;
  readonly iterations: number;
  /** What to time beside the kernel: `eager`, `torch.compile`, `torch.compile max-autotune`, or the author's own. */
  readonly providers: readonly string[];
  /** Whether to ask what the GPU runs at. */
  readonly state?: boolean;
  /** By the Python name of each output; the author's providers must meet them. */
  readonly tolerances: Readonly<Record<string, Tolerance>>;
}

export interface PrewarmRequest extends RunRequest {
  readonly type: "prewarm";
}

export interface CompileRequest extends RunRequest {
  readonly type: "compile";
  /** Arguments of Triton's `GPUTarget`. */
  readonly target: Target["triton"];
  /** The config of the warp-specialized kernel to compile, in place of the plain one; null for that. */
  readonly specialized: number | null;
}

/** Compiles every kernel that a case launches, into Triton's cache. */
export interface AheadRequest extends RunRequest {
  readonly type: "ahead";
  readonly target: Target["triton"];
  /** As in `verify`. */
  readonly gradients?: readonly string[];
}

export interface AheadResult {
  /** The kernels' keys in Triton's cache. */
  readonly keys: readonly string[];
}

/** Asks what cases would look up in Triton's cache. Nothing is compiled or run. */
export interface LaunchesRequest {
  readonly type: "launches";
  readonly cases: readonly (RunRequest & Pick<AheadRequest, "gradients">)[];
  /** The GPU to compile for, instead of this process' GPU. */
  readonly target?: Target["triton"];
}

export interface LaunchesResult {
  /**
   * The kernels that each case launches, except those that this process has in memory; none if the case ends earlier.
   */
  readonly launches: readonly (readonly { readonly key: string; readonly cached: boolean }[])[];
}

/** Reads the kernels of a Triton file. */
export interface ImportRequest {
  readonly type: "import";
  readonly file: string;
  /** The kernels to read; all if there is none. */
  readonly kernels: readonly string[];
  /** What a call passes, by the names of parameters. */
  readonly types?: GivenSignature;
  /** A script that launches them. */
  readonly call?: string;
}

/** One call of a kernel that is imported: its arguments, and the kernel's IR for them. */
export interface ReadCall {
  readonly arguments: GivenSignature;
  readonly ttir: string;
}

/** Seconds of a processor: in Triton's compiler, in the user's script and in what is ours. */
export interface Spent {
  readonly triton: number;
  readonly script: number;
  readonly own: number;
}

/** A kernel of the file, with the line of its function; `refused` says why it can't be read. */
export type ReadKernel = { readonly name: string; readonly line: number; readonly spent?: Spent } & (
  | { readonly refused: string }
  /** The kernel's own tree is the first. */
  | {
      readonly functions: readonly FunctionTree[];
      readonly calls: readonly ReadCall[];
      readonly tuning: Tuning;
      readonly launch?: NotedLaunch;
      readonly blocks?: NotedBlocks;
    }
);

export interface ImportResult {
  readonly kernels: readonly ReadKernel[];
  readonly spent: Spent;
  /** Why the script did not come to its end. */
  readonly stopped?: string;
}

/** Compares an emitted kernel with its original, in Triton's IR. */
export interface MatchRequest {
  readonly type: "match";
  readonly module: string;
  readonly jit: string;
  readonly calls: readonly (ReadCall & {
    /** The original's parameters that are no constants, in order. */
    readonly runtime: readonly string[];
    /** The original's parameter for each one that the emitted kernel may have; null for a stride that is 1. */
    readonly names: Readonly<Record<string, readonly string[]>>;
    /** The original's pointers of which the emitted kernel has views; absent where it has none. */
    readonly views?: readonly string[];
  })[];
}

/** Whether the IR is equal; else the first operations that differ, or why Triton does not compile the emitted kernel. */
export type CallMatch =
  | { readonly kind: "equal" }
  | { readonly kind: "differs"; readonly original: string; readonly imported: string }
  | { readonly kind: "uncompiled"; readonly reason: string };

export interface MatchResult {
  readonly calls: readonly CallMatch[];
  readonly spent: Spent;
}

export interface CompileResult extends Resources {
  /** The resources of the compiled kernels, and whether the cache had them. */
  readonly seconds: number;
  /** The config of the warp-specialized kernel, if that was compiled, which not all tensors and sizes suit. */
  readonly specialized: Config | null;
  /** Of each kernel that the case launches, on NVIDIA's targets. */
  readonly machineCode: readonly MachineCode[];
}

/** What a kernel's machine code reveals about ptxas. */
export interface MachineCode {
  /** The compiler with its version. */
  readonly compiler: string;
  /** The environment variable that selects another ptxas. */
  readonly variable: string;
  /** Where a uniform register is read before anything can have written it, the first place for each. */
  readonly unwritten?: readonly UnwrittenRead[];
  /** Why the code was not checked. */
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
  /** The target to compile for, if there is a GPU. */
  readonly target: Target["triton"] | null;
  /** Memory bandwidth in GB/s from clock and bus width, if an NVIDIA driver reports them. */
  readonly memoryGbps: number | null;
  /** The names of all GPUs that torch sees. */
  readonly gpus: readonly string[];
  /** How many there are, of which the worker may have chosen one. */
  readonly gpuCount: number;
  readonly versions: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
}

/** Values around the worst element, along the last two axes; `start` is the first one's index. */
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
  /** Why the output could not be compared element by element. */
  readonly problem?: string;
  /** The error of PyTorch's own result in the inputs' dtype, against the float64 reference. */
  readonly referenceDiff?: WireNumber;
}

/** The place of a config among those that fit the sizes, and how many do; or why the GPU has no room for it. */
export type SpecializedRun = { readonly config: number; readonly of: number } | { readonly misfit: string };

export interface VerifyResult {
  /** None without a reference. */
  readonly comparisons: readonly WireComparison[];
  /** Writes to memory that the kernel does not own. */
  readonly problems: readonly string[];
  /** Whether something was written outside every tensor, so that the process may be damaged. */
  readonly corrupted: boolean;
  /** What ran of the warp-specialized kernel; null if its launch does not suit the case, or there is none. */
  readonly specialized: SpecializedRun | null;
  /** The number of kernels that Triton had to compile. */
  readonly compiled: number;
  /** Why these numbers can't be trusted on this device; undefined if they can. */
  readonly unreliable: readonly string[];
}

/** GPU time of a call in milliseconds: the median, and the 20th and 80th percentile. */
export interface Timing {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** CPU time of a call in milliseconds; the CPU works ahead of the GPU. */
  readonly host?: number;
  /** The GPU that was measured, where several measure: `cuda:1`. */
  readonly on?: string;
}

export interface BenchResult {
  /** Times of `kernel` and each provider, or why a provider has none. */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>> & { readonly kernel: Timing };
  /** The autotuner's choice of a config; null if each of several kernels has its own, or the warp-specialized one ran. */
  readonly config: number | null;
  /** PyTorch's count of the reference's operations; 0 if it knows none of them. */
  readonly flops: number;
  /** What the GPU ran at right after the kernel was timed, where its driver tells. */
  readonly state?: GpuState;
}

/** Clocks in MHz, the reasons that limit them (NVML's set, in base 16), °C and W. */
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
  /** Triton's cache folder, and how many of its folders are new. */
  readonly folder: string;
  readonly added: number;
  readonly config: number | null;
  /** Whether other processes find the autotuner's choice there. */
  readonly keepsChoice: boolean;
}

/** A line of the emitted module that an error passed through. */
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
  /** Whether the process can't be trusted any more and must be replaced. */
  readonly fatal: boolean;
}

/** The result of each request. */
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

/** `on` is the place where a cluster ran it. */
export type Reply<Type extends keyof Results = keyof Results> =
  | { readonly ok: true; readonly result: Results[Type]; readonly on?: string }
  | { readonly ok: false; readonly error: WireFailure };

/**
 * Whether the process that sent this must be replaced: it can't be trusted any more, or a case overwrote memory that the
 * next one may use.
 */
export function isDamaging(reply: Reply): boolean {
  return reply.ok ? "corrupted" in reply.result && reply.result.corrupted : reply.error.fatal;
}

/** Converts a number of the protocol to JavaScript. */
export function fromWire(value: WireNumber): number {
  if (typeof value === "number") return value;
  return value === "nan" ? Number.NaN : value === "inf" ? Infinity : -Infinity;
}

/** Converts an element of the protocol to JavaScript. */
export function elementFromWire(value: WireElement): number | bigint {
  if (typeof value === "number" || value === "nan" || value === "inf" || value === "-inf") return fromWire(value);
  return BigInt(value);
}

/** JSON has no NaN, no infinities and no -0, and JavaScript writes large integers with fewer digits than they have. */
export function toWire(value: number | boolean | string): WireArgument {
  if (typeof value !== "number") return value;
  if (Object.is(value, -0)) return { float: "-0.0" };
  if (!Number.isFinite(value)) return { float: String(value).toLowerCase().replace("infinity", "inf") };
  const isLong = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= 2 ** 64;
  return isLong ? { int: String(BigInt(value)) } : value;
}
