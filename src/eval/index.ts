/** Kernels in-process, without Python. */
export { evaluateCase, inputsOf, type Tolerances } from "./evaluate-case.js";
export { evaluateKernel, type Run, type RunResult } from "./evaluate-kernel.js";
export { checked } from "./checked.js";
export { constexprsOf, launchOf, sizesOf } from "./case-launch.js";
export { makeInputs } from "./make-inputs.js";
export { refusal } from "./refusal.js";
export { evaluateOperator, operatorRefusal } from "./evaluate-operator.js";
