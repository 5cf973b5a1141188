/** The arms of a Python `if` and their conditions. */
import { isDeadCode, MISSING_ARGUMENT, usesOmittedParam } from "./dead-code.js";
import type { Context } from "./context.js";
import { readNames, writtenNames } from "./liveness.js";
import { translateAnd } from "./operators.js";
import { translateCondition } from "./translate-expressions.js";
import type { Expression, If, Statement } from "./tree.js";
import { isCompileTimeConstant, truth, type Value, translateNot } from "./value.js";

export interface Arm {
  /** Undefined for the last arm, `else`. */
  readonly condition: Value | undefined;
  /** The original condition of an arm that became `else`. It is asserted in the arm. */
  readonly impliedCondition?: Value;
  readonly body: readonly Statement[];
}

export interface Arms {
  readonly arms: readonly Arm[];
  /** True if the conditions are compile-time constants for Triton. */
  readonly isCompileTime: boolean;
}

/** The arms that may run, after constant folding of their conditions. */
export function armsOf(statement: If, context: Context): Arms {
  const { arms, isCompileTime } = chainOf(statement, context);
  return { arms: isCompileTime ? reachableArms(arms, context) : arms, isCompileTime };
}

function chainOf(statement: If, context: Context): Arms {
  const arms: Arm[] = [];
  let isCompileTime: boolean | undefined;
  for (let node: If | undefined = statement; node;) {
    const condition = translateCondition(node.test, context);
    if (condition.kind === "truth") {
      leaveOutArm(condition.value ? node.orelse : node.body, node.test, context);
      if (condition.value)
        return { arms: [...arms, { condition: undefined, body: node.body }], isCompileTime: isCompileTime ?? true };
    } else {
      const isArmCompileTime = isCompileTimeConstant(condition, node.test);
      // A chain must not mix compile-time and run-time conditions, so the rest becomes a nested branch.
      if (isArmCompileTime !== (isCompileTime ?? isArmCompileTime))
        return { arms: [...arms, { condition: undefined, body: [node] }], isCompileTime: !isArmCompileTime };
      isCompileTime = isArmCompileTime;
      arms.push({ condition, body: node.body });
    }
    const [nested, ...more]: readonly Statement[] = node.orelse;
    if (nested?.kind === "If" && more.length === 0) node = nested;
    else {
      if (node.orelse.length > 0) arms.push({ condition: undefined, body: node.orelse });
      node = undefined;
    }
  }
  return { arms, isCompileTime: isCompileTime ?? true };
}

/** Records an arm that the arguments of the calls decide against. What a constant of the file decides is no choice. */
export function leaveOutArm(body: readonly Statement[], test: Expression, { scope }: Context): void {
  const { params, body: all } = scope.tree;
  const variables = new Set([...params.map(({ name }) => name), ...writtenNames(all)]);
  if ([...readNames(test)].some((name) => variables.has(name)))
    scope.leaveOutArm(body, "this arm is left out: no traced call takes it");
}

/** Removes the arms that need an omitted argument and asserts that their conditions are false. */
function reachableArms(arms: readonly Arm[], context: Context): readonly Arm[] {
  const { scope, kernel } = context;
  const remainingPaths = pathsOf(arms).filter(({ arm: { body }, condition }) => {
    if (condition.kind !== "traced") return true;
    const isAbsent = usesOmittedParam(body, context);
    const [firstStatement] = body;
    const isUnknown = !isAbsent && kernel.shouldPruneUncompiled && firstStatement !== undefined && isDeadCode(body);
    if (isUnknown)
      scope.leaveOutArm(body, `what runs if ${condition.text} is left out: Triton did not compile it for these calls`);
    if (isAbsent) scope.leaveOutArm(body, `what runs if ${condition.text} is left out: no call passes what it uses`);
    if (isAbsent || isUnknown)
      scope.refute({
        condition,
        names: writtenNames(body),
        reason: isAbsent ? MISSING_ARGUMENT : "no imported code is for this",
      });
    return !isAbsent && !isUnknown;
  });
  const remaining = remainingPaths.map(({ arm }) => arm);
  const isLastArmImplied = arms.at(-1)?.condition === undefined && remaining.at(-1)?.condition !== undefined;
  return isLastArmImplied
    ? remaining.map((arm, i) => (i === remaining.length - 1 ? { ...arm, condition: undefined } : arm))
    : remaining;
}

/** An arm, and the condition under which it runs: its own and the negation of all earlier ones. */
export interface Path {
  readonly arm: Arm;
  readonly condition: Value;
}

export function pathsOf(arms: readonly Arm[]): readonly Path[] {
  let elseCondition: Value = truth(true);
  return arms.map((arm) => {
    const { condition } = arm;
    if (!condition) return { arm, condition: elseCondition };
    const path = { arm, condition: translateAnd(elseCondition, condition) };
    elseCondition = translateAnd(elseCondition, translateNot(condition));
    return path;
  });
}

/** Adds an empty `else` if there is none. */
export const withElse = (arms: readonly Arm[]): readonly Arm[] =>
  arms.at(-1)?.condition === undefined ? arms : [...arms, { condition: undefined, body: [] }];

export function branchHeader(index: number, condition: Value | undefined, prefix: string): string {
  if (index === 0) return `${prefix}tl.when(${condition?.text ?? ""}, () => {`;
  return condition ? `}).elseWhen(${condition.text}, () => {` : "}).otherwise(() => {";
}
