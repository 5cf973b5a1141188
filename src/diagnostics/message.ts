/** A message of the build. Its parts stay apart: nothing is read off the finished sentence. */

/** A code, what is wrong, and what to do about it. The remedy is "" where the problem says everything. */
export class Message<
  out Code extends string = string,
  out Problem extends string = string,
  out Remedy extends string = string,
> {
  readonly code: Code;
  readonly problem: Problem;
  readonly remedy: Remedy;

  constructor(code: Code, problem: Problem, remedy: Remedy) {
    this.code = code;
    this.problem = problem;
    this.remedy = remedy;
  }

  /** The sentence for people: the problem, a semicolon, and the remedy. */
  get text(): Text<Problem, Remedy> {
    return formatMessage(this) as Text<Problem, Remedy>;
  }

  /** The message with a phrase after its problem. */
  withContext(context: string): Message<Code> {
    return new Message(this.code, `${this.problem}${context}`, this.remedy);
  }
}

/** A problem and its remedy. */
export interface MessageParts {
  readonly problem: string;
  readonly remedy: string;
}

/** The one place that puts a problem and its remedy together; `Text` is the same for types. */
export function formatMessage({ problem, remedy }: MessageParts): string {
  return remedy === "" ? problem : `${problem}; ${remedy}`;
}

type Text<Problem extends string, Remedy extends string> = Remedy extends "" ? Problem : `${Problem}; ${Remedy}`;

/**
 * The text of a message as a type. A rule's type takes it from the function that makes the message, with types in place
 * of values: `SentenceOf<typeof uncastable<"int32", "float8e5">>`.
 */
export type SentenceOf<Builder extends (...facts: never[]) => Message> = Builder extends (
  ...facts: never[]
) => Message<any, infer Problem, infer Remedy>
  ? Text<Problem, Remedy>
  : never;

/** The facts of a case in the text of a message. */
export type Fact = string | number | bigint;

/** `a, b and c`, or `a, b or c`. */
export function formatList(items: readonly string[], conjunction: "and" | "or" = "and"): string {
  return items.length < 2 ? items.join() : `${items.slice(0, -1).join(", ")} ${conjunction} ${items.at(-1)}`;
}
