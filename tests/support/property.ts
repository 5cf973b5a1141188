/**
 * fast-check with the seed of the run. A counterexample that it finds becomes a fixed case in `examples` of the
 * property.
 */
import fc from "fast-check";
import { drawnCount, seedOfRun } from "./sampled-tests.js";

fc.configureGlobal({ seed: seedOfRun() });
export { fc };

/** The number of runs of a property: an eighth in the short run, and at least four. */
export const runCount = (count: number): number => drawnCount("runs of properties", count, 4);
