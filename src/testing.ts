/** Property tests and matchers for kernels: `import { cases, matchers } from "tilescript/testing"`. */
export { type KernelMatchers, matchers, type VerifyMatcherOptions } from "./testing/matchers.js";
export { cases, type CaseOptions } from "./runtime/cases/arbitrary.js";
