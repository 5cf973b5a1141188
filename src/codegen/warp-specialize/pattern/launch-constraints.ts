/** Constraints of all warp-specialized forms on a kernel and its launch. */
import {
  type Argument,
  type ForStatement,
  isDType,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type TensorParam,
} from "../../../ir/nodes.js";
import { flattenStatements } from "./backward-slice.js";
import { notSpecializable } from "./not-specializable.js";
import { dtypeTable, type Elem, members } from "../../../types/dtype.js";

/** Bytes available to a program on an H100 or H200, minus space for barriers and alignment. */
export const SHARED_BYTES = 232_448 - 2048;
/** Bytes available to each of two programs on a multiprocessor, likewise. The GPU reserves 1 KiB for each. */
export const HALF_SHARED_BYTES = 233_472 / 2 - 1024 - 512;

/** Bytes of an element. For a dtype variable, those of the widest member. */
export const bytesOf = (dtype: Elem): number => Math.max(...members(dtype).map((name) => dtypeTable[name].bits / 8));

/**
 * @throws {@link NotSpecializable} if the launch has an option, a name or a step that the specialized kernel does not
 * support.
 */
export function checkLaunchSpecializable(ir: KernelIR, loops: readonly ForStatement[]): void {
  const [option] = Object.keys(ir.launch.options);
  if (option !== undefined) notSpecializable(`its launch has the option ${option}`, ir.at);
  const names = [ir.name, ...ir.params.map(({ name }) => name), ...ir.functions.map(({ name }) => name ?? "")];
  const conflict = names.find((name) => GLUON_NAMES.has(name));
  if (conflict !== undefined) notSpecializable(`it has the name ${conflict}, which the specialized kernel uses`, ir.at);
  for (const { step, location: at } of loops)
    if (!isPositive(step, ir))
      notSpecializable(
        "its loop over blocks may count down: the step is no positive number and no constexpr of the configs",
        at,
      );
  const computed = ir.params.find((param) => param.kind === "constexpr" && param.from === "heuristic");
  if (computed) notSpecializable(`a heuristic computes ${computed.name}`, ir.at);
}

/** Module names that a specialized kernel refers to. */
const GLUON_NAMES: ReadonlySet<string> = new Set(
  "gl gluon mbarrier tma fence_async_shared warpgroup_mma warpgroup_mma_wait".split(" "),
);

function isPositive(step: Argument, ir: KernelIR): boolean {
  if (isLiteral(step)) return Number(step.value) > 0;
  if (!isValue(step)) return false;
  const param = ir.params.find(({ value }) => value === step);
  return param !== undefined && ir.tuning.configs.every(({ values }) => Number(values[param.name]) > 0);
}

/** The lowered loop. Lowering keeps the index of a loop. */
export function loopOf(lowered: KernelIR, { index }: ForStatement): ForStatement {
  const loops = flattenStatements(lowered.body.statements).filter((each) => each.kind === "for");
  const loop = loops.find((each) => each.index === index);
  if (!loop) throw new Error("a loop has no lowered form");
  return loop;
}

/** A partition knows the members of dtype variables from the tensors whose blocks it accesses. */
export function checkDTypes(tensors: readonly TensorParam[], ops: readonly OpStatement[]): void {
  const dtypeNames = tensors.flatMap(({ dtype }) => (typeof dtype === "string" ? [] : [dtype.name]));
  for (const { operands, options, location: at } of ops)
    for (const argument of [...operands, ...Object.values(options)])
      if (isDType(argument) && typeof argument.dtype !== "string" && !dtypeNames.includes(argument.dtype.name))
        notSpecializable(`it casts to ${argument.dtype.name}, which none of its blocks has`, at);
}
