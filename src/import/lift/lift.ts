/**
 * Pointer arithmetic of an imported kernel as views of tensors. An access becomes a view where each of its indices has
 * one stride, and each part of its mask that bounds an index gives that axis its size. Whoever asks compares the IR.
 */
import { liveAtHead, liveBefore, writes } from "../liveness.js";
import { onlyComputes } from "../op-calls.js";
import type { Call, Expression, FunctionTree, KernelTree, Statement } from "../tree.js";
import { accessesOf, passedBy } from "./address-walk.js";
import { type Considered, type LiftedTensor, Lifting, withView } from "./lifted-tensors.js";

export interface Lifted {
  /** The kernel with views in place of the accesses that are lifted. */
  readonly tree: KernelTree;
  readonly tensors: readonly LiftedTensor[];
  readonly accesses: readonly LiftedAccess[];
}

/** An access, by its line of the function. */
export interface LiftedAccess {
  readonly line: number;
  /** `load of x_ptr` */
  readonly of: string;
  readonly param: string | undefined;
  /** Why it stays as it is; undefined where it is a view. */
  readonly why: string | undefined;
}

/** `only` are the pointers that may become tensors. */
export function lifted(tree: KernelTree, only?: ReadonlySet<string>): Lifted {
  const [first, ...helpers] = tree.functions;
  const kernel = shared(first!);
  const accesses = accessesOf(kernel, passedBy(kernel, tree.signatures));
  const { tensors, considered } = new Lifting(accesses, new Set(kernel.params.map(({ name }) => name)), only);
  const calls = new Map(
    considered.flatMap((each) =>
      "view" in each ? [[each.access.call, withView(each.access, each.view, each.mask)]] : [],
    ),
  );
  return {
    tree: { ...tree, functions: [withoutAddresses(rewritten(kernel, calls)), ...helpers] },
    tensors,
    accesses: considered.map(described).toSorted((a, b) => a.line - b.line),
  };
}

function described(each: Considered): LiftedAccess {
  const { base, lost, isStore, call } = each.access;
  return {
    line: call.line,
    of: `${isStore ? "store to" : "load of"} ${base ?? lost?.name ?? "a pointer"}`,
    param: base,
    why: "why" in each ? each.why : undefined,
  };
}

/** A node with these calls replaced, wherever they stand. */
function rewritten<T>(node: T, calls: ReadonlyMap<unknown, Call>): T {
  const visit = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(visit);
    if (typeof each !== "object" || each === null) return each;
    return mapped(calls.get(each) ?? each, visit);
  };
  return visit(node) as T;
}

/** A function without the variables that nothing reads any more. */
const withoutAddresses = (tree: FunctionTree): FunctionTree => ({ ...tree, body: withoutDead(tree.body, new Set()) });

function withoutDead(body: readonly Statement[], after: ReadonlySet<string>): readonly Statement[] {
  let live = after;
  const kept = body.toReversed().flatMap((statement): readonly Statement[] => {
    const { kind } = statement;
    const isAssigned = kind === "Assign" || (kind === "AugAssign" && statement.target.kind === "Name");
    const isDead = isAssigned && onlyComputes(statement) && !writes([statement]).some((name) => live.has(name));
    if (isDead) return [];
    const inner = live;
    live = liveBefore([statement], live);
    switch (kind) {
      case "If":
        return [
          { ...statement, body: withoutDead(statement.body, inner), orelse: withoutDead(statement.orelse, inner) },
        ];
      case "For":
      case "While":
        return [{ ...statement, body: withoutDead(statement.body, liveAtHead(statement, inner)) }];
      default:
        return [statement];
    }
  });
  return kept.toReversed();
}

/** A function in which a call's arguments are the same nodes by their places and by their names. */
function shared(node: FunctionTree): FunctionTree {
  const visit = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(visit);
    if (typeof each !== "object" || each === null) return each;
    const made = mapped(each, visit) as Call;
    if (!("bound" in each) || !made.bound) return made;
    const receiver = made.func.kind === "Attribute" ? [made.func.value] : [];
    const all = [...receiver, ...made.args, ...made.keywords.map(({ value }) => value)];
    const given = new Map(all.map((arg) => [textOf(arg), arg]));
    const same = (arg: Expression): Expression => given.get(textOf(arg)) ?? arg;
    const bound = Object.entries(made.bound).map(([name, arg]) => [name, "kind" in arg ? same(arg) : arg.map(same)]);
    return { ...made, bound: Object.fromEntries(bound) as Call["bound"] };
  };
  return visit(node) as FunctionTree;
}

const textOf = (node: Expression): string => JSON.stringify(node);

const mapped = (node: object, visit: (each: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "types" || key === "known" ? value : visit(value)]),
  );
