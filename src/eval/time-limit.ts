/** The end of a case that runs for too long. */
import { EvaluationTimeout } from "../compiled/timeout.js";
import type { Location } from "../diagnostics/diagnostic.js";

/** How many steps pass between two looks at the clock. */
const STEPS = 64;

/** Asked at each program and each iteration of a loop. */
export class TimeLimit {
  #steps = 0;

  constructor(readonly until = Infinity) {}

  /** @throws OutOfTime */
  check(at: Location | undefined): void {
    if (++this.#steps % STEPS === 0 && performance.now() > this.until) throw new EvaluationTimeout(at);
  }
}
