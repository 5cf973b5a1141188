/**
 * The syntax tree of emitted Python: plain readonly objects, created by the constructors of py-build.ts and printed by
 * layout.ts. The tree contains no layout, except hints for blank lines and comments.
 */
import type { Location } from "../../diagnostics/diagnostic.js";

interface Node {
  /** The author's source location. */
  readonly origin?: Location | undefined;
}

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "@" | "**" | "&" | "|" | "^" | "<<" | ">>";
export type UnaryOperator = "-" | "~" | "not";
export type CompareOperator = "<" | "<=" | ">" | ">=" | "==" | "!=" | "is" | "is not" | "in" | "not in";
export type BoolOperator = "and" | "or";

/** Also `True`, `False` and `None`. */
export interface Name extends Node {
  readonly kind: "name";
  readonly id: string;
}

/** A number without a sign. The text is printed verbatim. */
export interface NumberLiteral extends Node {
  readonly kind: "number";
  readonly text: string;
}

export interface StringLiteral extends Node {
  readonly kind: "string";
  readonly value: string;
}

/** `f"{value!r:>10}"`, as text and replacement fields. */
export interface FString extends Node {
  readonly kind: "fString";
  readonly parts: readonly (string | FStringField)[];
}

export interface FStringField {
  readonly value: Expression;
  readonly conversion?: "r" | "s" | "a" | undefined;
  readonly format?: string | undefined;
}

export interface Attribute extends Node {
  readonly kind: "attribute";
  readonly value: Expression;
  readonly name: string;
}

/** `*value` in a call, a tuple, a list or an index; `**value` in a call. */
export interface Starred extends Node {
  readonly kind: "starred";
  readonly stars: "*" | "**";
  readonly value: Expression;
}

/** `name=value` in a call. */
export interface Keyword extends Node {
  readonly kind: "keyword";
  readonly name: string;
  readonly value: Expression;
}

export type Argument = Expression | Starred | Keyword;

export interface Call extends Node {
  readonly kind: "call";
  readonly callee: Expression;
  readonly args: readonly Argument[];
}

export interface Binary extends Node {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export interface Unary extends Node {
  readonly kind: "unary";
  readonly operator: UnaryOperator;
  readonly operand: Expression;
}

/** `first < a <= b` */
export interface Compare extends Node {
  readonly kind: "compare";
  readonly first: Expression;
  readonly comparisons: readonly { readonly operator: CompareOperator; readonly operand: Expression }[];
}

export interface BoolOp extends Node {
  readonly kind: "bool";
  readonly operator: BoolOperator;
  readonly operands: readonly Expression[];
}

/** `lower:upper:step`, legal only as an index. */
export interface Slice extends Node {
  readonly kind: "slice";
  readonly lower?: Expression | undefined;
  readonly upper?: Expression | undefined;
  readonly step?: Expression | undefined;
}

/** `value[a, b]` has two indices; `value[(a, b)]` has one, a tuple. */
export interface Subscript extends Node {
  readonly kind: "subscript";
  readonly value: Expression;
  readonly indices: readonly (Expression | Slice | Starred)[];
}

export interface Tuple extends Node {
  readonly kind: "tuple";
  readonly items: readonly (Expression | Starred)[];
}

export interface List extends Node {
  readonly kind: "list";
  readonly items: readonly (Expression | Starred)[];
}

/** `[element for target in iterable]` */
export interface Comprehension extends Node {
  readonly kind: "comprehension";
  readonly element: Expression;
  readonly target: Expression;
  readonly iterable: Expression;
}

/** An entry without a key is `**value`. */
export interface Dict extends Node {
  readonly kind: "dict";
  readonly entries: readonly { readonly key?: Expression | undefined; readonly value: Expression }[];
}

export interface Lambda extends Node {
  readonly kind: "lambda";
  readonly params: readonly string[];
  readonly body: Expression;
}

/** `body if test else otherwise` */
export interface Conditional extends Node {
  readonly kind: "conditional";
  readonly test: Expression;
  readonly body: Expression;
  readonly otherwise: Expression;
}

/** The author's Python text with embedded expressions. It is always a single operand. */
export interface Raw extends Node {
  readonly kind: "raw";
  readonly parts: readonly (string | Expression)[];
}

export type Expression =
  | Raw
  | Name
  | NumberLiteral
  | StringLiteral
  | FString
  | Attribute
  | Call
  | Binary
  | Unary
  | Compare
  | BoolOp
  | Subscript
  | Tuple
  | List
  | Comprehension
  | Dict
  | Lambda
  | Conditional;

/** `targets[0] = targets[1] = value`. With an annotation there is one target, and the value is optional. */
export interface Assign extends Node {
  readonly kind: "assign";
  readonly targets: readonly Expression[];
  readonly annotation?: Expression | undefined;
  readonly value?: Expression | undefined;
}

export interface AugmentedAssign extends Node {
  readonly kind: "augmentedAssign";
  readonly target: Expression;
  readonly operator: BinaryOperator;
  readonly value: Expression;
}

export interface ExpressionStatement extends Node {
  readonly kind: "expression";
  readonly value: Expression;
}

export interface For extends Node {
  readonly kind: "for";
  readonly target: Expression;
  readonly iterable: Expression;
  readonly body: Block;
}

export interface While extends Node {
  readonly kind: "while";
  readonly test: Expression;
  readonly body: Block;
}

/** The first branch is `if`, the others are `elif`. */
export interface If extends Node {
  readonly kind: "if";
  readonly branches: readonly { readonly test: Expression; readonly body: Block; readonly origin?: Location }[];
  readonly otherwise?: Block | undefined;
}

export interface Return extends Node {
  readonly kind: "return";
  readonly value?: Expression | undefined;
}

export interface Raise extends Node {
  readonly kind: "raise";
  readonly value?: Expression | undefined;
  readonly cause?: Expression | undefined;
}

export interface Assert extends Node {
  readonly kind: "assert";
  readonly test: Expression;
  readonly message?: Expression | undefined;
}

export interface Pass extends Node {
  readonly kind: "pass";
}

export interface Import extends Node {
  readonly kind: "import";
  readonly module: string;
  readonly as?: string | undefined;
}

export interface FromImport extends Node {
  readonly kind: "fromImport";
  readonly module: string;
  readonly names: readonly { readonly name: string; readonly as?: string | undefined }[];
}

/** A parameter of a function. The name `*` is the bare star before keyword-only parameters. */
export interface Parameter {
  readonly name: string;
  readonly annotation?: Expression | undefined;
  readonly default?: Expression | undefined;
}

export interface FunctionDef extends Node {
  readonly kind: "function";
  readonly name: string;
  readonly decorators: readonly Expression[];
  readonly params: readonly Parameter[];
  readonly returns?: Expression | undefined;
  readonly docstring?: string | undefined;
  readonly body: Block;
}

export interface ClassDef extends Node {
  readonly kind: "class";
  readonly name: string;
  readonly decorators: readonly Expression[];
  readonly bases: readonly Argument[];
  readonly docstring?: string | undefined;
  readonly body: Block;
}

export interface With extends Node {
  readonly kind: "with";
  readonly items: readonly { readonly value: Expression; readonly as?: Expression | undefined }[];
  readonly body: Block;
}

export interface Try extends Node {
  readonly kind: "try";
  readonly body: Block;
  readonly handlers: readonly {
    readonly type?: Expression | undefined;
    readonly as?: string | undefined;
    readonly body: Block;
  }[];
  readonly otherwise?: Block | undefined;
  readonly finally?: Block | undefined;
}

/** Printed as `# text`, wrapped at the line length. The text may have several lines. */
export interface Comment extends Node {
  readonly kind: "comment";
  readonly text: string;
}

/** Requests one blank line between its neighbors. */
export interface Blank extends Node {
  readonly kind: "blank";
}

/** Python source, printed verbatim at the block's indentation. `origin` is the location of its first line. */
export interface Verbatim extends Node {
  readonly kind: "verbatim";
  readonly text: string;
  /** True for a function, which is separated by blank lines. */
  readonly isDefinition?: boolean;
}

export type Statement =
  | Assign
  | AugmentedAssign
  | ExpressionStatement
  | For
  | While
  | If
  | Return
  | Raise
  | Assert
  | Pass
  | Import
  | FromImport
  | FunctionDef
  | ClassDef
  | With
  | Try
  | Comment
  | Verbatim
  | Blank;

export type Block = readonly Statement[];

// Generic traversal of the Python syntax tree.

/** Calls `visit` for every node of a tree in preorder. Objects without a `kind` are traversed but not visited. */
export function eachNode(tree: unknown, visit: (node: Expression | Statement) => void): void {
  if (Array.isArray(tree)) {
    for (const item of tree) eachNode(item, visit);
    return;
  }
  if (typeof tree !== "object" || tree === null) return;
  if ("kind" in tree) visit(tree as Expression | Statement);
  for (const key in tree) {
    // The origin is a source location, not a node.
    if (key !== "origin") eachNode((tree as Readonly<Record<string, unknown>>)[key], visit);
  }
}

/** The names that occur in these nodes. */
export function namesIn(nodes: readonly (Expression | Statement)[]): ReadonlySet<string> {
  const names = new Set<string>();
  eachNode(nodes, (node) => {
    if (node.kind === "name") names.add(node.id);
  });
  return names;
}
