/** Walks statements: declarations, JavaScript control flow, and jumps out of traced loops. */
import { ts } from "./typescript.js";
import { unwrap } from "./sites.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { hiddenCoercion, tracedCondition } from "../diagnostics/catalog/source-codes.js";
import { assign, narrowedFrame, patternValue, testedNames, narrowNames } from "./expressions.js";
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
  region,
} from "./abstract-values.js";
import { type Frame, innerFrame, type Walk } from "./walk.js";

export function walkStatements(walk: Walk, list: readonly ts.Statement[], frame: Frame): void {
  for (const node of list) {
    if (ts.isFunctionDeclaration(node) && node.body) {
      const value = walk.functionValue(node, frame);
      if (node.name) frame.scope.declare(node.name.text, value, frame.region);
    }
  }
  for (const each of list) walkStatement(walk, each, frame, undefined);
}

/**
 * Reports `const half = N // 2;`, in which the divisor is a comment. The statement ends before the comment and lacks
 * its `;`, which the comment contains.
 */
function checkFloorDivComment(walk: Walk, node: ts.Statement): void {
  const { text } = node.getSourceFile();
  const [, divisor] =
    /^[ \t]*\/\/ ?([\w.]+(?:\([\w., ]*\))?)\)*;[ \t]*(?:\r?\n|$)/.exec(text.slice(node.end, node.end + 80)) ?? [];
  if (divisor === undefined || text[node.end - 1] === ";" || text[node.end - 1] === "}") return;
  const last = ts.isVariableStatement(node) ? node.declarationList.declarations.at(-1)?.initializer : undefined;
  walk.reportError(hiddenCoercion.comment(last?.getText() ?? "a", divisor), last ?? node);
}

function walkStatement(walk: Walk, node: ts.Statement, frame: Frame, label: string | undefined): void {
  if (ts.isVariableStatement(node) || ts.isExpressionStatement(node)) checkFloorDivComment(walk, node);
  if (ts.isVariableStatement(node)) return declareVariables(walk, node.declarationList, frame);
  if (ts.isExpressionStatement(node)) return walkExpressionStatement(walk, node.expression, frame);
  if (ts.isBlock(node)) return walk.walkStatements(node.statements, innerFrame(frame));
  if (ts.isIfStatement(node)) return walkIf(walk, node, frame);
  if (ts.isForOfStatement(node)) return walkForOf(walk, node, frame, label);
  if (ts.isReturnStatement(node)) return walkReturn(walk, node, frame);
  if (ts.isBreakStatement(node) || ts.isContinueStatement(node)) return checkJump(walk, node, frame);
  if (ts.isLabeledStatement(node)) return walkStatement(walk, node.statement, frame, node.label.text);
  if (ts.isExportAssignment(node) || ts.isThrowStatement(node)) return void walk.evaluate(node.expression, frame);
  if (ts.isClassDeclaration(node)) return walkMembers(walk, node, frame);
  if (ts.isTryStatement(node)) return walkTry(walk, node, frame);
  if (ts.isSwitchStatement(node)) return walkSwitch(walk, node, frame, label);
  if (ts.isIterationStatement(node, false)) walkLoop(walk, node, frame, label);
}

function walkReturn(walk: Walk, node: ts.ReturnStatement, frame: Frame): void {
  frame.call.returns.push(node.expression ? walk.evaluate(node.expression, frame) : PLAIN);
  if (frame.call.targets.some((target) => target.kind === "traced")) walk.reportError(earlyExit.return(), node);
}

function walkTry(walk: Walk, { tryBlock, catchClause, finallyBlock }: ts.TryStatement, frame: Frame): void {
  for (const block of [tryBlock, catchClause?.block, finallyBlock])
    if (block) walk.walkStatements(block.statements, innerFrame(frame));
}

/** Walks an expression statement. Its value is unused, so the call of a generator has no effect. */
function walkExpressionStatement(walk: Walk, node: ts.Expression, frame: Frame): void {
  walk.evaluate(node, frame);
  const call = unwrap(node);
  if (!ts.isCallExpression(call)) return;
  const callee = walk.callees.get(call);
  const isGenerator = callee?.kind === "function" && "asteriskToken" in callee.node && callee.node.asteriskToken;
  // At module level a generator may be anything; in a kernel it is part of the traced code.
  if (isGenerator && frame.region) walk.reportError(earlyExit.generator(), call);
}

function declareVariables(walk: Walk, list: ts.VariableDeclarationList, frame: Frame): void {
  for (const { name, initializer, type } of list.declarations) {
    const initial = initializer ? walk.evaluate(initializer, frame) : PLAIN;
    // After the fix, the variable contains a value of the program.
    const value = initial === ERROR_VALUE ? TRACED : initial;
    if (value.kind === "range" && ts.isArrayBindingPattern(name)) {
      walk.reportError(earlyExit.collected(), name);
    }
    // The initializer determines the value. An annotation adds only that it may be absent.
    const declared = walk.applyAnnotation(type, undefined);
    const isUncertain = type && declared.kind === "traced" && !isTraced(declared);
    const isPlain = value.kind === "plain" && initializer !== undefined;
    const known = isPlain && !isUncertain ? declared : value;
    walk.bind(name, isUncertain ? weaken(known) : known, frame);
  }
}

/** Declares the names of a pattern with the matching parts of the value. */
export function bind(walk: Walk, name: ts.BindingName, value: AbstractValue, frame: Frame): void {
  if (ts.isIdentifier(name)) return frame.scope.declare(name.text, value, frame.region);
  name.elements.forEach((element, index) => {
    if (ts.isOmittedExpression(element)) return;
    const key = element.propertyName ?? element.name;
    const keyText = ts.isIdentifier(key) ? key.text : key.getText();
    const text = ts.isArrayBindingPattern(name) ? String(index) : keyText;
    const elementValue = element.dotDotDotToken
      ? restOf(value, index, ts.isArrayBindingPattern(name))
      : (factOf(value, text, element) ?? patternValue(value, text));
    const fallback = element.initializer && walk.evaluate(element.initializer, frame);
    walk.bind(element.name, fallback ? join(elementValue, fallback) : elementValue, frame);
  });
}

function restOf(value: AbstractValue, start: number, isArray: boolean): AbstractValue {
  if (value.kind !== "holder") return value.kind === "traced" ? holder(new Map(), value) : value;
  if (!isArray || value.fields.size === 0) return value;
  return holder(
    new Map([...value.fields.values()].slice(start).map((each, index) => [String(index), each])),
    value.summary,
  );
}

function walkIf(walk: Walk, node: ts.IfStatement, frame: Frame): void {
  walk.evaluateCondition(node.expression, tracedCondition.if(), frame);
  const arm = narrowedFrame(node.expression, frame);
  walkStatement(walk, node.thenStatement, innerFrame(arm), undefined);
  if (node.elseStatement) walkStatement(walk, node.elseStatement, innerFrame(arm), undefined);
  // `if (isPlain(x)) return …;` narrows the statements below it, too.
  narrowNames(testedNames(node.expression), frame);
}

function walkForOf(walk: Walk, node: ts.ForOfStatement, frame: Frame, label: string | undefined): void {
  const list = walk.evaluate(node.expression, frame);
  const isTracedLoop = list.kind === "range";
  const body = innerFrame(frame, isTracedLoop ? region("loop", frame.region) : frame.region);
  const value = isTracedLoop ? TRACED : elementOf(list);
  if (!ts.isVariableDeclarationList(node.initializer)) assign(walk, node.initializer, value, body);
  else for (const { name } of node.initializer.declarations) walk.bind(name, value, body);
  withTarget(frame, isTracedLoop ? "traced" : "plain", label, () =>
    walkStatement(walk, node.statement, body, undefined),
  );
}

function walkLoop(walk: Walk, node: ts.IterationStatement, frame: Frame, label: string | undefined): void {
  const loopFrame = innerFrame(frame);
  if (ts.isForStatement(node)) {
    const { initializer, condition, incrementor } = node;
    if (initializer && ts.isVariableDeclarationList(initializer)) declareVariables(walk, initializer, loopFrame);
    else if (initializer) walk.evaluate(initializer, loopFrame);
    const loop = countedLoop(node);
    if (loop && hasTracedBound(walk, loop, loopFrame)) {
      const text = `${loop.head} ${node.statement.getText()}`;
      walk.reportError(tracedCondition.counted(loop.head), node, { node, text });
    } else {
      if (condition) walk.evaluateCondition(condition, tracedCondition.for(), loopFrame);
      if (incrementor) walk.evaluate(incrementor, loopFrame);
    }
  } else if (ts.isWhileStatement(node) || ts.isDoStatement(node)) {
    walk.evaluateCondition(node.expression, tracedCondition.while(), loopFrame);
  } else if (ts.isForInStatement(node)) {
    const list = walk.evaluate(node.expression, loopFrame);
    if (list.kind === "range" || isTraced(list)) walk.reportError(tracedCondition.forIn(), node);
    if (ts.isVariableDeclarationList(node.initializer)) declareVariables(walk, node.initializer, loopFrame);
  }
  withTarget(frame, "plain", label, () => walkStatement(walk, node.statement, loopFrame, undefined));
}

/** True if a bound or the step is traced, so that JavaScript cannot count. */
function hasTracedBound(walk: Walk, { numbers }: CountedLoop, frame: Frame): boolean {
  return numbers.some((each) => isTraced(walk.evaluate(each, frame)));
}

function walkSwitch(walk: Walk, node: ts.SwitchStatement, frame: Frame, label: string | undefined): void {
  const check = (expression: ts.Expression): void => {
    const value = walk.evaluate(expression, frame);
    walk.recordComparison(value, expression, "switch");
    if (isTraced(value)) walk.reportError(tracedCondition.switch(), expression);
  };
  check(node.expression);
  const caseFrame = narrowedFrame(node.expression, innerFrame(frame));
  withTarget(frame, "switch", label, () => {
    for (const clause of node.caseBlock.clauses) {
      if (ts.isCaseClause(clause)) check(clause.expression);
      walk.walkStatements(clause.statements, caseFrame);
    }
  });
}

function withTarget(
  { call }: Frame,
  kind: "traced" | "plain" | "switch",
  label: string | undefined,
  body: () => void,
): void {
  call.targets.push({ kind, label });
  body();
  call.targets.pop();
}

/** Reports `break` and `continue` that leave a traced loop, directly or through inner loops. */
function checkJump(walk: Walk, node: ts.BreakOrContinueStatement, frame: Frame): void {
  const kind = ts.isBreakStatement(node) ? "break" : "continue";
  for (const target of [...frame.call.targets].reverse()) {
    const isTarget = node.label ? target.label === node.label.text : kind === "break" || target.kind !== "switch";
    if (target.kind === "traced") {
      return walk.reportError(isTarget && kind === "continue" ? earlyExit.continue() : earlyExit.break(kind), node);
    }
    if (isTarget) return;
  }
}

function walkMembers(walk: Walk, node: ts.ClassDeclaration, frame: Frame): void {
  for (const member of node.members) {
    if (ts.isMethodDeclaration(member) && member.body) walk.functionValue(member as FunctionNode, frame);
    if (ts.isPropertyDeclaration(member) && member.initializer) walk.evaluate(member.initializer, frame);
  }
}

// Recognizes counted JavaScript loops, `for (let k = 0; k < K; k += BLOCK)`, and formats the equivalent `tl.range`
// loop.

const K = ts.SyntaxKind;

interface CountedLoop {
  /** The bounds and the step. */
  readonly numbers: readonly ts.Expression[];
  /** `for (const k of tl.range(0, K, BLOCK))` */
  readonly head: string;
}

/** The parts of a loop that counts one variable up to a bound; undefined for any other loop. */
function countedLoop({ initializer, condition, incrementor }: ts.ForStatement): CountedLoop | undefined {
  if (!initializer || !ts.isVariableDeclarationList(initializer) || initializer.declarations.length !== 1)
    return undefined;
  const [{ name, initializer: start }] = initializer.declarations as unknown as [ts.VariableDeclaration];
  if (!ts.isIdentifier(name) || !start || !condition || !ts.isBinaryExpression(condition)) return undefined;
  const isName = (node: ts.Expression): boolean => ts.isIdentifier(node) && node.text === name.text;
  const { operatorToken, left: lhs, right: bound } = condition;
  const isInclusive = operatorToken.kind === K.LessThanEqualsToken;
  if (!isName(lhs) || !(isInclusive || operatorToken.kind === K.LessThanToken)) return undefined;
  const step = stepOf(incrementor, isName);
  if (step === "other") return undefined;
  // `K / BLOCK` iterations: one per block.
  const blocks = ts.isBinaryExpression(bound) && bound.operatorToken.kind === K.SlashToken ? bound : undefined;
  const text = blocks ? `tl.cdiv(${blocks.left.getText()}, ${blocks.right.getText()})` : bound.getText();
  const end = isInclusive ? `${text}.add(1)` : text;
  const bounds = [start.getText(), end, ...(step ? [step.getText()] : [])];
  const ends = blocks ? [blocks.left, blocks.right] : [bound];
  return {
    numbers: [start, ...ends, ...(step ? [step] : [])],
    head: `for (const ${name.text} of tl.range(${bounds.join(", ")}))`,
  };
}

/** The step of an incrementor; undefined for 1, or "other" if the incrementor is not a sum. */
function stepOf(
  node: ts.Expression | undefined,
  isName: (node: ts.Expression) => boolean,
): ts.Expression | undefined | "other" {
  if (!node) return "other";
  if (ts.isPostfixUnaryExpression(node) || ts.isPrefixUnaryExpression(node))
    return node.operator === K.PlusPlusToken && isName(node.operand) ? undefined : "other";
  if (!ts.isBinaryExpression(node) || !isName(node.left)) return "other";
  if (node.operatorToken.kind === K.PlusEqualsToken) return node.right;
  const { right } = node;
  const isSum = ts.isBinaryExpression(right) && right.operatorToken.kind === K.PlusToken && isName(right.left);
  return node.operatorToken.kind === K.EqualsToken && isSum ? right.right : "other";
}
