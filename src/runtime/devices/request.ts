/** Turns a case into a request to the worker. */
import { join } from "node:path";
import type {
  TestCase,
  CompiledKernel,
  GivenTolerance,
  PointerSignature,
  Ranges,
  TensorSignature,
} from "../../compiled/compiled-kernel.js";
import { type DeviceProperties, H200 } from "../../compiled/device-properties.js";
import { declaredToleranceFor, declaredTolerance } from "../../compiled/declared-tolerance.js";
import { shapeOf } from "../cases/cases.js";
import { gradientTolerance, roundingUnit, type ExecutionMode, toleranceFor } from "../../compiled/tolerance.js";
import {
  type BenchRequest,
  type CallRequest,
  type CompileRequest,
  type Fill,
  type PrewarmRequest,
  type RunRequest,
  toWire,
  type VerifyRequest,
  type WireTensor,
} from "../worker/protocol.js";
import { propertiesOf, type Target } from "../system/gpu-targets.js";

/** A tensor's elements as bytes of the device's memory, in row-major order. */
export interface RawTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The dtype that a tensor has in a case, or what a pointer points to. */
export function dtypeOf(tensor: TensorSignature | PointerSignature, at: TestCase): string {
  return typeof tensor.dtype === "string" ? tensor.dtype : (at.dtypes[tensor.dtype.variable] ?? "float32");
}

/** The request for one case. `tuned` lets Triton choose the config instead of the case. */
export function verifyRequest(
  kernel: CompiledKernel,
  module: string,
  at: TestCase,
  options: {
    readonly passOut: boolean;
    readonly tuned?: boolean;
    readonly repeats?: number | undefined;
    /** A config of the warp-specialized kernel, to run besides. */
    readonly specialized?: number | undefined;
    readonly tolerance: GivenTolerance;
    /** The device that will run it. */
    readonly on: ExecutionMode;
  },
): VerifyRequest {
  const run = runRequest(kernel, module, at);
  return {
    ...run,
    type: "verify",
    config: options.tuned ? null : at.config,
    passOut: options.passOut,
    repeats: options.repeats ?? 1,
    reversible: !kernel.signature.waits,
    unordered: kernel.signature.unordered === true,
    specialized: options.specialized ?? null,
    gradients: gradientsOf(kernel, run).map(({ python }) => python),
    tolerances: tolerancesOf(kernel, run, at, options.on, options.tolerance),
    roundingUnit: roundingUnit(kernel.signature.arithmetic, at.dtypes, options.on),
  };
}

function tolerancesOf(
  kernel: CompiledKernel,
  run: RunRequest,
  at: TestCase,
  on: ExecutionMode,
  given: GivenTolerance = {},
) {
  const known = { sizes: kernel.sizes(at), dtypes: at.dtypes };
  const override = { ...kernel.tolerance, ...given };
  return Object.fromEntries([
    ...[...run.inputs, ...run.outputs]
      .filter(({ role }) => role !== "in")
      .map(
        ({ name, python, dtype }) =>
          [python, toleranceFor(dtype, kernel.signature, known, on, declaredToleranceFor(override, name))] as const,
      ),
    ...gradientsOf(kernel, run).map(
      ({ name, python, dtype }) =>
        [
          `${python}.grad`,
          gradientTolerance(dtype, kernel.signature, name, known, on, declaredTolerance(override)),
        ] as const,
    ),
  ]);
}

/** Inputs that have a gradient. */
function gradientsOf({ signature }: CompiledKernel, { inputs }: RunRequest): readonly WireTensor[] {
  return inputs.filter(({ name }) => signature.gradients?.includes(name));
}

/** The request to time one case. */
export function benchRequest(
  kernel: CompiledKernel,
  module: string,
  at: TestCase,
  {
    tuned = false,
    on,
    ...options
  }: Pick<BenchRequest, "warmup" | "iterations" | "providers" | "state"> & {
    readonly tuned?: boolean;
    readonly on: ExecutionMode;
  },
): BenchRequest {
  const run = runRequest(kernel, module, at);
  return {
    ...run,
    type: "bench",
    config: tuned ? null : at.config,
    tolerances: tolerancesOf(kernel, run, at, on),
    ...options,
  };
}

/** The request to compile and tune one case for the calls to come. */
export function prewarmRequest(kernel: CompiledKernel, module: string, at: TestCase): PrewarmRequest {
  return { ...runRequest(kernel, module, at), type: "prewarm", config: null };
}

/** The request to compile one case for a GPU. What a raw pointer reaches does not matter there; its dtype does. */
export function compileRequest(
  kernel: CompiledKernel,
  module: string,
  at: TestCase,
  target: Target,
  specialized: number | null = null,
): CompileRequest {
  const run = runRequest(kernel, module, at);
  const given = kernel.signature.pointers.filter(
    ({ name, numel }) => numel === undefined && !at.absent?.includes(name),
  );
  const pointed = given.map((pointer) =>
    pointerWire(pointer, { dtype: dtypeOf(pointer, at), shape: [1] }, { kind: "integers", low: 0, high: 1 }),
  );
  const gpu = kernel.signature.gpu && { gpu: gpuOf({ ...at.gpu, ...propertiesOf(target) }) };
  return { ...run, type: "compile", inputs: [...run.inputs, ...pointed], target: target.triton, specialized, ...gpu };
}

function pointerWire(
  { name, python }: PointerSignature,
  { dtype, shape }: Pick<RawTensor, "dtype" | "shape">,
  fill: Fill,
): WireTensor {
  return { name, python, role: "inout", dtype, shape, layout: "contiguous", fill };
}

/** The request to call the wrapper on `inputs`, which lie in files of `folder`. */
export function callRequest(
  kernel: CompiledKernel,
  module: string,
  at: TestCase,
  options: {
    readonly folder: string;
    readonly inputs: Readonly<Record<string, RawTensor>>;
    readonly tuned: boolean;
  },
): CallRequest {
  const { folder, inputs, tuned } = options;
  const { drawn: _, ...run } = runRequest(kernel, module, at);
  const fill = (python: string): Fill => ({ kind: "file", path: join(folder, `${python}.in`) });
  const pointers = kernel.signature.pointers.filter(({ name }) => name in inputs);
  const pointed = pointers.map((pointer) => pointerWire(pointer, inputs[pointer.name]!, fill(pointer.python)));
  return {
    ...run,
    type: "call",
    config: tuned ? null : at.config,
    inputs: [...run.inputs.map((tensor) => ({ ...tensor, fill: fill(tensor.python) })), ...pointed],
    folder,
    pointers: pointers.map(({ python }) => python),
  };
}

/** The arguments of the wrapper in a case. */
export function runRequest(kernel: CompiledKernel, module: string, at: TestCase): RunRequest {
  const { signature } = kernel;
  const [sizes, ranges] = [kernel.sizes(at), kernel.ranges(at)];
  const present = signature.tensors.filter(({ name }) => !at.absent?.includes(name));
  const wire = present.map((tensor) => wireTensor(tensor, at, sizes, ranges[tensor.name]));
  const pointed = signature.pointers.flatMap((pointer) => {
    if (pointer.numel === undefined || at.absent?.includes(pointer.name)) return [];
    const dtype = dtypeOf(pointer, at);
    return [pointerWire(pointer, { dtype, shape: shapeOf([pointer.numel], sizes) }, fillOf({}, dtype, undefined, at))];
  });
  return {
    module,
    jits: signature.kernels ?? [signature.jit],
    config: at.config,
    inputs: [...wire.filter((tensor) => tensor.role !== "out"), ...pointed],
    ...(signature.drawn && { drawn: drawnOf(kernel, at, sizes) }),
    outputs: wire.filter((tensor) => tensor.role === "out"),
    results: signature.tensors
      .filter(({ role }) => role !== "in")
      .map(({ name, python }) => (at.absent?.includes(name) ? null : python)),
    arguments: argumentsOf(kernel, at),
    ...(signature.gpu && { gpu: gpuOf(at.gpu) }),
    seed: at.seed,
  };
}

/** `multi_processor_count` and the others, as an emitted module has them. */
function gpuOf(gpu: Partial<DeviceProperties> | undefined): Readonly<Record<string, number>> {
  const python = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries({ ...H200, ...gpu }).map(([name, value]) => [python(name), value]));
}

type Sizes = Readonly<Record<string, number>>;

function wireTensor(
  tensor: TensorSignature,
  at: TestCase,
  sizes: Sizes,
  range: Ranges[string] | undefined,
): WireTensor {
  const dtype = dtypeOf(tensor, at);
  return {
    name: tensor.name,
    python: tensor.python,
    role: tensor.role,
    dtype,
    shape: shapeOf(tensor.dims, sizes),
    layout: at.layouts?.[tensor.name] ?? "contiguous",
    fill: fillOf(tensor, dtype, range, at),
  };
}

function fillOf(
  { partition }: Pick<TensorSignature, "partition">,
  dtype: string,
  range: Ranges[string] | undefined,
  { special }: TestCase,
): Fill {
  const isFloat = /^(float|bfloat)/.test(dtype);
  if (range) {
    const [low, high] = range;
    if (partition !== undefined) return { kind: "partition", total: high - 1, holds: partition.holds };
    return { kind: isFloat ? "uniform" : "integers", low, high };
  }
  if (isFloat) return { kind: "normal", ...(special && { special }) };
  if (dtype === "int1") return { kind: "integers", low: 0, high: 2 };
  return dtype.startsWith("uint") ? { kind: "integers", low: 0, high: 16 } : { kind: "integers", low: -8, high: 8 };
}

/** How to ask the module for the inputs that the author describes. */
function drawnOf({ signature }: CompiledKernel, at: TestCase, sizes: Sizes): NonNullable<VerifyRequest["drawn"]> {
  const { arguments: wanted, tensors } = signature.drawn!;
  const known = { ...sizes, ...at.scalars, ...at.constexprs };
  return {
    arguments: Object.fromEntries(wanted.map(({ name, python }) => [python, toWire(known[name]!)])),
    tensors: tensors.map((name) => signature.tensors.find((tensor) => tensor.name === name)!.python),
  };
}

function argumentsOf(kernel: CompiledKernel, at: TestCase): VerifyRequest["arguments"] {
  const { scalars, constexprs, tensors, givenSizes = [] } = kernel.signature;
  const given = { ...at.sizes, ...at.scalars, ...at.constexprs };
  const named = [...givenSizes, ...scalars, ...constexprs.filter(({ from }) => from === "argument")];
  const chosen = named
    .filter(({ name }) => name in given)
    .map(({ name, python }) => [python, toWire(given[name]!)] as const);
  const dtypes = constexprs.flatMap(({ variable, python }) => {
    const dtype = variable === undefined ? undefined : at.dtypes[variable];
    return dtype === undefined ? [] : [[python, { dtype }] as const];
  });
  const absent = tensors.filter(({ name }) => at.absent?.includes(name)).map(({ python }) => [python, null] as const);
  const outputs = tensors.filter(({ role }) => role === "out");
  // A wrapper with one output calls it so.
  const keyword = (python: string): string => (outputs.length === 1 ? "out" : python);
  const asked = outputs
    .filter(({ name, optional }) => optional && !at.absent?.includes(name))
    .map(({ python }) => [keyword(python), true] as const);
  return Object.fromEntries([...chosen, ...dtypes, ...absent, ...asked]);
}
