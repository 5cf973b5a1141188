/**
 * Codes for the sentences of type rules. A rule is a type as well as a function, and both give only a sentence. So the
 * code is read off its words.
 */
import { tileSize } from "./config-codes.js";
import { branchCondition, branchValues, helperResult, loopBounds, stateType } from "./control-codes.js";
import { defineCode, type Message } from "./define-code.js";

const sentence = (why: string): string => why;

export const stateAsValue = defineCode("state-as-value", sentence);
export const tensorAsValue = defineCode("tensor-as-value", sentence);
export const addressAsValue = defineCode("address-as-value", sentence);
export const needsAddress = defineCode("needs-address", sentence);
export const readOnly = defineCode("read-only", sentence);
export const truthValue = defineCode("truth-value", sentence);
export const dotOperands = defineCode("dot-operands", sentence);
export const needsConstexpr = defineCode("needs-constexpr", sentence);
export const numberType = defineCode("number-type", sentence);
export const dtypeMismatch = defineCode("dtype-mismatch", sentence);
export const dtypeUnsupported = defineCode("dtype-unsupported", sentence);
export const shapeMismatch = defineCode("shape-mismatch", sentence);
export const wrongAxis = defineCode("wrong-axis", sentence);
export const optionValue = defineCode("option-value", sentence);
export const operandKind = defineCode("operand-kind", sentence);

/** The first entry whose words match gives the code. */
const families = [
  [/this is state/, stateAsValue],
  [/: this is a whole tensor;/, tensorAsValue],
  [/(?:is an input|is of an input); declare/, readOnly],
  [/: this is (?:an address|a view);|one side is an address|two pointers cannot/, addressAsValue],
  [/^(?:value|mut): /, stateType],
  [/^when: (?:one arm|the arms|a number)/, branchValues.rule],
  [/condition (?:must be|is a|never)|one condition|: this is a JavaScript boolean/, branchCondition.rule],
  [/^(?:range|staticRange): /, loopBounds.rule],
  [/: the function (?:must give|gives) /, helperResult.rule],
  [/is not a power of two|more than 1048576 elements/, (why: string) => tileSize.rule(why, "")],
  [/; it is one of |is (?:one of|gpu, cta or sys|zero or nan)/, optionValue],
  [/^dot(?:Scaled)?: /, dotOperands],
  [/\bint1\b/, truthValue],
  [/must be (?:a constexpr|constexprs) or|are numbers or constexprs, known/, needsConstexpr],
  [/a number (?:has no dtype|is not cast|is not spread|is shifted)|two numbers have no dtype/, numberType],
  [/comparison with NaN|a number is NaN/, numberType],
  [/is not a whole number|is (?:negative|a float|out of range) (?:and|for) /, numberType],
  [/differ in (?:sign|width)|one (?:dtype|width)|may be .* cast one side|give different dtypes/, dtypeMismatch],
  [/(?:tensor|descriptor) holds .*cast with|points? to .*cast with/, dtypeMismatch],
  [/do not broadcast|differ in rank|may differ on axis|one shape|does not stretch|number of elements/, shapeMismatch],
  [/the (?:address|block|mask) is .*, the |in the address's shape/, shapeMismatch],
  [/does not (?:work on|do this on|hold|compile)|has no arithmetic|works on|cannot be cast/, dtypeUnsupported],
  [/: needs (?:an address|addresses|a descriptor|a tensor|a pointer)|not an address|call its method/, needsAddress],
  [/needs .*, got |(?:is|are) int(?:32|64)(?: or int16)?, this is|is for float32|only float32/, dtypeUnsupported],
  [/\baxis\b|\baxes\b|\brank\b|permutation|dimension/, wrongAxis],
] as const;

/** The message of a rule in `src/rules` or `src/types` that does not hold. */
export function ruleViolation(why: string): Message<BrokenRule> {
  const [, said] = families.find(([words]) => words.test(why)) ?? [undefined, operandKind];
  return said(why);
}

type BrokenRule = ReturnType<(typeof families)[number][1]>["code"] | typeof operandKind.code;
