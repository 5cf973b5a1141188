/** Expressions: their values, and the operators that JavaScript would silently apply to handles. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import {
  hiddenCoercion,
  methodOf,
  outerAssignment,
  tracedCondition,
  unaryMethodOf,
} from "../diagnostics/catalog/source-codes.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import { type TextReplacement, methodCall } from "./text-edits.js";
import { refuseLength } from "./calls.js";
import { elementsOf, concatLists, listOf } from "./lists.js";
import { boundaryBetween, type Frame, inner, type Walk } from "./regions.js";
import { unwrap } from "./sites.js";
import { firstTerm, choiceOf, isInAddress, isInnerSum, isState, methodText } from "./replacements.js";
import {
  type AbstractValue,
  comparable,
  elementOf,
  factOf,
  type FunctionNode,
  GLOBALS,
  holder,
  holdsTraced,
  isTraced,
  join,
  member,
  PLAIN,
  ERROR_VALUE,
  touches,
  OPTIONAL,
  TRACED,
  weaken,
} from "./abstract-values.js";

const K = ts.SyntaxKind;

export function evaluate(walk: Walk, node: ts.Expression, frame: Frame): AbstractValue {
  const e = unwrap(node);
  if (ts.isIdentifier(e)) return frame.scope.lookup(e.text)?.value ?? GLOBALS.get(e.text) ?? PLAIN;
  if (ts.isCallExpression(e)) return walk.evaluateCall(e, frame);
  if (ts.isPropertyAccessExpression(e)) return access(walk.evaluate(e.expression, frame), e.name.text, e);
  if (ts.isElementAccessExpression(e)) return element(walk, e, frame);
  if (ts.isBinaryExpression(e)) return binary(walk, e, frame);
  if (ts.isConditionalExpression(e)) {
    walk.condition(e.condition, tracedCondition.conditional(), frame);
    const arm = narrowedScope(e.condition, frame);
    return join(walk.evaluate(e.whenTrue, arm), walk.evaluate(e.whenFalse, arm));
  }
  if (ts.isPrefixUnaryExpression(e) || ts.isPostfixUnaryExpression(e)) return prefixed(walk, e, frame);
  if (ts.isArrowFunction(e) || ts.isFunctionExpression(e)) return walk.functionValue(e, frame);
  if (ts.isObjectLiteralExpression(e)) return object(walk, e, frame);
  if (ts.isArrayLiteralExpression(e)) return array(walk, e, frame);
  if (ts.isTemplateExpression(e)) {
    for (const span of e.templateSpans) {
      if (isTraced(walk.evaluate(span.expression, frame))) {
        walk.problem(hiddenCoercion.template(), span.expression);
      }
    }
    return PLAIN;
  }
  if (ts.isAwaitExpression(e)) return walk.evaluate(e.expression, frame);
  if (ts.isYieldExpression(e)) return yielded(walk, e, frame);
  if (ts.isNewExpression(e)) return made(walk, e, frame);
  return others(walk, e, frame);
}

/** Evaluates a condition of JavaScript; in `a && b` both sides decide. */
export function condition(
  walk: Walk,
  node: ts.Expression,
  said: MessageOfCode,
  frame: Frame,
  mended?: TextReplacement,
): void {
  const value = walk.evaluate(node, frame);
  if (value === OPTIONAL) return walk.problem(tracedCondition.optional(node.getText()), node);
  if (isTraced(value)) return walk.problem(said, node, mended);
  const e = unwrap(node);
  if (!ts.isBinaryExpression(e) || !isLogical(e.operatorToken.kind)) return;
  if (isTraced(walk.evaluate(e.left, frame))) return;
  walk.condition(e.left, said, frame);
  walk.condition(e.right, said, narrowedScope(e.left, frame));
}

/**
 * The place where a condition is known to hold or not. A value that it tests with `typeof`, `instanceof` or a predicate
 * is uncertain there, because the question shows that it may be something plain.
 */
export function narrowedScope(test: ts.Expression, frame: Frame): Frame {
  const names = reportCondition(test);
  if (names.length === 0) return frame;
  const place = inner(frame);
  narrowNames(names, place);
  return place;
}

/** The same for the rest of a block after such an `if`. */
export function narrowNames(names: readonly string[], frame: Frame): void {
  for (const name of names) {
    const binding = frame.scope.lookup(name);
    if (!binding) continue;
    const [isFact, place] = [comparable(binding.value) !== undefined, binding.region];
    if (isFact || touches(binding.value)) frame.scope.declare(name, isFact ? PLAIN : weaken(binding.value), place);
  }
}

export function reportCondition(test: ts.Expression): readonly string[] {
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

function access(value: AbstractValue, name: string, node: ts.PropertyAccessExpression): AbstractValue {
  const fact = factOf(value, name, node);
  if (fact) return fact;
  const found = member(value, name);
  return node.questionDotToken && !(value.kind === "traced" && value.certain) ? weaken(found) : found;
}

function element(walk: Walk, node: ts.ElementAccessExpression, frame: Frame): AbstractValue {
  const value = walk.evaluate(node.expression, frame);
  walk.evaluate(node.argumentExpression, frame);
  const { argumentExpression: key } = node;
  if (isTraced(value) && holdsIndex(walk, key, frame))
    walk.problem(hiddenCoercion.indexed(node.expression.getText(), key.getText()), node);
  if (ts.isStringLiteralLike(key) || ts.isNumericLiteral(key)) return part(value, key.text);
  return value.kind === "traced" ? value : weaken(elementOf(value));
}

function isLogical(kind: ts.SyntaxKind): boolean {
  return kind === K.AmpersandAmpersandToken || kind === K.BarBarToken || kind === K.QuestionQuestionToken;
}

const LOGICAL_ASSIGNMENTS = [
  K.AmpersandAmpersandEqualsToken,
  K.BarBarEqualsToken,
  K.QuestionQuestionEqualsToken,
] as const;

const EQUALITY = new Set<ts.SyntaxKind>([
  K.EqualsEqualsToken,
  K.EqualsEqualsEqualsToken,
  K.ExclamationEqualsToken,
  K.ExclamationEqualsEqualsToken,
]);

function binary(walk: Walk, node: ts.BinaryExpression, frame: Frame): AbstractValue {
  const { kind } = node.operatorToken;
  if (kind === K.EqualsToken) return assign(walk, node.left, walk.evaluate(node.right, frame), frame);
  if (chained(walk, node, frame)) return PLAIN;
  const left = walk.evaluate(node.left, frame);
  const right = walk.evaluate(node.right, isLogical(kind) ? narrowedScope(node.left, frame) : frame);
  if (kind === K.CommaToken) return last(walk, node, [left, right]);
  if (kind === K.InKeyword || kind === K.InstanceOfKeyword) return PLAIN;
  const operator = node.operatorToken.getText();
  const texts = [methodText(node.left), methodText(node.right)] as const;
  const refuse = (said: MessageOfCode, text?: string): void =>
    walk.problem(said, node.operatorToken, text === undefined ? undefined : { node, text });
  if (isLogical(kind) || LOGICAL_ASSIGNMENTS.some((each) => each === kind)) {
    const asks = operator.startsWith("??") && mayLack(walk, node.left, frame);
    if (isTraced(left) && !asks) refuse(hiddenCoercion.logical(operator, ...texts), mended(node, operator, true));
    const result = isTraced(left) ? left : weaken(join(left, right));
    return isLogical(kind) ? result : assign(walk, node.left, result, frame);
  }
  const traced = isTraced(left) || isTraced(right);
  if (EQUALITY.has(kind)) {
    const asksPresence = isNullish(node.left) || isNullish(node.right);
    if (traced && !asksPresence)
      refuse(
        hiddenCoercion.equality(operator, ...(isTraced(left) ? texts : swap(texts)), choiceOf(node)),
        mended(node, operator, isTraced(left)),
      );
    if (!asksPresence) for (const side of [left, right]) walk.compared(side, node.operatorToken, operator);
    return PLAIN;
  }
  const compound = kind >= K.FirstCompoundAssignment && kind <= K.LastCompoundAssignment;
  if (traced) {
    const base = compound ? operator.slice(0, -1) : operator;
    if (isTraced(left) && operator === "+" && isInAddress(node)) {
      // Of a pointer and several offsets, one sentence is enough.
      if (!isInnerSum(node)) refuse(hiddenCoercion.address(methodText(firstTerm(node)), texts));
      return TRACED;
    }
    const around = refusedAround(node, operator, texts, isTraced(left));
    if (around) {
      refuse(around);
      return ERROR_VALUE;
    }
    if (operator === "+" && [node.left, node.right].some(isText)) {
      walk.problem(hiddenCoercion.template("a string"), node.operatorToken);
      return PLAIN;
    }
    // What is refused on the left will be a value of the program, too.
    const leftTraced = isTraced(left) || left === ERROR_VALUE;
    refuse(
      hiddenCoercion.arithmetic(base, texts, leftTraced, operator, choiceOf(node)),
      mended(node, base, leftTraced),
    );
  }
  if (compound) assign(walk, node.left, left, frame);
  return traced && !compound ? ERROR_VALUE : PLAIN;
}

const isText = (node: ts.Expression): boolean => ts.isStringLiteralLike(unwrap(node));

/** `(a, b)`, which drops `a`: a tuple of Python's. */
function last(
  walk: Walk,
  node: ts.BinaryExpression,
  [left, right]: readonly [AbstractValue, AbstractValue],
): AbstractValue {
  const around = node.parent.parent;
  const isGiven = ts.isCallExpression(around) || ts.isArrowFunction(around);
  const dropped = isTraced(left) || (isGiven && isTraced(right) && ts.isNumericLiteral(unwrap(node.left)));
  if (dropped && ts.isParenthesizedExpression(node.parent))
    walk.problem(hiddenCoercion.tuple(itemsOf(node).map(methodText)), node.parent);
  return right;
}

const itemsOf = (node: ts.Expression): readonly ts.Expression[] =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === K.CommaToken
    ? [...itemsOf(node.left), node.right]
    : [node];

/** Whether another call may leave out what `??` asks for: a parameter, or a property of the author's object. */
function mayLack(walk: Walk, asked: ts.Expression, frame: Frame): boolean {
  const e = unwrap(asked);
  if (ts.isIdentifier(e)) return frame.scope.lookup(e.text)?.isParameter === true;
  if (!ts.isPropertyAccessExpression(e) && !ts.isElementAccessExpression(e)) return false;
  return walk.evaluate(e.expression, frame).kind === "holder";
}

/** Whether indices in brackets are traced: `x[rows]`, `x[row, cols]`. */
function holdsIndex(walk: Walk, key: ts.Expression, frame: Frame): boolean {
  const e = unwrap(key);
  const isList = ts.isBinaryExpression(e) && e.operatorToken.kind === K.CommaToken;
  return isList
    ? holdsIndex(walk, e.left, frame) || holdsIndex(walk, e.right, frame)
    : isTraced(indexValue(walk, e, frame));
}

/** The value of an index that was evaluated before: only names and members are asked again. */
function indexValue(walk: Walk, e: ts.Expression, frame: Frame): AbstractValue {
  return ts.isIdentifier(e) || ts.isPropertyAccessExpression(e) ? walk.evaluate(e, frame) : PLAIN;
}

/** `0 <= x < N`, which Python takes for two comparisons; true if it was refused. */
function chained(walk: Walk, node: ts.BinaryExpression, frame: Frame): boolean {
  const inner = node.left;
  if (!isOrder(node) || !ts.isBinaryExpression(inner) || !isOrder(inner)) return false;
  const sides = [inner.left, inner.right, node.right];
  const [first, middle, last] = sides.map((side) => isTraced(walk.evaluate(side, frame)));
  if (!middle && !first && !last) return false;
  const texts = sides.map(methodText) as [string, string, string];
  walk.problem(
    hiddenCoercion.chained(
      texts,
      [inner, node].map((each) => each.operatorToken.getText()),
    ),
    node.operatorToken,
  );
  return true;
}

const ORDER = new Set<ts.SyntaxKind>([
  K.LessThanToken,
  K.LessThanEqualsToken,
  K.GreaterThanToken,
  K.GreaterThanEqualsToken,
]);
const isOrder = (node: ts.BinaryExpression): boolean => ORDER.has(node.operatorToken.kind);

/** What is said where the call around an operator tells what was meant: `Math.ceil(N / BLOCK)`. */
function refusedAround(
  node: ts.BinaryExpression,
  operator: string,
  texts: readonly [string, string],
  leftTraced: boolean,
): MessageOfCode | undefined {
  const { parent } = node;
  if (!leftTraced || !ts.isCallExpression(parent) || parent.arguments[0] !== node) return undefined;
  const callee = parent.expression.getText();
  if (operator !== "/") return undefined;
  if (callee === "Math.ceil") return hiddenCoercion.rounded(callee, `tl.cdiv(${texts.join(", ")})`);
  const floors = /^Math\.(?:floor|trunc)$|^Number\.parseInt$|^parseInt$/.test(callee);
  return floors ? hiddenCoercion.rounded(callee, `${texts[0]}.floorDiv(${texts[1]})`) : undefined;
}

/** The call that means what the operator was meant to; undefined where no method does it. */
function mended(node: ts.BinaryExpression, base: string, leftTraced: boolean): string | undefined {
  const remedy = methodOf(base, leftTraced);
  // Of integers it is `floorDiv`, of floats `div`, and the text does not say which they are.
  if (!remedy || base === "/" || isState(node.left) || isState(node.right)) return undefined;
  const [receiver, argument] = remedy.swapped ? [node.right, node.left] : [node.left, node.right];
  const call = methodCall(receiver, remedy.method, argument);
  const isAssignment = node.operatorToken.getText() === `${base}=`;
  if (!isAssignment) return call;
  return leftTraced ? `${node.left.getText()} = ${call}` : undefined;
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

function prefixed(walk: Walk, node: ts.PrefixUnaryExpression | ts.PostfixUnaryExpression, frame: Frame): AbstractValue {
  const value = walk.evaluate(node.operand, frame);
  const operator = ts.tokenToString(node.operator)!;
  const said = hiddenCoercion.unary(operator, unwrap(node.operand).getText());
  const method = unaryMethodOf(operator);
  const mended = method === undefined ? undefined : { node, text: methodCall(unwrap(node.operand), method) };
  if (operator === "!") walk.condition(node.operand, said, frame, mended);
  else if (isTraced(value)) walk.problem(said, node, mended);
  if (operator === "++" || operator === "--") assign(walk, node.operand, value, frame);
  return PLAIN;
}

/** Assigns to a variable, property or pattern, and refuses a variable that lives outside a traced loop or branch. */
export function assign(walk: Walk, target: ts.Expression, value: AbstractValue, frame: Frame): AbstractValue {
  const left = unwrap(target);
  if (ts.isIdentifier(left)) {
    const binding = frame.scope.lookup(left.text);
    const kind = binding && boundaryBetween(frame.region, binding.region);
    if (kind) walk.problem(outerAssignment.assigned(left.text, kind), left);
    if (binding) binding.value = join(binding.value, value);
  } else if (ts.isArrayLiteralExpression(left)) {
    left.elements.forEach((each, index) => {
      const rest = ts.isSpreadElement(each);
      if (!ts.isOmittedExpression(each)) {
        assign(walk, rest ? each.expression : withoutDefault(each), rest ? value : part(value, String(index)), frame);
      }
    });
  } else if (ts.isObjectLiteralExpression(left)) {
    for (const each of left.properties) {
      if (ts.isShorthandPropertyAssignment(each)) assign(walk, each.name, part(value, each.name.text), frame);
      if (ts.isPropertyAssignment(each)) {
        assign(walk, withoutDefault(each.initializer), part(value, each.name.getText()), frame);
      }
    }
  } else {
    walk.evaluate(left, frame);
    remember(left, value, frame);
  }
  return value;
}

function withoutDefault(node: ts.Expression): ts.Expression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken ? node.left : node;
}

/** The part of a value that a pattern selects. */
export function part(value: AbstractValue, key: string): AbstractValue {
  return value.kind === "holder" && /^\d+$/.test(key) && !value.fields.has(key)
    ? weaken(elementOf(value))
    : member(value, key);
}

/** After `object.x = traced` the object holds a traced value. */
function remember(target: ts.Expression, value: AbstractValue, frame: Frame): void {
  if (!touches(value)) return;
  if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target)) return;
  const owner = unwrap(target.expression);
  const binding = ts.isIdentifier(owner) ? frame.scope.lookup(owner.text) : undefined;
  if (binding?.value.kind !== "holder") return;
  const { fields, rest } = binding.value;
  binding.value = ts.isPropertyAccessExpression(target)
    ? holder(new Map([...fields, [target.name.text, value]]), rest)
    : holder(new Map(), fields.size > 0 || touches(rest) ? join(elementOf(binding.value), value) : value);
}

function object(walk: Walk, node: ts.ObjectLiteralExpression, frame: Frame): AbstractValue {
  const fields = new Map<string, AbstractValue>();
  let rest: AbstractValue = PLAIN;
  for (const each of node.properties) {
    if (ts.isPropertyAssignment(each)) fields.set(nameText(each.name), walk.evaluate(each.initializer, frame));
    else if (ts.isShorthandPropertyAssignment(each)) fields.set(each.name.text, walk.evaluate(each.name, frame));
    else if (ts.isMethodDeclaration(each))
      fields.set(nameText(each.name), walk.functionValue(each as FunctionNode, frame));
    else if (ts.isGetAccessor(each)) {
      const value = walk.functionValue(each, frame);
      if (value.kind === "function") fields.set(nameText(each.name), walk.invoke(value, [], frame.region));
    } else if (ts.isSpreadAssignment(each)) {
      const spread = walk.evaluate(each.expression, frame);
      if (spread.kind !== "holder") continue;
      for (const [key, value] of spread.fields) fields.set(key, value);
      rest = spread.rest;
    }
  }
  return holder(fields, rest);
}

function nameText(name: ts.PropertyName): string {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)
    ? name.text
    : name.getText();
}

function array(walk: Walk, node: ts.ArrayLiteralExpression, frame: Frame): AbstractValue {
  if (!node.elements.some(ts.isSpreadElement)) {
    return holder(new Map(node.elements.map((each, index) => [String(index), walk.evaluate(each, frame)])));
  }
  const values = node.elements.map((each) => {
    if (!ts.isSpreadElement(each)) return walk.evaluate(each, frame);
    const list = walk.evaluate(each.expression, frame);
    if (list.kind === "range") walk.problem(earlyExit.collected(), each);
    return list.kind === "range" ? PLAIN : elementsOf(list) ? list : holder(new Map(), elementOf(list));
  });
  return concatLists(node.elements.map((each, i) => (ts.isSpreadElement(each) ? values[i]! : listOf([values[i]!]))));
}

function yielded(walk: Walk, node: ts.YieldExpression, frame: Frame): AbstractValue {
  const value = node.expression ? walk.evaluate(node.expression, frame) : PLAIN;
  const inLoop = frame.call.targets.some((target) => target.kind === "traced");
  if (inLoop || (node.asteriskToken && value.kind === "range")) frame.call.yields = "loops";
  else if (frame.call.yields === "none") frame.call.yields = "values";
  frame.call.returns.push(node.asteriskToken ? elementOf(value) : value);
  return PLAIN;
}

/** `new Map(…)` and `new Set(…)`: neither may have traced values as keys. */
function made(walk: Walk, node: ts.NewExpression, frame: Frame): AbstractValue {
  const name = ts.isIdentifier(node.expression) ? node.expression.text : "";
  if (name === "Array" && node.arguments?.length === 1 && !ts.isSpreadElement(node.arguments[0]!))
    refuseLength(walk, node, [walk.evaluate(node.arguments[0]!, frame)]);
  if ((name !== "Map" && name !== "Set") || frame.scope.lookup(name)) return others(walk, node, frame);
  const [given] = node.arguments ?? [];
  const list = given ? walk.evaluate(given, frame) : PLAIN;
  const pairs = list.kind === "holder" ? [...list.fields.values(), list.rest] : [];
  if (given && (name === "Set" ? holdsTraced(list) : pairs.some((pair) => isTraced(member(pair, "0")))))
    walk.problem(hiddenCoercion.identity(`new ${name}(…)`), given);
  return { kind: "keyed" };
}

/** `new`, `typeof`, tagged templates, classes …: only their parts matter. */
function others(walk: Walk, node: ts.Node, frame: Frame): AbstractValue {
  ts.forEachChild(node, (child) => {
    if (ts.isTypeNode(child)) return;
    if (ts.isTemplateSpan(child)) walk.evaluate(child.expression, frame);
    else if (ts.isMethodDeclaration(child)) walk.functionValue(child as FunctionNode, frame);
    else if (ts.isExpression(child)) walk.evaluate(child, frame);
    else others(walk, child, frame);
  });
  return PLAIN;
}
