/** Which torch expressions are tensors of truth values. All is float64 here, but torch masks with those and adds others. */
import { isTorchNode, type TorchArgument } from "./torch-node.js";
import type { ReferenceInputs } from "./evaluate-torch.js";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const TRUTHS = words(
  "lt le gt ge eq ne logical_and logical_or logical_xor logical_not isnan isinf isfinite all any bool",
);
/** Their results are of the first operand's dtype. */
const MOVES = words(
  "amax amin broadcast_to chunk contiguous diagonal diff expand flatten flip gather index_select masked_fill narrow " +
    "permute repeat repeat_interleave reshape roll scatter select split squeeze t take_along_dim transpose tril triu " +
    "unsqueeze view",
);
/** Of truth values alone, their results are truth values. */
const MIXES = words("add bitwise_and bitwise_or bitwise_xor cat clamp full maximum minimum mul stack where");

export function isTruth(argument: TorchArgument | undefined, inputs: ReferenceInputs): boolean {
  const all = (others: readonly TorchArgument[]): boolean => others.every((other) => isTruth(other, inputs));
  if (Array.isArray(argument)) return all(argument);
  if (!isTorchNode(argument)) return typeof argument === "boolean";
  switch (argument.kind) {
    case "input": {
      const given = inputs[argument.name];
      return typeof given === "object" ? given?.dtype === "int1" : typeof given === "boolean";
    }
    case "attribute":
    case "item":
      return isTruth(argument.of, inputs);
    case "otherwise":
      return all([argument.of, argument.fallback]);
    case "call":
    case "method": {
      const { name, args, keywords } = argument;
      const dtype = keywords["dtype"] ?? (name === "to" ? args[1] : undefined);
      if (isTorchNode(dtype)) return dtype.kind === "dtype" && dtype.name === "int1";
      // A condition and a shape come first, a dim comes last.
      const operands =
        name === "where" || name === "full"
          ? args.slice(1)
          : name === "cat" || name === "stack"
            ? args.slice(0, 1)
            : args;
      return TRUTHS.has(name) || (MOVES.has(name) ? isTruth(args[0], inputs) : MIXES.has(name) && all(operands));
    }
    case "launched": {
      const { launch, output } = argument;
      return launch.kernel.params.some((param) => param.name === output && "dtype" in param && param.dtype === "int1");
    }
    case "choice":
      return all([argument.then, argument.otherwise]);
    case "comparison":
      return true;
    case "arithmetic":
    case "dtype":
      return false;
    default:
      return argument satisfies never;
  }
}
