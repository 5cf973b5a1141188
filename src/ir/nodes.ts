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
import type { Config, Space, Tolerance } from "../contract/compiled.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { Op } from "./op.js";
import type { Reference, TorchNode } from "../torch/torch-node.js";
import type { DTypeVariable } from "../types/dtype.js";
import type { ConstKind, Elem, Type } from "../types/types.js";

/** Where a value may be used: the block that made it and the blocks inside. Closed once the block is complete. */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly kind: ScopeKind;
  /** What opened it, for messages: `the loop`, `this branch`. */
  readonly what: string;
  /** Of a branch that Triton decides when it compiles: what holds inside, as canonical text. */
  readonly condition?: string | undefined;
  readonly at: Location | undefined;
  closed: boolean;
}

export type ScopeKind = "kernel" | "loop" | "branch" | "helper";

/** A value of the program: made once, by one statement or as a parameter. */
export class Value {
  readonly kind = "value";
  constructor(
    readonly id: number,
    readonly type: Type,
    readonly scope: Scope,
    readonly at: Location | undefined,
    /** The parameter's name, where it is one. */
    readonly parameter?: string,
    /** Made on the way to what the author wrote at that place, so that the author's name is not its name. */
    readonly anonymous = false,
    /** The op that made it, or whose claim about its elements it keeps; absent for parameters, indices and reads. */
    readonly by?: Op,
  ) {}
}

/** A JavaScript constant in the program: a weak literal. */
export interface Literal {
  readonly kind: "literal";
  readonly value: number | bigint | boolean | string;
}

/** A dtype as an argument, such as the last of `tl.zeros(shape, tl.float32)`. */
export interface DTypeArgument {
  readonly kind: "dtype";
  readonly dtype: Elem;
}

/** A helper function as an argument: what a call calls, what a reduction combines with. */
export interface FunctionArgument {
  readonly kind: "function";
  readonly function: FunctionIR;
}

export type Argument = Value | Literal | DTypeArgument | FunctionArgument | readonly Argument[];

/** State that loops and branches change. */
export class Variable {
  constructor(
    readonly id: number,
    readonly type: Type,
    readonly scope: Scope,
    readonly at: Location | undefined,
    /** Its name where the author wrote none. */
    readonly hint?: string,
  ) {}
}

export interface OpStatement {
  readonly kind: "op";
  readonly op: Op;
  /** As many as the op has operands; `undefined` where an optional one was left out. */
  readonly operands: readonly (Argument | undefined)[];
  readonly options: Readonly<Record<string, Argument>>;
  readonly results: readonly Value[];
  readonly at: Location | undefined;
}

export interface LetStatement {
  readonly kind: "let";
  readonly variable: Variable;
  readonly initial: Argument;
  readonly at: Location | undefined;
}

/** A snapshot: a later write does not change what was read. */
export interface ReadStatement {
  readonly kind: "read";
  readonly variable: Variable;
  readonly result: Value;
  readonly at: Location | undefined;
}

export interface WriteStatement {
  readonly kind: "write";
  readonly variable: Variable;
  readonly value: Argument;
  readonly at: Location | undefined;
}

export interface ForStatement {
  readonly kind: "for";
  readonly index: Value;
  readonly start: Argument;
  readonly end: Argument;
  readonly step: Argument;
  /** `tl.range` options, in Triton's camelCase. */
  readonly options: Readonly<Record<string, Argument>>;
  /** A loop that Triton unrolls (`tl.static_range`). */
  readonly unrolled: boolean;
  readonly body: Block;
  readonly at: Location | undefined;
}

/** Runs `body` as long as what `condition` yields, computed again before each turn, holds. */
export interface WhileStatement {
  readonly kind: "while";
  readonly condition: Block;
  /** `tl.condition` options, in Triton's camelCase. */
  readonly options: Readonly<Record<string, Argument>>;
  readonly body: Block;
  readonly at: Location | undefined;
}

export interface IfStatement {
  readonly kind: "if";
  readonly condition: Argument;
  readonly then: Block;
  readonly otherwise: Block;
  /** One for each value that both arms yield. */
  readonly results: readonly Value[];
  readonly at: Location | undefined;
}

/** Ends the program: nothing after it runs. */
export interface ExitStatement {
  readonly kind: "exit";
  readonly at: Location | undefined;
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

/** A function of a Python file, whose path is relative to where `tl.extern` was called. */
export interface ExternSource {
  readonly file: string;
  readonly name: string;
}

/**
 * A helper function of the kernel, for one signature. It may look at the kernel's own arguments and at constexprs of its
 * callers beside its parameters; emission passes those along.
 */
export interface FunctionIR {
  /** What the author calls it, where that is known without the source. */
  readonly name: string | undefined;
  readonly params: readonly Value[];
  /** Yields the results. */
  readonly body: Block;
  readonly noinline: boolean;
  /** Where its Python is, if the author wrote that; the body says what it means. */
  readonly extern?: ExternSource | undefined;
  /** Where the author defined it. */
  readonly at: Location | undefined;
}

/** What an argument of the kernel is. Names are the author's. */
export type Param = TensorParam | PointerParam | ScalarParam | SizeParam | ConstexprParam;

export interface TensorParam {
  readonly kind: "tensor";
  readonly name: string;
  readonly value: Value;
  /** Address of its first element; of a descriptor, the descriptor. */
  readonly pointer: Value;
  /** One an axis, in elements. A number where the layout is fixed (`contiguous`), else a run-time scalar. */
  readonly strides: readonly Argument[];
  /** One an axis: a size, a constexpr or a number. */
  readonly dims: readonly Argument[];
  readonly dimNames: readonly (string | number)[];
  readonly dtype: Elem;
  readonly role: "in" | "out" | "inout";
  readonly optional: boolean;
  /** Whether the caller gave it, a constexpr; present where it is optional. */
  readonly given?: Value;
  readonly contiguous: boolean;
  /** Width of its offsets. int32 tensors are refused above 2^31 elements. */
  readonly offsets: "int32" | "int64";
  readonly range?: readonly [number | string, number | string];
  /** Holds zeros when the first program starts. */
  readonly zeroed?: boolean;
  /** The block that a descriptor of it moves. The kernel then gets that descriptor, and neither address nor strides. */
  readonly block?: readonly Argument[];
  readonly padding?: "zero" | "nan";
}

export interface PointerParam {
  readonly kind: "pointer";
  readonly name: string;
  readonly value: Value;
  readonly dtype: Elem;
  /** As of a tensor. */
  readonly given?: Value;
}

export interface ScalarParam {
  readonly kind: "scalar";
  readonly name: string;
  readonly value: Value;
  readonly dtype: Elem;
  readonly default?: number;
}

/** A size that shapes bind (`M`), or that is computed from others. */
export interface SizeParam {
  readonly kind: "size";
  readonly name: string;
  readonly value: Value;
  readonly derived?: HostBlock;
}

export interface ConstexprParam {
  readonly kind: "constexpr";
  readonly name: string;
  readonly value: Value;
  readonly of: ConstKind;
  /** `launch` is computed by the wrapper, `heuristic` once the config is chosen. */
  readonly from: "config" | "launch" | "heuristic" | "dim" | "argument";
  readonly compute?: HostBlock;
  readonly choices?: readonly string[];
  /** Of a dtype: the variable that it binds. Its choices are the members. */
  readonly variable?: DTypeVariable;
  readonly default?: number | boolean | string;
}

/** Integer arithmetic over sizes, scalars and constexprs that runs on the host before a launch. */
export interface HostBlock {
  readonly block: Block;
  readonly at: Location | undefined;
}

/** How the kernel's configs are chosen: measured for each value of `key`, or the one that there is. */
export interface Tuning {
  readonly configs: readonly Config[];
  /** Names of sizes and scalars; absent when nothing is measured. */
  readonly key?: readonly string[];
  /** Tensors that are set to zero, or put back as they were, between measurements. */
  readonly resetToZero: readonly string[];
  readonly restoreValue: readonly string[];
  readonly cacheResults?: boolean;
  /** Where better configs are looked for. */
  readonly space?: Space;
}

/** What the jit decorator and every launch are told, by the author's names. */
export interface LaunchSpec {
  readonly options: Readonly<Record<string, boolean | number>>;
  readonly doNotSpecialize: readonly string[];
  readonly doNotSpecializeOnAlignment: readonly string[];
}

export interface KernelIR {
  readonly name: string;
  /** One paragraph on what it computes, from the author's comment or `doc`. */
  readonly doc: string | undefined;
  readonly params: readonly Param[];
  /** Helper functions, callees before callers. */
  readonly functions: readonly FunctionIR[];
  readonly body: Block;
  readonly grid: HostBlock;
  /** Conditions that must hold before a launch. */
  readonly requires: HostBlock;
  readonly tuning: Tuning;
  readonly launch: LaunchSpec;
  /** The oldest Triton that it is for, where the author says so. */
  readonly triton: "3.6" | "3.9" | undefined;
  readonly reference: Reference | undefined;
  /** Other ways to the same result, to measure beside. */
  readonly providers: Readonly<Record<string, Reference>>;
  /** Floating-point operations of a call. */
  readonly flops: ((given: Readonly<Record<string, number | boolean | string>>) => unknown) | undefined;
  /** Tensors that random numbers of any value would not do for, by name. */
  readonly inputs: Readonly<Record<string, TorchNode>>;
  /** Sizes that the author gave to verify and measure with. */
  readonly shapes: readonly Readonly<Record<string, number | boolean | string>>[];
  readonly tolerance: Partial<Tolerance> | undefined;
  readonly at: Location | undefined;
}

export function isValue(argument: Argument | undefined): argument is Value {
  return argument instanceof Value;
}

export function isLiteral(argument: Argument | undefined): argument is Literal {
  return argument !== undefined && "kind" in argument && argument.kind === "literal";
}

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

/** The tensors that a kernel has in one of these roles, in the author's order. */
export function tensorsOf(
  { params }: Pick<KernelIR, "params">,
  ...roles: readonly TensorParam["role"][]
): readonly TensorParam[] {
  return paramsOf({ params }, "tensor").filter(({ role }) => roles.includes(role));
}
