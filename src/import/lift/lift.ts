/**
 * Pointer arithmetic of an imported kernel as views of tensors. An access becomes a view where each of its indices has
 * one stride, and each part of its mask that bounds an index gives that axis its size. Whoever asks compares the IR.
 */
import { withSizesApart } from "../launch-facts/recorded-values.js";
import { liveAtHead, liveBefore, writes } from "../liveness.js";
import { onlyComputes } from "../op-calls.js";
import { constantOf } from "../node-builders.js";
import { replaceNodes, memoizeByPosition, withArguments } from "../rewrite-tree.js";
import type { Call, For, FunctionTree, KernelTree, Statement, While } from "../tree.js";
import { accessesOf, callArguments } from "./address-walk.js";
import type { Access } from "./python-access.js";
import { type LiftDecision, type LiftedTensor, Lifting, withView } from "./lifted-tensors.js";

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

/** `only` are the pointers that may become tensors; those that are `masked` keep their masks beside their views. */
export function liftPointers(tree: KernelTree, only?: ReadonlySet<string>, masked?: ReadonlySet<string>): Lifted {
  const [first, ...helpers] = tree.functions;
  const kernel = memoizeByPosition(first!);
  const passed = callArguments(kernel, tree);
  const taken = new Set(kernel.params.map(({ name }) => name));
  const { tensors: found, considered } = new Lifting(accessesOf(kernel, passed), taken, passed, { only, masked });
  const tensors = withSizesApart(tree, found, taken);
  const calls = new Map(
    considered.flatMap((each) =>
      "view" in each
        ? [[each.access.call, withView(each.access, each.view, each.mask)]]
        : leavesOpen(each.access, tensors)
          ? [[each.access.call, withZero(each.access.call)]]
          : [],
    ),
  );
  return {
    tree: {
      ...tree,
      functions: [withoutAddresses(replaceNodes(kernel, (each) => calls.get(each as Call))), ...helpers],
    },
    tensors,
    accesses: considered.map(described).toSorted((a, b) => a.line - b.line),
  };
}

/** Where a tensor has views, other lanes of a masked load hold 0; they do so for its other loads too. */
function leavesOpen({ base, isStore, call }: Access, tensors: readonly LiftedTensor[]): boolean {
  const { mask, other } = call.bound!;
  return !isStore && mask !== undefined && other === undefined && tensors.some(({ param }) => param === base);
}

const withZero = (call: Call): Call => withArguments(call, { ...call.bound, other: constantOf("float", 0, call) });

function described(each: LiftDecision): LiftedAccess {
  const { base, lost, isStore, call } = each.access;
  return {
    line: call.line,
    of: `${isStore ? "store to" : "load of"} ${base ?? lost?.name ?? "a pointer"}`,
    param: base,
    why: "why" in each ? each.why : undefined,
  };
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
    live = liveBefore(
      [kind === "For" || kind === "While" ? { ...statement, body: loopBody(statement, inner) } : statement],
      live,
    );
    switch (kind) {
      case "If": {
        const [body, orelse] = [withoutDead(statement.body, inner), withoutDead(statement.orelse, inner)];
        const isEmptied = body.length + orelse.length === 0 && onlyComputes(statement.test);
        return isEmptied ? [] : [{ ...statement, body, orelse }];
      }
      case "For":
      case "While":
        return [{ ...statement, body: loopBody(statement, inner) }];
      default:
        return [statement];
    }
  });
  return kept.toReversed();
}

/** A loop's body, where what a turn computes for the next turn alone, and for the same name, does not live. */
function loopBody(loop: For | While, after: ReadonlySet<string>): readonly Statement[] {
  let live = after;
  for (;;) {
    const body = withoutDead(loop.body, live);
    const next = liveAtHead({ ...loop, body }, live);
    if (next.size === live.size) return body;
    live = next;
  }
}
