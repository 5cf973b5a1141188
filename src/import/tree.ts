/** A Triton kernel as the Python half sends it: its syntax tree, with the types that Triton gives each expression. */

import type { HostExpression } from "../compiled/compiled-kernel.js";

/** A number of Python: JSON has no infinities, and no exact integers beyond 2^53. */
export type WireConstant = number | string | boolean | null;

/** A value's type, as Triton's front end has it, and the numbers of the calls in which it has that. */
export type Described = DescribedType & { readonly calls?: readonly number[] };
type DescribedType =
  | { readonly kind: "tile" | "pointer"; readonly dtype: string; readonly shape: readonly number[] }
  | { readonly kind: "constant"; readonly of: string; readonly value: WireConstant }
  | { readonly kind: "dtype"; readonly dtype: string }
  | { readonly kind: "tuple"; readonly items: readonly Described[] }
  | { readonly kind: "descriptor"; readonly dtype: string }
  | { readonly kind: "other"; readonly name: string };

/** What a name outside of the function stands for. */
export type GlobalBinding =
  | { readonly what: "constant"; readonly of: string; readonly value: WireConstant }
  | { readonly what: "dtype"; readonly dtype: string }
  | { readonly what: "helper"; readonly number: number; readonly name: string }
  /** Triton's or Python's own: `tl.load`, `libdevice.tanh`, `min`. */
  | { readonly what: "function"; readonly name: string }
  | { readonly what: "list"; readonly items: readonly GlobalBinding[] }
  | { readonly what: "module" }
  | { readonly what: "other"; readonly name: string };

interface Placed {
  readonly line: number;
  readonly end: number;
}

interface Typed extends Placed {
  /** More than one where Triton met the expression with several types. */
  readonly types: readonly Described[];
  readonly known?: GlobalBinding;
}

export type Name = Typed & { readonly kind: "Name"; readonly id: string };
export type Call = Typed & {
  readonly kind: "Call";
  readonly func: Expression;
  readonly args: readonly Expression[];
  readonly keywords: readonly { readonly arg: string | null; readonly value: Expression }[];
  readonly callee?: GlobalBinding;
  /** The arguments by the names of the callee's parameters, without those that equal its defaults. */
  readonly bound?: Readonly<Record<string, Expression | readonly Expression[]>>;
  readonly parameters?: readonly string[];
  /** Of an access through a block pointer: the size of the axis that each index is in. */
  readonly within?: readonly { readonly index: Expression; readonly size: Expression }[];
};
export type Comparison = Typed & {
  readonly kind: "Compare";
  readonly left: Expression;
  readonly ops: readonly string[];
  readonly comparators: readonly Expression[];
};
export type Sequence = Typed & { readonly kind: "Tuple" | "List"; readonly elts: readonly Expression[] };
export type Subscript = Typed & { readonly kind: "Subscript"; readonly value: Expression; readonly slice: Expression };
export type Attribute = Typed & { readonly kind: "Attribute"; readonly value: Expression; readonly attr: string };
export type Binary = Typed & {
  readonly kind: "BinOp";
  readonly left: Expression;
  readonly op: string;
  readonly right: Expression;
};

/** A view of a tensor, in place of a pointer that the Python computes. */
export type View = Typed & {
  readonly kind: "View";
  /** The kernel's parameter. */
  readonly tensor: string;
  /** An index that no mask bounds is claimed to be in bounds. */
  readonly indices: readonly { readonly index: Expression; readonly isClaimed: boolean }[];
};

export type Choice = Typed & {
  readonly kind: "IfExp";
  readonly test: Expression;
  readonly body: Expression;
  readonly orelse: Expression;
};

export type Expression =
  | Name
  | View
  | Call
  | Comparison
  | Sequence
  | Subscript
  | Attribute
  | Binary
  | (Typed & { readonly kind: "Constant"; readonly of: string; readonly value: WireConstant })
  | (Typed & { readonly kind: "BoolOp"; readonly op: "And" | "Or"; readonly values: readonly Expression[] })
  | (Typed & { readonly kind: "UnaryOp"; readonly op: string; readonly operand: Expression })
  | Choice
  | (Typed & {
      readonly kind: "Slice";
      readonly lower: Expression | null;
      readonly upper: Expression | null;
      readonly step: Expression | null;
    })
  | (Typed & { readonly kind: "JoinedStr" | "Starred" | "Lambda" | "ListComp" | "NamedExpr" | "Dict" });

export type If = Placed & {
  readonly kind: "If";
  readonly test: Expression;
  readonly body: readonly Statement[];
  readonly orelse: readonly Statement[];
};
export type For = Placed & {
  readonly kind: "For";
  readonly target: Expression;
  readonly iter: Expression;
  readonly body: readonly Statement[];
  readonly orelse: readonly Statement[];
};
export type While = Placed & { readonly kind: "While"; readonly test: Expression; readonly body: readonly Statement[] };
export type Augmented = Typed & {
  readonly kind: "AugAssign";
  readonly target: Expression;
  readonly op: string;
  readonly value: Expression;
};

export type Statement =
  | If
  | For
  | While
  | Augmented
  | (Placed & { readonly kind: "Assign"; readonly targets: readonly Expression[]; readonly value: Expression })
  | (Placed & {
      readonly kind: "AnnAssign";
      readonly target: Expression;
      readonly annotation: Expression;
      readonly value: Expression | null;
    })
  | (Placed & { readonly kind: "Expr"; readonly value: Expression })
  | (Placed & { readonly kind: "Return"; readonly value: Expression | null })
  | (Placed & { readonly kind: "Assert"; readonly test: Expression; readonly msg: Expression | null })
  | (Placed & { readonly kind: "Pass" | "Break" | "Continue" | "With" | "Try" | "Raise" | "Import" | "FunctionDef" });

export interface ParameterTree {
  readonly name: string;
  readonly constexpr: boolean;
  readonly default?: GlobalBinding;
}

export interface FunctionTree {
  readonly name: string;
  /** The line of `def` in its file; lines inside of the tree count from 1. */
  readonly line: number;
  readonly params: readonly ParameterTree[];
  readonly noinline: boolean;
  readonly doc?: string;
  readonly body: readonly Statement[];
  readonly comments: readonly { readonly line: number; readonly text: string; readonly own: boolean }[];
  /** Lines without text. */
  readonly blank: readonly number[];
}

/** What a launch passes for a parameter. */
export type GivenArgument =
  | { readonly kind: "pointer" | "scalar"; readonly dtype: string }
  | GivenDescriptor
  | { readonly kind: "constant"; readonly value: GlobalBinding };

/** A tensor descriptor; a type that is given by hand may name constants in its block. */
export interface GivenDescriptor {
  readonly kind: "descriptor";
  readonly dtype: string;
  readonly block: readonly (number | string)[];
  readonly padding?: string;
}

/** For each axis of a descriptor's block, constants that it always is, or a number; none where it is neither. */
export type NotedBlocks = Readonly<Record<string, readonly (readonly (number | string)[])[]>>;

/** One way to call the kernel: an argument for each parameter. */
export type GivenSignature = Readonly<Record<string, GivenArgument>>;

/** The functions with the types of these calls alone; -1 stands for calls that nobody made. */
export function forCalls(functions: readonly FunctionTree[], calls: ReadonlySet<number>): readonly FunctionTree[] {
  const text = JSON.stringify(functions);
  return JSON.parse(text, (key, value: unknown) =>
    key === "types" && Array.isArray(value)
      ? (value as Described[]).filter((type) => type.calls?.some((call) => calls.has(call)) !== false)
      : value,
  ) as readonly FunctionTree[];
}

/** What the host computes before a launch, over the kernel's parameters; the names of `op` are those of methods. */
export type HostTree = HostExpression;

/** Launch options, as Triton names them. */
export type LaunchOptionValues = Readonly<Record<string, number>>;

/** The decorators of a kernel. */
export interface Tuning {
  readonly autotune?: {
    readonly key: readonly string[];
    readonly configs: readonly {
      readonly values: Readonly<Record<string, number | boolean | string>>;
      readonly options: LaunchOptionValues;
    }[];
    readonly resetToZero: readonly string[];
    readonly restoreValue: readonly string[];
  };
  /** By the constexpr that each computes; as Python where it is no arithmetic of the arguments. */
  readonly heuristics: Readonly<Record<string, HostTree | { readonly text: string }>>;
  readonly doNotSpecialize: readonly string[];
}

/** The numbers that one launch has. */
export interface NotedNumbers {
  /** Those that it passes, by the kernel's parameters. */
  readonly values: Readonly<Record<string, number | boolean>>;
  readonly tensors: Readonly<Record<string, Layout>>;
  /** Absent where the script's function for it fails. */
  readonly grid?: readonly number[];
}

/** How a tensor lies in memory. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** What a script decides where it launches a kernel; expressions gave what was noted at every launch. */
export interface NotedLaunch {
  readonly options: LaunchOptionValues;
  /** The numbers of programs of the first launches. */
  readonly grids: readonly (readonly number[])[];
  /** The numbers of each launch. */
  readonly noted?: readonly NotedNumbers[];
  /** The file and the line of the launch. */
  readonly place?: string;
  readonly grid?: readonly HostTree[];
  readonly gridText?: string;
  /** Constants that are computed from other arguments. */
  readonly computed: Readonly<Record<string, HostTree>>;
  /** The Python of constants that are no plain numbers. */
  readonly passed: Readonly<Record<string, string>>;
}

/** A kernel, its helper functions by the numbers that calls have, and how it is called. */
export interface KernelTree {
  readonly functions: readonly FunctionTree[];
  readonly signatures: readonly GivenSignature[];
  readonly tuning: Tuning;
  /** Absent where the types of a call were given instead. */
  readonly launch?: NotedLaunch;
  /** The blocks of descriptors, by parameter. */
  readonly blocks?: NotedBlocks;
}
