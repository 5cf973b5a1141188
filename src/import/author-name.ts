/** Converts Python names to TypeScript names. */
import { snakeCase } from "../codegen/names/names.js";

/** Reserved words of JavaScript and names that a kernel file imports. */
const RESERVED: ReadonlySet<string> = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
    "false finally for function if implements import in instanceof interface let new null package private protected " +
    "public return static super switch this throw true try typeof undefined var void while with yield NaN Infinity " +
    "tl kernel pointer scalar constexpr main libdevice tensor descriptor"
  ).split(" "),
);

/** True for a name that every object has, such as `constructor`: no spec can have a part of that name. */
export const isOfObjects = (name: string): boolean => name in Object.prototype;

/** The name of an option or a method: `numWarps` for `num_warps`. */
export const camelCase = (python: string): string =>
  python.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Converts `pid_m` to `pidM` if the emitter converts that back to `pid_m`. Otherwise keeps the name. */
export function authorName(python: string): string {
  const plain = /^_+$/.test(python) ? "unused" : python;
  const camel = plain.replace(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const name = snakeCase(camel) === plain ? camel : plain;
  return RESERVED.has(name) ? `${name}_` : name;
}

/**
 * The name of a live range while it is translated: `x#1#2d` for an `x` that is assigned anew with another rank. No name
 * of Python has a `#`.
 */
export const liveRangeName = (python: string, index: number, suffix: string): string => `${python}#${index}#${suffix}`;

/** The name in the Python file, and what distinguishes its live range. */
export function splitName(name: string): { readonly python: string; readonly suffix: string } {
  const [python = name, , suffix = ""] = name.split("#");
  return { python, suffix };
}

export const pythonName = (name: string): string => splitName(name).python;
