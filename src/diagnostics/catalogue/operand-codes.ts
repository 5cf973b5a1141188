/** What can be wrong with what an op, a method or a property is given. */
import { defineCode } from "./define-code.js";

export const argumentList = defineCode("arguments", {
  count: (op: string, names: readonly string[], got: number) =>
    `${op}: takes ${names.length} arguments (${names.join(", ")}), got ${got}`,
  missing: (op: string, name: string) => `${op}: ${name} is missing`,
  kind: (op: string, name: string, given: string) =>
    `${op}: ${name} cannot be ${given}; give a tile, a constexpr or a number`,
  notList: (op: string, name: string) => `${op}: ${name} is a list; write it in brackets, […]`,
  /** Says first what is wrong. */
  notAValue: (what: string) => `${what}; give a tile, a constexpr or a number`,
  axis: (op: string) => `${op}: needs an axis; fold one axis at a time, tl.${op}(x, 0, …)`,
});

export const unknownOption = defineCode(
  "unknown-option",
  (op: string, option: string, known: readonly string[]) =>
    `${op}: no option ${option}; ${known.length > 0 ? `it has ${known.join(", ")}` : "it has none"}`,
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
  dtype: (type: string) => `dtype: ${type} has none; give it one with .to(tl.int32)`,
});

export const unmaskedView = defineCode(
  "unmasked-view",
  (op: string) =>
    `${op}: takes no mask, so each index of a view must be in bounds; say so with tl.inBounds(index), or use x.ptr.add(…)`,
);
