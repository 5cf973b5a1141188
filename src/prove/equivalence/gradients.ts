/** The gradients of an operator: what `backward` computes against the derivative of the reference. */
import { type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { gradientOf } from "../../ir/operator-ir.js";
import { andTerm, not, symbol } from "../../symbolic/term.js";
import { atAxis } from "../../types/axis.js";
import { isInt, members } from "../../types/dtype.js";
import { type Comparison, rangesOf } from "./compare.js";
import { Derivative } from "./derivative.js";
import { noRule } from "./no-rule.js";
import type { Launches } from "./operators.js";
import { add, freshName, input as element, type Real } from "./real.js";
import type { SymbolicTensor } from "./torch-tensor.js";

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
