/** Findings of the evaluator. */
import { defineCode } from "../message.js";

type Access = "read" | "written";

export const outOfBounds = defineCode(
  "out-of-bounds",
  (tensor: string, element: number, access: Access, [shape, strides]: readonly [string, string]) => [
    `element ${element} of ${tensor} is ${access}, but shape ${shape} and strides ${strides} have no such element`,
    `mask this lane`,
  ],
);

export const falseInBounds = defineCode(
  "false-in-bounds",
  (tensor: string, axis: number, index: number | undefined, size: number | undefined) => [
    `tl.inBounds is false: index ${index} on axis ${axis} of ${tensor}, whose size there is ${size}`,
    `leave tl.inBounds out, so that the view masks it`,
  ],
);

const NEVER_GIVEN = "depends on a value that was never given";

const FROM_UNSET = "gets the value of a lane without a defined value";

export const uninitialized = defineCode("uninitialized", {
  mask: (tensor: string, access: Access) => `whether ${tensor} is ${access} ${NEVER_GIVEN}`,
  address: (tensor: string, access: Access) => `where ${tensor} is ${access} ${NEVER_GIVEN}`,
  stored: (element: string) => [`${element} ${FROM_UNSET}`, `load it with other, or mask this store`],
  atomic: (element: string) => [`${element} ${FROM_UNSET}`, `load it with other, or mask this atomic`],
  memory: (element: string) => [
    `${element} is read before anything was written there`,
    `store to it first, or declare it tensor.inout(…)`,
  ],
  control: (subject: string) => `${subject} on a value that was never given`,
});

/** The loads that left lanes unset: the end of a message of `uninitialized`. */
export const formatUnsetBy = (locations: readonly string[]): string =>
  `the load${locations.length > 1 ? "s" : ""} in ${locations.join(" and ")} left it unset`;

export const writeToInput = defineCode("write-to-input", {
  store: (tensor: string) => [`${tensor} is an input and is written`, `declare it tensor.out(…) or tensor.inout(…)`],
  atomic: (tensor: string) => [`${tensor} is an input and is changed`, `declare it tensor.inout(…)`],
});

export const race = defineCode("race", (element: string, access: string, otherAccess: string, program: string) => [
  `${element} is ${access} here and ${otherAccess === access ? "also " : ""}${otherAccess} by program (${program})`,
  `nothing orders the two`,
]);

export const laneConflict = defineCode(
  "lane-conflict",
  (element: string, value: string, otherValue: string, lane: string) => [
    `${element} gets ${value} from this lane and ${otherValue} from ${lane} of the same store, and which of them remains is undefined`,
    `mask all lanes but one, reduce them first, or use an atomic`,
  ],
);

export const unorderedLanes = defineCode(
  "unordered-lanes",
  (element: string, access: string, otherAccess: string, lane: string) => [
    `${element} is ${access} here and was ${otherAccess} before by ${lane} of the same program: put tl.debugBarrier() between the two`,
    `on a GPU nothing else makes their threads wait for each other`,
  ],
);

export const neverWritten = defineCode(
  "never-written",
  (tensor: string, [count, total]: readonly [number, number], element: string, grid: string) => [
    `${count} of ${total} elements of ${tensor} are never written, the first is ${element} (the grid is [${grid}])`,
    `let the grid and the blocks cover it, or let the mask keep its lane`,
  ],
);

export const waitsForever = defineCode("waits-forever", (element: string, expected: string) => [
  `this waits for ${element} to be ${expected}, and no program before this one writes that`,
  `programs may run one after another`,
]);

export const overflow = defineCode("overflow", (sentence: string, exact: number, result: number, dtype: string) => [
  `${sentence} is ${exact}, which wraps to ${result} in ${dtype}, and an address or a mask depends on it`,
  `cast an operand to tl.${dtype === "int32" ? "int64" : "int32"} first, or let a view of a tensor declared { offsets: tl.int64 } compute the address`,
]);

export const negativeDivision = defineCode("negative-division", (sentence: string, result: number, exact: number) => [
  `${sentence} is ${result} in Triton, which truncates toward zero as C does, and ${exact} in Python`,
  `an address or a mask depends on it: keep the dividend from being negative, by adding a multiple of the divisor first`,
]);

export const nonFinite = defineCode("non-finite", (op: string, value: string, context: string) => [
  `tl.${op} makes ${value}${context}`,
  `keep its operands from it, or mask the lane`,
]);

const VARIES = "the result differs from device to device";

export const division = defineCode("division", (divisor: number | bigint, dividend: number | bigint) => {
  if (Number(divisor) === 0) return "the divisor is 0";
  if (Number(divisor) === -1 && BigInt(dividend) < 0n)
    return `${dividend} is divided by -1, and its dtype cannot represent the quotient: ${VARIES}`;
  return `the divisor is ${divisor}, which is not positive`;
});

export const shiftAmount = defineCode("shift-amount", (dtype: string, amount: number | bigint, bits: number) => [
  `shifts ${dtype} by ${amount}`,
  `it has ${bits} bits`,
]);

export const undefinedCast = defineCode(
  "undefined-cast",
  (value: number | bigint, dtype: string, [low, high]: readonly [string, string]) => [
    `${value} is cast to ${dtype}, which cannot represent it: ${VARIES}`,
    `clamp it first: tl.clamp(x, ${low}, ${high})`,
  ],
);

export const indexBesideNaN = defineCode("index-beside-nan", (op: string, infinity: string) => [
  `tl.${op} compares a NaN, so its result depends on the order of the comparisons and differs from device to device`,
  `replace NaN first: tl.where(x.eq(x), x, ${infinity})`,
]);

export const clampBounds = defineCode("clamp-bounds", (low: number | bigint, high: number | bigint) => [
  `tl.clamp has the bounds ${low} and ${high}: ${VARIES}`,
  `the first must not be above the second`,
]);

/** The line that uses an undefined value: the end of a message about the value. */
export const formatUse = (location: string): string => `${location} uses it`;

export const gatherIndex = defineCode(
  "gather-index",
  (size: number) => `the index is outside the axis, which has ${size} elements`,
);

export const misaligned = defineCode("misaligned", {
  lastStride: (tensor: string, stride: number | undefined) =>
    `the descriptor of ${tensor} has ${stride} as its last stride, which must be 1`,
  stride: (tensor: string, bytes: number) =>
    `the descriptor of ${tensor} has a stride of ${bytes} bytes, which must be a multiple of 16`,
  base: (tensor: string, bytes: number) =>
    `the descriptor of ${tensor} has a base ${bytes} bytes into the tensor, which must be a multiple of 16`,
  offset: (tensor: string, offset: number, bytes: number) => [
    `the last offset is ${offset}, which is ${bytes} bytes`,
    `in ${tensor} a block starts at a multiple of 16 bytes`,
  ],
});

const undeclared = (dtype: string): string => `${dtype}, a dtype of no input or output and of no cast in the reference`;
/** The outputs that a rounding reaches, and the form of their tolerance. */
export interface RoundedOutputs {
  readonly names: readonly string[];
  readonly limits: string;
}
const declareRounding = ({ names, limits }: RoundedOutputs): string =>
  `or declare it: tolerance: { ${names.map((output) => `${output}: ${limits}`).join(", ")} }`;
const castOrDeclare = (dtype: string, outputs: RoundedOutputs): string =>
  `let the reference cast to ${dtype} too, ${declareRounding(outputs)}`;

export const narrowRounding = defineCode("narrow-rounding", {
  value: (op: string, dtype: string, wide: string, outputs: RoundedOutputs) => [
    `${op} rounds to ${undeclared(dtype)}`,
    `compute in ${wide}, ${castOrDeclare(dtype, outputs)}`,
  ],
  sum: (op: string, dtype: string, wide: string, outputs: RoundedOutputs) => [
    `${op} adds up in ${dtype} and rounds each partial sum`,
    `add up in ${wide}, ${declareRounding(outputs)}`,
  ],
  carried: (dtype: string, wide: string, outputs: RoundedOutputs) => [
    `each iteration of the loop rounds this variable to ${dtype} again`,
    `let it be ${wide} and cast after the loop, ${declareRounding(outputs)}`,
  ],
  tensor: (tensor: string, dtype: string, wide: string, outputs: RoundedOutputs) => [
    `a kernel hands ${tensor} to another in ${undeclared(dtype)}`,
    `declare it ${wide}, ${castOrDeclare(dtype, outputs)}`,
  ],
});

export const falseHint = defineCode("false-hint", {
  lanes: (op: string, claim: string) => `${op} claims that ${claim}, which is false`,
  trips: (most: number) => [
    `this loop has more than ${most} iterations, which its option most excludes`,
    `give a larger one, or leave it out`,
  ],
});

export const falseAssume = defineCode("false-assume", () => "the assumption is false");
export const failedAssert = defineCode("failed-assert", (message: string | undefined) =>
  message === undefined ? "the assertion fails" : `the assertion fails: ${message}`,
);

export const lowering = defineCode("lowering", (element: string, authoredAccess: string, emittedAccess: string) => [
  `${element} is ${authoredAccess} in the author's form and ${emittedAccess} in the emitted form`,
  `TileScript lowers this kernel wrongly: please report it`,
]);
