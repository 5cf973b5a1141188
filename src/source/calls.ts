/** Calls: the result of an op, an array method or the author's own function. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { hiddenCoercion, tracedCondition, unreadSource } from "../diagnostics/catalog/source-codes.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import { keywordName } from "../diagnostics/python-names.js";
import { callArray, callArrayFrom, addElements, listOf, checkReference, checkSynchronous } from "./lists.js";
import { unwrap } from "./sites.js";
import { mathMessage } from "./replacements.js";
import {
  type AbstractValue,
  comparableFact,
  elementOf,
  type Fact,
  holder,
  hasTracedElement,
  isTraced,
  join,
  MAYBE_TRACED,
  member,
  opResult,
  PLAIN,
  containsTraced,
  OPTIONAL,
  TRACED,
  region,
  type Region,
} from "./abstract-values.js";
import type { Frame, Walk } from "./walk.js";

export function evaluateCall(walk: Walk, node: ts.CallExpression, frame: Frame): AbstractValue {
  const callee = unwrap(node.expression);
  if (ts.isPropertyAccessExpression(callee)) return callMember(walk, node, callee, frame);
  const target = walk.evaluate(callee, frame);
  const args = evaluateArguments(walk, node, frame);
  checkArrayLength(walk, node, args);
  checkConversion(walk, node, args, frame);
  return callValue(walk, target, args, frame, node);
}

/** Reports `Array(n)` and `new Array(n)` with a traced length, which JavaScript would store as the only element. */
export function checkArrayLength(
  walk: Walk,
  node: ts.CallExpression | ts.NewExpression,
  [length, ...otherElements]: readonly AbstractValue[],
): void {
  const callee = unwrap(node.expression);
  const isArray = ts.isIdentifier(callee) && callee.text === "Array";
  if (isArray && length && otherElements.length === 0 && isTraced(length))
    walk.reportError(hiddenCoercion.length(), node);
}

const CONVERSIONS = /^(?:Number|BigInt|String|parse(?:Int|Float))$/;

/** Reports `Number(n)`, `String(n)` and other conversions of traced values. */
function checkConversion(walk: Walk, node: ts.CallExpression, [operand]: readonly AbstractValue[], frame: Frame): void {
  const callee = unwrap(node.expression).getText();
  const [argument] = node.arguments;
  if (!CONVERSIONS.test(callee) || frame.scope.lookup(callee) || !argument || !operand || !isTraced(operand)) return;
  const isText = callee === "String";
  walk.reportError(
    isText ? hiddenCoercion.template("a string") : hiddenCoercion.converted(callee, argument.getText()),
    node,
  );
}

function callMember(
  walk: Walk,
  node: ts.CallExpression,
  callee: ts.PropertyAccessExpression,
  frame: Frame,
): AbstractValue {
  const receiver = walk.evaluate(callee.expression, frame);
  const name = callee.name.text;
  const args = evaluateArguments(walk, node, frame);
  switch (receiver.kind) {
    case "traced":
      if (isArrayMethod(name, args)) {
        // Some ops return an array of tiles.
        const list = holder(new Map(), TRACED);
        checkPredicate(walk, node, name, list, args, frame);
        return callArray(walk, list, name, args, frame, node);
      }
      traceCallbacks(walk, args, frame.region);
      return receiver.isCertain || !callee.questionDotToken ? TRACED : MAYBE_TRACED;
    case "arms":
      checkArmReturns(walk, args);
      traceCallbacks(walk, args, region("branch", frame.region));
      return name === "otherwise" ? TRACED : receiver;
    case "keyed":
      if (args[0] && isTraced(args[0])) walk.reportError(hiddenCoercion.identity(name), callee.name);
      if (args[0]) walk.recordComparison(args[0], callee.name, name);
      return callArray(walk, PLAIN, name, args, frame, node);
    case "declared":
      return name === "optional" ? { kind: "declared", isOptional: true } : receiver;
    case "variable":
      return name === "only" ? receiver : PLAIN;
    case "fact":
      return callFact(walk, receiver, node, callee.name, args, frame);
    case "holder":
    case "plain":
      return callPlainMember(walk, node, callee, receiver, args, frame);
    case "range":
      walk.reportError(earlyExit.collected(), node);
      return PLAIN;
    case "function":
      return callFunction(walk, receiver, name, args, frame, node);
    case "host":
    case "imported":
    case "jitted":
    case "module":
    case "native":
    case "op":
      return callValue(walk, member(receiver, name), args, frame, node);
    default:
      return receiver satisfies never;
  }
}

/** Calls a method of JavaScript: of an array, of an object of the author, or of a global such as `Math`. */
function callPlainMember(
  walk: Walk,
  node: ts.CallExpression,
  callee: ts.PropertyAccessExpression,
  receiver: Extract<AbstractValue, { kind: "holder" | "plain" }>,
  args: readonly AbstractValue[],
  frame: Frame,
): AbstractValue {
  const name = callee.name.text;
  const field = receiver.kind === "holder" ? receiver.fields.get(name) : undefined;
  if (field) return callValue(walk, field, args, frame, node);
  if (name === "from" && ts.isIdentifier(callee.expression) && callee.expression.text === "Array") {
    return callArrayFrom(walk, args, frame, node);
  }
  if (name === "push" || name === "unshift") addElements(walk, callee, args, frame);
  checkIdentity(walk, callee, receiver, args);
  const global = ts.isIdentifier(callee.expression) && receiver.kind === "plain" ? callee.expression.text : "";
  if (global === "Math" && args.some(isTraced) && !node.arguments.some(ts.isSpreadElement))
    walk.reportError(mathMessage(node, name), callee);
  const result = callGlobal(walk, `${global}.${name}`, args, frame, node);
  if (result) return result;
  checkPredicate(walk, node, name, receiver, args, frame);
  return callArray(walk, receiver, name, args, frame, node);
}

/** Calls a method of a shape. A dtype or a dimension may be a plain value; only the trace can tell. */
function callFact(
  walk: Walk,
  fact: Fact,
  node: ts.CallExpression,
  methodName: ts.MemberName,
  args: readonly AbstractValue[],
  frame: Frame,
): AbstractValue {
  const name = methodName.text;
  if (fact.property !== "shape") return PLAIN;
  const dimension = elementOf(fact);
  if (SEARCHES.includes(name)) walk.recordComparison(dimension, methodName, name);
  if (name === "at") return dimension;
  return callArray(walk, holder(new Map(), dimension), name, args, frame, node);
}

/** Calls `call`, `apply` or `bind` of an author's function. */
function callFunction(
  walk: Walk,
  target: AbstractValue & { kind: "function" },
  name: string,
  [self = PLAIN, ...args]: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  if (name === "call") return walk.invoke(target, args, frame.region);
  if (name === "apply") return walk.invoke(target, fieldsOf(args[0]), frame.region);
  if (name === "bind") return { ...target, bound: [...(target.bound ?? []), ...args] };
  return callValue(walk, PLAIN, [self, ...args], frame, node);
}

function fieldsOf(list: AbstractValue | undefined): readonly AbstractValue[] {
  return list?.kind === "holder" ? [...list.fields.values()] : [];
}

/** Calls a JavaScript built-in that returns its arguments or their elements. Undefined for any other function. */
function callGlobal(
  walk: Walk,
  name: string,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue | undefined {
  const [first = PLAIN] = args;
  switch (name) {
    case "Reflect.apply":
      return callValue(walk, first, fieldsOf(args[2]), frame, node);
    case "Object.values":
      return first.kind === "holder"
        ? holder(new Map(fieldsOf(first).map((each, i) => [String(i), each])), first.summary)
        : PLAIN;
    case "Array.of":
      return listOf(args);
    case "Object.entries":
      if (first.kind === "holder" && !containsTraced(first.summary))
        return listOf(fieldsOf(first).map((each) => listOf([PLAIN, each])));
      return holder(
        new Map(),
        holder(
          new Map([
            ["0", PLAIN],
            ["1", elementOf(first)],
          ]),
        ),
      );
    case "Object.fromEntries":
      return holder(new Map(), member(elementOf(first), "1"));
    case "Object.freeze":
      return first;
    case "Object.assign":
      return args.reduce((target, source) =>
        target.kind === "holder" && source.kind === "holder"
          ? holder(new Map([...target.fields, ...source.fields]), join(target.summary, source.summary))
          : target,
      );
    default:
      return undefined;
  }
}

const SEARCHES = ["includes", "indexOf", "lastIndexOf"];

/** Reports array searches and `Object.is` on traced values: they compare handles by identity. */
function checkIdentity(
  walk: Walk,
  callee: ts.PropertyAccessExpression,
  receiver: AbstractValue,
  args: readonly AbstractValue[],
): void {
  const name = callee.name.text;
  const isGlobal = ts.isIdentifier(callee.expression) && callee.expression.text === "Object";
  if (name === "is" && isGlobal && args.some(isTraced)) walk.reportError(hiddenCoercion.identity("Object.is"), callee);
  if (name === "is" && isGlobal) for (const each of args) walk.recordComparison(each, callee, "Object.is");
  if (!SEARCHES.includes(name) || isGlobal) return;
  const [item = PLAIN] = args;
  walk.recordComparison(item, callee.name, name);
  const isArray = receiver.kind === "holder" || ts.isArrayLiteralExpression(unwrap(callee.expression));
  if (isArray && (isTraced(item) || hasTracedElement(receiver)))
    walk.reportError(hiddenCoercion.identity(name), callee.name);
}

const ARRAY_METHODS = /^(?:forEach|map|flatMap|filter|some|every|find(?:Last)?(?:Index)?|entries|keys|values)$/;

/** True for methods that arrays have and tiles lack. `x.reduce` of a tile takes an axis first. */
function isArrayMethod(name: string, [first]: readonly AbstractValue[]): boolean {
  return ARRAY_METHODS.test(name) || (/^reduce(?:Right)?$/.test(name) && first?.kind === "function");
}

const PREDICATE_METHODS = /^(?:some|every|find(?:Last)?(?:Index)?|filter|sort|toSorted)$/;

/** Reports a callback of an array method that returns a traced value as its condition. */
function checkPredicate(
  walk: Walk,
  node: ts.CallExpression,
  name: string,
  list: AbstractValue,
  [callback]: readonly AbstractValue[],
  frame: Frame,
): void {
  const [argument] = node.arguments;
  if (!argument) return;
  const element = elementOf(list);
  if (!PREDICATE_METHODS.test(name)) {
    if (callback?.kind === "native") checkNativePredicate(walk, callback.name, element, argument);
    return;
  }
  const isBoolean = callback?.kind === "native" && callback.name === "Boolean";
  const parameters = name.endsWith("ort") || name.endsWith("orted") ? [element, element] : [element, PLAIN, list];
  const result =
    callback?.kind === "function"
      ? walk.invoke(callback, containsTraced(element) || comparableFact(element) ? parameters : [], frame.region)
      : PLAIN;
  if (callback?.kind === "native" && !isBoolean) checkNativePredicate(walk, callback.name, element, argument);
  if (isTraced(isBoolean ? element : result)) walk.reportError(tracedCondition.predicate(name), argument);
}

function callValue(
  walk: Walk,
  target: AbstractValue,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  walk.callees.set(node, target);
  switch (target.kind) {
    case "op":
      if (target.name === "when") checkArmReturns(walk, args);
      traceCallbacks(walk, args, opRegion(target.name, frame.region));
      return opResult(target.name, args);
    case "host":
      return callHost(walk, target.name, args);
    case "function":
      return walk.invoke(target, args, frame.region);
    case "imported": {
      if (!args.some((each) => containsTraced(each) || comparableFact(each))) return PLAIN;
      const importedValue = target.load();
      if (importedValue && importedValue.kind !== "plain") return callValue(walk, importedValue, args, frame, node);
      if (args.some(containsTraced)) walk.reportWarning(unreadSource(target.name, target.from), node);
      return PLAIN;
    }
    case "jitted":
    case "traced":
      traceCallbacks(walk, args, frame.region);
      return TRACED;
    case "native":
      checkNativePredicate(walk, target.name, args[0], node);
      return PLAIN;
    case "arms":
    case "declared":
    case "fact":
    case "holder":
    case "keyed":
    case "module":
    case "plain":
    case "range":
    case "variable":
      for (const each of args) if (each.kind === "function") walk.invoke(each, [], frame.region);
      return PLAIN;
    default:
      return target satisfies never;
  }
}

/** Reports a JavaScript predicate on a handle. Its answer is about the handle, not about the value. */
function checkNativePredicate(walk: Walk, name: string, operand: AbstractValue | undefined, node: ts.Node): void {
  if (!operand || !isTraced(operand)) return;
  walk.reportError(name === "Boolean" ? tracedCondition.boolean() : hiddenCoercion.question(name), node);
}

/** Reports a `return` without a value in an arm: the arm returns nothing, so the author means to leave the kernel. */
function checkArmReturns(walk: Walk, arms: readonly AbstractValue[]): void {
  for (const arm of arms) {
    const body = arm.kind === "function" ? arm.node.body : undefined;
    if (!body || !ts.isBlock(body)) continue;
    const earlyReturn = body.statements.find((each) => ts.isReturnStatement(each) && each.expression === undefined);
    if (earlyReturn) walk.reportError(earlyExit.arm(), earlyReturn);
  }
}

/** The region of callbacks of an op. Tracing runs the bodies of branches and loops once. */
function opRegion(name: string, parent: Region | undefined): Region | undefined {
  if (name === "when") return region("branch", parent);
  return name === "whileLoop" ? region("loop", parent) : parent;
}

/** Walks callbacks of an op with all parameters traced. */
function traceCallbacks(walk: Walk, args: readonly AbstractValue[], parent: Region | undefined): void {
  for (const callback of args) {
    if (callback.kind === "function")
      walk.invoke(
        callback,
        callback.node.parameters.map(() => TRACED),
        parent,
      );
  }
}

/** Arguments of a kernel's callbacks: all are traced. */
const TRACED_PARAMS = holder(new Map(), TRACED);

/** Arguments of a kernel's body, which may test the presence of optional params. */
function tracedParams(params: AbstractValue): AbstractValue {
  if (params.kind !== "holder") return TRACED_PARAMS;
  return holder(new Map(optionalNames(params).map((name) => [name, OPTIONAL])), TRACED);
}

function optionalNames(params: AbstractValue): readonly string[] {
  if (params.kind !== "holder") return [];
  return [...params.fields].flatMap(([name, param]) => (param.kind === "declared" && param.isOptional ? [name] : []));
}

/** Builders of a kernel's params. */
const PARAM_DECLARATION = /^(?:tensor|descriptor|scalar)/;

/** Spec fields with callbacks that are traced on the host. `reference` and other fields run as plain JavaScript. */
const TRACED_OPTIONS = ["grid", "requires", "dims"];

function callHost(walk: Walk, name: string, args: readonly AbstractValue[]): AbstractValue {
  const hostFunctions: AbstractValue[] = [];
  if (name.startsWith("constexpr.")) hostFunctions.push(...args);
  // The `range` of a param may be a function of sizes.
  if (name !== "kernel") for (const each of args) if (each.kind === "holder") hostFunctions.push(member(each, "range"));
  if (name === "kernel") {
    const body = args.at(-1);
    const spec = args.find((each) => each.kind === "holder");
    if (spec) checkReference(walk, member(spec, "reference"), optionalNames(member(spec, "params")));
    if (body?.kind === "function") {
      checkSynchronous(walk, body.node);
      walk.invoke(body, [spec ? tracedParams(member(spec, "params")) : TRACED_PARAMS], undefined);
    }
    const options = spec ? TRACED_OPTIONS.map((option) => member(spec, option)) : [];
    for (const each of options) hostFunctions.push(...(each.kind === "holder" ? each.fields.values() : [each]));
  }
  // No parent region: variables around the kernel are plain JavaScript, and tracing may assign them.
  for (const each of hostFunctions) if (each.kind === "function") walk.invoke(each, [TRACED_PARAMS], undefined);
  return PARAM_DECLARATION.test(name) ? { kind: "declared" } : PLAIN;
}

function evaluateArguments(walk: Walk, node: ts.CallExpression, frame: Frame): readonly AbstractValue[] {
  return node.arguments.flatMap((argument) => {
    if (isNamedArgument(argument))
      walk.reportError(keywordMessage(argument.left.text, argument.right.getText()), argument);
    if (!ts.isSpreadElement(argument)) return [walk.evaluate(argument, frame)];
    const list = walk.evaluate(argument.expression, frame);
    if (list.kind === "range") walk.reportError(earlyExit.collected(), argument);
    return list.kind === "holder" && list.fields.size > 0 ? [...list.fields.values()] : [elementOf(list)];
  });
}

type NamedArgument = ts.BinaryExpression & { readonly left: ts.Identifier };

/** True for an argument in Python's keyword syntax, `f(x = 1)`. */
const isNamedArgument = (node: ts.Expression): node is NamedArgument =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken && ts.isIdentifier(node.left);

const keywordMessage = (name: string, value: string): MessageOfCode =>
  keywordName(name) ?? hiddenCoercion.keyword(name, value);
