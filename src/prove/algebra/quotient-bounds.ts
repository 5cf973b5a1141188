/** What holds of a quotient whose value is not known: where it lies, by the divisor and by what is known of the dividend. */
import { provesNonNegative } from "./non-negativity.js";
import { atLeastZero, type Condition, isDefinedHere, isZero, type FactSet } from "./facts.js";
import { monomialOf, UNIT, without } from "./monomial.js";
import {
  add,
  atom,
  constant,
  divisions,
  isConstant,
  multiply,
  ONE,
  type Polynomial,
  scale,
  single,
  subtract,
} from "./polynomial.js";

/** Of a dividend `>= 0` and a divisor `>= 1`. */
interface Quotient {
  readonly dividend: Polynomial;
  readonly divisor: Polynomial;
  readonly quotient: Polynomial;
  readonly remainder: Polynomial;
}

type Halves = Pick<Quotient, "quotient" | "remainder">;

/** Adds what is known of a quotient; `simplified` divides another dividend by this divisor, where that needs no new atom. */
export function boundQuotient(
  known: FactSet,
  of: Quotient,
  simplified: (dividend: Polynomial) => Halves | undefined,
): void {
  boundByCover(known, of);
  boundByExtreme(known, of, simplified);
  boundByMost(known, of);
  boundByShare(known, of);
  boundByFactor(known, of);
  compareQuotients(known, of);
}

/** The blocks that cover something are no more than its elements. */
function boundByCover(known: FactSet, of: Quotient): void {
  const { dividend, divisor, quotient } = of;
  const covered = subtract(dividend, subtract(divisor, ONE));
  if (isConstant(covered) || !provesNonNegative(known, covered, "sums")) return;
  known.add(atLeastZero(subtract(covered, quotient)));
  boundBelow(known, of);
}

/** What is at least as large as the divisor contains it once, and from there on no oftener than the divisor's least number. */
function boundBelow(known: FactSet, { dividend, divisor, quotient }: Quotient): void {
  const beyond = subtract(dividend, divisor);
  if (!provesNonNegative(known, beyond, "sums")) return;
  const more = subtract(quotient, ONE);
  known.add(atLeastZero(more));
  const least = known.least(divisor) ?? 1;
  if (least > 1 && !isConstant(divisor)) known.add(atLeastZero(subtract(beyond, scale(more, least))));
}

/**
 * Quotients rise with their dividends: what the smaller of two is part of gives no more than either would. Where the
 * larger of two may be a number, the division is that of the number, or has the other in its dividend.
 */
function boundByExtreme(
  known: FactSet,
  { dividend, quotient, remainder }: Quotient,
  simplified: (dividend: Polynomial) => Halves | undefined,
): void {
  dividend.monomials.forEach((monomial, i) => {
    const definition = known.definitionOf(monomial);
    const by = dividend.coefficients[i]!;
    if (definition?.kind !== "extreme" || !isDefinedHere(known, definition)) return;
    const { x, y } = definition;
    const isMost = (definition.of === "least") === by > 0;
    const [ofX, ofY] = [x, y].map((each) =>
      isMost || isConstant(each) ? simplified(add(subtract(dividend, single(monomial, by)), each, by)) : undefined,
    );
    for (const each of isMost ? [ofX, ofY] : []) if (each) known.add(atLeastZero(subtract(each.quotient, quotient)));
    if (isMost || !ofX === !ofY) return;
    const isCase = (each: Polynomial, divided: Halves | undefined): readonly Condition[] => [
      isZero(subtract(single(monomial), each)),
      ...(divided
        ? [isZero(subtract(quotient, divided.quotient)), isZero(subtract(remainder, divided.remainder))]
        : []),
    ];
    known.cases.push({ atoms: quotient.atoms, cases: [isCase(x, ofX), isCase(y, ofY)] });
  });
}

/** Of a number below `f * divisor` the quotient is below `f`: a program's row, where the grid is rows times columns. */
function boundByMost(known: FactSet, { dividend, divisor, quotient }: Quotient): void {
  const [monomial] = dividend.monomials;
  if (monomial === undefined || dividend.size > 1 || dividend.coefficients[0] !== 1 || isConstant(divisor)) return;
  for (const { p, exact } of known.conditions.slice()) {
    if (exact || p.size > 3 || p.of(monomial) !== -1) continue;
    const end = add(add(p, dividend), ONE);
    const found = divisions(end, divisor).find(({ rest }) => rest.size === 0);
    if (found) known.add(atLeastZero(subtract(subtract(found.quotient, ONE), quotient)));
  }
}

/**
 * The same of a sum, where `f * divisor` occurs: `programs * share` is at least all that is shared out, so that no program
 * which has a part of it lies beyond.
 */
function boundByShare(known: FactSet, { dividend, divisor, quotient }: Quotient): void {
  const [monomial] = divisor.monomials;
  if (monomial === undefined || monomial === UNIT || divisor.size > 1 || divisor.coefficients[0] !== 1) return;
  if (dividend.size === 1) return;
  const factors = new Set(
    known.conditions.flatMap(({ p }) =>
      p.monomials.flatMap((each) => (each === monomial ? [] : (without(each, monomial) ?? []))),
    ),
  );
  for (const factor of factors) {
    const f = single(factor);
    const room = subtract(multiply(f, divisor), dividend);
    if (provesNonNegative(known, subtract(room, ONE), "products")) {
      known.add(atLeastZero(subtract(subtract(f, ONE), quotient)));
      continue;
    }
    // Lanes behind the last element lie less than a block behind it.
    const block = monomial.degree > 1 ? blockOf(dividend) : undefined;
    if (!block || !provesNonNegative(known, block, "sums") || !provesNonNegative(known, add(room, block), "products"))
      continue;
    known.add(atLeastZero(subtract(add(f, block), quotient)));
  }
}

/** Of `program * BLOCK + lane` the block. */
function blockOf({ monomials, coefficients }: Polynomial): Polynomial | undefined {
  const place = monomials.findIndex(({ degree }, i) => degree === 2 || (degree === 1 && coefficients[i]! > 1));
  const monomial = monomials[place];
  if (monomial === undefined) return undefined;
  return monomial.degree === 1 ? constant(coefficients[place]!) : atom(monomial.atoms[0]!);
}

/**
 * Of a remainder by `f * g` that is below `f * divisor`, the quotient is below `f`: a place in a group of rows, by the
 * rows that the group has, is a column.
 */
function boundByFactor(known: FactSet, { dividend, divisor, quotient }: Quotient): void {
  const [monomial] = dividend.monomials;
  if (monomial === undefined || dividend.size > 1 || dividend.coefficients[0] !== 1) return;
  const inner = known.definitionOf(monomial);
  if (inner?.kind !== "division" || inner.remainder !== monomial.atoms[0]) return;
  if (inner.divisor.size !== 1 || isConstant(divisor) || !isDefinedHere(known, inner)) return;
  for (const factor of inner.divisor.atoms) {
    const f = atom(factor);
    if (!provesNonNegative(known, subtract(subtract(multiply(f, divisor), ONE), dividend), "products")) continue;
    known.add(atLeastZero(subtract(subtract(f, ONE), quotient)));
  }
}

/** Quotients by one divisor are ordered as their dividends. */
function compareQuotients(known: FactSet, { dividend, divisor, quotient }: Quotient): void {
  const key = divisor.key;
  for (const [name, other] of known.definitions) {
    if (other.kind !== "division" || other.quotient !== name || quotient.has(monomialOf([name]))) continue;
    if (other.divisor.key !== key || !isDefinedHere(known, other)) continue;
    const q = atom(name);
    for (const [high, low, above, below] of [
      [q, quotient, other.dividend, dividend],
      [quotient, q, dividend, other.dividend],
    ] as const) {
      const apart = subtract(above, below);
      if (provesNonNegative(known, subtract(apart, divisor), "products")) {
        known.add(atLeastZero(subtract(subtract(high, low), ONE)));
        break;
      }
      if (provesNonNegative(known, apart, "products")) {
        known.add(atLeastZero(subtract(high, low)));
        break;
      }
    }
  }
}
