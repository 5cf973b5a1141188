/** Algorithmic mistakes in real expressions. */
import { apply, multiply, negate, one, type Real, real, zero } from "../../src/prove/equivalence/real.js";
import { opposite, plus, rational, times } from "../../src/prove/equivalence/rational.js";
import { andTerm, conditionsOf, not, number, substitute, sum, symbol, type Term } from "../../src/symbolic/term.js";

type Draw = () => number;

const pick = <T>(draw: Draw, items: readonly T[]): T => items[Math.floor(draw() * items.length)]!;
const TWO = rational(2n);

/** The expressions directly inside of another one, and how to replace one of them. */
function partsOf(x: Real): readonly { readonly part: Real; readonly replaced: (part: Real) => Real }[] {
  switch (x.kind) {
    case "add":
    case "multiply":
    case "function":
      return x.operands.map((part, i) => ({
        part,
        replaced: (other) => ({ ...x, operands: x.operands.with(i, other) }),
      }));
    case "power":
      return [{ part: x.base, replaced: (base) => ({ ...x, base }) }];
    case "fold":
      return [{ part: x.body, replaced: (body) => ({ ...x, body }) }];
    case "choice":
      return [
        { part: x.then, replaced: (then) => ({ ...x, then }) },
        { part: x.otherwise, replaced: (otherwise) => ({ ...x, otherwise }) },
      ];
    case "comparison":
      return (["x", "y", "then", "otherwise"] as const).map((key) => ({
        part: x[key],
        replaced: (part) => ({ ...x, [key]: part }),
      }));
    default:
      return [];
  }
}

export const sizeOf = (x: Real): number => 1 + partsOf(x).reduce((total, { part }) => total + sizeOf(part), 0);

/** An expression with one mistake at a place that the draw decides. */
export function mutated(x: Real, draw: Draw): Real {
  const parts = partsOf(x);
  const total = 1 + parts.reduce((sofar, { part }) => sofar + sizeOf(part), 0);
  let place = draw() * total - 1;
  if (place < 0) return mistake(x, draw);
  for (const { part, replaced } of parts) {
    place -= sizeOf(part);
    if (place < 0) return replaced(mutated(part, draw));
  }
  return mistake(x, draw);
}

function shifted(index: readonly Term[], draw: Draw): readonly Term[] {
  if (index.length === 0) return index;
  const axis = Math.floor(draw() * index.length);
  const changed = draw() < 0.5 ? sum(index[axis]!, number(draw() < 0.5 ? 1 : -1)) : number(0);
  return draw() < 0.3 ? index.toReversed() : index.with(axis, changed);
}

function mistake(x: Real, draw: Draw): Real {
  switch (x.kind) {
    case "number":
      return pick(draw, [real(plus(x.value, rational(1n))), real(times(x.value, TWO)), real(opposite(x.value)), zero]);
    case "add":
    case "multiply": {
      // An empty sum is 0, and an empty product is 1.
      if (x.operands.length === 0) return x.kind === "add" ? one : zero;
      const i = Math.floor(draw() * x.operands.length);
      const changed: readonly Real[] = [
        { ...x, operands: x.operands.toSpliced(i, 1) },
        { ...x, operands: x.operands.with(i, negate(x.operands[i] ?? one)) },
        { ...x, kind: x.kind === "add" ? "multiply" : "add" },
        { ...x, operands: [...x.operands, x.operands[i] ?? one] },
      ];
      return pick(draw, changed);
    }
    case "power":
      return pick<Real>(draw, [
        { ...x, exponent: opposite(x.exponent) },
        { ...x, exponent: times(x.exponent, TWO) },
        x.base,
      ]);
    case "function": {
      const [first = zero] = x.operands;
      return pick<Real>(draw, [
        first,
        { ...x, operands: x.operands.toReversed().map((each, i) => (i === 0 ? negate(each) : each)) },
        apply("abs", x),
        apply(x.name === "maximum" ? "minimum" : "sigmoid", ...x.operands),
      ]);
    }
    case "fold": {
      const conditions = conditionsOf(x.domain);
      const dropped = pick(draw, conditions);
      const next = substitute(x.domain, new Map([[x.variable, sum(symbol(x.variable), number(1))]]));
      return pick<Real>(draw, [
        { ...x, domain: andTerm(x.domain, next) },
        {
          ...x,
          domain: andTerm(
            x.domain,
            not(substitute(dropped ?? x.domain, new Map([[x.variable, sum(symbol(x.variable), number(-1))]]))),
          ),
        },
        { ...x, fold: x.fold === "sum" ? "maximum" : "sum" },
        multiply(real(TWO), x),
      ]);
    }
    case "choice":
      return pick<Real>(draw, [x.then, x.otherwise, { ...x, then: x.otherwise, otherwise: x.then }]);
    case "comparison":
      return pick<Real>(draw, [x.then, x.otherwise, { ...x, x: x.y, y: x.x }]);
    case "input":
      return pick<Real>(draw, [{ ...x, index: shifted(x.index, draw) }, negate(x), one, multiply(x, x)]);
    case "integer":
      return pick<Real>(draw, [{ ...x, term: sum(x.term, number(1)) }, zero, negate(x)]);
    case "infinite":
      return zero;
    case "constant":
      return one;
    case "undefined":
    case "state":
      return zero;
    default:
      return x satisfies never;
  }
}
