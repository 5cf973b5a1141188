/** Parentheses of operands: those that Python's grammar requires, and a few for readability. */
import type * as Py from "./py.js";

/** Higher binds tighter (Python reference, 6.17). */
export const LEVEL = {
  lambda: 1,
  conditional: 2,
  or: 3,
  and: 4,
  not: 5,
  compare: 6,
  bitOr: 7,
  unary: 13,
  power: 14,
  postfix: 16,
  atom: 17,
} as const;

const BINARY_LEVEL: Readonly<Record<Py.BinaryOperator, number>> = {
  "|": LEVEL.bitOr,
  "^": 8,
  "&": 9,
  "<<": 10,
  ">>": 10,
  "+": 11,
  "-": 11,
  "*": 12,
  "/": 12,
  "//": 12,
  "%": 12,
  "@": 12,
  "**": LEVEL.power,
};

/** An operand, with or without parentheses. */
export interface Operand {
  readonly value: Py.Expression;
  readonly isParenthesized: boolean;
}

export function level(expression: Py.Expression): number {
  switch (expression.kind) {
    case "lambda":
    case "conditional":
      return LEVEL[expression.kind];
    case "bool":
      return LEVEL[expression.operator];
    case "compare":
      return LEVEL.compare;
    case "unary":
      return expression.operator === "not" ? LEVEL.not : LEVEL.unary;
    case "binary":
      return BINARY_LEVEL[expression.operator];
    case "attribute":
    case "call":
    case "subscript":
      return LEVEL.postfix;
    case "raw":
      // A call or a dotted name is a postfix expression. Other text is assumed to have the lowest precedence.
      return isCall(expression) ? LEVEL.postfix : LEVEL.lambda;
    case "name":
    case "number":
    case "string":
    case "fString":
    case "tuple":
    case "list":
    case "comprehension":
    case "dict":
      return LEVEL.atom;
    default:
      return expression satisfies never;
  }
}

function isCall({ parts }: Py.Raw): boolean {
  const text = parts.map((part) => (typeof part === "string" ? part : "x")).join("");
  return /^[\w.]+(?:\([^()]*\))?$/.test(text);
}

/** An operand that must bind at least this tightly. */
export function operand(value: Py.Expression, minimum: number): Operand {
  return { value, isParenthesized: level(value) < minimum };
}

export function binaryOperands({ operator, left, right }: Py.Binary): readonly [Operand, Operand] {
  const precedence = BINARY_LEVEL[operator];
  // Power is right associative and its exponent may have a sign.
  if (operator === "**") return [operand(left, precedence + 1), operand(right, LEVEL.unary)];
  return [
    isMixedDivision(operator, left) || isMixedBitwise(operator, left)
      ? { value: left, isParenthesized: true }
      : operand(left, precedence),
    isMixedBitwise(operator, right) ? { value: right, isParenthesized: true } : operand(right, precedence + 1),
  ];
}

const BITWISE: ReadonlySet<string> = new Set(["<<", ">>", "&", "^", "|"]);

/** `(word >> shift) & 15`: readers rarely know the relative precedence of bitwise and arithmetic operators. */
function isMixedBitwise(operator: Py.BinaryOperator, side: Py.Expression): boolean {
  return side.kind === "binary" && BITWISE.has(operator) && side.operator !== operator;
}

/** An operand of a comparison: `(bits & 1) == 0`, which has another meaning in C without parentheses. */
export function comparisonOperand(value: Py.Expression): Operand {
  const isBitwise = value.kind === "binary" && BITWISE.has(value.operator);
  return isBitwise ? { value, isParenthesized: true } : operand(value, LEVEL.bitOr);
}

const MULTIPLICATIVE: ReadonlySet<string> = new Set(["*", "/", "//", "%"]);

/** `(pid % n) // m`: the parentheses are only for readability. */
function isMixedDivision(operator: Py.BinaryOperator, left: Py.Expression): boolean {
  if (left.kind !== "binary" || !MULTIPLICATIVE.has(operator) || !MULTIPLICATIVE.has(left.operator)) return false;
  return left.operator !== "*";
}

export function unaryOperand({ operator, operand: value }: Py.Unary): Operand {
  const minimum = operator === "not" ? LEVEL.not : LEVEL.unary;
  // `-a**b` is legal; ruff writes it as `-(a**b)`.
  return { value, isParenthesized: level(value) < minimum || level(value) === LEVEL.power };
}

/** The expression before `.name`, `(…)` or `[…]`. A bare number would not parse there. */
export function postfixRoot(value: Py.Expression): Operand {
  return { value, isParenthesized: level(value) < LEVEL.postfix || value.kind === "number" };
}

export function conditionalOperands(node: Py.Conditional): { body: Operand; test: Operand; otherwise: Operand } {
  return {
    body: operand(node.body, LEVEL.or),
    test: operand(node.test, LEVEL.or),
    otherwise: operand(node.otherwise, LEVEL.lambda),
  };
}

// Python string literals. Ruff prefers double quotes unless single ones need fewer escapes.

/** A literal that evaluates to exactly this text. */
export function stringLiteral(value: string): string {
  const quote = preferredQuote(value);
  return `${quote}${escapeText(value, quote)}${quote}`;
}

export function preferredQuote(text: string): '"' | "'" {
  return count(text, '"') > count(text, "'") ? "'" : '"';
}

/**
 * The content of a literal. Escapes the quote, backslashes, and characters that are invisible or not one column wide.
 */
export function escapeText(text: string, quote: '"' | "'"): string {
  let escaped = "";
  for (const character of text) escaped += escapeCharacter(character, quote);
  return escaped;
}

const CHUNK = 68;

/** Splits a literal after spaces into literals of about one line, for implicit concatenation. */
export function splitLiteral(
  literal: Py.StringLiteral | Py.FString,
  fieldWidth: (field: Py.FStringField) => number,
): readonly (Py.StringLiteral | Py.FString)[] {
  const chunks: Py.FString["parts"][] = [];
  let length = 0;
  for (const word of wordsOf(literal.kind === "string" ? [literal.value] : literal.parts)) {
    const sizes = word.map((part) => (typeof part === "string" ? part.length : fieldWidth(part)));
    const size = sizes.reduce((sum, each) => sum + each, 0);
    const isFull = chunks.length === 0 || length + size > CHUNK;
    chunks.push([...(isFull ? [] : chunks.pop()!), ...word]);
    length = isFull ? size : length + size;
  }
  return chunks.map((chunkParts) =>
    chunkParts.every((part) => typeof part === "string")
      ? { kind: "string", value: chunkParts.join("") }
      : { kind: "fString", parts: chunkParts },
  );
}

/** Texts and fields up to a space each. */
function wordsOf(parts: Py.FString["parts"]): readonly Py.FString["parts"][] {
  const tokens = parts.flatMap<string | Py.FStringField>((part) =>
    typeof part === "string" ? (part.match(/[^ ]* +|[^ ]+/g) ?? []) : [part],
  );
  const words: Py.FString["parts"][] = [];
  let isEnd = true;
  for (const token of tokens) {
    words.push(isEnd ? [token] : [...words.pop()!, token]);
    isEnd = typeof token === "string" && token.endsWith(" ");
  }
  return words;
}

/** The escaped lines of a docstring, for triple double quotes. */
export function docstringLines(text: string): readonly string[] {
  const lines = text
    .trim()
    .split(/\r\n|\r|\n/)
    .map((line) => escapeText(line.replaceAll("\t", "    ").trimEnd(), "'"));
  // Only a triple quote, or a quote next to the closing quotes, needs a backslash.
  const safe = lines.map((line) => line.replaceAll("\\'", "'").replaceAll('""', '"\\"'));
  return safe
    .map((line, index) => (index === 0 && line.startsWith('"') ? ` ${line}` : line))
    .map((line, index) => (index === safe.length - 1 ? line.replace(/"$/, '\\"') : line));
}

/** The text of a comment. Invisible characters and direction marks are escaped, as in a literal. */
export function commentText(text: string): string {
  return text.replace(/[^\S\r\n]/g, " ").replace(/(?![\r\n])\p{C}/gu, (character) => escapeCharacter(character, ""));
}

const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Letters, digits and symbols of one column, such as ² and θ. Invisible characters and direction marks are escaped. */
const NARROW = /^(?!\p{Emoji_Presentation}|\p{Script=Hangul}|[\u2329\u232a])[\p{L}\p{N}\p{P}\p{S}]$/u;
/** The first code point of the CJK scripts, whose characters are two columns wide. */
const WIDE = 0x2e80;

function escapeCharacter(character: string, quote: string): string {
  if (character === quote) return `\\${quote}`;
  const escape = NAMED_ESCAPES[character];
  if (escape) return escape;
  const code = character.codePointAt(0) ?? 0;
  if ((code >= 0x20 && code < 0x7f) || (code < WIDE && NARROW.test(character))) return character;
  const hex = code.toString(16);
  // Ruff keeps lower-case hexadecimal escapes as they are.
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}
