/** What is known of an expression before it is computed: whose memory it has, whether it holds truth values. */
import { type Elem, members } from "../types/dtype.js";
import { torchAttributes } from "./attributes.js";
import { bound, recordOf } from "./functions.js";
import {
  isCallNode,
  isTorchNode,
  type ReferenceInputs,
  type TorchArgument,
  type TorchCall,
  type TorchNode,
} from "./node.js";

/** The dtype of a tensor, as far as it is known before anything runs. */
export type DTypeOf = (node: TorchNode) => Elem | undefined;

/** The tensors whose memory it has, or may have: itself where it is new. */
export function aliasedTensors(node: TorchNode, dtypeOf: DTypeOf): readonly TorchNode[] {
  const from = sources(node, dtypeOf).filter(isTorchNode);
  return from.length === 0 ? [node] : from.flatMap((each) => aliasedTensors(each, dtypeOf));
}

/** What it may be itself, or a view of. */
function sources(node: TorchNode, dtypeOf: DTypeOf): readonly (TorchArgument | undefined)[] {
  if (node.kind === "otherwise") return [node.of, node.fallback];
  if (node.kind === "choice") return [node.then, node.otherwise];
  const of = viewed(node);
  if (of !== undefined) return [of];
  if (node.kind === "item" && isCallNode(node.of)) return sources(node.of, dtypeOf);
  const record = isCallNode(node) ? recordOf(node) : undefined;
  if (!record || !isCallNode(node)) return [];
  const given = bound(node, record);
  const only = record.viewsOnly === undefined ? [] : given[record.viewsOnly];
  if (Array.isArray(only) && only.length === 1) return only;
  // PyTorch's casts give the tensor itself where it has the dtype.
  const from = given[record.params[0]!];
  if (!isTorchNode(from)) return [];
  const [before, after] = [elemOf(from, dtypeOf), castTo(node, dtypeOf)].map((elem) => (elem ? members(elem) : []));
  return before!.some((dtype) => after!.includes(dtype)) ? [from] : [];
}

/** The dtype that a call casts to; undefined if it is no cast. */
function castTo(call: TorchCall, dtypeOf: DTypeOf): Elem | undefined {
  const record = recordOf(call);
  if (record?.casts !== undefined) return record.casts;
  const to = record?.castsTo === undefined ? undefined : bound(call, record)[record.castsTo];
  if (!isTorchNode(to)) return undefined;
  if (to.kind === "dtype") return to.name;
  return to.kind === "attribute" && to.name === "dtype" ? elemOf(to.of, dtypeOf) : undefined;
}

function elemOf(node: TorchNode, dtypeOf: DTypeOf): Elem | undefined {
  const known = dtypeOf(node) ?? (isCallNode(node) ? castTo(node, dtypeOf) : undefined);
  if (known !== undefined) return known;
  const [of] = sources(node, dtypeOf);
  return isTorchNode(of) ? elemOf(of, dtypeOf) : undefined;
}

function viewed(node: TorchNode): TorchArgument | undefined {
  if (node.kind === "attribute") return torchAttributes[node.name]?.views ? node.of : undefined;
  if (node.kind === "item") return isCallNode(node.of) ? viewed(node.of) : undefined;
  const record = isCallNode(node) ? recordOf(node) : undefined;
  return record?.views && isCallNode(node) ? bound(node, record)[record.params[0]!] : undefined;
}

/**
 * Whether the elements are truth values. References are computed in float64, where those are 0 and 1; but torch masks
 * with truth values and adds other masks.
 */
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
      return torchAttributes[argument.name]?.truth === true && isTruth(argument.of, inputs);
    case "item":
      // Pieces are like the whole; of other results the first is, and the second holds places.
      return (argument.index === 0 || viewed(argument) !== undefined) && isTruth(argument.of, inputs);
    case "otherwise":
      return all([argument.of, argument.fallback]);
    case "call":
    case "method":
      return givesTruth(argument, inputs);
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

function givesTruth(call: TorchCall, inputs: ReferenceInputs): boolean {
  const record = recordOf(call);
  if (!record) return false;
  const given = bound(call, record);
  const { dtype } = given;
  if (isTorchNode(dtype)) return dtype.kind === "dtype" && dtype.name === "int1";
  if (record.truth === undefined) return false;
  if (record.truth === "always") return true;
  const deciding = record.truth.map((param) => given[param]).filter((argument) => argument !== undefined);
  return deciding.every((argument) => isTruth(argument, inputs));
}
