/** The dims of a declared tensor: names of sizes, and numbers. */
import { wrongDims } from "../diagnostics/catalog/rule-codes.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import type { Fraction } from "./promote.js";
import type { RuleError } from "./rule-error.js";

/** Characters of expressions, which a name must not contain. */
type Computing = " " | "+" | "-" | "*" | "/" | "%" | "." | "(";
const COMPUTING = /[ +\-*/%.(]/;
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

const dimsAsText = <Of extends Fact, Text extends Fact>(of: Of, text: Text) =>
  wrongDims(`${of}: ${text} is text, and the dims are a list`, `write [${text}]`);
const noDims = <Of extends Fact>(of: Of) =>
  wrongDims(
    `${of}: it has no dims`,
    'list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)',
  );
const computedDim = <Of extends Fact, Dim extends Fact>(of: Of, dim: Dim) =>
  wrongDims(
    `${of}: ${dim} is not a dim`,
    'write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }',
  );
const notADim = <Of extends Fact, Dim extends Fact>(of: Of, dim: Dim) =>
  wrongDims(`${of}: ${dim} is not a dim`, 'write a name such as "M", or a positive number');

/** The rule of a list of dims. Other invalid characters are found only by the build. */
export type WhyDims<Of extends string, Ds> = Ds extends string
  ? SentenceOf<typeof dimsAsText<Of, `"${Ds}"`>>
  : Ds extends readonly []
    ? SentenceOf<typeof noDims<Of>>
    : Ds extends readonly unknown[]
      ? WhyEach<Of, Ds[number]>
      : "";
/** Texts that are not valid dims. */
export type NoDim = `${string}${Computing}${string}` | `${Digit}${string}`;
type WhyEach<Of extends string, D> = [Extract<D, NoDim>] extends [never]
  ? [D] extends [string]
    ? ""
    : WhyNumber<Of, Extract<D, number>>
  : SentenceOf<typeof computedDim<Of, `"${Extract<D, NoDim>}"`>>;
type WhyNumber<Of extends string, D extends number> = [`${D}`] extends [Fraction | `-${string}` | "0"]
  ? [D] extends [never]
    ? ""
    : SentenceOf<typeof notADim<Of, D>>
  : "";

export function whyDims(subject: string, dims: unknown): RuleError | undefined {
  if (typeof dims === "string") return dimsAsText(subject, JSON.stringify(dims));
  if (!Array.isArray(dims)) return wrongDims(`${subject}: the second argument lists its dims, such as ["M", "K"]`);
  if (dims.length === 0) return noDims(subject);
  return dims.map((dim) => whyDim(subject, dim)).find((why) => why !== undefined);
}

export function whyDim(subject: string, dim: unknown): RuleError | undefined {
  const isName = typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim) && !(dim in Object.prototype);
  const isSize = typeof dim === "number" && Number.isInteger(dim) && dim > 0;
  if (isName || isSize) return undefined;
  const isComputed = typeof dim === "string" && (COMPUTING.test(dim) || /^\d/.test(dim));
  return isComputed ? computedDim(subject, JSON.stringify(dim)) : notADim(subject, JSON.stringify(dim));
}
