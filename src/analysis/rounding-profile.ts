/** Float roundings before a kernel's final rounding. They determine the expected error of its outputs. */
import type { RoundingProfile, SignatureDType } from "../compiled/compiled-kernel.js";
import { isLiteral, type KernelIR, type OpStatement, type TensorParam, operandOf } from "../ir/nodes.js";
import { typeOfArgument } from "../ir/typed.js";
import { walkAll } from "../ir/walk.js";
import { type Elem, members } from "../types/dtype.js";
import type { KernelLaunch, OperatorIR } from "../ir/operator-ir.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { reachableNodes, torchOperands } from "../torch/node.js";
import { declaredDTypes } from "./declared-dtypes.js";
import { type RoundingSite, roundingSites } from "./rounding-sites.js";

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
