/** Plans of cases ask for the cost and the validity of the same launches many times. */
import { cacheKey } from "../compiled/canonical-json.js";
import type { TestCase } from "../compiled/compiled-kernel.js";

/** Property tests draw any number of launches. */
const MAX_ENTRIES = 2_000;

/** Caches a function of everything in a test case but the values of its tensors. */
export function byLaunch<Result>(compute: (testCase: TestCase) => Result): (testCase: TestCase) => Result {
  const results = new Map<string, { readonly result: Result }>();
  return (testCase) => {
    const { seed: _seed, special: _special, ...launch } = testCase;
    const key = cacheKey(launch);
    const known = results.get(key);
    if (known) return known.result;
    const result = compute(testCase);
    if (results.size >= MAX_ENTRIES) results.clear();
    results.set(key, { result });
    return result;
  };
}
