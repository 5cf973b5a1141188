/** Mistakes in the arguments of ops, methods and properties. */
import { suggestName, suggestUniqueName, defineCode } from "../message.js";
const GIVE_VALUE = "give a tile, a constexpr or a number";

export const FOLD_ONE = "fold one axis at a time";

export const argumentList = defineCode("arguments", {
  /** `call` is an example of a correct call. */
  count: (op: string, limit: number, count: number, call: string) => [
    `${op}: takes ${limit} ${limit === 1 ? "argument" : "arguments"} by position, got ${count}`,
    `write ${call}`,
  ],
  missing: (op: string, name: string, call: string) => [`${op}: ${name} is missing`, `write ${call}`],
  named: (op: string, name: string, call: string) => [`${op}: ${name} goes by position, not by name`, `write ${call}`],
  promise: () => ["this is a promise, and a kernel does not wait", "remove async and await"],
  kind: (op: string, name: string, value: string) => [`${op}: ${name} cannot be ${value}`, GIVE_VALUE],
  recorded: (op: string, name: string) => [
    `${op}: ${name} is a value of the reference, and tl computes with the kernel's`,
    `use torch and its methods, such as x.add(1)`,
  ],
  notList: (op: string, name: string) => [`${op}: ${name} is a list`, `write it in brackets, […]`],
  /** `subject` states the mistake. */
  notAValue: (subject: string) => [subject, GIVE_VALUE],
  axis: (op: string) => [`${op}: needs an axis`, `${FOLD_ONE}, tl.${op}(x, 0, …)`],
});

/** Options of Triton and PyTorch with a different name in TileScript. */
const RENAMED_OPTIONS: Readonly<Record<string, string>> = {
  allow_tf32: 'inputPrecision: "ieee"',
  allowTf32: 'inputPrecision: "ieee"',
  default: "other",
  keepdim: "keepDims",
};

const renamedOption = (option: string): string | undefined =>
  Object.hasOwn(RENAMED_OPTIONS, option) ? RENAMED_OPTIONS[option] : undefined;

/** The intended option, if it is unambiguous and accepts the same value. */
export function suggestOption(option: string, names: readonly string[]): string | undefined {
  const suggestion = renamedOption(option) ?? suggestUniqueName(option, names);
  return suggestion !== undefined && names.includes(suggestion) ? suggestion : undefined;
}

function formatRemedy(option: string, names: readonly string[]): string {
  const suggestion = renamedOption(option) ?? suggestName(option, names);
  if (suggestion !== undefined && names.includes(suggestion.replace(/:.*/s, ""))) return `write ${suggestion}`;
  return names.length > 0 ? `it has ${names.join(", ")}` : "it has none";
}

export const unknownOption = defineCode("unknown-option", (op: string, option: string, names: readonly string[]) => [
  `${op}: no option ${option}`,
  `${formatRemedy(option, names)}`,
]);

export const unknownEffect = defineCode("unknown-effect", {
  extern: (effect: unknown) => [`extern: no effect ${String(effect)}`, `it is pure, read, write or atomic`],
  raw: (effect: unknown) => [`raw: no effect ${String(effect)}`, `it is pure, read or write`],
});

export const coercion = defineCode("coercion", (type: string) => [
  `JavaScript cannot compute with a traced value (${type})`,
  `use its methods, such as .add(…), .lt(…), .eq(…)`,
]);

export const NEEDS_VECTOR = "needs a tile of rank 1, this is";
export const NEEDS_MATRIX = "T: needs a tensor of rank 2, this is";

export const missingProperty = defineCode("missing-property", {
  tensor: (name: string, type: string) => `${name}: needs a tensor argument of the kernel, this is ${type}`,
  transposed: (type: string) => [`${NEEDS_MATRIX} ${type}`, "use permute"],
  spread: (name: string, type: string) => [`${name}: ${NEEDS_VECTOR} ${type}`, `use expandDims`],
  given: () => ["given: this is always there", "declare it .optional() to let callers leave it out"],
  stride: (axis: unknown) => `stride: there is no axis ${String(axis)}`,
  wideStride: () => [
    "stride: that of a contiguous tensor with int64 offsets is a product of sizes that int32 may not hold",
    "multiply the sizes, N.to(tl.int64).mul(K)",
  ],
  dtype: (type: string) => [`dtype: ${type} has none`, `give it one with .to(tl.int32)`],
});

export const unknownName = defineCode("unknown-name", {
  /** `owner` is the object whose property was read: `tl`, a tile, a tensor. */
  instead: (name: string, owner: string, remedy: string) => [`${name}: ${owner} has none`, `write ${remedy}`],
  unknown: (name: string, owner: string) => [`${name}: ${owner} has none`, `docs/language.md lists every name`],
  index: (owner: string, remedy: string) => [`${owner} has no elements by index`, remedy],
  results: (op: string, remedy: string) => [`${op}: gives one tile and no list`, `write ${remedy}`],
  axes: (owner: string) => [`${owner} has no [:, None]`, `write x.col for x[:, None], and x.row for x[None, :]`],
  iterated: (owner: string, remedy: string) => [
    `${owner} has no elements that JavaScript could take one by one`,
    remedy,
  ],
  assigned: (name: string, owner: string) => [
    `${name}: ${owner} cannot be changed`,
    `hold a changing value in tl.mut(…) and set its .value`,
  ],
  argument: (name: string, kernel: string, names: readonly string[]) => [
    `${name}: ${kernel} has no such argument`,
    `it has ${names.join(", ")}`,
  ],
  arguments: (kernel: string, names: readonly string[]) => [
    `${kernel}: the kernel's function takes one object`,
    `write ({ ${names.join(", ")} }) => { … }`,
  ],
  undefined: (name: string, remedy: string) => [
    `${name}: ${/^(?:block|thread|grid|_)/.test(name) ? "CUDA" : "Python"}'s name, not JavaScript's`,
    `write ${remedy}`,
  ],
  unimported: (name: string, remedy: string) => [`${name} is not defined here`, `write ${remedy}`],
  undestructured: (name: string) => [
    `${name} is not defined here`,
    `take it in the function's first argument, ({ ${name}, … }) => …`,
  ],
  unexported: (name: string) => [`${name} is not defined here`, `write import { ${name} } from "tilescript"`],
  undeclared: (name: string) => [
    `${name} is not defined here`,
    `make it with const, import it, or declare it among the params and take it, ({ ${name}, … }) => …`,
  ],
  constructed: (name: string) => [`${name}: this is a function and no class`, `write ${name}(…) without new`],
  unquoted: (name: string) => [
    `${name} is not defined here`,
    `write "${name}" in quotes for the name of a size, take it in a function, ({ ${name} }) => …, or make it with const`,
  ],
  dtypeCall: (dtype: string) => [`${dtype}: a dtype is not a function`, `write x.to(tl.${dtype})`],
  propertyCall: (name: string) => [`${name}: this is not a function`, `write x.${name}`],
  functionAsValue: (method: string, owner: string) => [
    `${method}: ${owner} is no value of the program`,
    `if it is a function, call it first, as in tl.programId(0).${method}(…)`,
  ],
  constant: () => ["a const cannot be assigned", "assign state with acc.value = x; declare other variables with let"],
});

export const unmaskedView = defineCode("unmasked-view", (op: string) => [
  `${op}: takes no mask, so each index of a view must be in bounds`,
  `say so with tl.inBounds(index), or use x.ptr.add(…)`,
]);

export const defaultPrecision = defineCode("default-precision", () => [
  "dot: multiplies float32 in TF32, with 11 bits, on GPUs that have it",
  'state the precision: { inputPrecision: "tf32" }, or "ieee" for all bits of float32',
]);
