/** Codes of unproved obligations. Refuted obligations have the code of the evaluator's finding. */
import { defineCode } from "./define-code.js";

export const noLaunch = defineCode("no-launch", {
  contradiction: (subject: string, lines: string) => [
    `no launch of ${subject} meets ${lines}, so nothing is proved of it`,
    "change a requirement or the config",
  ],
  notFound: (subject: string, refusal: string) => [
    `no launch of ${subject} was found that meets its requirements: ${refusal}`,
    "list sizes that it accepts as shapes in its spec",
  ],
  declared: (kernel: string, shape: string, refusal: string) => [
    `no config of ${kernel} takes the declared shape ${shape}: ${refusal}`,
    "declare another in shapes, or change what refuses it",
  ],
});

export const unreachedAccess = defineCode("unreached-access", (subject: string) => [
  `no launch reaches ${subject}`,
  "change the condition or the mask that excludes it, or leave it out",
]);

export const wrongOutput = defineCode(
  "wrong-output",
  (element: string, got: string, expected: string, testCase: string) => [
    `${element} is ${got} where the reference gives ${expected}, with every float in float64; a case: ${testCase}`,
    "correct the kernel or its reference",
  ],
);

export const notProved = defineCode("not-proved", (subject: string, missing: string, remedy: string) => [
  `${subject} is not proved for all shapes: ${missing}`,
  remedy,
]);
