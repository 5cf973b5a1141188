/** What proofs say of a kernel. What they refute has the code of the evaluator's finding. */
import { defineCode } from "./define-code.js";

export const notProved = defineCode(
  "not-proved",
  (of: string, missing: string) => `${of} is not proved for all shapes: ${missing}`,
);
