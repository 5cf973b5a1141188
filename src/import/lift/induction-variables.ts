/**
 * Finds induction variables, such as `a_ptrs += BLOCK_K * stride`, and their closed form: the start value plus the
 * increment times the number of completed iterations.
 */
import { readNames, writtenNames } from "../liveness.js";
import { binaryNode, constantNode, INDEX, indexNode } from "../node-builders.js";
import type { Binary, Expression, For, Name, Statement } from "../tree.js";
import { kindOf, rankOf } from "../value.js";
import type { Env } from "./expression-parts.js";

export interface InductionVariable {
  readonly name: string;
  /** The increment statement. */
  readonly statement: Statement;
  /** The value in an iteration before the increment statement. `next` is the value after it. */
  readonly value: Expression;
  readonly next: Expression;
  /** The environment of `value` and `next`. */
  readonly env: Env;
}

/** `envBefore` is the environment before the loop, `envInside` at the start of each iteration. */
export function incrementsOf(loop: For, envBefore: Env, envInside: Env): readonly InductionVariable[] {
  const range = rangeOf(loop);
  if (!range) return [];
  const assignedNames = [...writtenNames(loop.body), range.index.id];
  const dependsOnLoop = (node: Expression): boolean =>
    [...readNames(node)].some((name) => assignedNames.includes(name));
  if ([range.start, range.step].some((bound) => bound && dependsOnLoop(bound))) return [];
  return loop.body.flatMap((statement, i): readonly InductionVariable[] => {
    const increment = incrementOf(statement);
    if (!increment) return [];
    const { name, amount, variable, isSubtraction } = increment;
    const binding = envBefore.get(name);
    if (binding && !binding.value) return [];
    const others = [...loop.body.slice(0, i), ...loop.body.slice(i + 1)];
    const incrementPerIndex = perIndex(amount, range.step);
    if (!incrementPerIndex || writtenNames(others).includes(name) || dependsOnLoop(amount) || (rankOf(amount) ?? 0) > 0)
      return [];
    const env = new Map(envInside);
    // In the closed form, the name refers to the start value.
    if (binding) env.set(name, { ...binding, isInductionVariable: true });
    else env.delete(name);
    const sum = (iterations: Expression): Expression =>
      kindOf(variable) === "pointer"
        ? binaryNode("Add", variable, scaled(iterations, incrementPerIndex), variable.types)
        : indexNode("Add", variable, scaled(iterations, incrementPerIndex));
    const { index, step = constantNode("int", 1, statement) } = range;
    const next = range.isDescending ? binaryNode("Sub", index, step, INDEX) : indexNode("Add", index, step);
    const isForward = range.isDescending === isSubtraction;
    return [
      {
        name,
        statement,
        value: sum(distanceFromStart(index, range, isForward)),
        next: sum(distanceFromStart(next, range, isForward)),
        env,
      },
    ];
  });
}

interface Increment {
  readonly name: string;
  readonly variable: Expression;
  readonly amount: Expression;
  readonly isSubtraction: boolean;
}

/** The distance of a loop index from the start of the loop, negated if not `isForward`. */
function distanceFromStart(index: Expression, { start }: Range, isForward: boolean): Expression {
  if (start) return isForward ? binaryNode("Sub", index, start, INDEX) : binaryNode("Sub", start, index, INDEX);
  return isForward ? index : indexNode("Mult", index, constantNode("int", -1, index));
}

/** `name += amount`, `name -= amount`, or `name = name + amount`. */
function incrementOf(statement: Statement): Increment | undefined {
  if (statement.kind === "AugAssign" && /^(Add|Sub)$/.test(statement.op) && statement.target.kind === "Name") {
    const { target, value, op } = statement;
    const isSubtraction = op === "Sub";
    return {
      name: target.id,
      variable: { ...target, types: typesOf(statement) },
      amount: value,
      isSubtraction,
    };
  }
  const [target] = statement.kind === "Assign" ? statement.targets : [];
  const value = statement.kind === "Assign" ? statement.value : undefined;
  if (target?.kind !== "Name" || value?.kind !== "BinOp" || value.op !== "Add") return undefined;
  const isTarget = (node: Expression): boolean => node.kind === "Name" && node.id === target.id;
  const isSubtraction = false;
  if (isTarget(value.left)) return { name: target.id, variable: value.left, amount: value.right, isSubtraction };
  return isTarget(value.right)
    ? { name: target.id, variable: value.right, amount: value.left, isSubtraction }
    : undefined;
}

const typesOf = (statement: Extract<Statement, { kind: "AugAssign" }>): Expression["types"] => statement.types;

/** An amount times a number. In a product, the leftmost factor is scaled, so that strides remain factors. */
function scaled(count: Expression, amount: Expression): Expression {
  if (amount.kind !== "BinOp" || amount.op !== "Mult") return indexNode("Mult", count, amount);
  return { ...amount, left: scaled(count, amount.left), types: INDEX } satisfies Binary;
}

interface Range {
  readonly index: Name;
  /** Absent for 0. */
  readonly start?: Expression;
  /** The absolute step. Absent for 1. */
  readonly step?: Expression;
  readonly isDescending: boolean;
}

function rangeOf({ iter, target }: For): Range | undefined {
  const isRange =
    iter.kind === "Call" && iter.callee?.what === "function" && /^(tl\.|tl\.static_)?range$/.test(iter.callee.name);
  if (!isRange || target.kind !== "Name") return undefined;
  const stepNode = iter.args[2] ?? iter.keywords.find(({ arg }) => arg === "step")?.value;
  const isDescending = stepNode?.kind === "UnaryOp" && stepNode.op === "USub";
  const step = isDescending ? stepNode.operand : stepNode;
  const start = iter.args.length > 1 ? iter.args[0] : undefined;
  const isLiteral = (node: Expression | undefined, value: number): boolean =>
    node?.kind === "Constant" && node.value === value;
  return {
    index: { ...target, types: INDEX },
    ...(start && !isLiteral(start, 0) && { start }),
    ...(step && !isLiteral(step, 1) && { step }),
    isDescending,
  };
}

/** The increment per unit of the loop index. Undefined if the amount is not a multiple of the step. */
function perIndex(amount: Expression, step: Expression | undefined): Expression | undefined {
  if (!step) return amount;
  const isStep =
    (amount.kind === "Name" && step.kind === "Name" && amount.id === step.id) ||
    (amount.kind === "Constant" && step.kind === "Constant" && amount.value === step.value);
  if (isStep) return constantNode("int", 1, amount);
  if (amount.kind !== "BinOp" || amount.op !== "Mult") return undefined;
  const lhs = perIndex(amount.left, step);
  if (lhs) return indexNode("Mult", lhs, amount.right);
  const rhs = perIndex(amount.right, step);
  return rhs && indexNode("Mult", amount.left, rhs);
}
