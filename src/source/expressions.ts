/** Evaluates expressions, and reports operators that JavaScript would silently apply to handles. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import {
  hiddenCoercion,
  methodForOperator,
  outerAssignment,
  type OrderOperator,
  tracedCondition,
  methodForUnary,
} from "../diagnostics/catalog/source-codes.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import { checkArrayLength } from "./calls.js";
import { elementsOf, concatLists, listOf } from "./lists.js";
import { isLogical, unwrap } from "./sites.js";
import {
  firstTerm,
  choiceOf,
  isInAddress,
  isInnerSum,
  isState,
  methodText,
  methodCall,
  type TextReplacement,
} from "./replacements.js";
import {
  type AbstractValue,
  comparableFact,
  elementOf,
  factOf,
  type FunctionNode,
  GLOBALS,
  holder,
  hasTracedElement,
  isTraced,
  join,
  member,
  PLAIN,
  ERROR_VALUE,
  containsTraced,
  OPTIONAL,
  TRACED,
  weaken,
  boundaryBetween,
} from "./abstract-values.js";
import { type Frame, innerFrame, type Walk } from "./walk.js";

const K = ts.SyntaxKind;

export function evaluate(walk: Walk, node: ts.Expression, frame: Frame): AbstractValue {
  const e = unwrap(node);
  if (ts.isIdentifier(e)) return frame.scope.lookup(e.text)?.value ?? GLOBALS.get(e.text) ?? PLAIN;
  if (ts.isCallExpression(e)) return walk.evaluateCall(e, frame);
  if (ts.isPropertyAccessExpression(e)) return propertyValue(walk.evaluate(e.expression, frame), e.name.text, e);
  if (ts.isElementAccessExpression(e)) return elementAccessValue(walk, e, frame);
  if (ts.isBinaryExpression(e)) return evaluateBinary(walk, e, frame);
  if (ts.isConditionalExpression(e)) return evaluateConditional(walk, e, frame);
  if (ts.isPrefixUnaryExpression(e) || ts.isPostfixUnaryExpression(e)) return evaluateUnary(walk, e, frame);
  if (ts.isArrowFunction(e) || ts.isFunctionExpression(e)) return walk.functionValue(e, frame);
  if (ts.isObjectLiteralExpression(e)) return objectValue(walk, e, frame);
  if (ts.isArrayLiteralExpression(e)) return arrayValue(walk, e, frame);
  if (ts.isTemplateExpression(e)) return evaluateTemplate(walk, e, frame);
  if (ts.isAwaitExpression(e)) return walk.evaluate(e.expression, frame);
  if (ts.isYieldExpression(e)) return evaluateYield(walk, e, frame);
  if (ts.isNewExpression(e)) return evaluateNew(walk, e, frame);
  return evaluateChildren(walk, e, frame);
}

function evaluateConditional(walk: Walk, node: ts.ConditionalExpression, frame: Frame): AbstractValue {
  walk.evaluateCondition(node.condition, tracedCondition.conditional(), frame);
  const arm = narrowedFrame(node.condition, frame);
  return join(walk.evaluate(node.whenTrue, arm), walk.evaluate(node.whenFalse, arm));
}

function evaluateTemplate(walk: Walk, { templateSpans }: ts.TemplateExpression, frame: Frame): AbstractValue {
  for (const { expression } of templateSpans)
    if (isTraced(walk.evaluate(expression, frame))) walk.reportError(hiddenCoercion.template(), expression);
  return PLAIN;
}

/** Evaluates a condition of JavaScript. In `a && b` both operands are conditions. */
export function evaluateCondition(
  walk: Walk,
  node: ts.Expression,
  message: MessageOfCode,
  frame: Frame,
  replacement?: TextReplacement,
): void {
  const value = walk.evaluate(node, frame);
  if (value === OPTIONAL) return walk.reportError(tracedCondition.optional(node.getText()), node);
  if (isTraced(value)) return walk.reportError(message, node, replacement);
  const e = unwrap(node);
  if (!ts.isBinaryExpression(e) || !isLogical(e.operatorToken.kind)) return;
  if (isTraced(walk.evaluate(e.left, frame))) return;
  walk.evaluateCondition(e.left, message, frame);
  walk.evaluateCondition(e.right, message, narrowedFrame(e.left, frame));
}

/**
 * A frame for code that runs if a condition is true or if it is false. A value that the condition tests with `typeof`,
 * `instanceof` or a predicate is uncertain there: the test shows that it may be plain.
 */
export function narrowedFrame(test: ts.Expression, frame: Frame): Frame {
  const names = testedNames(test);
  if (names.length === 0) return frame;
  const branchFrame = innerFrame(frame);
  narrowNames(names, branchFrame);
  return branchFrame;
}

/** Makes the tested names uncertain in the rest of a block, after an `if` that returns. */
export function narrowNames(names: readonly string[], frame: Frame): void {
  for (const name of names) {
    const binding = frame.scope.lookup(name);
    if (!binding) continue;
    const [isFact, region] = [comparableFact(binding.value) !== undefined, binding.region];
    if (isFact || containsTraced(binding.value))
      frame.scope.declare(name, isFact ? PLAIN : weaken(binding.value), region);
  }
}

export function testedNames(test: ts.Expression): readonly string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeOfExpression(node) && ts.isIdentifier(node.expression)) names.push(node.expression.text);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === K.InstanceOfKeyword && ts.isIdentifier(node.left)) {
      names.push(node.left.text);
    }
    if (ts.isCallExpression(node) && /(?:^|\.)(?:is|has)[A-Z]\w*$/.test(node.expression.getText())) {
      for (const argument of node.arguments) if (ts.isIdentifier(argument)) names.push(argument.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(test);
  return names;
}

function propertyValue(value: AbstractValue, name: string, node: ts.PropertyAccessExpression): AbstractValue {
  const fact = factOf(value, name, node);
  if (fact) return fact;
  const memberValue = member(value, name);
  return node.questionDotToken && !(value.kind === "traced" && value.isCertain) ? weaken(memberValue) : memberValue;
}

function elementAccessValue(walk: Walk, node: ts.ElementAccessExpression, frame: Frame): AbstractValue {
  const value = walk.evaluate(node.expression, frame);
  walk.evaluate(node.argumentExpression, frame);
  const { argumentExpression: key } = node;
  if (isTraced(value) && hasTracedIndex(walk, key, frame))
    walk.reportError(hiddenCoercion.indexed(node.expression.getText(), key.getText()), node);
  if (ts.isStringLiteralLike(key) || ts.isNumericLiteral(key)) return patternValue(value, key.text);
  return value.kind === "traced" ? value : weaken(elementOf(value));
}

const LOGICAL_ASSIGNMENTS = new Set<ts.SyntaxKind>([
  K.AmpersandAmpersandEqualsToken,
  K.BarBarEqualsToken,
  K.QuestionQuestionEqualsToken,
]);

const EQUALITY = new Set<ts.SyntaxKind>([
  K.EqualsEqualsToken,
  K.EqualsEqualsEqualsToken,
  K.ExclamationEqualsToken,
  K.ExclamationEqualsEqualsToken,
]);

function evaluateBinary(walk: Walk, node: ts.BinaryExpression, frame: Frame): AbstractValue {
  const { kind } = node.operatorToken;
  if (kind === K.EqualsToken) return assign(walk, node.left, walk.evaluate(node.right, frame), frame);
  if (checkChainedComparison(walk, node, frame)) return PLAIN;
  const lhs = walk.evaluate(node.left, frame);
  const rhs = walk.evaluate(node.right, isLogical(kind) ? narrowedFrame(node.left, frame) : frame);
  if (kind === K.CommaToken) return evaluateComma(walk, node, [lhs, rhs]);
  if (kind === K.InKeyword || kind === K.InstanceOfKeyword) return PLAIN;
  const operation: Operation = {
    node,
    operator: node.operatorToken.getText(),
    lhs,
    rhs,
    texts: [methodText(node.left), methodText(node.right)],
  };
  if (isLogical(kind) || LOGICAL_ASSIGNMENTS.has(kind)) return logicalValue(walk, operation, frame);
  if (!EQUALITY.has(kind)) return arithmeticValue(walk, operation, frame);
  checkEquality(walk, operation);
  return PLAIN;
}

/** An operator with the values of its operands. */
interface Operation {
  readonly node: ts.BinaryExpression;
  readonly operator: string;
  readonly lhs: AbstractValue;
  readonly rhs: AbstractValue;
  /** The operands, with methods in place of operators. */
  readonly texts: readonly [string, string];
}

/** Reports the operator. `text` replaces the whole expression. */
function reportOperator(walk: Walk, { node }: Operation, message: MessageOfCode, text?: string): void {
  walk.reportError(message, node.operatorToken, text === undefined ? undefined : { node, text });
}

/** The value of `&&`, `||` or `??`, or of an assignment with one of them. */
function logicalValue(walk: Walk, operation: Operation, frame: Frame): AbstractValue {
  const { node, operator, lhs, rhs, texts } = operation;
  const isLhsOptional = operator.startsWith("??") && mayBeAbsent(walk, node.left, frame);
  if (willBeTraced(lhs) && !isLhsOptional) {
    const message = hiddenCoercion.logical(operator, ...texts);
    reportOperator(walk, operation, message, replacementText(walk, node, operator, true));
  }
  const result = isTraced(lhs) ? lhs : weaken(join(lhs, rhs));
  return isLogical(node.operatorToken.kind) ? result : assign(walk, node.left, result, frame);
}

function checkEquality(walk: Walk, operation: Operation): void {
  const { node, operator, lhs, rhs, texts } = operation;
  if (isNullish(node.left) || isNullish(node.right)) return;
  if (isTraced(lhs) || isTraced(rhs)) {
    const message = hiddenCoercion.equality(operator, ...(isTraced(lhs) ? texts : swap(texts)), choiceOf(node));
    reportOperator(walk, operation, message, replacementText(walk, node, operator, isTraced(lhs)));
  }
  for (const side of [lhs, rhs]) walk.recordComparison(side, node.operatorToken, operator);
}

function arithmeticValue(walk: Walk, operation: Operation, frame: Frame): AbstractValue {
  const { node, operator, lhs, rhs, texts } = operation;
  const { kind } = node.operatorToken;
  const isCompound = kind >= K.FirstCompoundAssignment && kind <= K.LastCompoundAssignment;
  // An operand with an error becomes a value of the program once it is fixed.
  const isAnyTraced = willBeTraced(lhs) || willBeTraced(rhs);
  if (isAnyTraced) {
    const idiomValue = checkIdiom(walk, operation);
    if (idiomValue) return idiomValue;
    const base = isCompound ? operator.slice(0, -1) : operator;
    const isLhsTraced = willBeTraced(lhs);
    const message = hiddenCoercion.arithmetic(base, texts, isLhsTraced, operator, choiceOf(node));
    reportOperator(walk, operation, message, replacementText(walk, node, base, isLhsTraced));
  }
  if (isCompound) assign(walk, node.left, lhs, frame);
  return isAnyTraced && !isCompound ? ERROR_VALUE : PLAIN;
}

const willBeTraced = (value: AbstractValue): boolean => isTraced(value) || value === ERROR_VALUE;

/**
 * Reports an address, a rounded quotient or a text, which have their own remedies. Returns the value; undefined for
 * other arithmetic.
 */
function checkIdiom(walk: Walk, operation: Operation): AbstractValue | undefined {
  const { node, operator, lhs, texts } = operation;
  if (isTraced(lhs) && operator === "+" && isInAddress(node)) {
    // For a pointer plus several offsets, one diagnostic is enough.
    if (!isInnerSum(node)) reportOperator(walk, operation, hiddenCoercion.address(methodText(firstTerm(node)), texts));
    return TRACED;
  }
  const rounding = roundingMessage(node, operator, texts, isTraced(lhs));
  if (rounding) {
    reportOperator(walk, operation, rounding);
    return ERROR_VALUE;
  }
  if (operator !== "+" || ![node.left, node.right].some(isText)) return undefined;
  reportOperator(walk, operation, hiddenCoercion.template("a string"));
  return PLAIN;
}

const isText = (node: ts.Expression): boolean => ts.isStringLiteralLike(unwrap(node));

/** Evaluates `(a, b)`, which drops `a`. In Python it would be a tuple. */
function evaluateComma(
  walk: Walk,
  node: ts.BinaryExpression,
  [lhs, rhs]: readonly [AbstractValue, AbstractValue],
): AbstractValue {
  const outer = node.parent.parent;
  const isArgumentOrBody = ts.isCallExpression(outer) || ts.isArrowFunction(outer);
  const isDropped = isTraced(lhs) || (isArgumentOrBody && isTraced(rhs) && ts.isNumericLiteral(unwrap(node.left)));
  if (isDropped && ts.isParenthesizedExpression(node.parent))
    walk.reportError(hiddenCoercion.tuple(itemsOf(node).map(methodText)), node.parent);
  return rhs;
}

const itemsOf = (node: ts.Expression): readonly ts.Expression[] =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === K.CommaToken
    ? [...itemsOf(node.left), node.right]
    : [node];

/**
 * True if the left operand of `??` may be absent in another call: a parameter, or a property of the author's object.
 */
function mayBeAbsent(walk: Walk, operand: ts.Expression, frame: Frame): boolean {
  const e = unwrap(operand);
  if (ts.isIdentifier(e)) return frame.scope.lookup(e.text)?.isParameter === true;
  if (!ts.isPropertyAccessExpression(e) && !ts.isElementAccessExpression(e)) return false;
  return walk.evaluate(e.expression, frame).kind === "holder";
}

/** True if an index in brackets is traced: `x[rows]`, `x[row, cols]`. */
function hasTracedIndex(walk: Walk, key: ts.Expression, frame: Frame): boolean {
  const e = unwrap(key);
  const isList = ts.isBinaryExpression(e) && e.operatorToken.kind === K.CommaToken;
  return isList
    ? hasTracedIndex(walk, e.left, frame) || hasTracedIndex(walk, e.right, frame)
    : isTraced(indexValue(walk, e, frame));
}

/** The value of an index that was evaluated before. Evaluates only names and members again. */
function indexValue(walk: Walk, e: ts.Expression, frame: Frame): AbstractValue {
  return ts.isIdentifier(e) || ts.isPropertyAccessExpression(e) ? walk.evaluate(e, frame) : PLAIN;
}

/** Reports `0 <= x < N`, which is two comparisons in Python. Returns true if it did. */
function checkChainedComparison(walk: Walk, node: ts.BinaryExpression, frame: Frame): boolean {
  const inner = node.left;
  const secondOperator = ORDER_OPERATORS.get(node.operatorToken.kind);
  if (!secondOperator || !ts.isBinaryExpression(inner)) return false;
  const firstOperator = ORDER_OPERATORS.get(inner.operatorToken.kind);
  if (!firstOperator) return false;
  const traced = [inner.left, inner.right, node.right].filter((side) => isTraced(walk.evaluate(side, frame)));
  if (traced.length === 0) return false;
  const texts = [methodText(inner.left), methodText(inner.right), methodText(node.right)] as const;
  walk.reportError(hiddenCoercion.chained(texts, [firstOperator, secondOperator]), node.operatorToken);
  return true;
}

const ORDER_OPERATORS = new Map<ts.SyntaxKind, OrderOperator>([
  [K.LessThanToken, "<"],
  [K.LessThanEqualsToken, "<="],
  [K.GreaterThanToken, ">"],
  [K.GreaterThanEqualsToken, ">="],
]);

/** The message for an operator inside a rounding call that shows the intended op: `Math.ceil(N / BLOCK)`. */
function roundingMessage(
  node: ts.BinaryExpression,
  operator: string,
  texts: readonly [string, string],
  isLhsTraced: boolean,
): MessageOfCode | undefined {
  const { parent } = node;
  if (!isLhsTraced || !ts.isCallExpression(parent) || parent.arguments[0] !== node) return undefined;
  const callee = parent.expression.getText();
  if (operator !== "/") return undefined;
  if (callee === "Math.ceil") return hiddenCoercion.rounded(callee, `tl.cdiv(${texts.join(", ")})`);
  const floors = /^Math\.(?:floor|trunc)$|^Number\.parseInt$|^parseInt$/.test(callee);
  return floors ? hiddenCoercion.rounded(callee, `${texts[0]}.floorDiv(${texts[1]})`) : undefined;
}

/** The method call that replaces the operator; undefined if no method is equivalent. */
function replacementText(
  walk: Walk,
  node: ts.BinaryExpression,
  base: string,
  isLhsTraced: boolean,
): string | undefined {
  const remedy = methodForOperator(base, isLhsTraced);
  // Integers need `floorDiv` and floats `div`; the text does not show which applies.
  if (!remedy || base === "/") return undefined;
  const [receiver, argument] = remedy.isSwapped ? [node.right, node.left] : [node.left, node.right];
  const call = methodCall(walk.replaced, receiver, remedy.method, argument);
  const isAssignment = node.operatorToken.getText() === `${base}=`;
  if (!isAssignment) return call;
  return isLhsTraced && !isState(node.left) ? `${node.left.getText()} = ${call}` : undefined;
}

function swap([a, b]: readonly [string, string]): readonly [string, string] {
  return [b, a];
}

function isNullish(node: ts.Expression): boolean {
  const e = unwrap(node);
  return (
    e.kind === K.NullKeyword || ts.isVoidExpression(e) || (ts.isIdentifier(e) && /^(?:undefined|None)$/.test(e.text))
  );
}

const UNARY_OPERATORS: Readonly<Record<ts.PrefixUnaryOperator, string>> = {
  [K.PlusPlusToken]: "++",
  [K.MinusMinusToken]: "--",
  [K.PlusToken]: "+",
  [K.MinusToken]: "-",
  [K.TildeToken]: "~",
  [K.ExclamationToken]: "!",
};

function evaluateUnary(
  walk: Walk,
  node: ts.PrefixUnaryExpression | ts.PostfixUnaryExpression,
  frame: Frame,
): AbstractValue {
  const value = walk.evaluate(node.operand, frame);
  const operator = UNARY_OPERATORS[node.operator];
  const message = hiddenCoercion.unary(operator, unwrap(node.operand).getText());
  const method = methodForUnary(operator);
  const replacement =
    method === undefined ? undefined : { node, text: methodCall(walk.replaced, unwrap(node.operand), method) };
  if (operator === "!") walk.evaluateCondition(node.operand, message, frame, replacement);
  else if (willBeTraced(value)) walk.reportError(message, node, replacement);
  if (operator === "++" || operator === "--") assign(walk, node.operand, value, frame);
  return willBeTraced(value) ? ERROR_VALUE : PLAIN;
}

/**
 * Assigns to a variable, property or pattern. Reports a variable that is declared outside the traced loop or branch.
 */
export function assign(walk: Walk, target: ts.Expression, value: AbstractValue, frame: Frame): AbstractValue {
  const lhs = unwrap(target);
  if (ts.isIdentifier(lhs)) {
    const binding = frame.scope.lookup(lhs.text);
    const kind = binding && boundaryBetween(frame.region, binding.region);
    if (kind) walk.reportError(outerAssignment.assigned(lhs.text, kind), lhs);
    if (binding) binding.value = join(binding.value, value);
  } else if (ts.isArrayLiteralExpression(lhs)) {
    lhs.elements.forEach((element, index) => {
      const isRest = ts.isSpreadElement(element);
      if (!ts.isOmittedExpression(element)) {
        assign(
          walk,
          isRest ? element.expression : withoutDefault(element),
          isRest ? value : patternValue(value, String(index)),
          frame,
        );
      }
    });
  } else if (ts.isObjectLiteralExpression(lhs)) {
    for (const property of lhs.properties) {
      if (ts.isShorthandPropertyAssignment(property))
        assign(walk, property.name, patternValue(value, property.name.text), frame);
      if (ts.isPropertyAssignment(property)) {
        assign(walk, withoutDefault(property.initializer), patternValue(value, property.name.getText()), frame);
      }
    }
  } else {
    walk.evaluate(lhs, frame);
    recordTracedElement(lhs, value, frame);
  }
  return value;
}

function withoutDefault(node: ts.Expression): ts.Expression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken ? node.left : node;
}

export function patternValue(value: AbstractValue, key: string): AbstractValue {
  return value.kind === "holder" && /^\d+$/.test(key) && !value.fields.has(key)
    ? weaken(elementOf(value))
    : member(value, key);
}

/** Records that an object contains a traced value, after `object.x = traced`. */
function recordTracedElement(target: ts.Expression, value: AbstractValue, frame: Frame): void {
  if (!containsTraced(value)) return;
  if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target)) return;
  const owner = unwrap(target.expression);
  const binding = ts.isIdentifier(owner) ? frame.scope.lookup(owner.text) : undefined;
  if (binding?.value.kind !== "holder") return;
  const { fields, summary } = binding.value;
  binding.value = ts.isPropertyAccessExpression(target)
    ? holder(new Map([...fields, [target.name.text, value]]), summary)
    : holder(new Map(), fields.size > 0 || containsTraced(summary) ? join(elementOf(binding.value), value) : value);
}

function objectValue(walk: Walk, node: ts.ObjectLiteralExpression, frame: Frame): AbstractValue {
  const fields = new Map<string, AbstractValue>();
  let summary: AbstractValue = PLAIN;
  for (const property of node.properties) {
    if (ts.isPropertyAssignment(property))
      fields.set(nameText(property.name), walk.evaluate(property.initializer, frame));
    else if (ts.isShorthandPropertyAssignment(property))
      fields.set(property.name.text, walk.evaluate(property.name, frame));
    else if (ts.isMethodDeclaration(property))
      fields.set(nameText(property.name), walk.functionValue(property as FunctionNode, frame));
    else if (ts.isGetAccessor(property)) {
      const value = walk.functionValue(property, frame);
      if (value.kind === "function") fields.set(nameText(property.name), walk.invoke(value, [], frame.region));
    } else if (ts.isSpreadAssignment(property)) {
      const spread = walk.evaluate(property.expression, frame);
      if (spread.kind !== "holder") continue;
      for (const [key, value] of spread.fields) fields.set(key, value);
      summary = spread.summary;
    }
  }
  return holder(fields, summary);
}

function nameText(name: ts.PropertyName): string {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)
    ? name.text
    : name.getText();
}

function arrayValue(walk: Walk, node: ts.ArrayLiteralExpression, frame: Frame): AbstractValue {
  if (!node.elements.some(ts.isSpreadElement)) {
    return holder(new Map(node.elements.map((each, index) => [String(index), walk.evaluate(each, frame)])));
  }
  const lists = node.elements.map((each) => {
    if (!ts.isSpreadElement(each)) return listOf([walk.evaluate(each, frame)]);
    const list = walk.evaluate(each.expression, frame);
    if (list.kind === "range") {
      walk.reportError(earlyExit.collected(), each);
      return PLAIN;
    }
    return elementsOf(list) ? list : holder(new Map(), elementOf(list));
  });
  return concatLists(lists);
}

function evaluateYield(walk: Walk, node: ts.YieldExpression, frame: Frame): AbstractValue {
  const value = node.expression ? walk.evaluate(node.expression, frame) : PLAIN;
  const inLoop = frame.call.targets.some((target) => target.kind === "traced");
  if (inLoop || (node.asteriskToken && value.kind === "range")) frame.call.yields = "loops";
  else if (frame.call.yields === "none") frame.call.yields = "values";
  frame.call.returns.push(node.asteriskToken ? elementOf(value) : value);
  return PLAIN;
}

/** Evaluates `new`, and reports traced keys in `new Map(…)` and `new Set(…)`. */
function evaluateNew(walk: Walk, node: ts.NewExpression, frame: Frame): AbstractValue {
  const name = ts.isIdentifier(node.expression) ? node.expression.text : "";
  const [argument, ...otherArguments] = node.arguments ?? [];
  if (name === "Array" && argument && otherArguments.length === 0 && !ts.isSpreadElement(argument))
    checkArrayLength(walk, node, [walk.evaluate(argument, frame)]);
  if ((name !== "Map" && name !== "Set") || frame.scope.lookup(name)) return evaluateChildren(walk, node, frame);
  const list = argument ? walk.evaluate(argument, frame) : PLAIN;
  const pairs = list.kind === "holder" ? [...list.fields.values(), list.summary] : [];
  if (argument && (name === "Set" ? hasTracedElement(list) : pairs.some((pair) => isTraced(member(pair, "0")))))
    walk.reportError(hiddenCoercion.identity(`new ${name}(…)`), argument);
  return { kind: "keyed" };
}

/** Evaluates the children of `new`, `typeof`, tagged templates, classes and other expressions without a rule. */
function evaluateChildren(walk: Walk, node: ts.Node, frame: Frame): AbstractValue {
  ts.forEachChild(node, (child) => {
    if (ts.isTypeNode(child)) return;
    if (ts.isTemplateSpan(child)) walk.evaluate(child.expression, frame);
    else if (ts.isMethodDeclaration(child)) walk.functionValue(child as FunctionNode, frame);
    else if (ts.isExpression(child)) walk.evaluate(child, frame);
    else evaluateChildren(walk, child, frame);
  });
  return PLAIN;
}
