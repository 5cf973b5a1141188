/** Mistakes in PyTorch operators, and in the kernels that they call. */
import { defineCode } from "../message.js";

export const operatorParams = defineCode("operator-params", {
  param: (operator: string, param: string, reason: string) => `${operator}: ${param} ${reason}`,
  noInput: (operator: string) => `${operator}: an operator needs a tensor that it reads`,
  noOutput: (operator: string) => [`${operator}: an operator needs an output`, `declare it, y: tensor.out(…)`],
  kernel: (operator: string, kernel: string, reason: string) => [
    `${operator}: its kernel ${kernel} cannot be part of it`,
    reason,
  ],
  standalone: (kernel: string, reason: string) => `${kernel}: ${reason}`,
});

export const operatorKernels = defineCode("operator-kernels", {
  none: (operator: string) => [`${operator}: it calls no kernel`, `write kernel.call({ … }) in its function`],
  sameName: (operator: string, kernel: string) => [
    `${operator}: two of its kernels are called ${kernel}`,
    `rename one`,
  ],
});

export const operatorResult = defineCode("operator-result", {
  notByName: (operator: string) => `${operator}: return tensors by name, such as return { y }`,
  dtype: (operator: string, output: string) => [
    `${operator}: ${output} has another dtype than declared`,
    `cast it, .to(…)`,
  ],
  shape: (operator: string, result: string, expected: string, shape: string) => [
    `${operator}: ${result} ${expected}, and has shape ${shape}`,
    `return one of shape ${expected}`,
  ],
  inputName: (operator: string, result: string) => [
    `${operator}: its function returns ${result}, which is an input's name`,
    `give it another`,
  ],
});

export const operatorAlias = defineCode("operator-alias", (operator: string, result: string, otherName: string) => [
  `${operator}: ${result} shares memory with ${otherName}`,
  `return a copy, .clone()`,
]);

export const operatorGradient = defineCode("operator-gradient", {
  integers: (operator: string, input: string) => [
    `${operator}: ${input} holds integers, which have no gradient`,
    `leave it out`,
  ],
  unused: (operator: string, output: string) => [
    `${operator}: backward does not use the gradient of ${output}, so what depends on ${output} alone would get none`,
    `add its part, or do not declare ${output} as an output`,
  ],
  noTensor: (operator: string) => [`${operator}: backward uses no tensor`, `use the gradient of an output`],
  size: (operator: string, size: string) => [
    `${operator}: no tensor that backward uses has the size ${size}`,
    `use one that has`,
  ],
});

export const tritonOp = defineCode("triton-op", {
  kernel: (operator: string, kernel: string, reason: string) => `${operator}: its kernel ${kernel}: ${reason}`,
  standalone: (kernel: string, reason: string) => `${kernel}: ${reason}`,
});

const IS_GIVEN_SHAPE = "and is given a tensor of shape";

export const kernelCall = defineCode("kernel-call", {
  outside: (kernel: string) => `${kernel}.call: a kernel is called inside op(…) only`,
  byName: (kernel: string) => `${kernel}.call: give the arguments by name, ${kernel}.call({ x })`,
  noOutput: (kernel: string, key: string, outputs: readonly string[]) => [
    `${kernel}.call: it gives no ${key}`,
    `its outputs are ${outputs.join(", ")}`,
  ],
  changesInput: (kernel: string, param: string, input: string, operator: string) => [
    `${kernel}.call: it would change ${input} through ${param}, and ${input} belongs to the caller of ${operator}`,
    `give ${param} a copy, .clone()`,
  ],
  rank: (kernel: string, param: string, expected: string, shape: string, remedy: string) => [
    `${kernel}.call: ${param} is ${expected}, ${IS_GIVEN_SHAPE} ${shape}`,
    `give one with ${remedy}`,
  ],
  size: (
    kernel: string,
    param: string,
    expected: string,
    [dim, bound]: readonly [dim: string | number, bound: string | number],
    shape: string,
  ) => [
    `${kernel}.call: ${param} is ${expected} with ${dim} = ${bound}, ${IS_GIVEN_SHAPE} ${shape}`,
    `give one whose ${dim} is ${bound}`,
  ],
  dtype: (kernel: string, param: string, expected: string, dtype: string) => [
    `${kernel}.call: ${param} is ${expected}, and is given ${dtype}`,
    `cast it, .to(…)`,
  ],
});
