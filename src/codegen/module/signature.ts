/**
 * The signature of a lowered kernel, as plain data: the runtime uses it to create inputs, call the kernel and check
 * results.
 */
import type {
  ConstexprSignature,
  KernelArgument,
  PointerSignature,
  RangeSignature,
  ScalarSignature,
  Signature,
  SignatureDType,
  TensorSignature,
} from "../../compiled/compiled-kernel.js";
import { type Elem, isFloatElem } from "../../types/dtype.js";
import { optionalSizes } from "../../analysis/launch-facts.js";
import { tensorsViaDescriptor, requiredDivisors } from "../../analysis/descriptor-tensors.js";
import {
  type ConstexprParam,
  isMemoryParam,
  isSizeParam,
  type KernelIR,
  type Param,
  paramsOf,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type Value,
  type OperatorIR,
} from "../../ir/nodes.js";
import { roundingProfileOf, operatorRoundingProfile } from "../../analysis/rounding-profile.js";
import { sharedStrides } from "../../analysis/preconditions.js";
import { tileSizes } from "../../analysis/dtype-bindings.js";
import { rangeOf, walkAll } from "../../ir/walk.js";
import { hostInputs } from "../body/print-op.js";
import { drawArguments, authorInputs } from "../reference/drawn-inputs.js";
import { type KernelNames, namesOfKernel, unboundSizes, givenSizes, numberParams } from "../names/kernel-names.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { Names } from "../names/names.js";
import { libraryNames } from "../library/library.js";
import { LAUNCH_CACHE_NAMES } from "../wrapper/launch-cache.js";
import { TENSORS, WRAP_TRITON, SPECIALIZED_LOCALS, DESCRIPTOR_CLASS } from "../wrapper/launch.js";
import { TRITON_DTYPES } from "../wrapper/numbers.js";

export function signatureOf(ir: KernelIR): Signature {
  const names = kernelNames(ir);
  const multiples = requiredDivisors(ir);
  const optional = optionalSizes(ir).map(({ param }) => param.name);
  const gpu = paramsOf(ir, "device").map(({ name }) => name);
  const tiles = tileSizes(ir).filter(({ param }) => param.from === "dim");
  return {
    name: names.wrapper,
    jit: names.jit,
    tensors: tensorSignatures(ir, names),
    pointers: paramsOf(ir, "pointer").map((param) => pointerSignature(param, names)),
    scalars: paramsOf(ir, "scalar").map((param) => scalarSignature(ir, param, names)),
    constexprs: paramsOf(ir, "constexpr").map((param) => constexprSignature(ir, param, names)),
    sizes: unboundSizes(ir).map(({ name }) => name),
    ...(gpu.length > 0 && { gpu }),
    ...(optional.length > 0 && { optionalSizes: optional }),
    ...(Object.keys(multiples).length > 0 && { multiples }),
    ...(tiles.length > 0 && {
      tileSizes: Object.fromEntries(tiles.map(({ param, least }) => [param.name, least])),
    }),
    givenSizes: givenSizes(ir).map((param) => ({ name: param.name, python: pythonName(param, names) })),
    ...drawnSignature(ir, names),
    dtypes: dtypeVariables(ir),
    contracted: contractedSizes(ir),
    arithmetic: roundingProfileOf(ir),
    ...atomicsOf(ir),
  };
}

/** All possible parameters of the jit function. The function itself has only those that its body uses. */
export function kernelArguments(ir: KernelIR): readonly KernelArgument[] {
  const names = kernelNames(ir);
  return ir.params.flatMap((param): readonly KernelArgument[] => {
    const { name } = param;
    if (param.kind !== "tensor") return [{ python: names.parameters.get(param.value)!, name }];
    const strides = names.strides
      .get(name)!
      .flatMap((python, axis) => (python === undefined ? [] : [{ python, name, axis }]));
    return [{ python: names.parameters.get(param.pointer)!, name }, ...strides];
  });
}

function tensorSignatures(ir: KernelIR, names: KernelNames): readonly TensorSignature[] {
  const tensorsWithDescriptor = new Set(tensorsViaDescriptor(ir).map(({ param }) => param));
  const strideOwners = new Map(sharedStrides(ir).map(({ param, as }) => [param, as.name] as const));
  return paramsOf(ir, "tensor").map((param) => ({
    name: param.name,
    python: names.tensors.get(param.name)!,
    role: param.role,
    dtype: dtypeOf(param.dtype),
    dims: param.dimNames,
    optional: param.optional,
    contiguous: param.contiguous,
    ...(tensorsWithDescriptor.has(param) && { described: true }),
    ...(strideOwners.has(param) && { stridesOf: strideOwners.get(param)! }),
    ...rangeSignature(ir, param),
    ...(param.partition && {
      partition: { size: param.partition.total.parameter!, holds: param.partition.holds },
    }),
  }));
}

function pointerSignature(param: PointerParam, names: KernelNames): PointerSignature {
  return {
    name: param.name,
    python: names.tensors.get(param.name)!,
    dtype: dtypeOf(param.dtype),
    optional: param.given !== undefined,
    ...(param.numel !== undefined && { numel: nameOf(param.numel) }),
  };
}

/** The number, or the name of the size. */
const nameOf = (size: Value | number): number | string => (typeof size === "number" ? size : size.parameter!);

function scalarSignature(ir: KernelIR, param: ScalarParam, names: KernelNames): ScalarSignature {
  return {
    name: param.name,
    python: pythonName(param, names),
    dtype: param.dtype as string,
    ...(param.default !== undefined && { default: param.default }),
    ...rangeSignature(ir, param),
  };
}

function rangeSignature(ir: KernelIR, param: Param): { readonly range?: RangeSignature } {
  const range = rangeOf(param);
  if (range === undefined) return {};
  const usedValues = hostInputs(range);
  return { range: { uses: ir.params.flatMap(({ name, value }) => (usedValues.has(value) ? [name] : [])) } };
}

function constexprSignature(ir: KernelIR, param: ConstexprParam, names: KernelNames): ConstexprSignature {
  return {
    name: param.name,
    python: pythonName(param, names),
    kind: param.of,
    from: param.from,
    ...(param.choices && { choices: param.choices }),
    ...(param.computedByConfig && { computedByConfig: true }),
    ...(param.variable && { variable: param.variable.name }),
    ...(param.default !== undefined && { default: param.default }),
    ...rangeSignature(ir, param),
  };
}

/** The arguments and results of the module's `draw_inputs`, if the author defines how inputs are drawn. */
function drawnSignature(ir: KernelIR, names: KernelNames): Pick<Signature, "drawn"> {
  const tensors = authorInputs(ir).map(({ name }) => name);
  if (tensors.length === 0) return {};
  const args = drawArguments(ir).map((param) => ({ name: param.name, python: pythonName(param, names) }));
  return { drawn: { arguments: args, tensors } };
}

/** The name of a number in the jit function and the wrapper. */
function pythonName({ value }: ScalarParam | SizeParam | ConstexprParam, names: KernelNames): string {
  return names.parameters.get(value)!;
}

/** The signature of an operator: that of its face kernel, with the jit functions of its kernels. */
export function operatorSignature(operator: OperatorIR): Signature {
  const { signature: face, kernels, backward } = operator;
  // Names must be taken in the same order as in the emitted module.
  const module = moduleNames();
  kernelNames(face, undefined, module);
  const jits = kernels.map((ir) => kernelNames(ir, undefined, module).jit);
  return {
    ...signatureOf(face),
    jit: jits[0]!,
    kernels: jits,
    ...(backward && { gradients: Object.keys(backward.results) }),
    arithmetic: operatorRoundingProfile(operator),
  };
}

type ShapeValues = Readonly<Record<string, number | boolean | string>>;

/** The author's shapes, split into sizes and arguments. */
export function shapesOf(ir: KernelIR): {
  readonly shapes: readonly Readonly<Record<string, number>>[];
  readonly arguments: readonly ShapeValues[];
} {
  // A size that only the result has is an argument of the wrapper, but it counts as a size here.
  const isArgument = (name: string) => numberParams(ir).some((param) => !isSizeParam(param) && param.name === name);
  const selectEntries = (shape: ShapeValues, shouldBeArgument: boolean) =>
    Object.fromEntries(Object.entries(shape).filter(([name]) => isArgument(name) === shouldBeArgument));
  return {
    shapes: ir.shapes.map((shape) => selectEntries(shape, false) as Record<string, number>),
    arguments: ir.shapes.map((shape) => selectEntries(shape, true)),
  };
}

function dtypeOf(elem: Elem): SignatureDType {
  return typeof elem === "string" ? elem : { variable: elem.name };
}

function dtypeVariables(ir: KernelIR): Readonly<Record<string, readonly string[]>> {
  const elems = ir.params.map((param) =>
    isMemoryParam(param) ? param.dtype : param.kind === "constexpr" ? param.variable : undefined,
  );
  return Object.fromEntries(
    elems.flatMap((elem) =>
      elem === undefined || typeof elem === "string" ? [] : [[elem.name, elem.members] as const],
    ),
  );
}

function contractedSizes(ir: KernelIR): readonly string[] {
  const tensors = paramsOf(ir, "tensor");
  const dims = (roles: readonly string[]) =>
    new Set(tensors.filter((param) => roles.includes(param.role)).flatMap((param) => param.dimNames));
  const outputs = dims(["out", "inout"]);
  // A size that bounds an index tensor is indexed, not summed over.
  const indexSizes = new Set<unknown>(tensors.flatMap((param) => rangeSignature(ir, param).range?.uses ?? []));
  return [...dims(["in"])].filter(
    (dim): dim is string => typeof dim === "string" && !outputs.has(dim) && !indexSizes.has(dim),
  );
}

/** Effects of atomics: `unordered` results depend on the order of programs, and `waits` marks possible spin loops. */
function atomicsOf(ir: KernelIR): Pick<Signature, "unordered" | "waits"> {
  let [unordered, hasAtomics, hasLoop] = [false, false, false];
  walkAll(ir, (statement) => {
    if (statement.kind === "while") hasLoop = true;
    if (statement.kind !== "op" || statement.op.effect !== "atomic") return;
    hasAtomics = true;
    if (statement.results.some(({ type }) => type.kind === "tile" && isFloatElem(type.dtype))) unordered = true;
  });
  return { ...(unordered && { unordered }), ...(hasAtomics && hasLoop && { waits: true }) };
}

// The names of a module: its reserved names, which no author's name may shadow, and the names of its kernels.

/** The names that modules export, import in addition to `tl`, and use as locals of wrappers. */
const EXPORTS = ["kernel_fn", "reference_fn", "get_inputs", "draw_inputs", "SHAPES", "IN_PLACE"];
const IMPORTS = [WRAP_TRITON, DESCRIPTOR_CLASS, TRITON_DTYPES];
const LOCALS = ["grid", "meta", "device", TENSORS, ...SPECIALIZED_LOCALS];

/** All names that a module may contain in addition to those of its kernels. */
const MODULE_NAMES: ReadonlySet<string> = new Set([
  ...EXPORTS,
  ...IMPORTS,
  ...LOCALS,
  ...LAUNCH_CACHE_NAMES,
  ...libraryNames,
]);

/** The names of a module before any kernel is added. */
export function moduleNames(): Names {
  const names = new Names();
  for (const name of MODULE_NAMES) names.reserve(name);
  return names;
}

/** Adds the kernel's names to `module`, the names in use. */
export function kernelNames(ir: KernelIR, source?: SourceIndex, module: Names = moduleNames()): KernelNames {
  // Sizes, numbers and strides have the same names in the kernel and in the wrapper.
  return namesOfKernel(ir, source, module, moduleNames());
}
