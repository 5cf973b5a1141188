/** What an author's own mask says of the index of a view: in each lane that it leaves, some lanes are below a limit. */
import type { LaneLimit } from "../analysis/in-bounds.js";
import { type Argument, isLiteral, isValue, type Statement, type Value } from "../ir/nodes.js";
import { isScalar, placementOf } from "./view-terms.js";

type Definitions = ReadonlyMap<Value, Statement>;

/** The masks that a mask consists of, each once. */
export function conjunctsOf(mask: Argument, definitions: Definitions): readonly Argument[] {
  const found = new Set<Argument>([mask]);
  for (const each of found) {
    const made = isValue(each) ? definitions.get(each) : undefined;
    if (made?.kind !== "op" || made.op.facts.integer !== "both") continue;
    for (const operand of made.operands) if (operand) found.add(operand);
  }
  return [...found];
}

/** The limits that masks set to lanes of one axis: `lanes < GROUP`, or `(lanes < GROUP)[:, None]`. */
export function limitsFromMask(
  masks: readonly Argument[],
  where: string,
  definitions: Definitions,
): readonly LaneLimit[] {
  return masks.flatMap((mask) => {
    const outer = placementOf(mask, definitions);
    const made = outer && isValue(outer.index) ? definitions.get(outer.index) : undefined;
    const compared = made?.kind === "op" ? COMPARED[made.op.facts.integer ?? ""]?.(made.operands) : undefined;
    const [smaller, limit] = compared ?? [];
    if (smaller === undefined || limit === undefined) return [];
    const inner = placementOf(smaller, definitions);
    if (!inner || !isScalar(limit) || ![inner.index, limit].every(isCount)) return [];
    const isThere = outer!.where === "" ? inner.where === where : inner.where === "" && outer!.where === where;
    return isThere ? [{ lanes: inner.index, limit }] : [];
  });
}

type Operands = readonly (Argument | undefined)[];

/** The smaller side first. */
const COMPARED: Readonly<Record<string, ((operands: Operands) => Operands) | undefined>> = {
  below: (operands) => operands,
  above: ([x, y]) => [y, x],
};

/** Whether it is compared as the integer that an index is. */
function isCount(argument: Argument): boolean {
  if (isLiteral(argument)) return Number.isInteger(Number(argument.value));
  if (!isValue(argument)) return false;
  const { type } = argument;
  return type.kind === "constexpr" || (type.kind === "tile" && (type.dtype === "int32" || type.dtype === "int64"));
}
