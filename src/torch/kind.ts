/** What kind of elements an expression gives, as far as it is known before PyTorch computes it. */
import { isFloat } from "../numerics/numeric.js";
import type { DTypeName } from "../types/dtype.js";
import { torchAttributes } from "./attributes.js";
import { isTruth } from "./facts.js";
import { bound, recordOf } from "./functions.js";
import { isTorchNode, type ReferenceInputs, type TorchArgument, type TorchCall } from "./node.js";

export type TorchKind = "floats" | "integers" | "truth values";

export function kindOfDType(dtype: DTypeName): TorchKind {
  if (dtype === "int1") return "truth values";
  return isFloat(dtype) ? "floats" : "integers";
}

/** Undefined where PyTorch's promotion decides. */
export function kindOf(argument: TorchArgument | undefined, inputs: ReferenceInputs): TorchKind | undefined {
  if (!isTorchNode(argument)) return undefined;
  if (isTruth(argument, inputs)) return "truth values";
  switch (argument.kind) {
    case "input": {
      const given = inputs[argument.name];
      return typeof given === "object" && given ? kindOfDType(given.dtype as DTypeName) : undefined;
    }
    case "attribute":
      return torchAttributes[argument.name]?.views ? kindOf(argument.of, inputs) : undefined;
    case "call":
    case "method":
      return kindOfCall(argument, inputs);
    default:
      return undefined;
  }
}

function kindOfCall(call: TorchCall, inputs: ReferenceInputs): TorchKind | undefined {
  const record = recordOf(call);
  if (!record) return undefined;
  if (record.casts) return kindOfDType(record.casts);
  const given = bound(call, record);
  const { dtype } = given;
  if (isTorchNode(dtype)) return dtype.kind === "dtype" ? kindOfDType(dtype.name) : undefined;
  return record.views ? kindOf(given[record.params[0]!], inputs) : undefined;
}
