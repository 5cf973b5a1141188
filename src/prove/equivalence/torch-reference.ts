/** A recorded reference as real expressions of an element's index. */
import { broadcastLane } from "../model/symbolic-environment.js";
import { difference, FALSE, iteTerm, product, quotient, remainder, sum, type Term, TRUE } from "../../symbolic/term.js";
import { bindArguments, recordOf } from "../../torch/functions.js";
import {
  isCallNode,
  isTorchNode,
  type Launched,
  type NumberComparison,
  type NumberOperator,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "../../torch/node.js";
import { choose, divide, power } from "./real.js";
import { rationalOf, noRule } from "./rational.js";
import {
  elementwiseRules,
  isListOf,
  isTerm,
  lanewise,
  type SymbolicTensor,
  tensorOf,
  termComparisons,
  termOf,
  type TorchSymbol,
  transposed,
  type TorchRule,
} from "./torch-elementwise.js";
import { foldRules } from "./torch-folds.js";
import { shapeRules } from "./torch-shapes.js";

// The real functions that torch's functions compute. A function without a rule ends the comparison.

const torchRules: Readonly<Record<string, TorchRule>> = { ...elementwiseRules, ...shapeRules, ...foldRules };

/** What a reference may use. */
export interface ReferenceScope {
  input(name: string): TorchSymbol;
  /** True if the caller gives an optional input, as a term. */
  given(name: string): Term;
  launched(node: Launched): SymbolicTensor;
}

const numberOperations: Readonly<Record<NumberOperator, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  floorDiv: (x, y) => Math.floor(x / y),
  mod: (x, y) => x - y * Math.floor(x / y),
  pow: (x, y) => x ** y,
};

const termOperations: Readonly<Partial<Record<NumberOperator, (x: Term, y: Term) => Term>>> = {
  add: sum,
  sub: difference,
  mul: product,
  floorDiv: (x, y) => quotient(x, y, true),
  mod: (x, y) => remainder(x, y, true),
};

export class TorchReference {
  readonly #values = new Map<TorchNode, TorchSymbol>();

  constructor(readonly scope: ReferenceScope) {}

  tensor(argument: TorchArgument): SymbolicTensor {
    return tensorOf(this.value(argument));
  }

  value(argument: TorchArgument): TorchSymbol {
    if (Array.isArray(argument)) return argument.map((each) => this.value(each));
    if (!isTorchNode(argument)) return argument as number | boolean | string | null;
    if (!this.#values.has(argument)) this.#values.set(argument, this.#compute(argument));
    return this.#values.get(argument);
  }

  #compute(node: TorchNode): TorchSymbol {
    if (isCallNode(node)) return this.#call(node);
    switch (node.kind) {
      case "input":
        return this.scope.input(node.name);
      case "dtype":
        return node.name;
      case "attribute":
        return this.#attribute(this.value(node.of), node.name);
      case "item": {
        const list = this.value(node.of);
        return isListOf(list) ? list[node.index] : noRule("an item of a result");
      }
      case "arithmetic":
        return this.#arithmetic(
          node.operator,
          node.args.map((each) => this.value(each)),
        );
      case "comparison":
        return this.#comparison(
          node.operator,
          node.args.map((each) => this.value(each)),
        );
      case "choice":
        return this.#choice(this.value(node.condition), node.then, node.otherwise);
      case "otherwise": {
        const { of } = node;
        if (of.kind !== "input") return noRule("an optional value");
        return this.#choice({ term: this.scope.given(of.name) }, of, node.fallback);
      }
      case "launched":
        return this.scope.launched(node);
      default:
        return node satisfies never;
    }
  }

  #attribute(value: TorchSymbol, name: string): TorchSymbol {
    const x = tensorOf(value);
    const rank = x.shape.length;
    if (name === "T") return transposed(x, 0, 1);
    if (name === "dtype") return x.terms || x.pick ? noRule("a cast to integers") : "float32";
    if (name === "mT") return transposed(x, rank - 2, rank - 1);
    return name === "shape" ? x.shape.map((term) => ({ term })) : noRule(`the attribute ${name} of a tensor`);
  }

  #arithmetic(operator: NumberOperator, [x, y]: readonly TorchSymbol[]): TorchSymbol {
    if (typeof x === "number" && typeof y === "number") return numberOperations[operator](x, y);
    const rule = torchRules[operator];
    const operation = termOperations[operator];
    const isTermLike = (each: TorchSymbol) => isTerm(each) || (typeof each === "number" && Number.isInteger(each));
    if (operation && isTermLike(x) && isTermLike(y)) return { term: operation(termOf(x), termOf(y)) };
    const [left, right] = [tensorOf(x), tensorOf(y)];
    if (operator === "pow")
      return typeof y === "number" ? lanewise([left], (base) => power(base, rationalOf(y))) : noRule("a power");
    if (operator === "div") return lanewise([left, right], divide);
    return rule ? rule({ input: left, other: right }) : noRule(`the operator ${operator}`);
  }

  #comparison(operator: NumberComparison, [x, y]: readonly TorchSymbol[]): TorchSymbol {
    if (typeof x === "string" || typeof y === "string") {
      if (typeof x !== "string" || typeof y !== "string") return noRule("a comparison with a text");
      return operator === "eq" ? x === y : x !== y;
    }
    return { term: termComparisons[operator](termOf(x), termOf(y)) };
  }

  #choice(condition: TorchSymbol, then: TorchArgument, otherwise: TorchArgument): TorchSymbol {
    if (typeof condition === "boolean") return this.value(condition ? then : otherwise);
    if (!isTerm(condition)) return noRule("a condition of the reference");
    const { term } = condition;
    if (term === TRUE) return this.value(then);
    if (term === FALSE) return this.value(otherwise);
    const [x, y] = [this.value(then), this.value(otherwise)];
    if (isTerm(x) && isTerm(y)) return { term: chosenTerm(term, x.term, y.term) };
    return lanewiseChoice(term, tensorOf(x), tensorOf(y));
  }

  #call(node: TorchCall): TorchSymbol {
    const record = recordOf(node);
    const name = node.name.replace("nn.functional.", "");
    const rule = Object.hasOwn(torchRules, name) ? torchRules[name] : undefined;
    if (!record || !rule) return noRule(`torch.${node.name} has no rule`);
    const args = Object.entries(bindArguments(node, record)).map(([param, argument]) => {
      const value = argument === undefined ? undefined : this.value(argument);
      return [param, value === null ? undefined : value] as const;
    });
    return rule(Object.fromEntries(args));
  }
}

const chosenTerm = (condition: Term, x: Term, y: Term): Term => iteTerm(condition, x, y);

function lanewiseChoice(condition: Term, x: SymbolicTensor, y: SymbolicTensor): SymbolicTensor {
  const chosen = lanewise([x, y], (then, otherwise) => choose(condition, then, otherwise));
  const { terms: first } = x;
  const { terms: second } = y;
  if (!first || !second) return chosen;
  return {
    ...chosen,
    terms: (index) =>
      chosenTerm(condition, first(broadcastLane(x.shape, index)), second(broadcastLane(y.shape, index))),
  };
}
