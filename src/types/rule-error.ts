/**
 * Errors as sentences. A rule is a type that is `""` when it holds and a sentence when it does not. Beside it, in the
 * same file, its function twin returns `""` or the same sentence. The type speaks in the editor; the function speaks in
 * the build, where every value is known.
 */

declare const sentence: unique symbol;

/** The type of a property whose rule does not hold. The type argument says why. */
export interface Problem<Sentence extends string> {
  readonly [sentence]: Sentence;
}

/** The operand's own type when `Why` is "", else the sentence itself, to which no operand can be assigned. */
export type Validate<Operand, Why> = Why extends "" ? Operand : Why;

/** The first sentence of two rules. Functions write `whyA(…) || whyB(…)`. */
export type FirstError<A, B> = A extends "" ? B : A;

/** For an option whose values are words: the given value, if it is not one of them. */
export function whyChoice(option: string, given: unknown, choices: readonly string[]): string {
  if (given === undefined || choices.includes(given as string)) return "";
  return `${option} is ${JSON.stringify(given)}; it is one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
}

/**
 * Identity of two types, not assignability. Decided for type parameters too: `Same<N, N>` is true, `Same<N, 1>` false.
 * A constant on one side must come in as a type parameter of the alias that asks (`One = 1`), or the checker settles
 * the question where the alias is declared.
 */
export type Same<A, B> = (<T>() => T extends [A] ? 1 : 2) extends <T>() => T extends [B] ? 1 : 2 ? true : false;

/** Whether the checker knows nothing about T: after an error elsewhere, or because the author said so. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

/** Whether nothing was given for a type parameter. */
export type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;

/** `Same`, as far as the checker knows: `any` agrees with everything, so that one mistake gives one error. */
export type Agree<A, B> = Same<A, B> extends true ? true : IsAny<A> extends true ? true : IsAny<B>;

/**
 * One object type, not an intersection, so that a missing name is reported by name, and an editor shows them all. `& {}`
 * changes nothing but the text: messages show the names instead of this alias and what it is made of.
 */
// oxlint-disable-next-line typescript/no-empty-object-type
export type Flat<T> = { [K in keyof T]: T[K] } & {};

/** Whether T has several alternatives. */
export type IsUnion<T, U = T> = T extends unknown ? ([U] extends [T] ? false : true) : never;
