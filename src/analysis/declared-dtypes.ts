/** The float dtypes to which a kernel may round, because its author declares them. */
import { type KernelIR, paramsOf } from "../ir/nodes.js";
import { recordOf } from "../torch/functions.js";
import {
  isCallNode,
  isTorchNode,
  reachableNodes,
  type Reference,
  type TorchArgument,
  type TorchNode,
  torchOperands,
} from "../torch/node.js";
import { type DTypeName, dtypeNames, dtypeTable, type Elem, isFloatElem, sameElem } from "../types/dtype.js";

/** The dtypes of single results, and those in which a kernel may add up. */
export interface DeclaredDTypes {
  readonly values: readonly Elem[];
  readonly sums: readonly Elem[];
}

/** PyTorch functions that add up elements. Products of matrices add up in float32 in any dtype. */
const SUMMING: ReadonlySet<string> = new Set(
  ["sum", "mean", "prod", "cumsum", "cumprod", "std", "var", "norm", "logsumexp", "softmax", "log_softmax"].flatMap(
    (name) => [name, `nn.functional.${name}`],
  ),
);

/**
 * The dtypes of inputs and outputs, and those that the reference casts to. A caller who passes a dtype states it. Sums
 * need more: a reference that casts what it adds up, or a dtype of the caller's choice.
 */
export function declaredDTypes(ir: KernelIR): DeclaredDTypes {
  const memory = [...paramsOf(ir, "tensor"), ...paramsOf(ir, "pointer"), ...paramsOf(ir, "scalar")];
  const stated = paramsOf(ir, "constexpr").flatMap(({ variable }) => variable ?? []);
  const casts = castsOf(ir.reference);
  const inMemory = memory.map(({ dtype }) => dtype);
  const passed = stated.filter(({ name }) => !inMemory.some((elem) => typeof elem !== "string" && elem.name === name));
  const unique = (elems: readonly Elem[]): readonly Elem[] =>
    elems.filter((elem, i) => isFloatElem(elem) && elems.findIndex((other) => sameElem(elem, other)) === i);
  return {
    values: unique([...inMemory, ...stated, ...casts.values]),
    sums: unique([...passed, ...casts.sums]),
  };
}

function castsOf(reference: Reference | undefined): DeclaredDTypes {
  if (!reference) return { values: [], sums: [] };
  if (reference.kind === "python") return { values: dtypesInPython(reference.source), sums: [] };
  const nodes = [...reachableNodes(reference.outputs)];
  const summed = nodes.flatMap((node) => (isCallNode(node) && SUMMING.has(node.name) ? torchOperands(node) : []));
  return { values: nodes.flatMap(dtypeOf), sums: summed.filter(isTorchNode).flatMap(dtypeOf) };
}

/** The dtype that an expression is, or to which it casts. */
function dtypeOf(node: TorchNode): readonly DTypeName[] {
  const dtype = node.kind === "dtype" ? node.name : castOf(node);
  return dtype ? [dtype] : [];
}

/** The dtype to which a call casts. */
function castOf(node: TorchNode): DTypeName | undefined {
  if (!isCallNode(node)) return undefined;
  const record = recordOf(node);
  if (record?.castDType) return record.castDType;
  const dtype = record?.dtypeParam === undefined ? undefined : torchOperands(node).find(isDTypeNode);
  return dtype?.name;
}

const isDTypeNode = (argument: TorchArgument): argument is Extract<TorchNode, { readonly kind: "dtype" }> =>
  isTorchNode(argument) && argument.kind === "dtype";

/** The dtypes that Python source names, as in `torch.float16` and `.half()`. */
function dtypesInPython(source: string): readonly DTypeName[] {
  const words = new Set(source.match(/\w+/g));
  const shortNames: Partial<Record<DTypeName, string>> = { float16: "half", float32: "float", float64: "double" };
  return dtypeNames.filter((name) => [dtypeTable[name].torch, shortNames[name] ?? ""].some((word) => words.has(word)));
}
