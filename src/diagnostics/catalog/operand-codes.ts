/** What can be wrong with what an op, a method or a property is given. */
import { suggestName, suggestUniqueName } from "../did-you-mean.js";
import { defineCode } from "./define-code.js";

export const argumentList = defineCode("arguments", {
  /** `call` is how the op is called. */
  count: (op: string, most: number, got: number, call: string) =>
    `${op}: takes ${most} ${most === 1 ? "argument" : "arguments"} by position, got ${got}; write ${call}`,
  missing: (op: string, name: string, call: string) => `${op}: ${name} is missing; write ${call}`,
  named: (op: string, name: string, call: string) => `${op}: ${name} goes by position, not by name; write ${call}`,
  promise: () => "this is a promise, and a kernel does not wait; remove async and await",
  kind: (op: string, name: string, given: string) =>
    `${op}: ${name} cannot be ${given}; give a tile, a constexpr or a number`,
  recorded: (op: string, name: string) =>
    `${op}: ${name} is a value of the reference, and tl computes with the kernel's; use torch and its methods, such as x.add(1)`,
  notList: (op: string, name: string) => `${op}: ${name} is a list; write it in brackets, […]`,
  /** Says first what is wrong. */
  notAValue: (what: string) => `${what}; give a tile, a constexpr or a number`,
  axis: (op: string) => `${op}: needs an axis; fold one axis at a time, tl.${op}(x, 0, …)`,
});

/** Options of Triton and PyTorch that have another name here. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  allow_tf32: 'inputPrecision: "ieee"',
  allowTf32: 'inputPrecision: "ieee"',
  default: "other",
  keepdim: "keepDims",
};

const otherName = (option: string): string | undefined =>
  Object.hasOwn(OTHER_NAMES, option) ? OTHER_NAMES[option] : undefined;

/** The option that was meant and takes the same value, if there is no doubt. */
export function suggestOption(option: string, known: readonly string[]): string | undefined {
  const meant = otherName(option) ?? suggestUniqueName(option, known);
  return meant !== undefined && known.includes(meant) ? meant : undefined;
}

function insteadOf(option: string, known: readonly string[]): string {
  const other = otherName(option) ?? suggestName(option, known);
  if (other !== undefined && known.includes(other.split(":")[0]!)) return `write ${other}`;
  return known.length > 0 ? `it has ${known.join(", ")}` : "it has none";
}

export const unknownOption = defineCode(
  "unknown-option",
  (op: string, option: string, known: readonly string[]) => `${op}: no option ${option}; ${insteadOf(option, known)}`,
);

export const unknownEffect = defineCode("unknown-effect", {
  extern: (given: unknown) => `extern: no effect ${String(given)}; it is pure, read, write or atomic`,
  raw: (given: unknown) => `raw: no effect ${String(given)}; it is pure, read or write`,
});

export const coercion = defineCode(
  "coercion",
  (type: string) =>
    `JavaScript cannot compute with a traced value (${type}); use its methods, such as .add(…), .lt(…), .eq(…)`,
);

export const missingProperty = defineCode("missing-property", {
  tensor: (name: string, type: string) => `${name}: needs a tensor argument of the kernel, this is ${type}`,
  transposed: (type: string) => `T: needs a tensor of rank 2, this is ${type}; use permute`,
  spread: (name: string, type: string) => `${name}: needs a tile of rank 1, this is ${type}; use expandDims`,
  given: () => "given: this is always there; declare it .optional() to let callers leave it out",
  stride: (axis: unknown) => `stride: there is no axis ${String(axis)}`,
  wideStride: () =>
    "stride: that of a contiguous tensor with int64 offsets is a product of sizes that int32 may not hold; multiply the sizes, N.to(tl.int64).mul(K)",
  dtype: (type: string) => `dtype: ${type} has none; give it one with .to(tl.int32)`,
});

export const unknownName = defineCode("unknown-name", {
  /** `of` is what was asked: `tl`, a tile, a tensor. */
  instead: (name: string, of: string, instead: string) => `${name}: ${of} has none; write ${instead}`,
  unlike: (name: string, of: string) => `${name}: ${of} has none; docs/language.md lists every name`,
  index: (of: string, instead: string) => `${of} has no elements by index; ${instead}`,
  results: (op: string, instead: string) => `${op}: gives one tile and no list; write ${instead}`,
  axes: (of: string) => `${of} has no [:, None]; write x.col for x[:, None], and x.row for x[None, :]`,
  iterated: (of: string, instead: string) => `${of} has no elements that JavaScript could take one by one; ${instead}`,
  set: (name: string, of: string) =>
    `${name}: ${of} cannot be changed; hold what changes in tl.mut(…) and set its .value`,
  argument: (name: string, kernel: string, known: readonly string[]) =>
    `${name}: ${kernel} has no such argument; it has ${known.join(", ")}`,
  arguments: (kernel: string, known: readonly string[]) =>
    `${kernel}: the kernel's function takes one object; write ({ ${known.join(", ")} }) => { … }`,
  undefined: (name: string, instead: string) =>
    `${name}: ${/^(?:block|thread|grid|_)/.test(name) ? "CUDA" : "Python"}'s name, not JavaScript's; write ${instead}`,
  unimported: (name: string, instead: string) => `${name} is not defined here; write ${instead}`,
  untaken: (name: string) =>
    `${name} is not defined here; take it in the function's first argument, ({ ${name}, … }) => …`,
  unexported: (name: string) => `${name} is not defined here; write import { ${name} } from "tilescript"`,
  undeclared: (name: string) =>
    `${name} is not defined here; make it with const, import it, or declare it among the params and take it, ({ ${name}, … }) => …`,
  constructed: (name: string) => `${name}: this is a function and no class; write ${name}(…) without new`,
  unquoted: (name: string) =>
    `${name} is not defined here; write "${name}" in quotes for the name of a size, take it in a function, ({ ${name} }) => …, or make it with const`,
  called: (dtype: string) => `${dtype}: a dtype is not a function; write x.to(tl.${dtype})`,
  property: (name: string) => `${name}: this is not a function; write x.${name}`,
  uncalled: (method: string, of: string) =>
    `${method}: ${of} is no value of the program; if it is a function, call it first, as in tl.programId(0).${method}(…)`,
  constant: () => "a const cannot be assigned; of state write acc.value = x, and make what JavaScript changes with let",
});

export const unmaskedView = defineCode(
  "unmasked-view",
  (op: string) =>
    `${op}: takes no mask, so each index of a view must be in bounds; say so with tl.inBounds(index), or use x.ptr.add(…)`,
);
