/** Upper bounds on lanes that follow from an explicit mask, valid in every lane that stays active. */
import type { LaneLimit } from "../analysis/in-bounds.js";
import { type Argument, isLiteral, isValue, type Statement, type Value } from "../ir/nodes.js";
import { axisKey, isScalar, placementOf } from "./view-terms.js";

type Definitions = ReadonlyMap<Value, Statement>;

/** The distinct conjuncts of a mask. */
export function conjunctsOf(mask: Argument, definitions: Definitions): readonly Argument[] {
  const conjuncts = new Set<Argument>([mask]);
  for (const conjunct of conjuncts) {
    const definition = isValue(conjunct) ? definitions.get(conjunct) : undefined;
    if (definition?.kind !== "op" || definition.op.facts.integer !== "both") continue;
    for (const operand of definition.operands) if (operand) conjuncts.add(operand);
  }
  return [...conjuncts];
}

/** The limits that masks set on the lanes of one axis: `lanes < GROUP`, or `(lanes < GROUP)[:, None]`. */
export function limitsFromMask(
  masks: readonly Argument[],
  axis: string,
  definitions: Definitions,
): readonly LaneLimit[] {
  return masks.flatMap((mask) => {
    const outer = placementOf(mask, definitions);
    if (!outer) return [];
    const definition = isValue(outer.index) ? definitions.get(outer.index) : undefined;
    const comparison =
      definition?.kind === "op"
        ? ORDERED_OPERANDS[definition.op.facts.integer ?? ""]?.(definition.operands)
        : undefined;
    const [smaller, limit] = comparison ?? [];
    if (smaller === undefined || limit === undefined) return [];
    const inner = placementOf(smaller, definitions);
    if (!inner || !isScalar(limit) || ![inner.index, limit].every(isIntegerIndex)) return [];
    const [outerAxis, innerAxis] = [axisKey(outer), axisKey(inner)];
    const isOnAxis = outerAxis === "" ? innerAxis === axis : innerAxis === "" && outerAxis === axis;
    return isOnAxis ? [{ lanes: inner.index, limit }] : [];
  });
}

type Operands = readonly (Argument | undefined)[];

/** Operands of a comparison, the smaller one first. */
const ORDERED_OPERANDS: Readonly<Record<string, ((operands: Operands) => Operands) | undefined>> = {
  below: (operands) => operands,
  above: ([x, y]) => [y, x],
};

/** True if the argument is an integer, as an index is. */
function isIntegerIndex(argument: Argument): boolean {
  if (isLiteral(argument)) return Number.isInteger(Number(argument.value));
  if (!isValue(argument)) return false;
  const { type } = argument;
  return type.kind === "constexpr" || (type.kind === "tile" && (type.dtype === "int32" || type.dtype === "int64"));
}
