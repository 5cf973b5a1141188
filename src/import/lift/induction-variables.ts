/**
 * Names that a loop moves by the same amount in each turn, `a_ptrs += BLOCK_K * stride`, and what they are in one of the
 * turns: what they start from, and that amount times the number of turns before.
 */
import { reads, writes } from "../liveness.js";
import { binary, constantOf, INDEX, ofIndices } from "../node-builders.js";
import type { Binary, Expression, For, Name, Statement } from "../tree.js";
import { kindOf, rankOf } from "../value.js";
import type { Env } from "./python-access.js";

export interface Step {
  readonly name: string;
  /** What moves it. */
  readonly statement: Statement;
  /** Its value in a turn, before that statement and behind it. */
  readonly value: Expression;
  readonly next: Expression;
  /** Where these are seen from. */
  readonly env: Env;
}

/** `before` is what names are before the loop, `inside` at the start of each turn. */
export function incrementsOf(loop: For, before: Env, inside: Env): readonly Step[] {
  const range = rangeOf(loop);
  if (!range) return [];
  const written = [...writes(loop.body), range.index.id];
  const changes = (node: Expression): boolean => [...reads(node)].some((name) => written.includes(name));
  if ([range.start, range.step].some((bound) => bound && changes(bound))) return [];
  return loop.body.flatMap((statement, i): readonly Step[] => {
    const found = amountOf(statement);
    if (!found || (before.has(found.name) && !before.get(found.name)!.value)) return [];
    const { name, amount, from, isLess } = found;
    const others = [...loop.body.slice(0, i), ...loop.body.slice(i + 1)];
    const each = perIndex(amount, range.step);
    if (!each || writes(others).includes(name) || changes(amount) || (rankOf(amount) ?? 0) > 0) return [];
    const env = new Map(inside);
    const known = before.get(name);
    // What it starts from has no name any more.
    if (known) env.set(name, { ...known, isMoved: true });
    else env.delete(name);
    const sum = (turns: Expression): Expression =>
      kindOf(from) === "pointer"
        ? binary("Add", from, scaled(turns, each), from.types)
        : ofIndices("Add", from, scaled(turns, each));
    const { index, step = constantOf("int", 1, statement) } = range;
    const next = range.isDown ? binary("Sub", index, step, INDEX) : ofIndices("Add", index, step);
    const isForward = range.isDown === isLess;
    return [
      {
        name,
        statement,
        value: sum(apart(index, range, isForward)),
        next: sum(apart(next, range, isForward)),
        env,
      },
    ];
  });
}

interface Amount {
  readonly name: string;
  readonly from: Expression;
  readonly amount: Expression;
  /** It is subtracted. */
  readonly isLess: boolean;
}

/** How far an index is from where the loop starts, or the start from the index. */
function apart(index: Expression, { start }: Range, isForward: boolean): Expression {
  if (start) return isForward ? binary("Sub", index, start, INDEX) : binary("Sub", start, index, INDEX);
  return isForward ? index : ofIndices("Mult", index, constantOf("int", -1, index));
}

/** `name += amount`, `name -= amount`, or `name = name + amount`. */
function amountOf(statement: Statement): Amount | undefined {
  if (statement.kind === "AugAssign" && /^(Add|Sub)$/.test(statement.op) && statement.target.kind === "Name") {
    const { target, value, op } = statement;
    const isLess = op === "Sub";
    return { name: target.id, from: { ...target, types: typesOf(statement) }, amount: value, isLess };
  }
  const [target] = statement.kind === "Assign" ? statement.targets : [];
  const value = statement.kind === "Assign" ? statement.value : undefined;
  if (target?.kind !== "Name" || value?.kind !== "BinOp" || value.op !== "Add") return undefined;
  const isTarget = (node: Expression): boolean => node.kind === "Name" && node.id === target.id;
  const isLess = false;
  if (isTarget(value.left)) return { name: target.id, from: value.left, amount: value.right, isLess };
  return isTarget(value.right) ? { name: target.id, from: value.right, amount: value.left, isLess } : undefined;
}

const typesOf = (statement: Extract<Statement, { kind: "AugAssign" }>): Expression["types"] => statement.types;

/** An amount times a number; a product keeps its strides. */
function scaled(times: Expression, amount: Expression): Expression {
  if (amount.kind !== "BinOp" || amount.op !== "Mult") return ofIndices("Mult", times, amount);
  return { ...amount, left: scaled(times, amount.left), types: INDEX } satisfies Binary;
}

interface Range {
  readonly index: Name;
  /** Absent for 0. */
  readonly start?: Expression;
  /** Absent for 1. What a loop that counts down takes off. */
  readonly step?: Expression;
  readonly isDown: boolean;
}

function rangeOf({ iter, target }: For): Range | undefined {
  const isRange =
    iter.kind === "Call" && iter.callee?.what === "function" && /^(tl\.|tl\.static_)?range$/.test(iter.callee.name);
  if (!isRange || target.kind !== "Name") return undefined;
  const given = iter.args[2] ?? iter.keywords.find(({ arg }) => arg === "step")?.value;
  const isDown = given?.kind === "UnaryOp" && given.op === "USub";
  const step = isDown ? given.operand : given;
  const start = iter.args.length > 1 ? iter.args[0]! : undefined;
  const is = (node: Expression | undefined, value: number): boolean =>
    node?.kind === "Constant" && node.value === value;
  return {
    index: { ...target, types: INDEX },
    ...(start && !is(start, 0) && { start }),
    ...(step && !is(step, 1) && { step }),
    isDown,
  };
}

/** What is added for each 1 that the index grows by; undefined where that is no whole number of times. */
function perIndex(amount: Expression, step: Expression | undefined): Expression | undefined {
  if (!step) return amount;
  const isStep =
    (amount.kind === "Name" && step.kind === "Name" && amount.id === step.id) ||
    (amount.kind === "Constant" && step.kind === "Constant" && amount.value === step.value);
  if (isStep) return constantOf("int", 1, amount);
  if (amount.kind !== "BinOp" || amount.op !== "Mult") return undefined;
  const left = perIndex(amount.left, step);
  if (left) return ofIndices("Mult", left, amount.right);
  const right = perIndex(amount.right, step);
  return right && ofIndices("Mult", amount.left, right);
}
