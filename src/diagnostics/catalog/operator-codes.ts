/** What can be wrong with an operator of PyTorch, and with the kernels that it calls. */
import { defineCode } from "./define-code.js";

export const operatorParams = defineCode("operator-params", {
  param: (operator: string, param: string, why: string) => `${operator}: ${param} ${why}`,
  noInput: (operator: string) => `${operator}: an operator needs a tensor that it reads`,
  noOutput: (operator: string) => `${operator}: an operator needs an output; declare it, y: tensor.out(…)`,
  kernel: (operator: string, kernel: string, why: string) =>
    `${operator}: its kernel ${kernel} cannot be part of it; ${why}`,
  alone: (kernel: string, why: string) => `${kernel}: ${why}`,
});

export const operatorKernels = defineCode("operator-kernels", {
  none: (operator: string) => `${operator}: it calls no kernel; write kernel.call({ … }) in its function`,
  sameName: (operator: string, kernel: string) => `${operator}: two of its kernels are called ${kernel}; rename one`,
});

export const operatorResult = defineCode("operator-result", {
  /** What the rule of results says, which is a type too. */
  rule: (sentence: string) => sentence,
  notByName: (operator: string) => `${operator}: return tensors by name, such as return { y }`,
  dtype: (operator: string, output: string) =>
    `${operator}: ${output} has another dtype than declared; cast it, .to(…)`,
  shape: (operator: string, what: string, wanted: string, shape: string) =>
    `${operator}: ${what} ${wanted}, and has shape ${shape}; return one of shape ${wanted}`,
  inputName: (operator: string, result: string) =>
    `${operator}: its function returns ${result}, which is an input's name; give it another`,
});

export const operatorAlias = defineCode(
  "operator-alias",
  (operator: string, result: string, other: string) =>
    `${operator}: ${result} shares memory with ${other}; return a copy, .clone()`,
);

export const operatorGradient = defineCode("operator-gradient", {
  /** What the rule of gradients says, which is a type too. */
  rule: (sentence: string) => sentence,
  integers: (operator: string, input: string) =>
    `${operator}: ${input} holds integers, which have no gradient; leave it out`,
  unused: (operator: string, output: string) =>
    `${operator}: backward does not use the gradient of ${output}, so what depends on ${output} alone would get none; add its part, or do not declare ${output} as an output`,
  noTensor: (operator: string) => `${operator}: backward uses no tensor; use the gradient of an output`,
  size: (operator: string, size: string) =>
    `${operator}: no tensor that backward uses has the size ${size}; use one that has`,
});

export const tritonOp = defineCode("triton-op", {
  kernel: (operator: string, kernel: string, why: string) => `${operator}: its kernel ${kernel}: ${why}`,
  alone: (kernel: string, why: string) => `${kernel}: ${why}`,
});

export const kernelCall = defineCode("kernel-call", {
  /** What the rule of arguments says, which is a type too. */
  rule: (sentence: string) => sentence,
  outside: (kernel: string) => `${kernel}.call: a kernel is called inside op(…) only`,
  byName: (kernel: string) => `${kernel}.call: give the arguments by name, ${kernel}.call({ x })`,
  noOutput: (kernel: string, key: string, outputs: readonly string[]) =>
    `${kernel}.call: it gives no ${key}; its outputs are ${outputs.join(", ")}`,
  changesInput: (kernel: string, param: string, owned: string, operator: string) =>
    `${kernel}.call: it would change ${owned} through ${param}, and ${owned} belongs to the caller of ${operator}; give ${param} a copy, .clone()`,
  rank: (kernel: string, param: string, wanted: string, shape: string, remedy: string) =>
    `${kernel}.call: ${param} is ${wanted}, and is given a tensor of shape ${shape}; give one with ${remedy}`,
  size: (
    kernel: string,
    param: string,
    wanted: string,
    [dim, bound]: readonly [dim: string | number, bound: string | number],
    shape: string,
  ) =>
    `${kernel}.call: ${param} is ${wanted} with ${dim} = ${bound}, and is given a tensor of shape ${shape}; give one whose ${dim} is ${bound}`,
  dtype: (kernel: string, param: string, wanted: string, given: string) =>
    `${kernel}.call: ${param} is ${wanted}, and is given ${given}; cast it, .to(…)`,
});
