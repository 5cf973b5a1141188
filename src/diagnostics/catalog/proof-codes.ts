/** Codes of unproved obligations. Refuted obligations have the code of the evaluator's finding. */
import { defineCode } from "./define-code.js";

export const notProved = defineCode("not-proved", (subject: string, missing: string, remedy: string) => [
  `${subject} is not proved for all shapes: ${missing}`,
  remedy,
]);
