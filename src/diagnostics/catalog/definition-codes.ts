/** Mistakes in the parts of `kernel(name, spec, body)` and `op(name, spec, forward)`. */
import { suggestName, duplicatePackageHint, defineCode } from "../message.js";
export const pythonName = defineCode("python-name", {
  invalid: (subject: string, name: unknown) => [
    `${subject}: ${JSON.stringify(name)} cannot be a Python name`,
    `${typeof name === "string" && /^[A-Za-z_][\w\- .]*$/.test(name) ? `write ${JSON.stringify(name.replaceAll(/\W/g, "_"))}` : "use letters, digits and _"}`,
  ],
  tooLong: (length: number, longest: number) => [
    `kernel: a name of ${length} letters is too long for a file's`,
    `use up to ${longest}`,
  ],
  provider: (kernel: string, name: string) => [
    `${kernel}: the provider ${name} cannot be a Python name`,
    `use letters, digits and _`,
  ],
  function: (name: unknown) => `extern: ${JSON.stringify(name)} is not the name of a Python function`,
  torch: (name: string, role: string) => [
    `reference: ${JSON.stringify(name)} cannot be ${role} in Python`,
    `write an identifier, as in x.sum(1, { keepdim: true })`,
  ],
  namespace: (operator: string, namespace: string) => [
    `${operator}: ${JSON.stringify(namespace)} cannot be a namespace`,
    `use letters, digits and _`,
  ],
});

export const reservedName = defineCode("reserved-name", {
  namespace: (operator: string, namespace: string, owner: string) => [
    `${operator}: the namespace ${namespace} is ${owner}'s own`,
    `use your project's name`,
  ],
  provider: (kernel: string, name: string) => [
    `${kernel}: ${name} is always measured`,
    `give the provider another name`,
  ],
  launch: (kernel: string, param: string, python: string, reserved: readonly string[]) => [
    `${kernel}: ${param} would be ${python} in Python, which a launch of Triton takes for itself`,
    `give it another name. Taken are ${reserved.join(", ")}`,
  ],
});

const SECOND_IS_SPEC = "the second argument is the spec, not";

export const missingPart = defineCode("missing-part", {
  params: (kernel: string, value: string) => [
    `${kernel}: params is ${value}`,
    `list the kernel's arguments, as in params: { x: tensor(tl.float32, ["N"]) }`,
  ],
  operatorParams: (operator: string, value: string) => [
    `${operator}: params is ${value}`,
    `list its inputs and outputs, as in params: { x: tensor(tl.float32, ["N"]) }`,
  ],
  name: (value: string) => [
    `kernel: the first argument is its name, not ${value}`,
    `write kernel("name", { … }, ({ x, N }) => { … })`,
  ],
  spec: (kernel: string, value: string) => [
    `${kernel}: ${SECOND_IS_SPEC} ${value}`,
    `write kernel("${kernel}", { params: …, grid: … }, ({ x, N }) => { … })`,
  ],
  operatorSpec: (operator: string, value: string) => [
    `${operator}: ${SECOND_IS_SPEC} ${value}`,
    `write op("${operator}", { params: … }, ({ x }) => { … })`,
  ],
  grid: (kernel: string) => [`${kernel}: grid is missing`, `write grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]`],
  body: (kernel: string) => `${kernel}: the third argument is the kernel's function`,
  forward: (operator: string) => `${operator}: the third argument is the function that calls kernels`,
  backward: (operator: string, value: string) => [
    `${operator}: the fourth argument is the function that gives gradients, not ${value}`,
    `leave it out if there are none`,
  ],
  extraArgument: (name: string, limit: number, extra: string) => [
    `${name}: it is defined by ${limit} arguments, and ${extra} is one more`,
    `leave it out`,
  ],
});

export const notAKernel = defineCode("not-a-kernel", {
  value: () => [`this is not a kernel`, `pass the value that kernel(…) returned${duplicatePackageHint()}`],
  promise: () => [`this is a promise and not a kernel`, `pass kernel(…) itself, without build(…)`],
  file: (name: string) => [
    `main: the kernel ${name} stands where the file belongs`,
    `write main(import.meta, ${name}), or main(module, ${name}) in a CommonJS file`,
  ],
});

/** Names from Triton's decorators and launch options that authors may write as a part of the spec. */
const PARTS: Readonly<Record<string, string>> = {
  configs: 'autotune: { key: ["N"], configs: [{ BLOCK: 64 }] }, or config: { BLOCK: 64 } for one',
  key: 'autotune: { key: ["N"], configs: […] }',
  numWarps: "config: { BLOCK: 64, numWarps: 4 }",
  numStages: "config: { BLOCK: 64, numStages: 3 }",
  name: "the kernel's name as the first argument of kernel(…)",
  args: 'params: { x: tensor(tl.float32, ["N"]) }',
  body: "the kernel's function as the third argument of kernel(…)",
  specialise: 'warpSpecialize: "auto"',
  specialize: 'warpSpecialize: "auto"',
};

function formatRemedy(part: string, names: readonly string[]): string {
  const aliasKey = suggestName(part, Object.keys(PARTS));
  const suggestion = suggestName(part, names);
  if (suggestion !== undefined && !Object.hasOwn(PARTS, part)) return `write ${suggestion}`;
  return aliasKey === undefined ? `it has ${names.join(", ")}` : `write ${PARTS[aliasKey]}`;
}

export const unknownPart = defineCode("unknown-part", (kernel: string, part: string, names: readonly string[]) => [
  `${kernel}: ${part} is not a part of a spec`,
  `${formatRemedy(part, names)}`,
]);

const formatValue = (value: unknown): string =>
  typeof value === "bigint" ? `${value}n` : JSON.stringify(value, finite);
const finite = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;

export const specValue = defineCode("spec-value", {
  /** `mistake` describes the actual value: `dims.H is 3`. */
  part: (kernel: string, mistake: string, part: string, expected: string) => [
    `${kernel}: ${mistake}`,
    `${part} must be ${expected}`,
  ],
  tolerance: (kernel: string, tolerance: unknown) => [
    `${kernel}: tolerance is ${formatValue(tolerance)}`,
    `it is { rtol: 1e-3, atol: 1e-3 }, numbers from 0 up, or one of them, and such parts by the name of an output, { q: { atol: 1 } }`,
  ],
  toleratedOutput: (kernel: string, name: string, outputs: readonly string[], suggestion: string | undefined) => [
    `${kernel}: tolerance has ${name}, which is no output`,
    `${suggestion ? `write ${suggestion}` : `the outputs are ${outputs.join(", ")}`}`,
  ],
  shareOfFloats: (kernel: string, outputs: string) => [
    `${kernel}: tolerance has a share of ${outputs}`,
    `each float must be within rtol and atol, so leave share out`,
  ],
  toleranceOfIntegers: (kernel: string, output: string) => [
    `${kernel}: tolerance has rtol or rms of ${output}, which holds integers`,
    `give atol, how far they may be off, as in ${output}: { atol: 1 }`,
  ],
  triton: (kernel: string, version: unknown) => [
    `${kernel}: triton is ${formatValue(version)}`,
    `it is "3.6" or "3.9"`,
  ],
  warpSpecialize: (kernel: string, value: unknown) => [
    `${kernel}: warpSpecialize is ${formatValue(value)}`,
    `it is "auto", "never" or "always"`,
  ],
  sameStrides: (kernel: string, tensor: string, reason: string) => [
    `${kernel}: sameStrides lists ${tensor}, ${reason}`,
    `list tensors of params with the same dims, each in one group`,
  ],
  flops: (kernel: string, count: unknown) => [
    `${kernel}: flops gives ${String(count)}`,
    `it gives a number, as in 2 * M * N * K`,
  ],
});

export const noLaunchCache = defineCode("no-launch-cache", (kernel: string, reason: string) => [
  `${kernel} has no launch cache: ${reason}`,
  `leave launch: "fast" out, in the spec or as --launch fast`,
]);

export const notSpecialized = defineCode("not-specialized", {
  required: (kernel: string, reason: string) => [
    `${kernel} has no warp-specialized form: ${reason}`,
    `write warpSpecialize: "never" to launch the plain kernel instead`,
  ],
  plain: (kernel: string, reason: string) => [
    `${kernel} is not warp-specialized: ${reason}`,
    `the wrapper launches the plain kernel on every GPU`,
  ],
});

export const specShapes = defineCode("spec-shapes", {
  missing: (kernel: string, index: number, sizes: readonly string[]) => [
    `${kernel}: shapes[${index}] has no ${sizes.join(", no ")}`,
    `give each size a number`,
  ],
  unknown: (kernel: string, index: number, key: string, names: readonly string[]) => [
    `${kernel}: shapes[${index}] gives ${key}, which callers do not pass`,
    `it may give ${names.join(", ") || "nothing"}`,
  ],
  notASize: (kernel: string, index: number, size: string, value: unknown) => [
    `${kernel}: shapes[${index}]: ${size} is ${JSON.stringify(value)}`,
    `it is a whole number from 0 up`,
  ],
});

export const kernelResult = defineCode("kernel-result", (kernel: string) => [
  `${kernel}: the kernel's function returns something`,
  `store it instead, tl.store(y.at(i), x), and return nothing`,
]);

export const unusedTensor = defineCode("unused-tensor", {
  input: (kernel: string, tensor: string) => [`${kernel}: the tensor ${tensor} is never used`, `remove it from params`],
  output: (kernel: string, tensor: string) => [
    `${kernel}: nothing is stored to the output ${tensor}`,
    `write tl.store(${tensor}.at(…), …), or remove it from params`,
  ],
});

export const noSource = defineCode("no-source", (kernel: string) => [
  `${kernel}: its source cannot be read, so names come from ops and hidden coercions go unnoticed`,
  `build from the TypeScript file`,
]);

export const tritonVersion = defineCode("triton-version", {
  /** The kernel was written for 3.6. */
  rejected: (requirement: string) => [`${requirement}, and the kernel sets triton: "3.6"`, `set triton: "3.9"`],
  recommended: (requirement: string) => [requirement, `set triton: "3.9" in the kernel if you want that`],
});
