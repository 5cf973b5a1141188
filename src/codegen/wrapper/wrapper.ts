/**
 * The wrapper, the function that PyTorch code calls. It binds sizes from shapes, rejects invalid arguments, allocates
 * the outputs and launches the kernel. It never synchronizes with the GPU.
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
import { environmentChecks } from "./environment-checks.js";
import { descriptorCheck, descriptorOf, allocatorSetup } from "./descriptors.js";
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
import { checkedRequirements, isCheckableEarly, requirementCheck, sizeChecks } from "./requirements.js";
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

/** Emits the wrapper. `specialized` is the warp-specialized variant of the kernel, if there is one. */
export function emitWrapper(
  ir: KernelIR,
  names: KernelNames,
  usedValues: ReadonlySet<Value>,
  isTraceable = false,
  specialized?: GluonKernel,
): FunctionDef {
  return new WrapperEmitter(ir, names, usedValues, isTraceable, specialized).emit();
}

class WrapperEmitter extends WrapperScope {
  /** Indices of the requirements that an earlier statement checks. */
  readonly #checkedRequirements = new Set<number>();

  constructor(
    ir: KernelIR,
    names: KernelNames,
    readonly usedValues: ReadonlySet<Value>,
    isTraceable: boolean,
    readonly specialized: GluonKernel | undefined,
  ) {
    super(ir, names, isTraceable);
  }

  emit(): FunctionDef {
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const resultParams = this.tensors.filter((param) => param.role !== "in");
    const results = resultParams.map((param) => this.tensor(param));
    for (const { name } of givenSizes(this.ir)) this.bound.add(name);
    // Derived sizes may depend on sizes that only optional tensors have, so those tensors are checked first.
    const sizes = optionalSizes(this.ir);
    const binders = inputs.filter((param) =>
      sizes.some(({ holders }) => holders.some((each) => each.tensor === param)),
    );
    const deviceSources = [
      // The argument of an optional output may be True, which has no device.
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
      ...(deviceHolder(this) ? [py.blank] : defaultDevice(deviceSources)),
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
      ...environmentChecks(this),
      ...this.#launches(results),
      ...(results.length > 0 ? [py.returns(py.tupleOrSingle(results))] : []),
    ];
    return {
      kind: "function",
      name: this.names.wrapper,
      origin: this.ir.at,
      decorators: [],
      params: this.#parameters(),
      returns: returnType(resultParams.length, (i) => resultParams[i]!.optional),
      docstring: this.#docstringText(),
      body,
    };
  }

  /** Binds sizes from the shapes of inputs, and computes the derived sizes. */
  #sizes(inputs: readonly TensorParam[], binders: readonly TensorParam[]): Block {
    const requiredParams = [...inputs, ...this.#pointers()].filter((param) => !param.given);
    const bindings = [
      ...numberChecks(this),
      ...requiredParams.flatMap((param) => tensorCheck(this, param)),
      ...inputs.filter((param) => !param.optional).flatMap((param) => this.#inputChecks(param)),
      ...binders.flatMap((param) => this.#inputChecks(param)),
    ];
    if (this.derived.size === 0) return bindings;
    // Without these requirements, the formulas of derived sizes may divide by zero.
    const earlyChecks = this.#requirements((index) => isCheckableEarly(this, index));
    return [...bindings, ...earlyChecks, ...this.derivedSizes(), ...sizeChecks(this)];
  }

  /** Checks the selected requirements that are not checked yet. */
  #requirements(isSelected: (index: number) => boolean): Block {
    const indices = checkedRequirements(this.ir).filter(
      (index) => !this.#checkedRequirements.has(index) && isSelected(index),
    );
    for (const index of indices) this.#checkedRequirements.add(index);
    return indices.flatMap((index) => requirementCheck(this, index));
  }

  #inputChecks(param: TensorParam): Block {
    const first = param.optional ? tensorCheck(this, param) : [];
    const checks = [...first, ...shapeChecks(this, param), ...dtypeCheck(this, param)];
    return [...absentSizeBindings(this, param), ...ifNotNone(this, param, checks)];
  }

  #pointerChecks(param: PointerParam): Block {
    return [...(param.given ? tensorCheck(this, param) : []), ...dtypeCheck(this, param), ...this.#numelCheck(param)];
  }

  /** A pointer with a declared `numel` requires a contiguous tensor with at least that many elements. */
  #numelCheck(param: PointerParam): Block {
    const { numel } = param;
    if (numel === undefined) return [];
    const tensor = this.tensor(param);
    const count = py.call(py.attribute(tensor, "numel"));
    const minimum = typeof numel === "number" ? py.constant(numel) : this.local(numel);
    const isGapped = py.unary("not", py.call(py.attribute(tensor, "is_contiguous")));
    const prefix = `${argumentDisplayName(this, param)} must be contiguous, of at least `;
    const strides = { value: py.call(py.attribute(tensor, "stride")) };
    const error = messageOf(
      this,
      "ValueError",
      prefix,
      { value: minimum },
      " elements, got ",
      { value: count },
      " with strides ",
      strides,
    );
    return [
      { kind: "if", branches: [{ test: py.boolOp("or", isGapped, py.compare(count, ["<", minimum])), body: [error] }] },
    ];
  }

  // ---- signature ----------------------------------------------------------------------------------------------------

  #parameters(): readonly Parameter[] {
    const device = deviceHolder(this) ? [] : [DEVICE_PARAMETER];
    return [...inputParameters(this.ir, this.names), ...outputParameters(this), ...device];
  }

  /** Tensors of which the kernel receives only the address. */
  #pointers(): readonly PointerParam[] {
    return this.ir.params.filter((param) => param.kind === "pointer");
  }

  #docstringText(): string {
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
      const strideNames = this.names.strides.get(param.name)!;
      // A tensor that is accessed only through a descriptor has no computed offsets, so a stride that is no parameter
      // of the kernel is unused here.
      const isUnneeded = isDescriptorOnly(this.ir, param);
      const strides = strideNames.map((name) =>
        name !== undefined && isUnneeded && !this.#isStrideUsed(name) ? undefined : name,
      );
      if (!strides.some((name) => name !== undefined)) return [];
      const targets = strides.map((name) => py.name(name ?? "_"));
      const stride = py.attribute(this.tensor(param), "stride");
      const zero = py.number("0");
      const target = py.tupleOrSingle(targets);
      const value = targets.length > 1 ? py.call(stride) : py.call(stride, zero);
      if (!param.optional) return [py.assign(target, value)];
      const none = py.tupleOrSingle(targets.map(() => zero));
      const isAbsent = py.compare(this.tensor(param), ["is", py.none]);
      return [py.assign(target, py.conditional(none, isAbsent, value))];
    });
  }

  #launches(results: readonly Expression[]): Block {
    const local = (value: Value) => this.local(value);
    const plainLaunch = [
      ...this.tensors.flatMap((param) => descriptorOf(this, param, local)),
      ...allocatorSetup(this.ir),
      ...this.#launch(),
    ];
    if (!this.specialized) return plainLaunch;
    return specializedLaunch(this, this.specialized, local, { plain: plainLaunch, results, dtypes: this.#dtypes() });
  }

  #launch(): Block {
    const grid = hostExpressions(this.ir.grid, (v) => this.#gridValue(v));
    const usesMeta = [...hostInputs(this.ir.grid)].some((value) => this.#isConfigDependent(value));
    const tuple = py.tuple(...grid);
    const grids: Statement[] = usesMeta
      ? [{ kind: "function", name: "grid", decorators: [], params: [{ name: "meta" }], body: [py.returns(tuple)] }]
      : [];
    const jit = py.name(this.names.jit);
    const { tensors, numbers, options } = this.#arguments();
    const gridArgument = usesMeta ? py.name("grid") : tuple;
    // Descriptors are created for each launch, and a config's hook may set their block shape, so the launch is not
    // cached.
    const hasDescriptors = this.tensors.some(({ block }) => block);
    if (this.isTraceable || hasDescriptors) {
      // PyTorch must see the launch when it traces. `wrap_triton` costs about a millisecond, so eager calls avoid it.
      const launcher = this.isTraceable
        ? py.conditional(py.call(WRAP_TRITON, jit), py.call(IS_TRACED, this.tensor(deviceHolder(this)!)), jit)
        : jit;
      const launch = py.call(py.subscript(launcher, gridArgument), ...tensors, ...numbers, ...options);
      return [...grids, py.blank, py.expression(launch)];
    }
    const keyParts = [DEVICE, ...this.#dtypes(), ...this.#keyNumbers()];
    const launchArguments = [jit, gridArgument, py.tuple(...tensors), py.tuple(...numbers), ...keyParts];
    return [...grids, py.blank, py.expression(py.call(LAUNCH, ...launchArguments, ...options))];
  }

  /** The tensor dtypes of this call: one for each dtype variable that no argument names. */
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
   * Numbers that the grid, a heuristic or the choice of a config uses, and that the launch key lacks otherwise. These
   * are numbers that are no kernel parameter, and floats, because the key contains only their type.
   */
  #keyNumbers(): readonly Expression[] {
    const keys = this.ir.params.filter(({ name }) => this.ir.tuning.key?.includes(name)).map(({ value }) => value);
    const heuristicInputs = this.ir.params.flatMap((param) =>
      param.kind === "constexpr" && param.from === "heuristic" && param.compute ? [...hostInputs(param.compute)] : [],
    );
    const keyValues = new Set([...hostInputs(this.ir.grid), ...heuristicInputs, ...keys]);
    return this.#numberParams().flatMap((param) =>
      keyValues.has(param.value) && (!this.usedValues.has(param.value) || isFloatScalar(param))
        ? [this.local(param.value)]
        : [],
    );
  }

  #numberParams(): readonly (ScalarParam | SizeParam)[] {
    return this.ir.params.filter((param) => param.kind === "scalar" || param.kind === "size");
  }

  /** The kernel's arguments, in the order of its parameters. */
  #arguments(): { tensors: readonly Expression[]; numbers: readonly Expression[]; options: readonly Argument[] } {
    const params = this.ir.params;
    const tensors = params.filter((param) => isMemoryParam(param));
    const strides = this.tensors.flatMap((param) =>
      this.names.strides.get(param.name)!.filter((name) => name !== undefined),
    );
    const constexprs = params.filter((param) => param.kind === "constexpr");
    const [config] = this.ir.tuning.configs;
    const values = Object.entries(config?.values ?? {}).map(([name, value]) =>
      py.keyword(parameterName(this.ir, this.names, name), py.constant(value)),
    );
    const configArguments =
      this.ir.tuning.key || !config ? [] : [...values, ...launchOptions(config), ...computedOptions(this)];
    return {
      tensors: tensors.map((param) =>
        param.kind === "tensor" && param.block ? py.name(this.localText(param.pointer)) : this.tensor(param),
      ),
      numbers: [
        ...this.#numberParams()
          .filter(({ value }) => this.usedValues.has(value))
          .map(({ value }) => this.local(value)),
        ...strides.filter((name) => this.#isStrideUsed(name)).map((name) => py.name(name)),
      ],
      options: [
        ...constexprs
          .filter((param) => param.from !== "config" && param.from !== "heuristic")
          .map((param) => py.keyword(this.localText(param.value), launchArgument(param, this.local(param.value)))),
        ...configArguments,
        ...driverOptions(this.ir),
      ],
    };
  }

  #isStrideUsed(name: string): boolean {
    return [...this.names.parameters].some(([value, other]) => other === name && this.usedValues.has(value));
  }

  // ---- names --------------------------------------------------------------------------------------------------------

  override local(value: Value): Expression {
    const config = this.#configOf(value);
    if (config !== undefined && this.ir.tuning.configs.length === 1) {
      const fixedValue = this.ir.tuning.configs[0]?.values[config];
      if (fixedValue !== undefined) return py.constant(fixedValue);
    }
    return super.local(value);
  }

  #gridValue(value: Value): Expression {
    return this.#isConfigDependent(value)
      ? py.subscript(py.name("meta"), py.string(this.localText(value)))
      : this.local(value);
  }

  /** True if the value depends on the config: a config's own value, or one that a heuristic computes. */
  #isConfigDependent(value: Value): boolean {
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
