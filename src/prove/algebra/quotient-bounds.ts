/** Derives bounds of a quotient without a closed form from its divisor and from the facts about its dividend. */
import { provesNonNegative } from "./non-negativity.js";
import { isDefinedHere, type FactSet } from "./facts.js";
import {
  add,
  asMonomial,
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
  monomialOf,
  UNIT,
  divideMonomial,
  atLeastZero,
  type Condition,
  isZero,
} from "./polynomial.js";

/** A division of a nonnegative dividend by a positive divisor. */
interface EuclideanDivision {
  readonly dividend: Polynomial;
  readonly divisor: Polynomial;
  readonly quotient: Polynomial;
  readonly remainder: Polynomial;
}

type QuotientAndRemainder = Pick<EuclideanDivision, "quotient" | "remainder">;

/** Adds the bounds of a quotient. `simplified` divides another dividend by this divisor if that needs no new atom. */
export function boundQuotient(
  facts: FactSet,
  division: EuclideanDivision,
  simplify: (dividend: Polynomial) => QuotientAndRemainder | undefined,
): void {
  boundByCover(facts, division);
  boundByExtreme(facts, division, simplify);
  boundByMost(facts, division);
  boundByShare(facts, division);
  boundByFactor(facts, division);
  compareQuotients(facts, division);
}

/** The blocks that cover a tile are at most as many as its elements. */
function boundByCover(facts: FactSet, division: EuclideanDivision): void {
  const { dividend, divisor, quotient } = division;
  const covered = subtract(dividend, subtract(divisor, ONE));
  if (isConstant(covered) || !provesNonNegative(facts, covered, "sums")) return;
  facts.add(atLeastZero(subtract(covered, quotient)));
  boundBelow(facts, division);
}

/**
 * A dividend that is at least the divisor has a quotient of at least 1. The lower bound of the divisor limits further
 * increases.
 */
function boundBelow(facts: FactSet, { dividend, divisor, quotient }: EuclideanDivision): void {
  const excess = subtract(dividend, divisor);
  if (!provesNonNegative(facts, excess, "sums")) return;
  const quotientExcess = subtract(quotient, ONE);
  facts.add(atLeastZero(quotientExcess));
  const divisorLowerBound = facts.least(divisor) ?? 1;
  if (divisorLowerBound > 1 && !isConstant(divisor))
    facts.add(atLeastZero(subtract(excess, scale(quotientExcess, divisorLowerBound))));
}

/**
 * Quotients are monotone in their dividends, so a dividend with a minimum gives at most the quotient of either operand.
 * If an operand of a maximum is a constant, a case split distinguishes the operands.
 */
function boundByExtreme(
  facts: FactSet,
  { dividend, quotient, remainder }: EuclideanDivision,
  simplify: (dividend: Polynomial) => QuotientAndRemainder | undefined,
): void {
  dividend.terms.forEach(({ monomial, coefficient }) => {
    const definition = facts.definitionOf(monomial);
    if (definition?.kind !== "extreme" || !isDefinedHere(facts, definition)) return;
    const { x, y } = definition;
    const isUpperBound = (definition.of === "least") === coefficient > 0;
    const [dividedByX, dividedByY] = [x, y].map((operand) =>
      isUpperBound || isConstant(operand)
        ? simplify(add(subtract(dividend, single(monomial, coefficient)), operand, coefficient))
        : undefined,
    );
    for (const divided of isUpperBound ? [dividedByX, dividedByY] : [])
      if (divided) facts.add(atLeastZero(subtract(divided.quotient, quotient)));
    if (isUpperBound || !dividedByX === !dividedByY) return;
    const caseOf = (operand: Polynomial, divided: QuotientAndRemainder | undefined): readonly Condition[] => [
      isZero(subtract(single(monomial), operand)),
      ...(divided
        ? [isZero(subtract(quotient, divided.quotient)), isZero(subtract(remainder, divided.remainder))]
        : []),
    ];
    facts.cases.push({ atoms: quotient.atoms, cases: [caseOf(x, dividedByX), caseOf(y, dividedByY)] });
  });
}

/**
 * A dividend below `f * divisor` has a quotient below `f`. Example: a program's row, if the grid is rows times columns.
 */
function boundByMost(facts: FactSet, { dividend, divisor, quotient }: EuclideanDivision): void {
  const monomial = asMonomial(dividend);
  if (monomial === undefined || isConstant(divisor)) return;
  for (const { p, isEquation: exact } of facts.conditions.slice()) {
    if (exact || p.size > 3 || p.coefficientOf(monomial) !== -1) continue;
    const limit = add(add(p, dividend), ONE);
    const division = divisions(limit, divisor).find(({ rest }) => rest.size === 0);
    if (division) facts.add(atLeastZero(subtract(subtract(division.quotient, ONE), quotient)));
  }
}

/**
 * The same for a sum, if `f * divisor` occurs: `programs * share` is at least the total, so no program with a share is
 * beyond it.
 */
function boundByShare(facts: FactSet, { dividend, divisor, quotient }: EuclideanDivision): void {
  const monomial = asMonomial(divisor);
  if (monomial === undefined || monomial === UNIT) return;
  if (dividend.size === 1) return;
  const factors = new Set(
    facts.conditions.flatMap(({ p }) =>
      p.monomials.flatMap((occurring) => (occurring === monomial ? [] : (divideMonomial(occurring, monomial) ?? []))),
    ),
  );
  for (const factor of factors) {
    const f = single(factor);
    const slack = subtract(multiply(f, divisor), dividend);
    if (provesNonNegative(facts, subtract(slack, ONE), "products")) {
      facts.add(atLeastZero(subtract(subtract(f, ONE), quotient)));
      continue;
    }
    // Lanes after the last element are less than a block after it.
    const block = monomial.degree > 1 ? blockOf(dividend) : undefined;
    if (!block || !provesNonNegative(facts, block, "sums") || !provesNonNegative(facts, add(slack, block), "products"))
      continue;
    facts.add(atLeastZero(subtract(add(f, block), quotient)));
  }
}

/** The block of `program * BLOCK + lane`. */
function blockOf({ terms }: Polynomial): Polynomial | undefined {
  for (const { monomial, coefficient } of terms) {
    const [factor] = monomial.atoms;
    if (monomial.degree === 2 && factor !== undefined) return atom(factor);
    if (monomial.degree === 1 && coefficient > 1) return constant(coefficient);
  }
  return undefined;
}

/**
 * The quotient of a remainder by `f * g` that is below `f * divisor` is below `f`. Example: a position in a group of
 * rows, divided by the rows of the group, is a column.
 */
function boundByFactor(facts: FactSet, { dividend, divisor, quotient }: EuclideanDivision): void {
  const monomial = asMonomial(dividend);
  if (monomial === undefined) return;
  const inner = facts.definitionOf(monomial);
  if (inner?.kind !== "division" || inner.remainder !== monomial.atoms[0]) return;
  if (inner.divisor.size !== 1 || isConstant(divisor) || !isDefinedHere(facts, inner)) return;
  for (const factor of inner.divisor.atoms) {
    const f = atom(factor);
    if (!provesNonNegative(facts, subtract(subtract(multiply(f, divisor), ONE), dividend), "products")) continue;
    facts.add(atLeastZero(subtract(subtract(f, ONE), quotient)));
  }
}

/** Quotients by the same divisor are ordered like their dividends. */
function compareQuotients(facts: FactSet, { dividend, divisor, quotient }: EuclideanDivision): void {
  const key = divisor.key;
  for (const [name, otherDivision] of facts.definitions) {
    if (otherDivision.kind !== "division" || otherDivision.quotient !== name || quotient.has(monomialOf([name])))
      continue;
    if (otherDivision.divisor.key !== key || !isDefinedHere(facts, otherDivision)) continue;
    const q = atom(name);
    for (const [high, low, above, below] of [
      [q, quotient, otherDivision.dividend, dividend],
      [quotient, q, dividend, otherDivision.dividend],
    ] as const) {
      const distance = subtract(above, below);
      if (provesNonNegative(facts, subtract(distance, divisor), "products")) {
        facts.add(atLeastZero(subtract(subtract(high, low), ONE)));
        break;
      }
      if (provesNonNegative(facts, distance, "products")) {
        facts.add(atLeastZero(subtract(high, low)));
        break;
      }
    }
  }
}
