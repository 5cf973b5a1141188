/** Kernels in-process, without Python. */
export { evaluateCase, type Tolerances } from "./evaluate-case.js";
export { evaluateKernel, type Run, type RunResult } from "./evaluate-kernel.js";
export { checked } from "./checked.js";
export { sizesOf } from "./launch.js";
export { makeInputs } from "./inputs.js";
export { refusal } from "./refusal.js";
export { evaluateOperator, operatorRefusal } from "./operator.js";
