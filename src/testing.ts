/** Property tests of kernels, and matchers: `import { cases, matchers } from "tilescript/testing"`. */
export { type KernelMatchers, matchers, type VerifyMatcherOptions } from "./testing/matchers.js";
export { cases, type CaseOptions } from "./runtime/cases/draw.js";
