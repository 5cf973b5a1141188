/** The outputs of an operator: what its kernels compute, put into one another, against its reference. */
import type { Precondition } from "../../analysis/preconditions.js";
import { type KernelIR, type Param, paramsOf, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import type { Composition } from "../../ir/operator-ir.js";
import { atLeast, below, call, mapOperands, NEXT_POWER, number, symbol, type Term } from "../../symbolic/term.js";
import type { Launched, TorchArgument, TorchNode } from "../../torch/node.js";
import { atAxis } from "../../types/axis.js";
import { Budget } from "../algebra/budget.js";
import { assume } from "../algebra/interpret.js";
import { FactScopes } from "../model/fact-scopes.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { modelOf, type SymbolicModel } from "../model/model.js";
import { variantsOf } from "../model/variants.js";
import {
  compareCases,
  type Comparison,
  elementSymbols,
  normalizerOf,
  scopeOf,
  STEPS,
  storedCases,
  storedInstability,
  storesTo,
} from "./compare.js";
import { Entailment } from "./entailment.js";
import type { Need } from "./cases.js";
import { Normalizer } from "./normalizer.js";
import { noRule } from "./no-rule.js";
import { atomPolynomial } from "./polynomial.js";
import { changeReal, choose, power, type Real } from "./real.js";
import { HALF, MINUS_ONE, opposite } from "./rational.js";
import { casesReal, toReal } from "./to-real.js";
import { type ReferenceScope, TorchReference } from "./torch-reference.js";
import type { Instability } from "./stability.js";
import { isTerm, type SymbolicTensor, tensorOf, type TorchSymbol } from "./torch-tensor.js";

/** The preconditions that a launch of a kernel checks. */
export type CheckedPreconditions = (ir: KernelIR) => readonly Precondition[];

/** Compares an output of an operator with its reference. */
export function compareOperatorOutput(
  signature: KernelIR,
  forward: Composition,
  output: TensorParam,
  node: TorchNode,
  flags: readonly Term[],
  checkedOf: CheckedPreconditions,
): Comparison {
  const result = forward.results[output.name];
  if (!result) return { missing: `${output.name} is no result` };
  const model = modelOf(signature, [], {});
  const budget = new Budget(...STEPS);
  const facts = new FactScopes(model, budget, flags).launch().child();
  const launches = new Launches(scopeOf(signature, model), checkedOf);
  const written = launches.torch.tensor(result);
  const elements = elementSymbols(written.shape.length);
  written.shape.forEach((size, axis) => {
    const element = atAxis(elements, axis);
    for (const fact of [atLeast(element, number(0)), below(element, size)]) assume(facts, fact);
  });
  const normalizer = new Normalizer(new Entailment(facts, budget));
  if (normalizer.entailment.isImpossible([])) return { missing: "no launch has elements" };
  const kernel = normalizer.cases(written.at(elements), []);
  for (const witness of launches.witnesses.splice(0)) normalizer.cases(witness, []);
  const needs = normalizer.needs.splice(0);
  const reference = launches.torch.tensor(node);
  if (reference.shape.length !== elements.length) return { missing: "the reference has another rank" };
  const wanted = normalizer.cases(reference.at(elements), []);
  const compared = compareCases(kernel, wanted, normalizer, needs);
  const [unstable] = launches.unstable;
  return compared ?? (unstable && { unstable });
}

class Launches {
  readonly torch: TorchReference;
  /** Expressions that are real numbers only if a kernel's quotients, roots and logarithms are. */
  readonly witnesses: Real[] = [];
  /** What kernels compute that may overflow or cancel. */
  readonly unstable: Instability[] = [];
  #count = 0;

  constructor(
    scope: ReferenceScope,
    readonly checkedOf: CheckedPreconditions,
  ) {
    this.torch = new TorchReference({ ...scope, launched: (node) => this.#launched(node) });
  }

  /** What a kernel writes, with its inputs replaced by what it is given. */
  #launched({ launch, output }: Launched): SymbolicTensor {
    const ir = launch.kernel as KernelIR;
    const param = tensorsOf(ir, "out", "inout").find(({ name }) => name === output);
    if (!param) return noRule(`the output ${output} of ${ir.name}`);
    const [variant, ...more] = variantsOf(ir);
    if (!variant || more.length > 0) return noRule(`the configs of ${ir.name}`);
    const model = modelOf(ir, this.checkedOf(ir), variant.assignment);
    const [store, ...others] = storesTo(model, param);
    if (!store || others.length > 0) return noRule(`several stores to ${output}`);
    const budget = new Budget(...STEPS);
    const { normalizer, elements } = normalizerOf(store.stored, model, new FactScopes(model, budget), budget);
    store.use(normalizer);
    const cases = storedCases(store.stored, normalizer, elements);
    const argument = (name: string): TorchArgument | undefined => launch.args[name];
    const binding = new Binding(ir, model, `launch ${this.#count++}`, this.torch, argument);
    const { needs } = normalizer;
    const fresh = normalizerOf(store.stored, model, new FactScopes(model, budget), budget);
    this.unstable.push(
      ...[storedInstability(store.stored, store.iterations, fresh, undefined)].flatMap((x) => x ?? []),
    );
    return {
      shape: model.launch.tensorDims(param).map((dim) => binding.term(dim)),
      at: (index) => {
        const at = new Map(elements.map((element, axis) => [element.name, atAxis(index, axis)]));
        this.witnesses.push(...needs.map((need) => binding.real(witnessOf(need), at)));
        return binding.real(casesReal(cases), at);
      },
    };
  }
}

/** A power that is real only if a need is met. */
function witnessOf({ atom, kind, given }: Need): Real {
  const exponents = { nonzero: MINUS_ONE, nonnegative: HALF, positive: opposite(HALF) };
  const witness = power(toReal(atomPolynomial(atom)), exponents[kind]);
  return given.reduceRight<Real>((x, condition) => choose(condition, x, toReal(new Map())), witness);
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
  }

  #bind(param: Param): void {
    const given = this.argument(param.name);
    if (param.kind === "tensor" || param.kind === "pointer") {
      const isPresent = given !== undefined && given !== null;
      if (param.given) this.#symbols.set(`${param.given.parameter} given`, this.#presence(param.name, given));
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

  real(x: Real, elements: ReadonlyMap<string, Term>): Real {
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

function integerOf(value: TorchSymbol): Term | undefined {
  if (isTerm(value)) return value.term.kind === "equal" ? undefined : value.term;
  if (typeof value === "boolean") return number(Number(value));
  return typeof value === "number" && Number.isInteger(value) ? number(value) : undefined;
}
