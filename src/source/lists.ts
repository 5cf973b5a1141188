/** Arrays of the author's: what their methods give, and what is put into them. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalog/control-codes.js";
import { outerAssignment } from "../diagnostics/catalog/source-codes.js";
import {
  type AbstractValue,
  comparable,
  elementOf,
  holder,
  join,
  PLAIN,
  touches,
  TRACED,
  weaken,
} from "./abstract-values.js";
import { boundaryBetween, type Frame, type Walk } from "./regions.js";
import { unwrap } from "./sites.js";

/** Longer lists are not told apart element by element. */
const MOST_PLACES = 64;

/** The list of the number of elements in `Array.from({ length: 3 }, …)`. */
function lengthOf(node: ts.CallExpression): AbstractValue | undefined {
  const [list] = node.arguments;
  const only = list && ts.isObjectLiteralExpression(list) ? list.properties[0] : undefined;
  if (!only || !ts.isPropertyAssignment(only) || only.name.getText() !== "length") return undefined;
  const length = ts.isNumericLiteral(only.initializer) ? Number(only.initializer.text) : 0;
  return length <= MOST_PLACES ? holder(new Map(Array.from({ length }, (_, i) => [String(i), PLAIN]))) : undefined;
}

/** `Array.from(list, map)` */
export function collect(
  walk: Walk,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  const [list = PLAIN, map] = args;
  if (list.kind === "range") {
    walk.problem(earlyExit.collected(), node);
    return PLAIN;
  }
  const element = elementOf(list);
  const made = map?.kind === "function" ? walk.invoke(map, [element, PLAIN], frame.region) : element;
  return sameLength(lengthOf(node) ?? list, made);
}

/** After a traced element is added, an array holds traced values. */
export function grow(
  walk: Walk,
  callee: ts.PropertyAccessExpression,
  args: readonly AbstractValue[],
  frame: Frame,
): void {
  const list = unwrap(callee.expression);
  if (!ts.isIdentifier(list) || !args.some(touches)) return;
  const binding = frame.scope.lookup(list.text);
  if (!binding) return;
  const kind = boundaryBetween(frame.region, binding.region);
  if (kind) walk.warning(outerAssignment.pushed(list.text, kind), callee.name);
  const all = binding.value.kind === "holder" && (binding.value.fields.size > 0 || touches(binding.value));
  binding.value = holder(new Map(), (all ? [elementOf(binding.value), ...args] : args).reduce(join));
}

/** An array of as many elements as another, as far as that is known. */
function sameLength(list: AbstractValue, element: AbstractValue): AbstractValue {
  const places = list.kind === "holder" ? [...list.fields.keys()].filter((key) => /^\d+$/.test(key)) : [];
  return holder(new Map(places.map((place) => [place, element])), element);
}

/** The elements of a list whose length is known, each by itself. An empty one may have got more since. */
export function elementsOf(list: AbstractValue): readonly AbstractValue[] | undefined {
  if (list.kind !== "holder" || list.fields.size === 0 || touches(list.rest)) return undefined;
  const places = [...list.fields.keys()];
  return places.every((place, i) => place === String(i)) ? [...list.fields.values()] : undefined;
}

export function listOf(elements: readonly AbstractValue[]): AbstractValue {
  return holder(new Map(elements.map((each, i) => [String(i), each])));
}

/** What several lists hold one after the other; anything else stands for itself. */
export function concatLists(parts: readonly AbstractValue[]): AbstractValue {
  const all = parts.map((each) => (each.kind === "holder" ? elementsOf(each) : [each]));
  return all.every((each) => each !== undefined)
    ? listOf(all.flat())
    : holder(new Map(), parts.map(spread).reduce(join, PLAIN));
}

/** What `flatMap` gives if its function gives the same for each element. */
function joinedCopies(list: AbstractValue, made: AbstractValue): AbstractValue | undefined {
  const elements = elementsOf(list);
  return elements ? concatLists(elements.map(() => made)) : undefined;
}

/** Methods that put the elements of a list of known length into another place. */
function moved(
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  node: ts.CallExpression,
): AbstractValue | undefined {
  const elements = elementsOf(list);
  if (!elements) return undefined;
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
      return sameLength(list, elementOf(list));
    case "flat":
      return args.length === 0 ? concatLists(elements) : undefined;
    case "fill":
      return args.length === 1 ? sameLength(list, args[0]!) : undefined;
    case "entries":
      return listOf(elements.map((each) => listOf([PLAIN, each])));
    case "at":
      return elements.at(literalOf(node.arguments[0]) ?? elements.length);
    default:
      return undefined;
  }
}

/** The number that is written there, with its sign. */
function literalOf(node: ts.Expression | undefined): number | undefined {
  if (!node) return undefined;
  const isNegative = ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken;
  const digits = isNegative ? node.operand : node;
  return ts.isNumericLiteral(digits) ? Number(digits.text) * (isNegative ? -1 : 1) : undefined;
}

/** Array methods: what they give, and what their callbacks do with elements. */
export function callArray(
  walk: Walk,
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  frame: Frame,
  node: ts.CallExpression,
): AbstractValue {
  const known = moved(list, name, args, node);
  if (!known) return passed(walk, list, name, args, frame);
  const [compare] = args;
  if (compare?.kind === "function") walk.invoke(compare, [elementOf(list), elementOf(list)], frame.region);
  return known;
}

/** Array methods that pass elements to a callback, or give some of them. */
function passed(
  walk: Walk,
  list: AbstractValue,
  name: string,
  args: readonly AbstractValue[],
  frame: Frame,
): AbstractValue {
  const element = elementOf(list);
  const call = (each: AbstractValue | undefined, given: readonly AbstractValue[]): AbstractValue =>
    each?.kind === "function" ? walk.invoke(each, given, frame.region) : PLAIN;
  const [first, second] = args;
  switch (name) {
    case "map":
    case "flatMap": {
      const made = first?.kind === "jitted" ? TRACED : call(first, [element, PLAIN, list]);
      return name === "map"
        ? sameLength(list, made)
        : (joinedCopies(list, made) ?? holder(new Map(), made.kind === "holder" ? elementOf(made) : made));
    }
    case "reduce":
    case "reduceRight": {
      const initial = second ?? element;
      const once = first?.kind === "jitted" ? TRACED : call(first, [initial, element, PLAIN, list]);
      return join(initial, once);
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
      return holder(new Map(), name === "concat" ? args.map(spread).reduce(join, element) : element);
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
      for (const each of args) call(each, touches(element) || comparable(element) ? [element, PLAIN, list] : []);
      return PLAIN;
  }
}

function spread(value: AbstractValue): AbstractValue {
  return value.kind === "holder" ? elementOf(value) : value;
}
