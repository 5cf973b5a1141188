/** Host expressions that fail in a test case, where Python raises an error: division by zero, and negative sizes. */
import { hostValue } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";
import { type Argument, type HostBlock, isValue, type KernelIR, type OpStatement } from "../ir/nodes.js";
import { argumentsOf, hostBlocksOf, resultsOf } from "../ir/walk.js";
import type { Bindings } from "./bindings.js";

/**
 * Checks the values that the launch computes.
 *
 * @throws TileScriptError at the author's line.
 */
export function checkHostValues(ir: KernelIR, bindings: Bindings): void {
  const division = divisionByZero(ir, bindings);
  if (division)
    fail(hostValue.zeroDivision(ir.name, valuesOf(ir, bindings)), division.statement.location ?? division.block.at);
  for (const param of ir.params)
    if (param.kind === "size" && param.derived) {
      const size = Number(bindings.constant(param.value));
      if (size < 0) fail(hostValue.negative(param.name, size, valuesOf(ir, bindings)), param.derived.at);
    }
}

export function divisionByZero(
  ir: KernelIR,
  bindings: Bindings,
): { readonly statement: OpStatement; readonly block: HostBlock } | undefined {
  for (const block of hostBlocksOf(ir)) {
    bindings.host(block);
    for (const statement of block.block.statements)
      if (statement.kind === "op" && becomesInfinite(statement, bindings)) return { statement, block };
  }
  return undefined;
}

/** True if a value of a host block depends on a division by zero. */
export function dependsOnDivisionByZero(value: Argument, block: HostBlock, bindings: Bindings): boolean {
  if (!isValue(value)) return false;
  const definition = block.block.statements.find((statement) => resultsOf(statement).includes(value));
  // The caller may pass an infinite scalar.
  if (isInfinite(value, bindings) && (definition || !((value.parameter ?? "") in bindings.scalars))) return true;
  return (
    definition !== undefined &&
    argumentsOf(definition).some((operand) => dependsOnDivisionByZero(operand, block, bindings))
  );
}

/** True if finite operands have an infinite result. */
const becomesInfinite = ({ operands, results }: OpStatement, bindings: Bindings): boolean =>
  isInfinite(results[0], bindings) && !operands.some((operand) => isInfinite(operand, bindings));

function isInfinite(value: Argument | undefined, bindings: Bindings): boolean {
  return isValue(value) && isInfiniteNumber(bindings.constant(value));
}

const isInfiniteNumber = (value: unknown): boolean => typeof value === "number" && !Number.isFinite(value);

/** `N=100, BLOCK=64`, without values that cannot be computed. */
function valuesOf({ params }: KernelIR, { sizes, scalars, constexprs }: Bindings): string {
  const values = { ...sizes, ...scalars, ...constexprs };
  const isKnown = (name: string): boolean => name in values && (name in scalars || !isInfiniteNumber(values[name]));
  return params.flatMap(({ name }) => (isKnown(name) ? [`${name}=${String(values[name])}`] : [])).join(", ");
}
