/** Codes of unproved obligations. Refuted obligations have the code of the evaluator's finding. */
import { defineCode } from "../message.js";

export const noLaunch = defineCode("no-launch", {
  contradiction: (subject: string, lines: string) => [
    `no launch of ${subject} satisfies ${lines}, so nothing about it is proved`,
    "change a requirement or the config",
  ],
  notFound: (subject: string, refusal: string) => [
    `no launch of ${subject} was found that satisfies its requirements: ${refusal}`,
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
  (element: string, got: string, expected: string, testCase: string, source: string) => [
    `${element} is ${got} where ${source} gives ${expected}, with every float in float64; a case: ${testCase}`,
    `correct the kernel or ${source}`,
  ],
);

/** What lets the size of an axis reach the bits of an element. */
export type InvarianceCause = "config" | "size" | "rows" | "strides" | "fusion" | "open";

const invarianceRemedies: Readonly<Record<InvarianceCause, (size: string) => string>> = {
  config: (size) => `leave ${size} out of the autotuner's key, and choose the config without it`,
  size: (size) => `compute it from constexprs of the config in place of ${size}`,
  rows: (size) => `read only the row of the element along ${size}`,
  strides: (size) => `put the axis of ${size} first, or declare the tensor { contiguous: true }`,
  fusion: (size) => `set launch: { enableFpFusion: false }, or leave ${size} out of the autotuner's key`,
  open: (size) => `write this in another way, or leave ${size} out of invariant`,
};

const inDeclared = (size: string): string => `invariant names ${size}, but`;

export const notInvariant = defineCode("not-invariant", {
  dependent: (output: string, size: string, why: string, cause: InvarianceCause) => [
    `${inDeclared(size)} the bits of ${output} depend on it: ${why}`,
    invarianceRemedies[cause](size),
  ],
  unknown: (output: string, size: string, missing: string, cause: InvarianceCause) => [
    `${inDeclared(size)} nothing shows that the bits of ${output} do not depend on it: ${missing}`,
    invarianceRemedies[cause](size),
  ],
});

const trusting = (mayBeTrusted: boolean): string => (mayBeTrusted ? "; tl.trusted takes your reason why it holds" : "");

/** The texts of remedies that were tried. */
export const triedRemedy = {
  require: (callback: string) => `with \`requires: ${callback}\` it is proved`,
  declare: (param: string, option: string) => `with \`${option}\` as an option of ${param} it is proved`,
  mask: () => "without its tl.inBounds, so that the view masks it, it is proved",
  other: (value: number) => `with \`other: ${value}\` at the loads that it depends on it is proved`,
  where: (value: number) =>
    `with \`tl.where(mask, …, ${value})\` around its operand it is proved, where mask tells which lanes its load reads`,
  barrier: () => "with tl.debugBarrier() before it, it is proved",
  omit: () => "without it, the rest is proved",
  none: (mayBeTrusted: boolean) => `no change that was tried closes it${trusting(mayBeTrusted)}`,
  untried: (mayBeTrusted: boolean) => `no requirement and no declaration is known to close it${trusting(mayBeTrusted)}`,
};

export const notProved = defineCode("not-proved", (subject: string, missing: string, remedy: string) => [
  `${subject} is not proved for all shapes: ${missing}`,
  remedy,
]);

export const unprovedBarriers = defineCode("unproved-barriers", (kernel: string, missing: string) => [
  `the barriers of the warp-specialized ${kernel} are not proved: ${missing}`,
  `report this mistake of TileScript, and write warpSpecialize: "never" until it is corrected`,
]);
