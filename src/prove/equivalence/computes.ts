/**
 * The property `computes`: what a kernel writes to an output equals its reference, as real numbers, for every shape and
 * config. Casts are the identity, because rounding is judged by running the kernel, and inputs are finite. It rests on
 * other obligations: on coverage, which shows that every element is written, and on bounds, races and overflow.
 */
import { distinctConfigs } from "../launch-search.js";
import { type KernelIR, paramsOf, type TensorParam, tensorsOf, gradientOf } from "../../ir/nodes.js";
import { not, type Term, andTerm, symbol, equal, substitute } from "../../symbolic/term.js";
import type { TorchNode } from "../../torch/node.js";
import { atAxis } from "../../types/dims.js";
import { type ConstexprAssignment, variantsOf } from "../model/launch.js";
import { modelOf } from "../model/model.js";
import { compareOutput, type Comparison, rangesOf } from "./compare.js";
import { NoRule, isOne, textOf, noRule, MINUS_ONE, plus, rational } from "./rational.js";
import { type CheckedPreconditions, type ComparedOperator, Launches } from "./operators.js";
import { withAtoms, type Atom, type Factor, type Monomial, type Polynomial, type Case } from "./polynomial.js";
import type { Instability } from "./stability.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { isInt, members } from "../../types/dtype.js";
import {
  add,
  freshName,
  input as element,
  type Real,
  apply,
  choose,
  constant,
  divide,
  type FunctionName,
  inverseRoot,
  multiply,
  negate,
  one,
  partsOfReal,
  power,
  real,
  reciprocal,
  square,
  squareRoot,
  substituteReal,
  subtract,
  zero,
} from "./real.js";
import type { SymbolicTensor } from "./torch-elementwise.js";
import { equalityOf } from "./fold-variables.js";
import { canonical } from "./integer-form.js";
import { compared } from "./functions.js";

/** `unstable`: equal, but may overflow or cancel. `unknown`: what was left, as the author reads it. */
export type Computes =
  | { readonly kind: "equal" }
  | ({ readonly kind: "unstable" } & Instability)
  | { readonly kind: "unknown"; readonly missing: string };

/** The flags of which each choice is compared by itself. */
const MAX_FLAGS = 3;
/** The number of configs of which each is compared by itself. */
const MAX_CONFIGS = 8;
const MAX_TEXT = 160;

/** Compares an output of a kernel with its reference, in each variant and for each choice of its flags. */
export function kernelComputes(
  ir: KernelIR,
  output: TensorParam,
  node: TorchNode,
  checkedOf: CheckedPreconditions,
): Computes {
  const checked = checkedOf(ir);
  const compareIn = (assignments: readonly ConstexprAssignment[]): Computes =>
    firstOpen(
      assignments.flatMap((assignment) => {
        const model = modelOf(ir, checked, assignment);
        return flagChoices(ir, assignment, model.launch).map(
          (flags) => () => openOf(() => withAtoms(() => compareOutput(model, output, node, flags))),
        );
      }),
    );
  const together = compareIn(variantsOf(ir).map(({ assignment }) => assignment));
  const configs = distinctConfigs(ir).map(({ values }) => values);
  const isLarge = configs.length > MAX_CONFIGS || configs.every((values) => Object.keys(values).length === 0);
  if (together.kind !== "unknown" || isLarge) return together;
  const each = compareIn(configs);
  return each.kind === "unknown" ? together : each;
}

/** An output of an operator, or the gradient of an input. */
export interface ComputedTensor {
  readonly tensor: TensorParam;
  readonly isGradient: boolean;
  readonly computes: Computes;
}

/** Compares the outputs of an operator with its reference, and its gradients with the derivatives of the reference. */
export function operatorComputes(operator: ComparedOperator): readonly ComputedTensor[] {
  const { signature, backward, references } = operator;
  const outputs = tensorsOf(signature, "out", "inout").map((tensor, which) => ({
    tensor,
    isGradient: false,
    compare(launches: Launches): Comparison {
      const result = launches.forward.results[tensor.name];
      const reference = launches.expected?.results[tensor.name] ?? references[which];
      if (!result || !reference) return { missing: `${tensor.name} is no result` };
      return launches.compare(result, (torch) => torch.tensor(reference));
    },
  }));
  const gradients = tensorsOf(signature, "in").flatMap((tensor) => {
    if (!backward?.results[tensor.name]) return [];
    return [{ tensor, isGradient: true, compare: (launches: Launches) => compareGradient(launches, tensor) }];
  });
  const compared = [...outputs, ...gradients];
  const { launch } = modelOf(signature, [], {});
  const computed = flagChoices(signature, {}, launch).reduce<readonly Computes[]>(
    (earlier, flags) =>
      withAtoms(() => {
        const launches = new Launches(operator, flags);
        return compared.map(({ compare }, i) => worse(atAxis(earlier, i), () => openOf(() => compare(launches))));
      }),
    compared.map(() => EQUAL),
  );
  return compared.map(({ tensor, isGradient }, i) => ({ tensor, isGradient, computes: atAxis(computed, i) }));
}

const EQUAL: Computes = { kind: "equal" };

/** What is left of several comparisons, of which those after an unknown one are not made. */
const firstOpen = (comparisons: readonly (() => Computes)[]): Computes =>
  comparisons.length === 0 ? { kind: "unknown", missing: "no config" } : comparisons.reduce(worse, EQUAL);

function worse(earlier: Computes, compare: () => Computes): Computes {
  if (earlier.kind === "unknown") return earlier;
  const open = compare();
  return open.kind === "equal" ? earlier : open;
}

function openOf(compare: () => Comparison): Computes {
  try {
    const comparison = compare();
    if (comparison === undefined) return { kind: "equal" };
    if ("unstable" in comparison) return { kind: "unstable", ...comparison.unstable };
    if ("missing" in comparison) return { kind: "unknown", missing: comparison.missing };
    const [kernel, reference] = [comparison.kernel, comparison.reference].map((each) => shortened(caseText(each)));
    return { kind: "unknown", missing: `nothing shows that ${kernel} equals ${reference}` };
  } catch (error) {
    if (error instanceof NoRule) return { kind: "unknown", missing: error.message };
    throw error;
  }
}

const shortened = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

interface FlagTerms {
  term(argument: KernelIR["params"][number]["value"]): Term | undefined;
}

/** Each choice of the flags that callers give: constexprs, and the presence of optional inputs. */
function flagChoices(ir: KernelIR, assignment: ConstexprAssignment, launch: FlagTerms): readonly (readonly Term[])[] {
  const constexprs = paramsOf(ir, "constexpr").filter(
    ({ name, of, from }) => of === "bool" && from === "argument" && !(name in assignment),
  );
  const presences = paramsOf(ir, "tensor").flatMap(({ given, role }) => (given && role === "in" ? [given] : []));
  const flags = [...constexprs.map(({ value }) => value), ...presences].flatMap((value) => launch.term(value) ?? []);
  if (flags.length > MAX_FLAGS) return [[]];
  return flags.reduce<readonly (readonly Term[])[]>(
    (choices, flag) =>
      choices.flatMap((chosen) => [
        [...chosen, flag],
        [...chosen, not(flag)],
      ]),
    [[]],
  );
}

// Normal forms as text, in the author's names.

const NARY = { sum: " + ", product: "·", all: " and ", some: " or " } as const;
const BINARY = {
  atMost: "≤",
  equal: "=",
  quotient: "//",
  floorQuotient: "//",
  remainder: "%",
  floorRemainder: "%",
} as const;

function termText(term: Term): string {
  const operands = term.operands.map(termText);
  switch (term.kind) {
    case "number":
      return String(term.value);
    case "symbol":
      return term.name;
    case "true":
    case "false":
      return term.kind;
    case "sum":
    case "product":
    case "all":
    case "some":
      return `(${operands.join(NARY[term.kind])})`;
    case "atMost":
    case "equal":
    case "quotient":
    case "floorQuotient":
    case "remainder":
    case "floorRemainder":
      return `(${operands.join(` ${BINARY[term.kind]} `)})`;
    case "not":
      return `not ${operands.join("")}`;
    case "least":
      return `min(${operands.join(", ")})`;
    case "greatest":
      return `max(${operands.join(", ")})`;
    case "choice":
      return `choose(${operands.join(", ")})`;
    case "call":
      return term.name.startsWith(ELEMENT_PREFIX)
        ? `${term.name.slice(ELEMENT_PREFIX.length)}[${operands.join(", ")}]`
        : `${term.name}(${operands.join(", ")})`;
    default:
      return term satisfies never;
  }
}

const polynomialText = (p: Polynomial): string => [...p.values()].map(monomialText).join(" + ") || "0";

function monomialText({ coefficient, factors }: Monomial): string {
  const parts = [...factors.values()].map(factorText);
  if (!isOne(coefficient) || parts.length === 0) parts.unshift(textOf(coefficient));
  return parts.join("·");
}

function factorText({ atom, exponent }: Factor): string {
  if (atom.kind === "exp") return `exp(${isOne(exponent) ? "" : `${textOf(exponent)}·`}${polynomialText(atom.of)})`;
  return isOne(exponent) ? atomText(atom) : `${atomText(atom)}^${textOf(exponent)}`;
}

function atomText(atom: Atom): string {
  switch (atom.kind) {
    case "input":
    case "state":
      return atom.index.length === 0 ? atom.name : `${atom.name}[${atom.index.map(termText).join(", ")}]`;
    case "integer":
      return termText(atom.term);
    case "constant":
      return atom.name;
    case "base":
      return textOf(atom.value);
    case "exp":
      return `exp(${polynomialText(atom.of)})`;
    case "sum":
      return `(${polynomialText(atom.of)})`;
    case "function":
      return `${atom.name}(${atom.operands.map(polynomialText).join(", ")})`;
    case "fold": {
      const { kind, variables, domain, body } = atom.fold;
      return `${kind}[${variables.join(", ")}: ${domain.map(termText).join(" and ")}](${polynomialText(body)})`;
    }
    default:
      return atom satisfies never;
  }
}

function caseText({ conditions, value }: Case): string {
  const condition = conditions.length === 0 ? "" : ` where ${conditions.map(termText).join(" and ")}`;
  return `${typeof value === "string" ? value : polynomialText(value)}${condition}`;
}

// The gradients of an operator: what `backward` computes against the derivative of the reference.

/** Compares the gradient that `backward` gives an input with the derivative of the outputs of the reference. */
function compareGradient(launches: Launches, input: TensorParam): Comparison {
  const { model, operator, flags } = launches;
  const { signature, references } = operator;
  const given = input.given && model.launch.term(input.given);
  // Nobody asks for the gradient of an input that is absent.
  if (given && flags.includes(not(given))) return undefined;
  const result = launches.backward?.results[input.name] ?? noRule(`no gradient of ${input.name}`);
  return launches.compare(result, (torch) => {
    const differentiable = tensorsOf(signature, "out").flatMap(({ name, dtype }, i) => {
      const reference = references[i];
      if (!reference || members(dtype).every(isInt)) return [];
      return [{ gradient: gradientOf(name), output: torch.tensor(reference) }];
    });
    return {
      shape: launches.shapeOf(input),
      at(index) {
        const derivative = new Derivative(input.name, index);
        return add(...differentiable.map(({ gradient, output }) => chained(gradient, output, derivative)));
      },
    };
  });
}

/** The sum over all elements of an output of the gradient times the derivative. */
function chained(gradient: string, { shape, at }: SymbolicTensor, derivative: Derivative): Real {
  const lane = shape.map(() => symbol(freshName("k")));
  const variables = lane.map((variable, axis) => ({
    variable: variable.name,
    domain: andTerm(...rangesOf([variable], [atAxis(shape, axis)])),
  }));
  return derivative.of(at(lane), element(gradient, lane), variables);
}

// Derivatives of real expressions by an element of an input, in reverse mode: each path to the input gives a sum of its
// own. Where a function has no derivative, they are those of PyTorch.

type OpenFunction = "maximum" | "minimum";

const TWO_OVER_ROOT_OF_PI = divide(real(rational(2n)), squareRoot(constant("π")));

const isAbove = (x: Real, y: Real, then: Real, otherwise: Real): Real =>
  compared({ operator: "greater" }, x, y, then, otherwise);

/** Factors of the chain rule. The gradients of maxima differ between functions of PyTorch where operands are equal. */
const slopes: Readonly<Record<Exclude<FunctionName, OpenFunction>, (x: Real, value: Real) => Real>> = {
  exp: (_, value) => value,
  log: reciprocal,
  abs: (x) => isAbove(x, zero, one, isAbove(zero, x, real(MINUS_ONE), zero)),
  erf: (x) => multiply(TWO_OVER_ROOT_OF_PI, apply("exp", negate(square(x)))),
  sin: (x) => apply("cos", x),
  cos: (x) => negate(apply("sin", x)),
  asin: (x) => inverseRoot(subtract(one, square(x))),
  sigmoid: (_, value) => multiply(value, subtract(one, value)),
  tanh: (_, value) => subtract(one, square(value)),
  floor: () => zero,
  ceil: () => zero,
};

const isOpenFunction = (name: FunctionName): name is OpenFunction => name === "maximum" || name === "minimum";

/** A variable that is summed over, and its domain. */
interface Summed {
  readonly variable: string;
  readonly domain: Term;
}

/** The derivatives of expressions by one element of an input. */
export class Derivative {
  readonly #depends = new Map<Real, boolean>();

  constructor(
    readonly input: string,
    readonly element: readonly Term[],
  ) {}

  /** The derivative times a factor, summed over all values of the variables. */
  of(x: Real, factor: Real, variables: readonly Summed[]): Real {
    if (!this.#dependsOnInput(x)) return zero;
    switch (x.kind) {
      case "input":
        return this.#atElement(x.index, factor, variables);
      case "add":
        return add(...x.operands.map((each) => this.of(each, factor, variables)));
      case "multiply":
        return add(
          ...x.operands.map((each, i) => this.of(each, multiply(factor, ...x.operands.toSpliced(i, 1)), variables)),
        );
      case "power": {
        const slope = multiply(real(x.exponent), power(x.base, plus(x.exponent, MINUS_ONE)));
        return this.of(x.base, multiply(factor, slope), variables);
      }
      case "function": {
        const { name, operands } = x;
        const [operand = zero] = operands;
        if (isOpenFunction(name)) return noRule(`the derivative of a ${name}`);
        return this.of(operand, multiply(factor, slopes[name](operand, x)), variables);
      }
      case "fold": {
        if (x.fold !== "sum") return noRule("the derivative of a maximum");
        const variable = freshName("k");
        const by = new Map([[x.variable, symbol(variable)]]);
        return this.of(substituteReal(x.body, by), factor, [
          ...variables,
          { variable, domain: substitute(x.domain, by) },
        ]);
      }
      case "choice":
        return add(
          this.of(x.then, choose(x.condition, factor, zero), variables),
          this.of(x.otherwise, choose(not(x.condition), factor, zero), variables),
        );
      case "comparison":
        return add(
          this.of(x.then, { ...x, then: factor, otherwise: zero }, variables),
          this.of(x.otherwise, { ...x, then: zero, otherwise: factor }, variables),
        );
      case "undefined":
      case "state":
        return noRule("the derivative of an unknown value");
      case "number":
      case "constant":
      case "infinite":
      case "integer":
        return zero;
      default:
        return x satisfies never;
    }
  }

  #dependsOnInput(x: Real): boolean {
    let depends = this.#depends.get(x);
    if (depends === undefined) {
      const isOpen = x.kind === "undefined" || x.kind === "state";
      const isElement = x.kind === "input" && x.name === this.input;
      depends = isOpen || isElement || partsOfReal(x).some((part) => this.#dependsOnInput(part));
      this.#depends.set(x, depends);
    }
    return depends;
  }

  /** The sum of a factor over those values of the variables at which an index is that of the element. */
  #atElement(index: readonly Term[], factor: Real, variables: readonly Summed[]): Real {
    let [rest, conditions, at] = [
      variables,
      index.map((each, axis) => equal(each, atAxis(this.element, axis))),
      factor,
    ];
    const nextEquality = () => equalityOf({ variables: rest.map(({ variable }) => variable), domain: conditions });
    for (let next = nextEquality(); next; next = nextEquality()) {
      const { variable, condition, value } = next;
      const by = new Map([[variable, value]]);
      const replaced = (term: Term): Term => canonical(substitute(term, by));
      const fixed = rest.filter((each) => each.variable === variable).map(({ domain }) => domain);
      conditions = [...conditions.filter((each) => each !== condition), ...fixed].map(replaced);
      rest = rest
        .filter((each) => each.variable !== variable)
        .map((each) => ({ ...each, domain: replaced(each.domain) }));
      at = substituteReal(at, by);
    }
    return rest.reduceRight<Real>(
      (body, { variable, domain }) => ({ kind: "fold", fold: "sum", variable, domain, body }),
      choose(andTerm(...conditions), at, zero),
    );
  }
}
