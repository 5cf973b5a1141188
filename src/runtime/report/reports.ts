/** What `--json` prints, a type for each command. Numbers that JSON can't hold (NaN, infinity) are null. */
import type { Finding, Layout, SpecialValue, Tolerance } from "../../contract/compiled.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import type { CaseFailure, WorstElement } from "../cases/outcome.js";
import type { DeviceLimits, Roof } from "../measure/peaks.js";
import type { Timing } from "../python/protocol.js";

// docs/cli.md shows these types, each between its mark and the next.

// run
/** Several kernels: the first four are those of all together, and `kernels` has the report of each. */
export interface RunReport {
  readonly correct: boolean;
  readonly max_abs_diff: number | null;
  readonly max_rel_diff: number | null;
  /** One sentence. */
  readonly details: string;
  readonly kernels?: readonly RunReport[];
  readonly kernel?: string;
  readonly device?: "cuda" | "hip" | "interpreter" | "eval";
  readonly device_why?: string;
  readonly device_name?: string;
  readonly capability?: readonly number[] | null;
  readonly versions?: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
  readonly python?: string;
  readonly configs?: { readonly total: number; readonly tried: readonly number[] };
  /** What the run leaves open, each a phrase. */
  readonly not_checked?: readonly string[];
  readonly warnings?: readonly Diagnostic[];
  readonly seconds?: number;
  /** On a GPU: kernels compiled before the cases ran, in how many processes and seconds; those that Triton's cache had; those compiled as cases ran. */
  readonly compiled?: {
    readonly ahead: number;
    readonly processes: number;
    readonly seconds: number;
    readonly known: number;
    readonly late: number;
  };
  readonly cases?: readonly CaseReport[];
  /** Of `verify`: the seed of what was drawn. */
  readonly seed?: number;
  /** Of `verify`: the flag that runs the failing case again, the last of `cases`. */
  readonly replay?: string;
}

export interface CaseReport {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly layouts?: Readonly<Record<string, Layout>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** Optional tensors that were left out. */
  readonly absent?: readonly string[];
  readonly special?: readonly SpecialValue[];
  readonly config: number | "autotuned";
  readonly seed: number;
  readonly by: "python" | "eval";
  readonly status: "passed" | "failed" | "unchecked";
  readonly ms: number;
  readonly outputs: readonly OutputReport[];
  readonly findings?: readonly Finding[];
  readonly problems?: readonly string[];
  readonly error?: CaseFailure;
}

export interface OutputReport {
  readonly max_abs_diff: number | null;
  readonly max_rel_diff: number | null;
  readonly wrong: number;
  readonly total: number;
  readonly tolerance?: Tolerance;
  /** How far PyTorch's own result in this dtype is from the float64 reference. */
  readonly reference_diff?: number;
  readonly problem?: string;
  readonly worst?: WorstElement;
}

// check
export interface CheckReport {
  readonly ok: boolean;
  readonly kernels: readonly {
    readonly kernel: string;
    readonly ok: boolean;
    readonly configs: number;
    readonly diagnostics: readonly Diagnostic[];
  }[];
}

// emit
export interface EmitReport {
  readonly ok: true;
  readonly modules: readonly {
    readonly kernel: string;
    /** Where it was written. */
    readonly file?: string;
    readonly python: string;
    /** Source Map v3. */
    readonly map: object;
    readonly diagnostics: readonly Diagnostic[];
  }[];
}

// compile
export interface CompileReport {
  readonly ok: boolean;
  readonly triton: string;
  readonly python: string;
  readonly seconds: number;
  readonly kernels: readonly {
    readonly kernel: string;
    readonly compiled: readonly CompilationReport[];
    /** What was not compiled, or whose machine code was not looked at, and why. */
    readonly not_checked: readonly string[];
    /** At the lines of configs: `compile-error`, `compile-resources`, `compile-miscompiled`, and the warning `compile-spill`. */
    readonly diagnostics: readonly Diagnostic[];
  }[];
}

export interface CompilationReport {
  readonly target: string;
  readonly config: number;
  /** Constexprs and launch options of the config, by the author's names. */
  readonly values: Readonly<Record<string, number | boolean | string>>;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** How inputs lie in memory, where not contiguous. */
  readonly layouts?: Readonly<Record<string, Layout>>;
  /** Optional tensors that were left out. */
  readonly absent?: readonly string[];
  /** Of a thread. */
  readonly registers?: number;
  /** Of a thread, in memory because registers ran out. */
  readonly spilled_bytes?: number;
  /** Of a program. */
  readonly shared_bytes?: number;
  /** Columns of a program, on Blackwell. */
  readonly tensor_memory?: number;
  readonly warps?: number;
  /** Programs that run at a time on a multiprocessor, compute unit or work-group processor. */
  readonly programs?: number;
  /** Their warps, of those that the unit holds: 0 to 1. */
  readonly occupancy?: number;
  readonly limited_by?: "warps" | "programs" | "registers" | "shared memory";
  readonly compile_seconds?: number;
  /** Faults of ptxas: the first instruction that reads a uniform register which nothing wrote before, for each register. */
  readonly unwritten_reads?: readonly {
    readonly register: string;
    readonly address: string;
    readonly instruction: string;
  }[];
  /** Whether an earlier run compiled it. */
  readonly cached: boolean;
  readonly error?: CaseFailure;
}

// package
export interface PackageReport {
  readonly ok: true;
  /** What Python imports. */
  readonly package: string;
  readonly files: readonly string[];
}

// bench
export interface BenchReport {
  /** Whether every case was verified and measured. */
  readonly ok: boolean;
  readonly device: "cuda" | "hip";
  readonly device_name: string;
  readonly capability: readonly number[] | null;
  readonly versions: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
  /** What the device can do at most; absent where nothing is known of it. */
  readonly limits?: DeviceLimits;
  readonly kernels: readonly KernelBenchReport[];
}

export interface KernelBenchReport {
  readonly kernel: string;
  readonly seconds: number;
  /** Sizes that `--sweep` changes. */
  readonly sweep?: readonly string[];
  readonly cases: readonly BenchCaseReport[];
  /** Cases that are wrong or not verified, that a kernel refuses or that failed. */
  readonly not_measured: readonly string[];
}

export interface BenchCaseReport {
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** The config that ran: the autotuner's choice, unless one was named. */
  readonly config: number | "autotuned";
  readonly values: ConfigValues;
  /** Medians. */
  readonly kernel_time_ms: number;
  readonly reference_time_ms?: number;
  readonly speedup?: number;
  readonly warmup_iters: number;
  readonly benchmark_iters: number;
  /** Of `kernel`, `eager`, `torch.compile`, `torch.compile max-autotune` and the author's providers: 20th and 80th percentile beside the median, in milliseconds, or why there is no time. */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>>;
  /** Inputs read once and outputs written once. */
  readonly bytes: number;
  /** Absent where nobody says how many. */
  readonly flops?: number;
  /** The least time that the device's limits allow. */
  readonly roof?: Roof;
}

// tune
export interface TuneReport {
  readonly ok: boolean;
  readonly kernel: string;
  /** Absent in a dry run. */
  readonly device_name?: string;
  readonly candidates: number;
  readonly tried: number;
  readonly from_cache: number;
  readonly seconds: number;
  /** Dropped before they ran, and why. */
  readonly pruned: readonly { readonly values: ConfigValues; readonly reason: string }[];
  /** Dropped because they gave a wrong result or did not run. */
  readonly rejected: readonly { readonly values: ConfigValues; readonly reason: string }[];
  readonly cases: readonly {
    readonly sizes: Readonly<Record<string, number>>;
    readonly dtypes: Readonly<Record<string, string>>;
    readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
    readonly best: ConfigValues;
    readonly time: Timing;
    /** With the fastest of the author's configs. */
    readonly time_before?: Timing;
  }[];
  /** The configs to keep: each is the fastest of a case. In a dry run, the candidates that are left. */
  readonly configs: readonly ConfigValues[];
  /** Where they were written. */
  readonly written?: string;
  readonly baked?: string;
}

export type ConfigValues = Readonly<Record<string, number | boolean | string>>;

// prewarm
export interface PrewarmReport {
  readonly ok: boolean;
  readonly device_name: string;
  readonly triton: string;
  /** Triton's cache. */
  readonly folder: string;
  readonly kernels: readonly {
    readonly kernel: string;
    /** Whether another process finds the autotuner's choice in the cache: `cacheResults` in the spec. */
    readonly keeps_choice: boolean;
    readonly cases: readonly {
      readonly sizes: Readonly<Record<string, number>>;
      readonly dtypes: Readonly<Record<string, string>>;
      readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
      readonly seconds: number;
      /** Folders that are new in the cache; 0 where all was there. */
      readonly added: number;
      readonly config: number | "autotuned";
    }[];
    readonly failed: readonly string[];
  }[];
}

// profile
export interface ProfileReport {
  readonly ok: true;
  readonly kernels: readonly {
    readonly kernel: string;
    /** The emitted module. */
    readonly file: string;
    /** Command lines by the profiler's name. */
    readonly commands: Readonly<Record<"ncu" | "nsys" | "rocprofv3", string>>;
  }[];
}

// plot
export interface PlotReport {
  readonly ok: true;
  readonly files: readonly string[];
}

// setup
export interface SetupReport {
  readonly ok: true;
  readonly python: string;
}

// new
export interface NewReport {
  readonly ok: true;
  readonly files: readonly string[];
}

// doctor
export interface DoctorReport {
  /** Whether kernels can be verified here at all; the evaluator is enough. */
  readonly ok: boolean;
  readonly facts: readonly {
    readonly name: "node" | "tsx" | "python" | "device" | "gpus" | "compile";
    readonly status: "ok" | "missing";
    readonly found: string;
    /** What to do about it. */
    readonly remedy?: string;
  }[];
  /** Pythons that were looked at and not taken. */
  readonly rejected: readonly { readonly python: string; readonly source: string; readonly reason: string }[];
}

// problem
/** A command that ended before its report: a wrong option, an error of the build, no usable environment. */
export interface Problem {
  readonly ok: false;
  readonly details: string;
}
