/** Whether a value stays in int32: by numbers in place of what is small, and by each of two in place of the larger of them. */
import type { Term } from "../../symbolic/term.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { times } from "../algebra/exact-integer.js";
import { polynomialOf } from "../algebra/interpret.js";
import { atLeastZero, isDefinedHere, type FactSet } from "../algebra/facts.js";
import { type Monomial, UNIT } from "../algebra/monomial.js";
import { add, atom, constant, multiply, ONE, type Polynomial, single, subtract } from "../algebra/polynomial.js";
import { LIMIT } from "../algebra/products.js";

export function fitsInt32(here: FactSet, value: Term): boolean {
  const p = polynomialOf(here, value);
  return holds(here, p, "most") && holds(here, p, "least");
}

/** Notes what was found inside: it bounds its quotients. */
export function recordInt32Range(here: FactSet, value: Term): void {
  here.add(atLeastZero(room(polynomialOf(here, value), "most")));
}

type End = "least" | "most";

function holds(here: FactSet, p: Polynomial, end: End): boolean {
  const ways = (of: Polynomial): readonly Polynomial[] => {
    const rounded = withoutSmall(here, of, end);
    return [rounded, ...(rounded === of ? [] : [of])].map((each) => room(each, end));
  };
  const isCertain = (of: Polynomial): boolean => ways(of).some((way) => provesNonNegative(here, way, "products"));
  if (isCertain(p)) return true;
  const either = eitherOf(here, p);
  // Cases cost far more, and most goals need none.
  if ((either.length > 1 && either.every(isCertain)) || ways(p).some((way) => provesNonNegative(here, way, "cases")))
    return true;
  // Numbers that a launch gives may bound it which the symbol is not known to be above.
  return provesNonNegative(here, room(p, end, constant(2 ** 31)), "products");
}

/** How far it is from an end of int32. */
function room(p: Polynomial, end: End, limit: Polynomial = atom(LIMIT)): Polynomial {
  return end === "most" ? subtract(subtract(limit, ONE), p) : add(limit, p);
}

/** Those of which one is the polynomial: with each of two in place of the smaller or the larger of them. */
function eitherOf(here: FactSet, p: Polynomial): readonly Polynomial[] {
  for (const [monomial, by] of p) {
    const definition = here.definitionOf(monomial);
    const rest = subtract(p, single(monomial, by));
    if (definition?.kind === "extreme")
      return [definition.x, definition.y].flatMap((each) => eitherOf(here, add(rest, each, by)));
    const whole = wholeOf(here, monomial);
    if (whole) return eitherOf(here, add(rest, whole, by));
  }
  return [p];
}

/** Of `divisor * quotient` what is divided, less what remains, where that has the smaller or the larger of two in it. */
function wholeOf(here: FactSet, monomial: Monomial): Polynomial | undefined {
  for (const name of monomial.degree > 1 ? monomial.atoms : []) {
    const definition = here.definitions.get(name);
    if (definition?.kind !== "division" || definition.quotient !== name || !isDefinedHere(here, definition)) continue;
    const { dividend, divisor, remainder } = definition;
    const isExtreme = dividend.monomials.some((each) => here.definitionOf(each)?.kind === "extreme");
    if (isExtreme && multiply(divisor, atom(name)).key === single(monomial).key)
      return subtract(dividend, atom(remainder));
  }
  return undefined;
}

const SMALL = 2 ** 22;

/** With numbers in place of what is small whatever the shape, such as lanes: no less, or no more, than it is. */
function withoutSmall(here: FactSet, p: Polynomial, end: End): Polynomial {
  let result = p;
  for (const [monomial, by] of p) {
    if (monomial === UNIT) continue;
    const { least, most } = here.interval(monomial);
    const bound = by > 0 === (end === "most") ? most : least;
    const value = bound === undefined ? undefined : times(bound, by);
    if (value === undefined || value > SMALL || value < -SMALL) continue;
    result = add(subtract(result, single(monomial, by)), constant(value));
  }
  return result;
}
