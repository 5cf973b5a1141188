/** The limits of an evaluation. */
import { EvaluationTimeout } from "../compiled/timeout.js";
import type { Location } from "../diagnostics/diagnostic.js";

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
