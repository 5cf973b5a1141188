/**
 * The normal form of sums and maxima over integer variables. Blocks of lanes and iterations become one variable, so that
 * equal folds have one form for every block size.
 */
import {
  andTerm,
  atLeast,
  atMost,
  conditionsOf,
  negative,
  not,
  number,
  substitute,
  symbol,
  type Term,
  TRUE,
} from "../../symbolic/term.js";
import {
  mergeBlocks,
  type OpenFold,
  resolveEqualities,
  shiftConditions,
  shiftIndices,
  shiftStarts,
  splitDigits,
} from "./fold-variables.js";
import { canonical, linearIn, mentions, integerMonomials, type Entailment } from "./integer-form.js";
import { maximumOf } from "./functions.js";
import { type Indices, isElementOf } from "./indices.js";
import {
  addPolynomials,
  atomOf,
  atomPolynomial,
  factorsOf,
  type Factor,
  type Fold,
  foldKey,
  heightOf,
  type Monomial,
  monomial,
  multiplyPolynomials,
  negatePolynomial,
  NOTHING,
  onlyAtom,
  onlyFactor,
  onlyMonomial,
  polynomialOf,
  type Polynomial,
  samePolynomial,
  scalePolynomial,
  symbolsOf,
  UNIT,
  withoutFactor,
  type Atom,
  constantPolynomial,
} from "./polynomial.js";
import { type FoldKind, freshName } from "./real.js";
import { inverse, isOne, isPositive, ONE, sameRational, noRule, rational } from "./rational.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";

// Integer terms as real values.

/** An integer term as a sum of products. */
export function integerPolynomial(term: Term): Polynomial {
  const monomials = integerMonomials(term).map(({ factor, atoms }) =>
    atoms.reduce(
      (result, atom) => multiplyPolynomials(result, atomPolynomial(integerAtom(atom))),
      constantPolynomial(rational(factor)),
    ),
  );
  return addPolynomials(...monomials);
}

function integerAtom(term: Term): Atom {
  return term.kind === "call" && term.name.startsWith(ELEMENT_PREFIX)
    ? atomOf({ kind: "input", name: term.name.slice(ELEMENT_PREFIX.length), index: term.operands })
    : atomOf({ kind: "integer", term });
}

/** What folds need of the normalizer that they are part of. */
export interface FoldContext {
  readonly entailment: Entailment;
  readonly indices: Indices;
  spend(steps: number): void;
  substitute(p: Polynomial, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial;
}

/** The largest number of variables whose orders are compared. */
const MAX_ORDERED = 4;

export class FoldNormalizer {
  constructor(readonly normalizer: FoldContext) {}

  // ---- sums -----------------------------------------------------------------------------------------------------------

  /** The sum of a monomial over variables in a domain. Factors without the variables leave the sum. */
  sum(variables: readonly string[], domain: readonly Term[], summand: Monomial, given: readonly Term[]): Polynomial {
    const isInside = ({ atom }: Factor) => variables.some((variable) => atom.symbols.has(variable));
    const factors = [...summand.factors.values()];
    const outside = polynomialOf(
      monomial(
        summand.coefficient,
        factors.filter((factor) => !isInside(factor)),
      ),
    );
    const inside = monomial(ONE, factors.filter(isInside));
    for (const { atom, exponent } of inside.factors.values()) {
      if (atom.kind !== "fold" || atom.fold.kind !== "sum" || !isOne(exponent)) continue;
      // A sum inside becomes part of this one.
      const inner = this.#open(atom.fold, [...given, ...domain]);
      const body = multiplyPolynomials(polynomialOf(withoutFactor(inside, atom.id)), inner.body);
      const joined = [...body.values()].map((each) =>
        this.sum([...variables, ...inner.variables], [...domain, ...inner.domain], each, given),
      );
      return multiplyPolynomials(outside, addPolynomials(...joined));
    }
    const sum = this.#normal("sum", { variables, domain, body: polynomialOf(inside) }, given);
    return multiplyPolynomials(outside, sum ?? NOTHING);
  }

  // ---- maxima ---------------------------------------------------------------------------------------------------------

  /**
   * The maximum of a polynomial, or -inf over nothing. A maximum of maxima is one of each, and positive numbers leave
   * the maximum.
   */
  maximum(
    variables: readonly string[],
    domain: readonly Term[],
    body: Polynomial,
    given: readonly Term[],
  ): Polynomial | "infinite" {
    const atom = onlyAtom(body);
    if (atom?.kind === "fold" && atom.fold.kind === "maximum") {
      const inner = this.#open(atom.fold, [...given, ...domain]);
      return this.maximum([...variables, ...inner.variables], [...domain, ...inner.domain], inner.body, given);
    }
    if (atom?.kind === "function" && atom.name === "maximum") {
      const parts = atom.operands.map((operand) => this.maximum(variables, domain, operand, given));
      const finite = parts.filter((part) => part !== "infinite");
      return finite.length === 0 ? "infinite" : this.maximumOf(finite, given);
    }
    if (!variables.some((variable) => symbolsOf(body).has(variable))) {
      if (this.isInhabited(variables, domain, given)) return body;
      return noRule("a maximum that may be over nothing");
    }
    const only = onlyMonomial(body);
    if (only && isPositive(only.coefficient) && !isOne(only.coefficient)) {
      const scaled = polynomialOf(monomial(ONE, only.factors.values()));
      const result = this.maximum(variables, domain, scaled, given);
      return result === "infinite" ? result : scalePolynomial(result, only.coefficient);
    }
    return this.#normal("maximum", { variables, domain, body }, given) ?? "infinite";
  }

  /** The greatest of several, without those that are an element of another one. */
  maximumOf(operands: readonly Polynomial[], given: readonly Term[]): Polynomial {
    const joined = this.#joinMaxima(operands, given);
    const kept = joined.reduce<readonly Polynomial[]>((rest, p) => {
      const others = rest.filter((each) => each !== p);
      return others.some((q) => this.#isAtMost(p, q, given)) ? others : rest;
    }, joined);
    return maximumOf(...kept);
  }

  /** True if `p <= q` or `-q <= -p` holds because one is an element of a maximum. */
  #isAtMost(p: Polynomial, q: Polynomial, given: readonly Term[]): boolean {
    const isBelow = (x: Polynomial, y: Polynomial): boolean => {
      const scaled = scaledFold(y);
      return !!scaled && isElementOf(scalePolynomial(x, inverse(scaled.by)), scaled.fold, this.normalizer, given);
    };
    return isBelow(p, q) || isBelow(negatePolynomial(q), negatePolynomial(p));
  }

  /** Maxima of one body over complementary parts of a domain are one maximum. */
  #joinMaxima(operands: readonly Polynomial[], given: readonly Term[]): readonly Polynomial[] {
    for (const [i, p] of operands.entries())
      for (const q of operands.slice(i + 1)) {
        const [x, y] = [scaledFold(p), scaledFold(q)];
        const domain = x && y && sameRational(x.by, y.by) ? this.#union(x.fold, y.fold, given) : undefined;
        if (!x || !domain) continue;
        const opened = this.#open({ ...x.fold, domain }, given);
        const joined = this.maximum(opened.variables, opened.domain, opened.body, given);
        const others = operands.filter((each) => each !== p && each !== q);
        return this.#joinMaxima(joined === "infinite" ? others : [...others, scalePolynomial(joined, x.by)], given);
      }
    return operands;
  }

  // ---- both -----------------------------------------------------------------------------------------------------------

  /** Undefined if the fold is over nothing. */
  #normal(kind: FoldKind, start: OpenFold, given: readonly Term[]): Polynomial | undefined {
    this.normalizer.spend(4);
    const { entailment } = this.normalizer;
    let open: OpenFold = { ...start, domain: [...new Set(start.domain)] };
    const substituted = (
      variables: readonly string[],
      domain: readonly Term[],
      by: ReadonlyMap<string, Term>,
    ): void => {
      const body = this.normalizer.substitute(open.body, by, [...given, ...domain]);
      open = { variables, domain, body };
    };
    resolveEqualities(() => open, substituted);
    shiftConditions(() => open, substituted);
    splitDigits(() => open, substituted, entailment, given);
    mergeBlocks(() => open, substituted, entailment, given);
    shiftIndices(() => open, substituted);
    shiftStarts(() => open, substituted);
    const { variables, body } = open;
    const { indices } = this.normalizer;
    const simplified = open.domain.flatMap((each) =>
      conditionsOf(indices.withoutMultiples(indices.index(each, given), given)),
    );
    if (entailment.isImpossible([...given, ...simplified])) return undefined;
    const domain = this.#withoutImplied(simplified, given);
    if (variables.length === 0) return domain.length === 0 ? body : noRule("a condition on an element");
    if (kind === "sum") {
      const summands = [...body.values()];
      const depends = variables.every((variable) => symbolsOf(body).has(variable));
      const [only, ...more] = summands;
      if (!only || more.length > 0 || !isOne(only.coefficient) || (!depends && variables.length > 1))
        return addPolynomials(...summands.map((each) => this.#separated(variables, domain, each, given)));
      const count = depends ? undefined : this.#count(variables, domain, given);
      if (count) return multiplyPolynomials(body, count);
    }
    return this.#named(kind, { variables, domain, body }, given);
  }

  /** A summand whose factors may have left the sum while its variables changed. */
  #separated(
    variables: readonly string[],
    domain: readonly Term[],
    each: Monomial,
    given: readonly Term[],
  ): Polynomial {
    const isInside = ({ atom }: Factor) => variables.some((variable) => atom.symbols.has(variable));
    const factors = [...each.factors.values()];
    const outside = polynomialOf(
      monomial(
        each.coefficient,
        factors.filter((factor) => !isInside(factor)),
      ),
    );
    const body = polynomialOf(monomial(ONE, factors.filter(isInside)));
    const used = variables.filter(
      (variable) => symbolsOf(body).has(variable) || domain.some((x) => mentions(x, variable)),
    );
    return multiplyPolynomials(outside, this.#named("sum", { variables: used, domain, body }, given));
  }

  /** The number of values of a variable between 0 and an end. */
  #count([variable = ""]: readonly string[], domain: readonly Term[], given: readonly Term[]): Polynomial | undefined {
    const start = canonical(atLeast(symbol(variable), number(0)));
    const [end, ...others] = domain.filter((each) => each !== start);
    const form = end?.kind === "atMost" ? linearIn(end.operands[1], variable) : undefined;
    if (!form || others.length > 0 || !domain.includes(start) || form.factor !== number(-1)) return undefined;
    const size = canonical(form.rest);
    const isNatural = this.normalizer.entailment.proves(given, canonical(atLeast(size, number(-1))));
    return isNatural ? addPolynomials(integerPolynomial(size), UNIT) : undefined;
  }

  #withoutImplied(domain: readonly Term[], given: readonly Term[]): readonly Term[] {
    const sorted = [...new Set(domain)]
      .filter((each) => each !== TRUE)
      .toSorted((x, y) => y.nodes - x.nodes || y.id - x.id);
    return sorted.reduce((kept, condition) => {
      const others = kept.filter((each) => each !== condition);
      return this.normalizer.entailment.proves([...given, ...others], condition) ? others : kept;
    }, sorted);
  }

  /** The fold with canonical names of its variables. */
  #named(kind: FoldKind, { variables, domain, body }: OpenFold, given: readonly Term[]): Polynomial {
    const height = 1 + heightOf(body);
    const names = variables.map((_, i) => `k${height}.${i}`);
    const candidates = ordersOf(variables).map((order): Fold => {
      const by = new Map(order.map((variable, i) => [variable, symbol(names[i] ?? variable)]));
      const renamed = [...new Set(domain.map((each) => canonical(substitute(each, by))))].toSorted(
        (x, y) => x.id - y.id,
      );
      return {
        kind,
        variables: names,
        domain: renamed,
        body: this.normalizer.substitute(body, by, [...given, ...renamed]),
      };
    });
    const [first, ...more] = candidates;
    if (!first) return noRule("a fold without variables");
    const fold = more.reduce((best, each) => (foldKey(each) < foldKey(best) ? each : best), first);
    return atomPolynomial(atomOf({ kind: "fold", fold }));
  }

  /** A fold with variables of its own. */
  #open(
    { variables, domain, body }: Fold,
    given: readonly Term[],
    more: ReadonlyMap<string, Term> = new Map(),
  ): OpenFold {
    const by = new Map([...more, ...variables.map((name) => [name, symbol(freshName("k"))] as const)]);
    const renamed = domain.map((each) => this.normalizer.indices.rewrite(substitute(each, by)));
    return {
      variables: variables.map((name) => by.get(name)?.name ?? name),
      domain: renamed,
      body: this.normalizer.substitute(body, by, [...given, ...renamed]),
    };
  }

  /** A fold with symbols replaced. */
  substitute(fold: Fold, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial {
    const { variables, domain, body } = this.#open(fold, given, replacements);
    if (fold.kind === "maximum") {
      const result = this.maximum(variables, domain, body, given);
      return result === "infinite" ? noRule("a maximum over nothing") : result;
    }
    return addPolynomials(...[...body.values()].map((each) => this.sum(variables, domain, each, given)));
  }

  /** True if some values of the variables are surely in the domain: the least ones. */
  isInhabited(variables: readonly string[], domain: readonly Term[], given: readonly Term[]): boolean {
    return this.points(variables, domain).some((conditions) =>
      conditions.every((each) => this.normalizer.entailment.proves(given, each)),
    );
  }

  /**
   * The condition under which a domain has an element: that its least point is in it. Each condition either says where
   * a variable starts, or holds of smaller values too.
   */
  inhabitedWhere({ variables, domain }: Fold, given: readonly Term[]): Term {
    const starts = variables.map((variable) => lowerBounds(variable, variables, domain));
    if (!starts.every(({ length }) => length === 1)) return noRule("a maximum that may be over nothing");
    const by = new Map(variables.map((variable, i) => [variable, starts[i]?.[0] ?? number(0)]));
    const others = domain.filter((condition) => !variables.some((variable) => isLowerBound(condition, variable)));
    const falls = (condition: Term, variable: string): boolean => {
      if (!mentions(condition, variable)) return true;
      const form = condition.kind === "atMost" ? linearIn(condition.operands[1], variable) : undefined;
      return !!form && this.normalizer.entailment.proves(given, canonical(atMost(form.factor, number(0))));
    };
    if (!others.every((condition) => variables.every((variable) => falls(condition, variable))))
      return noRule("a maximum that may be over nothing");
    const atStart = others.map((condition) => canonical(substitute(condition, by)));
    return andTerm(...atStart.filter((each) => !this.normalizer.entailment.proves(given, each)));
  }

  /** The domain's conditions at the least values of the variables. */
  points(variables: readonly string[], domain: readonly Term[]): readonly (readonly Term[])[] {
    const starts = variables.map((variable) => [number(0), ...lowerBounds(variable, variables, domain)].slice(0, 3));
    const points = starts.reduce<readonly (readonly Term[])[]>(
      (sofar, candidates) => sofar.flatMap((point) => candidates.map((value) => [...point, value])),
      [[]],
    );
    return points.slice(0, 9).map((point) => {
      const by = new Map(variables.map((variable, i) => [variable, point[i] ?? number(0)]));
      return domain.map((each) => canonical(substitute(each, by)));
    });
  }

  /** Sums of one body over complementary parts of a domain are one sum. */
  joinDomains(p: Polynomial, given: readonly Term[]): Polynomial {
    const folds = factorsOf(p).filter(({ atom, exponent }) => atom.kind === "fold" && isOne(exponent));
    if (folds.length < 2) return p;
    const monomials = [...p.values()];
    for (const [i, x] of monomials.entries())
      for (const y of monomials.slice(i + 1)) {
        const joined = this.#joinPair(x, y, given);
        if (!joined) continue;
        const others = polynomialOf(...monomials.filter((each) => each !== x && each !== y));
        return this.joinDomains(addPolynomials(others, joined), given);
      }
    return p;
  }

  #joinPair(x: Monomial, y: Monomial, given: readonly Term[]): Polynomial | undefined {
    if (!sameRational(x.coefficient, y.coefficient)) return undefined;
    for (const { atom: first, exponent } of x.factors.values())
      for (const { atom: second, exponent: other } of y.factors.values()) {
        if (first.kind !== "fold" || second.kind !== "fold" || !isOne(exponent) || !isOne(other)) continue;
        if (first.fold.kind !== "sum") continue;
        const rest = withoutFactor(x, first.id);
        if (rest.key !== withoutFactor(y, second.id).key) continue;
        const domain = this.#union(first.fold, second.fold, given);
        if (!domain) continue;
        const { variables, domain: renamed, body } = this.#open({ ...first.fold, domain }, given);
        const summand = onlyMonomial(body);
        if (!summand) return undefined;
        return multiplyPolynomials(polynomialOf(rest), this.sum(variables, renamed, summand, given));
      }
    return undefined;
  }

  /** The union of the domains of two folds of one body, which one condition tells apart. */
  #union(x: Fold, y: Fold, given: readonly Term[]): readonly Term[] | undefined {
    if (x.kind !== y.kind || !samePolynomial(x.body, y.body)) return undefined;
    if (x.variables.join() !== y.variables.join()) return undefined;
    const { entailment } = this.normalizer;
    for (const condition of x.domain) {
      const opposite = canonical(not(condition));
      if (!y.domain.includes(opposite)) continue;
      const left = x.domain.filter((each) => each !== condition);
      const right = y.domain.filter((each) => each !== opposite);
      const union = [...new Set([...left, ...right])];
      const isUnion = union.every(
        (each) =>
          (left.includes(each) || entailment.proves([...given, ...left, condition], each)) &&
          (right.includes(each) || entailment.proves([...given, ...right, opposite], each)),
      );
      if (isUnion) return union;
    }
    return undefined;
  }
}

/** A positive number times a maximum. */
function scaledFold(p: Polynomial) {
  const only = onlyMonomial(p);
  const factor = only && onlyFactor(only);
  if (!factor || factor.atom.kind !== "fold" || !isOne(factor.exponent) || !isPositive(only.coefficient))
    return undefined;
  const { fold } = factor.atom;
  return fold.kind === "maximum" ? { fold, by: only.coefficient } : undefined;
}

/** True if a condition says where a variable starts. */
const isLowerBound = (condition: Term, variable: string): boolean =>
  condition.kind === "atMost" && linearIn(condition.operands[1], variable)?.factor === number(1);

/** Terms that conditions of a domain show to be below a variable, without the other variables. */
function lowerBounds(variable: string, variables: readonly string[], domain: readonly Term[]): readonly Term[] {
  return domain.flatMap((condition) => {
    const form = condition.kind === "atMost" ? linearIn(condition.operands[1], variable) : undefined;
    if (!form || form.factor !== number(1) || variables.some((other) => mentions(form.rest, other))) return [];
    return [canonical(negative(form.rest))];
  });
}

function ordersOf(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length <= 1 || names.length > MAX_ORDERED) return [names];
  return names.flatMap((name, i) => ordersOf(names.toSpliced(i, 1)).map((order) => [name, ...order]));
}
