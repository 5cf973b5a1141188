/** The outputs of an operator: what its kernels compute, put into one another, against its reference. */
import type { Precondition } from "../../analysis/preconditions.js";
import {
  type KernelIR,
  type Param,
  paramsOf,
  type TensorParam,
  tensorsOf,
  type Composition,
  gradientOf,
} from "../../ir/nodes.js";
import {
  andTerm,
  atLeast,
  call,
  conditionsOf,
  mapOperands,
  NEXT_POWER,
  not,
  number,
  symbol,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";
import type { Launched, TorchArgument, TorchNode } from "../../torch/node.js";
import { atAxis } from "../../types/dims.js";
import { Budget } from "../algebra/budget.js";
import type { FactSet } from "../algebra/facts.js";
import { assume } from "../algebra/interpret.js";
import { FactScopes } from "../model/fact-scopes.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { GIVEN, variantsOf } from "../model/launch.js";
import { modelOf, type SymbolicModel } from "../model/model.js";
import { writtenWhere, variablesOf } from "../model/written-elements.js";
import {
  compareCases,
  type Comparison,
  configFacts,
  elementsIn,
  elementSymbols,
  mention,
  normalizerOf,
  rangesOf,
  scopeOf,
  sizeFacts,
  storedCases,
  storedInstability,
  storesTo,
} from "./compare.js";
import type { StoredValue } from "./kernel-values.js";
import { withoutUpdates } from "./updates.js";
import { Normalizer } from "./normalizer.js";
import { isBoundedExponent } from "./exponents.js";
import { canonical, Entailment, STEPS } from "./integer-form.js";
import { atomPolynomial, type Polynomial, type Case, type Need } from "./polynomial.js";
import { changeReal, choose, input, power, type Real, zero } from "./real.js";
import { HALF, MINUS_ONE, opposite, NoRule, noRule } from "./rational.js";
import { casesReal, toReal } from "./loops.js";
import { TorchReference } from "./torch-reference.js";
import type { Instability } from "./stability.js";
import { isTerm, type SymbolicTensor, tensorOf, type TorchSymbol } from "./torch-elementwise.js";

/** As many steps as for the coverage of an output. */
const UPDATE_STEPS = [20_000, 4_000] as const;

/** The preconditions that a launch of a kernel checks. */
export type CheckedPreconditions = (ir: KernelIR) => readonly Precondition[];

/** An operator with a recorded reference. */
export interface ComparedOperator {
  /** The operator's signature, as a kernel. */
  readonly signature: KernelIR;
  readonly forward: Composition;
  readonly backward?: Composition | undefined;
  /** What the outputs shall be, in the order of the signature. */
  readonly references: readonly (TorchNode | undefined)[];
  /** Another operator, whose results stand in place of references. */
  readonly expected?: Composition;
  readonly checkedOf: CheckedPreconditions;
}

/** The kernels that an operator launches, with one choice of its flags. */
export class Launches {
  readonly model: SymbolicModel;
  readonly torch: TorchReference;
  readonly #budget = new Budget(...STEPS);
  /** The facts of a launch of the operator. */
  readonly #facts: FactSet;
  /** Expressions that are real numbers only if a kernel's quotients, roots and logarithms are. */
  readonly #witnesses: Real[] = [];
  /** What kernels compute that may overflow or cancel. */
  readonly #unstable: Instability[] = [];
  readonly #withoutRule = new Map<Launched, NoRule>();
  /** {@link #updatedWhere} */
  readonly #updated = new Map<string, Term | undefined>();
  #count = 0;
  #forward: Composition | undefined;
  #backward: Composition | undefined;
  #expected: Composition | undefined;

  constructor(
    readonly operator: ComparedOperator,
    readonly flags: readonly Term[],
  ) {
    const { signature } = operator;
    this.model = modelOf(signature, [], {});
    this.#facts = new FactScopes(this.model, this.#budget, flags).launch().child();
    const scope = scopeOf(signature, this.model);
    const outputs = tensorsOf(signature, "out");
    this.torch = new TorchReference({
      ...scope,
      input: (name) => {
        const output = outputs.find((each) => gradientOf(each.name) === name);
        if (output) return { shape: this.shapeOf(output), at: (index: readonly Term[]) => input(name, index) };
        const isGiven = tensorsOf(signature, "in", "inout").some((each) => each.name === name);
        const saved = isGiven ? undefined : this.forward.results[name];
        return saved ? this.torch.value(saved) : scope.input(name);
      },
      launched: (node) => this.#launched(node),
    });
  }

  get forward(): Composition {
    return (this.#forward ??= withoutUpdates(this.operator.forward));
  }

  get backward(): Composition | undefined {
    const { backward } = this.operator;
    return (this.#backward ??= backward && withoutUpdates(backward));
  }

  get expected(): Composition | undefined {
    const { expected } = this.operator;
    return (this.#expected ??= expected && withoutUpdates(expected));
  }

  shapeOf(tensor: TensorParam): readonly Term[] {
    return this.model.launch.tensorDims(tensor);
  }

  /** Compares a result of the compositions with a tensor of the reference. */
  compare(result: TorchNode, referenceOf: (torch: TorchReference) => SymbolicTensor): Comparison {
    for (const found of [this.#witnesses, this.#unstable]) found.length = 0;
    const facts = this.#facts.child();
    const written = this.torch.tensor(result);
    const elements = elementSymbols(written.shape.length);
    for (const fact of rangesOf(elements, written.shape)) assume(facts, fact);
    const normalizer = new Normalizer(new Entailment(facts, this.#budget));
    if (normalizer.entailment.isImpossible([])) return { missing: "no launch has elements" };
    const reference = referenceOf(this.torch);
    if (reference.shape.length !== elements.length) return { missing: "the reference has another rank" };
    const referenceReal = reference.at(elements);
    for (const term of elementsIn(referenceReal)) mention(facts, term);
    const kernel = normalizer.cases(written.at(elements), []);
    for (const witness of this.#witnesses) normalizer.cases(witness, []);
    const needs = normalizer.needs.splice(0);
    const wanted = normalizer.cases(referenceReal, []);
    const compared = compareCases(kernel, wanted, normalizer, needs);
    const [unstable] = this.#unstable;
    return compared ?? (unstable && { unstable });
  }

  /** What a kernel writes, with its inputs replaced by what it is given. Without a rule, it is tried once. */
  #launched(node: Launched): SymbolicTensor {
    const known = this.#withoutRule.get(node);
    if (known) throw known;
    try {
      return this.#written(node);
    } catch (error) {
      if (error instanceof NoRule) this.#withoutRule.set(node, error);
      throw error;
    }
  }

  #written({ launch, output }: Launched): SymbolicTensor {
    const ir = launch.kernel as KernelIR;
    const param = tensorsOf(ir, "out", "inout").find(({ name }) => name === output);
    if (!param) return noRule(`the output ${output} of ${ir.name}`);
    const [variant, ...more] = variantsOf(ir);
    if (!variant || more.length > 0) return noRule(`the configs of ${ir.name}`);
    const model = modelOf(ir, this.operator.checkedOf(ir), variant.assignment);
    const argument = (name: string): TorchArgument | undefined => launch.args[name];
    const binding = new Binding(ir, model, `launch ${this.#count++}`, this.torch, argument);
    const budget = new Budget(...STEPS);
    const flags = [...this.#flags(ir, model, binding), ...sizeFacts(model), ...configFacts(model)];
    const dims = model.launch.tensorDims(param);
    const elements = elementSymbols(dims.length);
    const ranges = rangesOf(elements, dims);
    const scopes = new FactScopes(model, budget, flags);
    const isUpdated = param.role === "inout";
    const written = storesTo(model, param).map((store) => {
      const { normalizer } = normalizerOf(store.stored, model, scopes, budget);
      store.use(normalizer);
      const cases = storedCases(store.stored, normalizer, elements);
      const needs = [...normalizer.needs];
      const { access } = store.stored;
      const facts = [...ranges, ...conditionsOf(access.mask), ...scopes.rangesOf(variablesOf(access))];
      const active = facts.flatMap((each) => conditionsOf(normalizer.indices.rewrite(each)));
      const unstable = storedInstability(store.stored, store.iterations, normalizer, {
        isBounded: (exponent, given) => this.#isBounded(exponent, [...active, ...given], binding),
      });
      const necessary = conditionOfElement(store.stored, normalizer);
      const condition = isUpdated ? this.#updatedWhere(store.stored, model, necessary) : andTerm(necessary, ...ranges);
      return { cases, needs, condition, unstable };
    });
    requireDisjoint(
      written.map(({ condition }) => condition),
      new Entailment(scopes.launch(), budget),
    );
    const value = writtenReal(written, isUpdated ? input(param.name, elements) : undefined);
    return {
      shape: dims.map((dim) => binding.term(dim)),
      at: (index) => {
        const at = new Map(elements.map((element, axis) => [element.name, atAxis(index, axis)]));
        for (const { needs, condition, unstable } of written) {
          this.#witnesses.push(...needs.map((need) => binding.real(choose(condition, witnessOf(need), zero), at)));
          if (unstable) this.#unstable.push(unstable);
        }
        return binding.real(value, at);
      },
    };
  }

  /** The condition on the index of exactly those elements of an updated tensor that a store writes. */
  #updatedWhere({ access }: StoredValue, model: SymbolicModel, necessary: Term): Term {
    const { axes, mask, path, tensor } = access;
    // Each launch of a kernel has its own model, with the same terms.
    const key = `${model.ir.name} ${[necessary, mask, ...path, ...axes.map(({ index }) => index)].map(({ id }) => id).join()}`;
    if (!this.#updated.has(key)) {
      const scopes = new FactScopes(model, new Budget(...UPDATE_STEPS));
      const elements = elementSymbols(axes.length).map(({ name }) => name);
      this.#updated.set(key, writtenWhere(scopes, access, elements, necessary));
    }
    return this.#updated.get(key) ?? noRule(`nothing shows which elements of ${tensor?.name} a store writes`);
  }

  /** True if an exponent is bounded where the inputs are what kernels before compute. */
  #isBounded(exponent: Polynomial, given: readonly Term[], binding: Binding): boolean {
    const normalizer = new Normalizer(new Entailment(this.#facts, this.#budget));
    const bound = given.map((each) => canonical(binding.term(each)));
    const found = [this.#witnesses, this.#unstable].map((list) => ({ list, count: list.length }));
    try {
      return normalizer.cases(binding.real(toReal(exponent)), bound).every(({ conditions, value }) => {
        const scope = { normalizer, given: [...bound, ...conditions], nonpositive: [], bound: new Set<string>() };
        return typeof value === "string" || isBoundedExponent(value, scope);
      });
    } catch (error) {
      if (error instanceof NoRule) return false;
      throw error;
    } finally {
      // A question is no part of what is compared.
      for (const { list, count } of found) list.length = count;
    }
  }

  /** The flags of a kernel that the operator's own decide. */
  #flags(ir: KernelIR, { launch }: SymbolicModel, binding: Binding): readonly Term[] {
    return ir.params.flatMap((param) => {
      const flag = param.kind === "constexpr" && param.of === "bool" ? launch.term(param.value) : undefined;
      if (!flag) return [];
      const own = binding.term(flag);
      const entailment = new Entailment(this.#facts, this.#budget);
      if (entailment.proves([], own)) return [flag];
      return entailment.proves([], not(own)) ? [not(flag)] : [];
    });
  }
}

interface Written {
  readonly cases: readonly Case[];
  /** A condition that is true for each element that the store writes. */
  readonly condition: Term;
}

/**
 * An element that meets the condition of one store alone is written by that store. Coverage shows that one writes it;
 * an updated tensor has its old elements in the other places.
 */
function writtenReal(written: readonly Written[], old: Real | undefined): Real {
  const [last] = written.slice(-1);
  const rest = old ?? (last ? casesReal(last.cases) : noRule("an output without a store"));
  return (old ? written : written.slice(0, -1)).reduceRight<Real>(
    (others, { cases, condition }) => choose(condition, casesReal(cases), others),
    rest,
  );
}

function requireDisjoint(conditions: readonly Term[], entailment: Entailment): void {
  conditions.forEach((x, i) => {
    for (const y of conditions.slice(i + 1))
      if (!entailment.isImpossible([...conditionsOf(x), ...conditionsOf(y)]))
        noRule("several stores that may write one element");
  });
}

/** The conditions on the index of an element that a store writes. */
function conditionOfElement({ access }: StoredValue, normalizer: Normalizer): Term {
  const { mask, lanes, scope } = access;
  const known = [...conditionsOf(mask), ...lanes.map((name) => atLeast(symbol(name), number(0)))];
  const rewritten = known.flatMap((each) => conditionsOf(normalizer.indices.rewrite(each)));
  const inside = new Set([...lanes, ...scope]);
  return andTerm(...rewritten.filter((each) => [...symbolsIn(each)].every((name) => !inside.has(name))));
}

/** A power that is real only if a need is met. */
function witnessOf({ atom, kind, given }: Need): Real {
  const exponents = { nonzero: MINUS_ONE, nonnegative: HALF, positive: opposite(HALF) };
  const witness = power(toReal(atomPolynomial(atom)), exponents[kind]);
  return given.reduceRight<Real>((x, condition) => choose(condition, x, zero), witness);
}

/** The terms of a kernel in the names of the operator that launches it. */
class Binding {
  readonly #symbols = new Map<string, Term>();

  constructor(
    readonly ir: KernelIR,
    readonly model: SymbolicModel,
    readonly name: string,
    readonly torch: TorchReference,
    readonly argument: (name: string) => TorchArgument | undefined,
  ) {
    for (const param of ir.params) this.#bind(param);
    for (const { name: size, derived } of paramsOf(ir, "size")) {
      const [term] = derived ? model.launch.host(derived) : [];
      if (term && !this.#symbols.has(size)) this.#symbols.set(size, this.term(term));
    }
  }

  #bind(param: Param): void {
    const given = this.argument(param.name);
    if (param.kind === "tensor" || param.kind === "pointer") {
      const isPresent = given !== undefined && given !== null;
      if (param.given) this.#symbols.set(`${param.given.parameter}${GIVEN}`, this.#presence(param.name, given));
      if (param.kind !== "tensor" || param.role === "out" || !isPresent) return;
      const { shape } = this.torch.tensor(given);
      this.model.launch.tensorDims(param).forEach((dim, axis) => {
        if (dim.kind === "symbol" && !this.#symbols.has(dim.name)) this.#symbols.set(dim.name, atAxis(shape, axis));
      });
      return;
    }
    if (given === undefined || given === null) return;
    const term = integerOf(this.torch.value(given));
    if (term) this.#symbols.set(param.name, term);
  }

  #presence(name: string, given: TorchArgument | undefined): Term {
    if (given === undefined || given === null) return number(0);
    const isOptional = typeof given === "object" && "kind" in given && given.kind === "input";
    if (!isOptional) return number(1);
    try {
      const flag = this.torch.scope.given(given.name);
      return flag.kind === "equal" ? flag.operands[0] : noRule(`the optional input ${name}`);
    } catch {
      return number(1);
    }
  }

  /**
   * A term in the operator's names. Symbols and uninterpreted functions that the operator does not know get names of
   * their own; elements of inputs are those that the kernel is given.
   */
  term(term: Term, elements: ReadonlyMap<string, Term> = new Map(), cache = new Map<Term, Term>()): Term {
    let result = cache.get(term);
    if (result === undefined) {
      const changed = mapOperands(term, (operand) => this.term(operand, elements, cache));
      result = changed.kind === "symbol" ? this.#symbol(changed, elements) : this.#call(changed);
      cache.set(term, result);
    }
    return result;
  }

  #symbol(term: Term, elements: ReadonlyMap<string, Term>): Term {
    const { name } = term;
    const isBound = name.includes("~");
    return elements.get(name) ?? this.#symbols.get(name) ?? (isBound ? term : symbol(`${this.name} ${name}`));
  }

  #call(term: Term): Term {
    if (term.kind !== "call" || term.name === NEXT_POWER) return term;
    if (!term.name.startsWith(ELEMENT_PREFIX)) return call(`${this.name} ${term.name}`, ...term.operands);
    const { terms } = this.#tensor(term.name.slice(ELEMENT_PREFIX.length));
    return terms ? terms(term.operands) : noRule("integers that a kernel computes");
  }

  real(x: Real, elements: ReadonlyMap<string, Term> = new Map()): Real {
    return changeReal(x, {
      term: (term) => this.term(term, elements),
      input: (name, index) => this.#tensor(name).at(index),
    });
  }

  #tensor(name: string): SymbolicTensor {
    const given = this.argument(name);
    if (given !== undefined && given !== null) return this.torch.tensor(given);
    const param = paramsOf(this.ir, "scalar").find((each) => each.name === name);
    return param?.default === undefined ? noRule(`the argument ${name} of ${this.ir.name}`) : tensorOf(param.default);
  }
}

/** The symbol of a flag, which is 1 or 0. */
function flagSymbol({ operands: [flag, value] }: Term): Term | undefined {
  return flag?.kind === "symbol" && value === number(1) ? flag : undefined;
}

function integerOf(value: TorchSymbol): Term | undefined {
  if (isTerm(value)) return value.term.kind === "equal" ? flagSymbol(value.term) : value.term;
  if (typeof value === "boolean") return number(Number(value));
  return typeof value === "number" && Number.isInteger(value) ? number(value) : undefined;
}
