// A message of the build. Its parts stay apart: nothing is read off the finished sentence.

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

// Suggestions for misspelled names.

/**
 * The name that is closest to `name`, ignoring case and `_`, within an edit distance of one or two letters. Undefined
 * if none is close enough.
 */
export function suggestName(name: string, names: readonly string[]): string | undefined {
  return nearestNames(name, names)[0];
}

/** `did you mean NAME?`, or another remedy if no name is close enough. */
export function didYouMean(name: string, names: readonly string[], otherwise: string): string {
  const suggestion = suggestName(name, names);
  return suggestion === undefined ? otherwise : `did you mean ${suggestion}?`;
}

/** Like {@link suggestName}, but only if no other name is equally close. */
export function suggestUniqueName(name: string, names: readonly string[]): string | undefined {
  const [suggestion, ...others] = nearestNames(name, names);
  return others.length === 0 ? suggestion : undefined;
}

function nearestNames(name: string, names: readonly string[]): readonly string[] {
  const plain = normalizeName(name);
  const distances = names.map((candidate) => [editDistance(plain, normalizeName(candidate)), candidate] as const);
  const minimum = Math.min(maxDistance(plain), ...distances.map(([editDistance]) => editDistance));
  return distances.flatMap(([editDistance, candidate]) => (editDistance === minimum ? [candidate] : []));
}

/** A change in a name of three letters makes it another name: `N` is not `ne`, nor `dim` `div`. */
function maxDistance({ length }: string): number {
  if (length < 4) return 0;
  return length < 6 ? 1 : 2;
}

const normalizeName = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** The Damerau–Levenshtein distance: letters to insert, remove, replace, or swap with the next one. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const distance = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + cost];
      row.push(Math.min(...steps, isSwap ? distance(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY));
    }
  }
  return distance(a.length, b.length);
}

// Detects several copies of this package in one program. The objects of one copy are unknown to the others.

/** The key of the global registry of copies. */
const COPIES = Symbol.for("tilescript.copies");

const registry = globalThis as { [COPIES]?: Set<string> };

/** The folder of this copy. A bundle of several modules counts as one copy. */
const packageFolder = String(import.meta.url)
  .replace(/[?#].*$/s, "")
  .replace(/\/diagnostics\/duplicate-package\.[jt]s$/, "");

(registry[COPIES] ??= new Set()).add(packageFolder);

/** The end of a message about an object that another copy may have created. */
export function duplicatePackageHint(): string {
  const copies = [...(registry[COPIES] ?? [])];
  if (copies.length < 2) return "";
  return `; this program has ${copies.length} copies of tilescript, ${copies.join(" and ")}: import one alone (npm ls tilescript)`;
}

// The form of a catalog entry: a code and its sentences.

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
