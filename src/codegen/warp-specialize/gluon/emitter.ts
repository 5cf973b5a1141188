/**
 * The emitter of the `@gluon.jit` functions of a warp-specialized kernel: its partitions, and the kernel that starts
 * them.
 */
import { LaunchFacts } from "../../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../../analysis/signs.js";
import type { Config } from "../../../compiled/compiled-kernel.js";
import {
  type FunctionIR,
  isFunction,
  isMemoryParam,
  type KernelIR,
  type Statement as IRStatement,
  type TensorParam,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf } from "../../../ir/walk.js";
import type { SourceIndex } from "../../../ir/source-index.js";
import { type BlockAccess, perTensorAxis } from "../pattern/block-access.js";
import type { Consumers, RingConfig } from "../pattern/attention-configs.js";
import type { BarrierName, Pipeline } from "../pattern/pipeline.js";
import { INSTRUCTION_BYTES } from "../pattern/tile-footprint.js";
import type { Elem } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { emitBody } from "../../body/body.js";
import { type EmittedHelpers, emitHelpers } from "../../body/functions.js";
import { weakIfOne } from "../../body/weak-literals.js";
import { type KernelNames, parameterName, valueName } from "../../names/kernel-names.js";
import { Names } from "../../names/names.js";
import * as py from "../../syntax/py-build.js";
import {
  type Block,
  type Expression,
  type FunctionDef,
  type Name,
  type Parameter,
  type Statement,
  eachNode,
  type Call,
} from "../../syntax/py.js";
import { LOAD_BLOCK, STORE_BLOCK, WRITE_PIECES, SWIZZLE_2D } from "./helpers.js";
import type { WarpPartition } from "./partition-builder.js";
import { barrierName, type PipelineNames, type StagedOutput, type StagedTensor } from "./partition-names.js";
import type { EXPANDED } from "../pattern/gluon-language.js";

/** Definitions of functions that Gluon lacks, as in Triton. */
const EXPANSIONS: Readonly<Record<(typeof EXPANDED)[number], (...args: readonly Expression[]) => Expression>> = {
  sigmoid: (x) => {
    const one = py.number("1");
    return py.binary(one, "/", py.binary(one, "+", py.call("gl.exp", py.unary("-", x!))));
  },
  swizzle2d: (...args) => py.call(SWIZZLE_2D, ...args),
};

/** The same code with Gluon's module instead of Triton's: `gl.exp` for `tl.exp`. */
function toGluonDialect<T extends Block | Expression | FunctionDef>(python: T): T {
  return toGluon(python) as T;
}

function toGluon(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toGluon);
  if (typeof node !== "object" || node === null) return node;
  if ("kind" in node && node.kind === "name" && "id" in node && node.id === "tl") return { ...node, id: "gl" };
  const expansion = expandCall(node);
  if (expansion) return expansion;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "origin" ? value : toGluon(value)]),
  );
}

function expandCall(node: object): Expression | undefined {
  if (!("kind" in node) || node.kind !== "call") return undefined;
  const { callee, args } = node as Call;
  if (callee.kind !== "attribute" || callee.value.kind !== "name" || callee.value.id !== "tl") return undefined;
  const expand = Object.entries(EXPANSIONS).find(([name]) => name === callee.name)?.[1];
  return expand && expand(...(toGluon(args) as readonly Expression[]));
}

/** The inputs of the emission. */
export interface Emission {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  /** The module's names, to which the emitted functions are added. */
  readonly module: Names;
  readonly source: SourceIndex | undefined;
}

/** Module-level names that a body refers to, so that no local name shadows them. */
const MODULE_NAMES = [
  "gl",
  "mbarrier",
  "tma",
  "fence_async_shared",
  "warpgroup_mma",
  "warpgroup_mma_wait",
  LOAD_BLOCK,
  STORE_BLOCK,
  WRITE_PIECES,
];

/**
 * Registers per thread of each consumer but the first, by the number of consumers. Triton assigns the remaining
 * registers to the first one.
 */
const CONSUMER_REGISTERS = { 1: "", 2: "240", 3: "160" };
const PRODUCER_REGISTERS = "24";
/** Likewise if a widener runs beside the consumers, and of each of its threads. */
const MIXED_CONSUMER_REGISTERS = "160";
const WIDENER_REGISTERS = "152";

const NO_HELPERS: EmittedHelpers = { definitions: [], helpers: { name: () => py.none, extras: () => [] } };

/** An argument of the launch: a tensor that gets a descriptor, or a parameter's value. */
export type LaunchArgument = StagedTensor | Value;

export abstract class GluonEmitter<Shared extends PipelineNames> {
  readonly #names = new Names("body");

  constructor(
    readonly emission: Emission,
    readonly pipeline: Pipeline,
  ) {
    for (const name of emission.names.parameters.values()) this.#names.reserve(name);
  }

  /** The names that the emitted functions share. */
  abstract readonly shared: Shared;
  /** The tensors that pass through shared memory, inputs first. */
  abstract stagedTensors(): readonly StagedTensor[];
  /** The shared memory of blocks. */
  sharedBlocks(): readonly Name[] {
    return this.stagedTensors().map(({ blocks }) => blocks);
  }
  /** The constexprs of its configs in addition to the author's. */
  abstract constants(): readonly Name[];

  // ---- names --------------------------------------------------------------------------------------------------------

  claimName(hint: string): Name {
    return py.name(this.#names.take(hint));
  }

  stagedTensor({ tensor, firstAxis }: Pick<BlockAccess, "tensor" | "firstAxis">): StagedTensor {
    return {
      tensor,
      firstAxis,
      descriptor: this.claimName(tensor.block ? `${tensor.name}_block_desc` : `${tensor.name}_desc`),
      blocks: this.claimName(`${tensor.name}_blocks`),
    };
  }

  /** A tensor with the block shape of its descriptor, for an operand of these rows and columns. */
  blockOf(staged: StagedTensor, [rows, columns]: readonly [Expression, Expression], isSwapped = false): StagedBlock {
    const { tensor, firstAxis } = staged;
    const lead = Array.from({ length: tensor.dims.length - 2 }, () => py.number("1"));
    return [staged, perTensorAxis<Expression>(lead, firstAxis, isSwapped ? [columns, rows] : [rows, columns])];
  }

  /** The outputs that are stored in blocks. */
  stagedOutputs(stores: readonly BlockAccess[]): ReadonlyMap<TensorParam, StagedOutput> {
    const distinct = stores.filter((store, i) => stores.findIndex(({ tensor }) => tensor === store.tensor) === i);
    return new Map(distinct.map((store) => [store.tensor, { ...this.stagedTensor(store), store }]));
  }

  barrierNames(hints: Readonly<Partial<Record<BarrierName, string>>>): ReadonlyMap<string, Name> {
    const names: Readonly<Partial<Record<string, string>>> = hints;
    const barriers = Object.keys(this.pipeline.barriers);
    return new Map(barriers.map((barrier) => [barrier, this.claimName(names[barrier] ?? barrier)]));
  }

  /** The constexpr of a dim, or its number. */
  dimension(dim: Dim): Expression {
    const { ir, names } = this.emission;
    return typeof dim === "number" ? py.number(String(dim)) : py.name(parameterName(ir, names, dim));
  }

  /** The arguments that a launch passes to the kernel, except those that configs set. */
  launchArguments(kernel: FunctionDef): readonly LaunchArgument[] {
    const paramNames = new Set(kernel.params.map(({ name }) => name));
    const nameOf = (argument: LaunchArgument) =>
      "blocks" in argument ? argument.descriptor.id : valueName(this.emission.names, argument);
    return [...this.stagedTensors(), ...this.#arguments()].filter(
      (each) => paramNames.has(nameOf(each)) && ("blocks" in each || !this.#isSetByConfig(each)),
    );
  }

  /** The author's parameters, in the order of the default kernel. */
  #arguments(): readonly Value[] {
    const { params } = this.emission.ir;
    const pointers = params
      .filter(isMemoryParam)
      .map((param) => (param.kind === "tensor" ? param.pointer : param.value));
    const numbers = params.flatMap((param) => (param.kind === "scalar" || param.kind === "size" ? [param.value] : []));
    const strides = params.flatMap((param) => (param.kind === "tensor" ? param.strides : []));
    const constexprs = params.flatMap((param) => (param.kind === "constexpr" ? [param.value] : []));
    const values = [...pointers, ...numbers, ...strides, ...constexprs];
    return [...new Set(values)].filter((each): each is Value => this.emission.names.parameters.has(each as Value));
  }

  #isSetByConfig(value: Value): boolean {
    return this.emission.ir.params.some(
      (param) => param.kind === "constexpr" && param.from === "config" && param.value === value,
    );
  }

  // ---- functions ----------------------------------------------------------------------------------------------------

  partitionFunction(
    hint: string,
    { block, syntheticOps }: WarpPartition,
    prologue: Block,
    { definitions, helpers }: EmittedHelpers = NO_HELPERS,
  ): FunctionDef {
    const { ir, names, source } = this.emission;
    const locals = new Names("body");
    for (const name of names.parameters.values()) locals.reserve(name);
    for (const { id } of this.#sharedNames()) if (locals.isFree(id)) locals.reserve(id);
    for (const name of [...MODULE_NAMES, ...definitions.map((each) => each.name)]) locals.reserve(name);
    const parameters = new Map<Value, Expression>([...names.parameters].map(([value, name]) => [value, py.name(name)]));
    const body = emitBody(block, {
      names: locals,
      parameters,
      dtype: (elem) => this.#dtype(elem),
      helpers,
      sizes: weakIfOne(ir),
      isNonNegative: nonNegativeValues(ir, new LaunchFacts(ir)),
      source,
      syntheticOps,
    });
    const fullBody = toGluonDialect([...prologue, ...body]);
    return this.defineFunction(hint, this.#params(fullBody), fullBody);
  }

  /** The kernel that starts the partitions, after the statements of `body`. */
  kernelFunction(body: Block): FunctionDef {
    const { ir, names } = this.emission;
    // The autotuner requires the parameters that its key and its configs name.
    const configs = ir.tuning.configs.flatMap(({ values }) => Object.keys(values));
    const autotuned = [...(ir.tuning.key ?? []), ...configs].map((name) =>
      py.expression(py.name(parameterName(ir, names, name))),
    );
    const { barriers, consumerIndex } = this.shared;
    const localNames = new Set([...this.sharedBlocks(), ...barriers.values(), consumerIndex].map(({ id }) => id));
    const params = this.#params([...body, ...autotuned]).filter(({ name }) => !localNames.has(name));
    return this.defineFunction(`${names.wrapper}_specialized_kernel`, params, body);
  }

  /** The helper functions that statements call, for Gluon. */
  helperFunctions(statements: readonly IRStatement[]): EmittedHelpers {
    const { ir, names, module, source } = this.emission;
    const called = new Set<FunctionIR>();
    const collect = (statement: IRStatement): void => {
      for (const argument of argumentsOf(statement)) {
        if (!isFunction(argument) || called.has(argument.function)) continue;
        argument.function.body.statements.forEach(collect);
        called.add(argument.function);
      }
    };
    statements.forEach(collect);
    const nameOf = ({ at }: FunctionIR) => {
      // The statements may be those of another lowering.
      const original = ir.functions.find((each) => each.at === at);
      return module.take(`_${names.wrapper}_${(original && names.functions.get(original)) ?? "helper"}`);
    };
    const functions = [...called];
    const { definitions, helpers } = emitHelpers(
      { ...ir, functions },
      {
        names: new Map(functions.map((helper) => [helper, nameOf(helper)])),
        parameters: names.parameters,
        sizes: weakIfOne(ir),
        isNonNegative: nonNegativeValues(ir, new LaunchFacts(ir)),
        source,
        reserved: MODULE_NAMES,
      },
    );
    const decorators = [py.dotted("gluon.jit")];
    return { definitions: definitions.map((each) => ({ ...toGluonDialect(each), decorators })), helpers };
  }

  defineFunction(hint: string, params: readonly Parameter[], body: Block): FunctionDef {
    const { ir, module } = this.emission;
    const decorators = [py.dotted("gluon.jit")];
    return { kind: "function", name: module.take(hint), decorators, params, body, origin: ir.at };
  }

  #sharedNames(): readonly Name[] {
    const { barriers, outputs: _, ...shared } = this.shared;
    const staged = this.stagedTensors().flatMap(({ descriptor, blocks }) => [descriptor, blocks]);
    const names = Object.values(shared).filter((each): each is Name => (each as Partial<Name>).kind === "name");
    return [...staged, ...barriers.values(), ...names];
  }

  #dtype(elem: Elem): Expression {
    if (typeof elem === "string") return py.dotted(`tl.${elem}`);
    const tensors = [...this.shared.outputs.values(), ...this.stagedTensors()];
    const match = tensors.find(({ tensor: { dtype } }) => typeof dtype !== "string" && dtype.name === elem.name);
    if (!match) throw new Error(`no block has the dtype ${elem.name}`);
    return py.attribute(match.blocks, "dtype");
  }

  /** The parameters of a function: all shared names and arguments that its body uses. */
  #params(body: Block): readonly Parameter[] {
    const used = new Set<string>();
    eachNode(body, (node) => {
      if (node.kind === "name") used.add(node.id);
    });
    const { consumerIndex, barriers } = this.shared;
    const staged = this.stagedTensors();
    const constexpr = ({ id }: Name): Parameter => ({ name: id, annotation: py.dotted("gl.constexpr") });
    const isConstexpr = (value: Value) => value.type.kind === "constexpr";
    const nameOf = (value: Value) => py.name(valueName(this.emission.names, value));
    const args = this.#arguments();
    const sharedMemory = [...staged.map(({ descriptor }) => descriptor), ...this.sharedBlocks()];
    const params: readonly Parameter[] = [
      constexpr(consumerIndex),
      ...[...sharedMemory, ...barriers.values()].map(({ id }) => ({ name: id })),
      ...args.filter((value) => !isConstexpr(value)).map((value) => ({ name: nameOf(value).id })),
      ...args.filter(isConstexpr).map((value) => constexpr(nameOf(value))),
      ...this.constants().map(constexpr),
    ];
    return params.filter(({ name }) => used.has(name));
  }

  // ---- shared memory and partitions ---------------------------------------------------------------------------------

  /** `layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])` */
  productLayout(name: Name, columns: Expression, elementBytes: number): Statement {
    const list = (...items: readonly (Expression | number)[]) =>
      py.list(...items.map((item) => (typeof item === "number" ? py.number(String(item)) : item)));
    const shape = list(16, columns, INSTRUCTION_BYTES / elementBytes);
    return py.assign(
      name,
      py.call("gl.NVMMADistributedLayout", list(3, 0), list(4, 1), shape),
      py.dotted("gl.constexpr"),
    );
  }

  allocation({ descriptor, blocks }: StagedTensor, count: Expression): Statement {
    const shape = py.binary(py.list(count), "+", py.attribute(descriptor, "block_shape"));
    const [dtype, layout] = [py.attribute(descriptor, "dtype"), py.attribute(descriptor, "layout")];
    return py.assign(blocks, py.call("gl.allocate_shared_memory", dtype, shape, layout));
  }

  /** Allocates and initializes the pipeline's barriers in shared memory. */
  barrierSetup(): Block {
    const { stages, consumers, barriers: names, consumerIndex } = this.shared;
    const barriers = Object.entries(this.pipeline.barriers).map(([barrier, { arrivals, per }]) => ({
      name: barrierName(names, barrier),
      arrivals,
      per,
    }));
    const counts = { slot: stages, consumer: consumers };
    const initialize = (per: "slot" | "consumer", target: Name): Block => {
      const matching = barriers.filter((each) => each.per === per);
      const body = matching.map(({ name, arrivals }) => {
        const barrier = py.call(py.attribute(name, "index"), target);
        const count = py.keyword(
          "count",
          { one: py.number("1"), "producer and widener": py.number("2"), consumers }[arrivals],
        );
        return py.expression(py.call("mbarrier.init", barrier, count));
      });
      const iterable = py.call("gl.static_range", counts[per]);
      return body.length > 0 ? [{ kind: "for", target, iterable, body }] : [];
    };
    return [
      ...barriers.map(({ name, per }) => {
        const [shape, layout] = [py.list(counts[per], py.number("1")), py.call("mbarrier.MBarrierLayout")];
        return py.assign(name, py.call("gl.allocate_shared_memory", py.dotted("gl.int64"), shape, layout));
      }),
      ...initialize("consumer", consumerIndex),
      ...initialize("slot", py.name("slot")),
    ];
  }

  /** Starts the producer and the config's number of consumers. */
  startPartitions(
    producer: FunctionDef,
    consumer: FunctionDef,
    counts: Iterable<Consumers>,
    widener?: FunctionDef,
  ): Block {
    const start = (count: Consumers): Block => [this.#warpSpecializeCall(producer, consumer, count, widener)];
    const distinctCounts = [...new Set(counts)].toSorted((a, b) => b - a);
    const branches = distinctCounts.slice(0, -1).map((count) => {
      const test = py.compare(this.shared.consumers, ["==", py.number(String(count))]);
      return { test, body: start(count) };
    });
    const otherwise = start(distinctCounts.at(-1)!);
    return branches.length > 0 ? [{ kind: "if", branches, otherwise }] : otherwise;
  }

  #warpSpecializeCall(
    producer: FunctionDef,
    consumer: FunctionDef,
    count: Consumers,
    widener: FunctionDef | undefined,
  ): Statement {
    const { consumerIndex } = this.shared;
    const args = ({ params }: FunctionDef, index?: number) =>
      py.tuple(...params.map(({ name }) => (name === consumerIndex.id ? py.number(String(index)) : py.name(name))));
    const partition = (functionDef: FunctionDef, index?: number) =>
      py.tuple(py.name(functionDef.name), args(functionDef, index));
    const consumers = Array.from({ length: count }, (_, i) => partition(consumer, i));
    const forOthers = (text: string) => Array.from({ length: count - 1 }, () => text);
    const consumerRegisters = widener ? MIXED_CONSUMER_REGISTERS : CONSUMER_REGISTERS[count];
    const [widenerWarps, widenerRegisters] = widener ? [["4"], [WIDENER_REGISTERS]] : [[], []];
    const warps = [...forOthers("4"), ...widenerWarps, "1"].map(py.number);
    const registers = [...forOthers(consumerRegisters), ...widenerRegisters, PRODUCER_REGISTERS].map(py.number);
    const partitionList = py.list(...consumers, ...(widener ? [partition(widener)] : []), partition(producer));
    return py.expression(py.call("gl.warp_specialize", partitionList, py.list(...warps), py.list(...registers)));
  }
}

export interface GluonConfig {
  /** The author's config, or one with the kernel's own sizes. */
  readonly config: Config;
  /** The values of the kernel's own constexprs. */
  readonly constants: Readonly<Record<string, number>>;
  /** The maximum number of registers per thread, if several programs share a multiprocessor. */
  readonly registers?: number | undefined;
}

/** Configs whose own constexprs are the numbers of consumers, of pipeline stages, and of pieces if they have a name. */
export function ringConfigs(
  names: Readonly<Record<"consumers" | "stages", Name>> & { readonly pieces?: Name },
  configs: readonly (RingConfig & { readonly pieces?: number })[],
): readonly GluonConfig[] {
  return configs.map(({ config, consumers, stages, pieces = 1 }) => ({
    config,
    constants: {
      [names.consumers.id]: consumers,
      [names.stages.id]: stages,
      ...(names.pieces && { [names.pieces.id]: pieces }),
    },
  }));
}

/** The functions that a kernel starts, and the kernel. */
export interface PartitionFunctions {
  /** A partition between producer and consumers, with the functions that it calls. */
  readonly others?: readonly FunctionDef[];
  readonly producer: FunctionDef;
  readonly consumer: FunctionDef;
  readonly kernel: FunctionDef;
}

/** A tensor with the block shape of its descriptor. */
export type StagedBlock = readonly [StagedTensor, readonly Expression[]];

/** Expressions by which a hook reads the sizes of blocks. */
export interface BlockSizes {
  readonly dim: (dim: Dim) => Expression;
  readonly constant: (name: Name) => Expression;
}
