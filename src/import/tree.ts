/** The JSON that the Python worker sends for a kernel: its syntax tree, with the types that Triton infers. */

import type { HostExpression } from "../compiled/compiled-kernel.js";

/** A Python constant. Infinities and integers beyond 2^53 are strings, because JSON numbers cannot represent them. */
export type WireConstant = number | string | boolean | null;

/** A type that Triton's frontend infers, and the indices of the calls with this type. */
export type TritonType = TypeShape & { readonly calls?: readonly number[] };
type TypeShape =
  | { readonly kind: "tile" | "pointer"; readonly dtype: string; readonly shape: readonly number[] }
  | { readonly kind: "constant"; readonly of: string; readonly value: WireConstant }
  | { readonly kind: "dtype"; readonly dtype: string }
  | { readonly kind: "tuple"; readonly items: readonly TritonType[] }
  | { readonly kind: "descriptor"; readonly dtype: string }
  | { readonly kind: "other"; readonly name: string };

/** The binding of a global name. */
export type GlobalBinding =
  | { readonly what: "constant"; readonly of: string; readonly value: WireConstant }
  | { readonly what: "dtype"; readonly dtype: string }
  | { readonly what: "helper"; readonly number: number; readonly name: string }
  /** A function of Triton or Python: `tl.load`, `libdevice.tanh`, `min`. */
  | { readonly what: "function"; readonly name: string }
  | { readonly what: "list"; readonly items: readonly GlobalBinding[] }
  | { readonly what: "module" }
  | { readonly what: "other"; readonly name: string };

interface LocatedNode {
  readonly line: number;
  readonly end: number;
}

interface TypedNode extends LocatedNode {
  /** Several types if Triton compiled the expression with different types. */
  readonly types: readonly TritonType[];
  readonly known?: GlobalBinding;
}

export type Name = TypedNode & { readonly kind: "Name"; readonly id: string };
export type Call = TypedNode & {
  readonly kind: "Call";
  readonly func: Expression;
  readonly args: readonly Expression[];
  readonly keywords: readonly { readonly arg: string | null; readonly value: Expression }[];
  readonly callee?: GlobalBinding;
  /** The arguments by the names of the callee's parameters, without arguments that equal their defaults. */
  readonly bound?: Readonly<Record<string, Expression | readonly Expression[]>>;
  readonly parameters?: readonly string[];
  /** For an access through a block pointer, each index and the size of its axis. */
  readonly within?: readonly { readonly index: Expression; readonly size: Expression }[];
};
export type Comparison = TypedNode & {
  readonly kind: "Compare";
  readonly left: Expression;
  readonly ops: readonly string[];
  readonly comparators: readonly Expression[];
};
export type Sequence = TypedNode & { readonly kind: "Tuple" | "List"; readonly elts: readonly Expression[] };
export type Subscript = TypedNode & {
  readonly kind: "Subscript";
  readonly value: Expression;
  readonly slice: Expression;
};
export type Attribute = TypedNode & { readonly kind: "Attribute"; readonly value: Expression; readonly attr: string };
export type Binary = TypedNode & {
  readonly kind: "BinOp";
  readonly left: Expression;
  readonly op: string;
  readonly right: Expression;
};

/** A view of a tensor that replaces a computed pointer. */
export type View = TypedNode & {
  readonly kind: "View";
  /** The name of the kernel parameter. */
  readonly tensor: string;
  /** `isClaimed` is true if no mask bounds the index: it is then claimed to be in bounds. */
  readonly indices: readonly { readonly index: Expression; readonly isClaimed: boolean }[];
};

export type Choice = TypedNode & {
  readonly kind: "IfExp";
  readonly test: Expression;
  readonly body: Expression;
  readonly orelse: Expression;
};

/** A node of another class of Python's `ast`, such as `ListComp` or `Match`. */
interface Unsupported {
  readonly kind: "Unsupported";
  readonly construct: string;
}

export type Expression =
  | Name
  | View
  | Call
  | Comparison
  | Sequence
  | Subscript
  | Attribute
  | Binary
  | (TypedNode & { readonly kind: "Constant"; readonly of: string; readonly value: WireConstant })
  | (TypedNode & { readonly kind: "BoolOp"; readonly op: "And" | "Or"; readonly values: readonly Expression[] })
  | (TypedNode & { readonly kind: "UnaryOp"; readonly op: string; readonly operand: Expression })
  | Choice
  | (TypedNode & {
      readonly kind: "Slice";
      readonly lower: Expression | null;
      readonly upper: Expression | null;
      readonly step: Expression | null;
    })
  | (TypedNode & { readonly kind: "JoinedStr" })
  | (TypedNode & Unsupported);

export type If = LocatedNode & {
  readonly kind: "If";
  readonly test: Expression;
  readonly body: readonly Statement[];
  readonly orelse: readonly Statement[];
};
export type For = LocatedNode & {
  readonly kind: "For";
  readonly target: Expression;
  readonly iter: Expression;
  readonly body: readonly Statement[];
  readonly orelse: readonly Statement[];
};
export type While = LocatedNode & {
  readonly kind: "While";
  readonly test: Expression;
  readonly body: readonly Statement[];
};
export type Augmented = TypedNode & {
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
  | (LocatedNode & { readonly kind: "Assign"; readonly targets: readonly Expression[]; readonly value: Expression })
  | (LocatedNode & {
      readonly kind: "AnnAssign";
      readonly target: Expression;
      readonly annotation: Expression;
      readonly value: Expression | null;
    })
  | (LocatedNode & { readonly kind: "Expr"; readonly value: Expression })
  | (LocatedNode & { readonly kind: "Return"; readonly value: Expression | null })
  | (LocatedNode & { readonly kind: "Assert"; readonly test: Expression; readonly msg: Expression | null })
  | (LocatedNode & { readonly kind: "Pass" })
  | (LocatedNode & Unsupported);

export interface ParameterTree {
  readonly name: string;
  readonly constexpr: boolean;
  readonly default?: GlobalBinding;
}

export interface FunctionTree {
  readonly name: string;
  /** The line of `def` in its file. Lines in the tree are relative to it and start at 1. */
  readonly line: number;
  readonly params: readonly ParameterTree[];
  readonly noinline: boolean;
  readonly doc?: string;
  readonly body: readonly Statement[];
  readonly comments: readonly { readonly line: number; readonly text: string; readonly own: boolean }[];
  /** Empty lines. */
  readonly blank: readonly number[];
}

/** The argument of a launch for a parameter. */
export type LaunchArgument =
  | { readonly kind: "pointer" | "scalar"; readonly dtype: string }
  | DescriptorArgument
  | { readonly kind: "constant"; readonly value: GlobalBinding };

/** A tensor descriptor. In `--types`, its block shape may contain names of constants. */
export interface DescriptorArgument {
  readonly kind: "descriptor";
  readonly dtype: string;
  readonly block: readonly (number | string)[];
  readonly padding?: string;
}

/** For each axis of a block shape, the constants that always equal its length, or else a fixed number, if any. */
export type RecordedBlocks = Readonly<Record<string, readonly (readonly (number | string)[])[]>>;

/** The arguments of one recorded call, by parameter. */
export type LaunchSignature = Readonly<Record<string, LaunchArgument>>;

export const isSequence = (node: Expression | undefined): node is Sequence =>
  node?.kind === "Tuple" || node?.kind === "List";

/** The argument of a call for a parameter. Undefined if it is omitted, or if the parameter is starred. */
export function boundArgument({ bound }: Call, parameter: string): Expression | undefined {
  const argument = bound?.[parameter];
  return argument && "kind" in argument ? argument : undefined;
}

/** The arguments of a parameter, one for each recorded call. */
export function argumentsOf({ signatures }: KernelTree, parameter: string): readonly LaunchArgument[] {
  return signatures.map((signature) => {
    const argument = signature[parameter];
    if (!argument) throw new Error(`a recorded call has no argument for ${parameter}`);
    return argument;
  });
}

/** A helper function, by the number in its calls. */
export function helperTree({ functions }: KernelTree, number: number): FunctionTree {
  const tree = functions[number];
  if (!tree) throw new Error(`there is no function ${number}`);
  return tree;
}

/** Restricts the types in functions to these calls. Index -1 is for compilations with other constants. */
export function forCalls(functions: KernelTree["functions"], calls: ReadonlySet<number>): KernelTree["functions"] {
  const text = JSON.stringify(functions);
  return JSON.parse(text, (key, value: unknown) =>
    key === "types" && Array.isArray(value)
      ? (value as TritonType[]).filter((type) => type.calls?.some((call) => calls.has(call)) !== false)
      : value,
  ) as KernelTree["functions"];
}

/** A host expression over the kernel's parameters. The values of `op` are names of methods. */
export type HostTree = HostExpression;

/** Launch options by their Triton names. */
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
    /** The pointers that each launch sets to zero, whichever config it has. */
    readonly zeroed: readonly string[];
  };
  /**
   * Heuristics by the constexpr that they compute. As Python text if it is not arithmetic on the arguments; `given` is
   * the parameter that is not None exactly if the constexpr is true.
   */
  readonly heuristics: Readonly<Record<string, HostTree | { readonly text: string; readonly given?: string }>>;
  readonly doNotSpecialize: readonly string[];
  /** What the decorators have beside these, such as hooks. */
  readonly leftOut: readonly string[];
}

/** The numeric values of one launch. */
export interface RecordedNumbers {
  /** Numeric arguments by parameter. */
  readonly values: Readonly<Record<string, number | boolean>>;
  readonly tensors: Readonly<Record<string, Layout>>;
  /** Absent if the grid function of the script fails. */
  readonly grid?: readonly number[];
}

/** The memory layout of a tensor. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** The launch code of a script for a kernel. Its expressions match every recorded launch. */
export interface RecordedLaunch {
  readonly options: LaunchOptionValues;
  /** The grids of the first launches. */
  readonly grids: readonly (readonly number[])[];
  /** The numeric values of each launch. */
  readonly noted?: readonly RecordedNumbers[];
  /** The file and line of the launch. */
  readonly place?: string;
  readonly grid?: readonly HostTree[];
  readonly gridText?: string;
  /** Constants that the script computes from other arguments. */
  readonly computed: Readonly<Record<string, HostTree>>;
  /** The Python expressions of constants that are not literals. */
  readonly passed: Readonly<Record<string, string>>;
}

/** The grid of a kernel's launches in its own file. An axis is null if it has no expression over the parameters. */
export interface FileGrid {
  /** Empty if the number of axes is unknown. */
  readonly sizes: readonly (HostTree | null)[];
  readonly text: string;
}

/** A kernel (function 0), its helper functions, and its recorded calls. Calls refer to helpers by index. */
export interface KernelTree {
  readonly functions: readonly [FunctionTree, ...FunctionTree[]];
  readonly signatures: readonly LaunchSignature[];
  readonly tuning: Tuning;
  /** Absent if the types come from `--types` instead of a script. */
  readonly launch?: RecordedLaunch;
  /** Null without a launch in the file; absent with a script. */
  readonly fileGrid?: FileGrid | null;
  /** The block shapes of descriptors, by parameter. */
  readonly blocks?: RecordedBlocks;
}
