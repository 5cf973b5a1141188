/** The function of an emitted module that takes a call like an earlier one straight to its launch. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import { makesDescriptors } from "../../analysis/descriptor-tensors.js";
import { isMemoryParam, type KernelIR, type PointerParam, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { callOrder, type NumberParam } from "../names/call-order.js";
import type { KernelNames } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Statement } from "../syntax/py.js";
import { CHECKED, IS_SPECIAL, KEEP, REPEATED } from "./launch-cache-helpers.js";
import { deviceHolder, argumentDisplayName } from "./checks.js";
import { LAUNCHES } from "./helpers.js";
import { tensorsBefore } from "./outputs.js";
import { type WrapperContext, WrapperScope } from "./scope.js";
import { annotationOf } from "./docstring.js";

/**
 * Whether calls of the wrapper can be repeated: it launches by `_launch`, and always with the same tensors. The copy
 * engine's descriptors and scratch memory are made anew for each launch.
 */
export function isLaunchCacheable(ir: KernelIR): boolean {
  const tensors = ir.params.filter((param) => isMemoryParam(param));
  const isDescribed = makesDescriptors(ir) || tensors.some((param) => param.kind === "tensor" && param.block);
  return !isDescribed && deviceHolder({ ir }) !== undefined && tensors.every(({ given }) => given === undefined);
}

/** `wrapper` is the function whose calls are repeated. */
export function cachedCallFunction(ir: KernelIR, names: KernelNames, wrapper: FunctionDef): FunctionDef {
  return new RepeatedEmitter(ir, names).emit(wrapper);
}

type Tensor = TensorParam | PointerParam;

/** Autograd is told that a tensor changes. */
const tellAutograd = (tensor: Expression): Statement =>
  py.expression(py.call("torch._C._increment_version", py.tuple(tensor)));

class RepeatedEmitter {
  readonly #context: WrapperContext;
  readonly #locals = new Names();
  readonly #outs: readonly TensorParam[];
  /** In the kernel's order. */
  readonly #tensors: readonly Tensor[];
  /** The outputs' own names, which are not those of arguments. */
  readonly #made: ReadonlyMap<Tensor, Expression>;
  readonly #addresses: ReadonlyMap<Tensor, Expression>;

  constructor(
    readonly ir: KernelIR,
    names: KernelNames,
  ) {
    this.#context = new WrapperScope(ir, names, false);
    this.#outs = tensorsOf(ir, "out");
    this.#tensors = ir.params.filter((param) => isMemoryParam(param));
    for (const { id } of this.#arguments()) this.#locals.keep(id);
    for (const param of this.#outs) this.#locals.keep(this.#argument(param).id);
    this.#made = new Map(
      this.#outs.map((param) => [param, py.name(this.#locals.take(names.tensors.get(param.name)!))]),
    );
    this.#addresses = new Map(
      this.#tensors.map((param) => [param, py.name(this.#locals.take(`${names.tensors.get(param.name)!}_at`))]),
    );
  }

  emit({ name, params }: FunctionDef): FunctionDef {
    const [key, found, given] = ["key", "found", "given"].map((each) => py.name(this.#locals.take(each)));
    const kept = py.call(KEEP, key!, given!, ...this.#call());
    const isTraced = py.call("torch.compiler.is_dynamo_compiling");
    const looked = py.call(`${LAUNCHES}.get`, key!, py.tuple());
    return {
      kind: "function",
      name: REPEATED,
      decorators: [py.call("functools.wraps", py.name(CHECKED))],
      params: params.map((param) => ({ name: param.name, ...(param.default && { default: param.default }) })),
      docstring: [
        `${name}, at the cost of its launch where an earlier call was alike.`,
        "",
        "Calls are alike if all that the checks and the launch depend on is equal but the addresses. Of these, the alignment is checked here, and that nothing overlaps what is written. Any other call goes through the checks.",
      ].join("\n"),
      body: [
        { kind: "if", branches: [{ test: isTraced, body: [py.returns(py.call(CHECKED, ...this.#call()))] }] },
        {
          kind: "try",
          body: [py.assign(key!, this.#key()), py.assign(found!, looked)],
          handlers: [
            {
              type: py.tuple(...["AttributeError", "RuntimeError", "TypeError"].map(py.name)),
              body: [
                py.comment("An argument is no tensor, or no number: the checks say so."),
                py.assign(py.tuple(key!, found!), py.tuple(py.none, py.tuple())),
              ],
            },
          ],
        },
        py.assign(given!, this.#given()),
        this.#search(found!, given!),
        py.returns(kept),
      ],
    };
  }

  /** Looks for a plan of such a call, and launches by it. */
  #search(found: Expression, given: Expression): Statement {
    const local = (name: string) => py.name(this.#locals.take(name));
    const plan = { check: local("check"), state: local("state"), sizes: local("sizes"), empty: local("empty") };
    const launch = local("launch");
    const isSpecial = py.call(IS_SPECIAL, py.name(this.#context.names.jit), py.starred(plan.state));
    const results = this.#context.tensors.filter(({ role }) => role !== "in");
    const allocated = results.flatMap((param, place) =>
      param.role === "out" ? [this.#allocate(param, py.subscript(plan.empty, py.number(String(place))))] : [],
    );
    const places = this.#tensors.map((param) => this.#addresses.get(param)!);
    const read = this.#tensors.map((param) => py.call(py.attribute(this.#tensor(param), "data_ptr")));
    const values = results.map((param) => this.#tensor(param));
    const launching: Block = [
      ...results.flatMap((param) => this.#beforeWriting(param)),
      ...writtenPointers(this.ir).map((param) => tellAutograd(this.#tensor(param))),
      py.expression(py.call(launch, ...places)),
      py.returns(values.length > 0 ? py.tupled(values) : undefined),
    ];
    const body: Block = [
      ...allocated,
      py.assign(py.tupled(places), py.tupled(read)),
      { kind: "if", branches: [{ test: this.#isPlaced(plan.sizes), body: launching }] },
    ];
    const isAlike = py.boolOp("and", py.call(plan.check, py.starred(given)), py.unary("not", isSpecial));
    return {
      kind: "for",
      target: py.tuple(plan.check, plan.state, plan.sizes, plan.empty, launch),
      iterable: found,
      body: [{ kind: "if", branches: [{ test: isAlike, body }] }],
    };
  }

  /** Addresses of another alignment need another binary, and what overlaps needs an exact check. */
  #isPlaced(sizes: Expression): Expression {
    const at = (param: Tensor) => this.#addresses.get(param)!;
    const size = (param: Tensor) => py.subscript(sizes, py.number(String(this.#tensors.indexOf(param))));
    const [first, ...rest] = this.#tensors.map(at);
    const all = rest.reduce<Expression>((joined, each) => py.binary(joined, "|", each), first!);
    const changed = [...this.#context.tensors.filter(({ role }) => role !== "in"), ...writtenPointers(this.ir)];
    const apart = changed.flatMap((written) =>
      tensorsBefore(this.#context, written).map((other) =>
        py.unary(
          "not",
          py.compare(py.unary("-", size(written)), ["<", py.binary(at(written), "-", at(other))], ["<", size(other)]),
        ),
      ),
    );
    const isAligned = py.compare(py.binary(all, "%", py.number("16")), ["==", py.number("0")]);
    return py.boolOp("and", isAligned, ...apart);
  }

  #allocate(param: TensorParam, made: Expression): Statement {
    const given = this.#argument(param);
    const isLeftOut = py.compare(given, ["is", py.none]);
    return py.assign(this.#tensor(param), py.conditional(py.call(made), isLeftOut, given));
  }

  /** What the checks do to a written tensor: autograd is told, and what starts from zero is set to it. */
  #beforeWriting(param: TensorParam): Block {
    const tensor = this.#tensor(param);
    if (param.role === "inout") return [tellAutograd(tensor)];
    const isGiven = py.compare(this.#argument(param), ["is not", py.none]);
    const zero = param.zeroed ? [py.expression(py.call(py.attribute(tensor, "zero_")))] : [];
    return [{ kind: "if", branches: [{ test: isGiven, body: [tellAutograd(tensor)] }] }, ...zero];
  }

  // ---- arguments ----------------------------------------------------------------------------------------------------

  #call() {
    const outs = this.#outs.map((param) => py.keyword(this.#argument(param).id, this.#argument(param)));
    return [...this.#arguments(), ...outs];
  }

  /**
   * The shapes that tell calls apart, and the numbers with their types: `True` is not 1, and -0.0 not 0.0. No name is
   * called: an argument may have it. Nested tensors are told apart because PyTorch's guard ends the process on one.
   */
  #key(): Expression {
    const seen = new Set<string | number>();
    const told = (param: Tensor, name: Expression): Expression => {
      const dims = param.kind === "tensor" ? param.dimNames : [""];
      const isNew = dims.some((dim) => typeof dim !== "number" && !seen.has(dim));
      for (const dim of dims) seen.add(dim);
      return py.attribute(name, isNew ? "shape" : "is_nested");
    };
    const inputs = callOrder(this.ir).flatMap((param): readonly Expression[] => {
      if (isMemoryParam(param)) return [told(param, this.#context.tensor(param))];
      const name = this.#number(param);
      const exact = py.fString({ value: name, conversion: "r" });
      return [py.attribute(name, "__class__"), annotationOf(param) === "float" ? exact : name];
    });
    const outs = this.#outs.map((param) => {
      const name = this.#argument(param);
      return py.conditional(py.none, py.compare(name, ["is", py.none]), told(param, name));
    });
    return py.tuple(...inputs, ...outs);
  }

  /** The caller's tensors, those that are compared with an earlier call's. */
  #given(): Expression {
    const inputs = callOrder(this.ir).filter((param) => isMemoryParam(param));
    const tensors = inputs.map((param) => this.#context.tensor(param));
    const outs = this.#outs.map((param) => this.#argument(param));
    const [only] = outs;
    if (!only) return py.tuple(...tensors);
    if (outs.length === 1)
      return py.conditional(py.tuple(...tensors), py.compare(only, ["is", py.none]), py.tuple(...tensors, only));
    const there = py.call("filter", py.dotted("torch.is_tensor"), py.tuple(...outs));
    return py.tuple(...tensors, py.starred(there));
  }

  #arguments() {
    return callOrder(this.ir).map((param) =>
      isMemoryParam(param) ? py.name(this.#context.names.tensors.get(param.name)!) : this.#number(param),
    );
  }

  #number(param: NumberParam) {
    return py.name(this.#context.names.parameters.get(param.value)!);
  }

  /** A tensor that is launched with: an argument, or an output that is allocated where none was given. */
  #tensor(param: Tensor): Expression {
    return this.#made.get(param) ?? this.#context.tensor(param);
  }

  /** An output as the caller gives it. */
  #argument(param: TensorParam) {
    return py.name(argumentDisplayName(this.#context, param));
  }
}
