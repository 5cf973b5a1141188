/** The launch cache: an emitted function that launches a repeated call directly, without the wrapper's checks. */
import { hasDeviceDescriptors, writtenPointers } from "../../analysis/descriptor-tensors.js";
import { isMemoryParam, type KernelIR, type PointerParam, type TensorParam, tensorsOf } from "../../ir/nodes.js";
import { type KernelNames, callOrder, type NumberParam } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Statement } from "../syntax/py.js";
import { argumentDisplayName, deviceHolder, type WrapperContext, WrapperScope } from "./checks.js";
import { nonOverlapping, zeroed } from "./outputs.js";
import { annotationOf } from "./docstring.js";

/** The wrapper without the cache, and the function that replaces it. */
const CHECKED_WRAPPER = "_checked";
const CACHED_WRAPPER = "_cached";
/** The library's table of launches and functions. */
const LAUNCHES = "_LAUNCHES";
const IS_SPECIAL = "_is_special";
const RECORD_CALL = "_record_call";
/** Names that the cache adds to a module. */
export const LAUNCH_CACHE_NAMES = [CHECKED_WRAPPER, CACHED_WRAPPER, "functools"];
/** The library's function that says if launches can be cached here. */
const IS_DIRECT = "_is_direct";

/** The reason why calls of the wrapper cannot be cached. */
export function cacheObstacle(ir: KernelIR): string | undefined {
  const tensors = ir.params.filter((param) => isMemoryParam(param));
  const optional = tensors.find(({ given }) => given !== undefined);
  if (optional) return `${optional.name} is optional`;
  if (deviceHolder({ ir }) === undefined) return "no input determines its device";
  if (hasDeviceDescriptors(ir) || tensors.some((param) => param.kind === "tensor" && param.block))
    return "each launch creates its descriptors";
  return undefined;
}

/**
 * The end of a module with a launch cache: the function that consults it first replaces the wrapper. `isShared`: other
 * modules have the same table of launches.
 */
export function launchCacheBlock(ir: KernelIR, names: KernelNames, wrapper: FunctionDef, isShared: boolean): Block {
  return [
    py.comment("Launch cache: a repeated call goes directly to its launch."),
    py.assign(py.name(CHECKED_WRAPPER), py.name(wrapper.name)),
    new CachedCallEmitter(ir, names, isShared).emit(wrapper),
    {
      kind: "if",
      branches: [{ test: py.call(IS_DIRECT), body: [py.assign(py.name(wrapper.name), py.name(CACHED_WRAPPER))] }],
    },
  ];
}

type MemoryParam = TensorParam | PointerParam;

/** Increments autograd's version counter of a tensor that the kernel writes. */
const incrementVersion = (tensor: Expression): Statement =>
  py.expression(py.call("torch._C._increment_version", py.tuple(tensor)));

class CachedCallEmitter {
  readonly #context: WrapperContext;
  readonly #locals = new Names();
  readonly #outs: readonly TensorParam[];
  /** In the kernel's order. */
  readonly #tensors: readonly MemoryParam[];
  /** Local names of the outputs, distinct from the names of the arguments. */
  readonly #allocated: ReadonlyMap<MemoryParam, Expression>;
  readonly #addresses: ReadonlyMap<MemoryParam, Expression>;

  constructor(
    readonly ir: KernelIR,
    names: KernelNames,
    readonly isShared: boolean,
  ) {
    this.#context = new WrapperScope(ir, names, false);
    this.#outs = tensorsOf(ir, "out");
    this.#tensors = ir.params.filter((param) => isMemoryParam(param));
    for (const { id } of this.#arguments()) this.#locals.reserve(id);
    for (const param of this.#outs) this.#locals.reserve(this.#argument(param).id);
    this.#allocated = new Map(
      this.#outs.map((param) => [param, py.name(this.#locals.take(names.tensors.get(param.name)!))]),
    );
    this.#addresses = new Map(
      this.#tensors.map((param) => [param, py.name(this.#locals.take(`${names.tensors.get(param.name)!}_at`))]),
    );
  }

  emit({ name, params }: FunctionDef): FunctionDef {
    const [key, launches, tensors] = ["key", "found", "given"].map((each) => py.name(this.#locals.take(each)));
    const fallback = py.call(RECORD_CALL, py.name(CHECKED_WRAPPER), key!, tensors!, ...this.#call());
    const isTraced = py.call("torch.compiler.is_dynamo_compiling");
    const lookup = py.call(`${LAUNCHES}.get`, key!, py.tuple());
    return {
      kind: "function",
      name: CACHED_WRAPPER,
      decorators: [py.call("functools.wraps", py.name(CHECKED_WRAPPER))],
      params: params.map((param) => ({ name: param.name, ...(param.default && { default: param.default }) })),
      docstring: [
        `${name}, at the cost of its launch if an equal call was made before.`,
        "",
        "Calls are equal if all that the checks and the launch depend on is equal, except the addresses, of which the alignment and the overlap are checked here. Any other call goes through the checks.",
      ].join("\n"),
      body: [
        { kind: "if", branches: [{ test: isTraced, body: [py.returns(py.call(CHECKED_WRAPPER, ...this.#call()))] }] },
        {
          kind: "try",
          body: [py.assign(key!, this.#key()), py.assign(launches!, lookup)],
          handlers: [
            {
              type: py.tuple(...["AttributeError", "RuntimeError", "TypeError"].map(py.name)),
              body: [
                py.comment("An argument is no tensor, or no number: the checks refuse it."),
                py.assign(py.tuple(key!, launches!), py.tuple(py.none, py.tuple())),
              ],
            },
          ],
        },
        py.assign(tensors!, this.#tensorTuple()),
        this.#search(launches!, tensors!),
        py.returns(fallback),
      ],
    };
  }

  /** Searches for a cached launch whose guard accepts this call, and executes it. */
  #search(launches: Expression, tensors: Expression): Statement {
    const local = (name: string) => py.name(this.#locals.take(name));
    const plan = { check: local("check"), state: local("state"), sizes: local("sizes"), empty: local("empty") };
    const launch = local("launch");
    const isSpecial = py.call(IS_SPECIAL, py.name(this.#context.names.jit), py.starred(plan.state));
    const results = this.#context.tensors.filter(({ role }) => role !== "in");
    const allocations = results.flatMap((param, index) =>
      param.role === "out" ? [this.#allocate(param, py.subscript(plan.empty, py.number(String(index))))] : [],
    );
    const addresses = this.#tensors.map((param) => this.#addresses.get(param)!);
    const pointers = this.#tensors.map((param) => py.call(py.attribute(this.#tensor(param), "data_ptr")));
    const values = results.map((param) => this.#tensor(param));
    const launchStatements: Block = [
      ...results.flatMap((param) => this.#beforeWriting(param)),
      ...writtenPointers(this.ir).flatMap((param) => this.#beforeWriting(param)),
      py.expression(py.call(launch, ...addresses)),
      py.returns(values.length > 0 ? py.tupleOrSingle(values) : undefined),
    ];
    const body: Block = [
      ...allocations,
      py.assign(py.tupleOrSingle(addresses), py.tupleOrSingle(pointers)),
      { kind: "if", branches: [{ test: this.#isSafelyPlaced(plan.sizes), body: launchStatements }] },
    ];
    const isMatch = py.boolOp("and", py.call(plan.check, py.starred(tensors)), py.unary("not", isSpecial));
    return {
      kind: "for",
      target: py.tuple(plan.check, plan.state, plan.sizes, plan.empty, launch),
      iterable: launches,
      body: [{ kind: "if", branches: [{ test: isMatch, body }] }],
    };
  }

  /**
   * Checks alignment and overlap: a different alignment needs a different binary, and overlap needs the exact check.
   */
  #isSafelyPlaced(sizes: Expression): Expression {
    const addressOf = (param: MemoryParam) => this.#addresses.get(param)!;
    const size = (param: MemoryParam) => py.subscript(sizes, py.number(String(this.#tensors.indexOf(param))));
    const [first, ...others] = this.#tensors.map(addressOf);
    const addressBits = others.reduce<Expression>((bits, each) => py.binary(bits, "|", each), first!);
    const writtenParams = [...this.#context.tensors.filter(({ role }) => role !== "in"), ...writtenPointers(this.ir)];
    const disjointness = writtenParams.flatMap((param) =>
      nonOverlapping(this.#context, param).map((other) =>
        py.unary(
          "not",
          py.compare(
            py.unary("-", size(param)),
            ["<", py.binary(addressOf(param), "-", addressOf(other))],
            ["<", size(other)],
          ),
        ),
      ),
    );
    const isAligned = py.compare(py.binary(addressBits, "%", py.number("16")), ["==", py.number("0")]);
    return py.boolOp("and", isAligned, ...disjointness);
  }

  #allocate(param: TensorParam, allocator: Expression): Statement {
    const argument = this.#argument(param);
    const isAbsent = py.compare(argument, ["is", py.none]);
    return py.assign(this.#tensor(param), py.conditional(py.call(allocator), isAbsent, argument));
  }

  /**
   * The side effects of the wrapper's checks on a written tensor: a new autograd version, and zeros if it starts from
   * zero.
   */
  #beforeWriting(param: MemoryParam): Block {
    const tensor = this.#tensor(param);
    const zero = param.zeroed ? [zeroed(tensor)] : [];
    if (param.kind === "pointer" || param.role === "inout") return [incrementVersion(tensor), ...zero];
    const isPresent = py.compare(this.#argument(param), ["is not", py.none]);
    return [{ kind: "if", branches: [{ test: isPresent, body: [incrementVersion(tensor)] }] }, ...zero];
  }

  // ---- arguments ----------------------------------------------------------------------------------------------------

  #call() {
    const outs = this.#outs.map((param) => py.keyword(this.#argument(param).id, this.#argument(param)));
    return [...this.#arguments(), ...outs];
  }

  /**
   * The cache key: shapes, and numbers with their types, because `True` differs from 1 and -0.0 from 0.0. The key calls
   * no builtin, because an argument may shadow its name. `is_nested` is included because PyTorch's guard crashes the
   * process on nested tensors.
   */
  #key(): Expression {
    const knownDims = new Set<string | number>();
    const shapeKey = (param: MemoryParam, name: Expression): Expression => {
      const dims = param.kind === "tensor" ? param.dimNames : [""];
      const isNew = dims.some((dim) => typeof dim !== "number" && !knownDims.has(dim));
      for (const dim of dims) knownDims.add(dim);
      return py.attribute(name, isNew ? "shape" : "is_nested");
    };
    const inputs = callOrder(this.ir).flatMap((param): readonly Expression[] => {
      if (isMemoryParam(param)) return [shapeKey(param, this.#context.tensor(param))];
      const name = this.#number(param);
      const exact = py.fString({ value: name, conversion: "r" });
      return [py.attribute(name, "__class__"), annotationOf(param) === "float" ? exact : name];
    });
    const outs = this.#outs.map((param) => {
      const name = this.#argument(param);
      return py.conditional(py.none, py.compare(name, ["is", py.none]), shapeKey(param, name));
    });
    return py.tuple(...inputs, ...outs, ...(this.isShared ? [py.string(this.#context.names.wrapper)] : []));
  }

  /** The caller's tensors, which the guard compares with those of an earlier call. */
  #tensorTuple(): Expression {
    const inputs = callOrder(this.ir).filter((param) => isMemoryParam(param));
    const tensors = inputs.map((param) => this.#context.tensor(param));
    const outs = this.#outs.map((param) => this.#argument(param));
    const [single] = outs;
    if (!single) return py.tuple(...tensors);
    if (outs.length === 1)
      return py.conditional(py.tuple(...tensors), py.compare(single, ["is", py.none]), py.tuple(...tensors, single));
    const presentOutputs = py.call("filter", py.dotted("torch.is_tensor"), py.tuple(...outs));
    return py.tuple(...tensors, py.starred(presentOutputs));
  }

  #arguments() {
    return callOrder(this.ir).map((param) =>
      isMemoryParam(param) ? py.name(this.#context.names.tensors.get(param.name)!) : this.#number(param),
    );
  }

  #number(param: NumberParam) {
    return py.name(this.#context.names.parameters.get(param.value)!);
  }

  /** A tensor of the launch: an argument, or an output that is allocated if the argument is None. */
  #tensor(param: MemoryParam): Expression {
    return this.#allocated.get(param) ?? this.#context.tensor(param);
  }

  /** The argument for an output. */
  #argument(param: TensorParam) {
    return py.name(argumentDisplayName(this.#context, param));
  }
}
