/**
 * The wrapper, the function that PyTorch code calls. It binds sizes from shapes, rejects invalid arguments, allocates
 * the outputs and launches the kernel. It synchronizes with the GPU only to check promises, on request.
 */
import { writtenPointers } from "../../analysis/descriptor-tensors.js";
import { optionalSizes } from "../../analysis/launch-facts.js";
import { preconditionsOf } from "../../analysis/preconditions.js";
import {
  isMemoryParam,
  isValue,
  type KernelIR,
  paramsOf,
  type PointerParam,
  type ScalarParam,
  type SizeParam,
  type TensorParam,
  type Value,
} from "../../ir/nodes.js";
import { driverOptions, launchOptions } from "./autotune.js";
import { hostExpression, hostExpressions, hostInputs } from "../body/print-op.js";
import { isFloatElem } from "../../types/dtype.js";
import { type KernelNames, parameterName, givenSizes, type NumberParam } from "../names/kernel-names.js";
import {
  absentSizeBindings,
  argumentDisplayName,
  binderDType,
  CHECK_OPERANDS,
  conditionalBindings,
  defaultDevice,
  DEVICE_PARAMETER,
  deviceHolder,
  deviceOf,
  dtypeBinder,
  ifNotNone,
  INTERPRETED,
  IS_TRACED,
  isNotTraced,
  messageOf,
  sameStridesCheck,
  tileSizeChecks,
  WrapperScope,
} from "./checks.js";
import {
  bindSizes,
  boundShapeRule,
  contiguousRule,
  derivedSizeRule,
  dtypeRule,
  namedTensors,
  shapeRule,
  countChecks,
  extentChecks,
} from "./rules.js";
import {
  checkedRequirements,
  isCheckableEarly,
  requirementCheck,
  sizeChecks,
  environmentChecks,
} from "./requirements.js";
import {
  allocationOf,
  outputAllocation,
  tensorsCheck,
  writtenCheck,
  zeroing,
  emptyResult,
  promiseChecks,
} from "./outputs.js";
import type { GluonKernel } from "../warp-specialize/gluon/kernel.js";
import {
  argumentLines,
  inputParameters,
  outputLines,
  outputParameters,
  returnType,
  withoutAnnotations,
} from "./docstring.js";
import { withoutUnusedSizes } from "../syntax/lint.js";
import * as py from "../syntax/py-build.js";
import {
  checkedGrid,
  computedOptions,
  LAUNCH,
  launchComputations,
  STRIDES,
  TENSORS,
  WRAP_TRITON,
  specializedLaunch,
  descriptorCheck,
  descriptorOf,
  allocatorSetup,
  pointerDescriptorCheck,
} from "./launch.js";
import { numberChecks, launchArgument, neededBindings, optionalSizeBindings } from "./numbers.js";
import {
  type Argument,
  type Block,
  type Expression,
  type FunctionDef,
  type Parameter,
  type Starred,
  type Statement,
  namesIn,
} from "../syntax/py.js";

export interface WrapperOptions {
  /** True if PyTorch traces the kernel into its graphs (`torch.library.wrap_triton`). */
  readonly isTraceable?: boolean;
  /** True if the module has a launch cache, to which the wrapper reports its launches. */
  readonly isFast?: boolean;
  /** True if the wrapper compares the elements of tensors with what their params promise. */
  readonly checksPromises?: boolean | undefined;
  /** The warp-specialized variant of the kernel, if there is one. */
  readonly gluon?: GluonKernel | undefined;
}

/** The names of the two private functions that an operator calls instead of a wrapper. */
export interface OperatorFunctionNames {
  /** Checks the arguments and allocates the results, from metadata only. */
  readonly meta: string;
  /** Launches the kernel on new results. */
  readonly launch: string;
}

/** The functions of a kernel in the module of an operator. The fake implementation calls the first alone. */
export function emitOperatorFunctions(
  ir: KernelIR,
  names: KernelNames,
  usedValues: ReadonlySet<Value>,
  options: WrapperOptions,
  functions: OperatorFunctionNames,
): readonly [meta: FunctionDef, launch: FunctionDef] {
  const emitter = new WrapperEmitter(ir, names, usedValues, options);
  const docstring = `Checks the arguments of ${names.wrapper}, and allocates its results.`;
  return [{ ...emitter.emitMeta(functions.meta), docstring }, emitter.emitLaunch(functions)];
}

/** The fake implementation of an operator that calls the wrapper: the same checks, and empty results. */
export function emitFake(ir: KernelIR, names: KernelNames, decorator: Expression): FunctionDef {
  return { ...new WrapperEmitter(ir, names, new Set(), {}).emitMeta("_"), decorators: [decorator] };
}

export function emitWrapper(
  ir: KernelIR,
  names: KernelNames,
  usedValues: ReadonlySet<Value>,
  options: WrapperOptions,
): FunctionDef {
  return new WrapperEmitter(ir, names, usedValues, options).emit();
}

class WrapperEmitter extends WrapperScope {
  /** Indices of the requirements that an earlier statement checks. */
  readonly #checkedRequirements = new Set<number>();

  constructor(
    ir: KernelIR,
    names: KernelNames,
    readonly usedValues: ReadonlySet<Value>,
    readonly options: WrapperOptions,
  ) {
    super(ir, names, options.isTraceable ?? false);
  }

  emit(): FunctionDef {
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const resultParams = this.tensors.filter((param) => param.role !== "in");
    const results = resultParams.map((param) => this.tensor(param));
    this.#bindGivenSizes();
    const body: Statement[] = [
      ...numberChecks(this),
      ...this.#sizes(inputs),
      ...this.#outputs(inputs, outputs),
      ...this.#tensorChecks(inputs, outputs),
      ...zeroing(this),
      ...emptyResult(this, results),
      py.blank,
      ...this.#checkedLaunch(results, { checksReach: this.isTraceable }),
    ];
    return {
      kind: "function",
      name: this.names.wrapper,
      origin: this.ir.at,
      decorators: [],
      params: this.#parameters(),
      returns: returnType(resultParams.length, (i) => resultParams[i]!.optional),
      docstring: this.#docstringText(),
      body: withoutUnusedSizes(body),
    };
  }

  /** Checks the metadata of the arguments and allocates the results. Traced tensors have no more than metadata. */
  emitMeta(name: string): FunctionDef {
    this.#bindGivenSizes();
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const required = inputs.filter(({ optional }) => !optional);
    const allocations = outputs.map((param) => {
      const allocation = allocationOf(this, param);
      return param.optional ? py.conditional(allocation, this.tensor(param), py.none) : allocation;
    });
    const results = outputs.map((param) => this.tensor(param));
    const strideChecks = preconditionsOf(this.ir, "same-strides").flatMap((each) => sameStridesCheck(this, each));
    const body = [
      // PyTorch checks the types of the other numbers, and does not know their values while it traces.
      ...numberChecks(this, isChoice),
      py.expression(py.call(CHECK_OPERANDS, py.string(this.names.wrapper), ...namedTensors(this, inputs))),
      ...this.#sizes(inputs),
      ...dtypeRule(this, required),
      ...contiguousRule(this, required),
      ...(strideChecks.length > 0
        ? [...results.map((result, i) => py.assign(result, allocations[i]!)), ...strideChecks]
        : []),
      ...(results.length > 0 ? [py.returns(py.tupleOrSingle(strideChecks.length > 0 ? results : allocations))] : []),
    ];
    return {
      kind: "function",
      name,
      decorators: [],
      params: this.#operatorParameters(),
      body: withoutUnusedSizes(body),
    };
  }

  /** Launches the kernel, after {@link emitMeta} and the checks that only a launch needs. */
  emitLaunch(functions: OperatorFunctionNames): FunctionDef {
    this.bound.clear();
    this.#bindGivenSizes();
    const inputs = this.tensors.filter((param) => param.role !== "out");
    const outputs = this.tensors.filter((param) => param.role === "out");
    const results = this.tensors.filter((param) => param.role !== "in").map((param) => this.tensor(param));
    const params = this.#operatorParameters();
    const created = py.call(functions.meta, ...params.map(({ name }) => py.name(name)));
    const allocation =
      outputs.length > 0
        ? py.assign(py.tupleOrSingle(outputs.map((param) => this.tensor(param))), created)
        : py.expression(created);
    const sizes = this.#launchSizes(inputs);
    const rest = [
      ...zeroing(this),
      ...emptyResult(this, results),
      py.blank,
      ...this.#tensorTable(),
      ...this.#checkedLaunch(results, { checksReach: true }),
    ];
    return {
      kind: "function",
      name: functions.launch,
      origin: this.ir.at,
      decorators: [],
      params,
      docstring: this.ir.doc ?? `Launches ${this.names.jit}.`,
      body: withoutUnusedSizes([
        allocation,
        ...numberChecks(this, (param) => !isChoice(param)),
        ...this.#updatedChecks(inputs),
        ...sizes(rest),
        ...rest,
      ]),
    };
  }

  #bindGivenSizes(): void {
    for (const { name } of givenSizes(this.ir)) this.bound.add(name);
  }

  /** Updated tensors must not overlap others. Traced tensors have no addresses. */
  #updatedChecks(inputs: readonly TensorParam[]): Block {
    const checks = inputs.filter(({ role }) => role === "inout").map((param) => writtenCheck(this, param));
    if (checks.length === 0 || !this.isTraceable) return checks;
    return [{ kind: "if", branches: [{ test: isNotTraced(this.tensor(deviceHolder(this)!)), body: checks }] }];
  }

  /** The assignments of the sizes that statements use. */
  #launchSizes(inputs: readonly TensorParam[]): (statements: Block) => Block {
    const required = inputs.filter(({ optional }) => !optional).flatMap((param) => bindSizes(this, param));
    const derived = paramsOf(this.ir, "size").flatMap(({ value, derived: host }) => {
      if (!host) return [];
      const dependencies = [...hostInputs(host)].map((input) => this.localText(input));
      return [{ name: this.localText(value), value: hostExpression(host, (input) => this.local(input)), dependencies }];
    });
    const computed = [...optionalSizeBindings(this.ir, this.names), ...derived];
    return (statements) => {
      const needed = neededBindings(computed, namesIn(statements));
      return [...required, ...needed.map(({ name, value }) => py.assign(py.name(name), value))];
    };
  }

  /** The positional parameters, then flags for the optional outputs. */
  #operatorParameters(): readonly Parameter[] {
    const flags = this.tensors.filter(({ role, optional }) => role === "out" && optional);
    return [
      ...withoutAnnotations(inputParameters(this.ir, this.names)),
      ...flags.map((param) => ({ name: this.names.tensors.get(param.name)!, default: py.boolean(false) })),
    ];
  }

  /** The checks before a launch, and the launch. */
  #checkedLaunch(results: readonly Expression[], { checksReach }: { readonly checksReach: boolean }): Block {
    return [
      ...this.#strides(),
      ...preconditionsOf(this.ir, "descriptor").flatMap(({ param, axis }) =>
        ifNotNone(this, param, descriptorCheck(this, param, axis)),
      ),
      ...preconditionsOf(this.ir, "pointer-descriptor").flatMap((each) =>
        ifNotNone(this, each.param, pointerDescriptorCheck(this, each)),
      ),
      ...preconditionsOf(this.ir, "same-strides").flatMap((each) => sameStridesCheck(this, each)),
      ...(checksReach ? extentChecks(this) : []),
      ...countChecks(this),
      ...tileSizeChecks(this),
      ...launchComputations(this, (v) => this.local(v)),
      ...this.#requirements(() => true),
      ...environmentChecks(this),
      ...(this.options.checksPromises ? promiseChecks(this) : []),
      ...this.#launches(results),
      ...(results.length > 0 ? [py.returns(py.tupleOrSingle(results))] : []),
    ];
  }

  /** Checks the memory, the device and the gradients of all tensors. */
  #tensorChecks(inputs: readonly TensorParam[], outputs: readonly TensorParam[]): Block {
    return tensorsCheck(this, [...inputs, ...this.#pointers(), ...outputs], this.#writtenChecks(inputs, outputs));
  }

  #writtenChecks(inputs: readonly TensorParam[], outputs: readonly TensorParam[]): Block {
    const updated = inputs.filter(({ role }) => role === "inout");
    const plain = outputs.filter(({ optional }) => !optional);
    return [...updated, ...plain, ...writtenPointers(this.ir)].map((param) => writtenCheck(this, param));
  }

  /** Binds sizes from the shapes of inputs, computes the derived sizes, and checks shapes, dtypes and strides. */
  #sizes(inputs: readonly TensorParam[]): Block {
    const required = inputs.filter(({ optional }) => !optional);
    const optional = inputs.filter(({ optional }) => optional);
    // Derived sizes may depend on sizes that only optional tensors have, so those tensors are checked first.
    const sizes = optionalSizes(this.ir);
    const binders = optional.filter((param) =>
      sizes.some(({ holders }) => holders.some((each) => each.tensor === param)),
    );
    const pointers = this.#pointers();
    return [
      ...shapeRule(this, required),
      ...binders.flatMap((param) => this.#optionalChecks(param)),
      ...this.#derivedSizes(),
      ...optional.filter((param) => !binders.includes(param)).flatMap((param) => this.#optionalChecks(param)),
      ...derivedSizeRule(this, required),
      ...optional.flatMap((param) => ifNotNone(this, param, derivedSizeRule(this, [param]))),
      ...pointers.flatMap((param) => ifNotNone(this, param, this.#pointerChecks(param))),
    ];
  }

  /** Computes derived sizes. Without the requirements before them, their formulas may divide by zero. */
  #derivedSizes(): Block {
    if (this.derived.size === 0) return [];
    const earlyChecks = this.#requirements((index) => isCheckableEarly(this, index));
    return [...earlyChecks, ...this.derivedSizes(), ...sizeChecks(this)];
  }

  /** Allocates outputs, and checks all that depends on outputs of the caller. */
  #outputs(inputs: readonly TensorParam[], outputs: readonly TensorParam[]): Block {
    const required = inputs.filter(({ optional }) => !optional);
    const plain = outputs.filter(({ optional }) => !optional);
    const pointers = this.#pointers().filter(({ given }) => !given);
    const holder = deviceHolder(this);
    const deviceSources = [
      // The argument of an optional output may be True, which has no device.
      ...plain.map((param) => py.name(argumentDisplayName(this, param))),
      ...[...inputs, ...this.#pointers()].map((param) => this.tensor(param)),
    ];
    return [
      ...(holder ? [] : defaultDevice(deviceSources)),
      ...outputs.flatMap((param) => outputAllocation(this, param)),
      ...boundShapeRule(this, plain),
      ...this.#tensorTable(),
      // Outputs apart: a message about inputs would name outputs that the caller did not pass.
      ...dtypeRule(this, [...required, ...pointers]),
      ...dtypeRule(this, plain),
      ...contiguousRule(this, [...required, ...plain]),
    ];
  }

  /** Checks the selected requirements that are not checked yet. */
  #requirements(isSelected: (index: number) => boolean): Block {
    const indices = checkedRequirements(this.ir).filter(
      (index) => !this.#checkedRequirements.has(index) && isSelected(index),
    );
    for (const index of indices) this.#checkedRequirements.add(index);
    return requirementCheck(this, indices);
  }

  #optionalChecks(param: TensorParam): Block {
    const checks = [
      ...conditionalBindings(this, param),
      ...shapeRule(this, [param]),
      ...dtypeRule(this, [param]),
      ...contiguousRule(this, [param]),
    ];
    return [...absentSizeBindings(this, param), ...ifNotNone(this, param, checks)];
  }

  #pointerChecks(param: PointerParam): Block {
    return [...(param.given ? dtypeRule(this, [param]) : []), ...this.#numelCheck(param)];
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
    return [head, "", "Args:", ...lines, ...outs].join("\n");
  }

  // ---- body ---------------------------------------------------------------------------------------------------------

  /** Strides of tensors that may be None, and strides that the wrapper mentions. The plain launch reads all others. */
  #strides(): Block {
    return this.tensors.flatMap((param) => {
      if (!this.#hasStrideLocals(param)) return [];
      const strides = this.names.strides
        .get(param.name)!
        .map((name) => (name !== undefined && this.#isStrideUsed(name) ? name : undefined));
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

  #hasStrideLocals({ optional, strides }: TensorParam): boolean {
    if (optional) return true;
    const used = this.#hostValues();
    return strides.some((stride) => isValue(stride) && used.has(stride));
  }

  /** The values that host expressions and the specialized launch use. */
  #hostValues(): ReadonlySet<Value> {
    const { grid, requires, params, tuning } = this.ir;
    const launched = this.options.gluon?.launchArguments.flatMap((each) => ("blocks" in each ? [] : [each])) ?? [];
    const computed = params.flatMap((param) => (param.kind === "constexpr" && param.compute ? [param.compute] : []));
    const blocks = [grid, requires, ...computed, ...Object.values(tuning.options ?? {})];
    return new Set([...blocks.flatMap((block) => [...hostInputs(block)]), ...launched]);
  }

  /** The strides of a tensor as arguments of the launch. */
  #strideArguments(param: TensorParam): readonly (Expression | Starred)[] {
    const names = this.names.strides.get(param.name)!;
    const isPassed = names.map((name) => name !== undefined && this.#isStrideUsed(name));
    if (this.#hasStrideLocals(param)) return names.flatMap((name, axis) => (isPassed[axis] ? [py.name(name!)] : []));
    const stride = py.attribute(this.tensor(param), "stride");
    if (names.length > 1 && isPassed.every(Boolean)) return [py.starred(py.call(stride))];
    return names.flatMap((_, axis) => (isPassed[axis] ? [py.call(stride, py.number(String(axis)))] : []));
  }

  #launches(results: readonly Expression[]): Block {
    const local = (value: Value) => this.local(value);
    const { grid, launch } = this.#launch();
    const setup = [
      ...this.tensors.flatMap((param) => descriptorOf(this, param, local)),
      ...allocatorSetup(this.ir),
      ...grid,
    ];
    const { gluon } = this.options;
    if (!gluon) return [...setup, py.blank, this.#onDevice([launch])];
    const plain = [...setup, py.blank, launch];
    return [
      py.blank,
      this.#onDevice(specializedLaunch(this, gluon, local, { plain, results, dtypes: this.#dtypes() })),
    ];
  }

  /** Makes the GPU of the tensors the current one. Tensors on the CPU, and traced ones, change nothing. */
  #onDevice(body: Block): Statement {
    return { kind: "with", items: [{ value: py.call("torch.cuda.device", this.#deviceIndex()) }], body };
  }

  #deviceIndex(): Expression {
    const param = deviceHolder(this) ?? this.tensors.find(({ role }) => role === "out");
    // Without a required tensor, an earlier statement sets `device`.
    if (!param) return py.conditional(py.number("-1"), py.name(INTERPRETED), py.name("device"));
    const holder = this.tensor(param);
    const index = py.call(py.attribute(holder, "get_device"));
    return this.isTraceable ? py.conditional(py.number("-1"), py.call(IS_TRACED, holder), index) : index;
  }

  #launch(): { readonly grid: Block; readonly launch: Statement } {
    const sizes = hostExpressions(this.ir.grid, (v) => this.#gridValue(v));
    const usesMeta = [...hostInputs(this.ir.grid)].some((value) => this.#isInMeta(value));
    const tuple = checkedGrid(this, py.tuple(...sizes));
    const grid: Statement[] = usesMeta
      ? [{ kind: "function", name: "grid", decorators: [], params: [{ name: "meta" }], body: [py.returns(tuple)] }]
      : [];
    const jit = py.name(this.names.jit);
    const all = this.#arguments();
    const { options } = all;
    const isTable = this.hasTensorTable;
    const tensors = isTable ? [py.starred(py.call(`${TENSORS}.values`))] : all.tensors;
    const strides = isTable ? [py.starred(py.call(STRIDES, py.name(TENSORS)))] : all.strides;
    const numbers = [...all.sizes, ...strides];
    const gridArgument = usesMeta ? py.name("grid") : tuple;
    if (this.options.isFast) {
      const keyParts = [deviceOf(this), ...this.#dtypes(), ...this.#keyNumbers()];
      const launchArguments = [jit, gridArgument, py.tuple(...tensors), py.tuple(...numbers), ...keyParts];
      return { grid, launch: py.expression(py.call(LAUNCH, ...launchArguments, ...options)) };
    }
    // PyTorch must see the launch when it traces. `wrap_triton` costs about a millisecond, so eager calls avoid it.
    const launcher = this.isTraceable
      ? py.conditional(py.call(WRAP_TRITON, jit), py.call(IS_TRACED, this.tensor(deviceHolder(this)!)), jit)
      : jit;
    const launch = py.call(py.subscript(launcher, gridArgument), ...tensors, ...numbers, ...options);
    return { grid, launch: py.expression(launch) };
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

  /** `tensors = {"x": x, "out": y}` */
  #tensorTable(): Block {
    this.hasTensorTable = this.#passesAllStrides();
    if (!this.hasTensorTable) return [];
    const entries = this.tensors.map((param) => ({
      key: py.string(argumentDisplayName(this, param)),
      value: this.tensor(param),
    }));
    return [py.assign(py.name(TENSORS), py.dict(...entries))];
  }

  /** True for a launch of many tensors, which all pass all of their strides. */
  #passesAllStrides(): boolean {
    const passesAll = (param: TensorParam) =>
      !param.block &&
      !this.#hasStrideLocals(param) &&
      this.names.strides.get(param.name)!.every((name) => name !== undefined && this.#isStrideUsed(name));
    return (
      !this.options.isFast && this.tensors.length >= 4 && this.#pointers().length === 0 && this.tensors.every(passesAll)
    );
  }

  /** The kernel's arguments, in the order of its parameters. */
  #arguments(): {
    tensors: readonly Expression[];
    sizes: readonly Expression[];
    strides: readonly (Expression | Starred)[];
    options: readonly Argument[];
  } {
    const params = this.ir.params;
    const tensors = params.filter((param) => isMemoryParam(param));
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
      sizes: this.#numberParams()
        .filter(({ value }) => this.usedValues.has(value))
        .map(({ value }) => this.local(value)),
      strides: this.tensors.flatMap((param) => this.#strideArguments(param)),
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
    return this.#isInMeta(value) ? py.subscript(py.name("meta"), py.string(this.localText(value))) : this.local(value);
  }

  /** True if the grid reads the value from the launch: it depends on the config, and is not in the only config. */
  #isInMeta(value: Value): boolean {
    return this.#isConfigDependent(value) && this.local(value).kind === "name";
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

/** True if a number has a fixed set of values. */
const isChoice = (param: NumberParam): boolean => param.kind === "constexpr" && param.choices !== undefined;

const isFloatScalar = (param: ScalarParam | SizeParam): boolean => param.kind === "scalar" && isFloatElem(param.dtype);
