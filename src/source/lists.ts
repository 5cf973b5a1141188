/** Abstract values of arrays: results of their methods, and elements that are added to them. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { outerAssignment } from "../diagnostics/catalog/source-codes.js";
import {
  type AbstractValue,
  comparableFact,
  elementOf,
  holder,
  join,
  PLAIN,
  containsTraced,
  TRACED,
  weaken,
  boundaryBetween,
} from "./abstract-values.js";
import { unwrap } from "./sites.js";
import type { Frame, Walk } from "./walk.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import { referenceFlag } from "../diagnostics/catalog/reference-codes.js";

/** The maximum length of lists whose elements are tracked separately. */
const MAX_TRACKED_LENGTH = 64;

/** The list of plain elements that `{ length: 3 }` in `Array.from({ length: 3 }, …)` describes. */
function lengthOf(node: ts.CallExpression): AbstractValue | undefined {
  const [list] = node.arguments;
  const lengthProperty = list && ts.isObjectLiteralExpression(list) ? list.properties[0] : undefined;
  if (!lengthProperty || !ts.isPropertyAssignment(lengthProperty) || lengthProperty.name.getText() !== "length")
    return undefined;
  const length = ts.isNumericLiteral(lengthProperty.initializer) ? Number(lengthProperty.initializer.text) : 0;
  return length <= MAX_TRACKED_LENGTH
    ? holder(new Map(Array.from({ length }, (_, i) => [String(i), PLAIN])))
    : undefined;
}

/** `Array.from(list, map)` */
export function callArrayFrom(
  walk: Walk,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  const [list = PLAIN, map] = args;
  if (list.kind === "range") {
    walk.reportError(earlyExit.collected(), node);
    return PLAIN;
  }
  const element = elementOf(list);
  const mappedElement = map?.kind === "function" ? walk.invoke(map, [element, PLAIN], frame.region) : element;
  return listLike(lengthOf(node) ?? list, mappedElement);
}

/** Adds elements to an array. It contains traced values from then on. */
export function addElements(
  walk: Walk,
  callee: ts.PropertyAccessExpression,
  args: readonly AbstractValue[],
  frame: Frame,
): void {
  const list = unwrap(callee.expression);
  if (!ts.isIdentifier(list) || !args.some(containsTraced)) return;
  const binding = frame.scope.lookup(list.text);
  if (!binding) return;
  const kind = boundaryBetween(frame.region, binding.region);
  if (kind) walk.reportWarning(outerAssignment.pushed(list.text, kind), callee.name);
  const hasElements =
    binding.value.kind === "holder" && (binding.value.fields.size > 0 || containsTraced(binding.value));
  binding.value = holder(new Map(), (hasElements ? [elementOf(binding.value), ...args] : args).reduce(join));
}

/** An array with the length of another, if that is known. */
function listLike(list: AbstractValue, element: AbstractValue): AbstractValue {
  const indices = list.kind === "holder" ? [...list.fields.keys()].filter((key) => /^\d+$/.test(key)) : [];
  return holder(new Map(indices.map((index) => [index, element])), element);
}

/**
 * The separate elements of a list with a known length. Undefined for an empty list: elements may have been added since.
 */
export function elementsOf(list: AbstractValue): readonly AbstractValue[] | undefined {
  if (list.kind !== "holder" || list.fields.size === 0 || containsTraced(list.summary)) return undefined;
  const keys = [...list.fields.keys()];
  return keys.every((key, i) => key === String(i)) ? [...list.fields.values()] : undefined;
}

export function listOf(elements: readonly AbstractValue[]): AbstractValue {
  return holder(new Map(elements.map((each, i) => [String(i), each])));
}

/** Concatenates lists. A value that is not a list counts as one element. */
export function concatLists(lists: readonly AbstractValue[]): AbstractValue {
  const elements = lists.map((each) => (each.kind === "holder" ? elementsOf(each) : [each]));
  return elements.every((each) => each !== undefined)
    ? listOf(elements.flat())
    : holder(new Map(), lists.map(spreadElement).reduce(join, PLAIN));
}

/** The result of `flatMap` if its callback returns the same value for each element. */
function repeatList(list: AbstractValue, mapped: AbstractValue): AbstractValue | undefined {
  const elements = elementsOf(list);
  return elements ? concatLists(elements.map(() => mapped)) : undefined;
}

/** The result of a method that rearranges a list of known length; undefined for other lists and methods. */
function rearrangeList(
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  node: ts.CallExpression,
): AbstractValue | undefined {
  const elements = elementsOf(list);
  if (!elements) return undefined;
  const [first, ...others] = args;
  switch (name) {
    case "slice":
      return args.length === 0 ? list : undefined;
    case "values":
      return list;
    case "concat":
      return concatLists([list, ...args]);
    case "reverse":
    case "toReversed":
      return listOf(elements.toReversed());
    case "sort":
    case "toSorted":
      return listLike(list, elementOf(list));
    case "flat":
      return args.length === 0 ? concatLists(elements) : undefined;
    case "fill":
      return first && others.length === 0 ? listLike(list, first) : undefined;
    case "entries":
      return listOf(elements.map((each) => listOf([PLAIN, each])));
    case "at":
      return elements.at(literalNumber(node.arguments[0]) ?? elements.length);
    default:
      return undefined;
  }
}

/** The value of a numeric literal with its sign. */
function literalNumber(node: ts.Expression | undefined): number | undefined {
  if (!node) return undefined;
  const isNegative = ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken;
  const digits = isNegative ? node.operand : node;
  return ts.isNumericLiteral(digits) ? Number(digits.text) * (isNegative ? -1 : 1) : undefined;
}

/** Calls an array method: computes its result, and walks its callbacks with the elements. */
export function callArray(
  walk: Walk,
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  const rearranged = rearrangeList(list, name, args, node);
  if (!rearranged) return callWithElements(walk, list, name, args, frame);
  const [compare] = args;
  if (compare?.kind === "function") walk.invoke(compare, [elementOf(list), elementOf(list)], frame.region);
  return rearranged;
}

/** Calls an array method that passes elements to a callback or returns some of them. */
function callWithElements(
  walk: Walk,
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  frame: Frame,
): AbstractValue {
  const element = elementOf(list);
  const call = (callback: AbstractValue | undefined, callbackArgs: readonly AbstractValue[]): AbstractValue =>
    callback?.kind === "function" ? walk.invoke(callback, callbackArgs, frame.region) : PLAIN;
  const [first, second] = args;
  switch (name) {
    case "map":
    case "flatMap": {
      const mapped = first?.kind === "jitted" ? TRACED : call(first, [element, PLAIN, list]);
      return name === "map"
        ? listLike(list, mapped)
        : (repeatList(list, mapped) ?? holder(new Map(), mapped.kind === "holder" ? elementOf(mapped) : mapped));
    }
    case "reduce":
    case "reduceRight": {
      const initial = second ?? element;
      const reduced = first?.kind === "jitted" ? TRACED : call(first, [initial, element, PLAIN, list]);
      return join(initial, reduced);
    }
    case "slice":
    case "concat":
    case "filter":
    case "reverse":
    case "toReversed":
    case "sort":
    case "toSorted":
    case "splice":
    case "toSpliced":
    case "flat":
      call(first, [element, PLAIN, list]);
      return holder(new Map(), name === "concat" ? args.map(spreadElement).reduce(join, element) : element);
    case "entries": {
      const entry = new Map([
        ["0", PLAIN],
        ["1", element],
      ]);
      return holder(new Map(), holder(entry));
    }
    case "values":
      return holder(new Map(), element);
    case "find":
    case "findLast":
    case "at":
    case "pop":
    case "shift":
      call(first, [element, PLAIN, list]);
      return weaken(element);
    default:
      // `forEach`, `some`, a method of the author's object: callbacks get elements if there are any.
      for (const each of args)
        call(each, containsTraced(element) || comparableFact(element) ? [element, PLAIN, list] : []);
      return PLAIN;
  }
}

function spreadElement(value: AbstractValue): AbstractValue {
  return value.kind === "holder" ? elementOf(value) : value;
}

// Functions that the walk does not follow: async callbacks in a body, and references, which record torch.

/** Reports async functions in a kernel's body: what follows their first await runs after the trace. */
export function checkSynchronous(walk: Walk, body: ts.Node): void {
  ts.forEachChild(body, (node) => {
    const isAsync = ts.isFunctionLike(node) && ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(isAsyncKeyword);
    if (isAsync) walk.reportError(argumentList.promise(), node);
    checkSynchronous(walk, node);
  });
}

const isAsyncKeyword = ({ kind }: ts.Modifier): boolean => kind === ts.SyntaxKind.AsyncKeyword;

/** Reports conditions of JavaScript on optional tensors: a recorded tensor is always given. */
export function checkReference(walk: Walk, reference: AbstractValue, optional: readonly string[]): void {
  if (reference.kind !== "function" || optional.length === 0) return;
  const [inputs] = reference.node.parameters;
  const tensors = inputs ? boundNames(inputs.name, optional) : new Map<string, string>();
  const visit = (node: ts.Node): void => {
    const condition = conditionOf(node);
    const subject = condition && subjectOf(condition);
    const tensor = subject && tensors.get(subject.getText());
    if (condition && tensor !== undefined) walk.reportError(referenceFlag.optional(tensor), condition);
    else ts.forEachChild(node, visit);
  };
  if (reference.node.body) visit(reference.node.body);
}

/** The optional tensors by the text that names them: `bias`, or `inputs.bias`. */
function boundNames(name: ts.BindingName, optional: readonly string[]): ReadonlyMap<string, string> {
  if (ts.isIdentifier(name)) return new Map(optional.map((each) => [`${name.text}.${each}`, each]));
  if (!ts.isObjectBindingPattern(name)) return new Map();
  const entries = name.elements.map(
    (element) => [element.name.getText(), (element.propertyName ?? element.name).getText()] as const,
  );
  return new Map(entries.filter(([, property]) => optional.includes(property)));
}

const LOGICAL = new Set<ts.SyntaxKind>([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isConditionalExpression(node)) return node.condition;
  if (ts.isIfStatement(node)) return node.expression;
  if (ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind)) return node.left;
  return undefined;
}

/** The value that a condition asks for: `x` of `x`, `!x`, and `x !== undefined`. */
function subjectOf(condition: ts.Expression): ts.Expression {
  const e = unwrap(condition);
  if (ts.isPrefixUnaryExpression(e)) return subjectOf(e.operand);
  const isComparison = ts.isBinaryExpression(e) && /^[!=]==?$/.test(e.operatorToken.getText());
  return isComparison && /^(?:undefined|null)$/.test(e.right.getText()) ? subjectOf(e.left) : e;
}
