/** What emits the `@gluon.jit` functions of any warp-specialized kernel: its parts, and the kernel that starts them. */
import { LaunchFacts } from "../../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../../analysis/signs.js";
import type { KernelIR, TensorParam, Value } from "../../../ir/nodes.js";
import type { SourceIndex } from "../../../ir/source.js";
import { type BlockAccess, onAxes } from "../pattern/block-access.js";
import type { Consumers } from "../pattern/attention-configs.js";
import type { BarrierName, Pipeline } from "../pattern/pipeline.js";
import type { Elem } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { emitBody } from "../../body/body.js";
import { weakIfOne } from "../../body/weak-literals.js";
import { type KernelNames, parameterName } from "../../names/kernel-names.js";
import { Names } from "../../names/names.js";
import { eachNode } from "../../syntax/nodes-in.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Name, Parameter, Statement } from "../../syntax/py.js";
import { LOAD_BLOCK, STORE_BLOCK, WRITE_PIECES } from "./helpers.js";
import { toGluonDialect } from "./gluon-dialect.js";
import type { PipelineNames, Staged } from "./partition-names.js";
import type { WarpPartition } from "./partitions.js";

/** What a kernel is emitted from. */
export interface Emission {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  /** The module's names, to which the functions' are added. */
  readonly module: Names;
  readonly source: SourceIndex | undefined;
}

/** What a body refers to in its module, so that no local name hides it. */
const MODULE = [
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

/** Registers of a thread, in each consumer but the first, by how many there are; Triton gives the first what is left. */
const CONSUMER_REGISTERS = { 1: "", 2: "240", 3: "160" };
const PRODUCER_REGISTERS = "24";

/** A launch's argument: a tensor to describe, or a parameter's value. */
export type LaunchArgument = Staged | Value;

export abstract class GluonEmitter<Shared extends PipelineNames> {
  readonly #taken = new Names("body");

  constructor(
    readonly emission: Emission,
    readonly pipeline: Pipeline,
  ) {
    for (const name of emission.names.parameters.values()) this.#taken.keep(name);
  }

  /** The names that its functions share. */
  abstract readonly shared: Shared;
  /** What passes through shared memory, inputs first. */
  abstract staged(): readonly Staged[];
  /** The constexprs of its configs, besides the author's. */
  abstract constants(): readonly Name[];

  // ---- names --------------------------------------------------------------------------------------------------------

  takeName(wanted: string): Name {
    return py.name(this.#taken.take(wanted));
  }

  stagedOf({ tensor, first }: Pick<BlockAccess, "tensor" | "first">): Staged {
    return {
      tensor,
      first,
      descriptor: this.takeName(tensor.block ? `${tensor.name}_block_desc` : `${tensor.name}_desc`),
      blocks: this.takeName(`${tensor.name}_blocks`),
    };
  }

  /** The block of its descriptor, of so many rows and columns. */
  blockOf({ tensor, first }: Staged, own: readonly Expression[]): readonly Expression[] {
    const lead = Array.from({ length: tensor.dims.length - 2 }, () => py.number("1"));
    return onAxes(lead, first, own as readonly [Expression, Expression]);
  }

  /** The outputs that are written in blocks. */
  stagedOutputs(blocks: readonly BlockAccess[]): ReadonlyMap<TensorParam, Staged> {
    const firsts = blocks.filter((block, i) => blocks.findIndex(({ tensor }) => tensor === block.tensor) === i);
    return new Map(firsts.map((block) => [block.tensor, this.stagedOf(block)]));
  }

  barrierNames(words: Readonly<Partial<Record<BarrierName, string>>>): ReadonlyMap<BarrierName, Name> {
    const barriers = Object.keys(this.pipeline.barriers) as BarrierName[];
    return new Map(barriers.map((barrier) => [barrier, this.takeName(words[barrier] ?? barrier)]));
  }

  /** The constexpr of a dimension, or its number. */
  dimension(dim: Dim): Expression {
    const { ir, names } = this.emission;
    return typeof dim === "number" ? py.number(String(dim)) : py.name(parameterName(ir, names, dim));
  }

  /** What a launch gives the kernel, apart from what configs set. */
  taken(kernel: FunctionDef): readonly LaunchArgument[] {
    const listed = new Set(kernel.params.map(({ name }) => name));
    const nameOf = (taken: LaunchArgument) =>
      "blocks" in taken ? taken.descriptor.id : this.emission.names.parameters.get(taken)!;
    return [...this.staged(), ...this.#arguments()].filter(
      (each) => listed.has(nameOf(each)) && ("blocks" in each || !this.#isChosen(each)),
    );
  }

  /** The author's parameters, in the order of the plain kernel's. */
  #arguments(): readonly Value[] {
    const { params } = this.emission.ir;
    const pointers = params.flatMap((param) =>
      param.kind === "tensor" ? [param.pointer] : param.kind === "pointer" ? [param.value] : [],
    );
    const numbers = params.flatMap((param) => (param.kind === "scalar" || param.kind === "size" ? [param.value] : []));
    const strides = params.flatMap((param) => (param.kind === "tensor" ? param.strides : []));
    const constexprs = params.flatMap((param) => (param.kind === "constexpr" ? [param.value] : []));
    const all = [...pointers, ...numbers, ...strides, ...constexprs];
    return [...new Set(all)].filter((each): each is Value => this.emission.names.parameters.has(each as Value));
  }

  #isChosen(taken: Value): boolean {
    return this.emission.ir.params.some(
      (param) => param.kind === "constexpr" && param.from === "config" && param.value === taken,
    );
  }

  // ---- functions ----------------------------------------------------------------------------------------------------

  partFunction(wanted: string, { block, built }: WarpPartition, before: Block): FunctionDef {
    const { ir, names, source } = this.emission;
    const locals = new Names("body");
    for (const name of names.parameters.values()) locals.keep(name);
    for (const { id } of this.#sharedNames()) if (locals.isFree(id)) locals.keep(id);
    for (const name of MODULE) locals.keep(name);
    const parameters = new Map<Value, Expression>([...names.parameters].map(([value, name]) => [value, py.name(name)]));
    const body = emitBody(block, {
      names: locals,
      parameters,
      dtype: (elem) => this.#dtype(elem),
      helpers: { name: () => py.none, extras: () => [] },
      sizes: weakIfOne(ir),
      isNonNegative: nonNegativeValues(ir, new LaunchFacts(ir)),
      source,
      built,
    });
    const all = toGluonDialect([...before, ...body]);
    return this.defined(wanted, this.#params(all), all);
  }

  /** The kernel that starts the parts, given what it does before. */
  kernelFunction(body: Block): FunctionDef {
    const { ir, names } = this.emission;
    // The autotuner asks for what its key and its configs name.
    const configs = ir.tuning.configs.flatMap(({ values }) => Object.keys(values));
    const asked = [...(ir.tuning.key ?? []), ...configs].map((name) =>
      py.expression(py.name(parameterName(ir, names, name))),
    );
    const { barriers, part } = this.shared;
    const own = new Set([...this.staged().map(({ blocks }) => blocks), ...barriers.values(), part].map(({ id }) => id));
    const params = this.#params([...body, ...asked]).filter(({ name }) => !own.has(name));
    return this.defined(`${names.wrapper}_specialized_kernel`, params, body);
  }

  defined(wanted: string, params: readonly Parameter[], body: Block): FunctionDef {
    const { ir, module } = this.emission;
    const decorators = [py.dotted("gluon.jit")];
    return { kind: "function", name: module.take(wanted), decorators, params, body, origin: ir.at };
  }

  #sharedNames(): readonly Name[] {
    const { barriers, outputs: _, ...shared } = this.shared;
    const staged = this.staged().flatMap(({ descriptor, blocks }) => [descriptor, blocks]);
    const named = Object.values(shared).filter((each): each is Name => (each as Partial<Name>).kind === "name");
    return [...staged, ...barriers.values(), ...named];
  }

  #dtype(elem: Elem): Expression {
    if (typeof elem === "string") return py.dotted(`tl.${elem}`);
    const written = [...this.shared.outputs.values(), ...this.staged()];
    const holds = written.find(({ tensor: { dtype } }) => typeof dtype !== "string" && dtype.name === elem.name);
    return py.attribute(holds!.blocks, "dtype");
  }

  /** What a body uses of what the kernel has, as parameters. */
  #params(body: Block): readonly Parameter[] {
    const used = new Set<string>();
    eachNode(body, (node) => {
      if (node.kind === "name") used.add(node.id);
    });
    const { part, barriers } = this.shared;
    const staged = this.staged();
    const constexpr = ({ id }: Name): Parameter => ({ name: id, annotation: py.dotted("gl.constexpr") });
    const isConstexpr = (value: Value) => value.type.kind === "constexpr";
    const named = (value: Value) => py.name(this.emission.names.parameters.get(value)!);
    const args = this.#arguments();
    const passed = [...staged.map(({ descriptor }) => descriptor), ...staged.map(({ blocks }) => blocks)];
    const params: readonly Parameter[] = [
      constexpr(part),
      ...[...passed, ...barriers.values()].map(({ id }) => ({ name: id })),
      ...args.filter((value) => !isConstexpr(value)).map((value) => ({ name: named(value).id })),
      ...args.filter(isConstexpr).map((value) => constexpr(named(value))),
      ...this.constants().map(constexpr),
    ];
    return params.filter(({ name }) => used.has(name));
  }

  // ---- shared memory and partitions ---------------------------------------------------------------------------------

  /** `layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])` */
  productLayout(name: Name, columns: Dim): Statement {
    const list = (...items: readonly (Expression | number)[]) =>
      py.list(...items.map((item) => (typeof item === "number" ? py.number(String(item)) : item)));
    const shape = list(16, this.dimension(columns), 16);
    return py.assign(
      name,
      py.call("gl.NVMMADistributedLayout", list(3, 0), list(4, 1), shape),
      py.dotted("gl.constexpr"),
    );
  }

  allocated({ descriptor, blocks }: Staged, count: Expression): Statement {
    const shape = py.binary(py.list(count), "+", py.attribute(descriptor, "block_shape"));
    const [dtype, layout] = [py.attribute(descriptor, "dtype"), py.attribute(descriptor, "layout")];
    return py.assign(blocks, py.call("gl.allocate_shared_memory", dtype, shape, layout));
  }

  /** The pipeline's barriers, in shared memory. */
  barriers(): Block {
    const { stages, consumers, barriers, part } = this.shared;
    const all = [...barriers].map(([barrier, name]) => ({ name, ...this.pipeline.barriers[barrier]! }));
    const counts = { slot: stages, consumer: consumers };
    const begin = (per: "slot" | "consumer", target: Name): Block => {
      const own = all.filter((each) => each.per === per);
      const body = own.map(({ name, arrivals }) => {
        const barrier = py.call(py.attribute(name, "index"), target);
        const count = py.keyword("count", arrivals === "consumers" ? consumers : py.number("1"));
        return py.expression(py.call("mbarrier.init", barrier, count));
      });
      const iterable = py.call("gl.static_range", counts[per]);
      return body.length > 0 ? [{ kind: "for", target, iterable, body }] : [];
    };
    return [
      ...all.map(({ name, per }) => {
        const [shape, layout] = [py.list(counts[per], py.number("1")), py.call("mbarrier.MBarrierLayout")];
        return py.assign(name, py.call("gl.allocate_shared_memory", py.dotted("gl.int64"), shape, layout));
      }),
      ...begin("consumer", part),
      ...begin("slot", py.name("slot")),
    ];
  }

  /** Starts the producer and as many consumers as the config has. */
  partitions(producer: FunctionDef, consumer: FunctionDef, counts: Iterable<Consumers>): Block {
    const start = (count: Consumers): Block => [this.#started(producer, consumer, count)];
    const all = [...new Set(counts)].toSorted((a, b) => b - a);
    const branches = all.slice(0, -1).map((count) => {
      const test = py.compare(this.shared.consumers, ["==", py.number(String(count))]);
      return { test, body: start(count) };
    });
    const otherwise = start(all.at(-1)!);
    return branches.length > 0 ? [{ kind: "if", branches, otherwise }] : otherwise;
  }

  #started(producer: FunctionDef, consumer: FunctionDef, count: Consumers): Statement {
    const { part } = this.shared;
    const args = ({ params }: FunctionDef, number?: number) =>
      py.tuple(...params.map(({ name }) => (name === part.id ? py.number(String(number)) : py.name(name))));
    const partition = (part: FunctionDef, number?: number) => py.tuple(py.name(part.name), args(part, number));
    const consumers = Array.from({ length: count }, (_, i) => partition(consumer, i));
    const others = (each: string) => Array.from({ length: count - 1 }, () => each);
    const warps = [...others("4"), "1"].map(py.number);
    const registers = [...others(CONSUMER_REGISTERS[count]), PRODUCER_REGISTERS].map(py.number);
    const parts = py.list(...consumers, partition(producer));
    return py.expression(py.call("gl.warp_specialize", parts, py.list(...warps), py.list(...registers)));
  }
}
