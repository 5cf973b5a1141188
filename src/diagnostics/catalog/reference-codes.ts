/** Mistakes in the torch parts of a spec: references, providers and inputs. */
import { defineCode } from "../message.js";

export const referenceCoercion = defineCode("reference-coercion", {
  tensor: () => [
    "reference: JavaScript's operators cannot compute with a torch value",
    "write its methods, x.mul(y) for x * y, x.matmul(y) for x @ y, x.gt(y) for x > y",
  ],
  number: () => [
    "reference: JavaScript's operators cannot compute with a recorded number",
    "write its methods, N.mul(2) for N * 2, N.floorDiv(2) for N // 2",
  ],
  index: () => [
    "reference: `[…]` is JavaScript's and takes no torch value",
    "write x.index_select(0, index) for x[index], or torch.gather(x, 1, index) for one of each row",
  ],
  assigned: () => [
    "reference: a property of a torch value cannot be set",
    "use the result of a function, such as torch.where(condition, a, b)",
  ],
  spread: () => ["reference: a torch value cannot be spread", "take its items, as in const [a, b] = torch.sort(x)"],
});

export const referenceInPlace = defineCode("reference-in-place", (name: string) => [
  `reference: ${name} changes a tensor in place, which cannot be recorded`,
  `write ${name.endsWith("_") ? `${name.slice(0, -1)}(…)` : "it without inplace"} and use its result`,
]);

export const referenceArgument = defineCode("reference-argument", {
  method: (key: string, names: readonly string[]) => [
    `reference: a number has no .${key}`,
    `it has ${names.join(", ")}`,
  ],
  foreign: (key: string, remedy: string) => [`${key}: a number of a reference has none`, `write ${remedy}`],
  torchItself: () => ["reference: torch is not a function", "call one of its functions, such as torch.matmul(a, b)"],
  choose: () => "reference: choose takes two tensors or two numbers",
  dtype: (name: string) => `reference: no input and no constexpr has the dtype ${name}`,
  path: (path: string, dtype: string | undefined) => [
    `reference: torch.${path} is not a value here`,
    `${dtype ? `write tl.${dtype}` : "dtypes are those of tl"}`,
  ],
  allInputs: () => [
    "reference: the function's first argument has all inputs",
    "take those that you need by name, ({ x }, torch) => …",
  ],
  unknown: (name: string, names: readonly string[]) => [
    `reference: there is no input ${name}`,
    `there are ${names.join(", ")}, to take by name, ({ ${names[0] ?? "x"} }, torch) => …`,
  ],
  config: (name: string) => [
    `reference: ${name} differs between the configs, and the result may not`,
    `compute it without ${name}`,
  ],
  function: () => [
    "reference: a function of JavaScript's cannot be recorded, as torch.vmap takes one",
    "write it with tensors of one more axis, or in Python, reference: python`…`",
  ],
  kind: (value: string) => [
    `reference: an argument is a torch value, a number, a boolean, a string or a list of these`,
    `this one is ${value}`,
  ],
});

export const referenceResult = defineCode("reference-result", {
  count: (results: string, outputs: string, names: readonly string[]) => [
    `reference: gives ${results}, the kernel has ${outputs} (${names.join(", ") || "declare one, z: tensor.out(…)"})`,
    `give one for each`,
  ],
  nothing: (name: string) => [
    `reference: returns nothing, so the result of ${name} is lost`,
    `write return before it, or leave the braces out`,
  ],
  unknown: (name: string, outputs: readonly string[]) => [
    `reference: gives ${name}, which is not an output`,
    `the outputs are ${outputs.join(", ")}`,
  ],
  notTorch: (output: string) => [
    `reference: gives no torch expression for ${output}`,
    `return one, such as torch.matmul(a, b)`,
  ],
  /** The error that PyTorch would raise when the result is compared. */
  rejected: (reason: string) => reason,
});

export const referenceFlag = defineCode("reference-flag", {
  unused: (flag: string) => [
    `reference: takes ${flag}, and no result depends on it`,
    `JavaScript treats every recorded value as true, so write ${flag}.choose(a, b) instead of ${flag} ? a : b, or leave ${flag} out`,
  ],
  optional: (tensor: string) => [
    `reference: JavaScript takes the optional tensor ${tensor} for given in every call`,
    `write ${tensor}.otherwise(fallback), whose fallback replaces it where a call leaves it out`,
  ],
});

export const torchCall = defineCode("torch-call", (name: string, reason: string) => `${name}: ${reason}`);

export const specInputs = defineCode("spec-inputs", {
  byName: () => "inputs: return an object of tensors by name, such as { index: torch.randint(0, N, [M]) }",
  unknown: (name: string, names: readonly string[]) => [
    `inputs: ${name} is not a tensor that the kernel reads`,
    `those are ${names.join(", ")}`,
  ],
  shape: (name: string, expected: readonly number[], actual: readonly number[]) => [
    `inputs: ${name} must have shape [${expected.join(", ")}], got [${actual.join(", ")}]`,
    `make it of the sizes that inputs gets`,
  ],
  range: (reason: string) => [`inputs: ${reason}`, `draw it within the declared range, or declare another`],
  notTorch: (name: string) => `inputs: ${name} is not a torch expression, such as torch.rand([N])`,
});
