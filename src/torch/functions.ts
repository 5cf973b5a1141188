/** The table of torch functions that references may call, by their torch names. */
import { arithmetic, activations, comparison } from "./elementwise.js";
import { convolutions } from "./convolution.js";
import { creation, casts } from "./create.js";
import { indexing } from "./indexing.js";
import { normalizations, losses } from "./neural-network.js";
import { UnsupportedByEvaluator, transpose, type TorchValue } from "./array.js";
import {
  type TorchArgument,
  type TorchCall,
  isCallNode,
  isTorchNode,
  type ReferenceInputs,
  type TorchNode,
} from "./node.js";
import { products } from "./product.js";
import { type CallForm, type TorchFunction, array, isArray } from "./record.js";
import { reductions, ordering } from "./reduce.js";
import { shapes } from "./shape.js";
import { type Elem, members, type DTypeName } from "../types/dtype.js";
import { isFloat } from "../numerics/numeric-int.js";

/** A function without its types. */
export type ListedFunction = TorchFunction & { readonly places: readonly CallForm[] };

export const torchFunctions: Readonly<Record<string, ListedFunction>> = {
  ...arithmetic,
  ...comparison,
  ...reductions,
  ...casts,
  ...products,
  ...shapes,
  ...indexing,
  ...ordering,
  ...creation,
  ...activations,
  ...normalizations,
  ...losses,
  ...convolutions,
};

const FUNCTIONAL = "nn.functional.";
const FORM_OF_KIND = { method: "method", call: "torch" } as const;

/** The function of a call, if it is available in this call form. */
export function recordOf({ kind, name }: TorchCall): ListedFunction | undefined {
  const isFunctional = kind === "call" && name.startsWith(FUNCTIONAL);
  const callForm = isFunctional ? "functional" : FORM_OF_KIND[kind];
  const key = isFunctional ? name.slice(FUNCTIONAL.length) : name;
  const record = Object.hasOwn(torchFunctions, key) ? torchFunctions[key] : undefined;
  return record?.places.includes(callForm) ? record : undefined;
}

/** The arguments of a call by parameter. */
export type BoundArguments = Readonly<Record<string, TorchArgument | undefined>>;

/** @throws UnsupportedByEvaluator if the call has an argument without a known parameter. */
export function bindArguments(
  { name, args, keywords }: TorchCall,
  { params, variadic }: TorchFunction,
): BoundArguments {
  const extra = args.slice(params.length);
  if (variadic === undefined && extra.length > 0)
    throw new UnsupportedByEvaluator(
      `the reference gives ${name} ${args.length} arguments, which cannot be evaluated here`,
    );
  for (const keyword of Object.keys(keywords))
    if (!params.includes(keyword))
      throw new UnsupportedByEvaluator(`the reference gives ${name} ${keyword}, which cannot be evaluated here`);
  const positional = params.map((param, i) => [param, args[i]] as const);
  return { ...Object.fromEntries(positional), ...(variadic !== undefined && { [variadic]: extra }), ...keywords };
}

// Static facts about torch expressions: the memory that they alias, and whether their elements are booleans.

interface TorchAttribute {
  run(value: TorchValue): TorchValue;
  /** True if the attribute shares the tensor's memory. */
  readonly isView?: true;
  /** True if the attribute of a boolean tensor is boolean. */
  readonly truth?: true;
}

export const torchAttributes: Readonly<Record<string, TorchAttribute>> = {
  T: { run: (value) => transpose(array(value), 0, 1), isView: true, truth: true },
  mT: { run: (value) => transpose(array(value), -2, -1), isView: true, truth: true },
  shape: { run: (value) => array(value).shape },
  values: { run: (value) => itemOf(value, 0), truth: true },
  indices: { run: (value) => itemOf(value, 1) },
};

/** One of several results. */
export function itemOf(value: TorchValue, index: number): TorchValue {
  if (typeof value !== "object" || value === null || isArray(value) || index >= value.length)
    throw new UnsupportedByEvaluator(`the reference takes item ${index} of a value that does not have it`);
  return value[index];
}

export type TorchKind = "floats" | "integers" | "truth values";

export function kindOfDType(dtype: DTypeName): TorchKind {
  if (dtype === "int1") return "truth values";
  return isFloat(dtype) ? "floats" : "integers";
}

/** Undefined if PyTorch's type promotion decides. */
export function kindOf(argument: TorchArgument | undefined, inputs: ReferenceInputs): TorchKind | undefined {
  if (!isTorchNode(argument)) return undefined;
  if (isTruth(argument, inputs)) return "truth values";
  switch (argument.kind) {
    case "input": {
      const input = inputs[argument.name];
      return typeof input === "object" && input ? kindOfDType(input.dtype as DTypeName) : undefined;
    }
    case "attribute":
      return torchAttributes[argument.name]?.isView ? kindOf(argument.of, inputs) : undefined;
    case "call":
    case "method":
      return kindOfCall(argument, inputs);
    case "arithmetic":
    case "choice":
    case "comparison":
    case "dtype":
    case "item":
    case "launched":
    case "otherwise":
      return undefined;
    default:
      return argument satisfies never;
  }
}

function kindOfCall(call: TorchCall, inputs: ReferenceInputs): TorchKind | undefined {
  const record = recordOf(call);
  if (!record) return undefined;
  if (record.castDType) return kindOfDType(record.castDType);
  const args = bindArguments(call, record);
  const { dtype } = args;
  if (isTorchNode(dtype)) return dtype.kind === "dtype" ? kindOfDType(dtype.name) : undefined;
  return record.isView ? kindOf(args[record.params[0]], inputs) : undefined;
}

/** The dtype of a tensor, if it is statically known. */
type DTypeOf = (node: TorchNode) => Elem | undefined;

/** The tensors whose memory an expression may share. Only the expression itself, if it allocates memory. */
export function aliasedTensors(node: TorchNode, dtypeOf: DTypeOf): readonly TorchNode[] {
  const aliases = sources(node, dtypeOf).filter(isTorchNode);
  return aliases.length === 0 ? [node] : aliases.flatMap((each) => aliasedTensors(each, dtypeOf));
}

/** The expressions that a node may be equal to, or a view of. */
function sources(node: TorchNode, dtypeOf: DTypeOf): readonly (TorchArgument | undefined)[] {
  if (node.kind === "otherwise") return [node.of, node.fallback];
  if (node.kind === "choice") return [node.then, node.otherwise];
  const viewSource = viewedTensor(node);
  if (viewSource !== undefined) return [viewSource];
  if (node.kind === "item" && isCallNode(node.of)) return sources(node.of, dtypeOf);
  const record = isCallNode(node) ? recordOf(node) : undefined;
  if (!record || !isCallNode(node)) return [];
  const args = bindArguments(node, record);
  const viewSources = record.viewedList === undefined ? [] : args[record.viewedList];
  if (Array.isArray(viewSources) && viewSources.length === 1) return viewSources;
  // PyTorch's casts return the tensor itself if it already has the dtype.
  const input = args[record.params[0]];
  if (!isTorchNode(input)) return [];
  const [inputType, resultType] = [elemOf(input, dtypeOf), castTo(node, dtypeOf)];
  if (inputType === undefined || resultType === undefined) return [];
  return members(inputType).some((dtype) => members(resultType).includes(dtype)) ? [input] : [];
}

/** The target dtype of a cast. Undefined for other calls. */
function castTo(call: TorchCall, dtypeOf: DTypeOf): Elem | undefined {
  const record = recordOf(call);
  if (record?.castDType !== undefined) return record.castDType;
  const target = record?.dtypeParam === undefined ? undefined : bindArguments(call, record)[record.dtypeParam];
  if (!isTorchNode(target)) return undefined;
  if (target.kind === "dtype") return target.name;
  return target.kind === "attribute" && target.name === "dtype" ? elemOf(target.of, dtypeOf) : undefined;
}

function elemOf(node: TorchNode, dtypeOf: DTypeOf): Elem | undefined {
  const elem = dtypeOf(node) ?? (isCallNode(node) ? castTo(node, dtypeOf) : undefined);
  if (elem !== undefined) return elem;
  const [source] = sources(node, dtypeOf);
  return isTorchNode(source) ? elemOf(source, dtypeOf) : undefined;
}

function viewedTensor(node: TorchNode): TorchArgument | undefined {
  if (node.kind === "attribute") return torchAttributes[node.name]?.isView ? node.of : undefined;
  if (node.kind === "item") return isCallNode(node.of) ? viewedTensor(node.of) : undefined;
  const record = isCallNode(node) ? recordOf(node) : undefined;
  return record?.isView && isCallNode(node) ? bindArguments(node, record)[record.params[0]] : undefined;
}

/**
 * True if the elements are booleans. References are evaluated in float64, where booleans are 0 and 1. The distinction
 * matters because torch applies boolean masks but adds float masks.
 */
export function isTruth(argument: TorchArgument | undefined, inputs: ReferenceInputs): boolean {
  const areAllTruth = (operands: readonly TorchArgument[]): boolean =>
    operands.every((operand) => isTruth(operand, inputs));
  if (Array.isArray(argument)) return areAllTruth(argument);
  if (!isTorchNode(argument)) return typeof argument === "boolean";
  switch (argument.kind) {
    case "input": {
      const input = inputs[argument.name];
      return typeof input === "object" ? input?.dtype === "int1" : typeof input === "boolean";
    }
    case "attribute":
      return torchAttributes[argument.name]?.truth === true && isTruth(argument.of, inputs);
    case "item":
      // All pieces of a split tensor share its kind. Of other multiple results, only the first does; the second
      // contains indices.
      return (argument.index === 0 || viewedTensor(argument) !== undefined) && isTruth(argument.of, inputs);
    case "otherwise":
      return areAllTruth([argument.of, argument.fallback]);
    case "call":
    case "method":
      return isTruthCall(argument, inputs);
    case "launched": {
      const { launch, output } = argument;
      return launch.kernel.params.some((param) => param.name === output && "dtype" in param && param.dtype === "int1");
    }
    case "choice":
      return areAllTruth([argument.then, argument.otherwise]);
    case "comparison":
      return true;
    case "arithmetic":
    case "dtype":
      return false;
    default:
      return argument satisfies never;
  }
}

function isTruthCall(call: TorchCall, inputs: ReferenceInputs): boolean {
  const record = recordOf(call);
  if (!record) return false;
  const args = bindArguments(call, record);
  const { dtype } = args;
  if (isTorchNode(dtype)) return dtype.kind === "dtype" && dtype.name === "int1";
  if (record.truth === undefined) return false;
  if (record.truth === "always") return true;
  const decidingArgs = record.truth.map((param) => args[param]).filter((argument) => argument !== undefined);
  return decidingArgs.every((argument) => isTruth(argument, inputs));
}
