/** The `@gluon.jit` functions of a warp-specialised kernel: its parts, and the kernel that starts them. */
import type { KernelIR, TensorParam, Value } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import { gemmPipeline } from "../../specialise/pipeline.js";
import type { Specialised } from "../../specialise/specialise.js";
import type { Elem } from "../../types/dtype.js";
import { emitBody } from "../body/body.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import { eachNode } from "../python/nodes-in.js";
import * as py from "../python/py-build.js";
import type { Block, Expression, FunctionDef, Name, Parameter, Statement } from "../python/py.js";
import { LOAD_BLOCK, WRITE_PIECES } from "./gluon-helpers.js";
import { inGluon } from "./in-gluon.js";
import type { PartNames, Staged } from "./part-names.js";
import { consumerPart, type Part, producerPart } from "./parts.js";

export interface GluonKernel {
  readonly functions: readonly FunctionDef[];
  /** The kernel that a launch names. */
  readonly name: string;
  /** Its arguments, apart from what configs set: a tensor to describe, or a parameter's value. */
  readonly takes: readonly (Staged | Value)[];
  /** The tensors that it accesses in blocks. */
  readonly described: readonly TensorParam[];
  readonly specialised: Specialised;
}

/** `module` holds the module's names, to which the functions' are added. */
export function gluonKernel(
  ir: KernelIR,
  specialised: Specialised,
  names: KernelNames,
  module: Names,
  source: SourceIndex | undefined,
): GluonKernel {
  return new GluonEmitter(ir, specialised, names, module, source).emit();
}

/** What a body refers to in its module, so that no local name hides it. */
const MODULE = ["gl", "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait", LOAD_BLOCK, WRITE_PIECES];

/** Registers of a thread, in the second consumer and in the producer; Triton gives the first consumer what is left. */
const CONSUMER_REGISTERS = "240";
const PRODUCER_REGISTERS = "24";

class GluonEmitter {
  readonly #taken = new Names("body");
  readonly #parts: PartNames;

  constructor(
    readonly ir: KernelIR,
    readonly specialised: Specialised,
    readonly names: KernelNames,
    readonly module: Names,
    readonly source: SourceIndex | undefined,
  ) {
    for (const name of names.parameters.values()) this.#taken.keep(name);
    this.#parts = this.#names();
  }

  emit(): GluonKernel {
    const { wrapper } = this.names;
    const producer = this.#function(`_${wrapper}_load`, producerPart(this.ir, this.specialised, this.#parts), []);
    const consumer = this.#function(`_${wrapper}_multiply`, consumerPart(this.ir, this.specialised, this.#parts), [
      this.#layout(),
    ]);
    const kernel = this.#kernel(producer, consumer);
    const listed = new Set(kernel.params.map(({ name }) => name));
    const takes = [...this.#staged(), ...this.#arguments()].filter(
      (each) => listed.has(this.#nameOf(each)) && !this.#isChosen(each),
    );
    return {
      functions: [producer, consumer, kernel],
      name: kernel.name,
      takes,
      described: [...new Set(this.#staged().map(({ tensor }) => tensor))],
      specialised: this.specialised,
    };
  }

  #names(): PartNames {
    const take = (wanted: string) => py.name(this.#taken.take(wanted));
    const staged = (tensor: TensorParam): Staged => ({
      tensor,
      descriptor: take(tensor.block ? `${tensor.name}_block_desc` : `${tensor.name}_desc`),
      blocks: take(`${tensor.name}_blocks`),
    });
    const { form } = this.specialised;
    const [a, b] = form.operands.map(({ block }) => staged(block.tensor));
    const rows = this.ir.params.find(({ name }) => name === form.shape[0])!;
    return {
      operands: [a!, b!],
      outputs: new Map([...new Set(form.stores.map(({ tensor }) => tensor))].map((tensor) => [tensor, staged(tensor)])),
      filled: take("filled"),
      emptied: take("emptied"),
      stages: take("STAGES"),
      consumers: take("CONSUMERS"),
      pieces: take("PIECES"),
      depth: take("DEPTH"),
      part: take("part"),
      rows: py.name(this.names.parameters.get(rows.value)!),
      layout: take("layout"),
    };
  }

  #staged(): readonly Staged[] {
    return [...this.#parts.operands, ...this.#parts.outputs.values()];
  }

  /** The author's parameters, in the order of the plain kernel's. */
  #arguments(): readonly Value[] {
    const { params } = this.ir;
    const pointers = params.flatMap((param) =>
      param.kind === "tensor" ? [param.pointer] : param.kind === "pointer" ? [param.value] : [],
    );
    const numbers = params.flatMap((param) => (param.kind === "scalar" || param.kind === "size" ? [param.value] : []));
    const strides = params.flatMap((param) => (param.kind === "tensor" ? param.strides : []));
    const constexprs = params.flatMap((param) => (param.kind === "constexpr" ? [param.value] : []));
    const all = [...pointers, ...numbers, ...strides, ...constexprs];
    return [...new Set(all)].filter((each): each is Value => this.names.parameters.has(each as Value));
  }

  #nameOf(taken: Staged | Value): string {
    return "blocks" in taken ? taken.descriptor.id : this.names.parameters.get(taken)!;
  }

  #isChosen(taken: Staged | Value): boolean {
    return this.ir.params.some(
      (param) => param.kind === "constexpr" && param.from === "config" && param.value === taken,
    );
  }

  // ---- functions ----------------------------------------------------------------------------------------------------

  #function(wanted: string, { block, built }: Part, before: Block): FunctionDef {
    const locals = new Names("body");
    for (const name of this.names.parameters.values()) locals.keep(name);
    const { operands, outputs, ...shared } = this.#parts;
    for (const each of [...operands, ...outputs.values()].flatMap((each) => [each.descriptor, each.blocks]))
      locals.keep(each.id);
    for (const { id } of Object.values(shared)) if (locals.isFree(id)) locals.keep(id);
    for (const name of MODULE) locals.keep(name);
    const parameters = new Map<Value, Expression>(
      [...this.names.parameters].map(([value, name]) => [value, py.name(name)]),
    );
    const body = emitBody(block, {
      names: locals,
      parameters,
      dtype: (elem) => this.#dtype(elem),
      helpers: { name: () => py.none, extras: () => [] },
      sizes: new Set(),
      isNonNegative: nonNegativeValues(this.ir, new LaunchFacts(this.ir)),
      source: this.source,
      built,
    });
    const all = inGluon([...before, ...body]);
    return this.#defined(wanted, this.#params(all), all);
  }

  #defined(wanted: string, params: readonly Parameter[], body: Block): FunctionDef {
    return {
      kind: "function",
      name: this.module.take(wanted),
      decorators: [py.dotted("gluon.jit")],
      params,
      body,
      origin: this.ir.at,
    };
  }

  #dtype(elem: Elem): Expression {
    if (typeof elem === "string") return py.dotted(`tl.${elem}`);
    const written = [...this.#parts.outputs.values(), ...this.#parts.operands];
    const holds = written.find(({ tensor: { dtype } }) => typeof dtype !== "string" && dtype.name === elem.name);
    return py.attribute(holds!.blocks, "dtype");
  }

  /** What a body uses of what the kernel has, as parameters. */
  #params(body: Block): readonly Parameter[] {
    const used = new Set<string>();
    eachNode(body, (node) => {
      if (node.kind === "name") used.add(node.id);
    });
    const { part, filled, emptied, stages, consumers, pieces, depth } = this.#parts;
    const staged = this.#staged();
    const constexpr = ({ id }: Name): Parameter => ({ name: id, annotation: py.dotted("gl.constexpr") });
    const isConstexpr = (value: Value) => value.type.kind === "constexpr";
    const named = (value: Value) => py.name(this.names.parameters.get(value)!);
    const args = this.#arguments();
    const params: readonly Parameter[] = [
      constexpr(part),
      ...[...staged.map(({ descriptor }) => descriptor), ...staged.map(({ blocks }) => blocks), filled, emptied].map(
        ({ id }) => ({ name: id }),
      ),
      ...args.filter((value) => !isConstexpr(value)).map((value) => ({ name: named(value).id })),
      ...args.filter(isConstexpr).map((value) => constexpr(named(value))),
      ...[consumers, stages, pieces, depth].map(constexpr),
    ];
    return params.filter(({ name }) => used.has(name));
  }

  /** `layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])` */
  #layout() {
    const [, columns] = this.specialised.form.shape;
    const width =
      typeof columns === "number" ? py.number(String(columns)) : py.name(parameterName(this.ir, this.names, columns));
    const list = (...items: readonly (Expression | number)[]) =>
      py.list(...items.map((item) => (typeof item === "number" ? py.number(String(item)) : item)));
    const layout = py.call("gl.NVMMADistributedLayout", list(3, 0), list(4, 1), list(16, width, 16));
    return py.assign(this.#parts.layout, layout, py.dotted("gl.constexpr"));
  }

  #kernel(producer: FunctionDef, consumer: FunctionDef): FunctionDef {
    const { filled, emptied, consumers, part } = this.#parts;
    const start = (count: 1 | 2): Block => [this.#start(producer, consumer, count, part)];
    const [count, other] = new Set(this.specialised.configs.map((config) => config.consumers));
    const either: Statement = {
      kind: "if",
      branches: [{ test: py.compare(consumers, ["==", py.number("2")]), body: start(2) }],
      otherwise: start(1),
    };
    const body = [...this.#shared(), ...(other === undefined ? start(count!) : [either])];
    // The autotuner asks for what its key and its configs name.
    const configs = this.specialised.configs.flatMap(({ config }) => Object.keys(config.values));
    const asked = [...(this.ir.tuning.key ?? []), ...configs].map((name) =>
      py.expression(py.name(parameterName(this.ir, this.names, name))),
    );
    const own = new Set([...this.#staged().map(({ blocks }) => blocks.id), filled.id, emptied.id, part.id]);
    const params = this.#params([...body, ...asked]).filter(({ name }) => !own.has(name));
    return this.#defined(`${this.names.wrapper}_specialised_kernel`, params, body);
  }

  /** The shared memory of the ring and of what is written, and the ring's barriers. */
  #shared(): Block {
    const { filled, emptied, stages, consumers, depth, operands, outputs } = this.#parts;
    const blocks = ({ descriptor, blocks }: Staged, count: Expression) => {
      const shape = py.binary(py.list(count), "+", py.attribute(descriptor, "block_shape"));
      const [dtype, layout] = [py.attribute(descriptor, "dtype"), py.attribute(descriptor, "layout")];
      return py.assign(blocks, py.call("gl.allocate_shared_memory", dtype, shape, layout));
    };
    const barriers = (name: Name) => {
      const [shape, layout] = [py.list(stages, py.number("1")), py.call("mbarrier.MBarrierLayout")];
      return py.assign(name, py.call("gl.allocate_shared_memory", py.dotted("gl.int64"), shape, layout));
    };
    const slot = py.name("slot");
    const begin = (name: Name, count: Expression) => {
      const barrier = py.call(py.attribute(name, "index"), slot);
      return py.expression(py.call("mbarrier.init", barrier, py.keyword("count", count)));
    };
    const arrivals = (barrier: "filled" | "emptied") =>
      gemmPipeline.arrivals[barrier] === "consumers" ? consumers : py.number("1");
    const [a, b] = operands;
    return [
      blocks(a, py.binary(stages, "*", consumers)),
      blocks(b, stages),
      ...[...outputs.values()].map((each) => blocks(each, py.binary(consumers, "*", depth))),
      barriers(filled),
      barriers(emptied),
      {
        kind: "for",
        target: slot,
        iterable: py.call("gl.static_range", stages),
        body: [begin(filled, arrivals("filled")), begin(emptied, arrivals("emptied"))],
      },
    ];
  }

  #start(producer: FunctionDef, consumer: FunctionDef, count: 1 | 2, part: Name) {
    const args = ({ params }: FunctionDef, number?: number) =>
      py.tuple(...params.map(({ name }) => (name === part.id ? py.number(String(number)) : py.name(name))));
    const partition = (part: FunctionDef, number?: number) => py.tuple(py.name(part.name), args(part, number));
    const consumers = Array.from({ length: count }, (_, i) => partition(consumer, i));
    const warps = [...(count === 2 ? ["4"] : []), "1"].map(py.number);
    const registers = [...(count === 2 ? [CONSUMER_REGISTERS] : []), PRODUCER_REGISTERS].map(py.number);
    return py.expression(
      py.call(
        "gl.warp_specialize",
        py.list(...consumers, partition(producer)),
        py.list(...warps),
        py.list(...registers),
      ),
    );
  }
}
