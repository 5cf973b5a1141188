/** Evaluates every program of a kernel's grid in-process and checks every access. */
import { cacheKey } from "../compiled/canonical-json.js";
import type { Finding, Layout, ProgramOrder, TensorData } from "../compiled/compiled-kernel.js";
import { checkHostValues } from "./refusal.js";
import { EvaluationTimeout } from "../compiled/errors.js";
import { formatLocation, type Location, TileScriptError } from "../diagnostics/diagnostic.js";
import { neverWritten, lowering } from "../diagnostics/catalog/finding-codes.js";
import { full, sizeOf, cast } from "../numerics/array.js";
import { unroundedDType } from "../numerics/numeric-int.js";
import type { DTypeName } from "../types/dtype.js";
import {
  type Argument,
  type HostBlock,
  isMemoryParam,
  isValue,
  type KernelIR,
  type OpStatement,
  type PointerParam,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import type { Addresses, DescriptorRuntime, Runtime } from "../values/runtime-values.js";
import { Bindings, type Launch } from "./bindings.js";
import { Program } from "./program.js";
import { type Prints, attributeToLoads, coordinates, partsOf } from "./findings.js";
import { Sanitizer, type AccessRecord } from "./sanitizer.js";
import { ALLOCATION_GAP, Tensor, UnknownAddress } from "./tensor.js";
import { RunLimit, checkMemoryLimit } from "./execution-state.js";
import { seedOf, shuffled, uniform } from "../numerics/random.js";

/**
 * The programs in execution order. They are numbered from 0 with the grid's first axis fastest.
 *
 * @throws RangeError if a list is not a permutation of the programs.
 */
function programOrder(count: number, order: ProgramOrder = "sequential", seed = 0): readonly number[] {
  const sequence = Array.from({ length: count }, (_, i) => i);
  if (order === "sequential") return sequence;
  if (order === "reversed") return sequence.reverse();
  const programs = Array.from(order === "shuffled" ? shuffled(count, uniform(seedOf(seed, "order"))) : order);
  const distinct = new Set(programs);
  if (programs.length !== count || !sequence.every((program) => distinct.has(program)))
    throw new RangeError(
      `order is ${JSON.stringify(order)}; it is "sequential", "reversed", "shuffled", or each program from 0 to ${count - 1} once`,
    );
  return programs;
}

export interface Run extends Launch {
  /** Values of each input and updated tensor, by name. */
  readonly inputs: Readonly<Record<string, TensorData>>;
  /** Omitted optional tensors. */
  readonly absent?: readonly string[] | undefined;
  readonly layouts?: Readonly<Record<string, Layout>> | undefined;
  /** Execution order of the programs. Results must not depend on it. */
  readonly order?: ProgramOrder | undefined;
  /** Seed of the shuffled order. */
  readonly seed?: number;
  /** True to also report ops that make NaN from numbers or infinity from finite numbers. */
  readonly nonFinite?: boolean | undefined;
  /** Deadline on the clock of `performance.now()`. */
  readonly until?: number | undefined;
  /** The most iterations of a `tl.whileLoop`. */
  readonly maxIterations?: number | undefined;
  /** Receives the accesses. */
  readonly record?: AccessRecord | undefined;
  /** Receives the output of `tl.devicePrint`. */
  readonly prints?: Prints | undefined;
}

export interface RunResult {
  readonly outputs: Readonly<Record<string, TensorData>>;
  readonly findings: readonly Finding[];
  /** Number of findings beyond the listed ones. */
  readonly unlistedFindings: number;
  /** Locations reached by some program. See {@link Sanitizer.reached}. */
  readonly reached: readonly Location[];
  /** Ops that round although the run is unrounded. */
  readonly rounded: readonly OpStatement[];
}

/**
 * @throws Error if a value is missing, or if the evaluator cannot run the kernel.
 * @throws RangeError for a test case with more programs or elements than the evaluator supports.
 * @throws TileScriptError at the author's line if a host expression of the launch fails, or if a loop does not
 *   terminate.
 */
export function evaluateKernel(ir: KernelIR, run: Run): RunResult {
  const bindings = new Bindings(ir, run);
  checkHostValues(ir, bindings);
  checkMemoryLimit(ir, bindings, run.absent);
  const grid = bindings.host(ir.grid).map(Number);
  const tensors = new Map(
    ir.params.flatMap((param) =>
      param.kind === "tensor" && !run.absent?.includes(param.name)
        ? [[param, tensorFor(param, bindings, run)] as const]
        : [],
    ),
  );
  run.record?.launch(ir.name, grid);
  const sanitizer = new Sanitizer(grid, run.record);
  const values = argumentsOf(ir, tensors, bindings, run.inputs);
  const memory = assignAddresses(values);
  const [x = 1, y = 1, z = 1] = grid;
  const program = programFor(ir, bindings, run);
  const programNumbers = programOrder(x * y * z, run.order, run.seed).map((number) => number + 1);
  try {
    const limit = new RunLimit(run.until, run.maxIterations);
    program.launch(values, { memory, sanitizer, grid: [x, y, z], limit, prints: run.prints }, programNumbers);
  } catch (error) {
    if (error instanceof UnknownAddress || error instanceof EvaluationTimeout || error instanceof TileScriptError)
      throw error;
    const { at: location } = program.state;
    const prefix = location ? `${formatLocation(location)}: ` : "";
    throw new Error(`${prefix}${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  for (const [param, tensor] of tensors)
    if (param.role === "out" && !param.zeroed) checkWritten(tensor, param, ir, sanitizer);
  const writableTensors = memory.filter((tensor) => tensor.role !== "in");
  const declared = new Map(
    ir.params.flatMap((param) => ("dtype" in param ? [[param.name, param.dtype] as const] : [])),
  );
  const readTensor = (tensor: Tensor): TensorData => ({
    ...tensor.read(),
    dtype: bindings.dtype(declared.get(tensor.name)!),
  });
  return {
    outputs: Object.fromEntries(writableTensors.map((tensor) => [tensor.name, readTensor(tensor)])),
    findings: sanitizer.findings.list(attributeToLoads(ir, sanitizer.poisonSources)),
    unlistedFindings: sanitizer.findings.unlisted,
    reached: [...sanitizer.reached],
    rounded: [...program.state.rounded],
  };
}

function tensorFor(param: TensorParam, bindings: Bindings, { inputs, layouts }: Run): Tensor {
  const shape = param.dims.map((dim) => Number(bindings.constant(dim)));
  // The wrapper makes such an input contiguous.
  const layout = param.contiguous ? "contiguous" : layouts?.[param.name];
  const tensor = new Tensor(param.name, param.role, bindings.evaluationDType(param.dtype), shape, layout, param.zeroed);
  const input = inputs[param.name];
  if (param.role === "out") return tensor;
  if (!input) throw new Error(`${param.name} is an input and has no value; give it one`);
  fill(tensor, input, bindings);
  return tensor;
}

/**
 * Fills a tensor. In an unrounded run, inputs may be outputs of another unrounded run, so their floats need not fit
 * their dtype.
 */
function fill(tensor: Tensor, input: TensorData, bindings: Bindings): void {
  tensor.fill(bindings.unrounded ? { ...input, dtype: unroundedDType(input.dtype as DTypeName) } : input);
}

/** The run-time value of each kernel parameter. */
function argumentsOf(
  ir: KernelIR,
  tensors: ReadonlyMap<TensorParam, Tensor>,
  bindings: Bindings,
  inputs: Run["inputs"],
): ReadonlyMap<Value, Runtime> {
  const values = new Map<Value, Runtime>();
  const setScalar = (argument: Argument, number: number): void => {
    if (!("kind" in argument) || argument.kind !== "value") return;
    const type = bindings.resultType(argument.type);
    if (type) values.set(argument, cast(full([], number, "float64"), type.dtype));
  };
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const input = inputs[param.name];
      if (param.given) values.set(param.given, input !== undefined);
      if (input) values.set(param.value, addressesOf(pointerTensor(param, input, bindings)));
      else if (!param.given) throw new Error(`${param.name} is a raw pointer of unknown extent; give a tensor for it`);
    }
    if (param.kind === "tensor" && param.given) values.set(param.given, tensors.has(param));
    if (param.kind === "constexpr") values.set(param.value, bindings.constant(param.value));
    else if (!isMemoryParam(param)) setScalar(param.value, Number(bindings.constant(param.value)));
  }
  for (const [param, allocation] of tensors) {
    if (param.block) {
      values.set(param.value, descriptorOf(param, param.block, allocation, bindings));
      continue;
    }
    values.set(param.value, { kind: "tensor", allocation });
    values.set(param.pointer, addressesOf(allocation));
    param.strides.forEach((stride, axis) => setScalar(stride, allocation.strides[axis]!));
  }
  return values;
}

/** The memory of a raw pointer: the tensor passed for it. */
function pointerTensor(param: PointerParam, input: TensorData, bindings: Bindings): Tensor {
  const minElements = typeof param.numel === "object" ? Number(bindings.constant(param.numel)) : (param.numel ?? 0);
  if (input.data.length < minElements)
    throw new Error(`${param.name} needs at least ${minElements} elements, and has ${input.data.length}`);
  const tensor = new Tensor(param.name, "inout", bindings.evaluationDType(param.dtype), input.shape);
  if (!param.zeroed) fill(tensor, input, bindings);
  return tensor;
}

/** Assigns a separate address range to each tensor. */
function assignAddresses(values: ReadonlyMap<Value, Runtime>): readonly Tensor[] {
  const tensors = [...values.values()].flatMap((value) =>
    hasMemory(value) && value.allocation instanceof Tensor ? [value.allocation] : [],
  );
  tensors.forEach((tensor, i) => (tensor.base = BigInt(i + 1) * ALLOCATION_GAP));
  return tensors;
}

const hasMemory = (value: Runtime): value is Addresses | DescriptorRuntime =>
  typeof value === "object" && "kind" in value && (value.kind === "addresses" || value.kind === "descriptor");

/** The descriptor that the wrapper would create for a tensor. */
function descriptorOf(
  { padding = "zero" }: TensorParam,
  block: readonly Argument[],
  allocation: Tensor,
  bindings: Bindings,
): DescriptorRuntime {
  const { shape, strides } = allocation;
  const sizes = block.map((dim) => Number(bindings.constant(dim)));
  return { kind: "descriptor", allocation, start: 0, shape, strides, block: sizes, axes: [...shape.keys()], padding };
}

function addressesOf(allocation: Tensor): Addresses {
  return { kind: "addresses", allocation, dtype: allocation.dtype, shape: [], offsets: new Float64Array(1) };
}

const programCache = new WeakMap<KernelIR, Map<string, Program>>();

/** Maximum number of cached programs per kernel. A property test cycles through configs and dtypes. */
const MAX_CACHED_PROGRAMS = 16;

/** The kernel, prepared for these dtypes, constexprs and absent arguments. */
function programFor(ir: KernelIR, bindings: Bindings, { dtypes, absent = [], nonFinite = false }: Run): Program {
  let programs = programCache.get(ir);
  if (programs === undefined) programCache.set(ir, (programs = new Map()));
  const { constexprs, gpu, unrounded } = bindings;
  const key = cacheKey([dtypes, constexprs, absent, nonFinite, unrounded, gpu.major, gpu.minor]);
  let program = programs.get(key);
  if (program === undefined) program = new Program(ir, bindings, nonFinite);
  else programs.delete(key);
  // Insertion order is by last use, so the first entry is the least recently used.
  programs.set(key, program);
  const [leastRecentKey] = programs.keys();
  if (programs.size > MAX_CACHED_PROGRAMS && leastRecentKey !== undefined) programs.delete(leastRecentKey);
  return program;
}

function checkWritten(tensor: Tensor, { value }: TensorParam, ir: KernelIR, { findings, grid }: Sanitizer): void {
  const { count, first } = tensor.findUnwritten();
  if (count === 0) return;
  const element = `${tensor.name}[${first.join(", ")}]`;
  const message = neverWritten(tensor.name, [count, sizeOf(tensor.shape)], element, grid.join(", "));
  findings.add(message.code, unwrittenLocation(tensor, ir.grid, grid) ?? value.location, 1, () => ({
    message,
    program: [],
    lane: [],
  }));
}

/**
 * The location reported for unwritten elements: the grid axis without programs, or else the only statement that writes.
 */
function unwrittenLocation(
  { writtenAt }: Tensor,
  { block, at }: HostBlock,
  grid: readonly number[],
): Location | undefined {
  const empty = block.yields[grid.indexOf(0)];
  if (empty) return isValue(empty) ? empty.location : at;
  const [location, ...others] = writtenAt;
  return others.length === 0 ? location : undefined;
}

// Compares the lowered kernel, which is emitted, with the author's kernel on the same inputs. A difference means that
// lowering is incorrect, or that an address computed only by the emitted code overflows.

/**
 * Evaluates the author's kernel. If there are no findings, also evaluates the lowered kernel, if given; findings then
 * describe their differences.
 */
export function evaluateForms(ir: KernelIR, lowered: KernelIR | undefined, run: Run): RunResult {
  const authored = evaluateKernel(ir, run);
  if (!lowered || authored.findings.length > 0) return authored;
  const emitted = evaluateKernel(lowered, { ...run, record: undefined, prints: undefined });
  const findings = [...emitted.findings.map(toEmittedFinding), ...differences(authored, emitted)];
  return { ...authored, findings, unlistedFindings: emitted.unlistedFindings };
}

function toEmittedFinding(finding: Finding): Finding {
  return { ...finding, message: `as it is emitted, ${finding.message}` };
}

/** The first element that differs in each output. All NaNs are equal. */
function differences({ outputs }: RunResult, emitted: RunResult): readonly Finding[] {
  return Object.entries(outputs).flatMap(([name, { data, shape }]): readonly Finding[] => {
    const emittedData = emitted.outputs[name]!.data;
    const index = firstDifference(data, emittedData);
    if (index < 0) return [];
    const element = `${name}[${coordinates(shape, index).join(", ")}]`;
    const message = lowering(element, String(data[index]), String(emittedData[index]));
    return [{ ...partsOf(message), program: [], lane: [] }];
  });
}

function firstDifference(data: TensorData["data"], emittedData: TensorData["data"]): number {
  for (let i = 0; i < data.length; i++) if (!Object.is(data[i], emittedData[i])) return i;
  return -1;
}
