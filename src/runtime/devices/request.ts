/** Converts a test case to a request to the worker. */
import { join } from "node:path";
import type {
  TestCase,
  CompiledKernel,
  GivenTolerance,
  PointerSignature,
  Signature,
  Ranges,
  TensorSignature,
} from "../../compiled/compiled-kernel.js";
import { type DeviceProperties, H200 } from "../../compiled/gpus.js";
import { shapeOf } from "../cases/cases.js";
import {
  gradientTolerance,
  roundingUnit,
  type ExecutionMode,
  toleranceFor,
  declaredToleranceFor,
  declaredTolerance,
} from "../../compiled/tolerance.js";
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

/** The elements of a tensor as bytes in the device's format, in row-major order. */
export interface RawTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The dtype of a tensor, or the element dtype of a pointer, in a test case. */
export function dtypeOf(tensor: TensorSignature | PointerSignature, testCase: TestCase): string {
  return typeof tensor.dtype === "string" ? tensor.dtype : (testCase.dtypes[tensor.dtype.variable] ?? "float32");
}

/** The request to verify one case. With `isAutotuned`, Triton chooses the config instead of the case. */
export function verifyRequest(
  kernel: CompiledKernel,
  module: string,
  testCase: TestCase,
  options: {
    readonly passOut: boolean;
    readonly isAutotuned?: boolean;
    readonly startsCold?: boolean;
    readonly repeats?: number | undefined;
    /** A config of the warp-specialized kernel to run additionally. */
    readonly specialized?: number | undefined;
    readonly tolerance: GivenTolerance;
    /** The device that will run it. */
    readonly mode: ExecutionMode;
  },
): VerifyRequest {
  const run = runRequest(kernel, module, testCase);
  return {
    ...run,
    type: "verify",
    config: options.isAutotuned ? null : testCase.config,
    passOut: options.passOut,
    repeats: options.repeats ?? 1,
    reversible: !kernel.signature.waits,
    unordered: kernel.signature.unordered === true,
    specialized: options.specialized ?? null,
    startsCold: options.startsCold ?? false,
    gradients: gradientsOf(kernel, run).map(({ python }) => python),
    tolerances: tolerancesOf(kernel, run, testCase, options.mode, options.tolerance),
    roundingUnit: roundingUnit(kernel.signature.arithmetic, testCase.dtypes, options.mode),
  };
}

function tolerancesOf(
  kernel: CompiledKernel,
  run: RunRequest,
  testCase: TestCase,
  mode: ExecutionMode,
  override: GivenTolerance = {},
) {
  const facts = { ...testCase, sizes: kernel.sizes(testCase) };
  const declared = { ...kernel.tolerance, ...override };
  return Object.fromEntries([
    ...[...run.inputs, ...run.outputs]
      .filter(({ role }) => role !== "in")
      .map(
        ({ name, python, dtype }) =>
          [python, toleranceFor(dtype, kernel.signature, facts, mode, declaredToleranceFor(declared, name))] as const,
      ),
    ...gradientsOf(kernel, run).map(
      ({ name, python, dtype }) =>
        [
          `${python}.grad`,
          gradientTolerance(dtype, kernel.signature, name, facts, mode, declaredTolerance(declared)),
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
  testCase: TestCase,
  {
    isAutotuned = false,
    mode,
    ...options
  }: Pick<BenchRequest, "warmup" | "iterations" | "providers" | "state"> & {
    readonly isAutotuned?: boolean;
    readonly mode: ExecutionMode;
  },
): BenchRequest {
  const run = runRequest(kernel, module, testCase);
  return {
    ...run,
    type: "bench",
    config: isAutotuned ? null : testCase.config,
    tolerances: tolerancesOf(kernel, run, testCase, mode),
    ...options,
  };
}

/** The request to compile and tune one case in advance. */
export function prewarmRequest(kernel: CompiledKernel, module: string, testCase: TestCase): PrewarmRequest {
  return { ...runRequest(kernel, module, testCase), type: "prewarm", config: null };
}

/** The request to compile one case for a GPU. Compilation needs the dtype of a raw pointer, but not its memory. */
export function compileRequest(
  kernel: CompiledKernel,
  module: string,
  testCase: TestCase,
  target: Target,
  specialized: number | null = null,
): CompileRequest {
  const run = runRequest(kernel, module, testCase);
  const unsized = kernel.signature.pointers.filter(
    ({ name, numel }) => numel === undefined && !testCase.absent?.includes(name),
  );
  const pointerArgs = unsized.map((pointer) =>
    pointerWire(pointer, { dtype: dtypeOf(pointer, testCase), shape: [1] }, { kind: "integers", low: 0, high: 1 }),
  );
  const gpu = kernel.signature.gpu && { gpu: devicePropertiesOf({ ...testCase.gpu, ...propertiesOf(target) }) };
  return {
    ...run,
    type: "compile",
    inputs: [...run.inputs, ...pointerArgs],
    target: target.triton,
    specialized,
    ...gpu,
  };
}

function pointerWire(
  { name, python }: PointerSignature,
  { dtype, shape }: Pick<RawTensor, "dtype" | "shape">,
  fill: Fill,
): WireTensor {
  return { name, python, role: "inout", dtype, shape, layout: "contiguous", fill };
}

/** The request to call the wrapper with `inputs`, which are in files of `folder`. */
export function callRequest(
  kernel: CompiledKernel,
  module: string,
  testCase: TestCase,
  options: {
    readonly folder: string;
    readonly inputs: Readonly<Record<string, RawTensor>>;
    readonly isAutotuned: boolean;
  },
): CallRequest {
  const { folder, inputs, isAutotuned } = options;
  const { drawn: _, ...run } = runRequest(kernel, module, testCase);
  const fill = (python: string): Fill => ({ kind: "file", path: join(folder, `${python}.in`) });
  const pointerArgs = kernel.signature.pointers.flatMap((pointer) => {
    const input = inputs[pointer.name];
    return input ? [pointerWire(pointer, input, fill(pointer.python))] : [];
  });
  return {
    ...run,
    type: "call",
    config: isAutotuned ? null : testCase.config,
    inputs: [...run.inputs.map((tensor) => ({ ...tensor, fill: fill(tensor.python) })), ...pointerArgs],
    folder,
    pointers: pointerArgs.map(({ python }) => python),
  };
}

/** The arguments of the wrapper in a test case. */
export function runRequest(kernel: CompiledKernel, module: string, testCase: TestCase): RunRequest {
  const { signature } = kernel;
  const [sizes, ranges] = [kernel.sizes(testCase), kernel.ranges(testCase)];
  const present = signature.tensors.filter(({ name }) => !testCase.absent?.includes(name));
  const tensors = present.map((tensor) => wireTensor(tensor, testCase, sizes, ranges[tensor.name]));
  const pointerArgs = signature.pointers.flatMap((pointer) => {
    if (pointer.numel === undefined || testCase.absent?.includes(pointer.name)) return [];
    const dtype = dtypeOf(pointer, testCase);
    return [
      pointerWire(pointer, { dtype, shape: shapeOf([pointer.numel], sizes) }, fillOf({}, dtype, undefined, testCase)),
    ];
  });
  return {
    module,
    jits: signature.kernels ?? [signature.jit],
    config: testCase.config,
    inputs: [...tensors.filter((tensor) => tensor.role !== "out"), ...pointerArgs],
    ...(signature.drawn && { drawn: drawnOf(signature, signature.drawn, testCase, sizes) }),
    outputs: tensors.filter((tensor) => tensor.role === "out"),
    results: signature.tensors
      .filter(({ role }) => role !== "in")
      .map(({ name, python }) => (testCase.absent?.includes(name) ? null : python)),
    arguments: argumentsOf(kernel, testCase),
    ...(signature.gpu && { gpu: devicePropertiesOf(testCase.gpu) }),
    seed: testCase.seed,
  };
}

/** The device properties under the names of the emitted module, such as `multi_processor_count`. */
function devicePropertiesOf(gpu: Partial<DeviceProperties> | undefined): Readonly<Record<string, number>> {
  const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries({ ...H200, ...gpu }).map(([name, value]) => [toSnakeCase(name), value]));
}

type Sizes = Readonly<Record<string, number>>;

function wireTensor(
  tensor: TensorSignature,
  testCase: TestCase,
  sizes: Sizes,
  range: Ranges[string] | undefined,
): WireTensor {
  const dtype = dtypeOf(tensor, testCase);
  return {
    name: tensor.name,
    python: tensor.python,
    role: tensor.role,
    dtype,
    shape: shapeOf(tensor.dims, sizes),
    layout: testCase.layouts?.[tensor.name] ?? "contiguous",
    fill: fillOf(tensor, dtype, range, testCase),
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
  if (dtype.startsWith("uint")) return { kind: "integers", low: 0, high: 16 };
  return { kind: "integers", low: -8, high: 8, ...(special && { special }) };
}

/** The arguments and results of the module's function that creates declared inputs. */
function drawnOf(
  { tensors }: Signature,
  drawn: NonNullable<Signature["drawn"]>,
  testCase: TestCase,
  sizes: Sizes,
): NonNullable<VerifyRequest["drawn"]> {
  const values = { ...sizes, ...testCase.scalars, ...testCase.constexprs };
  return {
    arguments: wireArguments(drawn.arguments, values),
    tensors: drawn.tensors.flatMap((name) => tensors.flatMap((each) => (each.name === name ? [each.python] : []))),
  };
}

/** The wire form of the parameters that have a value. */
const wireArguments = (
  params: readonly { readonly name: string; readonly python: string }[],
  values: Readonly<Record<string, number | boolean | string>>,
) =>
  Object.fromEntries(
    params.flatMap(({ name, python }) => {
      const value = values[name];
      return value === undefined ? [] : [[python, toWire(value)] as const];
    }),
  );

function argumentsOf(kernel: CompiledKernel, testCase: TestCase): VerifyRequest["arguments"] {
  const { scalars, constexprs, tensors, givenSizes = [] } = kernel.signature;
  const values = { ...testCase.sizes, ...testCase.scalars, ...testCase.constexprs };
  const params = [...givenSizes, ...scalars, ...constexprs.filter(({ from }) => from === "argument")];
  const dtypes = constexprs.flatMap(({ variable, python }) => {
    const dtype = variable === undefined ? undefined : testCase.dtypes[variable];
    return dtype === undefined ? [] : [[python, { dtype }] as const];
  });
  const absent = tensors
    .filter(({ name }) => testCase.absent?.includes(name))
    .map(({ python }) => [python, null] as const);
  const outputs = tensors.filter(({ role }) => role === "out");
  // A wrapper with one output names that parameter `out`.
  const keyword = (python: string): string => (outputs.length === 1 ? "out" : python);
  const requestedOutputs = outputs
    .filter(({ name, optional }) => optional && !testCase.absent?.includes(name))
    .map(({ python }) => [keyword(python), true] as const);
  return Object.fromEntries([
    ...Object.entries(wireArguments(params, values)),
    ...dtypes,
    ...absent,
    ...requestedOutputs,
  ]);
}
