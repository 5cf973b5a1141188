/**
 * The output of `--json`, one type per command. Numbers that JSON lacks are texts, "NaN", "Infinity", "-Infinity" and
 * "-0", but a largest difference that is not finite is null.
 */
import type { AccessKind } from "../../compiled/access.js";
import type {
  TestCase,
  Certificate,
  Finding,
  Layout,
  SpecialValue,
  Tolerance,
} from "../../compiled/compiled-kernel.js";
import type { DeviceProperties } from "../../compiled/device-properties.js";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import type { Diagnostic, Location } from "../../diagnostics/diagnostic.js";
import type { WrittenTensor } from "../../visualize/program-map.js";
import type { Counts } from "../../visualize/access-map.js";
import type { CaseFailure, WorstElement } from "../cases/outcome.js";
import type { DeviceLimits, RooflineBound } from "../measure/roofline.js";
import type { GpuState, Timing } from "../worker/protocol.js";

// docs/cli.md shows these types, each between its mark and the next.

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
  /** The machine, if it is another one. */
  readonly host?: string;
  /** The devices among which cases were shared, if several were named: `cuda:0`, `cuda:1`. */
  readonly workers?: readonly string[];
  readonly capability?: readonly number[] | null;
  readonly versions?: Readonly<Record<"python" | "torch" | "triton" | "numpy", string>>;
  readonly python?: string;
  readonly configs?: { readonly total: number; readonly tried: readonly number[] };
  /** The shapes of the spec, and those among them, by their place, that were compared with the reference. */
  readonly declared_shapes?: { readonly total: number; readonly compared: readonly number[] };
  /** What the run leaves unchecked, as phrases. */
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
  readonly cases?: readonly CaseReport[];
  /** For `verify`: the seed of the drawn cases. */
  readonly seed?: number;
  /** For `verify`: the flag that runs the failing case again, which is the last of `cases`. */
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
  /** Properties of the GPU that a launch depends on, where they are not those of an H200. */
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
  /**
   * For a wrong result of the evaluator: a `mistake` is also wrong with every float in float64, `rounding` is not.
   */
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
  readonly kernels: readonly {
    readonly kernel: string;
    readonly ok: boolean;
    readonly configs: number;
    readonly diagnostics: readonly DiagnosticReport[];
    /** What is proved of it for every shape; absent if it does not build. */
    readonly proof?: Certificate;
  }[];
}
/** A message, with its remedy apart: what stands behind the semicolon of its sentence. */
export interface DiagnosticReport extends Diagnostic {
  readonly remedy?: string;
}

// fix
export interface FixReport {
  /** Whether no error is left that an author has to mend. */
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
    /** The targets that the kernel is not for, by its spec. */
    readonly not_run: readonly string[];
    /** What was not compiled, or whose machine code was not checked, and why. */
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
  /** It is a config of the warp-specialized kernel. */
  readonly specialized?: true;
  /** Constexprs and launch options of the config, by the author's names. */
  readonly values: Readonly<Record<string, number | boolean | string>>;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** The layout of the inputs, if not contiguous. */
  readonly layouts?: Readonly<Record<string, Layout>>;
  /** Optional tensors that the case omits. */
  readonly absent?: readonly string[];
  /** Of a thread. */
  readonly registers?: number;
  /** Bytes that each thread spills to memory. */
  readonly spilled_bytes?: number;
  /** Of a program. */
  readonly shared_bytes?: number;
  /** Columns of each program, on Blackwell. */
  readonly tensor_memory?: number;
  readonly warps?: number;
  /** Programs that run at once on a multiprocessor, compute unit or work-group processor. */
  readonly programs?: number;
  /** The fraction of the unit's warps that they occupy: 0 to 1. */
  readonly occupancy?: number;
  readonly limited_by?: "warps" | "programs" | "registers" | "shared memory";
  readonly compile_seconds?: number;
  /** Faults of ptxas: for each uniform register that is read before it is written, the first such instruction. */
  readonly unwritten_reads?: readonly {
    readonly register: string;
    readonly address: string;
    readonly instruction: string;
  }[];
  /** Whether the result comes from an earlier run. */
  readonly cached: boolean;
  readonly error?: CaseFailure;
}

// package
export interface PackageReport {
  readonly ok: true;
  /** The name that Python imports. */
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
  /** The device's peak rates; absent if unknown. */
  readonly limits?: DeviceLimits;
  readonly kernels: readonly KernelBenchReport[];
}

/** Reports of a cluster that has several kinds of GPU. */
export interface GpuKinds<Report> {
  readonly ok: boolean;
  /** One for each kind. */
  readonly kinds: readonly Report[];
}

export interface KernelBenchReport {
  readonly kernel: string;
  readonly seconds: number;
  /** Sizes that `--sweep` varies. */
  readonly sweep?: readonly string[];
  readonly cases: readonly BenchCaseReport[];
  /** Cases without a measurement: wrong, not verified, refused by the kernel, or failed. */
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
   * Of `kernel`, `eager`, `torch.compile`, `torch.compile max-autotune` and the author's providers: 20th and 80th
   * percentile beside the median, in milliseconds, or why there is no time.
   */
  readonly times: Readonly<Record<string, Timing | { readonly error: string }>>;
  /** Inputs read once and outputs written once. */
  readonly bytes: number;
  /** Absent if the number of operations is unknown. */
  readonly flops?: number;
  /** The least time by the device's peak rates. */
  readonly roof?: RooflineBound;
  /** The GPU that was measured, where there are several. */
  readonly on?: string;
  /** What it ran at right after the kernel was timed; only with `--results`, where NVIDIA's driver tells. */
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
  /** Dropped before they ran, and why. */
  readonly pruned: readonly { readonly values: ConfigValues; readonly reason: string }[];
  /** Dropped because the result was wrong or the run failed. */
  readonly rejected: readonly { readonly values: ConfigValues; readonly reason: string }[];
  readonly cases: readonly {
    readonly sizes: Readonly<Record<string, number>>;
    readonly dtypes: Readonly<Record<string, string>>;
    readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
    readonly best: ConfigValues;
    readonly time: Timing;
    /** The time of the fastest of the author's configs. */
    readonly time_before?: Timing;
  }[];
  /** The configs to keep: each is the fastest in some case. In a dry run, the remaining candidates. */
  readonly configs: readonly ConfigValues[];
  /** The files that were written. */
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
    /** Whether other processes find the autotuner's choice in the cache (`cacheResults` in the spec). */
    readonly keeps_choice: boolean;
    readonly cases: readonly {
      readonly sizes: Readonly<Record<string, number>>;
      readonly dtypes: Readonly<Record<string, string>>;
      readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
      readonly seconds: number;
      /** Number of new folders in the cache; 0 if everything was there. */
      readonly added: number;
      readonly config: number | "autotuned";
    }[];
    readonly failed: readonly string[];
  }[];
}

/** Reports of a cluster that has GPUs on several nodes, whose caches are apart. */
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
    /** For another machine: the command line that copies the module's folder there, with what profilers wrote. */
    readonly fetch?: string;
  }[];
}

// trace
export interface TraceReport {
  /** Whether the evaluation has no findings. */
  readonly ok: boolean;
  readonly kernel: string;
  readonly case: TestCase;
  /** Where the picture was written. */
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
  /** Numbers of elements that are loaded, stored and both; of places where only masked lanes, and refused lanes, fall. */
  readonly tensors?: readonly ({ readonly tensor: string; readonly shape: readonly number[] } & Counts)[];
  /** With `--map`: of each tensor, how many elements programs write, and how many of them several programs store to. */
  readonly map?: readonly WrittenTensor[];
  readonly findings: readonly Finding[];
  readonly unchecked: readonly string[];
}

// plot
export interface PlotReport {
  readonly ok: true;
  readonly files: readonly string[];
}

/** Of records: `ok` is whether no case became slower than it was at its best. */
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
  /** How often it was measured on this kind of GPU. */
  readonly records: number;
  /** The latest time. */
  readonly time: Timing;
  /** The fastest before it, with its date; the factor between both medians; and what else is different. */
  readonly best?: { readonly time: Timing; readonly at: string };
  readonly slower?: number;
  readonly changed?: readonly string[];
  /** Whether it is slower by more than 5 %, with the 20th percentile above the best one's 80th. */
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
  /** Whether every kernel is equal to its original. */
  readonly ok: boolean;
  readonly file: string;
  /** Why the script of `--call` did not come to its end. */
  readonly stopped?: string;
  readonly kernels: readonly (ImportOutcome & {
    readonly kernel: string;
    /** The kernel file, and where it was written. */
    readonly text?: string;
    readonly path?: string;
    /** The calls that it was compared for, where the file serves some of them only. */
    readonly calls?: { readonly compared: number; readonly noted: number };
    /** It has block pointers, which count as the addresses and masks that Triton 3.6 makes of them. */
    readonly blockPointers?: true;
    /** With `--lift`, or with block pointers: the loads and stores, each with why it is no view, where it is none. */
    readonly accesses?: readonly { readonly line: number; readonly of: string; readonly why?: string | undefined }[];
    /** What a person must look at, with the line of the Python file. */
    readonly todos?: readonly { readonly text: string; readonly line: number }[];
  })[];
}

/** How an imported kernel compares with its original. */
export type ImportOutcome =
  | { readonly status: "equal" }
  /** Parameters were fixed to what the calls give. */
  | { readonly status: "equal for the traced flags"; readonly fixed: readonly string[] }
  /** The first operations that differ, in Triton's IR. */
  | { readonly status: "differs"; readonly original: string; readonly imported: string }
  | { readonly status: "not imported"; readonly reason: string; readonly line: number };

// doctor
export interface DoctorReport {
  /** Whether kernels can be verified on this machine; the evaluator is enough. */
  readonly ok: boolean;
  readonly facts: readonly {
    readonly name: "node" | "tsx" | "python" | "device" | "gpus" | "compile";
    readonly status: "ok" | "missing";
    readonly found: string;
    /** What to do about it. */
    readonly remedy?: string;
  }[];
  /** Pythons that were found and rejected. */
  readonly rejected: readonly { readonly python: string; readonly source: string; readonly reason: string }[];
  /** What to do first. */
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
  /** What the example says. */
  readonly says: string;
  /** A kernel file that shows it, and the lines that matter. */
  readonly fails?: { readonly excerpt: string; readonly file: string };
  /** The same, mended. */
  readonly passes?: { readonly excerpt: string; readonly file: string };
  /** Where no kernel alone shows it: a command, the file that it reads, and what to do instead. */
  readonly command?: string;
  readonly file?: string;
  readonly remedy?: string;
}

// problem
/** The output of a command that ended early: a wrong option, a build error, no usable environment. */
export interface Problem {
  readonly ok: false;
  readonly details: string;
  /** What the details are made of, if the kernels' files could not be built. */
  readonly diagnostics?: readonly DiagnosticReport[];
}
