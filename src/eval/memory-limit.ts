/** Refuses cases that memory would not hold: they would end the process instead of failing. */
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import type { Bindings } from "./bindings.js";

/** Programs, and elements of all tensors together. */
const MOST_PROGRAMS = 2 ** 24;
const MOST_ELEMENTS = 2 ** 30;

/** @throws RangeError for a case with more programs or elements than the evaluator has room for. */
export function checkMemoryLimit(ir: KernelIR, bindings: Bindings, absent?: readonly string[]): void {
  const grid = bindings.host(ir.grid).map(Number);
  const programs = product(grid);
  if (programs > MOST_PROGRAMS)
    throw new RangeError(
      `${ir.name}: the grid [${grid.join(", ")}] has ${programs} programs, and the evaluator runs at most ${MOST_PROGRAMS}; give smaller sizes`,
    );
  checkElements(ir, bindings, absent);
}

/** @throws RangeError for tensors that have more elements together. */
export function checkElements(ir: KernelIR, bindings: Bindings, absent: readonly string[] = []): void {
  const given = tensorsOf(ir, "in", "inout", "out").filter(({ name }) => !absent.includes(name));
  const elements = given.reduce((sum, { dims }) => sum + product(dims.map((dim) => Number(bindings.constant(dim)))), 0);
  if (elements > MOST_ELEMENTS)
    throw new RangeError(
      `${ir.name}: its tensors have ${elements} elements, and the evaluator has room for ${MOST_ELEMENTS}; give smaller sizes`,
    );
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);
