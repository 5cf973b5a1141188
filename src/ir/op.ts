/**
 * The record that defines an op: its call syntax, types, Python spelling and computation. All other code (the author's
 * function, the checks, emission, evaluation, the reference pages) reads these fields; no code switches on an op's
 * name.
 */
import type { DeviceProperties } from "../compiled/gpus.js";
import type { Argument } from "./nodes.js";
import type {
  Addresses,
  Constant,
  Context,
  DescriptorRuntime,
  DTypeRuntime,
  FunctionRuntime,
  Runtime,
  TensorRuntime,
  ValueRuntime,
} from "../values/runtime-values.js";
import type { TileArray } from "../numerics/array.js";
import type { MinimumDim } from "../types/limits.js";
import type { Targets } from "../types/dtype.js";
import type { NumberClasses } from "../symbolic/number-class.js";
import type { Term, IntegerSemantics } from "../symbolic/term.js";
import type { RuleError } from "../types/rule-error.js";
import type { Elem, Type, Typed, TypedFunction, TypedList } from "../types/types.js";

/**
 * The kinds of operands. A kind limits what the op's type rule receives, and the rule may reject more. A question mark
 * makes the operand optional.
 *
 * - `value`: a tile, constexpr or number.
 * - `index`: like `value`, but a number stays an integer next to floats.
 * - `valueOrPointer`: like `value`, or a pointer.
 * - `tile`: only a tile. `tileOrPointer`: a tile or a pointer.
 * - `mask`: a tile of booleans, or one boolean.
 * - `shape`: a list of constexprs.
 * - `constant`: a JavaScript number, string or boolean. `constants`: one constant or a list of them.
 * - `dtype`: a dtype or a list of dtypes.
 * - `address`: a pointer or a view.
 * - `tensor`, `tensorOrView`, `descriptor`.
 * - `values`: a list of values. `tiles`: a tile or a list of tiles.
 * - `function`: a helper function.
 */
export type OperandKind = keyof RuntimeOfKind;
export type Operands = Readonly<Record<string, OperandKind | `${OperandKind}?`>>;

const VALUE_KINDS: ReadonlySet<string> = new Set(["value", "valueOrPointer", "tile", "tileOrPointer", "mask"]);
/** True if an operand of this kind is a value of the program, so that a number takes the dtype of the other tiles. */
export const isValueKind = (kind: string): boolean => VALUE_KINDS.has(kind);

/** The run-time value that `evaluate` receives for each kind. */
interface RuntimeOfKind {
  value: TileArray | Constant;
  index: TileArray | Constant;
  valueOrPointer: ValueRuntime;
  tile: TileArray;
  tileOrPointer: TileArray | Addresses;
  mask: TileArray | boolean;
  shape: readonly Runtime[];
  constant: Constant;
  constants: Constant | readonly Constant[];
  dtype: DTypeRuntime;
  address: Addresses;
  tensor: TensorRuntime;
  tensorOrView: TensorRuntime | Addresses;
  descriptor: DescriptorRuntime;
  values: readonly ValueRuntime[];
  tiles: TileArray | readonly TileArray[];
  function: FunctionRuntime;
}

/** The typed argument that `infer` receives for each kind: lists have items, helper functions a signature. */
interface TypedOfKind extends Record<Exclude<OperandKind, "values" | "function">, Typed> {
  values: TypedList;
  function: TypedFunction;
}

/** Adds the optional kinds, with a question mark. */
type OrMissing<Kinds extends object> = Kinds & {
  readonly [Kind in keyof Kinds & string as `${Kind}?`]: Kinds[Kind] | undefined;
};
type TypedOf = OrMissing<TypedOfKind>;
type RuntimeOf = OrMissing<RuntimeOfKind>;

/** An op's arguments as its type rules receive them, from the kinds of its operands and options. */
export type TypedArguments<Declared extends Operands> = { readonly [Name in keyof Declared]: TypedOf[Declared[Name]] };
/** An op's arguments as `evaluate` receives them. */
export type RuntimeArguments<OperandKinds extends Operands> = {
  readonly [Name in keyof OperandKinds]: RuntimeOf[OperandKinds[Name]];
};

/** A call: `tl.sum(x, axis=1)`. */
export interface CallSpelling {
  readonly form: "call";
  readonly name: string;
  /** Operands that are passed as keyword arguments. */
  readonly keywords?: readonly string[];
  /** A list operand whose items are passed as separate arguments. */
  readonly spread?: string;
  /** The import of the name's first part: `from triton.language.extra import libdevice`. */
  readonly from?: string;
  /** Options whose values are names in Python: `propagate_nan=tl.PropagateNan.ALL`. */
  readonly symbols?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** The Python syntax of an op. Operands are positional and in order, options are keywords in snake_case. */
export type Spelling =
  | CallSpelling
  /** `x & y`; `truth` is the operator of constexpr truth values, `x and y`. */
  | { readonly form: "infix"; readonly operator: string; readonly truth?: string }
  | { readonly form: "prefix"; readonly operator: string; readonly truth?: string }
  /** `x.to(tl.float32)` */
  | { readonly form: "method"; readonly name: string }
  /** `x[:, None]` */
  | { readonly form: "expand" }
  /** An attribute of its first operand, a dtype: `x_ptr.dtype.element_ty.primitive_bitwidth`. */
  | { readonly form: "reflect"; readonly member: string; readonly called?: boolean; readonly negated?: boolean }
  /** `x.to(tl.pointer_type(tl.float16))`; a pointer is cast to an integer first. */
  | { readonly form: "pointer" }
  /** The author's Python text, with `{0}` in place of the first operand. */
  | { readonly form: "raw" }
  /** `f(x, y)`: a helper function and the list of its arguments. */
  | { readonly form: "apply" }
  /** `x if condition else y` */
  | { readonly form: "conditional" }
  /** The first operand itself. The checks see the op, and the emitted Python omits it. */
  | { readonly form: "same" }
  /** Lowered to simpler ops before emission. */
  | { readonly form: "lowered" };

/** The memory effect of an op. Pure ops may be inlined and removed; all others keep their order. */
export type Effect = "pure" | "read" | "write" | "atomic";

/** The spelling of an op in kernels and on the host. */
export type OpSpelling<Args> = Spelling & {
  /** The spelling on the host, where sizes are Python integers (`triton.cdiv`). Absent if the op is invalid there. */
  readonly host?: Spelling;
  /** Options that are always emitted, because their defaults affect results and differ between versions. */
  readonly pinned?: (args: Args) => Readonly<Record<string, Constant>>;
};

/** The context of a sign rule, in addition to the signs of the operands. */
export interface SignContext<Args> {
  /**
   * True if Python computes the op, on the host or as a constexpr. There `//` and `%` floor, and a zero divisor is not
   * reported.
   */
  readonly isFolded: boolean;
  readonly args: Args;
}

/** The lowering of an op. */
export interface OpLowering {
  /**
   * Creates a view of a tensor. `grid`: each rank-1 index spans a separate axis. `lanes`: all indices broadcast to one
   * shape.
   */
  readonly view?: "grid" | "lanes";
  /** Permutes the axes of a tensor or a view. Returns the source axis of each result axis. */
  readonly permutes?: (operands: readonly (Argument | undefined)[], rank: number) => readonly number[];
  /**
   * Creates a descriptor from a base, a shape and strides. If the base is a tensor, shape and strides are the tensor's.
   */
  readonly describes?: boolean;
  /** The value of the lanes that a view masks. */
  readonly maskedLanes?: number;
}

/** Properties of an op that analyses use without computing it. */
export interface OpFacts<Args> {
  /** True if each lane of the result depends only on the same lane of the operands. */
  readonly lanewise?: boolean;
  /** True if float results are rounded. Default for ops that are lanewise or contract. */
  readonly rounds?: boolean;
  /** Operands of which Triton takes no Python number. A size or stride is one where it is 1. */
  readonly needsTensor?: readonly string[];
  /** True if all threads of a program wait for one another. */
  readonly isBarrier?: boolean;
  /** True if Triton pipelines no loop that contains the op. */
  readonly preventsPipelining?: boolean;
  /** True if the op sums products over a dimension, so that errors grow with that dimension. */
  readonly contracts?: boolean;
  /**
   * Returns true if the result is certainly not negative, given the same fact of each operand. Determines the bounds
   * that a view must mask.
   */
  readonly nonNegative?: (operands: readonly boolean[], context: SignContext<Args>) => boolean;
  /** Returns true if the result is certainly at least 1, given the operands that are. */
  readonly positive?: (operands: readonly boolean[]) => boolean;
  /**
   * Returns true if the result is a power of two, given the operands that are powers of two and those that are at least
   * 1.
   */
  readonly powerOfTwo?: (powers: readonly boolean[], positive: readonly boolean[]) => boolean;
  /** The operation on operands `x` and `y` that are integers or conditions. Its term is derived from this. */
  readonly integer?: IntegerSemantics;
  /** The number of lanes, if they certainly count up from 0. A tile as long as an axis then covers it exactly. */
  readonly exclusiveUpperBound?: (operands: readonly (Argument | undefined)[]) => Argument | undefined;
  /** The op asserts that an index is in bounds, so a view does not mask it. */
  readonly claimsInBounds?: boolean;
  /** The result consists of elements of the first operand, so claims about that operand apply to the result. */
  readonly keepsClaims?: boolean;
  /** True if a scalar operand offsets the lanes of the other operand, so that a loop can carry pointers to them. */
  readonly isDataMovement?: boolean;
  /** The result equals the first operand: a claim about it, or its cast. */
  readonly isIdentity?: boolean;
  /** Launch state that the result depends on, in addition to the operands. */
  readonly queries?: "program" | "grid";
  /** The answer of a question about the GPU that the kernel is compiled for, here NVIDIA's with these properties. */
  readonly answer?: (gpu: DeviceProperties, ...operands: readonly Constant[]) => boolean;
  /** For operands and results with the same leading dimension: true if each lane keeps its first index. */
  readonly preservesLeadingAxes?: boolean;
}

/** Requirements of an op on Triton, on the GPU and on the execution space. */
export interface OpNeeds<Args> {
  /** The backends that support the op; absent if all do. */
  readonly targets?: Targets | undefined;
  /** The minimum sizes of dimensions that Triton accepts. Every config is checked. */
  readonly minimumDims?: (args: Args) => readonly MinimumDim[];
  /** True if these arguments need Triton 3.9 or later. */
  readonly needsTriton39?: ((args: Args) => boolean) | undefined;
  /** The op exists only on the host. */
  readonly hostOnly?: boolean;
}

/** Differences of Triton 3.6 from 3.9, for which the emitted Python must be more explicit. */
export interface Triton36Differences<Args> {
  /** Literals have their own dtype; in 3.9 they take the tile's. */
  readonly strongLiterals?: boolean;
  /** The result has the dtype of the first operand, even if it is a literal, and is never promoted to float64. */
  readonly firstDecides?: boolean;
  /** The dtype of the first result, if it differs from 3.9. Emission casts it back. */
  readonly result?: (args: Args) => Elem | undefined;
  /** The dtype that tile operands are cast to first, if 3.6 would compute in a narrower one. */
  readonly operands?: (args: Args) => Elem | undefined;
}

/** The context of a term rule, in addition to the terms. */
export interface TermContext<Args> {
  readonly args: Args;
  /** The lane of the result, with one index per axis. */
  readonly lane: readonly Term[];
  /** True if the result is a boolean. */
  readonly isTruth: boolean;
  /** True if Python computes the op, so that `//` and `%` floor. */
  readonly isFolded: boolean;
  readonly grid: readonly Term[];
  readonly program: readonly Term[];
}

/** The context of a lane rule: the shapes of the operand (`from`) and the result (`to`). */
export interface LaneContext<Args> {
  readonly args: Args;
  readonly from: readonly Term[];
  readonly to: readonly Term[];
}

/** The names of the operands and options of a memory access. */
export interface MemoryOperands {
  /** A pointer, a view or a descriptor. */
  readonly address: string;
  /** The start of a descriptor's block. */
  readonly offsets?: string;
  /** For a descriptor gather or scatter, the row indices. `column` is the first column. */
  readonly rows?: string;
  readonly column?: string;
  readonly value?: string;
}

/** The context of a class transfer function, in addition to the classes. */
export interface ClassTransferContext<Args> {
  readonly args: Args;
  /** True if the result is a float: it may be infinite, and it does not wrap. */
  readonly isFloat: boolean;
}

/** The fold of an op over lanes. */
export interface OpFold {
  /**
   * The form of the fold.
   *
   * - `reduction`: over the axis in the operand `axis`, or over all axes.
   * - `scan`: along an axis, each lane with those before it.
   * - `normalization`: each lane with all lanes of its axis.
   * - `contraction`: over the inner dimension of a dot, added to `acc`.
   * - `packed`: a dot whose sides may pack several elements in one and have scales for groups of them.
   */
  readonly form: "reduction" | "scan" | "normalization" | "contraction" | "packed";
  /**
   * The classes of two combined lanes. Undefined if the analysis has no rule, or if the result is the index of a lane.
   */
  readonly combineClasses: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined;
  /** The default axis, by default 0. */
  readonly axis?: number;
  /** The fold sums lanes: the absolute value of a result is at most the sum of the lanes' absolute values. */
  readonly adds?: boolean;
  /** The name of an option that selects the active lanes. */
  readonly mask?: string;
  /**
   * The sides of a packed dot: each with its inner axis, counted from the end, and its scales, whose last axis is the
   * axis of groups.
   */
  readonly sides?: readonly { readonly operand: string; readonly inner: number; readonly scale: string }[];
}

/** The semantics of an op for proofs. An op without a rule has an unknown result, never a wrong one. */
export interface OpProof<Args> {
  /**
   * A lane of each result, as a term of the same lanes of the operands. Absent if `facts.integer` defines it. Integers
   * never wrap in a term; the rule returns undefined for ops whose integers normally wrap.
   */
  readonly term?: (
    operands: { readonly [Name in keyof Args]: Term },
    context: TermContext<Args>,
  ) => Term | readonly Term[] | undefined;
  /** Maps a lane of the result to the lane of the first operand that it equals. */
  readonly lane?: (lane: readonly Term[], context: LaneContext<Args>) => readonly Term[] | undefined;
  /** The result has as many elements as the operand, in each config. */
  readonly keepsElements?: true;
  /** The rule is correct for integers of every width. */
  readonly anyWidth?: boolean;
  /** Integer results may exceed their dtype and then wrap. With 8 and 16 bits this happens at small numbers. */
  readonly wraps?: boolean;
  readonly memoryOperands?: MemoryOperands;
  /**
   * The classes of a lane of the result, for one class in the same lane of each operand. Numbers neither overflow nor
   * underflow.
   */
  readonly classTransfer?: (
    operands: { readonly [Name in keyof Args]: NumberClasses },
    context: ClassTransferContext<Args>,
  ) => NumberClasses;
  /** Operands that are selected in lanes where a condition is true, and where it is false. */
  readonly selectOperands?: { readonly condition: string; readonly then: string; readonly otherwise: string };
  readonly foldSemantics?: OpFold;
  /**
   * True if a lane with `classes` leaves a lane with `otherClasses` unchanged, such as 0 in a sum. For an op of two
   * operands the neutral lane is the second one, or the first if the operands commute.
   */
  readonly isNeutral?: (classes: NumberClasses, otherClasses: NumberClasses, isFirst: boolean, args?: Args) => boolean;
  /** Each lane of the result equals an arbitrary lane of an operand. */
  readonly moves?: boolean;
  /** An operand with the author's reason why the first operand is correct. Proofs waive its obligations. */
  readonly trustedOperand?: string;
  /** An operand that the author claims to be true. A GPU does not check it. */
  readonly claims?: string;
}

/** An op's rules for arguments of type `Args`, or of type `Values` during evaluation. */
export interface OpRules<Args, Values> {
  readonly spelling: OpSpelling<Args>;
  /** The type of the result, the types of several results, or an error message. */
  readonly infer: (args: Args) => Type | readonly Type[] | RuleError;
  /** Constant folding of constexprs, and of sizes on the host, with Python's arithmetic. */
  readonly fold?: (...constants: readonly Constant[]) => Constant;
  readonly evaluate?: (args: Values, context: Context) => Runtime | readonly Runtime[];
  readonly facts?: OpFacts<Args>;
  readonly needs?: OpNeeds<Args>;
  readonly triton36?: Triton36Differences<Args>;
  readonly proof?: OpProof<Args>;
}

type AnyArguments = Readonly<Record<string, Typed | undefined>>;

/** An op with named arguments of any type. */
export interface Op extends OpRules<AnyArguments, Readonly<Record<string, Runtime | undefined>>> {
  /** The author's name, such as `floorDiv`. */
  readonly name: string;
  readonly operands: Operands;
  readonly options: Operands;
  /** The op is also a method of its first operand. */
  readonly method: boolean;
  /** The call syntax for authors, if it is not `tl` and the op's name: a method after a dot, or a separate name. */
  readonly calledAs?: string | undefined;
  /** `a.add(b, c)` is `a + b + c`. */
  readonly variadic: boolean;
  /** The last operand is a rest parameter. Python receives its items as separate arguments. */
  readonly hasRestOperand: boolean;
  readonly effect: Effect;
  readonly facts: OpFacts<AnyArguments>;
  readonly needs: OpNeeds<AnyArguments>;
  readonly triton36: Triton36Differences<AnyArguments>;
  readonly proof: OpProof<AnyArguments>;
  readonly lowering?: OpLowering;
  /** A derived op, composed of other ops: a function of the emitted Python, which the evaluator also runs. */
  readonly parts?: (...operands: any[]) => unknown;
}
