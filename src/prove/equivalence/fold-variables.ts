/** Changes of the variables of a fold. Each is a bijection between the old domain and the new one. */
import {
  atLeast,
  below,
  difference,
  equal,
  negative,
  number,
  product,
  quotient,
  substitute,
  sum,
  symbol,
  type Term,
  termsIn,
} from "../../symbolic/term.js";
import { canonical, exactQuotient, linearIn, mentions, type Entailment } from "./integer-form.js";
import { freshName } from "./real.js";
import { factorsOf, partsOf, type Polynomial, termsOfAtom } from "./polynomial.js";

/** A fold while its variables change. */
export interface OpenFold {
  readonly variables: readonly string[];
  readonly domain: readonly Term[];
  readonly body: Polynomial;
}

/** Sets the fold's variables and domain, and replaces symbols of its body. */
type Substitution = (
  variables: readonly string[],
  domain: readonly Term[],
  replacements: ReadonlyMap<string, Term>,
) => void;

const isUnitFactor = (term: Term): boolean => term === number(1) || term === number(-1);

const replaced = (domain: readonly Term[], by: ReadonlyMap<string, Term>): readonly Term[] =>
  domain.map((each) => canonical(substitute(each, by)));

/** An equation fixes a variable. */
export function resolveEqualities(open: () => OpenFold, substituted: Substitution): void {
  for (let next = equalityOf(open()); next; next = equalityOf(open())) {
    const { variable, condition, value } = next;
    const by = new Map([[variable, value]]);
    const { variables, domain } = open();
    const rest = domain.filter((each) => each !== condition);
    substituted(
      variables.filter((each) => each !== variable),
      replaced(rest, by),
      by,
    );
  }
}

/** A condition of a domain that fixes a variable, and the variable's value. */
interface Equality {
  readonly variable: string;
  readonly condition: Term;
  readonly value: Term;
}

export function equalityOf({ variables, domain }: Pick<OpenFold, "variables" | "domain">): Equality | undefined {
  for (const condition of domain) {
    if (condition.kind !== "equal") continue;
    for (const variable of variables) {
      const form = linearIn(difference(condition.operands[0], condition.operands[1]), variable);
      if (!form || !isUnitFactor(form.factor)) continue;
      const value = canonical(form.factor === number(1) ? negative(form.rest) : form.rest);
      return { variable, condition, value };
    }
  }
  return undefined;
}

/** A variable that only conditions mention starts another one: that one is counted from there. */
export function shiftConditions(open: () => OpenFold, substituted: Substitution): void {
  if (open().variables.length < 2) return;
  for (const start of open().variables) {
    if (indexTerms(open().body).some((term) => mentions(term, start))) continue;
    const found = open().domain.flatMap((condition) => {
      if (condition.kind !== "atMost" || !mentions(condition, start)) return [];
      return open().variables.flatMap((variable) => {
        const form = variable === start ? undefined : linearIn(condition.operands[1], variable);
        return form && form.factor === number(1) && mentions(form.rest, start) ? [{ variable, rest: form.rest }] : [];
      });
    })[0];
    if (!found) continue;
    const by = new Map([[found.variable, canonical(difference(symbol(found.variable), found.rest))]]);
    const { variables, domain } = open();
    substituted(variables, replaced(domain, by), by);
  }
}

/** Each variable is counted from where the first index that it moves starts. */
export function shiftIndices(open: () => OpenFold, substituted: Substitution): void {
  for (const variable of open().variables) {
    const { variables, domain, body } = open();
    // A variable of a sum inside has no meaning outside of it.
    const others = [...variables.filter((each) => each !== variable), ...boundIn(body)];
    const form = indexTerms(body)
      .map((term) => linearIn(term, variable))
      .find((each) => each?.factor === number(1) && !others.some((other) => mentions(each.rest, other)));
    if (!form || form.rest === number(0)) continue;
    const by = new Map([[variable, canonical(difference(symbol(variable), form.rest))]]);
    substituted(variables, replaced(domain, by), by);
  }
}

/** A variable that starts at another one is counted from there. */
export function shiftStarts(open: () => OpenFold, substituted: Substitution): void {
  for (const variable of open().variables) {
    const { variables, domain } = open();
    const others = variables.filter((each) => each !== variable);
    const starts = domain.flatMap((condition) => {
      const form = condition.kind === "atMost" ? linearIn(condition.operands[1], variable) : undefined;
      return form?.factor === number(1) ? [form.rest] : [];
    });
    const [start, ...more] = starts;
    if (!start || more.length > 0 || !others.some((other) => mentions(start, other))) continue;
    const by = new Map([[variable, canonical(difference(symbol(variable), start))]]);
    substituted(variables, replaced(domain, by), by);
  }
}

/** A variable of which indices hold the quotient or the remainder by a size becomes `size · quotient + remainder`. */
export function splitDigits(
  open: () => OpenFold,
  substituted: Substitution,
  entailment: Entailment,
  given: readonly Term[],
): void {
  for (let next = digitsOf(open(), entailment, given); next; next = digitsOf(open(), entailment, given)) {
    const { variable, size } = next;
    const [outer, inner] = [freshName("k"), freshName("k")];
    const [x, y] = [symbol(outer), symbol(inner)];
    const by = new Map([[variable, sum(product(size, x), y)]]);
    const { variables, domain } = open();
    const conditions = replaced(domain, by).map((each) => withoutDigit(each, inner, size));
    substituted(
      [...variables.filter((each) => each !== variable), outer, inner],
      [...new Set([...conditions, ...[atLeast(x, number(0)), atLeast(y, number(0)), below(y, size)].map(canonical)])],
      by,
    );
  }
}

function digitsOf({ variables, domain, body }: OpenFold, entailment: Entailment, given: readonly Term[]) {
  const known = [...given, ...domain];
  for (const term of termsIn(...indexTerms(body))) {
    const isDivision = ["quotient", "floorQuotient", "remainder", "floorRemainder"].includes(term.kind);
    const [dividend, size] = term.operands;
    if (!isDivision || dividend?.kind !== "symbol" || !size || !variables.includes(dividend.name)) continue;
    if (variables.some((variable) => mentions(size, variable))) continue;
    const conditions = [atLeast(dividend, number(0)), atLeast(size, number(1))].map(canonical);
    if (conditions.every((each) => entailment.proves(known, each))) return { variable: dividend.name, size };
  }
  return undefined;
}

/** `size · x - inner - 1 >= 0` is `x >= 1`, and `size · x + inner >= 0` is `x >= 0`, as `0 <= inner < size`. */
function withoutDigit(condition: Term, inner: string, size: Term): Term {
  const form = condition.kind === "atMost" ? linearIn(condition.operands[1], inner) : undefined;
  if (!form || !isUnitFactor(form.factor)) return condition;
  const falls = form.factor === number(-1);
  const multiple = exactQuotient(falls ? canonical(sum(form.rest, number(1))) : form.rest, size);
  return multiple ? canonical(atLeast(multiple, number(falls ? 1 : 0))) : condition;
}

/** Pairs of variables that all indices hold as `size · outer + inner` with `0 <= inner < size` become one. */
export function mergeBlocks(
  open: () => OpenFold,
  substituted: Substitution,
  entailment: Entailment,
  given: readonly Term[],
): void {
  const mergeOnce = (): boolean => {
    const { variables, domain, body } = open();
    for (const outer of variables)
      for (const inner of variables) {
        const merge = outer === inner ? undefined : mergeOf(outer, inner, open(), indexTerms(body), entailment, given);
        if (!merge) continue;
        substituted(
          variables.filter((each) => each !== outer),
          merge.domain,
          merge.by,
        );
        return true;
      }
    return domain.length < 0;
  };
  while (open().variables.length > 1 && mergeOnce());
}

interface Merge {
  readonly by: ReadonlyMap<string, Term>;
  readonly domain: readonly Term[];
}

/** `size · outer + inner` as one variable, which takes the name of the inner one. */
function mergeOf(
  outer: string,
  inner: string,
  { domain }: OpenFold,
  indices: readonly Term[],
  entailment: Entailment,
  given: readonly Term[],
): Merge | undefined {
  const size = blockSize(outer, inner, indices);
  if (!size) return undefined;
  const [x, y] = [symbol(outer), symbol(inner)];
  const known = [...given, ...domain];
  if (!entailment.isWithin(known, y, size) || !entailment.proves(known, canonical(atLeast(x, number(0)))))
    return undefined;
  const by = new Map([[inner, canonical(difference(y, product(size, x)))]]);
  const digits = [
    atLeast(x, number(0)),
    ...[atLeast(y, number(0)), below(y, size)].map((each) => substitute(each, by)),
  ].map(canonical);
  const changed = replaced(domain, by);
  const kept = [canonical(atLeast(y, number(0))), ...changed.filter((each) => !mentions(each, outer))];
  for (const condition of changed) {
    if (!mentions(condition, outer) || digits.includes(condition)) continue;
    if (entailment.proves([...given, ...kept, ...digits], condition)) continue;
    const divides = (term: Term): boolean =>
      exactQuotient(term, size) !== undefined ||
      entailment.proves(given, canonical(equal(term, product(size, quotient(term, size)))));
    const end = endOf(condition, outer, inner, size, divides);
    if (!end) return undefined;
    kept.push(canonical(below(y, end)));
  }
  return { by, domain: [...new Set(kept)] };
}

/** The size of the blocks, if every index holds both variables as `size · outer + inner`. */
function blockSize(outer: string, inner: string, indices: readonly Term[]): Term | undefined {
  let size: Term | undefined;
  for (const term of indices) {
    if (!mentions(term, outer) && !mentions(term, inner)) continue;
    const [byOuter, byInner] = [linearIn(term, outer), linearIn(term, inner)];
    const ratio = byOuter && byInner && byInner.factor !== number(0) && exactQuotient(byOuter.factor, byInner.factor);
    if (!ratio || ratio === number(0) || (size && size !== ratio)) return undefined;
    size = ratio;
  }
  return size;
}

/** `size` times the end of a condition `outer < end`, or `size · outer < size · end`. */
function endOf(
  condition: Term,
  outer: string,
  inner: string,
  size: Term,
  divides: (term: Term) => boolean,
): Term | undefined {
  const form = condition.kind === "atMost" ? linearIn(condition.operands[1], outer) : undefined;
  if (!form || mentions(form.rest, inner)) return undefined;
  const end = canonical(sum(form.rest, number(1)));
  if (form.factor === number(-1)) return product(end, size);
  return form.factor === canonical(negative(size)) && divides(end) ? end : undefined;
}

/** The integer terms of a polynomial, and of its parts. A condition counts as its sides. */
function indexTerms(p: Polynomial): readonly Term[] {
  const terms = factorsOf(p).flatMap(({ atom }) => [
    ...termsOfAtom(atom).flatMap(sidesOf),
    ...partsOf(atom).flatMap(indexTerms),
  ]);
  return [...new Set(terms)];
}

/** The variables of folds in a polynomial. */
const boundIn = (p: Polynomial): readonly string[] =>
  factorsOf(p).flatMap(({ atom }) => [
    ...(atom.kind === "fold" ? atom.fold.variables : []),
    ...partsOf(atom).flatMap(boundIn),
  ]);

function sidesOf(term: Term): readonly Term[] {
  if (term.kind === "atMost" || term.kind === "equal")
    return term.operands.map(canonical).filter(({ kind }) => kind !== "number");
  return term.kind === "all" || term.kind === "some" || term.kind === "not" ? term.operands.flatMap(sidesOf) : [term];
}
