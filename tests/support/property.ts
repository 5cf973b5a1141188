/** fast-check from the seed of the run. A failing property that it finds becomes a fixed case beside it, as `examples`. */
import fc from "fast-check";
import { drawnCount, seedOfRun } from "./sampled-tests.js";

fc.configureGlobal({ seed: seedOfRun() });
export { fc };

/** The runs of a property: an eighth in the short run, and at least four. */
export const runsOf = (count: number): number => drawnCount("runs of properties", count, 4);
