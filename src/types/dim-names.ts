/** The dims of a declared tensor: names of sizes, and numbers. */
import type { Fraction } from "./promote.js";

/** Characters of expressions, which a name must not contain. */
type Computing = " " | "+" | "-" | "*" | "/" | "%" | "." | "(";
const COMPUTING = /[ +\-*/%.(]/;
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** The rule of a list of dims. Other invalid characters are found only by the build. */
export type WhyDims<Of extends string, Ds> = Ds extends string
  ? `${Of}: "${Ds}" is text, and the dims are a list; write ["${Ds}"]`
  : Ds extends readonly []
    ? `${Of}: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)`
    : Ds extends readonly unknown[]
      ? WhyEach<Of, Ds[number]>
      : "";
/** Texts that are not valid dims. */
export type NoDim = `${string}${Computing}${string}` | `${Digit}${string}`;
type WhyEach<Of extends string, D> = [Extract<D, NoDim>] extends [never]
  ? [D] extends [string]
    ? ""
    : WhyNumber<Of, Extract<D, number>>
  : `${Of}: "${Extract<D, NoDim>}" is not a dim; write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }`;
type WhyNumber<Of extends string, D extends number> = [`${D}`] extends [Fraction | `-${string}` | "0"]
  ? [D] extends [never]
    ? ""
    : `${Of}: ${D} is not a dim; write a name such as "M", or a positive number`
  : "";

export function whyDims(subject: string, dims: unknown): string {
  if (typeof dims === "string")
    return `${subject}: ${JSON.stringify(dims)} is text, and the dims are a list; write [${JSON.stringify(dims)}]`;
  if (!Array.isArray(dims)) return `${subject}: the second argument lists its dims, such as ["M", "K"]`;
  if (dims.length === 0)
    return `${subject}: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)`;
  return dims.map((dim) => whyDim(subject, dim)).find((why) => why !== "") ?? "";
}

export function whyDim(subject: string, dim: unknown): string {
  const isName = typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim) && !(dim in Object.prototype);
  const isSize = typeof dim === "number" && Number.isInteger(dim) && dim > 0;
  if (isName || isSize) return "";
  const notADim = `${subject}: ${JSON.stringify(dim)} is not a dim`;
  return typeof dim === "string" && (COMPUTING.test(dim) || /^\d/.test(dim))
    ? `${notADim}; write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }`
    : `${notADim}; write a name such as "M", or a positive number`;
}
