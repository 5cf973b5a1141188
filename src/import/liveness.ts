/** Liveness analysis of a Python function, and its loop-carried variables. */
import { type Expression, isSequence, type Statement } from "./tree.js";

type Names = ReadonlySet<string>;

/** The child nodes of any node. */
export function childrenOf(node: object): readonly object[] {
  return Object.entries(node).flatMap(([key, value]): readonly object[] => {
    // `bound` repeats the arguments. The other keys contain metadata, not syntax.
    if (["types", "known", "callee", "bound", "parameters", "within"].includes(key)) return [];
    return [value].flat().filter((child): child is object => typeof child === "object" && child !== null);
  });
}

/** Cached per node, because every enclosing branch and loop needs the names. */
const readsCache = new WeakMap<object, Names>();

/** The names that a node reads. */
export function readNames(node: object | null): Names {
  if (!node) return new Set();
  let names = readsCache.get(node);
  if (!names) {
    const id = "id" in node && typeof node.id === "string" ? [node.id] : [];
    names = union(new Set(id), ...childrenOf(node).map(readNames));
    readsCache.set(node, names);
  }
  return names;
}

/** The names that an assignment target writes. */
export function targetNames(target: Expression): readonly string[] {
  if (target.kind === "Name") return [target.id];
  return isSequence(target) ? target.elts.flatMap(targetNames) : [];
}

/** The names of `i = a` and `i, j = a, b`, with their values. Undefined for other targets and values. */
export function assignedNames({
  targets,
  value,
}: Extract<Statement, { kind: "Assign" }>): readonly (readonly [string, Expression])[] | undefined {
  const [target, ...others] = targets;
  if (!target || others.length > 0) return undefined;
  if (target.kind === "Name") return [[target.id, value]];
  if (!isSequence(target) || !isSequence(value) || target.elts.length !== value.elts.length) return undefined;
  const pairs = value.elts.flatMap((each, i) => {
    const name = target.elts[i];
    return name?.kind === "Name" ? [[name.id, each] as const] : [];
  });
  return pairs.length === value.elts.length ? pairs : undefined;
}

/** The names that statements write, including nested statements, in the order of their first assignment. */
export function writtenNames(statements: readonly Statement[]): readonly string[] {
  const names = statements.flatMap((statement): readonly string[] => {
    switch (statement.kind) {
      case "Assign":
        return statement.targets.flatMap(targetNames);
      case "AnnAssign":
        return statement.value ? targetNames(statement.target) : [];
      case "AugAssign":
        return targetNames(statement.target);
      case "For":
        return [...targetNames(statement.target), ...writtenNames(statement.body)];
      case "While":
        return writtenNames(statement.body);
      case "If":
        return [...writtenNames(statement.body), ...writtenNames(statement.orelse)];
      case "Assert":
      case "Unsupported":
      case "Expr":
      case "Pass":
      case "Return":
        return [];
      default:
        return statement satisfies never;
    }
  });
  return [...new Set(names)];
}

const union = (...sets: readonly Names[]): Names => new Set(sets.flatMap((set) => [...set]));
const without = (set: Names, names: readonly string[]): Names =>
  new Set([...set].filter((name) => !names.includes(name)));

/** The live names before the statements, given the live names after them. */
export function liveBefore(statements: readonly Statement[], liveAfter: Names): Names {
  return statements.reduceRight<Names>((live, statement) => liveBeforeOne(statement, live), liveAfter);
}

/** Cached per set of live names, because the translation asks for each rest of a block again. */
const liveCache = new WeakMap<Statement, WeakMap<Names, Names>>();

function liveBeforeOne(statement: Statement, liveAfter: Names): Names {
  const results = liveCache.get(statement) ?? new WeakMap<Names, Names>();
  const live = results.get(liveAfter) ?? computeLive(statement, liveAfter);
  liveCache.set(statement, results.set(liveAfter, live));
  return live;
}

function computeLive(statement: Statement, liveAfter: Names): Names {
  switch (statement.kind) {
    case "Assign":
      return union(without(liveAfter, statement.targets.flatMap(targetNames)), readNames(statement.value));
    case "AnnAssign":
      return statement.value
        ? union(without(liveAfter, targetNames(statement.target)), readNames(statement.value))
        : liveAfter;
    case "AugAssign":
      return union(liveAfter, readNames(statement.target), readNames(statement.value));
    case "If":
      return union(
        readNames(statement.test),
        liveBefore(statement.body, liveAfter),
        liveBefore(statement.orelse, liveAfter),
      );
    case "For":
    case "While":
      return liveAtLoop(statement, liveAfter);
    case "Return":
      return readNames(statement.value);
    case "Assert":
    case "Unsupported":
    case "Expr":
    case "Pass":
      return union(liveAfter, readNames(statement));
    default:
      return statement satisfies never;
  }
}

/** True if the statements assign a name on every path. */
export const defines = (body: readonly Statement[], name: string): boolean =>
  !liveBefore(body, new Set([name])).has(name);

/** The live names at the head of a loop, before each iteration (fixed point). */
export function liveAtHead(loop: Extract<Statement, { kind: "For" | "While" }>, liveAfter: Names): Names {
  const conditionReads = loop.kind === "While" ? readNames(loop.test) : new Set<string>();
  const targets = loop.kind === "For" ? targetNames(loop.target) : [];
  let live = union(liveAfter, conditionReads);
  for (;;) {
    const next = union(live, without(liveBefore(loop.body, live), targets));
    if (next.size === live.size) return live;
    live = next;
  }
}

function liveAtLoop(loop: Extract<Statement, { kind: "For" | "While" }>, liveAfter: Names): Names {
  const head = liveAtHead(loop, liveAfter);
  return loop.kind === "For" ? union(head, readNames(loop.iter)) : head;
}

/** The names that a loop carries between iterations or a branch assigns for later statements. */
export function loopCarriedNames(statement: Statement, liveAfter: Names): readonly string[] {
  if (statement.kind === "If") return writtenNames([statement]).filter((name) => liveAfter.has(name));
  if (statement.kind !== "For" && statement.kind !== "While") return [];
  const live = liveAtHead(statement, liveAfter);
  const targets = statement.kind === "For" ? targetNames(statement.target) : [];
  return writtenNames(statement.body).filter((name) => live.has(name) && !targets.includes(name));
}

/** True if a loop or a branch among these statements changes the name while its current value is live. */
export function isReassignedInBlock(name: string, following: readonly Statement[], liveAfter: Names): boolean {
  for (const [i, statement] of following.entries()) {
    if (!writtenNames([statement]).includes(name)) continue;
    const isCompound = statement.kind === "If" || statement.kind === "For" || statement.kind === "While";
    if (!isCompound) return false;
    if (loopCarriedNames(statement, liveBefore(following.slice(i + 1), liveAfter)).includes(name)) return true;
  }
  return false;
}
