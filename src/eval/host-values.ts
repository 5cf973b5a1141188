/** What the host cannot compute in a case, where Python raises an error: a division by zero, a tensor of a negative size. */
import { hostValue } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";
import { type Argument, type HostBlock, isValue, type KernelIR, type OpStatement } from "../ir/nodes.js";
import { argumentsOf, hostBlocksOf, resultsOf } from "../ir/walk.js";
import type { Bindings } from "./bindings.js";

/**
 * Checks what the launch computes.
 *
 * @throws TileScriptError at the author's line.
 */
export function checkHostValues(ir: KernelIR, bindings: Bindings): void {
  const found = divisionByZero(ir, bindings);
  if (found) fail(hostValue.zeroDivision(ir.name, valuesOf(ir, bindings)), found.statement.at ?? found.block.at);
  for (const param of ir.params)
    if (param.kind === "size" && param.derived && bindings.sizes[param.name]! < 0)
      fail(hostValue.negative(param.name, bindings.sizes[param.name]!, valuesOf(ir, bindings)), param.derived.at);
}

/** The first division by zero of the launch. */
export function divisionByZero(
  ir: KernelIR,
  bindings: Bindings,
): { readonly statement: OpStatement; readonly block: HostBlock } | undefined {
  for (const block of hostBlocksOf(ir)) {
    bindings.host(block);
    for (const statement of block.block.statements)
      if (statement.kind === "op" && loses(statement, bindings)) return { statement, block };
  }
  return undefined;
}

/** Whether a value of a host block follows from a division by zero. */
export function dependsOnDivisionByZero(value: Argument, block: HostBlock, bindings: Bindings): boolean {
  if (!isValue(value)) return false;
  const made = block.block.statements.find((statement) => resultsOf(statement).includes(value));
  // The caller may give an infinite scalar.
  if (isInfinite(value, bindings) && (made || !((value.parameter ?? "") in bindings.scalars))) return true;
  return made !== undefined && argumentsOf(made).some((operand) => dependsOnDivisionByZero(operand, block, bindings));
}

/** Whether finite operands gave a number that is not. */
const loses = ({ operands, results }: OpStatement, bindings: Bindings): boolean =>
  isInfinite(results[0], bindings) && !operands.some((operand) => isInfinite(operand, bindings));

function isInfinite(value: Argument | undefined, bindings: Bindings): boolean {
  return isValue(value) && isInfiniteNumber(bindings.constant(value));
}

const isInfiniteNumber = (value: unknown): boolean => typeof value === "number" && !Number.isFinite(value);

/** `N=100, BLOCK=64`, without what cannot be computed. */
function valuesOf({ params }: KernelIR, { sizes, scalars, constexprs }: Bindings): string {
  const known = { ...sizes, ...scalars, ...constexprs };
  const isKnown = (name: string): boolean => name in known && (name in scalars || !isInfiniteNumber(known[name]));
  return params.flatMap(({ name }) => (isKnown(name) ? [`${name}=${String(known[name])}`] : [])).join(", ");
}
