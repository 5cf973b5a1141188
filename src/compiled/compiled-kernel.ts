/**
 * The interface of a compiled kernel: emitted Python, a signature that is serializable as JSON, and in-process
 * evaluation. The runtime uses only this interface, not the IR.
 */
import { formatNumber } from "./canonical-json.js";
import type { Access, WantedAccesses } from "./access.js";
import type { Architecture, DeclaredTargets, DeviceProperties, ConfigGpu } from "./gpus.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { InvarianceCause } from "../diagnostics/catalog/proof-codes.js";
import type { Diagnostic, Edit, Location, SourceFix } from "../diagnostics/diagnostic.js";

/** A dtype's name (`"float16"`), or the name of a dtype variable of the signature (`{ variable: "T" }`). */
export type SignatureDType = string | { readonly variable: string };

/** A tensor argument. `dims` has a size's name or a fixed number per axis. */
export interface TensorSignature {
  /** Accessed through a TMA descriptor: rows must be contiguous, and their stride a multiple of 16 bytes. */
  readonly described?: boolean;
  readonly name: string;
  /** Its name in Python. */
  readonly python: string;
  readonly role: "in" | "out" | "inout";
  readonly dtype: SignatureDType;
  readonly dims: readonly (string | number)[];
  readonly optional: boolean;
  /** True if the tensor must be contiguous. */
  readonly contiguous: boolean;
  /** The tensor with which it shares strides. */
  readonly stridesOf?: string;
  /** The declared range of its elements; `CompiledKernel.ranges` returns the numbers of a case. */
  readonly range?: RangeSignature;
  /**
   * The declared partition: its elements rise up to a size. It also states whether the first element is 0, as in
   * offsets.
   */
  readonly partition?: PartitionSignature;
}

/** A partition of a size. `offsets` has one element more than there are rows, and the first is 0. */
export interface PartitionSignature {
  readonly size: string;
  readonly holds: "offsets" | "ends";
}

/** The minimum, and the end of each range, which is exclusive for integers and inclusive for floats. */
export type Ranges = Readonly<Record<string, readonly [number, number]>>;

/** A declared range, and the sizes, scalars and constexprs in its bounds. */
export interface RangeSignature {
  readonly uses: readonly string[];
}

/** A tensor that is passed to the kernel as an address only. */
export interface PointerSignature {
  readonly name: string;
  readonly python: string;
  readonly dtype: SignatureDType;
  readonly optional: boolean;
  /** The minimum number of elements at the address: a number or a size's name. */
  readonly numel?: number | string;
}

/** A number argument that is passed at run time. */
export interface ScalarSignature {
  readonly name: string;
  readonly python: string;
  readonly dtype: string;
  readonly default?: number;
  readonly range?: RangeSignature;
}

/** A compile-time constant of the kernel. */
export interface ConstexprSignature {
  readonly name: string;
  readonly python: string;
  readonly kind: "int" | "float" | "bool" | "string" | "dtype";
  /**
   * `config`: autotuned or fixed by the kernel; `launch`: computed from sizes; `heuristic`: computed from sizes and the
   * config; `dim`: bound from a shape; `argument`: passed by the caller.
   */
  readonly from: "config" | "launch" | "heuristic" | "dim" | "argument";
  /** The allowed strings or names of dtypes. */
  readonly choices?: readonly string[];
  /** For a dtype: the variable of `dtypes` that it binds. A test case has its value in `dtypes`. */
  readonly variable?: string;
  readonly default?: number | boolean | string;
  readonly range?: RangeSignature;
  /** True if the kernel's config computes it, so that a call may set it instead. */
  readonly computedByConfig?: boolean;
}

/** The properties of a kernel that determine the rounding errors of its outputs. */
export interface RoundingProfile {
  /** Dtypes narrower than float64 to which intermediate values are rounded, and the number of statements that do so. */
  readonly rounds: readonly { readonly dtype: SignatureDType; readonly count: number }[];
  /** The same of statements that add up in a dtype, and round each partial sum. */
  readonly sums: readonly { readonly dtype: SignatureDType; readonly count: number }[];
  /** The float dtypes of the inputs and outputs, and those that the reference casts to. */
  readonly declared: readonly SignatureDType[];
  /** The dtypes in which the author adds up on purpose. */
  readonly declaredSums: readonly SignatureDType[];
  /** Dots (`tl.dot`): the dtype of the first operand, and Triton's `input_precision`. */
  readonly dots: readonly { readonly dtype: SignatureDType; readonly precision: string }[];
}

export interface Signature {
  /** The author's name of the kernel in snake_case, which is also the wrapper's name. */
  readonly name: string;
  /** The `@triton.jit` function's name. */
  readonly jit: string;
  /** For an operator: the `@triton.jit` functions of all its kernels; `jit` is the first. */
  readonly kernels?: readonly string[];
  /** For an operator with a gradient: the names of the tensors that have one. */
  readonly gradients?: readonly string[];
  readonly tensors: readonly TensorSignature[];
  readonly pointers: readonly PointerSignature[];
  readonly scalars: readonly ScalarSignature[];
  readonly constexprs: readonly ConstexprSignature[];
  /** Sizes bound by the shapes of the inputs, in order of first use. */
  readonly sizes: readonly string[];
  /** Sizes of no input, which the caller passes. */
  readonly givenSizes?: readonly { readonly name: string; readonly python: string }[];
  /** Sizes of optional inputs only: 0 if all of these inputs are absent. */
  readonly optionalSizes?: readonly string[];
  /** Properties of the GPU that a launch depends on. */
  readonly gpu?: readonly (keyof DeviceProperties)[];
  /** Sizes that must be multiples of a number because of descriptors. */
  readonly multiples?: Readonly<Record<string, number>>;
  /** Sizes that are dims of tiles and therefore powers of two, each with the minimum that an op accepts. */
  readonly tileSizes?: Readonly<Record<string, number>>;
  /**
   * The module's `draw_inputs`: its arguments except the device, and the names of the tensors that it returns, in
   * order.
   */
  readonly drawn?: {
    readonly arguments: readonly { readonly name: string; readonly python: string }[];
    readonly tensors: readonly string[];
  };
  /** Members of each dtype variable. */
  readonly dtypes: Readonly<Record<string, readonly string[]>>;
  /** Contracted sizes, which occur in an input but in no output. Error bounds grow with them. */
  readonly contracted: readonly string[];
  readonly arithmetic: RoundingProfile;
  /** True if the kernel adds floats with atomics in an unspecified order. Two runs may differ within the tolerance. */
  readonly unordered?: boolean;
  /** True if a loop may wait for another program. Some program orders then deadlock. */
  readonly waits?: boolean;
}

/** One choice of constexprs and launch options. Keys are the author's names (`BLOCK_M`, `numWarps`). */
export interface Config {
  readonly values: Readonly<Record<string, number | boolean | string>>;
  readonly numWarps?: number;
  readonly numStages?: number;
  readonly numCtas?: number;
  readonly maxnreg?: number;
  /** The GPUs of its list, if configs depend on the GPU. Absent for the default list. */
  readonly gpu?: ConfigGpu;
  readonly at?: Location | undefined;
}

/** The keys of a config that are launch options instead of constexprs. */
export const launchOptionNames: readonly string[] = ["numWarps", "numStages", "numCtas", "maxnreg"];

/** Candidate values of constexprs and launch options, by the names of a config. */
export type SearchSpace = Readonly<Record<string, readonly (number | boolean | string)[] | undefined>>;

/** The input of one evaluation or verification: sizes, dtypes, memory layouts and the config. */
export interface TestCase {
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** Layout of each tensor that is not contiguous, by name. Outputs with a layout are passed to the wrapper. */
  readonly layouts?: Readonly<Record<string, Layout>>;
  /** Optional tensors that are not passed. */
  readonly absent?: readonly string[];
  /** Properties of the GPU that differ from an H200. A real GPU uses its own properties. */
  readonly gpu?: Partial<DeviceProperties>;
  /** Special values among the drawn floats. */
  readonly special?: readonly SpecialValue[];
  /** Index into the kernel's configs. */
  readonly config: number;
  readonly seed: number;
}

/**
 * The memory layout of a tensor: `transposed` swaps the last two axes' strides, `sliced` is every second element of the
 * last axis, `offset` starts one element in, `expanded` repeats its first row along the first axis with stride 0.
 * Numbers are the strides in elements.
 */
export type Layout = "contiguous" | "transposed" | "sliced" | "offset" | "expanded" | readonly number[];

/** A tensor for the evaluator: values in row-major order of `shape`, in a typed array that holds the dtype exactly. */
export interface TensorData {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Uint8Array;
}

/** A finding of the evaluator's sanitizer. */
export interface Finding {
  /** `docs/diagnostics.md` explains each code. */
  readonly code: FindingCode;
  readonly message: string;
  /** The remedy in the message. */
  readonly remedy?: string | undefined;
  readonly at?: Location | undefined;
  readonly program: readonly number[];
  /** Coordinates of the lane inside its tile. */
  readonly lane: readonly number[];
}

/** The verdict of a proof about one obligation of a kernel. */
export type Verdict =
  /** Proved for every shape, stride and config; by one argument for all configs, or by one for each. */
  | { readonly kind: "proved"; readonly configs: "together" | "each" }
  /**
   * A counterexample: a test case whose evaluation has this finding. `mend` is a change of the kernel with which nothing
   * is refuted, or the fact that explains the finding.
   */
  | { readonly kind: "refuted"; readonly at: TestCase; readonly finding: Finding; readonly mend?: string }
  /** The fact that a proof would need, as text, and what may supply it. `isLemma`: another obligation is about that fact. */
  | {
      readonly kind: "unknown";
      readonly missing: string;
      readonly remedies?: readonly Remedy[];
      readonly isLemma?: true;
    }
  /** No launch of one or of all configs is possible: the requirements at these places contradict one another. */
  | { readonly kind: "impossible"; readonly configs: "one" | "all"; readonly by: readonly Location[] }
  /** No launch performs the access. */
  | { readonly kind: "unreached" }
  /** Not proved, but waived by the author with this reason (`tl.trusted`). */
  | { readonly kind: "waived"; readonly reason: string };

/**
 * A property to be proved. `bounds`: the active lanes of an access are inside its tensor. `claim`: an assumption of the
 * author is true. `coverage`: every element of an output is written. `race`: no two programs, and no two lanes of a
 * store, conflict at an element. `order`: no two lanes of a program conflict at an element between two barriers.
 * `dividend`: the dividend of `//` and `%` is not negative and the divisor is positive. `overflow`: int32 index
 * arithmetic does not wrap. `padding`: the values of masked lanes affect no result. `termination`: a `while` loop ends.
 * `barriers`: the warp-specialized kernel never deadlocks, and its copies and reads of shared memory are in order.
 * `requirement`: a requirement is redundant, because every launch satisfies it. `launch`: some launch meets all
 * requirements, and some performs the access; there is an entry only if not.
 */
export type ProofProperty =
  | "bounds"
  | "claim"
  | "coverage"
  | "race"
  | "order"
  | "dividend"
  | "overflow"
  | "padding"
  | "termination"
  | "barriers"
  | "requirement"
  | "launch";

/** A property that must be true of a kernel, with the verdict of the proof. */
export interface Obligation {
  readonly property: ProofProperty;
  /** The subject: `the store to c`. */
  readonly of: string;
  readonly at?: Location | undefined;
  readonly verdict: Verdict;
}

/** A host expression of sizes, numbers and constexprs by name; `op` is the name of a method. */
export type HostExpression =
  | { readonly value: number | boolean }
  | { readonly param: string }
  | { readonly op: string; readonly of: readonly HostExpression[] };

/** A change of a kernel that may close a gap of its proof. `check` offers it only after it proved the kernel with it. */
export type Remedy =
  /** An option of a param: a promise of the caller, or what the wrapper checks or does. */
  | { readonly kind: "declare"; readonly param: string; readonly option: ParamOption }
  /** Removes the `tl.inBounds` of the obligation's view, which then masks the index. */
  | { readonly kind: "mask" }
  /** Puts `tl.debugBarrier()` before the obligation's access. */
  | { readonly kind: "barrier" }
  /** Gives the loads that the obligation's op depends on an `other`. */
  | { readonly kind: "other"; readonly value: number }
  /** Selects this value with `tl.where` in the lanes that the loads of the obligation's op leave out. */
  | { readonly kind: "where"; readonly value: number }
  /** Removes the obligation's op. */
  | { readonly kind: "omit" };

type ParamOption =
  | { readonly range: readonly [number, number | string] }
  | { readonly numel: string }
  | { readonly contiguous: true }
  | { readonly zeroed: true };

/** The circumstances of a trial of a remedy. */
export interface Trial {
  /** The location of what is open. */
  readonly at?: Location | undefined;
  /** Launches that the kernel must accept with the remedy. */
  readonly cases?: readonly TestCase[] | undefined;
  readonly cache?: ProofCache | undefined;
}

/** Conditions for `requires`, as a remedy. {@link MissingPrecondition} has candidates. */
export interface Requirements {
  readonly kind: "require";
  readonly conditions: readonly HostExpression[];
}

/** A gap, and launch conditions of which one or more may close it. */
export interface MissingPrecondition {
  readonly property: ProofProperty;
  /** The subject: `the store to c`. */
  readonly of: string;
  /** The simplest first; empty if the property depends on memory contents. */
  readonly wanted: readonly HostExpression[];
}

/** A SHA-256 of each part of a kernel. Source locations, comments and the names of local variables do not count. */
export interface Fingerprint {
  readonly kernel: string;
  readonly parts: Readonly<
    Record<"params" | "requirements" | "grid" | "configs" | "inputs" | "limits" | "body", string>
  >;
}

/** The proved properties of a kernel for every shape. `docs/proofs.md` states the assumptions. */
export interface Certificate {
  /** The kernel that it is about, or the kernels of an operator. */
  readonly about: readonly Fingerprint[];
  readonly configs: number;
  readonly obligations: readonly Obligation[];
  /** A launch of each config that meets all requirements, so that the proofs are of something. */
  readonly launches: readonly TestCase[];
  /** Promises of the author that no launch checks, as text: `offsets is a partition of TOTAL`. */
  readonly promises: readonly string[];
  /** The bounds on the grid that the wrapper checks: `H <= 65535`. */
  readonly limits: readonly string[];
}

/** The obligations of a kernel as SMT-LIB scripts. */
export interface SmtExport {
  readonly kernel: string;
  readonly obligations: readonly ExportedObligation[];
}

/** An obligation in one config: as scripts, of which all must be unsatisfiable, or the reason why there are none. */
export interface ExportedObligation extends Omit<Obligation, "verdict"> {
  readonly config: number;
  readonly scripts?: readonly string[];
  readonly reason?: string;
}

/** Whether an output equals the reference over the reals, in every launch. `docs/proofs.md` states the assumptions. */
export interface OutputProof {
  readonly output: string;
  /** True for the gradient of this input of an operator, compared with the derivative of the reference. */
  readonly isGradient?: true;
  /** The line that declares it. */
  readonly at?: Location | undefined;
  readonly verdict: OutputVerdict;
  /** A SHA-256 of the reference and of an operator's launches. */
  readonly about?: string;
}

export type OutputVerdict =
  /** Equal over the reals. Rounding is judged separately. */
  | { readonly kind: "proved" }
  /** Equal over the reals, but nothing shows that this line neither overflows nor cancels where the reference does not. */
  | { readonly kind: "unstable"; readonly at?: Location | undefined; readonly why: string }
  /** A test case whose evaluation differs from the reference with every float in float64. */
  | { readonly kind: "refuted"; readonly at: TestCase; readonly worst: NonNullable<Comparison["worst"]> }
  /** What was left, as text. */
  | { readonly kind: "unknown"; readonly missing: string };

/** What the bits of an output's elements depend on, besides its inputs. `docs/proofs.md` states the assumptions. */
export interface InvarianceProof {
  readonly kernel: string;
  readonly output: string;
  /** The line that declares it. */
  readonly at?: Location | undefined;
  /** For each size of its axes: whether an element depends on the size, or on elements of other rows along it. */
  readonly sizes: readonly {
    readonly size: string;
    readonly verdict: AxisVerdict;
    /** The spec declares it. */
    readonly required?: true;
  }[];
  /** Whether equal launches give equal bits. */
  readonly runs: RunsVerdict;
}

export type AxisVerdict =
  /** An element depends neither on the size nor on other rows. */
  | { readonly kind: "invariant" }
  /** A dependence that was found, at the line that has it. */
  | {
      readonly kind: "dependent";
      readonly why: string;
      readonly cause: InvarianceCause;
      readonly at?: Location | undefined;
    }
  /** What was not followed. */
  | {
      readonly kind: "unknown";
      readonly missing: string;
      readonly cause: InvarianceCause;
      readonly at?: Location | undefined;
    };

export type RunsVerdict =
  | { readonly kind: "proved" }
  /** Equal for one config; the autotuner may choose another one in another process. */
  | { readonly kind: "per-config" }
  | { readonly kind: "dependent"; readonly why: string; readonly at?: Location | undefined }
  | { readonly kind: "unknown"; readonly missing: string; readonly at?: Location | undefined };

/** A cache of certificates from earlier builds. Kernels share a key only if they have the same proof. */
export interface ProofCache {
  read(key: string): CachedProof | undefined;
  write(key: string, proof: CachedProof): void;
}

/** A certificate with the location of its kernel. */
export interface CachedProof {
  readonly certificate: Certificate;
  readonly at: Location | undefined;
}

export interface Comparison {
  readonly correct: boolean;
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  /** The worst element: its output and index, the expected and the actual value. */
  readonly worst?: {
    readonly output: string;
    readonly index: readonly number[];
    readonly expected: number | bigint;
    readonly got: number | bigint;
  };
  /**
   * For a wrong result, the kind of error. A `mistake` also occurs with every float in float64, and the numbers here
   * are from that run. `rounding` does not.
   */
  readonly finds?: "mistake" | "rounding";
  /** Present if the worst element is an integer. */
  readonly integers?: true;
  /** The number of elements out of tolerance, and of all elements. */
  readonly wrong: number;
  readonly total: number;
}

/** The result of one evaluation. `comparison` is absent if the kernel has no reference that can be evaluated. */
export interface Evaluation {
  readonly outputs: Readonly<Record<string, TensorData>>;
  readonly findings: readonly Finding[];
  readonly comparison?: Comparison;
  /** Aspects that could not be checked, as text. */
  readonly unchecked: readonly string[];
  /** The output of `tl.devicePrint`, one line per element with the program and the lane; absent if empty. */
  readonly printed?: readonly string[];
  /** The locations of executed accesses with an active lane, and of other executed ops with proof obligations. */
  readonly reached?: readonly Location[];
  /** The requested accesses in execution order. */
  readonly accesses?: readonly Access[];
}

/**
 * The allowed difference of a float is `atol + rtol * |expected| + rms * (the root mean square of the expected
 * output)`. Integers may differ by `atol`, in at most the fraction `share` of the elements.
 */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
  /** Default: 0. */
  readonly rms?: number;
  /** Default: 0. */
  readonly share?: number;
}

/**
 * Tolerances declared by the author for all outputs, and for individual outputs by name. They override the defaults of
 * the dtypes.
 */
export type GivenTolerance = Partial<Tolerance> & OutputTolerances;
/** Outputs may have any names, including those of tolerance fields. */
type OutputTolerances = { readonly [output: string]: Partial<Tolerance> | number | undefined };

export interface EvaluateOptions {
  /** Replaces the inputs drawn from the test case's seed. */
  readonly inputs?: Readonly<Record<string, TensorData>>;
  /** Overrides the kernel's own tolerance and the defaults of each output's dtype. */
  readonly tolerance?: GivenTolerance;
  /** The order in which programs run. Default: `sequential`. A result that depends on it is wrong. */
  readonly order?: ProgramOrder | undefined;
  /**
   * Adds special values to the drawn inputs: some of each kind, or of the listed kinds. Default: those of the test
   * case.
   */
  readonly special?: boolean | readonly SpecialValue[] | undefined;
  /** Also reports ops that compute NaN from numbers, or infinity from finite numbers. */
  readonly nonFinite?: boolean | undefined;
  /** The deadline (`performance.now()`), after which the evaluation ends with an error. */
  readonly until?: number | undefined;
  /** The most iterations of a `tl.whileLoop`; one with more counts as endless. Default: 10,000,000. */
  readonly maxIterations?: number | undefined;
  /** Also runs the lowered kernel, with views as pointers and masks, and reports differences. */
  readonly lowered?: boolean | undefined;
  /** Records the memory accesses of one program or of every program. */
  readonly accesses?: WantedAccesses | undefined;
}

/**
 * `shuffled` uses the case's seed. A list names each program once, numbered in grid order with the first axis fastest.
 */
export type ProgramOrder = "sequential" | "reversed" | "shuffled" | readonly number[];

/**
 * Floats that occur in practice and are often missing in tests. `largest`, `subnormal` (the smallest positive number)
 * and `large` (100, whose exp overflows float32) have either sign.
 */
export type SingleValue = "nan" | "infinity" | "-infinity" | "-0" | "subnormal" | "largest" | "large";

/**
 * Lines of a tensor. `rows` are equal, all negative, half subnormal, or have one `large` element; `columns`
 * are the same along the last axis but one. Every other one of `offset rows` has a mean far above its deviations, and of
 * `-infinity rows` is all -infinity.
 * `cancelling rows` and `cancelling columns` are positive, large in one half and tiny in the other.
 */
export type LineKind =
  "rows" | "columns" | "offset rows" | "offset columns" | "-infinity rows" | "cancelling rows" | "cancelling columns";

export type SpecialValue = SingleValue | LineKind;

/** Options for the emitted module. */
export interface EmitOptions {
  /** Also registers the wrapper as `torch.ops.NAMESPACE.NAME`. */
  readonly op?: {
    readonly namespace: string;
    /** `triton_op` is transparent to torch.compile; `custom_op` supports any kernel. */
    readonly form?: "custom_op" | "triton_op";
  };
  /** Also adds a function `provider_NAME` for each provider, for measurements. */
  readonly providers?: boolean;
  /** Leaves out what only tests use, such as `reference_fn`, `get_inputs`, `SHAPES`, `IN_PLACE` and `kernel_fn`. */
  readonly bare?: boolean;
  /**
   * Also compares the elements of tensors with the ranges and partitions that their params declare, before each launch.
   * The wrapper then waits for the GPU, and there is no launch cache.
   */
  readonly checked?: boolean;
  /**
   * `plain`, the default: each call runs all checks, and Triton launches the kernel. `fast` appends a launch cache: a
   * repeated call goes directly to its launch.
   */
  readonly launch?: "fast" | "plain";
  /** Members of dtype variables that `get_inputs` draws. Default: the first of each. */
  readonly dtypes?: Readonly<Record<string, string>>;
  /** Overrides the kernel's spec. */
  readonly warpSpecialize?: Specialize;
}

/**
 * Controls the second, warp-specialized kernel for Hopper GPUs and tensors that satisfy the requirements of TMA.
 *
 * `never`: no such kernel. `auto`: emitted if TileScript can specialize the kernel; the wrapper of an autotuned kernel
 * launches the faster one for the autotuner's key. `always`: launched wherever possible; the build fails if it cannot
 * be emitted.
 */
export type Specialize = "auto" | "never" | "always";
export const SPECIALIZE_MODES: readonly Specialize[] = ["auto", "never", "always"];

/**
 * The role of a config's constexpr in a kernel's tiles: the `rows`, `columns` or `inner` dimension of a dot; the
 * `length` of an axis of other tiles; or the `order` in which programs process tiles.
 */
export type TileRole = "rows" | "columns" | "inner" | "length" | "order";

/** The properties of an autotuned kernel that tuning uses. */
export interface Tunable {
  /** True if the author lists configs by GPU. */
  readonly byGpu?: true;
  /** The declared search space. If absent, a space is derived from `roles`. */
  readonly space?: SearchSpace;
  /** The roles of the configs' constexprs in the kernel's tiles, if its body determines them. */
  readonly roles: Readonly<Record<string, TileRole>>;
  /** True if a loop multiplies the tiles that it loads, so that Triton pipelines its iterations. */
  readonly pipelined: boolean;
  /** The memory traffic and multiplications of a launch in a config. */
  traffic(config: Config, testCase: TestCase): Traffic;
  /** The reason why Triton would reject a config for any size, or undefined. */
  unfit(config: Config): string | undefined;
  /**
   * The author's file with the results for each kind of GPU. They replace the kernel's list of configs. If configs
   * depend on the GPU, they replace or add the list of exactly that GPU.
   *
   * @throws TileScriptError if the configs are not written as literal lists.
   */
  rewrite(
    results: readonly FoundConfigs[],
  ): Promise<{ readonly file: string; readonly before: string; readonly text: string }>;
}

/** The fastest configs on a kind of GPU. */
export interface FoundConfigs {
  readonly configs: readonly Config[];
  /** The name of the GPU; absent if the configs apply to any GPU. */
  readonly kind?: string;
  readonly architecture?: Architecture | null | undefined;
}

/** A module, and its Source Map v3 as JSON text. */
export interface Emitted {
  readonly python: string;
  readonly map: string;
  /** Warnings about options that the kernel does not support. */
  readonly warnings?: readonly Diagnostic[];
}

/** The modules of a kernel in a Python package. */
export interface PackageModules extends Emitted {
  /** The names that the module imports from `._runtime`. */
  readonly runtimeNames: readonly string[];
  /** A module that imports the kernel, and has what `bare` leaves out. */
  readonly tests: string;
}

/** A helper function of the kernel, for one combination of argument types. */
export interface HelperSignature {
  /** The location of its definition. */
  readonly at?: Location | undefined;
  /** The types in TypeScript syntax: `TileOf<typeof T, ["BLOCK"]>`; undefined if they have none. */
  readonly params: readonly { readonly name: string; readonly type?: string | undefined }[];
}

/** A variable of the author that holds a tile. */
export interface NamedTile {
  readonly name: string;
  /** The start of the statement that computes it. */
  readonly statement: Location;
  /** `float32[BLOCK_M, BLOCK_N]` */
  readonly type: string;
}

/** A parameter of the `@triton.jit` function and its origin. */
export interface KernelArgument {
  readonly python: string;
  /** The author's name of the tensor, size, number or constexpr. */
  readonly name: string;
  /** For a tensor's stride. */
  readonly axis?: number;
}

/** An estimate of the work of all programs of a launch. */
export interface Work {
  /** The number of tile operations. */
  readonly ops: number;
  /** The number of elements that these operations compute. */
  readonly lanes: number;
  /** Present if a loop's trip count depends on data. The estimate then uses the longest size. */
  readonly guessed?: true;
}

/** The work of a launch, with the quantities that bound its time on a GPU. */
export interface Traffic extends Work {
  /** The number of programs. */
  readonly programs: number;
  /** Bytes moved by all accesses, including repeated ones and masked lanes. */
  readonly bytes: number;
  /** Multiplications in dots. */
  readonly products: number;
  /** The number of elements of the largest loaded or stored tile. `sums` is that of the largest accumulator of dots. */
  readonly widest: number;
  readonly sums: number;
}

export interface CompiledKernel {
  readonly signature: Signature;
  /** The location of the kernel in the author's file. */
  readonly at?: Location | undefined;
  readonly configs: readonly Config[];
  /** Dims of tiles that no config chooses. */
  readonly tileDims: readonly number[];
  /** The declared sizes for verification and measurement. */
  readonly shapes: readonly Readonly<Record<string, number>>[];
  /** The declared scalars and constexprs for each of `shapes`. */
  readonly arguments?: readonly Readonly<Record<string, number | boolean | string>>[];
  /** The emitted module. */
  readonly python: string;
  /** File name of the module, such as `vector_add.py`. */
  readonly file: string;
  /** Source Map v3 of the module, as JSON text. */
  readonly map: string;
  /** Emits the module with other options. */
  emit(options?: EmitOptions): Emitted;
  /** Emits the modules for a package, in which `module` is the full name of the kernel's module. */
  emitForPackage(module: string, options?: EmitOptions): PackageModules;
  /** The module `_runtime` of a package, whose modules import these names from it. */
  runtimeModule(names: ReadonlySet<string>, version: string): string;
  /** For an operator: its kernels. */
  readonly parts?: readonly CompiledKernel[];
  /** The IR as text. */
  readonly ir: string;
  /** The parameters of its `@triton.jit` function; absent for an operator, whose parts have them. */
  readonly kernelArguments?: readonly KernelArgument[];
  /** Its helper functions; absent for an operator, whose parts have them. */
  readonly helpers?: readonly HelperSignature[];
  /** The author's variables that hold tiles. */
  namedTiles?(): readonly NamedTile[];
  readonly warnings: readonly Diagnostic[];
  /**
   * For each config of the warp-specialized kernel, the author's config from which it is derived. Absent without that
   * kernel. An operator has those of its kernel with most of them.
   */
  readonly specialized?: readonly Config[];
  /** `none`: no reference. `recorded`: the evaluator can compute it. `python`: only PyTorch can. */
  readonly reference: "none" | "python" | "recorded";
  /** Names of the author's alternative implementations. */
  readonly providers?: readonly string[];
  /** The number of floating-point operations of a test case, if the author declares it. */
  flops?(testCase: TestCase): number;
  /** Absent if the kernel has a single config and nothing to tune. */
  readonly tuning?: Tunable;
  /** The tolerance that the author declares. It overrides the defaults of the output's dtype. */
  readonly tolerance?: GivenTolerance;
  /** The supported GPUs of each kernel that does not support all. */
  readonly targets?: readonly DeclaredTargets[];
  /** Every size and constexpr dim of a test case, including computed ones. */
  sizes(testCase: TestCase): Readonly<Record<string, number>>;
  /** Every constexpr of a test case, including computed ones. For an operator, those that the caller passes. */
  constexprs(testCase: TestCase): Readonly<Record<string, number | boolean | string>>;
  /** The declared ranges of tensors' elements, scalars and constexprs, by name. */
  ranges(testCase: TestCase): Ranges;
  /** The cost of the test case, estimated from its grid, its blocks and the iterations of its loops. */
  work(testCase: TestCase): Work;
  /** The reason why the config cannot be launched with these sizes (a `requires` is false), or undefined. */
  refusal(testCase: TestCase): string | undefined;
  /**
   * The certificate of the kernel. Computed on the first call, or read from a cache. The emitted module does not depend
   * on it.
   */
  proof(cache?: ProofCache): Certificate;
  /** The certificate without suggested changes of the kernel, which take further proofs. */
  verdicts?(): Certificate;
  /** The number of obligations that a proof attempts. */
  obligationCount?(): number;
  /** The obligations as SMT-LIB scripts, one list for each kernel of an operator. */
  smt(): readonly SmtExport[];
  /**
   * Compares each output with a recorded reference, for every shape and config. Empty without a reference. It takes up to
   * seconds.
   */
  computes(cache?: ProofCache): readonly OutputProof[];
  /**
   * Compares each output with that of another kernel, which takes the same arguments by name, for every shape and config.
   * It takes up to seconds.
   */
  against(other: CompiledKernel): readonly OutputProof[];
  /** True if the spec declares sizes in which it is invariant. */
  readonly declaresInvariance: boolean;
  /** What the bits of each kernel's outputs depend on. */
  invariance(cache?: ProofCache): readonly InvarianceProof[];
  /**
   * Suggests conditions for `requires` that would close gaps of the proof. With further requirements, returns the
   * remaining gaps. Undefined if no launch can check them.
   */
  suggestPreconditions?(requires?: readonly HostExpression[]): readonly MissingPrecondition[] | undefined;
  /** The certificate of the kernel with a remedy. Undefined if the kernel cannot have it. */
  proofWith?(remedy: Remedy | Requirements, trial?: Trial): Certificate | undefined;
  /** The edit of the author's text that fixes the call at a location, if its text shows what to change. */
  fixFor?(location: Location, fix: SourceFix): Edit | undefined;
  /**
   * The statements that round lower than the inputs, the outputs and the reference of a case, unless the author or the
   * caller declares a tolerance. `evaluate` reports them too.
   */
  narrowRoundings(testCase: TestCase, tolerance?: GivenTolerance): readonly Finding[];
  /** A difference of prefix sums, whose small elements may cancel. */
  readonly prefixDifference?: { readonly location: Location | undefined };
  /** PyTorch's reason to refuse the reference's calls in this case. Undefined if it takes them, or if this is unknown. */
  referenceRefusal?(testCase: TestCase): Diagnostic | undefined;
  /** True if the reference is known to return numbers, and no NaN, for the special values of this case. */
  isSpecialDefined?(testCase: TestCase): boolean;
  /** Runs one test case in-process. */
  evaluate(testCase: TestCase, options?: EvaluateOptions): Evaluation;
  /**
   * Evaluates one test case. Throws if the result differs from the reference or if the sanitizer has findings.
   *
   * @throws Error that names the test case, and the element or the line.
   */
  check(testCase: TestCase, options?: EvaluateOptions): Evaluation;
}

/** The constexprs that a caller passes as values. A dtype is chosen by its variable instead. */
export function passedConstexprs({ constexprs }: Pick<Signature, "constexprs">): readonly ConstexprSignature[] {
  return constexprs.filter(({ from, kind }) => from === "argument" && kind !== "dtype");
}

/** `M=300 N=200` */
export function formatSizes(sizes: Readonly<Record<string, number>>): string {
  return Object.entries(sizes)
    .map(([name, value]) => `${name}=${formatNumber(value)}`)
    .join(" ");
}

/** Sizes that tend to reveal mistakes: one less than a block, a block, one more, and beyond two blocks. */
export const boundarySizes = (block: number): readonly number[] => [block - 1, block, block + 1, 2 * block + 1];
