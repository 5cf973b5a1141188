/** Whether what the stores of a kernel write is what its reference gives, in one model of the kernel. */
import { atAxis } from "../../types/dims.js";
import { type ConstexprParam, isValue, type KernelIR, paramsOf, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { isInt, members } from "../../types/dtype.js";
import {
  atLeast,
  atMost,
  below,
  call,
  difference,
  equal,
  FALSE,
  number,
  product,
  quotient,
  substitute,
  sum,
  symbol,
  symbolsIn,
  type Term,
  termsIn,
} from "../../symbolic/term.js";
import type { TorchNode } from "../../torch/node.js";
import { Budget } from "../algebra/budget.js";
import { assume, entails } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { distinctConfigs } from "../launch-search.js";
import { FactScopes } from "../model/fact-scopes.js";
import { ELEMENT_PREFIX, inputElement } from "../model/input-elements.js";
import { opEvents } from "../model/events.js";
import type { SymbolicModel } from "../model/model.js";
import type { Environment } from "../model/symbolic-environment.js";
import { canonical, integerMonomials, Entailment, STEPS } from "./integer-form.js";
import { assignments } from "./indices.js";
import { KernelValues, type StoredValue } from "./kernel-values.js";
import { mentionsState } from "./loops.js";
import { Normalizer } from "./normalizer.js";
import {
  type Atom,
  atomPolynomial,
  expandSums,
  factorsOf,
  monomial,
  multiplyMonomials,
  type Polynomial,
  polynomialOf,
  samePolynomial,
  subtractPolynomials,
  type Case,
  type Need,
} from "./polynomial.js";
import { changeReal, input, integer, type Real } from "./real.js";
import { isInteger, isLess, isNegative, ONE, opposite, noRule } from "./rational.js";
import { type ReferenceScope, TorchReference } from "./torch-reference.js";
import { type Computed, type Instability, instabilityOf, type KnownExponents } from "./stability.js";
import type { TorchSymbol } from "./torch-elementwise.js";

/** Two cases that are not shown to be equal. */
export interface Difference {
  readonly kernel: Case;
  readonly reference: Case;
}

/** Undefined if all elements are equal. `unstable`: they are over the reals. */
export type Comparison = undefined | { readonly unstable: Instability } | Difference | { readonly missing: string };

/** The symbols of an element's index. */
export const elementSymbols = (rank: number): readonly Term[] =>
  Array.from({ length: rank }, (_, axis) => symbol(`i${axis}`));

/** The conditions of an index within a shape. */
export const rangesOf = (index: readonly Term[], shape: readonly Term[]): readonly Term[] =>
  index.flatMap((each, axis) => [atLeast(each, number(0)), below(each, atAxis(shape, axis))]);

/** Sizes, scalars and inputs of a kernel's reference. */
export function scopeOf(ir: KernelIR, { launch, environment }: SymbolicModel): ReferenceScope {
  return {
    input(name): TorchSymbol {
      const param = ir.params.find((each) => each.name === name);
      if (!param || param.kind === "pointer") return noRule(`the input ${name} of the reference`);
      if (param.kind === "tensor") return inputTensor(param, environment);
      const term = launch.term(param.value);
      if (term) return { term };
      if (param.kind === "constexpr") return constexprOf(param, launch.assignment[name]);
      return { shape: [], at: () => input(name, []) };
    },
    given(name) {
      const param = paramsOf(ir, "tensor").find((each) => each.name === name);
      return (param?.given && launch.term(param.given)) ?? noRule(`the optional input ${name}`);
    },
    launched: () => noRule("a kernel in the reference of a kernel"),
  };
}

/** A dtype, if all that it may be are floats; a text or a flag of the config. */
function constexprOf({ name, variable, of }: ConstexprParam, assigned: TorchSymbol): TorchSymbol {
  if (variable && !variable.members.some(isInt)) return "float32";
  if (assigned !== undefined) return assigned;
  return of === "float" ? { shape: [], at: () => input(name, []) } : noRule(`the constexpr ${name}`);
}

/** The elements of a tensor before the launch. */
function inputTensor(param: TensorParam, environment: Environment): TorchSymbol {
  const { name, dtype, role } = param;
  const shape = environment.launch.tensorDims(param);
  const isIntegers = members(dtype).every(isInt);
  if (role === "out" || (role === "inout" && isIntegers)) return noRule(`${name} is read and written`);
  if (!isIntegers && members(dtype).some(isInt)) return noRule(`${name} may hold integers`);
  if (!isIntegers) return { shape, at: (index: readonly Term[]) => input(name, index) };
  const terms = inputElement(environment, param);
  return { shape, at: (index: readonly Term[]) => integer(terms(index)), terms };
}

/** Compares each store to an output with the reference, in one model with these additional facts. */
export function compareOutput(
  model: SymbolicModel,
  output: TensorParam,
  node: TorchNode,
  flags: readonly Term[],
): Comparison {
  if (model.truncatedAt || model.raw.length > 0) return { missing: "raw Python" };
  const budget = new Budget(...STEPS);
  const scopes = new FactScopes(model, budget, [...flags, ...sizeFacts(model)]);
  // No launch has these flags.
  if (flags.length > 0 && entails(scopes.launch(), FALSE)) return undefined;
  const stores = storesTo(model, output);
  if (stores.length === 0) return { missing: `no store to ${output.name}` };
  let isReached = false;
  let unstable: Instability | undefined;
  for (const { stored, use, iterations } of stores) {
    const { access } = stored;
    if (access.tensor === undefined) return { missing: access.missing ?? "a store to unknown memory" };
    const { normalizer, elements } = normalizerOf(stored, model, scopes, budget);
    use(normalizer);
    if (normalizer.entailment.isImpossible([])) continue;
    isReached = true;
    const torch = new TorchReference(scopeOf(model.ir, model));
    const compared = compareStore(stored, normalizer, elements, torch, node);
    if (compared) return compared;
    const reference = torch.tensor(node);
    const wanted = reference.at(reference.shape.length === 0 ? [] : elements);
    unstable ??= storedInstability(stored, iterations, normalizer, { reference: wanted });
  }
  if (!isReached) return { missing: `no launch reaches a store to ${output.name}` };
  return unstable && { unstable };
}

/** The instability of what a store writes and of the loops before it. */
export function storedInstability(
  stored: StoredValue,
  iterations: readonly Computed[],
  normalizer: Normalizer,
  known: KnownExponents,
): Instability | undefined {
  normalizer.restart();
  return instabilityOf([...iterations, { value: storedReal(stored), given: [], iterations: [] }], known, normalizer);
}

/** The stores that may write an output. `use` sets the normalizer that solves the loops before a store. */
export function storesTo(
  model: SymbolicModel,
  output: TensorParam,
): readonly {
  readonly stored: StoredValue;
  readonly use: (normalizer: Normalizer) => void;
  readonly iterations: readonly Computed[];
}[] {
  let current: Normalizer | undefined;
  const values = new KernelValues(model, () => current ?? noRule("a loop outside a store")).run();
  return values.stores
    .filter(({ access: { tensor } }) => tensor === output || tensor === undefined)
    .map((stored) => ({ stored, use: (normalizer) => (current = normalizer), iterations: values.iterations }));
}

/** Reshapes keep the number of elements in every config: the build checks it. */
export const sizeFacts = ({ flow, environment }: SymbolicModel): readonly Term[] =>
  opEvents(flow).flatMap(({ statement: { op, operands, results } }) => {
    const [x, result] = [operands[0], results[0]];
    if (op.proof.keepsElements !== true || !isValue(x) || !result) return [];
    return [equal(...sizesOf(environment.shape(x.type), environment.shape(result.type)))];
  });

/** Constexprs that divide another one in each config. */
export function configFacts({ ir, launch }: SymbolicModel): readonly Term[] {
  const configs = distinctConfigs(ir).map(({ values }) => values);
  const terms = paramsOf(ir, "constexpr").flatMap((param) => {
    const term = param.of === "int" && param.from === "config" ? launch.term(param.value) : undefined;
    return term ? [{ name: param.name, term }] : [];
  });
  return terms.flatMap((x) =>
    terms.flatMap((y) =>
      x !== y && configs.every((values) => Number(values[x.name]) % Number(values[y.name]) === 0)
        ? [equal(x.term, product(y.term, quotient(x.term, y.term)))]
        : [],
    ),
  );
}

const sizesOf = (x: readonly Term[], y: readonly Term[]): readonly [Term, Term] => [product(...x), product(...y)];

/** A normalizer with the facts of a store's active lanes, which write an element. */
export function normalizerOf(
  { access }: Pick<StoredValue, "access">,
  model: SymbolicModel,
  scopes: FactScopes,
  budget: Budget,
): { readonly normalizer: Normalizer; readonly elements: readonly Term[] } {
  const facts = scopes.active(access).child();
  for (const range of scopes.rangesOf(access.lanes)) assume(facts, range);
  const elements = elementSymbols(access.axes.length);
  access.axes.forEach(({ index, size }, axis) => {
    const element = atAxis(elements, axis);
    for (const fact of [equal(element, index), atLeast(element, number(0)), below(element, size)]) assume(facts, fact);
  });
  const normalizer = new Normalizer(new Entailment(facts, budget));
  for (const term of loadedScalars(model)) mention(facts, term);
  for (const { from, to } of narrowedScalars(model)) {
    mention(facts, from);
    if (isInt32(normalizer.entailment, from, model))
      normalizer.indices.solve({ atom: canonical(to), value: normalizer.index(from, []) });
  }
  return { normalizer, elements };
}

/** The elements of inputs of integers that programs load one by one. */
function loadedScalars({ flow }: SymbolicModel): readonly Term[] {
  return opEvents(flow).flatMap(({ access }) => {
    if (access?.accessKind !== "load" || access.tensor?.kind !== "tensor" || access.tensor.role !== "in") return [];
    const { name, dtype } = access.tensor;
    if (access.lane.length > 0 || !members(dtype).every(isInt)) return [];
    return [call(`${ELEMENT_PREFIX}${name}`, ...access.axes.map(({ index }) => index))];
  });
}

/** Scalars that are cast to int32 from wider integers, so that they may wrap. */
function narrowedScalars({ flow }: SymbolicModel): readonly { readonly from: Term; readonly to: Term }[] {
  return opEvents(flow).flatMap(({ statement: { op, results }, terms, result }) => {
    const [operand, type] = [terms[0], results[0]?.type];
    if (op.facts.isIdentity !== true || !operand || !result || operand.shape.length + result.shape.length > 0)
      return [];
    const [from, to] = [operand.at([]), result.at([])];
    return type?.kind === "tile" && type.dtype === "int32" && from !== to ? [{ from, to }] : [];
  });
}

/** True if a term is between 0 and a size, which is an int32. */
const isInt32 = (entailment: Entailment, term: Term, { ir, launch }: SymbolicModel): boolean =>
  entailment.proves([], atLeast(term, number(0))) &&
  tensorsOf(ir, "in", "out", "inout")
    .flatMap((tensor) => launch.tensorDims(tensor))
    .some((size) => size.kind === "symbol" && entailment.proves([], below(term, size)));

/** Adds the declared facts about the elements of inputs in a term. */
export function mention(facts: FactSet, term: Term): void {
  assume(facts, atMost(term, sum(term, number(1))));
}

/** The elements of inputs of integers that an expression depends on, outside of its folds. */
export function elementsIn(x: Real): readonly Term[] {
  const found = new Set<Term>();
  const collect = (term: Term): Term => {
    for (const each of termsIn(term))
      if (each.name?.startsWith(ELEMENT_PREFIX) && [...symbolsIn(each)].every((name) => !name.includes("~")))
        found.add(each);
    return term;
  };
  changeReal(x, { term: collect });
  return [...found];
}

function compareStore(
  store: StoredValue,
  normalizer: Normalizer,
  elements: readonly Term[],
  torch: TorchReference,
  node: TorchNode,
): Comparison {
  const reference = torch.tensor(node);
  const isScalar = reference.shape.length === 0;
  if (!isScalar && reference.shape.length !== elements.length) return { missing: "the reference has another rank" };
  const referenceReal = reference.at(isScalar ? [] : elements);
  for (const term of elementsIn(referenceReal)) mention(normalizer.entailment.base, term);
  const kernel = storedCases(store, normalizer, elements);
  const needs = normalizer.needs.splice(0);
  const wanted = normalizer.cases(referenceReal, []);
  return compareCases(kernel, wanted, normalizer, needs);
}

/** What a store writes at an element, in place of a lane. */
export function storedCases(store: StoredValue, normalizer: Normalizer, elements: readonly Term[]): readonly Case[] {
  const { access } = store;
  if (access.missing !== undefined) noRule(access.missing);
  solveElements(access, normalizer, elements);
  const stored = storedReal(store);
  if (mentionsState(stored)) noRule("a store inside a loop that writes its state");
  return normalizer.cases(stored, []);
}

/** What a store writes, in its lane. */
export function storedReal({ access, value }: StoredValue): Real {
  const lane = access.lane.slice(access.lane.length - value.shape.length);
  return value.at(value.shape.map((dim, axis) => (dim === number(1) ? number(0) : atAxis(lane, axis))));
}

/** Solves the equations of an element's index for lanes, or else for programs. */
export function solveElements(access: StoredValue["access"], normalizer: Normalizer, elements: readonly Term[]): void {
  access.axes.forEach(({ index }, axis) => {
    const element = atAxis(elements, axis);
    const solved = normalizer.index(index, []);
    const rankOf = (atom: Term): number => {
      if (atom.kind !== "symbol") return 2;
      return access.lanes.includes(atom.name) ? 0 : 1;
    };
    const [best] = integerMonomials(solved)
      .flatMap(({ factor, atoms: [atom, ...more] }) =>
        atom && more.length === 0 && (factor === 1n || factor === -1n) && !elements.includes(atom)
          ? [{ factor, atom }]
          : [],
      )
      .toSorted((x, y) => rankOf(x.atom) - rankOf(y.atom));
    if (!best) return;
    const rest = difference(solved, product(number(best.factor), best.atom));
    const value = canonical(product(number(best.factor), difference(element, rest)));
    normalizer.indices.solve({ atom: best.atom, value });
  });
}

/** Compares each pair of cases that may meet. */
export function compareCases(
  kernel: readonly Case[],
  reference: readonly Case[],
  normalizer: Normalizer,
  needs: readonly Need[],
): Comparison {
  for (const x of kernel)
    for (const y of reference) {
      if (normalizer.entailment.isImpossible([...x.conditions, ...y.conditions])) continue;
      if (!sameValue(x, y, normalizer)) return { kernel: x, reference: y };
    }
  const open = needs.find((need) => !isMet(need, normalizer));
  return open && { missing: `nothing shows that ${describeNeed(open)}` };
}

function sameValue(x: Case, y: Case, normalizer: Normalizer): boolean {
  if (typeof x.value === "string" || typeof y.value === "string") return x.value === y.value && x.value === "infinite";
  return isZeroQuotient(subtractPolynomials(x.value, y.value), normalizer);
}

/** The limit on denominators that are multiplied out. */
const MAX_DENOMINATORS = 8;

/** True if a sum of quotients is 0 once all denominators are multiplied out. */
function isZeroQuotient(p: Polynomial, normalizer: Normalizer): boolean {
  let rest = p;
  for (let i = 0; i < MAX_DENOMINATORS && rest.size > 0; i++) {
    const denominators = factorsOf(rest).filter(
      ({ atom, exponent }) => atom.kind === "sum" && isInteger(exponent) && isNegative(exponent),
    );
    const worst = denominators.reduce(
      (lowest, each) => (lowest && !isLess(each.exponent, lowest.exponent) ? lowest : each),
      denominators[0],
    );
    if (!worst) return false;
    normalizer.spend(10);
    const lift = monomial(ONE, [{ atom: worst.atom, exponent: opposite(worst.exponent) }]);
    rest = expandSums(polynomialOf(...[...rest.values()].map((each) => multiplyMonomials(each, lift))));
  }
  return rest.size === 0;
}

/** True if the reference needs the same of an atom, for some values of the variables that it sums over. */
const isMet = ({ atom, kind, given }: Need, normalizer: Normalizer): boolean =>
  normalizer.needs.some((other) => {
    if (other.kind !== kind && other.kind !== "positive") return false;
    const [own, wanted] = [contentOf(atom), contentOf(other.atom)];
    const variables = [...other.atom.symbols].filter((name) => name.includes("~"));
    return assignments(variables, wanted, own).some(
      (by) =>
        samePolynomial(normalizer.substitute(wanted, by, given), own) &&
        other.given.every((each) => normalizer.entailment.proves(given, canonical(substitute(each, by)))),
    );
  });

const contentOf = (atom: Atom): Polynomial => (atom.kind === "sum" ? atom.of : atomPolynomial(atom));

function describeNeed({ atom, kind }: Need): string {
  const adjective = { nonzero: "not 0", nonnegative: "not negative", positive: "positive" }[kind];
  return `${describeAtom(atom)} is ${adjective}`;
}

function describeAtom(atom: Atom): string {
  if (atom.kind === "input") return `an element of ${atom.name}`;
  return atom.kind === "fold" ? `a ${atom.fold.kind}` : "an operand of a quotient, a root or a logarithm";
}
