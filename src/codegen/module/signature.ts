/** What the runtime needs to know about a lowered kernel to make inputs, call it and check it; plain data. */
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
import { optionalSizes } from "../../analysis/optional-sizes.js";
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
} from "../../ir/nodes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import { roundingProfileOf, operatorRoundingProfile } from "../../analysis/rounding-profile.js";
import { sharedStrides } from "../../analysis/preconditions.js";
import { tileSizes } from "../../analysis/tile-sizes.js";
import { rangeOf, walkAll } from "../../ir/walk.js";
import { hostInputs } from "../body/host-expressions.js";
import { unboundSizes, givenSizes, numberParams } from "../names/call-order.js";
import { drawArguments, drawnTensors } from "../reference/drawn-inputs.js";
import type { KernelNames } from "../names/kernel-names.js";
import { kernelNames, moduleNames } from "./names.js";

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
    contracted: contracted(ir),
    arithmetic: roundingProfileOf(ir),
    ...atomicsOf(ir),
  };
}

/** What the parameters of the jit function are; which of them it has depends on its body. */
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
  const described = new Set(tensorsViaDescriptor(ir).map(({ param }) => param));
  const firsts = new Map(sharedStrides(ir).map(({ param, as }) => [param, as.name] as const));
  return paramsOf(ir, "tensor").map((param) => ({
    name: param.name,
    python: names.tensors.get(param.name)!,
    role: param.role,
    dtype: dtypeOf(param.dtype),
    dims: param.dimNames,
    optional: param.optional,
    contiguous: param.contiguous,
    ...(described.has(param) && { described: true }),
    ...(firsts.has(param) && { stridesOf: firsts.get(param)! }),
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

/** A number, or the name of a size. */
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
  const used = hostInputs(range);
  return { range: { uses: ir.params.flatMap(({ name, value }) => (used.has(value) ? [name] : [])) } };
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

/** The arguments and results of the module's `draw_inputs`, if the author says how inputs are drawn. */
function drawnSignature(ir: KernelIR, names: KernelNames): Pick<Signature, "drawn"> {
  const tensors = drawnTensors(ir).map(({ name }) => name);
  if (tensors.length === 0) return {};
  const args = drawArguments(ir).map((param) => ({ name: param.name, python: pythonName(param, names) }));
  return { drawn: { arguments: args, tensors } };
}

/** The name of a number in the jit function and the wrapper. */
function pythonName({ value }: ScalarParam | SizeParam | ConstexprParam, names: KernelNames): string {
  return names.parameters.get(value)!;
}

/** An operator's signature: that of its face, with the kernels' functions. */
export function operatorSignature(operator: OperatorIR): Signature {
  const { face, kernels, backward } = operator;
  // In the order in which the module has them.
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

type Given = Readonly<Record<string, number | boolean | string>>;

/** The author's shapes: their sizes, and what else they give. */
export function shapesOf(ir: KernelIR): {
  readonly shapes: readonly Readonly<Record<string, number>>[];
  readonly arguments: readonly Given[];
} {
  // A size of the result alone is an argument of the wrapper, and a size all the same.
  const isArgument = (name: string) => numberParams(ir).some((param) => !isSizeParam(param) && param.name === name);
  const part = (shape: Given, wanted: boolean) =>
    Object.fromEntries(Object.entries(shape).filter(([name]) => isArgument(name) === wanted));
  return {
    shapes: ir.shapes.map((shape) => part(shape, false) as Record<string, number>),
    arguments: ir.shapes.map((shape) => part(shape, true)),
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

function contracted(ir: KernelIR): readonly string[] {
  const tensors = paramsOf(ir, "tensor");
  const dims = (roles: readonly string[]) =>
    new Set(tensors.filter((param) => roles.includes(param.role)).flatMap((param) => param.dimNames));
  const outputs = dims(["out", "inout"]);
  // A size that bounds an index is indexed, not summed over.
  const picked = new Set<unknown>(tensors.flatMap((param) => rangeSignature(ir, param).range?.uses ?? []));
  return [...dims(["in"])].filter(
    (dim): dim is string => typeof dim === "string" && !outputs.has(dim) && !picked.has(dim),
  );
}

/** How atomics make results depend on the order of programs. */
function atomicsOf(ir: KernelIR): Pick<Signature, "unordered" | "waits"> {
  let [unordered, atomic, loops] = [false, false, false];
  walkAll(ir, (statement) => {
    if (statement.kind === "while") loops = true;
    if (statement.kind !== "op" || statement.op.effect !== "atomic") return;
    atomic = true;
    if (statement.results.some(({ type }) => type.kind === "tile" && isFloatElem(type.dtype))) unordered = true;
  });
  return { ...(unordered && { unordered }), ...(atomic && loops && { waits: true }) };
}
