/**
 * The intermediate representation: a typed list of statements in A-normal form.
 *
 *     Kernel    = name, Param*, Block, host blocks (grid, launch constexprs, requirements, derived sizes)
 *     Block     = Statement*, yields Argument*
 *     Statement = results = op(Argument*, option: Argument …)
 *               | let variable = Argument | value = read variable | write variable, Argument
 *               | for index in start, end, step: Block
 *               | while Block: Block
 *               | results = if Argument: Block else: Block
 *               | exit
 *     Argument  = Value | Literal | DTypeArgument | FunctionArgument | Argument*
 *     Function  = name, Value*, Block
 *
 * Values are positional, metadata is named. Program order is the list's order, so effects keep it for free.
 */
import type { Config, SearchSpace, GivenTolerance, Specialize } from "../compiled/compiled-kernel.js";
import type { DeclaredTargets, DeviceProperties } from "../compiled/gpus.js";
import type { Diagnostic, Location } from "../diagnostics/diagnostic.js";
import type { Op } from "./op.js";
import type { Reference, TorchNode, Launch } from "../torch/node.js";
import type { DTypeVariable } from "../types/dtype.js";
import type { Limits } from "../types/limits.js";
import type { ConstKind, Elem, Type } from "../types/types.js";

/** The scope of values: the block that defines them and its nested blocks. */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly kind: ScopeKind;
  /** The block's name in messages: `the loop`, `this branch`. */
  readonly label: string;
  /** For a constexpr branch, the conditions that hold inside, as canonical texts. */
  readonly conditions?: readonly string[] | undefined;
  readonly location: Location | undefined;
  isClosed: boolean;
}

export type ScopeKind = "kernel" | "loop" | "branch" | "helper";

/** A value of the program, defined once, by one statement or as a parameter (static single assignment). */
export class Value {
  readonly kind = "value";
  /** For a value of a retraced body, the recorded value that it corresponds to. */
  recorded: Value | undefined;
  constructor(
    readonly id: number,
    readonly type: Type,
    public scope: Scope,
    readonly location: Location | undefined,
    /** The parameter's name, if it is one. */
    readonly parameter?: string,
    /** An intermediate value, which must not take the author's name for the expression. */
    readonly isAnonymous = false,
    /**
     * The op that defines it, or the op whose claim about its elements it inherits. Undefined for parameters, indices
     * and reads.
     */
    readonly definingOp?: Op,
  ) {}
}

/** A JavaScript constant in the program: a weak literal, which takes the dtype of its operation. */
export interface Literal {
  readonly kind: "literal";
  readonly value: number | bigint | boolean | string;
}

/** A dtype as an argument, such as the last of `tl.zeros(shape, tl.float32)`. */
export interface DTypeArgument {
  readonly kind: "dtype";
  readonly dtype: Elem;
}

/** A helper function as an argument: the callee of a call, or the combine function of a reduction. */
export interface FunctionArgument {
  readonly kind: "function";
  readonly function: FunctionIR;
}

export type Argument = Value | Literal | DTypeArgument | FunctionArgument | readonly Argument[];

/** A loop-carried variable: state that loops and branches change. */
export class Variable {
  /** Like {@link Value.recorded}. */
  recorded: Variable | undefined;
  constructor(
    readonly id: number,
    readonly type: Type,
    readonly scope: Scope,
    readonly location: Location | undefined,
    /** The name if the author's source has none. */
    readonly hint?: string,
  ) {}
}

export interface OpStatement {
  readonly kind: "op";
  readonly op: Op;
  /** One per operand of the op; undefined for an optional one that is omitted. */
  readonly operands: readonly (Argument | undefined)[];
  readonly options: Readonly<Record<string, Argument>>;
  readonly results: readonly Value[];
  readonly location: Location | undefined;
}

/** The argument for a named operand of a statement. */
export const operandOf = ({ op, operands }: OpStatement, name: string | undefined): Argument | undefined =>
  name === undefined ? undefined : operands[Object.keys(op.operands).indexOf(name)];

export interface LetStatement {
  readonly kind: "let";
  readonly variable: Variable;
  readonly initial: Argument;
  readonly location: Location | undefined;
}

/** Reads a snapshot: a later write does not change the result. */
export interface ReadStatement {
  readonly kind: "read";
  readonly variable: Variable;
  readonly result: Value;
  readonly location: Location | undefined;
}

export interface WriteStatement {
  readonly kind: "write";
  readonly variable: Variable;
  readonly value: Argument;
  readonly location: Location | undefined;
}

export interface ForStatement {
  readonly kind: "for";
  readonly index: Value;
  readonly start: Argument;
  readonly end: Argument;
  readonly step: Argument;
  /** `tl.range` options, in Triton's camelCase, and `most`, the most iterations. */
  readonly options: Readonly<Record<string, Argument>>;
  /** True for a loop that Triton unrolls (`tl.static_range`). */
  readonly unrolled: boolean;
  readonly body: Block;
  readonly location: Location | undefined;
}

/** Runs `condition` before each iteration, and `body` while the condition yields true. */
export interface WhileStatement {
  readonly kind: "while";
  readonly condition: Block;
  /** `tl.condition` options, likewise. */
  readonly options: Readonly<Record<string, Argument>>;
  readonly body: Block;
  readonly location: Location | undefined;
}

export interface IfStatement {
  readonly kind: "if";
  readonly condition: Argument;
  readonly then: Block;
  readonly otherwise: Block;
  /** One per value that both arms yield. */
  readonly results: readonly Value[];
  readonly location: Location | undefined;
}

/** Exits the program. */
export interface ExitStatement {
  readonly kind: "exit";
  readonly location: Location | undefined;
}

export type Statement =
  | OpStatement
  | LetStatement
  | ReadStatement
  | WriteStatement
  | ForStatement
  | WhileStatement
  | IfStatement
  | ExitStatement;

export interface Block {
  readonly statements: readonly Statement[];
  readonly yields: readonly Argument[];
}

/** A function of a Python file. The path is relative to the file that calls `tl.extern`. */
export interface ExternSource {
  readonly file: string;
  readonly name: string;
}

/**
 * A helper function of the kernel, for one signature. It may also use the kernel's arguments and its callers'
 * constexprs, which emission passes as additional parameters.
 */
export interface FunctionIR {
  /** The author's name of the function, if known without the source. */
  readonly name: string | undefined;
  readonly params: readonly Value[];
  readonly body: Block;
  readonly noinline: boolean;
  /** The Python function that replaces it, if the author wrote it in Python. `body` computes the same. */
  readonly extern?: ExternSource | undefined;
  /** The location of the author's definition. */
  readonly at: Location | undefined;
}

/** A parameter of the kernel. Names are the author's. */
export type Param = TensorParam | PointerParam | ScalarParam | SizeParam | ConstexprParam | DeviceParam;

export interface TensorParam {
  readonly kind: "tensor";
  readonly name: string;
  readonly value: Value;
  /** The address of its first element; for a descriptor, the descriptor. */
  readonly pointer: Value;
  /** One stride per axis, in elements: a run-time scalar, or for `contiguous` a number, a size or a list of factors. */
  readonly strides: readonly Argument[];
  /** One per axis: a size, a constexpr or a number. */
  readonly dims: readonly Argument[];
  readonly dimNames: readonly (string | number)[];
  readonly dtype: Elem;
  readonly role: "in" | "out" | "inout";
  readonly optional: boolean;
  /** A constexpr that is true if the caller passes the tensor. Undefined unless the tensor is optional. */
  readonly given?: Value;
  readonly contiguous: boolean;
  /** The width of its offsets. With int32, the wrapper rejects an extent near 2^31 elements. */
  readonly offsets: "int32" | "int64";
  /**
   * The range of the elements, as a promise of the caller. Yields the minimum and the end, which is exclusive for
   * integers and inclusive for floats.
   */
  readonly range?: HostBlock;
  /**
   * The partition of a size by the elements, which never decrease, as a promise of the caller. `range` then is [0, size
   * + 1).
   */
  readonly partition?: Partition;
  /** True if the wrapper sets it to zero before the first program runs. */
  readonly zeroed?: boolean;
  /** The block shape of its descriptor. The kernel then receives only the descriptor, without address and strides. */
  readonly block?: readonly Argument[];
  readonly padding?: "zero" | "nan";
}

/**
 * The partition of a size into rows. `ends`: the tensor contains the end of each row. `offsets`: it also starts with a
 * 0.
 */
export interface Partition {
  readonly total: Value;
  readonly holds: "offsets" | "ends";
}

export interface PointerParam {
  readonly kind: "pointer";
  readonly name: string;
  readonly value: Value;
  readonly dtype: Elem;
  /** The minimum number of elements, which the wrapper checks. */
  readonly numel?: Value | number;
  /** As in {@link TensorParam}. */
  readonly given?: Value;
  readonly zeroed?: boolean;
}

export interface ScalarParam {
  readonly kind: "scalar";
  readonly name: string;
  readonly value: Value;
  readonly dtype: Elem;
  readonly default?: number;
  /** Yields the minimum and the end of the range, which are also conditions in `requires`. */
  readonly range?: HostBlock;
}

/** A size that a tensor's shape binds (`M`), or one derived from others. */
export interface SizeParam {
  readonly kind: "size";
  readonly name: string;
  readonly value: Value;
  readonly derived?: HostBlock;
}

/** A property of the GPU. Only the host reads it. */
export interface DeviceParam {
  readonly kind: "device";
  readonly name: keyof DeviceProperties;
  readonly value: Value;
}

export interface ConstexprParam {
  readonly kind: "constexpr";
  readonly name: string;
  readonly value: Value;
  readonly of: ConstKind;
  /**
   * The source of the value. The wrapper computes `launch` constexprs. `heuristic` ones are computed after the config
   * is chosen.
   */
  readonly from: "config" | "launch" | "heuristic" | "dim" | "argument";
  readonly compute?: HostBlock;
  /** True if the config computes it and a call may override it. */
  readonly computedByConfig?: boolean;
  readonly choices?: readonly string[];
  /** The dtype variable that a dtype constexpr binds. Its choices are the variable's members. */
  readonly variable?: DTypeVariable;
  readonly default?: number | boolean | string;
  /** As in {@link ScalarParam}. */
  readonly range?: HostBlock;
}

/** Integer arithmetic over sizes, scalars and constexprs that runs on the host before a launch. */
export interface HostBlock {
  readonly block: Block;
  readonly at: Location | undefined;
}

/**
 * The kernel's configs. The autotuner measures them for each value of `key`. Without a key there is only one config.
 */
export interface Tuning {
  readonly configs: readonly Config[];
  /** True if the author lists configs by GPU. */
  readonly byGpu?: true;
  /** Launch options that the only config computes, by the author's names. */
  readonly options?: Readonly<Record<string, HostBlock>>;
  /** Names of sizes and scalars. Undefined if there is nothing to measure. */
  readonly key?: readonly string[];
  /** Tensors to set to zero, and tensors to restore, between measurements. */
  readonly resetToZero: readonly string[];
  readonly restoreValue: readonly string[];
  readonly cacheResults?: boolean;
  /** The search space for better configs. */
  readonly space?: SearchSpace;
}

/** Options of the jit decorator and of every launch, by the author's names. */
export interface LaunchSpec {
  /** True if the module has a launch cache by default. */
  readonly isFast: boolean;
  readonly options: Readonly<Record<string, boolean | number>>;
  readonly doNotSpecialize: readonly string[];
  readonly doNotSpecializeOnAlignment: readonly string[];
  /** The sizes of output axes on which no bits of an element may depend. */
  readonly invariant: readonly string[];
}

export interface KernelIR {
  readonly name: string;
  /** A description in one paragraph, from the author's comment or `doc`. */
  readonly doc: string | undefined;
  readonly params: readonly Param[];
  /** Helper functions, callees before callers. */
  readonly functions: readonly FunctionIR[];
  readonly body: Block;
  readonly grid: HostBlock;
  /** Conditions that must be true before a launch. */
  readonly requires: HostBlock;
  /** The flags that the author's code accessed, with locations. */
  readonly flags: ReadonlyMap<Value, Location | undefined>;
  /** The error if JavaScript converted a traced value to true. */
  readonly coercionError?: Diagnostic | undefined;
  readonly tuning: Tuning;
  readonly launch: LaunchSpec;
  /** The oldest supported Triton version, if the author declares one. */
  readonly triton: "3.6" | "3.9" | undefined;
  /** The supported GPUs, with the location of the declaration. Undefined: all. */
  readonly targets: DeclaredTargets | undefined;
  /** Controls whether the module gets an additional warp-specialized kernel. */
  readonly warpSpecialize: Specialize;
  readonly reference: Reference | undefined;
  /** Other implementations, for benchmarks. */
  readonly providers: Readonly<Record<string, Reference>>;
  /** Computes the number of floating-point operations of a call. */
  readonly flops: ((values: Readonly<Record<string, number | boolean | string>>) => unknown) | undefined;
  /** The author's inputs by name, for tensors that random numbers would make invalid. */
  readonly inputs: Readonly<Record<string, TorchNode>>;
  /** The author's sizes for verification and benchmarks. */
  readonly shapes: readonly Readonly<Record<string, number | boolean | string>>[];
  readonly tolerance: GivenTolerance | undefined;
  /** The limits of the machine that runs it. */
  readonly limits: Limits;
  /** The ranges of int32 indices. Present only on a lowered kernel, whose views, which would show them, are gone. */
  readonly counted?: Counted;
  readonly at: Location | undefined;
}

/** Limits of int32 index arithmetic that are not bounded by a tensor's offsets. */
export interface Counted {
  /** The sizes of axes: of an `index`, or only of a `mask` that compares an index with the size. */
  readonly sizes: ReadonlyMap<Value | number, "index" | "mask">;
  /** Tensors with int64 offsets that are accessed by pointers with int32 offsets. */
  readonly tensors: ReadonlySet<TensorParam>;
}

export function isValue(argument: Argument | undefined): argument is Value {
  return argument instanceof Value;
}

export function isLiteral(argument: Argument | undefined): argument is Literal {
  return argument !== undefined && "kind" in argument && argument.kind === "literal";
}

export const isZeroLiteral = (argument: Argument | undefined): boolean => isLiteral(argument) && argument.value === 0;

export function isDType(argument: Argument | undefined): argument is DTypeArgument {
  return argument !== undefined && "kind" in argument && argument.kind === "dtype";
}

export function isFunction(argument: Argument | undefined): argument is FunctionArgument {
  return argument !== undefined && "kind" in argument && argument.kind === "function";
}

export function isList(argument: Argument | undefined): argument is readonly Argument[] {
  return Array.isArray(argument);
}

/** The parameters of one kind. */
export function paramsOf<K extends Param["kind"]>(
  { params }: Pick<KernelIR, "params">,
  kind: K,
): readonly Extract<Param, { kind: K }>[] {
  return params.filter((param): param is Extract<Param, { kind: K }> => param.kind === kind);
}

/** True for memory that the caller passes. Other parameters are numbers, flags and strings. */
export function isMemoryParam(param: Param): param is TensorParam | PointerParam {
  return param.kind === "tensor" || param.kind === "pointer";
}

/** True for a size: bound by shapes or derived, or a constexpr that a shape binds. */
export function isSizeParam(param: Param): param is SizeParam | (ConstexprParam & { readonly from: "dim" }) {
  return param.kind === "size" || (param.kind === "constexpr" && param.from === "dim");
}

/** The tensors with one of these roles, in the author's order. */
export function tensorsOf(
  { params }: Pick<KernelIR, "params">,
  ...roles: readonly TensorParam["role"][]
): readonly TensorParam[] {
  return paramsOf({ params }, "tensor").filter(({ role }) => roles.includes(role));
}

// A PyTorch operator composed of kernels: its forward pass and its gradient.

/** A call of one of the operator's kernels. */
export type KernelLaunch = Launch<KernelIR>;

export interface OperatorIR {
  /** The params, reference and sizes, as a kernel with an empty body. */
  readonly signature: KernelIR;
  /** The distinct kernels that it calls, in order of first use. */
  readonly kernels: readonly KernelIR[];
  /** Computes the outputs, and additional tensors that `backward` needs, from the inputs. */
  readonly forward: Composition;
  /** Computes the gradients of inputs from the inputs, the results of `forward` and the gradients of the outputs. */
  readonly backward: Composition | undefined;
}

/** Calls of kernels, and PyTorch calls between them. */
export interface Composition {
  /** In the author's order. */
  readonly steps: readonly (KernelLaunch | TorchNode)[];
  /** In the order of the signature. */
  readonly results: Readonly<Record<string, TorchNode>>;
}

/** The distinct kernels that compositions launch. */
export const kernelsOf = (...compositions: readonly Composition[]): readonly KernelIR[] => [
  ...new Set(
    compositions.flatMap(({ steps }) => steps).flatMap((step) => (step.kind === "launch" ? [step.kernel] : [])),
  ),
];

/** The name of a tensor's gradient among the inputs of `backward`. */
export const gradientOf = (name: string): string => `grad_${name}`;
