/**
 * Type-level errors. A rule is a type that is `""` if it is satisfied, and otherwise the text of a message. In the same
 * file, a function with the same logic returns undefined or that message. Editors show the text of the type. The build
 * calls the function, because it knows every value. Both take the text from one function, which makes the message of
 * facts: `SentenceOf<typeof uncastable<From, To>>` is the type of `uncastable(from, to).text`.
 */
import { optionValue, type RuleCode } from "../diagnostics/catalog/rule-codes.js";
import type { Message } from "../diagnostics/message.js";

/** The message of a rule that is violated. */
export type RuleError = Message<RuleCode>;

declare const sentence: unique symbol;

/** The type of a property whose rule is violated. The type argument is the message. */
export interface Problem<Sentence extends string> {
  readonly [sentence]: Sentence;
}

/** The operand's type if `Why` is "", else the message, to which no operand can be assigned. */
export type Validate<Operand, Why> = Why extends "" ? Operand : Why;

/** The first message of two rules. The equivalent for functions is `whyA(…) || whyB(…)`. */
export type FirstError<A, B> = A extends "" ? B : A;

/** The message for an option whose value is not one of `choices`. */
export function whyChoice(option: string, value: unknown, choices: readonly string[]): RuleError | undefined {
  if (value === undefined || choices.includes(value as string)) return undefined;
  return optionValue(
    `${option} is ${JSON.stringify(value)}`,
    `it is one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`,
  );
}

/**
 * Identity of two types, not assignability. It is decided for type parameters too: `Same<N, N>` is true, `Same<N, 1>`
 * is false. A constant must be passed as a type parameter of the calling alias (`One = 1`); otherwise the checker
 * evaluates the test at the declaration of the alias.
 */
export type Same<A, B> = (<T>() => T extends [A] ? 1 : 2) extends <T>() => T extends [B] ? 1 : 2 ? true : false;

/** True if T is `any`: after another error, or because the author declared it. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

/** True if a type parameter was not inferred. */
export type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;

/** `Same`, except that `any` equals every type, so that one mistake is reported once. */
export type Agree<A, B> = Same<A, B> extends true ? true : IsAny<A> extends true ? true : IsAny<B>;

/**
 * Flattens an intersection into one object type, so that messages name a missing property and editors show all of them.
 * `& {}` affects only the display: it shows the properties instead of this alias.
 */
// oxlint-disable-next-line typescript/no-empty-object-type
export type Flat<T> = { [K in keyof T]: T[K] } & {};

export type IsUnion<T, U = T> = T extends unknown ? ([U] extends [T] ? false : true) : never;
