/**
 * The interface of a compiled kernel: emitted Python, a signature that can be JSON, and a way to
 * evaluate it in-process. The runtime only sees this, not the IR.
 */
import { numberText } from "./canonical-json.js";
import type { Access, WantedAccesses } from "./access.js";
import type { ConfigGpu } from "./configs-by-gpu.js";
import type { Architecture, DeclaredTargets } from "./kernel-targets.js";
import type { DeviceProperties } from "./device-properties.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Diagnostic, Location } from "../diagnostics/diagnostic.js";

/** A dtype's name (`"float16"`), or the name of a dtype variable of the signature (`{ variable: "T" }`). */
export type SignatureDType = string | { readonly variable: string };

/** A tensor argument. `dims` holds names of sizes and fixed numbers, one an axis. */
export interface TensorSignature {
  /** Reached through a descriptor: rows are contiguous, and a multiple of 16 bytes apart. */
  readonly described?: boolean;
  readonly name: string;
  /** Its name in Python. */
  readonly python: string;
  readonly role: "in" | "out" | "inout";
  readonly dtype: SignatureDType;
  readonly dims: readonly (string | number)[];
  readonly optional: boolean;
  /** Whether it must be contiguous. */
  readonly contiguous: boolean;
  /** The tensor whose strides it has. */
  readonly stridesOf?: string;
  /** What its elements are promised to be; `CompiledKernel.ranges` gives the numbers of a case. */
  readonly range?: RangeSignature;
  /** The size up to which its elements rise, and whether the first of them is 0, as that of offsets is. */
  readonly partition?: PartitionSignature;
}

/** Offsets are one more than rows: the first is 0. */
export interface PartitionSignature {
  readonly size: string;
  readonly holds: "offsets" | "ends";
}

/** The lowest value, and the end, which integers stay below and floats may reach. */
export type Ranges = Readonly<Record<string, readonly [number, number]>>;

/** That a range is declared, and the sizes, scalars and constexprs that its bounds use. */
export interface RangeSignature {
  readonly uses: readonly string[];
}

/** A tensor that is passed to the kernel as an address only. */
export interface PointerSignature {
  readonly name: string;
  readonly python: string;
  readonly dtype: SignatureDType;
  readonly optional: boolean;
  /** How many elements lie behind it at least: a number or a size's name. */
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

/** A value that Triton knows when it compiles the kernel. */
export interface ConstexprSignature {
  readonly name: string;
  readonly python: string;
  readonly kind: "int" | "float" | "bool" | "string" | "dtype";
  /**
   * `config`: autotuned or fixed by the kernel; `launch`: computed from sizes; `heuristic`: computed from sizes and the
   * config; `dim`: bound from a shape; `argument`: the caller's.
   */
  readonly from: "config" | "launch" | "heuristic" | "dim" | "argument";
  /** The strings, or names of dtypes, that are allowed. */
  readonly choices?: readonly string[];
  /** For a dtype: the variable of `dtypes` that it binds. A case has its value in `dtypes`. */
  readonly variable?: string;
  readonly default?: number | boolean | string;
  readonly range?: RangeSignature;
  /** Whether the kernel's config computes it, so that a call may set it instead. */
  readonly computedByConfig?: boolean;
}

/** What the rounding errors of a kernel's outputs follow from. */
export interface RoundingProfile {
  /** Dtypes narrower than float64 that values are rounded to and then computed with, and how many statements do so. */
  readonly rounds: readonly { readonly dtype: SignatureDType; readonly count: number }[];
  /** Products of matrices (`tl.dot`): the dtype of the first operand, and Triton's `input_precision`. */
  readonly dots: readonly { readonly dtype: SignatureDType; readonly precision: string }[];
}

export interface Signature {
  /** The author's name of the kernel, in snake_case: also the wrapper's name. */
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
  /** Sizes that the shapes of the inputs bind, in order of first use. */
  readonly sizes: readonly string[];
  /** Sizes that no input has, so the caller passes them. */
  readonly givenSizes?: readonly { readonly name: string; readonly python: string }[];
  /** Sizes that only optional inputs have: 0 where all of those are left out. */
  readonly optionalSizes?: readonly string[];
  /** Properties of the GPU that a launch depends on. */
  readonly gpu?: readonly (keyof DeviceProperties)[];
  /** Sizes that must be multiples of a number because of descriptors. */
  readonly multiples?: Readonly<Record<string, number>>;
  /** Sizes that are dimensions of tiles, so they must be powers of two; with the least value that an op accepts. */
  readonly tileSizes?: Readonly<Record<string, number>>;
  /** What the module's `draw_inputs` makes: its arguments besides the device, and the tensors by name, in order. */
  readonly drawn?: {
    readonly arguments: readonly { readonly name: string; readonly python: string }[];
    readonly tensors: readonly string[];
  };
  /** Members of each dtype variable. */
  readonly dtypes: Readonly<Record<string, readonly string[]>>;
  /** Sizes that are summed over: in some input, in no output. Error bounds grow with them. */
  readonly contracted: readonly string[];
  readonly arithmetic: RoundingProfile;
  /** It adds floats by atomics, in an order that is not fixed: two runs may differ within the tolerance. */
  readonly unordered?: boolean;
  /** A loop may wait for what another program does, so not every order of programs ends. */
  readonly waits?: boolean;
}

/** One choice of constexprs and launch options. Keys are the author's names (`BLOCK_M`, `numWarps`). */
export interface Config {
  readonly values: Readonly<Record<string, number | boolean | string>>;
  readonly numWarps?: number;
  readonly numStages?: number;
  readonly numCtas?: number;
  readonly maxnreg?: number;
  /** The GPUs whose list has it, where configs are given by GPU; without it, the list is the default one. */
  readonly gpu?: ConfigGpu;
  readonly at?: Location | undefined;
}

/** The keys of a config besides constexprs. */
export const launchOptionNames: readonly string[] = ["numWarps", "numStages", "numCtas", "maxnreg"];

/** Values to try of constexprs and launch options, by the names of a config. */
export type SearchSpace = Readonly<Record<string, readonly (number | boolean | string)[] | undefined>>;

/** What one evaluation or verification runs: sizes, dtypes, how inputs lie in memory, and which config. */
export interface TestCase {
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** Layout of each tensor that is not contiguous, by name. Outputs with one are passed to the wrapper. */
  readonly layouts?: Readonly<Record<string, Layout>>;
  /** Optional tensors that are not given. */
  readonly absent?: readonly string[];
  /** Properties of the GPU where they are not those of an H200. A real GPU has its own. */
  readonly gpu?: Partial<DeviceProperties>;
  /** Special values among the drawn floats. */
  readonly special?: readonly SpecialValue[];
  /** Index into the kernel's configs. */
  readonly config: number;
  readonly seed: number;
}

/**
/**
 * How a tensor lies in memory: `transposed` swaps the last two axes' strides, `sliced` is every second element of the
 * last axis, `offset` starts one element in, `expanded` repeats its first row along the first axis, whose stride is 0.
 * Numbers are the strides themselves, in elements.
 */
export type Layout = "contiguous" | "transposed" | "sliced" | "offset" | "expanded" | readonly number[];

/** A tensor given to the evaluator: values in row-major order of `shape`, in the type that holds the dtype exactly. */
export interface TensorData {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Uint8Array;
}

/** A finding of the evaluator's sanitizer. */
export interface Finding {
  /** `docs/diagnostics.md` has what each means. */
  readonly code: FindingCode;
  readonly message: string;
  readonly at?: Location | undefined;
  readonly program: readonly number[];
  /** Coordinates of the lane inside its tile. */
  readonly lane: readonly number[];
}

/** What a proof says about one obligation of a kernel. */
export type Verdict =
  /** For every shape, every stride and every config; by one argument for all configs, or by one for each. */
  | { readonly kind: "proved"; readonly configs: "together" | "each" }
  /** A case whose evaluation gives the finding. */
  | { readonly kind: "refuted"; readonly at: TestCase; readonly finding: Finding }
  /** What a proof would have to know, in words. */
  | { readonly kind: "unknown"; readonly missing: string }
  /** Nothing shows it, and the author says why it is right, with `tl.trusted`. */
  | { readonly kind: "waived"; readonly reason: string };

/**
 * What a proof shows. `bounds`: the active lanes of an access lie in its tensor. `claim`: what the author assumes holds.
 * `coverage`: every element of an output is written. `race`: no two programs, and no two lanes of a store, meet at an
 * element. `dividend`: `//` and `%` have a dividend that is not negative and a positive divisor. `overflow`: int32
 * arithmetic of indices does not wrap. `padding`: what a
 * masked lane holds changes no result. `requirement`: what the author requires holds of every launch anyway.
 */
export type ProofProperty =
  "bounds" | "claim" | "coverage" | "race" | "dividend" | "overflow" | "padding" | "requirement";

/** One thing that must hold of a kernel, and whether it does. */
export interface Obligation {
  readonly property: ProofProperty;
  /** What it is about: `the store to c`. */
  readonly of: string;
  readonly at?: Location | undefined;
  readonly verdict: Verdict;
}

/** What the host computes from sizes, numbers and constexprs by their names; `op` is the name of a method. */
export type HostExpression =
  | { readonly value: number | boolean }
  | { readonly param: string }
  | { readonly op: string; readonly of: readonly HostExpression[] };

/** Something that no proof shows, and conditions of a launch of which one or more may be what is missing. */
export interface MissingPrecondition {
  readonly property: ProofProperty;
  /** What it is about: `the store to c`. */
  readonly of: string;
  /** The plainest first; none where it depends on what memory holds. */
  readonly wanted: readonly HostExpression[];
}

/** What is proved of a kernel for every shape. `docs/proofs.md` says what it rests on. */
export interface Certificate {
  readonly configs: number;
  readonly obligations: readonly Obligation[];
  /** What the author promises and no launch checks, in words: `offsets is a partition of TOTAL`. */
  readonly promises: readonly string[];
  /** Bounds that the grid sets on sizes, which the wrapper checks: `H <= 65535`. */
  readonly limits: readonly string[];
}

/** Certificates of earlier builds, by a text that kernels share only if the same is proved of them. */
export interface ProofCache {
  read(text: string): KeptProof | undefined;
  write(text: string, kept: KeptProof): void;
}

/** A certificate, and where the kernel stood. */
export interface KeptProof {
  readonly certificate: Certificate;
  readonly at: Location | undefined;
}

export interface Comparison {
  readonly correct: boolean;
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  /** The worst element: which output, where, expected and got. */
  readonly worst?: {
    readonly output: string;
    readonly index: readonly number[];
    readonly expected: number | bigint;
    readonly got: number | bigint;
  };
  /**
   * For a wrong result, what tells of it: a `mistake` also shows where every float is a float64, and the numbers here are
   * those; `rounding` does not.
   */
  readonly finds?: "mistake" | "rounding";
  /** The worst element is an integer. */
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
  /** What could not be checked, in words. */
  readonly unchecked: readonly string[];
  /** What `tl.devicePrint` printed, one line for each element, with the program and the lane; absent if nothing. */
  readonly printed?: readonly string[];
  /** Where the case reached accesses, with a lane that was on, and other ops that proofs speak of. */
  readonly reached?: readonly Location[];
  /** The accesses that were asked for, in the order in which they were made. */
  readonly accesses?: readonly Access[];
}

/**
 * An element of floats may differ by `atol + rtol * |expected| + rms * (the root mean square of the expected output)`.
 * Integers may differ by `atol`, in no more than the part `share` of the elements.
 */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
  /** Default 0. */
  readonly rms?: number;
  /** Default 0. */
  readonly share?: number;
}

/** What an author says of all outputs, and of some by their names, over the defaults of their dtypes. */
export type GivenTolerance = Partial<Tolerance> & OwnTolerances;
/** Outputs may have any names, those of the parts among them. */
type OwnTolerances = { readonly [output: string]: Partial<Tolerance> | number | undefined };

export interface EvaluateOptions {
  /** Instead of inputs drawn from the case's seed. */
  readonly inputs?: Readonly<Record<string, TensorData>>;
  /** Overrides the kernel's own tolerance and the defaults of each output's dtype. */
  readonly tolerance?: GivenTolerance;
  /** The order in which programs run. Default: `sequential`. A result that depends on it is wrong. */
  readonly order?: ProgramOrder | undefined;
  /**
   * Puts special values among the inputs that are drawn: some of each kind, or of those that are named. Default those
   * of the case.
   */
  readonly special?: boolean | readonly SpecialValue[] | undefined;
  /** Also reports the ops that make NaN from numbers, or an infinity from finite numbers. */
  readonly nonFinite?: boolean | undefined;
  /** The time (`performance.now()`) at which a case that still runs ends with an error. */
  readonly until?: number | undefined;
  /** Also runs the lowered kernel, with views as pointers and masks, and reports where it does something else. */
  readonly lowered?: boolean | undefined;
  /** Keeps what one program, or every program, reads and writes. */
  readonly accesses?: WantedAccesses | undefined;
}

/** `shuffled` by the case's seed; a list names each program once, counted in the grid's order, first axis fastest. */
export type ProgramOrder = "sequential" | "reversed" | "shuffled" | readonly number[];

/**
 * Floats that kernels meet and tests forget: `largest`, `subnormal` (the smallest positive number) and `large` (100, of
 * which exp overflows float32) have either sign.
 */
export type SpecialValue = "nan" | "infinity" | "-infinity" | "-0" | "subnormal" | "largest" | "large";

/** Options for the emitted module. */
export interface EmitOptions {
  /** Also registers the wrapper as `torch.ops.NAMESPACE.NAME`. */
  readonly op?: {
    readonly namespace: string;
    /** `triton_op` lets torch.compile see into it; `custom_op` takes any kernel. */
    readonly form?: "custom_op" | "triton_op";
  };
  /** Also adds a function `provider_NAME` for each provider, for measurements. */
  readonly providers?: boolean;
  /**
   * `fast`, the default, ends the module in a block that takes a call like an earlier one straight to its launch. `plain`
   * leaves the block out: each call then goes through all checks.
   */
  readonly launch?: "fast" | "plain";
  /** Members of dtype variables that `get_inputs` draws. Default the first of each. */
  readonly dtypes?: Readonly<Record<string, string>>;
  /** In place of what the kernel's spec says. */
  readonly specialize?: Specialize;
}

/**
 * Whether a module has a second, warp-specialized kernel, for Hopper GPUs and tensors that the copy engine can move:
 * `never`; `auto`, if the kernel has a form that TileScript can specialize, and of an autotuned kernel the wrapper
 * launches whichever of both is faster for the autotuner's key; `always`, so that it is launched wherever it can be, and a
 * build fails if there is none.
 */
export type Specialize = "auto" | "never" | "always";
export const SPECIALISE: readonly Specialize[] = ["auto", "never", "always"];

/**
 * What a constexpr of configs is to a kernel's tiles: the `rows`, `columns` or `inner` dimension of a product of matrices;
 * the `length` of an axis of other tiles; or, without sizing any, the `order` in which programs take their tiles.
 */
export type TileRole = "rows" | "columns" | "inner" | "length" | "order";

/** The parts of an autotuned kernel that tuning uses. */
export interface Tunable {
  /** Whether the author gives lists of configs by GPU. */
  readonly byGpu?: true;
  /** The space that the author declared; without one there is nothing to search. */
  readonly space?: SearchSpace;
  /** What constexprs that configs choose are to the kernel's tiles, as far as its body shows it. */
  readonly roles: Readonly<Record<string, TileRole>>;
  /** Whether a loop multiplies what it loads, so that Triton keeps several of its turns in flight. */
  readonly pipelined: boolean;
  /** What a launch in a config moves and multiplies. */
  traffic(config: Config, at: TestCase): Traffic;
  /** Why Triton would refuse a config whatever the sizes, or undefined. */
  unfit(config: Config): string | undefined;
  /**
   * The author's file with what was found on each kind of GPU: in place of the kernel's list of configs, or where they
   * are given by GPU, in the list of exactly that GPU, which is added if it is new.
   *
   * @throws TileScriptError where they are not written as lists there.
   */
  rewrite(found: readonly FoundConfigs[]): { readonly file: string; readonly before: string; readonly text: string };
}

/** The configs that were the fastest on a kind of GPU. */
export interface FoundConfigs {
  readonly configs: readonly Config[];
  /** What the GPU is called; absent if the configs are for any. */
  readonly kind?: string;
  readonly architecture?: Architecture | null | undefined;
}

/** A module, and its Source Map v3 as JSON text. */
export interface Emitted {
  readonly python: string;
  readonly map: string;
  /** What the options ask for and the kernel does not have. */
  readonly warnings?: readonly Diagnostic[];
}

/** A helper function of the kernel, as calls with arguments of one combination of types have it. */
export interface HelperSignature {
  /** Where the author defined it. */
  readonly at?: Location | undefined;
  /** The types as an author writes them: `TileOf<typeof T, ["BLOCK"]>`; undefined where there is no such text. */
  readonly params: readonly { readonly name: string; readonly type?: string | undefined }[];
}

/** What a parameter of the `@triton.jit` function stands for. */
export interface KernelArgument {
  readonly python: string;
  /** The author's name of the tensor, size, number or constexpr. */
  readonly name: string;
  /** For a tensor's stride. */
  readonly axis?: number;
}

/** An estimate of what all programs of a launch do. */
export interface Work {
  /** Operations, each on a whole tile. */
  readonly ops: number;
  /** Elements of tiles that the operations compute. */
  readonly lanes: number;
  /** The turns of a loop follow from data: it counts as many as the longest size. */
  readonly guessed?: true;
}

/** The same with what bounds a launch's time on a GPU. */
export interface Traffic extends Work {
  /** The number of programs. */
  readonly programs: number;
  /** Bytes that accesses move, each time that they are made; masked lanes count. */
  readonly bytes: number;
  /** Multiplications inside products of matrices. */
  readonly products: number;
  /** Elements of the largest tile that is loaded or stored, and of the largest that products of matrices are added to. */
  readonly widest: number;
  readonly sums: number;
}

export interface CompiledKernel {
  readonly signature: Signature;
  readonly configs: readonly Config[];
  /** Dimensions of tiles that no config chooses. */
  readonly tileDims: readonly number[];
  /** Sizes that the author gave to verify and measure with. */
  readonly shapes: readonly Readonly<Record<string, number>>[];
  /** Scalars and constexprs that the author gave with each of `shapes`. */
  readonly arguments?: readonly Readonly<Record<string, number | boolean | string>>[];
  /** The emitted module. */
  readonly python: string;
  /** File name of the module, such as `vector_add.py`. */
  readonly file: string;
  /** Source Map v3 of the module, as JSON text. */
  readonly map: string;
  /** The module with other options. */
  emit(options?: EmitOptions): Emitted;
  /** For an operator: its kernels. */
  readonly parts?: readonly CompiledKernel[];
  /** The IR as text. */
  readonly ir: string;
  /** What its `@triton.jit` function may take; absent for an operator, whose parts have them. */
  readonly kernelArguments?: readonly KernelArgument[];
  /** Its helper functions; absent for an operator, whose parts have them. */
  readonly helpers?: readonly HelperSignature[];
  readonly warnings: readonly Diagnostic[];
  /** Behind each config of the warp-specialized kernel that the module has besides: the author's. Absent without one. */
  readonly specialized?: readonly Config[];
  /** Whether `reference` exists, and whether the evaluator can compute it. */
  readonly reference: "none" | "python" | "recorded";
  /** Names of the author's alternative implementations. */
  readonly providers?: readonly string[];
  /** The number of floating-point operations of a case, if the author declares it. */
  flops?(at: TestCase): number;
  /** Absent where the kernel has one config that nothing is measured for. */
  readonly tuning?: Tunable;
  /** Fixed tolerance of the author, over the defaults of the output's dtype. */
  readonly tolerance?: GivenTolerance;
  /** Of each kernel that is not for every GPU, those that it is for. */
  readonly targets?: readonly DeclaredTargets[];
  /** Every size and constexpr dim of a case, including computed ones. */
  sizes(at: TestCase): Readonly<Record<string, number>>;
  /** Every constexpr of a case, also those that are computed; of an operator those that the caller gives. */
  constexprs(at: TestCase): Readonly<Record<string, number | boolean | string>>;
  /** The declared ranges of tensors' elements, scalars and constexprs, by name. */
  ranges(at: TestCase): Ranges;
  /** What the case costs, estimated from its grid, its blocks and the iterations of its loops. */
  work(at: TestCase): Work;
  /** Why the config cannot be launched at these sizes (a `requires` does not hold), or undefined. */
  refusal(at: TestCase): string | undefined;
  /**
   * What holds of the kernel for every shape. Computed on the first call, or taken from a cache; nothing that is emitted
   * depends on it.
   */
  proof(cache?: ProofCache): Certificate;
  /**
   * What a launch would have to meet so that what is open is proved: suggestions for `requires`. With further
   * requirements, what is open then; undefined where no launch can be asked them.
   */
  suggestPreconditions?(requires?: readonly HostExpression[]): readonly MissingPrecondition[] | undefined;
  /** Runs one case in-process. */
  evaluate(at: TestCase, options?: EvaluateOptions): Evaluation;
  /**
   * Evaluates one case, and throws unless the result agrees with the reference and the sanitizer is silent.
   *
   * @throws Error that says which case, and which element or which line.
   */
  check(at: TestCase, options?: EvaluateOptions): Evaluation;
}

/** The constexprs that a caller passes as values; a dtype is chosen by its variable. */
export function passedConstexprs({ constexprs }: Pick<Signature, "constexprs">): readonly ConstexprSignature[] {
  return constexprs.filter(({ from, kind }) => from === "argument" && kind !== "dtype");
}

/** `M=300 N=200` */
export function formatSizes(sizes: Readonly<Record<string, number>>): string {
  return Object.entries(sizes)
    .map(([name, value]) => `${name}=${numberText(value)}`)
    .join(" ");
}
