/**
 * Splits Python variables by live range, because a variable of TypeScript has one rank and one dtype. Two assignments
 * belong to one live range if a read can see the value of either.
 */
import { liveRangeName } from "./author-name.js";
import { replaceNodes } from "./node-builders.js";
import { type Augmented, type Expression, type FunctionTree, isSequence, type Name, type Statement } from "./tree.js";
import { elementOf } from "./value.js";

/** Gives each live range of a name a separate name. The first one keeps the name. */
export function splitLiveRanges(tree: FunctionTree): FunctionTree {
  const names = new LiveRanges(tree).names();
  if (names.size === 0) return tree;
  return replaceNodes(tree, (node) => {
    const { use, definition } = names.get(node) ?? {};
    if (isAugmented(node)) return asAssignment(node, names.get(node.target));
    const id = use ?? definition;
    return id === undefined ? undefined : { ...node, id };
  });
}

const isAugmented = (node: object): node is Augmented => "kind" in node && node.kind === "AugAssign";

/** `x = x + y` for `x += y` if the result is another live range. */
function asAssignment(statement: Augmented, names: NewNames | undefined): object | undefined {
  const { target, line, end, types, op, value: right } = statement;
  if (target.kind !== "Name" || names?.use === names?.definition) return undefined;
  const nameNode = (id: string | undefined): Name => ({ ...target, id: id ?? target.id });
  // The nodes keep nothing else of the statement: its target is written, not read.
  const value = { kind: "BinOp", line, end, types, op, left: nameNode(names?.use), right };
  return { kind: "Assign", line, end, targets: [nameNode(names?.definition)], value };
}

/** The new names of a node. The target of `x += 1` has two. */
interface NewNames {
  readonly use?: string;
  readonly definition?: string;
}

/** The assignments that may have given a name its value, by name. Undefined for code that is not reached. */
type Reaching = ReadonlyMap<string, ReadonlySet<number>> | undefined;

type Types = readonly Expression["types"][number][];

class LiveRanges {
  readonly #nameOf: string[] = [];
  /** A forest of assignments: those of one live range have one root, the first of them. */
  readonly #parents: number[] = [];
  readonly #definitions = new Map<object, number>();
  readonly #uses = new Map<object, number>();

  constructor(tree: FunctionTree) {
    this.#statements(tree.body, new Map(tree.params.map(({ name }) => [name, new Set([this.#assignment(name)])])));
  }

  /** The nodes that get another name. */
  names(): ReadonlyMap<object, NewNames> {
    const newNames = this.#newNames();
    const nameOf = (assignment: number | undefined): string | undefined =>
      assignment === undefined ? undefined : newNames.get(this.#rootOf(assignment));
    const nodes = new Set([...this.#uses.keys(), ...this.#definitions.keys()]);
    const entries = [...nodes].map((node) => {
      const [use, definition] = [nameOf(this.#uses.get(node)), nameOf(this.#definitions.get(node))];
      return [node, { ...(use !== undefined && { use }), ...(definition !== undefined && { definition }) }] as const;
    });
    return new Map(entries.filter(([, { use, definition }]) => use !== undefined || definition !== undefined));
  }

  /** The new name of each live range but the first ones, by its root. */
  #newNames(): ReadonlyMap<number, string> {
    const typesOf = new Map<number, Types>();
    for (const [node, assignment] of this.#uses) {
      const root = this.#rootOf(assignment);
      typesOf.set(root, [...(typesOf.get(root) ?? []), ...("types" in node ? (node.types as Types) : [])]);
    }
    const newNames = new Map<number, string>();
    const earlierTypes = new Map<string, Types[]>();
    for (const [assignment, name] of this.#nameOf.entries()) {
      if (this.#rootOf(assignment) !== assignment) continue;
      const types = typesOf.get(assignment) ?? [];
      const earlier = earlierTypes.get(name) ?? [];
      if (earlier.length > 0) newNames.set(assignment, liveRangeName(name, earlier.length, suffix(types, earlier)));
      earlierTypes.set(name, [...earlier, types]);
    }
    return newNames;
  }

  #rootOf(assignment: number): number {
    const parent = this.#parents[assignment];
    return parent === undefined || parent === assignment ? assignment : this.#rootOf(parent);
  }

  #assignment(name: string): number {
    this.#nameOf.push(name);
    return this.#parents.push(this.#parents.length) - 1;
  }

  /** Joins the live ranges of the assignments that each name in a node may read. */
  #reads(node: unknown, definitions: Reaching): void {
    if (typeof node !== "object" || node === null) return;
    if ("kind" in node && node.kind === "Name" && "id" in node) {
      const [first, ...others] = definitions?.get(String(node.id)) ?? [];
      if (first === undefined) return;
      this.#uses.set(node, first);
      for (const another of others) {
        const [x, y] = [this.#rootOf(first), this.#rootOf(another)];
        this.#parents[Math.max(x, y)] = Math.min(x, y);
      }
      return;
    }
    for (const [key, child] of Object.entries(node))
      if (key !== "types" && key !== "known" && key !== "callee") this.#reads(child, definitions);
  }

  #writes(target: Expression, definitions: Reaching): Reaching {
    if (isSequence(target))
      return target.elts.reduce<Reaching>((after, each) => this.#writes(each, after), definitions);
    if (target.kind !== "Name") this.#reads(target, definitions);
    if (target.kind !== "Name" || !definitions) return definitions;
    const assignment = this.#definitions.get(target) ?? this.#assignment(target.id);
    this.#definitions.set(target, assignment);
    return new Map([...definitions, [target.id, new Set([assignment])]]);
  }

  #statements(body: readonly Statement[], definitions: Reaching): Reaching {
    return body.reduce<Reaching>((current, statement) => this.#statement(statement, current), definitions);
  }

  #statement(statement: Statement, definitions: Reaching): Reaching {
    switch (statement.kind) {
      case "Assign":
        if (keepsItsValue(statement)) return definitions;
        this.#reads(statement.value, definitions);
        return statement.targets.reduce((after, target) => this.#writes(target, after), definitions);
      case "AnnAssign":
        this.#reads(statement.value, definitions);
        return statement.value ? this.#writes(statement.target, definitions) : definitions;
      case "AugAssign":
        this.#reads(statement.value, definitions);
        this.#reads(statement.target, definitions);
        return this.#writes(statement.target, definitions);
      case "If":
        this.#reads(statement.test, definitions);
        return join(this.#statements(statement.body, definitions), this.#statements(statement.orelse, definitions));
      case "For":
      case "While":
        return this.#loop(statement, definitions);
      case "Return":
        this.#reads(statement.value, definitions);
        return undefined;
      case "Assert":
      case "Expr":
      case "Pass":
      case "Unsupported":
        this.#reads(statement, definitions);
        return definitions;
      default:
        return statement satisfies never;
    }
  }

  /** Repeats a loop until no assignment of its body reaches its head anew. */
  #loop(statement: Extract<Statement, { kind: "For" | "While" }>, definitions: Reaching): Reaching {
    if (statement.kind === "For") this.#reads(statement.iter, definitions);
    let head = definitions;
    for (;;) {
      if (statement.kind === "While") this.#reads(statement.test, head);
      const start = statement.kind === "For" ? this.#writes(statement.target, head) : head;
      const next = join(head, this.#statements(statement.body, start));
      if (sizeOf(next) === sizeOf(head)) return next;
      head = next;
    }
  }
}

function join(x: Reaching, y: Reaching): Reaching {
  if (!x || !y) return x ?? y;
  const names = [...new Set([...x.keys(), ...y.keys()])];
  return new Map(names.map((name) => [name, new Set([...(x.get(name) ?? []), ...(y.get(name) ?? [])])]));
}

const sizeOf = (definitions: Reaching): number =>
  [...(definitions?.values() ?? [])].reduce((sum, { size }) => sum + size, 0);

/** The suffix that distinguishes a live range from the first one of its name: `2d`, `_fp32`, `_scalar`, or nothing. */
function suffix(types: Types, earlier: readonly Types[]): string {
  const [kind, ...otherKinds] = kindsOf(types);
  if (kind === undefined || otherKinds.length > 0) return "";
  const first = earlier.find((each) => kindsOf(each).has(kind));
  if (!first) return kind === "tile" && earlier.some((each) => kindsOf(each).has("pointer")) ? VALUE : "";
  const [rank] = difference(types, first, ({ shape }) => shape.length);
  if (rank !== undefined) return rank === 0 ? "_scalar" : `${rank}d`;
  const [dtype] = difference(types, first, (type) => type.dtype);
  return dtype === undefined ? "" : `_${dtype}`;
}

/** The suffix of a value whose name was a pointer's before, as in `x = tl.load(x + i)`. */
export const VALUE = "_value";

type Tile = Extract<Types[number], { readonly kind: "tile" | "pointer" }>;
const tilesOf = (types: Types): readonly Tile[] =>
  types.filter((type): type is Tile => type.kind === "tile" || type.kind === "pointer");
const kindsOf = (types: Types): ReadonlySet<Tile["kind"]> => new Set(tilesOf(types).map(({ kind }) => kind));

/** The only property that tiles have, if others do not have it alone. */
function difference<T>(types: Types, others: Types, property: (type: Tile) => T): readonly T[] {
  const [values, otherValues] = [types, others].map((each) => [...new Set(tilesOf(each).map(property))]);
  const isSame = values?.[0] === otherValues?.[0] && otherValues?.length === 1;
  return values?.length === 1 && !isSame ? values : [];
}

// Emitted kernels cast a scalar to its own dtype for Triton's interpreter. A scalar parameter of the DSL has its declared
// dtype everywhere.

/** True for `x = x`, and for `p = tl.full([], p, tl.float32)` where `p` is a float32. */
export function keepsItsValue(statement: Statement): boolean {
  if (statement.kind !== "Assign" || statement.targets.length !== 1) return false;
  const [target] = statement.targets;
  if (target?.kind !== "Name") return false;
  if (statement.value.kind === "Name") return statement.value.id === target.id;
  const source = castScalar(statement.value);
  if (source?.id !== target.id) return false;
  return source.types.length === 1 && elementOf(source) === elementOf(statement.value);
}

/** The name in `tl.full([], name, dtype)` or, of an int64, `tl.full([], name, tl.uint64).to(tl.int64)`. */
function castScalar(node: Expression): Name | undefined {
  if (node.kind !== "Call") return undefined;
  const { func, args, callee } = node;
  if (func.kind === "Attribute" && func.attr === "to" && elementOf(func.value) === "uint64")
    return elementOf(node) === "int64" ? castScalar(func.value) : undefined;
  const [shape, value] = args;
  const isScalar = callee?.what === "function" && callee.name === "tl.full" && shape !== undefined && isSequence(shape);
  return isScalar && shape.elts.length === 0 && value?.kind === "Name" ? value : undefined;
}
