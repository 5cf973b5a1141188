/** Arrays of the author's: what their methods give, and what is put into them. */
import { ts } from "./typescript.js";
import { earlyExit } from "../diagnostics/catalogue/control-codes.js";
import { outerAssignment } from "../diagnostics/catalogue/source-codes.js";
import { type Abstract, comparable, elementOf, holder, join, PLAIN, touches, TRACED, weaken } from "./known-values.js";
import { crossed, type Frame, type Walk } from "./regions.js";
import { unwrap } from "./sites.js";

/** Longer lists are not told apart element by element. */
const MOST_PLACES = 64;

/** The list of the number of elements in `Array.from({ length: 3 }, …)`. */
function lengthOf(node: ts.CallExpression): Abstract | undefined {
  const [list] = node.arguments;
  const only = list && ts.isObjectLiteralExpression(list) ? list.properties[0] : undefined;
  if (!only || !ts.isPropertyAssignment(only) || only.name.getText() !== "length") return undefined;
  const length = ts.isNumericLiteral(only.initializer) ? Number(only.initializer.text) : 0;
  return length <= MOST_PLACES ? holder(new Map(Array.from({ length }, (_, i) => [String(i), PLAIN]))) : undefined;
}

/** `Array.from(list, map)` */
export function collect(walk: Walk, args: readonly Abstract[], frame: Frame, node: ts.CallExpression): Abstract {
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
export function grow(walk: Walk, callee: ts.PropertyAccessExpression, args: readonly Abstract[], frame: Frame): void {
  const list = unwrap(callee.expression);
  if (!ts.isIdentifier(list) || !args.some(touches)) return;
  const binding = frame.scope.lookup(list.text);
  if (!binding) return;
  const kind = crossed(frame.region, binding.region);
  if (kind) walk.warning(outerAssignment.pushed(list.text, kind), callee.name);
  const all = binding.value.kind === "holder" && (binding.value.fields.size > 0 || touches(binding.value));
  binding.value = holder(new Map(), (all ? [elementOf(binding.value), ...args] : args).reduce(join));
}

/** An array of as many elements as another, as far as that is known. */
function sameLength(list: Abstract, element: Abstract): Abstract {
  const places = list.kind === "holder" ? [...list.fields.keys()].filter((key) => /^\d+$/.test(key)) : [];
  return holder(new Map(places.map((place) => [place, element])), element);
}

/** Array methods that pass elements to a callback. */
export function callArray(walk: Walk, list: Abstract, name: string, args: readonly Abstract[], frame: Frame): Abstract {
  const element = elementOf(list);
  const call = (each: Abstract | undefined, given: readonly Abstract[]): Abstract =>
    each?.kind === "function" ? walk.invoke(each, given, frame.region) : PLAIN;
  const [first, second] = args;
  switch (name) {
    case "map":
    case "flatMap": {
      const made = first?.kind === "jitted" ? TRACED : call(first, [element, PLAIN, list]);
      return name === "map"
        ? sameLength(list, made)
        : holder(new Map(), made.kind === "holder" ? elementOf(made) : made);
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

function spread(value: Abstract): Abstract {
  return value.kind === "holder" ? elementOf(value) : value;
}
