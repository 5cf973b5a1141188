/**
 * Rules of ruff that a kernel violates for a reason: its statements follow the author's, and Triton does not support
 * the form that ruff suggests.
 */
import * as py from "./py-build.js";
import {
  type Block,
  type Expression,
  type FunctionDef,
  type If,
  type Statement,
  type Unary,
  eachNode,
  type Name,
} from "./py.js";

/** The rules, each with its reason and a test for nodes that violate it. */
const EXCEPTIONS: readonly {
  readonly rule: string;
  readonly reason: string;
  readonly isBroken: (node: Expression | Statement) => boolean;
}[] = [
  {
    rule: "PLR0124",
    reason: "NaN alone differs from itself",
    isBroken: (node) =>
      node.kind === "compare" && node.comparisons.length === 1 && isSame(node.first, node.comparisons[0]?.operand),
  },
  {
    rule: "PLW0127",
    reason: "a branch keeps what a variable holds",
    isBroken: (node) => node.kind === "assign" && node.targets.some((target) => isSame(target, node.value)),
  },
  {
    rule: "SIM102",
    reason: "Triton decides one condition after the other",
    isBroken: (node) => isIf(node) && isNestedIf(node),
  },
  {
    rule: "SIM113",
    reason: "Triton has no enumerate",
    isBroken: (node) => node.kind === "function" && hasManualCounter(node),
  },
  {
    rule: "SIM114",
    reason: "branches are those of the author",
    isBroken: (node) => isIf(node) && hasEqualBranches(node),
  },
  {
    rule: "SIM208",
    reason: "conditions are those of the author",
    isBroken: (node) => isNot(node) && isNot(node.operand),
  },
];

/** The `noqa` comment for the rules that a module violates. Empty if there are none. */
export function lintExceptions(statements: Block): Block {
  const brokenRules = new Set<string>();
  eachNode(statements, (node) => {
    for (const { rule, isBroken } of EXCEPTIONS) if (isBroken(node)) brokenRules.add(rule);
  });
  const exceptions = EXCEPTIONS.filter(({ rule }) => brokenRules.has(rule));
  if (exceptions.length === 0) return [];
  const reasons = exceptions.map(({ rule, reason }) => `${rule}: ${reason}`).join("; ");
  return [py.comment(`${reasons}.\nruff: noqa: ${exceptions.map(({ rule }) => rule).join(", ")}`), py.blank];
}

function isSame(x: Expression, y: Expression | undefined): boolean {
  return x.kind === "name" && y?.kind === "name" && x.id === y.id;
}

const isIf = (node: Expression | Statement): node is If => node.kind === "if";
const isNot = (node: Expression | Statement): node is Unary => node.kind === "unary" && node.operator === "not";

/** True if the last branch contains only another `if`. */
function isNestedIf({ branches, otherwise }: If): boolean {
  const [inner, extra] = branches.at(-1)?.body ?? [];
  return !otherwise && !extra && inner?.kind === "if" && inner.branches.length === 1 && !inner.otherwise;
}

/** True if a loop counts its iterations in a variable that starts at 0 and has no other use. */
function hasManualCounter({ body }: FunctionDef): boolean {
  const loops = body.filter((statement) => statement.kind === "for");
  return loops.some((loop) =>
    loop.body.some((step) => {
      if (step.kind !== "augmentedAssign" || step.operator !== "+" || step.target.kind !== "name") return false;
      const { id } = step.target;
      const uses = (tree: unknown): number => {
        let count = 0;
        eachNode(tree, (node) => (count += node.kind === "name" && node.id === id ? 1 : 0));
        return count;
      };
      const isOne = step.value.kind === "number" && step.value.text === "1";
      return isOne && uses(body) - uses(loop) === 1 && body.some((statement) => isZero(statement, id));
    }),
  );
}

function isZero(statement: Statement, id: string): boolean {
  if (statement.kind !== "assign" || statement.value?.kind !== "number") return false;
  return statement.value.text === "0" && statement.targets.some((target) => target.kind === "name" && target.id === id);
}

/** True if two consecutive branches are equal. */
function hasEqualBranches({ branches }: If): boolean {
  const texts = branches.map(({ body }) =>
    JSON.stringify(body, (key, value: unknown) => (key === "origin" ? "" : value)),
  );
  return texts.some((text, i) => text === texts[i + 1]);
}

/**
 * Replaces unused targets of `M, N = x.shape` by `_`, and removes unused assignments such as `N = x.shape[0]`.
 */
export function withoutUnusedSizes(body: Block): Block {
  const uses = new Map<string, number>();
  eachNode(body, (node) => {
    if (node.kind === "name") uses.set(node.id, (uses.get(node.id) ?? 0) + 1);
  });
  // An unused name occurs only in its own assignment.
  const isUnused = (target: { readonly kind: string }): boolean => isName(target) && uses.get(target.id) === 1;
  const replaceUnused = <E extends { readonly kind: string }>(target: E): E | Expression =>
    isUnused(target) ? py.name("_") : target;
  return body.flatMap((statement) => {
    if (statement.kind !== "assign" || statement.value === undefined) return [statement];
    const { targets: assignedTargets, value } = statement;
    if (value.kind === "subscript" && isShape(value.value)) return assignedTargets.every(isUnused) ? [] : [statement];
    if (!isShape(value)) return [statement];
    if (assignedTargets.every((target) => target.kind === "tuple" && target.items.every(isUnused))) return [];
    const targets = assignedTargets.map((target) =>
      target.kind === "tuple" ? py.tuple(...target.items.map(replaceUnused)) : target,
    );
    return [{ ...statement, targets }];
  });
}

const isShape = (value: Expression | undefined): boolean => value?.kind === "attribute" && value.name === "shape";

const isName = (node: { readonly kind: string }): node is Name => node.kind === "name";
