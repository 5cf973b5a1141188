/** Property tests of kernels, and matchers: `import { cases, matchers } from "tilescript/testing"`. */
export { type KernelMatchers, matchers, type VerifyMatcherOptions } from "./matchers.js";
export { cases, type CaseOptions } from "./runtime/draw.js";
