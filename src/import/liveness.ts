/** Which variables of a Python function live where: what loops and branches carry. */
import type { Expression, Statement } from "./tree.js";

type Names = ReadonlySet<string>;

/** A node of the tree, seen without its kind. */
export function childrenOf(node: object): readonly object[] {
  return Object.entries(node).flatMap(([key, value]): readonly object[] => {
    // `bound` repeats the arguments, and types are no part of the tree.
    if (["types", "known", "callee", "bound", "parameters", "within"].includes(key)) return [];
    return Array.isArray(value)
      ? value.filter((each): each is object => typeof each === "object" && each !== null)
      : typeof value === "object" && value !== null
        ? [value as object]
        : [];
  });
}

/** Found once for each node: every branch and loop around it asks. */
const known = new WeakMap<object, Names>();

/** The names that an expression reads. */
export function reads(node: object | null): Names {
  if (!node) return new Set();
  let found = known.get(node);
  if (!found) {
    const own = "id" in node && typeof node.id === "string" ? [node.id] : [];
    found = union(new Set(own), ...childrenOf(node).map(reads));
    known.set(node, found);
  }
  return found;
}

/** The names that a target of an assignment writes. */
export function targetNames(target: Expression): readonly string[] {
  if (target.kind === "Name") return [target.id];
  return target.kind === "Tuple" || target.kind === "List" ? target.elts.flatMap(targetNames) : [];
}

/** The names that statements write, those inside of loops and branches too, in the order of their first writing. */
export function writes(statements: readonly Statement[]): readonly string[] {
  const found = statements.flatMap((statement): readonly string[] => {
    switch (statement.kind) {
      case "Assign":
        return statement.targets.flatMap(targetNames);
      case "AnnAssign":
        return statement.value ? targetNames(statement.target) : [];
      case "AugAssign":
        return targetNames(statement.target);
      case "For":
        return [...targetNames(statement.target), ...writes(statement.body)];
      case "While":
        return writes(statement.body);
      case "If":
        return [...writes(statement.body), ...writes(statement.orelse)];
      default:
        return [];
    }
  });
  return [...new Set(found)];
}

const union = (...sets: readonly Names[]): Names => new Set(sets.flatMap((set) => [...set]));
const without = (set: Names, names: readonly string[]): Names =>
  new Set([...set].filter((name) => !names.includes(name)));

/** The names whose values are used at the start of the statements or later; `after` are those used behind them. */
export function liveBefore(statements: readonly Statement[], after: Names): Names {
  return statements.reduceRight<Names>((live, statement) => liveBeforeOne(statement, live), after);
}

function liveBeforeOne(statement: Statement, after: Names): Names {
  switch (statement.kind) {
    case "Assign":
      return union(without(after, statement.targets.flatMap(targetNames)), reads(statement.value));
    case "AnnAssign":
      return statement.value ? union(without(after, targetNames(statement.target)), reads(statement.value)) : after;
    case "AugAssign":
      return union(after, reads(statement.target), reads(statement.value));
    case "If":
      return union(reads(statement.test), liveBefore(statement.body, after), liveBefore(statement.orelse, after));
    case "For":
    case "While":
      return liveAtLoop(statement, after);
    case "Return":
      return reads(statement.value);
    default:
      return union(after, reads(statement));
  }
}

/** Whether statements give a name a value on every way. */
export const defines = (body: readonly Statement[], name: string): boolean =>
  !liveBefore(body, new Set([name])).has(name);

/** What lives at the head of a loop, before each turn. */
export function liveAtHead(statement: Extract<Statement, { kind: "For" | "While" }>, after: Names): Names {
  const asked = statement.kind === "While" ? reads(statement.test) : new Set<string>();
  const own = statement.kind === "For" ? targetNames(statement.target) : [];
  let live = union(after, asked);
  for (;;) {
    const next = union(live, without(liveBefore(statement.body, live), own));
    if (next.size === live.size) return live;
    live = next;
  }
}

function liveAtLoop(statement: Extract<Statement, { kind: "For" | "While" }>, after: Names): Names {
  const head = liveAtHead(statement, after);
  return statement.kind === "For" ? union(head, reads(statement.iter)) : head;
}

/** The names that a statement with bodies hands on: from one turn to the next, or to what follows it. */
export function carried(statement: Statement, after: Names): readonly string[] {
  if (statement.kind === "If") return writes([statement]).filter((name) => after.has(name));
  if (statement.kind !== "For" && statement.kind !== "While") return [];
  const live = liveAtHead(statement, after);
  const own = statement.kind === "For" ? targetNames(statement.target) : [];
  return writes(statement.body).filter((name) => live.has(name) && !own.includes(name));
}

/** Whether a value, assigned before these statements, is changed by a loop or a branch among them while it lives. */
export function isChanged(name: string, rest: readonly Statement[], after: Names): boolean {
  for (const [i, statement] of rest.entries()) {
    if (!writes([statement]).includes(name)) continue;
    const isCompound = statement.kind === "If" || statement.kind === "For" || statement.kind === "While";
    if (!isCompound) return false;
    if (carried(statement, liveBefore(rest.slice(i + 1), after)).includes(name)) return true;
  }
  return false;
}
