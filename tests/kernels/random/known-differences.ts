/**
 * Known differences: Triton's interpreter computes something else than compiled kernels, or Triton 3.6 something else than
 * 3.9. Kernels that meet such a difference are skipped there, and counted. Each entry has a test, which fails once both
 * agree. `build.ts` avoids operations without a defined result.
 */
import { type DTypeName, dtypeTable, isFp8 } from "../../../src/types/dtype.js";
import { isLiteral, isValue, type KernelIR, type OpStatement, type Value } from "../../../src/ir/nodes.js";
import { usesOfTriton39 } from "../../../src/analysis/preconditions.js";
import { argumentsOf, valuesIn, walkAll } from "../../../src/ir/walk.js";

export type Place = "interpreter" | "3.6";
/** Why a kernel is left out, by where. */
export type Unlike = Readonly<Partial<Record<Place, string>>>;

/** The statement that computes each value. */
type MadeBy = ReadonlyMap<Value, OpStatement>;
interface Difference {
  readonly place: Place;
  readonly why: string;
  readonly is: (statement: OpStatement, madeBy: MadeBy) => boolean;
}

const operandsOf = (statement: OpStatement): readonly Value[] => argumentsOf(statement).flatMap(valuesIn);
const valuesOf = (statement: OpStatement): readonly Value[] => [...operandsOf(statement), ...statement.results];
const dtypeOf = ({ type }: Value): DTypeName | undefined =>
  type.kind === "tile" && typeof type.dtype === "string" ? type.dtype : undefined;

/** Whether a value may be computed from a load of less than 32 bits. Where state and arguments come from is not known. */
function isWidened(value: Value, madeBy: MadeBy, seen = new Set<Value>()): boolean {
  const statement = madeBy.get(value);
  if (statement === undefined) return true;
  if (seen.has(value)) return false;
  seen.add(value);
  if (statement.op.name === "load") return dtypeTable[dtypeOf(value) ?? "int1"].bits < 32;
  return operandsOf(statement).some((operand) => isWidened(operand, madeBy, seen));
}

export const differences: readonly Difference[] = [
  {
    place: "interpreter",
    why: "float8 is computed on bit patterns",
    is: (statement) => valuesOf(statement).some((value) => isFp8(dtypeOf(value) ?? "int1")),
  },
  {
    place: "interpreter",
    why: "dot_scaled takes its operands through float16 and loses digits of subnormal ones",
    is: (statement) =>
      statement.op.name === "dotScaled" &&
      argumentsOf(statement).some(
        (argument) => isLiteral(argument) && ["e5m2", "bf16", "fp16"].includes(String(argument.value)),
      ),
  },
  {
    place: "interpreter",
    why: "gather takes no truth values for indices",
    is: (statement) => statement.op.name === "gather" && dtypeOf(operandsOf(statement)[1]!) === "int1",
  },
  {
    place: "interpreter",
    why: "it has no map_elementwise",
    is: ({ op }) => op.name === "mapElementwise",
  },
  {
    place: "3.6",
    why: "its compiler stops at a product of float64 whose operands were widened",
    is: ({ op, operands, results }, madeBy) =>
      op.name === "dot" &&
      dtypeOf(results[0]!) === "float64" &&
      operands.slice(0, 2).some((operand) => operand !== undefined && isValue(operand) && isWidened(operand, madeBy)),
  },
];

export function unlike(ir: KernelIR): Unlike {
  const madeBy = new Map<Value, OpStatement>();
  walkAll(ir, (statement) => {
    if (statement.kind === "op") for (const result of statement.results) madeBy.set(result, statement);
  });
  const found: Partial<Record<Place, string>> = {};
  if (usesOfTriton39(ir).length > 0) found["3.6"] = "it asks for what Triton has since 3.9";
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") return;
    for (const { place, why, is } of differences)
      if (found[place] === undefined && is(statement, madeBy)) found[place] = why;
  });
  return found;
}
