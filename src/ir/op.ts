/**
 * What an operation is: one record that says how it is called, typed, written in Python and computed. Everything else
 * (the author's function, the checks, emission, evaluation, the reference pages) reads these fields; nothing switches
 * on an op's name.
 */
import type { IntegerSemantics } from "../symbolic/integer-semantics.js";
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
import type { Targets } from "../types/targets.js";
import type { NumberClasses } from "../symbolic/number-class.js";
import type { Term } from "../symbolic/term.js";
import type { Elem, Type, Typed, TypedFunction, TypedList } from "../types/types.js";

/**
 * What may stand at an operand: `value` a tile, constexpr or number; `index` the same, but a number stays an integer
 * beside floats; `valueOrPointer`; `tile` a tile alone; `tileOrPointer`; `mask` a tile of truth values, or one truth
 * value; `shape` a list of constexprs; `constant` a number, string or boolean of JavaScript, and `constants` one or a
 * list of them; `dtype` a dtype, or a list of dtypes; `address` a pointer or a view; `tensor`; `tensorOrView`;
 * `descriptor`; `values` a list of values; `tiles` a tile, or a list of them; `function` a helper function. A question
 * mark makes it optional. A kind says what the op's own rule accepts; the rule refuses the rest.
 */
export type OperandKind = keyof RuntimeOfKind;
export type Operands = Readonly<Record<string, OperandKind | `${OperandKind}?`>>;

const VALUE_KINDS: ReadonlySet<string> = new Set(["value", "valueOrPointer", "tile", "tileOrPointer", "mask"]);
/**
 * Whether what stands at an operand is a value of the program, so that a number takes the dtype of the tiles beside it.
 */
export const isValueKind = (kind: string): boolean => VALUE_KINDS.has(kind);

/** What `evaluate` gets for an operand of each kind. */
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

/** What `infer` gets: lists have items, helper functions a signature. */
interface TypedOfKind extends Record<Exclude<OperandKind, "values" | "function">, Typed> {
  values: TypedList;
  function: TypedFunction;
}

/** Adds the kinds with a question mark. */
type OrMissing<Of extends object> = Of & { readonly [Kind in keyof Of & string as `${Kind}?`]: Of[Kind] | undefined };
type TypedOf = OrMissing<TypedOfKind>;
type RuntimeOf = OrMissing<RuntimeOfKind>;

/** An op's arguments as its type rules get them, by the kinds of its operands and options. */
export type TypedArguments<Given extends Operands> = { readonly [Name in keyof Given]: TypedOf[Given[Name]] };
/** An op's arguments as `evaluate` gets them. */
export type RuntimeArguments<Given extends Operands> = { readonly [Name in keyof Given]: RuntimeOf[Given[Name]] };

/** A call: `tl.sum(x, axis=1)`. */
export interface CallSpelling {
  readonly form: "call";
  readonly name: string;
  /** Operands that the call passes by name. */
  readonly keywords?: readonly string[];
  /** An operand that is a list, whose items the call passes one by one. */
  readonly spread?: string;
  /** The import of the name's first part: `from triton.language.extra import libdevice`. */
  readonly from?: string;
  /** Options whose values are names in Python: `propagate_nan=tl.PropagateNan.ALL`. */
  readonly symbols?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** How an op is written in Python. Operands come in order, options as keywords in snake_case. */
export type Spelling =
  | CallSpelling
  /** `x & y`; `truth` is the operator of constexpr truth values, `x and y`. */
  | { readonly form: "infix"; readonly operator: string; readonly truth?: string }
  | { readonly form: "prefix"; readonly operator: string; readonly truth?: string }
  /** `x.to(tl.float32)` */
  | { readonly form: "method"; readonly name: string }
  /** `x[:, None]` */
  | { readonly form: "expand" }
  /** A member of its first operand, a dtype: `x_ptr.dtype.element_ty.primitive_bitwidth`. */
  | { readonly form: "reflect"; readonly member: string; readonly called?: boolean; readonly negated?: boolean }
  /** `x.to(tl.pointer_type(tl.float16))`; a pointer is cast to its number first. */
  | { readonly form: "pointer" }
  /** Python that the author wrote, with `{0}` in place of the first operand. */
  | { readonly form: "raw" }
  /** `f(x, y)`: a helper function and the list of its arguments. */
  | { readonly form: "apply" }
  /** `x if condition else y` */
  | { readonly form: "conditional" }
  /** Stands for its first operand. The checks see the op; the Python does not have it. */
  | { readonly form: "same" }
  /** Replaced before emission by simpler ops. */
  | { readonly form: "lowered" };

/** What an op does to memory. Pure ops may be inlined and left out; all others keep their place. */
export type Effect = "pure" | "read" | "write" | "atomic";

/** How an op is written, in kernels and elsewhere. */
export type OpSpelling<Args> = Spelling & {
  /** On the host, where sizes are Python integers (`triton.cdiv`); absent where the op makes no sense there. */
  readonly host?: Spelling;
  /** Options that are always written out: their defaults affect results and differ between versions. */
  readonly pinned?: (args: Args) => Readonly<Record<string, Constant>>;
};

/** What the sign of an op's result depends on beside the signs of its operands. */
export interface SignContext<Args> {
  /**
   * Whether Python computes it, on the host or as a constexpr: `//` and `%` floor there, and nothing reports a divisor.
   */
  readonly folded: boolean;
  readonly args: Args;
}

/** How lowering replaces an op. */
export interface OpLowering {
  /** Makes a view of a tensor: each rank-1 index spans an axis of its own, or all indices broadcast to one shape. */
  readonly view?: "grid" | "lanes";
  /** Gives a tensor or a view with its axes in another order: for each axis of the result, the one that it was. */
  readonly permutes?: (operands: readonly (Argument | undefined)[], rank: number) => readonly number[];
  /** Makes a descriptor of a base, a shape and strides, which are the tensor's own where the base is a tensor. */
  readonly describes?: boolean;
  /** The value of the lanes that a view masks. */
  readonly maskedLanes?: number;
}

/** Properties of an op that analyses use without computing it. */
export interface OpFacts<Args> {
  /** Whether each lane of the result depends only on the same lane of the operands. */
  readonly lanewise?: boolean;
  /** Whether its float results are rounded; default for ops that are lanewise or contract. */
  readonly rounds?: boolean;
  /** Whether it sums products over a dimension, so that errors grow with that dimension. */
  readonly contracts?: boolean;
  /**
   * Whether the result is certainly not negative, given that of each operand. Decides which bounds a view must mask.
   */
  readonly nonNegative?: (operands: readonly boolean[], of: SignContext<Args>) => boolean;
  /** Whether the result is certainly at least 1, given which operands are. */
  readonly positive?: (operands: readonly boolean[]) => boolean;
  /** Whether the result is a power of two, given which operands are, and which are at least 1. */
  readonly powerOfTwo?: (powers: readonly boolean[], positive: readonly boolean[]) => boolean;
  /** What it computes where its operands `x` and `y` are integers or conditions. Its term follows from that. */
  readonly integer?: IntegerSemantics;
  /** The number of lanes, where they certainly count up from 0: a tile as long as an axis covers it exactly. */
  readonly exclusiveUpperBound?: (operands: readonly (Argument | undefined)[]) => Argument | undefined;
  /** Says that an index lies in its tensor: a view does not mask it. */
  readonly claimsInBounds?: boolean;
  /** Gives the elements of its first operand, so claims about that operand hold for the result. */
  readonly keepsClaims?: boolean;
  /** Whether a scalar operand moves the lanes of the other one, so that a loop can carry pointers to them. */
  readonly isDataMovement?: boolean;
  /** The result has the value of the first operand: a claim about it, or its cast. */
  readonly isIdentity?: boolean;
  /** What the result depends on beside the operands. */
  readonly queries?: "program" | "grid";
  /** Where operands and results lead with the same dimension: whether a lane's first index stays what it was. */
  readonly preservesLeadingAxes?: boolean;
}

/** What an op requires of Triton, of the GPU, and of the place where it is used. */
export interface OpNeeds<Args> {
  /** The backends that have it, where not all do. */
  readonly targets?: Targets | undefined;
  /** The smallest sizes of some dimensions that Triton takes; every config is checked. */
  readonly least?: (args: Args) => readonly MinimumDim[];
  /** Whether these arguments need Triton 3.9 or later. */
  readonly needsTriton39?: ((args: Args) => boolean) | undefined;
  /** Exists on the host only. */
  readonly hostOnly?: boolean;
}

/** Where Triton 3.6 computes differently from 3.9, so that the emitted Python must be more explicit. */
export interface Triton36Differences<Args> {
  /** Literals get their own dtype, where 3.9 gives them the tile's. */
  readonly strongLiterals?: boolean;
  /** Nothing is promoted to float64: the first operand's dtype is the result's, also if it is a literal. */
  readonly firstDecides?: boolean;
  /** The dtype of the result, or of the first of several, where it is not 3.9's; emission casts it back. */
  readonly result?: (args: Args) => Elem | undefined;
  /** The dtype that tiles among the operands are cast to first, where 3.6 would compute in a narrower one. */
  readonly operands?: (args: Args) => Elem | undefined;
}

/** What a rule for terms knows beside the terms. */
export interface TermContext<Args> {
  readonly args: Args;
  /** The lane of the result, one index an axis. */
  readonly lane: readonly Term[];
  /** Whether the result is a truth value. */
  readonly truth: boolean;
  /** Whether Python computes it, so that `//` and `%` floor. */
  readonly folded: boolean;
  readonly grid: readonly Term[];
  readonly program: readonly Term[];
}

/** What a rule for lanes knows: the operand's shape and the result's. */
export interface LaneContext<Args> {
  readonly args: Args;
  readonly from: readonly Term[];
  readonly to: readonly Term[];
}

/** The operands and options of an op with an address, by name, which say where it reads or writes. */
export interface MemoryOperands {
  /** A pointer, a view or a descriptor. */
  readonly address: string;
  /** Where the block of a descriptor starts. */
  readonly offsets?: string;
  /** Of a descriptor, single rows from a column on. */
  readonly rows?: string;
  readonly column?: string;
  readonly value?: string;
}

/** What a rule for held numbers knows beside them. */
export interface ClassTransferContext<Args> {
  readonly args: Args;
  /** Whether the result is a float: infinities are numbers of it, and nothing wraps. */
  readonly float: boolean;
}

/** How an op puts lanes together. */
export interface OpFold {
  /**
   * `reduction` over the axis of the operand `axis`, or over all; `scan` along an axis, each lane with those before it;
   * `normalization`, each with all of its axis; `contraction` of the inner dimension of a product, which adds to `acc`;
   * `packed`, a product whose sides may hold several elements in one, and have scales for groups of them.
   */
  readonly form: "reduction" | "scan" | "normalization" | "contraction" | "packed";
  /** What two lanes give together; undefined where that is not followed, or the place of a lane. */
  readonly kinds: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined;
  /** The axis where none is given; default 0. */
  readonly axis?: number;
  /** Lanes are added up: no result is further from 0 than all of its lanes together. */
  readonly adds?: boolean;
  /** An option that says which lanes take part. */
  readonly mask?: string;
  /** Of a packed product: each side with its inner axis, counted from the end, and its scales, whose last axis is that of groups. */
  readonly sides?: readonly { readonly of: string; readonly inner: number; readonly scale: string }[];
}

/** What proofs read of an op. An op without a rule gives an unknown value, never a wrong one. */
export interface OpProof<Args> {
  /**
   * A lane of the result, or of each result, as a term of the same lanes of the operands; absent where `facts.integer` says
   * it. Integers never wrap in a term, and the rule gives undefined where they do as a matter of course.
   */
  readonly term?: (
    operands: { readonly [Name in keyof Args]: Term },
    of: TermContext<Args>,
  ) => Term | readonly Term[] | undefined;
  /** The lane of the first operand that a lane of the result is. */
  readonly lane?: (lane: readonly Term[], of: LaneContext<Args>) => readonly Term[] | undefined;
  /** The rule is right for integers of every width. */
  readonly anyWidth?: boolean;
  /** The result of integers may lie beyond their dtype, where it wraps. In 8 and 16 bits it does so at small numbers. */
  readonly wraps?: boolean;
  readonly reaches?: MemoryOperands;
  /**
   * What a lane of the result may hold, for one kind of number in the same lane of each operand. Numbers neither overflow nor
   * underflow.
   */
  readonly classTransfer?: (
    operands: { readonly [Name in keyof Args]: NumberClasses },
    of: ClassTransferContext<Args>,
  ) => NumberClasses;
  /** Operands that stand for lanes where a condition holds, and where it does not. */
  readonly selectOperands?: { readonly condition: string; readonly then: string; readonly otherwise: string };
  readonly foldSemantics?: OpFold;
  /**
   * Whether a lane that holds this leaves those that hold the other as they are: 0 in a sum. For an op of two operands it says
   * so of the second, and of the first where they may be swapped.
   */
  readonly isNeutral?: (held: NumberClasses, beside: NumberClasses, isFirst: boolean, args?: Args) => boolean;
  /** Each lane of the result is some lane of an operand, whichever. */
  readonly moves?: boolean;
  /** An operand that says why the first is right where nothing shows it: a proof then waives what is about it. */
  readonly trustedOperand?: string;
  /** An operand that the author says is true: nothing checks it on a GPU. */
  readonly claims?: string;
}

/** An op's rules for arguments of the types `Args`, or `Values` while a kernel is evaluated. */
export interface OpRules<Args, Values> {
  readonly spelling: OpSpelling<Args>;
  /** The result's type, the types of several results, or the sentence that says what is wrong. */
  readonly infer: (args: Args) => Type | readonly Type[] | string;
  /** The value for constants (constexprs, and sizes on the host), by Python's arithmetic. */
  readonly fold?: (...constants: readonly Constant[]) => Constant;
  /** Computes the op on whole tiles. */
  readonly evaluate?: (args: Values, context: Context) => Runtime | readonly Runtime[];
  readonly facts?: OpFacts<Args>;
  readonly needs?: OpNeeds<Args>;
  readonly triton36?: Triton36Differences<Args>;
  readonly proof?: OpProof<Args>;
}

type AnyArguments = Readonly<Record<string, Typed | undefined>>;

/** An op as its readers see it: arguments come by name. */
export interface Op extends OpRules<AnyArguments, Readonly<Record<string, Runtime | undefined>>> {
  /** The author's name, such as `floorDiv`. */
  readonly name: string;
  readonly operands: Operands;
  readonly options: Operands;
  /** Also a method of its first operand. */
  readonly method: boolean;
  /** What authors call, where it is not `tl` with the op's name: a method, after a dot, or a name of its own. */
  readonly called?: string | undefined;
  /** `a.add(b, c)` is `a + b + c`. */
  readonly variadic: boolean;
  /** The last operand takes all remaining arguments, and Python gets them side by side. */
  readonly rest: boolean;
  readonly effect: Effect;
  readonly facts: OpFacts<AnyArguments>;
  readonly needs: OpNeeds<AnyArguments>;
  readonly triton36: Triton36Differences<AnyArguments>;
  readonly proof: OpProof<AnyArguments>;
  readonly lowering?: OpLowering;
  /** A derived op in terms of other ops: a function of the emitted Python, which the evaluator also runs. */
  readonly parts?: (...operands: any[]) => unknown;
}
