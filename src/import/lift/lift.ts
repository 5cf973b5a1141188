/**
 * Lifts pointer arithmetic of an imported kernel to views of tensors. An access becomes a view if each of its indices
 * has one stride. A mask condition that bounds an index determines the size of its axis. The caller must compare the
 * IR.
 */
import { disambiguateSizes } from "../launch-facts/recorded-values.js";
import { liveAtHead, liveBefore, writtenNames } from "../liveness.js";
import { isSideEffectFree } from "../op-calls.js";
import { constantNode, replaceNodes, memoizeByPosition, withArguments } from "../node-builders.js";
import type { Call, For, FunctionTree, KernelTree, Statement, While } from "../tree.js";
import { accessesOf, callArguments } from "./address-walk.js";
import type { Access } from "./expression-parts.js";
import { type LiftDecision, type LiftedTensor, Lifting, withView } from "./lifted-tensors.js";

export interface Lifted {
  /** The kernel after lifting. */
  readonly tree: KernelTree;
  readonly tensors: readonly LiftedTensor[];
  readonly accesses: readonly LiftedAccess[];
}

/** The result for an access. `line` is relative to the function. */
export interface LiftedAccess {
  readonly line: number;
  /** `load of x_ptr` */
  readonly of: string;
  readonly param: string | undefined;
  /** The reason why the access is not lifted. Undefined if it is a view. */
  readonly why: string | undefined;
}

/** Lifts the pointers in `candidates`, or all pointers. Accesses of `maskedParams` also keep their masks. */
export function liftPointers(
  tree: KernelTree,
  candidates?: ReadonlySet<string>,
  maskedParams?: ReadonlySet<string>,
): Lifted {
  const [first, ...helpers] = tree.functions;
  const kernel = memoizeByPosition(first);
  const params = callArguments(kernel, tree);
  const usedNames = new Set(kernel.params.map(({ name }) => name));
  const { tensors: liftedTensors, decisions } = new Lifting(accessesOf(kernel, params), usedNames, params, {
    candidates,
    maskedParams,
  });
  const tensors = disambiguateSizes(tree, liftedTensors, usedNames);
  const calls = new Map(
    decisions.flatMap((decision) => {
      const { access } = decision;
      if ("view" in decision) return [[access.call, withView(access, decision.view, decision.mask)]];
      return needsZeroPadding(access, tensors) ? [[access.call, withZeroPadding(access.call)]] : [];
    }),
  );
  return {
    tree: {
      ...tree,
      functions: [withoutAddresses(replaceNodes(kernel, (each) => calls.get(each as Call))), ...helpers],
    },
    tensors,
    accesses: decisions.map(toLiftedAccess).toSorted((a, b) => a.line - b.line),
  };
}

/** True for a masked load without `other` of a lifted tensor. Views pad with 0, so its other loads must do so too. */
function needsZeroPadding({ base, isStore, call }: Access, tensors: readonly LiftedTensor[]): boolean {
  const { mask, other: padding } = call.bound ?? {};
  return !isStore && mask !== undefined && padding === undefined && tensors.some(({ param }) => param === base);
}

const withZeroPadding = (call: Call): Call =>
  withArguments(call, { ...call.bound, other: constantNode("float", 0, call) });

function toLiftedAccess(decision: LiftDecision): LiftedAccess {
  const { base, unresolved, isStore, call } = decision.access;
  return {
    line: call.line,
    of: `${isStore ? "store to" : "load of"} ${base ?? unresolved?.name ?? "a pointer"}`,
    param: base,
    why: "why" in decision ? decision.why : undefined,
  };
}

/** Removes the variables that became unused. */
const withoutAddresses = (tree: FunctionTree): FunctionTree => ({ ...tree, body: withoutDead(tree.body, new Set()) });

function withoutDead(body: readonly Statement[], liveAfter: ReadonlySet<string>): readonly Statement[] {
  let live = liveAfter;
  const remaining = body.toReversed().flatMap((statement): readonly Statement[] => {
    const { kind } = statement;
    const isAssigned = kind === "Assign" || (kind === "AugAssign" && statement.target.kind === "Name");
    const isDead =
      isAssigned && isSideEffectFree(statement) && !writtenNames([statement]).some((name) => live.has(name));
    if (isDead) return [];
    const inner = live;
    live = liveBefore(
      [kind === "For" || kind === "While" ? { ...statement, body: loopBody(statement, inner) } : statement],
      live,
    );
    if (kind === "If") {
      const [body, orelse] = [withoutDead(statement.body, inner), withoutDead(statement.orelse, inner)];
      const isEmptied = body.length + orelse.length === 0 && isSideEffectFree(statement.test);
      return isEmptied ? [] : [{ ...statement, body, orelse }];
    }
    return [kind === "For" || kind === "While" ? { ...statement, body: loopBody(statement, inner) } : statement];
  });
  return remaining.toReversed();
}

/** Removes dead code from a loop body, including variables that only compute their own value for the next iteration. */
function loopBody(loop: For | While, liveAfter: ReadonlySet<string>): readonly Statement[] {
  let live = liveAfter;
  for (;;) {
    const body = withoutDead(loop.body, live);
    const next = liveAtHead({ ...loop, body }, live);
    if (next.size === live.size) return body;
    live = next;
  }
}
