/** The form of a catalog entry: a code and its sentences. */
import { Message } from "../message.js";

/** A problem alone, or with its remedy. */
export type Parts = string | readonly [problem: string, remedy: string];

/** Formats a message from facts. */
type Sentence = (...facts: never[]) => Parts;
type Sentences = Readonly<Record<string, Sentence>>;

/** Builds the message of a code. */
type Builder<Code extends string, S extends Sentence> = (...facts: Parameters<S>) => Message<Code>;
/** A code with one message. */
type SingleSentence<Code extends string, S extends Sentence> = Builder<Code, S> & { readonly code: Code };
/** A code whose mistake has several forms, each with its own message. */
type MultiSentence<Code extends string, S extends Sentences> = {
  readonly [Form in keyof S]: Builder<Code, S[Form]>;
} & {
  readonly code: Code;
};

// One signature, so that the checker takes each sentence for a pair: with two, it checks them before it has chosen.
type Entry<Code extends string, S> = S extends Sentence
  ? SingleSentence<Code, S>
  : S extends Sentences
    ? MultiSentence<Code, S>
    : never;

/**
 * Defines a code. One code is one kind of mistake with one remedy; `docs/diagnostics.md` has an example of each.
 *
 * @param sentences one sentence, or one per form of the mistake
 */
export function defineCode<const Code extends string, S extends Sentence | Sentences>(
  code: Code,
  sentences: S,
): Entry<Code, S>;
export function defineCode(code: string, sentences: Sentence | Sentences): object {
  const builder =
    (sentence: Sentence) =>
    (...facts: never[]): Message => {
      const parts = sentence(...facts);
      const [problem, remedy] = typeof parts === "string" ? [parts, ""] : parts;
      return new Message(code, problem, remedy);
    };
  if (typeof sentences === "function") return Object.assign(builder(sentences), { code });
  const forms = Object.entries(sentences).map(([form, sentence]) => [form, builder(sentence)] as const);
  return { ...Object.fromEntries(forms), code };
}
