/**
 * The values of variables after a loop, for any number of iterations: a sum of what each iteration adds, a running
 * maximum, or a sum that follows a running maximum, as in online softmax.
 */
import type { Variable } from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  conditionsOf,
  number,
  substitute,
  symbol,
  type Term,
  symbolsIn,
} from "../../symbolic/term.js";
import type { LoopStep } from "../model/events.js";
import { broadcastLane } from "../model/symbolic-environment.js";
import { canonical } from "./integer-form.js";
import type { Normalizer } from "./normalizer.js";
import {
  type Atom,
  type Factor,
  hasAtom,
  type Monomial,
  monomial,
  multiplyPolynomials,
  onlyAtom,
  onlyMonomial,
  type Polynomial,
  polynomialOf,
  samePolynomial,
  withoutFactor,
  type Case,
  type Fold,
} from "./polynomial.js";
import {
  add,
  apply,
  changeReal,
  choose,
  type FoldKind,
  freshName,
  INFINITE,
  multiply,
  partsOfReal,
  type Real,
  real,
  substituteReal,
  subtract,
  zero,
  constant,
  input,
  integer,
  power,
  undefinedReal,
} from "./real.js";
import {
  isOne,
  isPositive,
  isZero,
  ONE,
  opposite,
  plus,
  type Rational,
  sameRational,
  textOf,
  noRule,
} from "./rational.js";

interface LoopTile {
  readonly shape: readonly Term[];
  at(lane: readonly Term[]): Real;
}

export interface SolvedLoop {
  readonly loop: LoopStep;
  /** The variables of real values. */
  readonly variables: readonly Variable[];
  readonly initial: ReadonlyMap<Variable, LoopTile>;
  /** The values at the end of an iteration, as functions of the state at its start. */
  readonly next: ReadonlyMap<Variable, LoopTile>;
  /** The values after the loop. */
  readonly after: ReadonlyMap<Variable, LoopTile>;
  /** The conditions of the iterations of outer loops. */
  readonly path: readonly Term[];
  readonly normalizer: Normalizer;
  /** Takes what an iteration computes, and what the loop starts from. */
  readonly observe: (value: Real, given: readonly Term[]) => void;
}

export const stateName = ({ id }: Variable, { name }: Term): string => `${id} in ${name}`;

/** The scale of a sum that follows a running maximum: `exp(factor · unit · maximum)`. The unit is a positive constant. */
interface Scale {
  readonly variable: Variable;
  readonly index: readonly Term[];
  readonly factor: Rational;
  readonly unit: Polynomial;
}

/** The iterations of a loop, as a condition on its symbol. */
function iterationsOf({ condition, iteration }: LoopStep): Term {
  if (!condition) return noRule("a loop whose number of iterations is not known");
  return andTerm(atLeast(iteration, number(0)), condition);
}

const valueAt = (tiles: ReadonlyMap<Variable, LoopTile>, variable: Variable, lane: readonly Term[]): Real => {
  const tile = tiles.get(variable);
  return tile ? tile.at(broadcastLane(tile.shape, lane)) : noRule("a variable without a value");
};

/** The value of a variable in a lane after the loop. */
export function solveLoop(solved: SolvedLoop, variable: Variable, lane: readonly Term[]): Real {
  const form = closedForm(solved, variable, lane);
  return form.origin === "loop" ? form : { ...form, origin: "loop" };
}

function closedForm(solved: SolvedLoop, variable: Variable, lane: readonly Term[]): Real {
  const { loop, initial, next, normalizer } = solved;
  const iterations = iterationsOf(loop);
  const given = [...solved.path, ...conditionsOf(iterations)].map((each) => normalizer.indices.rewrite(each));
  const start = () => valueAt(initial, variable, lane);
  const value = valueAt(next, variable, lane);
  solved.observe(value, given);
  solved.observe(start(), solved.path);
  const name = stateName(variable, loop.iteration);
  const others = othersOfMaximum(value, name, lane);
  if (others) {
    if (others.some((each) => mentionsState(each))) noRule("a maximum of other state");
    return apply(
      "maximum",
      start(),
      over(
        "maximum",
        others.reduce((x, y) => apply("maximum", x, y)),
        solved,
      ),
    );
  }
  const index = lane.map((each) => normalizer.index(each, given));
  const cases = normalizer.cases(value, given);
  const candidates = cases.map((each) => candidateOf(each, name, index));
  if (candidates.some((each) => each !== INFINITE) && candidates.every((each) => each !== undefined)) {
    if (asksOfState(value)) noRule("a maximum that depends on whether state is -inf");
    return apply("maximum", start(), over("maximum", ofCases(cases, candidates, INFINITE), solved));
  }
  const steps = cases.map((each) => stepOf(each, name, index, solved, given));
  const scale = steps.find((each) => each.scale)?.scale;
  const isAlike = (each: LoopPass): boolean =>
    sameScale(each.scale, scale) || (scale !== undefined && isUnchanged(each, scale, solved, given));
  if (steps.length === 0 || !steps.every(isAlike)) return noRule("state of several kinds");
  const body = ofCases(
    steps,
    steps.map(({ added }) => toReal(added)),
    zero,
  );
  const total = over("sum", body, solved);
  if (!scale && asksOfState(value)) return noRule("a sum that depends on whether state is -inf");
  if (scale) requireFirstSum({ name, lane }, scale, value, body, solved, given);
  return scale ? rescaled({ name, lane }, scale, start(), total, solved, given) : add(start(), total);
}

/** The values of cases as one expression. */
const ofCases = (
  cases: readonly Pick<Case, "conditions">[],
  values: readonly (Real | undefined)[],
  otherwise: Real,
): Real =>
  cases.reduceRight<Real>(
    (rest, { conditions }, i) => choose(andTerm(...conditions), values[i] ?? otherwise, rest),
    otherwise,
  );

/** The operand that a running maximum takes in an iteration: -inf if the state stays. */
function candidateOf({ value }: Case, name: string, index: readonly Term[]): Real | undefined {
  const atom = typeof value === "object" ? onlyAtom(value) : undefined;
  const isOwn = (each: Atom | undefined) =>
    each?.kind === "state" && each.name === name && each.index.every((term, axis) => term === index[axis]);
  if (isOwn(atom)) return INFINITE;
  if (atom?.kind !== "function" || atom.name !== "maximum") return undefined;
  const others = atom.operands.filter((operand) => !isOwn(onlyAtom(operand)));
  const isKept = others.length < atom.operands.length && !others.some((operand) => hasAtom(operand, "state"));
  return isKept ? others.map(toReal).reduce((x, y) => apply("maximum", x, y)) : undefined;
}

/** True if an iteration changes neither a sum nor the maximum that it follows. */
function isUnchanged(
  { conditions, added, scale }: LoopPass,
  { variable, index }: Scale,
  { next, loop, normalizer }: SolvedLoop,
  given: readonly Term[],
): boolean {
  if (scale !== undefined || added.size > 0) return false;
  return normalizer.cases(valueAt(next, variable, index), [...given, ...conditions]).every(({ value }) => {
    const atom = typeof value === "object" ? onlyAtom(value) : undefined;
    return (
      atom?.kind === "state" &&
      atom.name === stateName(variable, loop.iteration) &&
      atom.index.every((term, axis) => term === index[axis])
    );
  });
}

/** The other operands of a maximum with the state itself. */
function othersOfMaximum(value: Real, name: string, lane: readonly Term[]): readonly Real[] | undefined {
  if (value.kind !== "function" || value.name !== "maximum") return undefined;
  const isOwn = (x: Real) =>
    x.kind === "state" && x.name === name && x.index.every((each, axis) => each === lane[axis]);
  const others = value.operands.filter((each) => !isOwn(each));
  return others.length < value.operands.length && others.length > 0 ? others : undefined;
}

/** The fold of an expression over the iterations. */
function over(kind: FoldKind, body: Real, { loop }: SolvedLoop): Real {
  const variable = freshName("iteration");
  const by = new Map([[loop.iteration.name, symbol(variable)]]);
  return {
    kind: "fold",
    fold: kind,
    variable,
    domain: substitute(iterationsOf(loop), by),
    body: substituteReal(body, by),
  };
}

interface LoopPass {
  readonly conditions: readonly Term[];
  readonly added: Polynomial;
  readonly scale: Scale | undefined;
}

/** What an iteration adds to a state in one case. */
function stepOf(
  { conditions, value }: Case,
  name: string,
  index: readonly Term[],
  solved: SolvedLoop,
  given: readonly Term[],
): LoopPass {
  if (typeof value === "string") return noRule("state that is not finite");
  const isOwn = ({ atom }: Factor) => atom.kind === "state" && atom.name === name;
  const kept: Monomial[] = [];
  const added: Monomial[] = [];
  for (const each of value.values()) {
    const [own, ...more] = [...each.factors.values()].filter(isOwn);
    if (!own) {
      added.push(each);
      continue;
    }
    const isSame = own.atom.kind === "state" && own.atom.index.every((term, axis) => term === index[axis]);
    if (more.length > 0 || !isOne(own.exponent) || !isSame) noRule("state of other lanes or powers");
    kept.push(withoutFactor(each, own.atom.id));
  }
  const [factor, ...more] = kept;
  if (!factor) return noRule("a value that the last iteration decides");
  if (more.length > 0 || !isOne(factor.coefficient)) return noRule("state that is scaled by a number");
  const sum = polynomialOf(...added);
  if (factor.factors.size === 0) {
    if (hasAtom(sum, "state")) noRule("state that depends on other state");
    return { conditions, added: sum, scale: undefined };
  }
  const { scale, maximum } = scaleOf(factor, solved, [...given, ...conditions]);
  const unscaled = multiplyPolynomials(sum, powerOfExp(maximum, scale.factor));
  if (hasAtom(unscaled, "state")) noRule("what an iteration adds depends on the maximum so far");
  return { conditions, added: unscaled, scale };
}

/** `exp(m)^c · exp(m')^-c`, where m is a running maximum and m' its next value. */
function scaleOf(
  { factors }: Monomial,
  { variables, next, loop, normalizer }: SolvedLoop,
  given: readonly Term[],
): { readonly scale: Scale; readonly maximum: Factor["atom"] } {
  const list = [...factors.values()];
  const before = list.find(({ atom }) => maximumIn(atom) !== undefined);
  const following = list.find((each) => each !== before);
  const found = before && maximumIn(before.atom);
  if (!found || !following || list.length !== 2) return noRule("state with a factor that is no power of a maximum");
  const { state, unit } = found;
  const variable = variables.find((each) => stateName(each, loop.iteration) === state.name);
  if (!variable) return noRule("state with a factor of an outer loop");
  const [only, ...more] = normalizer.cases(valueAt(next, variable, state.index), given);
  if (!only || more.length > 0 || typeof only.value === "string") return noRule("a maximum with cases");
  const newMaximum = onlyMonomial(normalizer.functionOf("exp", [multiplyPolynomials(unit, only.value)], given));
  const expected = newMaximum && [...newMaximum.factors.values()];
  const isNext =
    expected?.length === 1 &&
    expected[0]?.atom === following.atom &&
    isOne(newMaximum?.coefficient ?? ONE) &&
    isZero(plus(times(before.exponent, expected[0].exponent), following.exponent));
  if (!isNext || !isPositive(before.exponent)) return noRule("a factor that does not follow the new maximum");
  return { scale: { variable, index: state.index, factor: before.exponent, unit }, maximum: following.atom };
}

/** The state of a maximum in `exp(unit · state)`. */
function maximumIn(atom: Atom) {
  const argument = atom.kind === "exp" ? onlyMonomial(atom.of) : undefined;
  if (!argument) return undefined;
  const factors = [...argument.factors.values()];
  const [state, ...more] = factors.filter((each) => each.atom.kind === "state");
  const constants = factors.filter(({ atom: { kind } }) => kind === "constant" || kind === "base");
  if (state?.atom.kind !== "state" || !isOne(state.exponent) || more.length > 0) return undefined;
  if (constants.length < factors.length - 1) return undefined;
  return { state: state.atom, unit: polynomialOf(monomial(ONE, constants)) };
}

const times = (x: Rational, y: Rational): Rational => (isOne(y) ? x : noRule(`a power ${textOf(y)} of a maximum`));

const powerOfExp = (atom: Factor["atom"], exponent: Rational): Polynomial =>
  polynomialOf(monomial(ONE, [{ atom, exponent }]));

function sameScale(x: Scale | undefined, y: Scale | undefined): boolean {
  if (!x || !y) return x === y;
  return (
    x.variable === y.variable &&
    sameRational(x.factor, y.factor) &&
    samePolynomial(x.unit, y.unit) &&
    x.index.every((term, axis) => term === y.index[axis])
  );
}

/**
 * With `L = s · exp(c · m)`, an iteration adds to L alone, so that s is `exp(-c · m) · (L₀ + sum)` at the end. The
 * maximum must be finite after each iteration: before the loop, or after the first one. Else s must be 0 while the
 * maximum is -inf. At the end the maximum may be -inf, because there is no iteration; s is then what it was.
 */
function rescaled(
  own: OwnState,
  scale: Scale,
  start: Real,
  total: Real,
  solved: SolvedLoop,
  given: readonly Term[],
): Real {
  const { variable, index, factor, unit } = scale;
  const startMaximum = valueAt(solved.initial, variable, index);
  const isAlwaysFinite = hasFiniteMaximum(scale, startMaximum, solved, given);
  if (!isAlwaysFinite) requireGuard(own, scale, start, startMaximum, solved, given);
  const scaled = (exponent: Rational, maximum: Real): Real =>
    apply("exp", multiply(real(exponent), toReal(unit), maximum));
  const isNothing = start.kind === "number" && isZero(start.value);
  const carried = carriedSums.get(start);
  const isCarried =
    carried?.maximum === startMaximum && sameRational(carried.factor, factor) && samePolynomial(carried.unit, unit);
  const initialSum = isNothing ? zero : multiply(start, scaled(factor, startMaximum));
  const sum = add(isCarried ? carried.sum : initialSum, total);
  const maximum = valueAt(solved.after, variable, index);
  const form = multiply(scaled(opposite(factor), maximum), sum);
  const result: Real = { ...whereInfinite(maximum, start, form), origin: "loop" };
  carriedSums.set(result, { sum, maximum, factor, unit });
  return result;
}

/** A variable of a loop by its name, in one lane. */
interface OwnState {
  readonly name: string;
  readonly lane: readonly Term[];
}

/** A sum that follows a maximum after a loop, for a loop that continues it. */
interface CarriedSum {
  /** The sum times `exp(factor · unit · maximum)`. It is 0 while the maximum is over nothing. */
  readonly sum: Real;
  readonly maximum: Real;
  readonly factor: Rational;
  readonly unit: Polynomial;
}

const carriedSums = new WeakMap<Real, CarriedSum>();

/** True if the maximum is finite after each iteration. */
function hasFiniteMaximum(
  { variable, index }: Scale,
  start: Real,
  { next, loop, normalizer }: SolvedLoop,
  given: readonly Term[],
): boolean {
  const outside = given.filter((each) => !symbolsOfIteration(each, loop.iteration));
  const isFinite = ({ conditions, value }: Case): boolean =>
    typeof value === "object" && normalizer.isSurelyFinite(value, [...outside, ...conditions]);
  if (normalizer.cases(start, outside).every(isFinite)) return true;
  const first = new Map([[loop.iteration.name, number(0)]]);
  const runs = conditionsOf(substitute(iterationsOf(loop), first)).map(canonical);
  const isFirstFinite = ({ conditions, value }: Case): boolean =>
    isFinite({ conditions: [...runs, ...conditions], value });
  const firstMaximum = withState(
    substituteReal(valueAt(next, variable, index), first),
    [{ name: stateName(variable, loop.iteration), lane: index, value: start }],
    (each) => normalizer.index(each, outside),
  );
  return normalizer.cases(firstMaximum, [...outside, ...runs]).every(isFirstFinite);
}

/** Asks that the sum is 0 while the maximum is over nothing: before the loop, and after an iteration. */
function requireGuard(
  { name, lane }: OwnState,
  { variable, index }: Scale,
  start: Real,
  startMaximum: Real,
  solved: SolvedLoop,
  given: readonly Term[],
): void {
  const { next, loop, normalizer } = solved;
  const isZeroWhile = (maximum: Real, sum: Real, at: readonly Term[]): boolean =>
    normalizer
      .cases(whereInfinite(maximum, sum, zero), at)
      .every(({ value }) => typeof value === "object" && value.size === 0);
  const outside = given.filter((each) => !symbolsOfIteration(each, loop.iteration));
  if (!isZeroWhile(startMaximum, start, outside)) noRule("a sum that is not 0 before its maximum is finite");
  const empty = whileEmpty({ name, lane }, { variable, index }, solved, given);
  const sum = [...solved.next].find(([each]) => stateName(each, loop.iteration) === name)?.[0];
  if (!sum) return noRule("a sum without a value");
  const [nextMaximum, nextSum] = [valueAt(next, variable, index), valueAt(next, sum, lane)];
  if (!isZeroWhile(empty(nextMaximum), empty(nextSum), given)) noRule("a maximum that may be -inf after an iteration");
}

/** An expression of an iteration while the maximum is -inf, so that the sum is 0. */
const whileEmpty =
  (
    { name, lane }: OwnState,
    { variable, index }: Pick<Scale, "variable" | "index">,
    { loop, normalizer }: SolvedLoop,
    given: readonly Term[],
  ) =>
  (x: Real): Real =>
    withState(
      x,
      [
        { name: stateName(variable, loop.iteration), lane: index, value: INFINITE },
        { name, lane, value: zero },
      ],
      (each) => normalizer.index(each, given),
    );

/** Asks that the formula of an iteration also holds while the maximum is -inf, if the iteration asks whether it is. */
function requireFirstSum(
  { name, lane }: OwnState,
  { variable, index, factor, unit }: Scale,
  value: Real,
  added: Real,
  solved: SolvedLoop,
  given: readonly Term[],
): void {
  if (!asksOfState(value)) return;
  const { next, normalizer } = solved;
  const empty = whileEmpty({ name, lane }, { variable, index }, solved, given);
  const [sum, maximum] = [empty(value), empty(valueAt(next, variable, index))];
  if (asksOfState(sum)) noRule("a sum that depends on whether other state is -inf");
  const expected = multiply(apply("exp", multiply(real(opposite(factor)), toReal(unit), maximum)), added);
  const isEqual = normalizer
    .cases(whereInfinite(maximum, zero, subtract(sum, expected)), given)
    .every(({ value: apart }) => typeof apart === "object" && apart.size === 0);
  if (!isEqual) noRule("a sum of another kind while its maximum is -inf");
}

const whereInfinite = (x: Real, then: Real, otherwise: Real): Real => ({
  kind: "comparison",
  operator: "equal",
  x,
  y: INFINITE,
  then,
  otherwise,
});

const symbolsOfIteration = (term: Term, iteration: Term): boolean =>
  term === iteration || term.operands.some((operand) => symbolsOfIteration(operand, iteration));

/** An expression with the states of some lanes replaced. */
function withState(
  x: Real,
  states: readonly (OwnState & { readonly value: Real })[],
  normal: (index: Term) => Term,
): Real {
  const stateOf = (name: string, index: readonly Term[]): Real | undefined =>
    states.find(
      (each) => each.name === name && each.lane.every((term, axis) => normal(term) === normal(index[axis] ?? term)),
    )?.value;
  return changeReal(x, { term: (term) => term, state: stateOf });
}

/** True if an expression depends on the state of a loop. */
export const mentionsState = (x: Real): boolean => hasPart(x, ({ kind }) => kind === "state");

/** True if an expression asks whether state is -inf, which is not known of it. */
const asksOfState = (x: Real): boolean =>
  hasPart(
    x,
    (part) =>
      part.kind === "comparison" &&
      ((part.y.kind === "infinite" && mentionsState(part.x)) || (part.x.kind === "infinite" && mentionsState(part.y))),
  );

function hasPart(x: Real, is: (part: Real) => boolean, seen = new Set<Real>()): boolean {
  if (seen.has(x)) return false;
  seen.add(x);
  return is(x) || partsOfReal(x).some((part) => hasPart(part, is, seen));
}

// Normal forms as expressions.

/** A sum of products as an expression. */
export const toReal = (p: Polynomial): Real => add(...[...p.values()].map(monomialReal));

const monomialReal = ({ coefficient, factors }: Monomial): Real =>
  multiply(
    real(coefficient),
    ...[...factors.values()].map(({ atom, exponent }) => {
      if (atom.kind === "exp") return apply("exp", multiply(real(exponent), toReal(atom.of)));
      return isOne(exponent) ? atomReal(atom) : power(atomReal(atom), exponent);
    }),
  );

function atomReal(atom: Atom): Real {
  switch (atom.kind) {
    case "input":
      return input(atom.name, atom.index);
    case "state":
      return { kind: "state", name: atom.name, index: atom.index };
    case "integer":
      return integer(atom.term);
    case "constant":
      return constant(atom.name);
    case "base":
      return real(atom.value);
    case "exp":
      return apply("exp", toReal(atom.of));
    case "sum":
      return toReal(atom.of);
    case "function": {
      const [x, y, z] = atom.operands.map(toReal);
      if (atom.name === "maximum") return atom.operands.map(toReal).reduce((a, b) => apply("maximum", a, b));
      if (!x) return noRule("a function without operands");
      if (atom.name !== "greater" && atom.name !== "equal") return apply(atom.name, x);
      return !y || !z
        ? noRule("a comparison without results")
        : {
            kind: "comparison",
            operator: atom.name,
            x,
            y: real({ numerator: 0n, denominator: 1n }),
            then: y,
            otherwise: z,
          };
    }
    case "fold":
      return foldReal(atom.fold);
    default:
      return atom satisfies never;
  }
}

function foldReal({ kind, variables, domain, body }: Fold): Real {
  const by = new Map(variables.map((name) => [name, symbol(freshName("k"))] as const));
  const inner = substituteReal(toReal(body), by);
  const conditions = domain.map((each) => substitute(each, by));
  const names = variables.map((name) => by.get(name)?.name ?? name);
  // A condition belongs to the innermost variable that it mentions.
  const depthOf = (condition: Term): number => names.findLastIndex((name) => symbolsIn(condition).has(name));
  return names.reduceRight<Real>((result, variable, depth) => {
    const own = conditions.filter((condition) => Math.max(0, depthOf(condition)) === depth);
    return { kind: "fold", fold: kind, variable, domain: andTerm(...own), body: result };
  }, inner);
}

/** Cases as an expression. The last one is what the others leave. */
export function casesReal(cases: readonly Case[]): Real {
  const values = cases.map(({ conditions, value }) => ({ conditions, real: valueReal(value) }));
  const [last] = values.slice(-1);
  if (!last) return noRule("no case");
  return values
    .slice(0, -1)
    .reduceRight((rest, { conditions, real: value }) => choose(allOf(conditions), value, rest), last.real);
}

const allOf = (conditions: readonly Term[]): Term => andTerm(...conditions);

function valueReal(value: Case["value"]): Real {
  if (value === "infinite") return INFINITE;
  return value === "undefined" ? undefinedReal("a masked lane") : toReal(value);
}
