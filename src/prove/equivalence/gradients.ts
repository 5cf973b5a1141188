/** The gradients of an operator: what `backward` computes against the derivative of the reference. */
import { type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { gradientOf } from "../../ir/operator-ir.js";
import { andTerm, not, symbol, equal, substitute, type Term } from "../../symbolic/term.js";
import { atAxis } from "../../types/axis.js";
import { isInt, members } from "../../types/dtype.js";
import { type Comparison, rangesOf } from "./compare.js";
import { noRule, MINUS_ONE, plus, rational } from "./rational.js";
import type { Launches } from "./operators.js";
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
import type { SymbolicTensor } from "./torch-tensor.js";
import { equalityOf } from "./fold-variables.js";
import { canonical } from "./integer-form.js";
import { compared } from "./functions.js";

/** Compares the gradient that `backward` gives an input with the derivative of the outputs of the reference. */
export function compareGradient(launches: Launches, input: TensorParam): Comparison {
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
