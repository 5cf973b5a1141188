/**
 * The output of `--json`, one type per command. Numbers that JSON lacks are strings: "NaN", "Infinity", "-Infinity" and
 * "-0". A maximum difference that is not finite is null instead.
 */
import type { AccessKind } from "../../compiled/access.js";
import type {
  TestCase,
  Certificate,
  Finding,
  InvarianceProof,
  Layout,
  OutputProof,
  SpecialValue,
  Tolerance,
} from "../../compiled/compiled-kernel.js";
import type { DeviceProperties } from "../../compiled/gpus.js";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import type { Diagnostic, Location } from "../../diagnostics/diagnostic.js";
import type { WrittenTensor } from "../../visualize/program-map.js";
import type { Counts } from "../../visualize/access-map.js";
import type { CaseFailure, WorstElement } from "../cases/outcome.js";
import type { DeviceLimits, RooflineBound } from "../measure/benchmark.js";
import type { GpuState, Timing } from "../worker/protocol.js";

// docs/cli.md shows these types, each between its marker and the next.

// run
/** With several kernels, the first four fields summarize all of them, and `kernels` has the report of each. */
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
  /** The machine, if it is a remote one. */
  readonly host?: string;
  /** The devices that share the cases, if several were named: `cuda:0`, `cuda:1`. */
  readonly workers?: readonly string[];
  readonly capability?: readonly number[] | null;
  readonly versions?: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
  readonly python?: string;
  readonly configs?: { readonly total: number; readonly tried: readonly number[] };
  /** The number of declared shapes, and the indices of those that were compared with the reference. */
  readonly declared_shapes?: { readonly total: number; readonly compared: readonly number[] };
  /** Aspects that the run did not check, as phrases. */
  readonly not_checked?: readonly string[];
  readonly warnings?: readonly Diagnostic[];
  readonly seconds?: number;
  /**
   * On a GPU: kernels compiled before the cases, with processes and seconds; kernels from Triton's cache; kernels
   * compiled while cases ran.
   */
  readonly compiled?: {
    readonly ahead: number;
    readonly processes: number;
    readonly seconds: number;
    readonly known: number;
    readonly late: number;
  };
  /**
   * Seconds of the cases, except on the evaluator: until their kernels were compiled, on the device, in the check of the
   * algorithm, and in the call of the wrapper with an empty cache.
   */
  readonly durations?: {
    readonly waiting: number;
    readonly device: number;
    readonly evaluator: number;
    readonly first_call: number;
  };
  readonly cases?: readonly CaseReport[];
  /** For `verify`: the seed of the drawn cases. */
  readonly seed?: number;
  /** For `verify`: the flag that replays the failing case, which is the last of `cases`. */
  readonly replay?: string;
}

export interface CaseReport {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly layouts?: Readonly<Record<string, Layout>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** Optional tensors that the case omits. */
  readonly absent?: readonly string[];
  /** Properties of the GPU that a launch depends on, if they differ from an H200. */
  readonly gpu?: Partial<DeviceProperties>;
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
  /** For a wrong result of the evaluator: a `mistake` also occurs with every float in float64, `rounding` does not. */
  readonly finds?: "mistake" | "rounding";
  readonly tolerance?: Tolerance;
  /** The error of PyTorch's own result in this dtype, against the float64 reference. */
  readonly reference_diff?: number;
  readonly problem?: string;
  readonly worst?: WorstElement;
}

// check
export interface CheckReport {
  readonly ok: boolean;
  /** The version of TileScript that made the proofs. */
  readonly version: string;
  readonly kernels: readonly {
    readonly kernel: string;
    readonly ok: boolean;
    readonly configs: number;
    readonly diagnostics: readonly Diagnostic[];
    /** The proved properties for every shape; absent if the kernel does not build. */
    readonly proof?: Certificate;
    /** With `--certificate`: how the certificate in that file compares with `proof`. */
    readonly certificate?: CertificateMatch;
    /** With `--computes`: whether each output, and each gradient, equals that of the reference over the reals. */
    readonly computes?: readonly OutputProof[];
    /** With `--against`: whether each output equals that of the other kernel over the reals. */
    readonly against?: readonly OutputProof[];
    /** With `--invariance`: on what the bits of each output depend. */
    readonly invariance?: readonly InvarianceProof[];
  }[];
}

export type CertificateMatch =
  | { readonly kind: "same" }
  /** The file has no certificate of this kernel. */
  | { readonly kind: "missing" }
  /** The file's certificate is for another version of the kernel. The versions differ in these parts. */
  | { readonly kind: "other-kernel"; readonly differs: readonly string[] }
  /** The file's certificate is for this kernel, but the proof has another verdict. The text describes the difference. */
  | { readonly kind: "other-verdict"; readonly differs: string };

// fix
export interface FixReport {
  /** True if no error remains that the author must fix. */
  readonly ok: boolean;
  readonly files: readonly { readonly file: string; readonly edits: number }[];
  /** The errors without an edit. */
  readonly left: readonly Diagnostic[];
}

// emit
export interface EmitReport {
  readonly ok: true;
  readonly modules: readonly {
    readonly kernel: string;
    /** The path of the written module. */
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
    /** The targets that the kernel's spec excludes. */
    readonly not_run: readonly string[];
    /** Descriptions of what was not compiled, or whose machine code was not checked, with the reason. */
    readonly not_checked: readonly string[];
    /**
     * Located at the configs: the errors `compile-error` and `compile-miscompiled`, the warning `compile-spill`, and
     * `compile-resources`, which is a warning while another config fits the target. Located at the spec's `targets`:
     * `other-target`, which is a warning while the kernel is for another target.
     */
    readonly diagnostics: readonly Diagnostic[];
  }[];
}

export interface CompilationReport {
  readonly target: string;
  readonly config: number;
  /** Present for a config of the warp-specialized kernel. */
  readonly specialized?: true;
  /** Constexprs and launch options of the config, under the author's names. */
  readonly values: Readonly<Record<string, number | boolean | string>>;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** The layout of the inputs, if not contiguous. */
  readonly layouts?: Readonly<Record<string, Layout>>;
  /** Optional tensors that the case omits. */
  readonly absent?: readonly string[];
  /** Registers per thread. */
  readonly registers?: number;
  /** Bytes that each thread spills to memory. */
  readonly spilled_bytes?: number;
  /** Shared memory per program. */
  readonly shared_bytes?: number;
  /** Tensor memory columns per program, on Blackwell. */
  readonly tensor_memory?: number;
  readonly warps?: number;
  /** Programs that run concurrently on a multiprocessor, compute unit or work-group processor. */
  readonly programs?: number;
  /** The fraction of the unit's warps that they occupy: 0 to 1. */
  readonly occupancy?: number;
  readonly limited_by?: "warps" | "programs" | "registers" | "shared memory";
  readonly compile_seconds?: number;
  /** Faults of ptxas: for each uniform register that is read before it is written, the first faulty instruction. */
  readonly unwritten_reads?: readonly {
    readonly register: string;
    readonly address: string;
    readonly instruction: string;
  }[];
  /** True if the result comes from an earlier run. */
  readonly cached: boolean;
  readonly error?: CaseFailure;
}

// package
export interface PackageReport {
  readonly ok: true;
  /** The import name in Python. */
  readonly package: string;
  readonly files: readonly string[];
}

// bench
export interface BenchReport {
  /** True if every case was verified and measured. */
  readonly ok: boolean;
  readonly device: "cuda" | "hip";
  readonly device_name: string;
  readonly capability: readonly number[] | null;
  readonly versions: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
  /** The device's peak rates; absent if unknown. */
  readonly limits?: DeviceLimits;
  readonly kernels: readonly KernelBenchReport[];
}

/** Reports of a cluster with several kinds of GPU. */
export interface GpuKinds<Report> {
  readonly ok: boolean;
  /** One report per kind. */
  readonly kinds: readonly Report[];
}

export interface KernelBenchReport {
  readonly kernel: string;
  readonly seconds: number;
  /** Sizes that `--sweep` varies. */
  readonly sweep?: readonly string[];
  readonly cases: readonly BenchCaseReport[];
  /** Cases without a measurement: incorrect, not verified, rejected by the kernel, or failed. */
  readonly not_measured: readonly string[];
}

export interface BenchCaseReport {
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** The config that ran: the autotuner's choice unless an option chose one. */
  readonly config: number | "autotuned";
  readonly values: ConfigValues;
  /** Medians. */
  readonly kernel_time_ms: number;
  readonly reference_time_ms?: number;
  readonly speedup?: number;
  readonly warmup_iters: number;
  readonly benchmark_iters: number;
  /**
   * Times of `kernel`, `eager`, `torch.compile`, `torch.compile max-autotune` and the author's providers: the median
   * with the 20th and 80th percentile in milliseconds, or the reason for a missing time.
   */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>>;
  /** Assumes that inputs are read once and outputs written once. */
  readonly bytes: number;
  /** Absent if the number of operations is unknown. */
  readonly flops?: number;
  /** The minimum time by the device's peak rates. */
  readonly roof?: RooflineBound;
  /** The GPU that was measured, if there are several. */
  readonly on?: string;
  /** The state of the GPU right after the kernel was timed. Only with `--results`, if NVIDIA's driver reports it. */
  readonly gpu_state?: GpuState;
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
  /** Configs dropped before they ran, with the reason. */
  readonly pruned: readonly { readonly values: ConfigValues; readonly reason: string }[];
  /** Configs dropped because the result was incorrect or the run failed. */
  readonly rejected: readonly { readonly values: ConfigValues; readonly reason: string }[];
  readonly cases: readonly {
    readonly sizes: Readonly<Record<string, number>>;
    readonly dtypes: Readonly<Record<string, string>>;
    readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
    readonly best: ConfigValues;
    readonly time: Timing;
    /** The time of the fastest declared config. */
    readonly time_before?: Timing;
  }[];
  /** The configs to keep: each is the fastest in some case. In a dry run, the remaining candidates. */
  readonly configs: readonly ConfigValues[];
  /** The written files. */
  readonly written?: string;
  readonly baked?: string;
}

export type ConfigValues = Readonly<Record<string, number | boolean | string>>;

// prewarm
export interface PrewarmReport {
  readonly ok: boolean;
  /** The node of a cluster. */
  readonly node?: string;
  readonly device_name: string;
  readonly triton: string;
  /** Triton's cache. */
  readonly folder: string;
  readonly kernels: readonly {
    readonly kernel: string;
    /** True if other processes find the autotuner's choice in the cache (`cacheResults` in the spec). */
    readonly keeps_choice: boolean;
    readonly cases: readonly {
      readonly sizes: Readonly<Record<string, number>>;
      readonly dtypes: Readonly<Record<string, string>>;
      readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
      readonly seconds: number;
      /** Number of new folders in the cache; 0 if everything was cached. */
      readonly added: number;
      readonly config: number | "autotuned";
    }[];
    readonly failed: readonly string[];
  }[];
}

/** Reports of a cluster with GPUs on several nodes, which have separate caches. */
export interface PrewarmedNodes {
  readonly ok: boolean;
  readonly nodes: readonly PrewarmReport[];
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
    /** For another machine: the command line that copies the folder with the module and the profilers' output back. */
    readonly fetch?: string;
  }[];
}

// trace
export interface TraceReport {
  /** True if the evaluation has no findings. */
  readonly ok: boolean;
  readonly kernel: string;
  readonly case: TestCase;
  /** The path of the picture. */
  readonly file?: string;
  readonly program?: readonly number[];
  readonly accesses?: readonly {
    readonly kind: AccessKind;
    readonly tensor: string;
    readonly at?: Location;
    readonly tile: readonly number[];
    /** Numbers of lanes. */
    readonly active: number;
    readonly masked: number;
    readonly refused: number;
  }[];
  /**
   * The numbers of elements that the program loads, stores, or both, and of locations with only masked lanes or with
   * refused lanes.
   */
  readonly tensors?: readonly ({ readonly tensor: string; readonly shape: readonly number[] } & Counts)[];
  /**
   * With `--map`: for each tensor, the number of elements that programs write, and the number of elements that several
   * programs write.
   */
  readonly map?: readonly WrittenTensor[];
  readonly findings: readonly Finding[];
  readonly unchecked: readonly string[];
}

// plot
export interface PlotReport {
  readonly ok: true;
  readonly files: readonly string[];
}

/** The comparison of records. `ok` is true if no case is slower than its best earlier time. */
export interface RecordsReport {
  readonly ok: boolean;
  readonly records: number;
  readonly cases: readonly ComparedCase[];
  readonly files?: readonly string[];
}

export interface ComparedCase {
  readonly kernel: string;
  readonly device_name: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** The number of measurements on this kind of GPU. */
  readonly records: number;
  /** The latest time. */
  readonly time: Timing;
  /** The fastest earlier time with its date; the ratio of both medians; other differences. */
  readonly best?: { readonly time: Timing; readonly at: string };
  readonly slower?: number;
  readonly changed?: readonly string[];
  /** True if the case is slower by more than 5 %, and its 20th percentile exceeds the best one's 80th. */
  readonly regressed: boolean;
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

// import
export interface ImportReport {
  /** True if every kernel is equal to its original. */
  readonly ok: boolean;
  readonly file: string;
  /** The reason why the script of `--call` ended early. */
  readonly stopped?: string;
  readonly kernels: readonly (ImportOutcome & {
    readonly kernel: string;
    /** The kernel file, and its path. */
    readonly text?: string;
    readonly path?: string;
    /** The calls that were compared, if the file supports only some of them. */
    readonly calls?: { readonly compared: number; readonly noted: number };
    /**
     * Present if the kernel has block pointers. They are compared as the addresses and masks that Triton 3.6 derives
     * from them.
     */
    readonly blockPointers?: true;
    /** With `--lift`, or with block pointers: the loads and stores, each with the reason if it is not a view. */
    readonly accesses?: readonly { readonly line: number; readonly of: string; readonly why?: string | undefined }[];
    /** Points that need manual review, with the line in the Python file. */
    readonly todos?: readonly { readonly text: string; readonly line: number }[];
    /** The parts of the original that the file has no place for, with the line in the Python file. */
    readonly leftOut?: readonly { readonly what: string; readonly text: string; readonly line: number }[];
  })[];
}

/** The result of comparing an imported kernel with its original. */
export type ImportOutcome =
  | { readonly status: "equal" }
  /** Equal, but for parts of the original that are left out. */
  | { readonly status: "equal for the traced calls" }
  /** Parameters were fixed to the values of the calls. */
  | { readonly status: "equal for the traced flags"; readonly fixed: readonly string[] }
  /** The first operations that differ, in Triton's IR. */
  | { readonly status: "differs"; readonly original: string; readonly imported: string }
  | { readonly status: "not imported"; readonly reason: string; readonly line: number };

// doctor
export interface DoctorReport {
  /** True if kernels can be verified on this machine; the evaluator suffices. */
  readonly ok: boolean;
  readonly facts: readonly {
    readonly name: "node" | "tsx" | "python" | "device" | "gpus" | "compile";
    readonly status: "ok" | "missing";
    readonly found: string;
    /** The remedy. */
    readonly remedy?: string;
  }[];
  /** Pythons that were found and rejected. */
  readonly rejected: readonly { readonly python: string; readonly source: string; readonly reason: string }[];
  /** The recommended next step. */
  readonly next: string;
}

// explain
export interface ExplainReport {
  readonly ok: true;
  readonly codes: readonly ExplainedCode[];
}

export interface ExplainedCode {
  readonly code: DiagnosticCode;
  readonly area: string;
  readonly means: string;
  /** The message of the example. */
  readonly says: string;
  /** A kernel file that triggers the code, and the relevant lines. */
  readonly fails?: { readonly excerpt: string; readonly file: string };
  /** The fixed kernel file. */
  readonly passes?: { readonly excerpt: string; readonly file: string };
  /** For a code that no kernel alone triggers: a command, its input file, and the remedy. */
  readonly command?: string;
  readonly file?: string;
  readonly remedy?: string;
}

// problem
/** The output of a command that ended early: a wrong option, a build error, or an unusable environment. */
export interface Problem {
  readonly ok: false;
  readonly details: string;
  /** The individual diagnostics behind `details`, if the kernels' files could not be built. */
  readonly diagnostics?: readonly Diagnostic[];
}
