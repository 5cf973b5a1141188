/** Float roundings before a kernel's final rounding. They determine the expected error of its outputs. */
import type { RoundingProfile, SignatureDType } from "../compiled/compiled-kernel.js";
import {
  isLiteral,
  type KernelIR,
  type OpStatement,
  type TensorParam,
  operandOf,
  paramsOf,
  type KernelLaunch,
  type OperatorIR,
} from "../ir/nodes.js";
import { walkAll, typeOfArgument } from "../ir/walk.js";
import { type Elem, members, type DTypeName, dtypeNames, dtypeTable, isFloatElem, sameElem } from "../types/dtype.js";
import type { Location } from "../diagnostics/diagnostic.js";
import {
  reachableNodes,
  torchOperands,
  isCallNode,
  isTorchNode,
  type Reference,
  type TorchArgument,
  type TorchNode,
} from "../torch/node.js";
import { type RoundingSite, roundingSites } from "./rounding-sites.js";
import { recordOf } from "../torch/functions.js";

/** Triton's default input precision of float32 dots. */
const DEFAULT_PRECISION = "tf32";

interface Dot {
  readonly elem: Elem;
  readonly precision: string;
}

export function roundingProfileOf(ir: KernelIR): RoundingProfile {
  return {
    ...countsOf([roundingSites(ir)], (elem) => [toSignature(elem)]),
    dots: dotsIn(ir).map(({ elem, precision }) => ({ dtype: toSignature(elem), precision })),
    ...declaredIn(ir),
  };
}

/**
 * The roundings of all kernels of an operator, and of the tensors that one kernel passes to another. A kernel's dtype
 * variable expands to all its members if the operator has no variable of that name.
 */
export function operatorRoundingProfile(operator: OperatorIR): RoundingProfile {
  const ownVariables = new Set(variablesOf(operator.signature));
  const expand = (elem: Elem): readonly SignatureDType[] =>
    typeof elem === "string" || ownVariables.has(elem.name) ? [toSignature(elem)] : elem.members;
  return {
    ...countsOf([...operator.kernels.map(roundingSites), handedTensors(operator)], expand),
    dots: operator.kernels
      .flatMap(dotsIn)
      .flatMap(({ elem, precision }) => expand(elem).map((dtype) => ({ dtype, precision }))),
    ...declaredIn(operator.signature),
  };
}

/** The sites of an operator whose dtypes its own arguments determine. */
export function operatorRoundingSites(operator: OperatorIR): readonly RoundingSite[] {
  const ownVariables = new Set(variablesOf(operator.signature));
  return [...operator.kernels.flatMap(roundingSites), ...handedTensors(operator)].filter(
    ({ elem }) => typeof elem === "string" || ownVariables.has(elem.name),
  );
}

const toSignature = (elem: Elem): SignatureDType => (typeof elem === "string" ? elem : { variable: elem.name });

function declaredIn(ir: KernelIR): Pick<RoundingProfile, "declared" | "declaredSums"> {
  const { values, sums } = declaredDTypes(ir);
  return { declared: values.map(toSignature), declaredSums: sums.map(toSignature) };
}

/** Counts the sites of each list by dtype, without those that round for the last time. */
function countsOf(
  lists: readonly (readonly RoundingSite[])[],
  expand: (elem: Elem) => readonly SignatureDType[],
): Pick<RoundingProfile, "rounds" | "sums"> {
  const count = (isCounted: (kind: RoundingSite["kind"]) => boolean): RoundingProfile["rounds"] =>
    lists.flatMap((sites) => {
      const counts = new Map<Elem, number>();
      for (const { elem, kind, isLast } of sites)
        if (!isLast && isCounted(kind)) counts.set(elem, (counts.get(elem) ?? 0) + 1);
      return [...counts].flatMap(([elem, number]) => expand(elem).map((dtype) => ({ dtype, count: number })));
    });
  return {
    rounds: count((kind) => kind === "value" || kind === "tensor"),
    sums: count((kind) => kind === "sum"),
  };
}

function variablesOf({ params }: KernelIR): readonly string[] {
  return params.flatMap((param) => ("dtype" in param && typeof param.dtype !== "string" ? [param.dtype.name] : []));
}

/** The outputs of kernels that another kernel, or PyTorch in between, uses, as sites that round to their dtypes. */
function handedTensors({ forward, backward }: OperatorIR): readonly RoundingSite[] {
  const found = new Map<TensorParam, Location | undefined>();
  const roots = [...forward.steps, ...(backward?.steps ?? [])].flatMap((step) =>
    step.kind === "launch" ? Object.values(step.args) : torchOperands(step),
  );
  for (const node of reachableNodes(roots)) {
    if (node.kind !== "launched") continue;
    const param = (node.launch as KernelLaunch).kernel.params.find(({ name }) => name === node.output);
    if (param?.kind === "tensor" && !found.has(param)) found.set(param, node.at ?? node.launch.at);
  }
  return [...found].map(([{ name, dtype }, at]) => ({ elem: dtype, kind: "tensor", subject: name, at }));
}

function dotsIn(ir: KernelIR): readonly Dot[] {
  const dots = new Map<string, Dot>();
  walkAll(ir, (statement) => {
    const dot = statement.kind === "op" ? dotOf(statement) : undefined;
    if (dot) dots.set(JSON.stringify(dot), dot);
  });
  return [...dots.values()];
}

export function dotOf(statement: OpStatement): Dot | undefined {
  const { op, options } = statement;
  if (!op.facts.contracts) return undefined;
  const option = options["inputPrecision"];
  const precision = option && isLiteral(option) ? String(option.value) : DEFAULT_PRECISION;
  const first = operandOf(statement, "a");
  const type = first && typeOfArgument(first);
  return type?.kind === "tile" ? { elem: type.dtype, precision } : undefined;
}

/** The dots that multiply float32 in TF32 since the author states no precision. */
export function defaultTf32Dots(ir: KernelIR): readonly OpStatement[] {
  const found: OpStatement[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || statement.op.name !== "dot" || statement.options["inputPrecision"]) return;
    const dot = dotOf(statement);
    if (dot && members(dot.elem).includes("float32")) found.push(statement);
  });
  return found;
}

// The float dtypes to which a kernel may round, because its author declares them.

/** The dtypes of single results, and those in which a kernel may add up. */
interface DeclaredDTypes {
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
function declaredDTypes(ir: KernelIR): DeclaredDTypes {
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
