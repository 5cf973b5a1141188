/** The limits of an evaluation. */
import { EvaluationTimeout } from "../compiled/errors.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import type { Bindings } from "./bindings.js";

/** Number of calls between two readings of the clock. */
const CHECK_INTERVAL = 64;
const MAX_ITERATIONS = 10_000_000;

/** Checked at each program and each iteration of a loop. */
export class RunLimit {
  #steps = 0;

  constructor(
    readonly deadline = Infinity,
    /** A `tl.whileLoop` with more iterations counts as endless. */
    readonly iterations = MAX_ITERATIONS,
  ) {}

  /** @throws EvaluationTimeout */
  check(location: Location | undefined): void {
    if (++this.#steps % CHECK_INTERVAL === 0 && performance.now() > this.deadline)
      throw new EvaluationTimeout(location);
  }
}

// Rejects test cases that exceed the evaluator's memory, which would end the process.

/** Limits on the programs and on the elements of all tensors. */
const MAX_PROGRAMS = 2 ** 24;
const MAX_ELEMENTS = 2 ** 30;

/** @throws RangeError for a test case with too many programs or elements. */
export function checkMemoryLimit(ir: KernelIR, bindings: Bindings, absent?: readonly string[]): void {
  const grid = bindings.host(ir.grid).map(Number);
  const programs = product(grid);
  if (programs > MAX_PROGRAMS)
    throw new RangeError(
      `${ir.name}: the grid [${grid.join(", ")}] has ${programs} programs, and the evaluator runs at most ${MAX_PROGRAMS}; give smaller sizes`,
    );
  checkElements(ir, bindings, absent);
}

/** @throws RangeError if the tensors have too many elements in total. */
export function checkElements(ir: KernelIR, bindings: Bindings, absent: readonly string[] = []): void {
  const tensors = tensorsOf(ir, "in", "inout", "out").filter(({ name }) => !absent.includes(name));
  const elements = tensors.reduce(
    (sum, { dims }) => sum + product(dims.map((dim) => Number(bindings.constant(dim)))),
    0,
  );
  if (elements > MAX_ELEMENTS)
    throw new RangeError(
      `${ir.name}: its tensors have ${elements} elements, and the evaluator has room for ${MAX_ELEMENTS}; give smaller sizes`,
    );
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);
