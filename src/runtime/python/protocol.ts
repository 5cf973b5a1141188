/**
 * The messages between the runner and its Python worker, one JSON object a line. `python/tilescript_worker/protocol.py`
 * is the other side; a change of either raises `PROTOCOL_VERSION` in both.
 */
import type { Layout, SpecialValue, Tolerance } from "../../contract/compiled.js";
import type { Resources, Target } from "../system/gpu-targets.js";

export const PROTOCOL_VERSION = 7;

/** JSON has no NaN and no infinities: they travel as strings. */
export type WireNumber = number | "nan" | "inf" | "-inf";

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
/**
 * Where a tensor's values come from: the normal distribution, with special values among them, numbers or integers from
 * `low` up to but not including `high`, or a file of its elements in row-major order.
 */
export type Fill =
  | { readonly kind: "normal"; readonly special?: readonly SpecialValue[] }
  | { readonly kind: "uniform" | "integers"; readonly low: number; readonly high: number }
  | { readonly kind: "file"; readonly path: string };

/** What it takes to call a wrapper. */
export interface RunRequest {
  /** Path of the emitted module. */
  readonly module: string;
  /** Names of its `@triton.jit` functions. */
  readonly jits: readonly string[];
  /** Index of the one config that each runs, from the first again where it has fewer; null lets Triton choose. */
  readonly config: number | null;
  readonly inputs: readonly WireTensor[];
  /** What the module's own `draw_inputs` takes besides a device, and the inputs that it gives, by Python name. */
  readonly drawn?: {
    readonly arguments: Readonly<Record<string, number | boolean | string>>;
    readonly tensors: readonly string[];
  };
  readonly outputs: readonly WireTensor[];
  /** Python names of what the wrapper returns, in its order: outputs and tensors updated in place. */
  readonly results: readonly string[];
  /** Scalars, sizes and constexprs that the caller decides, by Python name; null for tensors that are left out. */
  readonly arguments: Readonly<Record<string, number | boolean | string | null | { readonly dtype: string }>>;
  readonly seed: number;
}

export interface HelloRequest {
  readonly type: "hello";
}

export interface VerifyRequest extends RunRequest {
  readonly type: "verify";
  /** Python names of the tensors whose gradient is compared with torch.autograd's of the reference. */
  readonly gradients: readonly string[];
  /** By the Python name of each output; for a gradient `NAME.grad`. */
  readonly tolerances: Readonly<Record<string, Tolerance>>;
  /** Pass poisoned outputs as `out=` instead of letting the wrapper allocate them. */
  readonly passOut: boolean;
  /** Runs on the same inputs, which must agree to the bit. */
  readonly repeats: number;
  /** Whether the interpreter may run programs in reverse in every second run. */
  readonly reversible: boolean;
  /** Floats are added in any order, so repeated runs agree within the tolerances only. */
  readonly unordered: boolean;
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
  /** Why nothing was run: its numbers couldn't be trusted on this device. */
  readonly unreliable: readonly string[];
}

export interface BenchRequest extends RunRequest {
  readonly type: "bench";
  /** Calls before the first that counts, and calls that are timed. */
  readonly warmup: number;
  readonly iterations: number;
  /** What to time beside the kernel: `eager`, `torch.compile`, `torch.compile max-autotune`, or the author's own. */
  readonly providers: readonly string[];
  /** By the Python name of each output; the author's providers are held to them. */
  readonly tolerances: Readonly<Record<string, Tolerance>>;
}

export interface PrewarmRequest extends RunRequest {
  readonly type: "prewarm";
}

export interface CompileRequest extends RunRequest {
  readonly type: "compile";
  /** Arguments of Triton's `GPUTarget`. */
  readonly target: Target["triton"];
}

/** Compiles every kernel that a case launches, into Triton's cache. */
export interface AheadRequest extends RunRequest {
  readonly type: "ahead";
  readonly target: Target["triton"];
  /** As in `verify`. */
  readonly gradients?: readonly string[];
}

export interface AheadResult {
  /** What Triton's cache has them under. */
  readonly keys: readonly string[];
}

/** Asks what cases would look up in Triton's cache. Nothing is compiled, and nothing runs. */
export interface LaunchesRequest {
  readonly type: "launches";
  readonly cases: readonly (RunRequest & Pick<AheadRequest, "gradients">)[];
  /** Instead of this process' GPU. */
  readonly target?: Target["triton"];
}

export interface LaunchesResult {
  /** The kernels that each case launches; none where it ends before, and none that this process has in memory. */
  readonly launches: readonly (readonly { readonly key: string; readonly cached: boolean }[])[];
}

export interface CompileResult extends Resources {
  /** What Triton took, or its cache. */
  readonly seconds: number;
  /** Of each kernel that the case launches, on NVIDIA's targets. */
  readonly machineCode: readonly MachineCode[];
}

/** What the machine code of a kernel shows of ptxas, which made it. */
export interface MachineCode {
  /** With its version. */
  readonly compiler: string;
  /** The environment variable that names another one. */
  readonly variable: string;
  /** Where a uniform register is read before anything can have written it, the first place for each. */
  readonly unwritten?: readonly UnwrittenRead[];
  /** Why nothing was looked at. */
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
  /** What to compile for, where there is a GPU. */
  readonly target: Target["triton"] | null;
  /** Gigabytes a second that the memory's clock and bus allow, on NVIDIA GPUs whose driver says. */
  readonly memoryGbps: number | null;
  /** Names of all GPUs that torch sees. */
  readonly gpus: readonly string[];
  readonly versions: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
}

/** Values around the worst element, along the last two axes; `start` is the first one's index. */
export interface Neighbourhood {
  readonly start: readonly number[];
  readonly expected: readonly (readonly WireNumber[])[];
  readonly got: readonly (readonly WireNumber[])[];
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
    readonly expected: WireNumber;
    readonly got: WireNumber;
    readonly around: Neighbourhood;
  };
  /** Why the output could not be compared element by element. */
  readonly problem?: string;
  /** How far PyTorch's own result in the inputs' dtype is from the float64 reference. */
  readonly referenceDiff?: WireNumber;
}

export interface VerifyResult {
  /** None without a reference. */
  readonly comparisons: readonly WireComparison[];
  /** Writes to memory that the kernel does not own. */
  readonly problems: readonly string[];
  /** Something was written outside every tensor, so the process may be damaged. */
  readonly corrupted: boolean;
  /** Kernels that Triton compiled for it, because its cache did not have them. */
  readonly compiled: number;
  /** Why these numbers can't be trusted on this device, if they can't. */
  readonly unreliable: readonly string[];
}

/** Milliseconds that the GPU takes for a call: the median, and the 20th and 80th percentile. */
export interface Timing {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** Milliseconds that the call takes the CPU, which works ahead of the GPU. */
  readonly host?: number;
}

export interface BenchResult {
  /** `kernel` and each provider, or why a provider has no time. */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>> & { readonly kernel: Timing };
  /** The config that ran, where the autotuner chose; null where each of several kernels has its own. */
  readonly config: number | null;
  /** What PyTorch counts of the reference; 0 where it knows none of its operations. */
  readonly flops: number;
}

export interface PrewarmResult {
  readonly seconds: number;
  /** Triton's cache, and how many folders of it are new. */
  readonly folder: string;
  readonly added: number;
  readonly config: number | null;
  /** Whether another process finds the autotuner's choice there. */
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
  | "timeout";

export interface WireFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly exception?: string;
  readonly frames: readonly WireFrame[];
  /** The whole traceback, with what the compilers printed. */
  readonly raw?: string;
  /** The process can't be trusted any more, and is replaced. */
  readonly fatal: boolean;
}

/** What each request is answered with. */
export interface Results {
  readonly hello: HelloResult;
  readonly verify: VerifyResult;
  readonly bench: BenchResult;
  readonly call: CallResult;
  readonly prewarm: PrewarmResult;
  readonly compile: CompileResult;
  readonly ahead: AheadResult;
  readonly launches: LaunchesResult;
}

export type WorkerRequest =
  | HelloRequest
  | VerifyRequest
  | CallRequest
  | BenchRequest
  | PrewarmRequest
  | CompileRequest
  | AheadRequest
  | LaunchesRequest;

export type Reply<Type extends keyof Results = keyof Results> =
  { readonly ok: true; readonly result: Results[Type] } | { readonly ok: false; readonly error: WireFailure };

/** The JavaScript number that a wire number stands for. */
export function fromWire(value: WireNumber): number {
  if (typeof value === "number") return value;
  return value === "nan" ? Number.NaN : value === "inf" ? Infinity : -Infinity;
}
