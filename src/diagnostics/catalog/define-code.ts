/** The form of a catalog entry: a code and its sentences. */

/** A message: its code, and a sentence that ends with the remedy. */
export interface Message<Code extends string = string> {
  readonly code: Code;
  readonly message: string;
}

/** Makes a sentence out of facts from the place that reports it. */
type Sentence = (...facts: never[]) => string;
type Sentences = Readonly<Record<string, Sentence>>;

/** Builds the message of a code. */
type Builder<Code extends string, S extends Sentence> = (...facts: Parameters<S>) => Message<Code>;
/** A code with one sentence: called, it gives the message. */
type Single<Code extends string, S extends Sentence> = Builder<Code, S> & { readonly code: Code };
/** A code whose mistake has several forms, with a builder for each by name. */
type Several<Code extends string, S extends Sentences> = { readonly [Form in keyof S]: Builder<Code, S[Form]> } & {
  readonly code: Code;
};

/**
 * Defines a code. One code is one kind of mistake with one remedy; `docs/diagnostics.md` has an example of each.
 *
 * @param sentences one sentence, or one per form of the mistake
 */
export function defineCode<const Code extends string, S extends Sentence>(code: Code, sentence: S): Single<Code, S>;
export function defineCode<const Code extends string, S extends Sentences>(code: Code, sentences: S): Several<Code, S>;
export function defineCode(code: string, given: Sentence | Sentences): object {
  const builder =
    (sentence: Sentence) =>
    (...facts: never[]): Message => ({ code, message: sentence(...facts) });
  if (typeof given === "function") return Object.assign(builder(given), { code });
  const forms = Object.entries(given).map(([form, sentence]) => [form, builder(sentence)] as const);
  return { ...Object.fromEntries(forms), code };
}
