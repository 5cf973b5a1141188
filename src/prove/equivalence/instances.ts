/** Elements of maxima: sums that equal the body of a fold for some values of its variables. */
import { difference, number, substitute, type Term } from "../../symbolic/term.js";
import type { Entailment } from "./entailment.js";
import type { Indices } from "./indices.js";
import { canonical, linearIn, mentions, splitByDivisor } from "./integer-form.js";
import { type Atom, factorsOf, type Fold, partsOf, type Polynomial, samePolynomial } from "./polynomial.js";

const MAX_CANDIDATES = 6;

export interface InstanceContext {
  readonly entailment: Entailment;
  readonly indices: Indices;
  substitute(p: Polynomial, replacements: ReadonlyMap<string, Term>, given: readonly Term[]): Polynomial;
}

/** True if a sum is the body of a fold for values of its variables in the domain. */
export const isElementOf = (p: Polynomial, fold: Fold, context: InstanceContext, given: readonly Term[]): boolean =>
  assignments(fold.variables, fold.body, p).some(
    (by) =>
      fold.domain.every((each) =>
        context.entailment.proves(given, canonical(substitute(context.indices.rewrite(each), by))),
      ) && samePolynomial(context.substitute(fold.body, by, given), p),
  );

/** True if values of the variables make two sums equal. */
export function isInstance(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
  context: InstanceContext,
  given: readonly Term[],
): boolean {
  return assignments(variables, pattern, target).some((by) =>
    samePolynomial(context.substitute(pattern, by, given), target),
  );
}

/** Candidates for the values of variables: what stands in their places in the indices of another sum. */
export function assignments(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
): readonly ReadonlyMap<string, Term>[] {
  const [patternElements, targetElements] = [elementsIn(pattern), elementsIn(target)];
  const digits = patternElements.flatMap((x) =>
    targetElements.flatMap((y) => (x.name === y.name ? (digitsOf(variables, x.index, y.index) ?? []) : [])),
  );
  const values = variables.reduce<readonly ReadonlyMap<string, Term>[]>(
    (sofar, variable) => {
      const values = candidatesOf(variable, variables, patternElements, targetElements);
      if (!patternElements.some(({ index }) => index.some((term) => mentions(term, variable)))) return sofar;
      return sofar.flatMap((by) => values.map((value) => new Map([...by, [variable, value] as const])));
    },
    [new Map()],
  );
  return [...digits.slice(0, MAX_CANDIDATES), ...values];
}

/** The values of variables for which one index is another one: the summands of which each variable's factor is one. */
function digitsOf(
  variables: readonly string[],
  pattern: readonly Term[],
  target: readonly Term[],
): ReadonlyMap<string, Term> | undefined {
  const by = new Map<string, Term>();
  const none = new Map(variables.map((variable) => [variable, number(0)] as const));
  for (const [axis, term] of pattern.entries()) {
    let rest = canonical(difference(target[axis] ?? number(0), substitute(term, none)));
    const digits = variables
      .flatMap((variable) => {
        const factor = linearIn(term, variable)?.factor;
        return factor && factor !== number(0) && !by.has(variable) ? [{ variable, factor }] : [];
      })
      .toSorted((x, y) => y.factor.nodes - x.factor.nodes);
    for (const { variable, factor } of digits) {
      const split = splitByDivisor(rest, factor);
      by.set(variable, split.multiple);
      ({ rest } = split);
    }
    if (rest !== number(0) && digits.length > 0) return undefined;
  }
  return by;
}

type Element = Extract<Atom, { kind: "input" | "state" }>;

const elementsIn = (p: Polynomial): readonly Element[] =>
  factorsOf(p).flatMap(({ atom }) =>
    atom.kind === "input" || atom.kind === "state" ? [atom] : partsOf(atom).flatMap(elementsIn),
  );

function candidatesOf(
  variable: string,
  variables: readonly string[],
  pattern: readonly Element[],
  target: readonly Element[],
): readonly Term[] {
  const found = pattern.flatMap(({ name, index }) =>
    index.flatMap((term, axis) => {
      const form = linearIn(term, variable);
      if (!form || form.factor.kind !== "number" || form.factor.value !== 1n) return [];
      if (variables.some((other) => mentions(form.rest, other))) return [];
      return target.flatMap((other) => {
        const place = other.name === name ? other.index[axis] : undefined;
        return place ? [canonical(difference(place, form.rest))] : [];
      });
    }),
  );
  return [...new Set(found)].slice(0, MAX_CANDIDATES);
}
