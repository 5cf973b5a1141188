/** Statements: declarations, JavaScript's own control flow, and the ways out of a traced loop. */
import { ts } from "./typescript.js";
import { unwrap } from "./sites.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { hiddenCoercion, tracedCondition } from "../diagnostics/catalog/source-codes.js";
import { assign, narrowedScope, part, reportCondition, narrowNames } from "./expressions.js";
import { type CountedLoop, countedLoop } from "./counted-loops.js";
import { type Frame, inner, region, type Walk } from "./regions.js";
import {
  type AbstractValue,
  elementOf,
  factOf,
  type FunctionNode,
  holder,
  isTraced,
  join,
  PLAIN,
  ERROR_VALUE,
  TRACED,
  weaken,
} from "./abstract-values.js";

export function statements(walk: Walk, list: readonly ts.Statement[], frame: Frame): void {
  for (const each of list) {
    if (ts.isFunctionDeclaration(each) && each.body) {
      const value = walk.functionValue(each, frame);
      if (each.name) frame.scope.declare(each.name.text, value, frame.region);
    }
  }
  for (const each of list) statement(walk, each, frame, undefined);
}

/** `const half = N // 2;`, whose divisor is a comment: the statement ends before it without its `;`, and it has one. */
function refuseComment(walk: Walk, node: ts.Statement): void {
  const { text } = node.getSourceFile();
  const [, divisor] =
    /^[ \t]*\/\/ ?([\w.]+(?:\([\w., ]*\))?)\)*;[ \t]*(?:\r?\n|$)/.exec(text.slice(node.end, node.end + 80)) ?? [];
  if (divisor === undefined || text[node.end - 1] === ";" || text[node.end - 1] === "}") return;
  const last = ts.isVariableStatement(node) ? node.declarationList.declarations.at(-1)?.initializer : undefined;
  walk.problem(hiddenCoercion.comment(last?.getText() ?? "a", divisor), last ?? node);
}

function statement(walk: Walk, node: ts.Statement, frame: Frame, label: string | undefined): void {
  if (ts.isVariableStatement(node) || ts.isExpressionStatement(node)) refuseComment(walk, node);
  if (ts.isVariableStatement(node)) return declare(walk, node.declarationList, frame);
  if (ts.isExpressionStatement(node)) return alone(walk, node.expression, frame);
  if (ts.isBlock(node)) return walk.statements(node.statements, inner(frame));
  if (ts.isIfStatement(node)) return branch(walk, node, frame);
  if (ts.isForOfStatement(node)) return forOf(walk, node, frame, label);
  if (ts.isReturnStatement(node)) {
    if (node.expression) frame.call.returns.push(walk.evaluate(node.expression, frame));
    else frame.call.returns.push(PLAIN);
    if (frame.call.targets.some((target) => target.kind === "traced")) {
      walk.problem(earlyExit.return(), node);
    }
    return;
  }
  if (ts.isBreakStatement(node) || ts.isContinueStatement(node)) return leave(walk, node, frame);
  if (ts.isLabeledStatement(node)) return statement(walk, node.statement, frame, node.label.text);
  if (ts.isExportAssignment(node) || ts.isThrowStatement(node)) return void walk.evaluate(node.expression, frame);
  if (ts.isClassDeclaration(node)) return members(walk, node, frame);
  if (ts.isTryStatement(node)) {
    for (const block of [node.tryBlock, node.catchClause?.block, node.finallyBlock]) {
      if (block) walk.statements(block.statements, inner(frame));
    }
    return;
  }
  if (ts.isSwitchStatement(node)) return choose(walk, node, frame, label);
  if (ts.isIterationStatement(node, false)) plainLoop(walk, node, frame, label);
}

/** An expression whose value nothing takes. */
function alone(walk: Walk, node: ts.Expression, frame: Frame): void {
  walk.evaluate(node, frame);
  const called = unwrap(node);
  if (!ts.isCallExpression(called)) return;
  const callee = walk.callees.get(called);
  const isGenerator = callee?.kind === "function" && "asteriskToken" in callee.node && callee.node.asteriskToken;
  // At the top of a file a generator may be anything; in a kernel it is part of what is traced.
  if (isGenerator && frame.region) walk.problem(earlyExit.generator(), called);
}

function declare(walk: Walk, list: ts.VariableDeclarationList, frame: Frame): void {
  for (const { name, initializer, type } of list.declarations) {
    const given = initializer ? walk.evaluate(initializer, frame) : PLAIN;
    // Once its operators are methods, the name holds a value of the program.
    const value = given === ERROR_VALUE ? TRACED : given;
    if (value.kind === "range" && ts.isArrayBindingPattern(name)) {
      walk.problem(earlyExit.collected(), name);
    }
    // An annotation only tells what may be absent; otherwise the initializer decides.
    const declared = walk.annotated(type, undefined);
    const uncertain = type && declared.kind === "traced" && !isTraced(declared);
    walk.bind(name, uncertain ? weaken(value) : value.kind === "plain" && initializer ? declared : value, frame);
  }
}

/** Declares the names of a pattern with their parts of the value. */
export function bind(walk: Walk, name: ts.BindingName, value: AbstractValue, frame: Frame): void {
  if (ts.isIdentifier(name)) return frame.scope.declare(name.text, value, frame.region);
  name.elements.forEach((each, index) => {
    if (ts.isOmittedExpression(each)) return;
    const key = each.propertyName ?? each.name;
    const text = ts.isArrayBindingPattern(name) ? String(index) : ts.isIdentifier(key) ? key.text : key.getText();
    const taken = each.dotDotDotToken
      ? restOf(value, index, ts.isArrayBindingPattern(name))
      : (factOf(value, text, each) ?? part(value, text));
    const fallback = each.initializer && walk.evaluate(each.initializer, frame);
    walk.bind(each.name, fallback ? join(taken, fallback) : taken, frame);
  });
}

function restOf(value: AbstractValue, from: number, isArray: boolean): AbstractValue {
  if (value.kind !== "holder") return value.kind === "traced" ? holder(new Map(), value) : value;
  if (!isArray || value.fields.size === 0) return value;
  return holder(
    new Map([...value.fields.values()].slice(from).map((each, index) => [String(index), each])),
    value.rest,
  );
}

function branch(walk: Walk, node: ts.IfStatement, frame: Frame): void {
  walk.condition(node.expression, tracedCondition.if(), frame);
  const arm = narrowedScope(node.expression, frame);
  statement(walk, node.thenStatement, inner(arm), undefined);
  if (node.elseStatement) statement(walk, node.elseStatement, inner(arm), undefined);
  // `if (isPlain(x)) return …;` decides about everything below it, too.
  narrowNames(reportCondition(node.expression), frame);
}

function forOf(walk: Walk, node: ts.ForOfStatement, frame: Frame, label: string | undefined): void {
  const list = walk.evaluate(node.expression, frame);
  const traced = list.kind === "range";
  const body = inner(frame, traced ? region("loop", frame.region) : frame.region);
  const value = traced ? TRACED : elementOf(list);
  if (!ts.isVariableDeclarationList(node.initializer)) assign(walk, node.initializer, value, body);
  else for (const { name } of node.initializer.declarations) walk.bind(name, value, body);
  within(frame, traced ? "traced" : "plain", label, () => statement(walk, node.statement, body, undefined));
}

function plainLoop(walk: Walk, node: ts.IterationStatement, frame: Frame, label: string | undefined): void {
  const place = inner(frame);
  if (ts.isForStatement(node)) {
    const { initializer, condition, incrementor } = node;
    if (initializer && ts.isVariableDeclarationList(initializer)) declare(walk, initializer, place);
    else if (initializer) walk.evaluate(initializer, place);
    const counted = countedLoop(node);
    if (counted && countsTraced(walk, counted, place)) {
      const text = `${counted.head} ${node.statement.getText()}`;
      walk.problem(tracedCondition.counted(counted.head), node, { node, text });
    } else {
      if (condition) walk.condition(condition, tracedCondition.for(), place);
      if (incrementor) walk.evaluate(incrementor, place);
    }
  } else if (ts.isWhileStatement(node) || ts.isDoStatement(node)) {
    walk.condition(node.expression, tracedCondition.while(), place);
  } else if (ts.isForInStatement(node)) {
    const list = walk.evaluate(node.expression, place);
    if (list.kind === "range" || isTraced(list)) walk.problem(tracedCondition.forIn(), node);
    if (ts.isVariableDeclarationList(node.initializer)) declare(walk, node.initializer, place);
  }
  within(frame, "plain", label, () => statement(walk, node.statement, place, undefined));
}

/** Whether a bound or the step is a value of the program, so that JavaScript cannot count. */
function countsTraced(walk: Walk, { numbers }: CountedLoop, frame: Frame): boolean {
  return numbers.some((each) => isTraced(walk.evaluate(each, frame)));
}

function choose(walk: Walk, node: ts.SwitchStatement, frame: Frame, label: string | undefined): void {
  const check = (expression: ts.Expression): void => {
    const value = walk.evaluate(expression, frame);
    walk.compared(value, expression, "switch");
    if (isTraced(value)) walk.problem(tracedCondition.switch(), expression);
  };
  check(node.expression);
  const place = narrowedScope(node.expression, inner(frame));
  within(frame, "switch", label, () => {
    for (const clause of node.caseBlock.clauses) {
      if (ts.isCaseClause(clause)) check(clause.expression);
      walk.statements(clause.statements, place);
    }
  });
}

function within(
  { call }: Frame,
  kind: "traced" | "plain" | "switch",
  label: string | undefined,
  body: () => void,
): void {
  call.targets.push({ kind, label });
  body();
  call.targets.pop();
}

/** `break` and `continue`: refused if they leave a traced loop, directly or on the way. */
function leave(walk: Walk, node: ts.BreakOrContinueStatement, frame: Frame): void {
  const kind = ts.isBreakStatement(node) ? "break" : "continue";
  for (const target of [...frame.call.targets].reverse()) {
    const isTarget = node.label ? target.label === node.label.text : kind === "break" || target.kind !== "switch";
    if (target.kind === "traced") {
      return walk.problem(isTarget && kind === "continue" ? earlyExit.continue() : earlyExit.break(kind), node);
    }
    if (isTarget) return;
  }
}

function members(walk: Walk, node: ts.ClassDeclaration, frame: Frame): void {
  for (const each of node.members) {
    if (ts.isMethodDeclaration(each) && each.body) walk.functionValue(each as FunctionNode, frame);
    if (ts.isPropertyDeclaration(each) && each.initializer) walk.evaluate(each.initializer, frame);
  }
}
