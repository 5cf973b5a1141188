/** The dims of a declared tensor: names of sizes, and numbers. */
import type { Fraction } from "./promote.js";

/** What a name cannot hold, of that which authors write to compute a size. */
type Computing = " " | "+" | "-" | "*" | "/" | "%" | "." | "(";
const COMPUTING = /[ +\-*/%.(]/;
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** Why the list is none of dims. The checker lets rarer characters pass, which the build refuses. */
export type WhyDims<Of extends string, Ds> = Ds extends string
  ? `${Of}: "${Ds}" is text, and the dims are a list; write ["${Ds}"]`
  : Ds extends readonly []
    ? `${Of}: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)`
    : Ds extends readonly unknown[]
      ? WhyEach<Of, Ds[number]>
      : "";
/** What is no dim. */
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

export function whyDims(of: string, dims: unknown): string {
  if (typeof dims === "string")
    return `${of}: ${JSON.stringify(dims)} is text, and the dims are a list; write [${JSON.stringify(dims)}]`;
  if (!Array.isArray(dims)) return `${of}: the second argument lists its dims, such as ["M", "K"]`;
  if (dims.length === 0)
    return `${of}: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)`;
  return dims.map((dim) => whyDim(of, dim)).find((why) => why !== "") ?? "";
}

export function whyDim(of: string, dim: unknown): string {
  const isName = typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim) && !(dim in Object.prototype);
  const isSize = typeof dim === "number" && Number.isInteger(dim) && dim > 0;
  if (isName || isSize) return "";
  const notADim = `${of}: ${JSON.stringify(dim)} is not a dim`;
  return typeof dim === "string" && (COMPUTING.test(dim) || /^\d/.test(dim))
    ? `${notADim}; write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }`
    : `${notADim}; write a name such as "M", or a positive number`;
}
