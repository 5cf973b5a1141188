/** Runs every program of a kernel's grid in-process, and checks every access. */
import { cacheKey } from "../compiled/canonical-json.js";
import type { Finding, Layout, ProgramOrder, TensorData } from "../compiled/compiled-kernel.js";
import { checkHostValues } from "./host-values.js";
import { EvaluationTimeout } from "../compiled/timeout.js";
import { formatLocation, type Location, TileScriptError } from "../diagnostics/diagnostic.js";
import { neverWritten } from "../diagnostics/catalog/finding-codes.js";
import { full } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { unroundedDType } from "../numerics/numeric.js";
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
import type { AccessRecord } from "./access-record.js";
import { Bindings, type Launch } from "./bindings.js";
import { checkMemoryLimit } from "./memory-limit.js";
import { Program } from "./program.js";
import type { Prints } from "./prints.js";
import { programOrder } from "./program-order.js";
import { Sanitizer } from "./sanitizer.js";
import { ALLOCATION_GAP, Tensor, UnknownAddress } from "./tensor.js";
import { TimeLimit } from "./time-limit.js";
import { attributeToLoads } from "./poison-sources.js";

export interface Run extends Launch {
  /** Values of each input and updated tensor, by name. */
  readonly inputs: Readonly<Record<string, TensorData>>;
  /** Optional tensors that are left out. */
  readonly absent?: readonly string[] | undefined;
  readonly layouts?: Readonly<Record<string, Layout>> | undefined;
  /** The order in which programs run. The result must not depend on it. */
  readonly order?: ProgramOrder | undefined;
  /** Determines the shuffled order. */
  readonly seed?: number;
  /** Also reports the ops that make a NaN out of numbers or an infinity out of finite ones. */
  readonly nonFinite?: boolean | undefined;
  /** When it ends with an error, as `performance.now()`. */
  readonly until?: number | undefined;
  /** Keeps the accesses. */
  readonly record?: AccessRecord | undefined;
  /** Takes what the kernel prints. */
  readonly prints?: Prints | undefined;
}

export interface RunResult {
  readonly outputs: Readonly<Record<string, TensorData>>;
  readonly findings: readonly Finding[];
  /** How many further findings are not listed. */
  readonly more: number;
  /** Where the run was: see the sanitizer. */
  readonly reached: readonly Location[];
  /** The ops that round although the run is unrounded. */
  readonly rounded: readonly OpStatement[];
}

/**
 * @throws Error if a value is missing, or if the evaluator cannot run the kernel.
 * @throws RangeError for a case with more programs or elements than the evaluator has room for.
 * @throws TileScriptError at the author's line for a launch that cannot be computed and for a loop that never ends.
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
  const memory = layOut(values);
  const [x = 1, y = 1, z = 1] = grid;
  const program = programFor(ir, bindings, run);
  const numberAt = programOrder(x * y * z, run.order, run.seed);
  const numbers = Array.from({ length: x * y * z }, (_, turn) => numberAt(turn) + 1);
  try {
    const limit = new TimeLimit(run.until);
    program.launch(values, { memory, sanitizer, grid: [x, y, z], limit, prints: run.prints }, numbers);
  } catch (error) {
    if (error instanceof UnknownAddress || error instanceof EvaluationTimeout || error instanceof TileScriptError)
      throw error;
    const { at } = program.running;
    const where = at ? `${formatLocation(at)}: ` : "";
    throw new Error(`${where}${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  for (const [param, tensor] of tensors)
    if (param.role === "out" && !param.zeroed) checkWritten(tensor, param, ir, sanitizer);
  const written = memory.filter((tensor) => tensor.role !== "in");
  const declared = new Map(
    ir.params.flatMap((param) => ("dtype" in param ? [[param.name, param.dtype] as const] : [])),
  );
  const read = (tensor: Tensor): TensorData => ({
    ...tensor.read(),
    dtype: bindings.dtype(declared.get(tensor.name)!),
  });
  return {
    outputs: Object.fromEntries(written.map((tensor) => [tensor.name, read(tensor)])),
    findings: sanitizer.findings.list(attributeToLoads(ir, sanitizer.unset)),
    more: sanitizer.findings.left,
    reached: [...sanitizer.reached],
    rounded: [...program.running.rounded],
  };
}

function tensorFor(param: TensorParam, bindings: Bindings, { inputs, layouts }: Run): Tensor {
  const shape = param.dims.map((dim) => Number(bindings.constant(dim)));
  // The wrapper makes such an input contiguous.
  const layout = param.contiguous ? "contiguous" : layouts?.[param.name];
  const tensor = new Tensor(param.name, param.role, bindings.held(param.dtype), shape, layout, param.zeroed);
  const given = inputs[param.name];
  if (param.role === "out") return tensor;
  if (!given) throw new Error(`${param.name} is an input and has no value; give it one`);
  fill(tensor, given, bindings);
  return tensor;
}

/** An unrounded run also takes floats that their dtype does not hold, as another unrounded run gives them. */
function fill(tensor: Tensor, given: TensorData, bindings: Bindings): void {
  tensor.fill(bindings.unrounded ? { ...given, dtype: unroundedDType(given.dtype as DTypeName) } : given);
}

/** The run-time value of each parameter of the kernel. */
function argumentsOf(
  ir: KernelIR,
  tensors: ReadonlyMap<TensorParam, Tensor>,
  bindings: Bindings,
  inputs: Run["inputs"],
): ReadonlyMap<Value, Runtime> {
  const values = new Map<Value, Runtime>();
  const scalar = (argument: Argument, number: number): void => {
    if (!("kind" in argument) || argument.kind !== "value") return;
    const type = bindings.result(argument.type);
    if (type) values.set(argument, cast(full([], number, "float64"), type.dtype));
  };
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const given = inputs[param.name];
      if (param.given) values.set(param.given, given !== undefined);
      if (given) values.set(param.value, addressesOf(pointedAt(param, given, bindings)));
      else if (!param.given) throw new Error(`${param.name} is a raw pointer of unknown extent; give a tensor for it`);
    }
    if (param.kind === "tensor" && param.given) values.set(param.given, tensors.has(param));
    if (param.kind === "constexpr") values.set(param.value, bindings.constant(param.value));
    else if (!isMemoryParam(param)) scalar(param.value, Number(bindings.constant(param.value)));
  }
  for (const [param, allocation] of tensors) {
    if (param.block) {
      values.set(param.value, descriptorOf(param, param.block, allocation, bindings));
      continue;
    }
    values.set(param.value, { kind: "tensor", allocation });
    values.set(param.pointer, addressesOf(allocation));
    param.strides.forEach((stride, axis) => scalar(stride, allocation.strides[axis]!));
  }
  return values;
}

/** The memory behind a raw pointer: the tensor given for it. */
function pointedAt(param: PointerParam, given: TensorData, bindings: Bindings): Tensor {
  const least = typeof param.numel === "object" ? Number(bindings.constant(param.numel)) : (param.numel ?? 0);
  if (given.data.length < least)
    throw new Error(`${param.name} needs at least ${least} elements, and has ${given.data.length}`);
  const tensor = new Tensor(param.name, "inout", bindings.held(param.dtype), given.shape);
  fill(tensor, given, bindings);
  return tensor;
}

/** Gives each tensor an address of its own. */
function layOut(values: ReadonlyMap<Value, Runtime>): readonly Tensor[] {
  const tensors = [...values.values()].flatMap((value) =>
    hasMemory(value) && value.allocation instanceof Tensor ? [value.allocation] : [],
  );
  tensors.forEach((tensor, i) => (tensor.base = BigInt(i + 1) * ALLOCATION_GAP));
  return tensors;
}

const hasMemory = (value: Runtime): value is Addresses | DescriptorRuntime =>
  typeof value === "object" && "kind" in value && (value.kind === "addresses" || value.kind === "descriptor");

/** The descriptor that the wrapper would make of a tensor. */
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

const prepared = new WeakMap<KernelIR, Map<string, Program>>();

/** How many prepared programs to keep for each kernel: a property test cycles through its configs and dtypes. */
const MOST_PREPARED = 16;

/** The kernel, prepared for these dtypes and constexprs, and without these arguments. */
function programFor(ir: KernelIR, bindings: Bindings, { dtypes, absent = [], nonFinite = false }: Run): Program {
  let known = prepared.get(ir);
  if (known === undefined) prepared.set(ir, (known = new Map()));
  const key = cacheKey([dtypes, bindings.constexprs, absent, nonFinite, bindings.unrounded]);
  let program = known.get(key);
  if (program === undefined) program = new Program(ir, bindings, nonFinite);
  else known.delete(key);
  // Insertion order is by last use, so the first entry is the least recently used.
  known.set(key, program);
  if (known.size > MOST_PREPARED) known.delete(known.keys().next().value!);
  return program;
}

function checkWritten(tensor: Tensor, { value }: TensorParam, ir: KernelIR, { findings, grid }: Sanitizer): void {
  const { count, first } = tensor.unwritten();
  if (count === 0) return;
  const total = tensor.shape.reduce((product, dim) => product * dim, 1);
  const element = `${tensor.name}[${first.join(", ")}]`;
  const said = neverWritten(tensor.name, [count, total], element, grid.join(", "));
  findings.add(said.code, leftOutAt(tensor, ir.grid, grid) ?? value.at, 1, () => ({ said, program: [], lane: [] }));
}

/**
 * The place to blame for unwritten elements: an axis of the grid without programs, else the only statement that writes.
 */
function leftOutAt({ writtenAt }: Tensor, { block, at }: HostBlock, grid: readonly number[]): Location | undefined {
  const empty = block.yields[grid.indexOf(0)];
  if (empty) return isValue(empty) ? empty.at : at;
  const [only, ...others] = writtenAt;
  return others.length === 0 ? only : undefined;
}
