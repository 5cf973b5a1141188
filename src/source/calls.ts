/** Calls: the result of an op, an array method or the author's own function. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { hiddenCoercion, tracedCondition, unreadSource } from "../diagnostics/catalog/source-codes.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import { keywordName } from "../diagnostics/python-names.js";
import { type Frame, region, type Region, type Walk } from "./regions.js";
import { callArray, collect, grow, listOf } from "./lists.js";
import { unwrap } from "./sites.js";
import { ofTheProgram } from "./replacements.js";
import {
  type AbstractValue,
  comparable,
  elementOf,
  type Fact,
  holder,
  holdsTraced,
  isTraced,
  join,
  MAYBE_TRACED,
  member,
  opResult,
  PLAIN,
  touches,
  OPTIONAL,
  TRACED,
} from "./abstract-values.js";

export function evaluateCall(walk: Walk, node: ts.CallExpression, frame: Frame): AbstractValue {
  const callee = unwrap(node.expression);
  if (ts.isPropertyAccessExpression(callee)) return callMember(walk, node, callee, frame);
  const target = walk.evaluate(callee, frame);
  const args = evaluateArguments(walk, node, frame);
  refuseLength(walk, node, args);
  refuseConversion(walk, node, args, frame);
  return callValue(walk, target, args, frame, node);
}

/** `Array(n)` and `new Array(n)`, which hold what is no number of JavaScript's. */
export function refuseLength(
  walk: Walk,
  node: ts.CallExpression | ts.NewExpression,
  args: readonly AbstractValue[],
): void {
  const callee = unwrap(node.expression);
  const isArray = ts.isIdentifier(callee) && callee.text === "Array";
  if (isArray && args.length === 1 && isTraced(args[0]!)) walk.problem(hiddenCoercion.length(), node);
}

const CONVERSIONS = /^(?:Number|BigInt|String|parse(?:Int|Float))$/;

/** `Number(n)` and `String(n)` */
function refuseConversion(walk: Walk, node: ts.CallExpression, [given]: readonly AbstractValue[], frame: Frame): void {
  const callee = unwrap(node.expression).getText();
  if (!CONVERSIONS.test(callee) || frame.scope.lookup(callee) || !given || !isTraced(given)) return;
  const isText = callee === "String";
  walk.problem(
    isText ? hiddenCoercion.template("a string") : hiddenCoercion.converted(callee, node.arguments[0]!.getText()),
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
      if (isOfList(name, args)) {
        // Some ops give several tiles, as an array.
        const list = holder(new Map(), TRACED);
        predicate(walk, node, name, list, args, frame);
        return callArray(walk, list, name, args, frame, node);
      }
      callbacks(walk, args, frame.region);
      return receiver.certain || !callee.questionDotToken ? TRACED : MAYBE_TRACED;
    case "arms":
      refuseReturns(walk, args);
      callbacks(walk, args, region("branch", frame.region));
      return name === "otherwise" ? TRACED : receiver;
    case "keyed":
      if (args[0] && isTraced(args[0])) walk.problem(hiddenCoercion.identity(name), callee.name);
      if (args[0]) walk.compared(args[0], callee.name, name);
      return callArray(walk, PLAIN, name, args, frame, node);
    case "declared":
      return name === "optional" ? { kind: "declared", optional: true } : receiver;
    case "variable":
      return name === "only" ? receiver : PLAIN;
    case "fact":
      return callFact(walk, receiver, node, callee.name, args, frame);
    case "holder":
    case "plain": {
      const own = receiver.kind === "holder" ? receiver.fields.get(name) : undefined;
      if (own) return callValue(walk, own, args, frame, node);
      if (name === "from" && ts.isIdentifier(callee.expression) && callee.expression.text === "Array") {
        return collect(walk, args, frame, node);
      }
      if (name === "push" || name === "unshift") grow(walk, callee, args, frame);
      identity(walk, callee, receiver, args);
      const global = ts.isIdentifier(callee.expression) && receiver.kind === "plain" ? callee.expression.text : "";
      if (global === "Math" && args.some(isTraced) && !node.arguments.some(ts.isSpreadElement))
        walk.problem(ofTheProgram(node, name), callee);
      const known = callGlobal(walk, `${global}.${name}`, args, frame, node);
      if (known) return known;
      predicate(walk, node, name, receiver, args, frame);
      return callArray(walk, receiver, name, args, frame, node);
    }
    case "range":
      walk.problem(earlyExit.collected(), node);
      return PLAIN;
    case "function":
      return callFunction(walk, receiver, name, args, frame, node);
    default:
      return callValue(walk, member(receiver, name), args, frame, node);
  }
}

/** Methods of a shape. What a dtype or a dimension gives may be plain: the trace sees whether it is. */
function callFact(
  walk: Walk,
  fact: Fact,
  node: ts.CallExpression,
  called: ts.MemberName,
  args: readonly AbstractValue[],
  frame: Frame,
): AbstractValue {
  const name = called.text;
  if (fact.what !== "shape") return PLAIN;
  const dimension = elementOf(fact);
  if (SEARCHES.includes(name)) walk.compared(dimension, called, name);
  if (name === "at") return dimension;
  return callArray(walk, holder(new Map(), dimension), name, args, frame, node);
}

/** `call`, `apply` and `bind` of the author's function. */
function callFunction(
  walk: Walk,
  target: AbstractValue & { kind: "function" },
  name: string,
  [self = PLAIN, ...args]: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  if (name === "call") return walk.invoke(target, args, frame.region);
  if (name === "apply") return walk.invoke(target, listed(args[0]), frame.region);
  if (name === "bind") return { ...target, bound: [...(target.bound ?? []), ...args] };
  return callValue(walk, PLAIN, [self, ...args], frame, node);
}

function listed(list: AbstractValue | undefined): readonly AbstractValue[] {
  return list?.kind === "holder" ? [...list.fields.values()] : [];
}

/** Functions of JavaScript that hand on what they are given. */
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
      return callValue(walk, first, listed(args[2]), frame, node);
    case "Object.values":
      return first.kind === "holder"
        ? holder(new Map(listed(first).map((each, i) => [String(i), each])), first.rest)
        : PLAIN;
    case "Array.of":
      return listOf(args);
    case "Object.entries":
      if (first.kind === "holder" && !touches(first.rest))
        return listOf(listed(first).map((each) => listOf([PLAIN, each])));
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
      return args.reduce((all, each) =>
        all.kind === "holder" && each.kind === "holder"
          ? holder(new Map([...all.fields, ...each.fields]), join(all.rest, each.rest))
          : all,
      );
    default:
      return undefined;
  }
}

const SEARCHES = ["includes", "indexOf", "lastIndexOf"];

/** Searches of arrays, and `Object.is`: they compare handles. */
function identity(
  walk: Walk,
  callee: ts.PropertyAccessExpression,
  receiver: AbstractValue,
  args: readonly AbstractValue[],
): void {
  const name = callee.name.text;
  const isGlobal = ts.isIdentifier(callee.expression) && callee.expression.text === "Object";
  if (name === "is" && isGlobal && args.some(isTraced)) walk.problem(hiddenCoercion.identity("Object.is"), callee);
  if (name === "is" && isGlobal) for (const each of args) walk.compared(each, callee, "Object.is");
  if (!SEARCHES.includes(name) || isGlobal) return;
  const [sought = PLAIN] = args;
  walk.compared(sought, callee.name, name);
  const isArray = receiver.kind === "holder" || ts.isArrayLiteralExpression(unwrap(callee.expression));
  if (isArray && (isTraced(sought) || holdsTraced(receiver))) walk.problem(hiddenCoercion.identity(name), callee.name);
}

const OF_LISTS = /^(?:forEach|map|flatMap|filter|some|every|find(?:Last)?(?:Index)?|entries|keys|values)$/;

/** Whether a method is one of arrays, and none of tiles; `x.reduce` of a tile takes an axis first. */
function isOfList(name: string, [first]: readonly AbstractValue[]): boolean {
  return OF_LISTS.test(name) || (/^reduce(?:Right)?$/.test(name) && first?.kind === "function");
}

const PREDICATES = /^(?:some|every|find(?:Last)?(?:Index)?|filter|sort|toSorted)$/;

/** A predicate of an array method that gives a traced value. */
function predicate(
  walk: Walk,
  node: ts.CallExpression,
  name: string,
  list: AbstractValue,
  [test]: readonly AbstractValue[],
  frame: Frame,
): void {
  const [given] = node.arguments;
  if (!given) return;
  const element = elementOf(list);
  if (!PREDICATES.test(name)) {
    if (test?.kind === "native") refuseQuestion(walk, test.name, element, given);
    return;
  }
  const isBoolean = test?.kind === "native" && test.name === "Boolean";
  const parameters = name.endsWith("ort") || name.endsWith("orted") ? [element, element] : [element, PLAIN, list];
  const answer =
    test?.kind === "function"
      ? walk.invoke(test, touches(element) || comparable(element) ? parameters : [], frame.region)
      : PLAIN;
  if (test?.kind === "native" && !isBoolean) refuseQuestion(walk, test.name, element, given);
  if (isTraced(isBoolean ? element : answer)) walk.problem(tracedCondition.predicate(name), given);
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
      if (target.name === "when") refuseReturns(walk, args);
      callbacks(walk, args, opRegion(target.name, frame.region));
      return opResult(target.name, args);
    case "host":
      return callHost(walk, target.name, args);
    case "function":
      return walk.invoke(target, args, frame.region);
    case "imported": {
      if (!args.some((each) => touches(each) || comparable(each))) return PLAIN;
      const read = target.load();
      if (read && read.kind !== "plain") return callValue(walk, read, args, frame, node);
      if (args.some(touches)) walk.warning(unreadSource(target.name, target.from), node);
      return PLAIN;
    }
    case "jitted":
    case "traced":
      callbacks(walk, args, frame.region);
      return TRACED;
    case "native":
      refuseQuestion(walk, target.name, args[0], node);
      return PLAIN;
    default:
      for (const each of args) if (each.kind === "function") walk.invoke(each, [], frame.region);
      return PLAIN;
  }
}

/** What JavaScript answers about a handle says nothing of the value. */
function refuseQuestion(walk: Walk, name: string, asked: AbstractValue | undefined, at: ts.Node): void {
  if (!asked || !isTraced(asked)) return;
  walk.problem(name === "Boolean" ? tracedCondition.boolean() : hiddenCoercion.question(name), at);
}

/** A plain `return` in an arm would be none, so the author means the kernel's. */
function refuseReturns(walk: Walk, arms: readonly AbstractValue[]): void {
  for (const arm of arms) {
    const body = arm.kind === "function" ? arm.node.body : undefined;
    if (!body || !ts.isBlock(body)) continue;
    const left = body.statements.find((each) => ts.isReturnStatement(each) && each.expression === undefined);
    if (left) walk.problem(earlyExit.arm(), left);
  }
}

/** Bodies of branches and loops run once while they are traced. */
function opRegion(name: string, from: Region | undefined): Region | undefined {
  if (name === "when") return region("branch", from);
  return name === "whileLoop" ? region("loop", from) : from;
}

/** Functions given to an op are traced: every parameter is a value of the program. */
function callbacks(walk: Walk, args: readonly AbstractValue[], from: Region | undefined): void {
  for (const each of args) {
    if (each.kind === "function")
      walk.invoke(
        each,
        each.node.parameters.map(() => TRACED),
        from,
      );
  }
}

/** Every argument of a kernel's callbacks is traced. */
const BAG = holder(new Map(), TRACED);

/** The same of a body, which asks whether an optional param is there. */
function bagOf(params: AbstractValue): AbstractValue {
  if (params.kind !== "holder") return BAG;
  const optional = [...params.fields].filter(([, param]) => param.kind === "declared" && param.optional);
  return holder(new Map(optional.map(([name]) => [name, OPTIONAL])), TRACED);
}

/** What declares a param of a kernel. */
const DECLARES = /^(?:tensor|descriptor|scalar)/;

/** Callbacks of a kernel's options that are traced on the host; `reference` and the others run as plain JavaScript. */
const TRACED_OPTIONS = ["grid", "requires", "dims"];

function callHost(walk: Walk, name: string, args: readonly AbstractValue[]): AbstractValue {
  const traced: AbstractValue[] = [];
  if (name.startsWith("constexpr.")) traced.push(...args);
  // The range of a tensor, a scalar or a constexpr is a function of sizes.
  if (name !== "kernel") for (const each of args) if (each.kind === "holder") traced.push(member(each, "range"));
  if (name === "kernel") {
    const body = args.at(-1);
    const spec = args.find((each) => each.kind === "holder");
    if (body?.kind === "function") walk.invoke(body, [spec ? bagOf(member(spec, "params")) : BAG], undefined);
    for (const option of spec ? TRACED_OPTIONS : []) {
      const value = member(spec!, option);
      traced.push(...(value.kind === "holder" ? value.fields.values() : [value]));
    }
  }
  // A new root: variables around the kernel are plain JavaScript and are assigned while tracing.
  for (const each of traced) if (each.kind === "function") walk.invoke(each, [BAG], undefined);
  return DECLARES.test(name) ? { kind: "declared" } : PLAIN;
}

function evaluateArguments(walk: Walk, node: ts.CallExpression, frame: Frame): readonly AbstractValue[] {
  return node.arguments.flatMap((argument) => {
    if (isAssignment(argument)) walk.problem(keyword(argument.left.text, argument.right.getText()), argument);
    if (!ts.isSpreadElement(argument)) return [walk.evaluate(argument, frame)];
    const list = walk.evaluate(argument.expression, frame);
    if (list.kind === "range") walk.problem(earlyExit.collected(), argument);
    return list.kind === "holder" && list.fields.size > 0 ? [...list.fields.values()] : [elementOf(list)];
  });
}

type NamedArgument = ts.BinaryExpression & { readonly left: ts.Identifier };

/** Whether an argument is written as Python names it, `f(x = 1)`. */
const isAssignment = (node: ts.Expression): node is NamedArgument =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken && ts.isIdentifier(node.left);

const keyword = (name: string, value: string): MessageOfCode =>
  keywordName(name) ?? hiddenCoercion.keyword(name, value);
