/**
 * The function that PyTorch code calls: it binds sizes from shapes, refuses what the kernel cannot take, allocates the
 * outputs and launches. It never waits for the GPU.
 */
import { writtenPointers } from "../../analysis/memory-effects.js";
import { isDescriptorOnly } from "../../analysis/descriptor-tensors.js";
import { optionalSizes } from "../../analysis/optional-sizes.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import {
  isMemoryParam,
  type KernelIR,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  type Value,
} from "../../ir/nodes.js";
import { driverOptions, launchOptions } from "./autotune.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import { isFloatElem } from "../../types/dtype.js";
import { givenSizes } from "../names/call-order.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import { emptyResult } from "./empty-result.js";
import { machineChecks } from "./gpu-check.js";
import { descriptorCheck, descriptorOf, scratch } from "./descriptors.js";
import { LAUNCH, WRAP_TRITON } from "./helpers.js";
import {
  absentSizeBindings,
  binderDType,
  defaultDevice,
  derivedChecks,
  DEVICE,
  DEVICE_PARAMETER,
  deviceChecks,
  deviceHolder,
  dtypeBinder,
  dtypeCheck,
  ifNotNone,
  IS_TRACED,
  argumentDisplayName,
  messageOf,
  sameStridesCheck,
  shapeChecks,
  tensorCheck,
  tileSizeChecks,
} from "./checks.js";
import { int32Checks } from "./int32-checks.js";
import { checkedRequirements, isDecided, requirementCheck, sizeChecks } from "./requirements.js";
import { memoryCheck, outputChecks } from "./outputs.js";
import { WrapperScope } from "./scope.js";
import { specializedLaunch } from "./specialized-launch.js";
import type { GluonKernel } from "../warp-specialize/gluon/kernel.js";
import { argumentLines, inputParameters, outputLines, outputParameters, returnType } from "./docstring.js";
import { gradientChecks } from "./gradient.js";
import * as py from "../syntax/py-build.js";
import { computedOptions, launchComputations } from "./launch.js";
import { numberChecks, launchArgument } from "./numbers.js";
import type { Argument, Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";

/** `specialized` is the warp-specialized kernel beside the plain one, if there is one. */
export function wrapper(
  ir: KernelIR,
  names: KernelNames,
  used: ReadonlySet<Value>,
  traceable = false,
  specialized?: GluonKernel,
): FunctionDef {
  return new WrapperEmitter(ir, names, used, traceable, specialized).emit();
}

class WrapperEmitter extends WrapperScope {
  /** The requirements that an earlier statement checks. */
  readonly #checked = new Set<number>();

  constructor(
    ir: KernelIR,
    names: KernelNames,
    readonly used: ReadonlySet<Value>,
    traceable: boolean,
    readonly specialized: GluonKernel | undefined,
  ) {
    super(ir, names, traceable);
  }

  emit(): FunctionDef {
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const written = this.tensors.filter((param) => param.role !== "in");
    const results = written.map((param) => this.tensor(param));
    for (const { name } of givenSizes(this.ir)) this.bound.add(name);
    // Sizes may be derived from those that only optional tensors have.
    const sizes = optionalSizes(this.ir);
    const binders = inputs.filter((param) =>
      sizes.some(({ holders }) => holders.some((each) => each.tensor === param)),
    );
    const maybe = [
      // One that is asked for may be True.
      ...outputs.filter(({ optional }) => !optional).map((param) => py.name(argumentDisplayName(this, param))),
      ...[...inputs, ...this.#pointers()].map((param) => this.tensor(param)),
    ];
    const body: Statement[] = [
      ...this.#sizes(inputs, binders),
      ...inputs
        .filter((param) => param.optional && !binders.includes(param))
        .flatMap((param) => this.#inputChecks(param)),
      ...inputs.flatMap((param) => ifNotNone(this, param, derivedChecks(this, param))),
      ...this.#pointers().flatMap((param) => ifNotNone(this, param, this.#pointerChecks(param))),
      ...gradientChecks(this),
      ...deviceChecks(this, [...inputs, ...this.#pointers()]),
      ...inputs.flatMap((param) => ifNotNone(this, param, memoryCheck(this, param))),
      ...(deviceHolder(this) ? [py.blank] : defaultDevice(maybe)),
      ...outputs.flatMap((param) => outputChecks(this, param)),
      ...(deviceHolder(this) ? [] : deviceChecks(this, [...outputs, ...inputs, ...this.#pointers()])),
      ...writtenPointers(this.ir).flatMap((param) => ifNotNone(this, param, memoryCheck(this, param))),
      ...emptyResult(this, results),
      py.blank,
      ...this.#strides(),
      ...preconditionsOf(this.ir, "descriptor").flatMap(({ param, axis }) =>
        ifNotNone(this, param, descriptorCheck(this, param, axis)),
      ),
      ...preconditionsOf(this.ir, "same-strides").flatMap((each) => sameStridesCheck(this, each)),
      ...int32Checks(this),
      ...tileSizeChecks(this),
      ...launchComputations(this, (v) => this.local(v)),
      ...this.#requirements(() => true),
      ...machineChecks(this),
      ...this.#launches(results),
      ...(results.length > 0 ? [py.returns(py.tupled(results))] : []),
    ];
    return {
      kind: "function",
      name: this.names.wrapper,
      origin: this.ir.at,
      decorators: [],
      params: this.#parameters(),
      returns: returnType(written.length, (i) => written[i]!.optional),
      docstring: this.#docstring(),
      body,
    };
  }

  /** Binds what the shapes of inputs give, and computes the other sizes from it. */
  #sizes(inputs: readonly TensorParam[], binders: readonly TensorParam[]): Block {
    const required = [...inputs, ...this.#pointers()].filter((param) => !param.given);
    const bindings = [
      ...numberChecks(this),
      ...required.flatMap((param) => tensorCheck(this, param)),
      ...inputs.filter((param) => !param.optional).flatMap((param) => this.#inputChecks(param)),
      ...binders.flatMap((param) => this.#inputChecks(param)),
    ];
    if (this.derived.size === 0) return bindings;
    // Without these, the formulas of sizes may divide by zero.
    const early = this.#requirements((index) => isDecided(this, index));
    return [...bindings, ...early, ...this.derivedSizes(), ...sizeChecks(this)];
  }

  /** Checks of requirements, each once. */
  #requirements(isWanted: (index: number) => boolean): Block {
    const wanted = checkedRequirements(this.ir).filter((index) => !this.#checked.has(index) && isWanted(index));
    for (const index of wanted) this.#checked.add(index);
    return wanted.flatMap((index) => requirementCheck(this, index));
  }

  #inputChecks(param: TensorParam): Block {
    const first = param.optional ? tensorCheck(this, param) : [];
    const checks = [...first, ...shapeChecks(this, param), ...dtypeCheck(this, param)];
    return [...absentSizeBindings(this, param), ...ifNotNone(this, param, checks)];
  }

  #pointerChecks(param: PointerParam): Block {
    return [...(param.given ? tensorCheck(this, param) : []), ...dtypeCheck(this, param), ...this.#numelCheck(param)];
  }

  /** The elements lie one after another from the tensor's first, so there must be as many without gaps. */
  #numelCheck(param: PointerParam): Block {
    const { numel } = param;
    if (numel === undefined) return [];
    const tensor = this.tensor(param);
    const count = py.call(py.attribute(tensor, "numel"));
    const least = typeof numel === "number" ? py.constant(numel) : this.local(numel);
    const isGapped = py.unary("not", py.call(py.attribute(tensor, "is_contiguous")));
    const what = `${argumentDisplayName(this, param)} must be contiguous, of at least `;
    const strides = { value: py.call(py.attribute(tensor, "stride")) };
    const refuse = messageOf(
      this,
      "ValueError",
      what,
      { value: least },
      " elements, got ",
      { value: count },
      " with strides ",
      strides,
    );
    return [
      { kind: "if", branches: [{ test: py.boolOp("or", isGapped, py.compare(count, ["<", least])), body: [refuse] }] },
    ];
  }

  // ---- signature ----------------------------------------------------------------------------------------------------

  #parameters(): readonly Parameter[] {
    const device = deviceHolder(this) ? [] : [DEVICE_PARAMETER];
    return [...inputParameters(this.ir, this.names), ...outputParameters(this), ...device];
  }

  /** Tensors whose address alone goes to the kernel. */
  #pointers(): readonly PointerParam[] {
    return this.ir.params.filter((param) => param.kind === "pointer");
  }

  #docstring(): string {
    const lines = argumentLines(this.ir, this.names);
    const outs = [...outputLines(this)];
    const head = this.ir.doc ?? `Launches ${this.names.jit}.`;
    if (!deviceHolder(this)) outs.push("    device: where to allocate; the current GPU if None.");
    return [
      head,
      "",
      "Args:",
      ...lines,
      ...outs,
      "",
      "Raises:",
      "    ValueError: a shape, stride, device or size that the kernel cannot take.",
      "    TypeError: a dtype that the kernel cannot take.",
    ].join("\n");
  }

  // ---- body ---------------------------------------------------------------------------------------------------------

  #strides(): Block {
    return this.tensors.flatMap((param) => {
      const all = this.names.strides.get(param.name)!;
      // Memory that only a descriptor accesses has no computed offsets, so strides that the kernel does not take are
      // unused here.
      const isOnly = isDescriptorOnly(this.ir, param);
      const strides = all.map((name) => (name !== undefined && isOnly && !this.#strideUsed(name) ? undefined : name));
      if (!strides.some((name) => name !== undefined)) return [];
      const targets = strides.map((name) => py.name(name ?? "_"));
      const stride = py.attribute(this.tensor(param), "stride");
      const zero = py.number("0");
      const target = py.tupled(targets);
      const value = targets.length > 1 ? py.call(stride) : py.call(stride, zero);
      if (!param.optional) return [py.assign(target, value)];
      const none = py.tupled(targets.map(() => zero));
      const isAbsent = py.compare(this.tensor(param), ["is", py.none]);
      return [py.assign(target, py.conditional(none, isAbsent, value))];
    });
  }

  #launches(results: readonly Expression[]): Block {
    const local = (value: Value) => this.local(value);
    const plain = [
      ...this.tensors.flatMap((param) => descriptorOf(this, param, local)),
      ...scratch(this.ir),
      ...this.#launch(),
    ];
    if (!this.specialized) return plain;
    return specializedLaunch(this, this.specialized, local, { plain, results, dtypes: this.#dtypes() });
  }

  #launch(): Block {
    const grid = hostExpressions(this.ir.grid, (v) => this.#gridValue(v));
    const usesMeta = [...hostInputs(this.ir.grid)].some((value) => this.#isConfig(value));
    const tuple = py.tuple(...grid);
    const grids: Statement[] = usesMeta
      ? [{ kind: "function", name: "grid", decorators: [], params: [{ name: "meta" }], body: [py.returns(tuple)] }]
      : [];
    const jit = py.name(this.names.jit);
    const { tensors, numbers, options } = this.#arguments();
    const at = usesMeta ? py.name("grid") : tuple;
    // The copy engine's descriptors are made anew for each launch, and a config's hook may set their blocks.
    const isDescribed = this.tensors.some(({ block }) => block);
    if (this.traceable || isDescribed) {
      // PyTorch must see the launch in a graph that it makes; elsewhere that would cost a millisecond.
      const launcher = this.traceable
        ? py.conditional(py.call(WRAP_TRITON, jit), py.call(IS_TRACED, this.tensor(deviceHolder(this)!)), jit)
        : jit;
      const launch = py.call(py.subscript(launcher, at), ...tensors, ...numbers, ...options);
      return [...grids, py.blank, py.expression(launch)];
    }
    const others = [DEVICE, ...this.#dtypes(), ...this.#keyNumbers()];
    const launched = [jit, at, py.tuple(...tensors), py.tuple(...numbers), ...others];
    return [...grids, py.blank, py.expression(py.call(LAUNCH, ...launched, ...options))];
  }

  /** The dtypes of this call's tensors, one for each variable that no argument names. */
  #dtypes(): readonly Expression[] {
    const variables = new Set(
      [...this.tensors, ...this.#pointers()].flatMap(({ dtype }) => (typeof dtype === "string" ? [] : [dtype.name])),
    );
    return [...variables].flatMap((variable) => {
      const binder = dtypeBinder(this, variable);
      if (binder.kind === "constexpr") return [];
      const dtype = binderDType(this, variable);
      if (!binder.given) return [dtype];
      return [py.conditional(py.none, py.compare(this.tensor(binder), ["is", py.none]), dtype)];
    });
  }

  /**
   * Numbers that the grid, a heuristic or the choice of a config depends on, and that a launch's key lacks otherwise:
   * those that the kernel does not take, and floats, of which it has the type alone.
   */
  #keyNumbers(): readonly Expression[] {
    const keys = this.ir.params.filter(({ name }) => this.ir.tuning.key?.includes(name)).map(({ value }) => value);
    const computed = this.ir.params.flatMap((param) =>
      param.kind === "constexpr" && param.from === "heuristic" && param.compute ? [...hostInputs(param.compute)] : [],
    );
    const needed = new Set([...hostInputs(this.ir.grid), ...computed, ...keys]);
    return this.#numberParams().flatMap((param) =>
      needed.has(param.value) && (!this.used.has(param.value) || isFloatScalar(param)) ? [this.local(param.value)] : [],
    );
  }

  #numberParams(): readonly (ScalarParam | SizeParam)[] {
    return this.ir.params.filter((param) => param.kind === "scalar" || param.kind === "size");
  }

  /** The kernel's arguments, in its order. */
  #arguments(): { tensors: readonly Expression[]; numbers: readonly Expression[]; options: readonly Argument[] } {
    const params = this.ir.params;
    const tensors = params.filter((param) => isMemoryParam(param));
    const strides = this.tensors.flatMap((param) =>
      this.names.strides.get(param.name)!.filter((name) => name !== undefined),
    );
    const constexprs = params.filter((param) => param.kind === "constexpr");
    const [only] = this.ir.tuning.configs;
    const values = Object.entries(only?.values ?? {}).map(([name, value]) =>
      py.keyword(parameterName(this.ir, this.names, name), py.constant(value)),
    );
    const fixed = this.ir.tuning.key || !only ? [] : [...values, ...launchOptions(only), ...computedOptions(this)];
    return {
      tensors: tensors.map((param) =>
        param.kind === "tensor" && param.block ? py.name(this.localText(param.pointer)) : this.tensor(param),
      ),
      numbers: [
        ...this.#numberParams()
          .filter(({ value }) => this.used.has(value))
          .map(({ value }) => this.local(value)),
        ...strides.filter((name) => this.#strideUsed(name)).map((name) => py.name(name)),
      ],
      options: [
        ...constexprs
          .filter((param) => param.from !== "config" && param.from !== "heuristic")
          .map((param) => py.keyword(this.localText(param.value), launchArgument(param, this.local(param.value)))),
        ...fixed,
        ...driverOptions(this.ir),
      ],
    };
  }

  #strideUsed(name: string): boolean {
    return [...this.names.parameters].some(([value, other]) => other === name && this.used.has(value));
  }

  // ---- names --------------------------------------------------------------------------------------------------------

  override local(value: Value): Expression {
    const config = this.#configOf(value);
    if (config !== undefined && this.ir.tuning.configs.length === 1) {
      const fixed = this.ir.tuning.configs[0]?.values[config];
      if (fixed !== undefined) return py.constant(fixed);
    }
    return super.local(value);
  }

  #gridValue(value: Value): Expression {
    return this.#isConfig(value) ? py.subscript(py.name("meta"), py.string(this.localText(value))) : this.local(value);
  }

  /** Whether only a launch knows the value: a config's, or one that a heuristic computes from the config. */
  #isConfig(value: Value): boolean {
    const isComputed = this.ir.params.some(
      (p) => p.kind === "constexpr" && p.from === "heuristic" && p.value === value,
    );
    return isComputed || this.#configOf(value) !== undefined;
  }

  #configOf(value: Value): string | undefined {
    const param = this.ir.params.find((p) => p.value === value);
    return param?.kind === "constexpr" && param.from === "config" ? param.name : undefined;
  }
}

const isFloatScalar = (param: ScalarParam | SizeParam): boolean => param.kind === "scalar" && isFloatElem(param.dtype);
