/** Evaluates an operator in-process: its kernels in order, and the PyTorch calls between them in float64. */
import type { Location } from "../diagnostics/diagnostic.js";
import type {
  TestCase,
  EvaluateOptions,
  Evaluation,
  Finding,
  Layout,
  Signature,
  TensorData,
  Work,
} from "../compiled/compiled-kernel.js";
import { tileArray, cast } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
import {
  isMemoryParam,
  type KernelIR,
  type OpStatement,
  tensorsOf,
  type OperatorIR,
  type KernelLaunch,
} from "../ir/nodes.js";
import {
  isTorchNode,
  type Launch,
  torchOperands,
  type ReferenceInputs,
  type TorchArgument,
  type TorchNode,
} from "../torch/node.js";
import { isFloat } from "../numerics/numeric-int.js";
import { AccessRecord } from "./sanitizer.js";
import { Bindings, launchOf, rangesOf } from "./bindings.js";
import { describeUnsupported, numbersOf } from "./evaluate-case.js";
import { type Run, type RunResult, evaluateForms } from "./evaluate-kernel.js";
import { compareWithReference, type Tolerances } from "./compare-reference.js";
import { checkElements } from "./execution-state.js";
import { checkRanges, describedInputs, makeInputs } from "./make-inputs.js";
import { refusal } from "./refusal.js";
import { UnsupportedByEvaluator } from "../torch/array.js";
import { TorchEvaluation } from "../torch/evaluate-torch.js";
import { UnknownAddress } from "./tensor.js";
import { estimateWork } from "./cost-estimate.js";

/** A number, a flag or a string. */
type Scalar = number | boolean | string;
type Scalars = Readonly<Record<string, Scalar>>;
const isScalar = (value: unknown): value is Scalar => ["number", "boolean", "string"].includes(typeof value);

/**
 * The reason why one of the kernels cannot be launched with these sizes. Undefined if no statically known size prevents
 * it.
 */
export function operatorRefusal(operator: OperatorIR, testCase: TestCase): string | undefined {
  for (const [kernel, kernelCase] of staticLaunches(operator, testCase)) {
    const reason = refusal(kernel, kernelCase);
    if (reason !== undefined) return `${kernel.name}: ${reason}`;
  }
  return undefined;
}

/** The cost of the launches whose arguments are determined by the test case. */
export function operatorWork(operator: OperatorIR, testCase: TestCase): Work {
  const costs = staticLaunches(operator, testCase).map(([kernel, kernelCase]) => estimateWork(kernel, kernelCase));
  const guessed = costs.some((work) => work.guessed) && ({ guessed: true } as const);
  return costs.reduce<Work>((all, { ops, lanes }) => ({ ...all, ops: all.ops + ops, lanes: all.lanes + lanes }), {
    ops: 0,
    lanes: 0,
    ...guessed,
  });
}

/** Each launch whose arguments are determined by the test case, as a test case of its kernel. */
function staticLaunches(
  { signature: face, forward, backward }: OperatorIR,
  testCase: TestCase,
): readonly (readonly [KernelIR, TestCase])[] {
  const { sizes, constexprs } = new Bindings(face, launchOf(face, { ...testCase, config: 0 }));
  /** Constant arguments of a launch, and constexprs that the operator's caller passes on. */
  const constantFlags = ({ args }: KernelLaunch): Scalars =>
    Object.fromEntries(
      Object.entries(args).flatMap(([name, argument]) => {
        const isCallerInput = isTorchNode(argument) && argument.kind === "input";
        const value: unknown = isCallerInput ? constexprs[argument.name] : argument;
        return isScalar(value) ? [[name, value] as const] : [];
      }),
    );
  return [...forward.steps, ...(backward?.steps ?? [])].flatMap((step) => {
    if (step.kind !== "launch") return [];
    const { kernel, sizes: boundSizes } = step;
    const knownSizes = Object.entries(boundSizes).flatMap(([name, size]) => {
      const value = typeof size === "number" ? size : sizes[size];
      return value === undefined ? [] : [[name, value] as const];
    });
    const flags = constantFlags(step);
    if (!kernel.params.every((param) => isKnown(param, step, knownSizes, flags))) return [];
    const config = testCase.config % kernel.tuning.configs.length;
    return [
      [kernel, { ...testCase, sizes: Object.fromEntries(knownSizes), scalars: {}, constexprs: flags, config }] as const,
    ];
  });
}

function isKnown(
  param: KernelIR["params"][number],
  { args }: KernelLaunch,
  sizes: readonly (readonly [string, number])[],
  flags: Scalars,
): boolean {
  if (param.kind === "size") return param.derived !== undefined || sizes.some(([name]) => name === param.name);
  if (param.kind === "scalar") return false;
  if (param.kind !== "constexpr" || param.from === "config") return true;
  if (param.name in flags) return true;
  return !(param.name in args) && (param.from !== "dim" || sizes.some(([name]) => name === param.name));
}

/** Options of a test case, with the lowered form of each kernel that is evaluated in lowered form too. */
export interface OperatorOptions extends Omit<EvaluateOptions, "lowered"> {
  readonly lowered?: ReadonlyMap<KernelIR, KernelIR> | undefined;
}

/** Evaluates one test case of the forward function. */
export function evaluateOperator(
  operator: OperatorIR,
  signature: Signature,
  testCase: TestCase,
  tolerance: Tolerances,
  {
    inputs: callerInputs = {},
    special,
    order,
    nonFinite,
    until,
    maxIterations,
    lowered,
    tolerance: override = {},
    accesses,
  }: OperatorOptions = {},
): Evaluation {
  const { signature: face } = operator;
  const reason = unsupportedIn(operator);
  if (reason !== undefined) return { outputs: {}, findings: [], unchecked: [reason] };
  const inputs = { ...operatorInputs(operator, signature, testCase, special), ...callerInputs };
  checkRanges(signature, inputs, rangesOf(face, { ...testCase, config: 0 }), face);
  const referenceInputs = withNumbers(face, testCase, inputs);
  const record = accesses && new AccessRecord(accesses);
  const limits = { order, until, maxIterations };
  try {
    const run = { ...limits, nonFinite, lowered, record };
    const result = new OperatorRun(operator, testCase, referenceInputs, run).run();
    const { outputs, findings, unlistedFindings: more, reached } = result;
    const { unchecked, ...verdict } = compareWithReference(face, result, referenceInputs, tolerance, override, () =>
      new OperatorRun(operator, testCase, referenceInputs, { ...limits, unrounded: true }).run(),
    );
    const omissions = [
      ...(record?.describeOmissions() ?? []),
      ...(more > 0 ? [`${more} more findings are not listed`] : []),
      ...(operator.backward ? ["the gradient: torch.autograd computes it, which needs Python"] : []),
    ];
    const observations = { reached, ...(record && { accesses: record.accesses }) };
    return { outputs, findings, unchecked: [...omissions, ...unchecked], ...verdict, ...observations };
  } catch (error) {
    if (error instanceof UnknownAddress || error instanceof UnsupportedByEvaluator)
      return { outputs: {}, findings: [], unchecked: [error.message] };
    throw error;
  }
}

/** The outputs of a test case with every float in float64. Undefined if a run has findings, or rounds all the same. */
export function evaluateOperatorUnrounded(
  operator: OperatorIR,
  signature: Signature,
  testCase: TestCase,
  inputs: Readonly<Record<string, TensorData>>,
  limits: Pick<OperatorOptions, "maxIterations">,
): Readonly<Record<string, TensorData>> | undefined {
  if (unsupportedIn(operator) !== undefined) return undefined;
  const { signature: face } = operator;
  checkRanges(signature, inputs, rangesOf(face, { ...testCase, config: 0 }), face);
  const referenceInputs = withNumbers(face, testCase, inputs);
  const run = (unrounded: boolean): RunResult =>
    new OperatorRun(operator, testCase, referenceInputs, { ...limits, unrounded }).run();
  if (run(false).findings.length > 0) return undefined;
  const { outputs, rounded } = run(true);
  return rounded.length === 0 ? outputs : undefined;
}

/** The inputs of a test case: described by the author, or drawn from the seed. */
export function operatorInputs(
  { signature: face }: OperatorIR,
  signature: Signature,
  testCase: TestCase,
  special?: EvaluateOptions["special"],
): Record<string, TensorData> {
  const faceCase = { ...testCase, config: 0 };
  const bindings = new Bindings(face, launchOf(face, faceCase));
  checkElements(face, bindings, testCase.absent);
  const sizes = { ...testCase.sizes, ...bindings.sizes };
  const random = makeInputs(
    signature,
    testCase,
    { sizes, ranges: rangesOf(face, faceCase) },
    special ?? testCase.special,
  );
  return { ...random, ...describedInputs(face, random, numbersOf(face, launchOf(face, faceCase)), testCase.seed) };
}

/** Inputs with the sizes and numbers of a test case, and null for each absent one. */
function withNumbers(
  face: KernelIR,
  testCase: TestCase,
  inputs: Readonly<Record<string, TensorData>>,
): ReferenceInputs {
  const missing = Object.fromEntries((testCase.absent ?? []).map((name) => [name, null]));
  return { ...numbersOf(face, launchOf(face, { ...testCase, config: 0 })), ...inputs, ...missing };
}

const unsupportedIn = ({ kernels }: OperatorIR): string | undefined =>
  kernels.map((kernel) => describeUnsupported(kernel, {})).find((reason) => reason !== undefined);

class OperatorRun {
  readonly #values = new Map<TorchNode, TensorData>();
  readonly #results = new Map<Launch, Readonly<Record<string, TensorData>>>();
  readonly #findings: Finding[] = [];
  #unlistedFindings = 0;
  readonly #reached = new Set<Location>();
  readonly #rounded: OpStatement[] = [];

  constructor(
    readonly operator: OperatorIR,
    readonly testCase: TestCase,
    readonly inputs: ReferenceInputs,
    readonly options: Pick<OperatorOptions, "order" | "nonFinite" | "until" | "maxIterations" | "lowered"> &
      Pick<Run, "record" | "unrounded">,
  ) {}

  run(): RunResult {
    const { signature: face, forward } = this.operator;
    for (const step of forward.steps) {
      if (step.kind === "launch") this.#launch(step);
      // Computed immediately, because a later kernel may change its inputs.
      else this.#values.set(step, this.#compute(step));
    }
    const declared = tensorsOf(face, "out");
    const outputs = declared.map(({ name, dtype }) => {
      const value = this.#tensor(forward.results[name]!);
      const expectedDType = typeof dtype === "string" ? dtype : this.testCase.dtypes[dtype.name];
      return [name, this.#cast(value, expectedDType as DTypeName)] as const;
    });
    const [findings, more, rounded] = [this.#findings, this.#unlistedFindings, this.#rounded];
    return {
      outputs: Object.fromEntries(outputs),
      findings,
      unlistedFindings: more,
      rounded,
      reached: [...this.#reached],
    };
  }

  #launch(launch: KernelLaunch): void {
    const { kernel, args } = launch;
    const { inputs, sizes, dtypes, layouts } = this.#inputTensors(launch);
    const values = Object.fromEntries(
      kernel.params.flatMap((param) => {
        const value = args[param.name];
        if (isMemoryParam(param) || value === undefined || value === null) return [];
        if (param.kind === "constexpr" && param.variable) {
          dtypes[param.variable.name] = this.#dtype(value as TorchNode);
          return [];
        }
        return [[param.name, isTorchNode(value) ? this.#scalar(value) : (value as Scalar)] as const];
      }),
    );
    const numbers = Object.fromEntries(
      Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    );
    const outputParams = tensorsOf(kernel, "out").filter(({ optional, name }) => !optional || args[name] === true);
    const presentNames = [...Object.keys(inputs), ...outputParams.map(({ name }) => name)];
    const absent = tensorsOf(kernel, "in", "inout", "out").flatMap(({ name }) =>
      presentNames.includes(name) ? [] : [name],
    );
    const config = this.testCase.config % kernel.tuning.configs.length;
    const kernelCase: TestCase = {
      sizes: { ...sizes, ...numbers },
      dtypes,
      scalars: numbers,
      constexprs: values,
      absent,
      config,
      seed: 0,
    };
    const { lowered, ...options } = this.options;
    const run = { ...launchOf(kernel, kernelCase), inputs, absent, layouts, seed: this.testCase.seed, ...options };
    const {
      outputs,
      findings,
      unlistedFindings: more,
      rounded,
      reached,
    } = evaluateForms(kernel, lowered?.get(kernel), run);
    this.#findings.push(...findings);
    this.#unlistedFindings += more;
    for (const location of reached) this.#reached.add(location);
    this.#rounded.push(...rounded);
    this.#results.set(launch, outputs);
    for (const param of tensorsOf(kernel, "inout")) {
      const node = args[param.name];
      if (isTorchNode(node)) this.#values.set(node, outputs[param.name]!);
    }
  }

  /** The tensors that the operator passes to a launch, with their sizes, dtypes and layouts. */
  #inputTensors({ kernel, args }: KernelLaunch) {
    const inputs: Record<string, TensorData> = {};
    const sizes: Record<string, number> = {};
    const dtypes: Record<string, string> = {};
    const layouts: Record<string, Layout> = {};
    for (const param of tensorsOf(kernel, "in", "inout")) {
      const node = args[param.name];
      if (!isTorchNode(node)) continue;
      const value = this.#tensor(node);
      const dtype = typeof param.dtype === "string" ? param.dtype : (dtypes[param.dtype.name] ??= value.dtype);
      inputs[param.name] = this.#cast(value, dtype as DTypeName);
      value.shape.forEach((size, axis) => {
        const dim = param.dimNames[axis];
        if (typeof dim === "string") sizes[dim] = size;
      });
      const layout = node.kind === "input" ? this.testCase.layouts?.[node.name] : undefined;
      if (layout) layouts[param.name] = layout;
    }
    return { inputs, sizes, dtypes, layouts };
  }

  #tensor(node: TorchNode): TensorData {
    const cachedValue = this.#values.get(node);
    if (cachedValue) return cachedValue;
    if (node.kind === "launched") {
      const value = this.#results.get(node.launch)?.[node.output];
      if (!value) throw new Error(`${node.output} is used before the launch that computes it`);
      this.#values.set(node, value);
      return value;
    }
    const input = node.kind === "input" ? this.inputs[node.name] : undefined;
    return typeof input === "object" && input !== null ? input : this.#compute(node);
  }

  /** Evaluates PyTorch calls in float64. */
  #compute(node: TorchNode): TensorData {
    this.#materialize(node);
    const evaluation = new TorchEvaluation(this.inputs, {
      values: this.#values,
      unrounded: this.options.unrounded === true,
    });
    return { dtype: "float64", ...evaluation.tensor(node) };
  }

  /** In an unrounded run, floats keep their values regardless of the dtype. */
  #cast(value: TensorData, dtype: DTypeName): TensorData {
    const isUnconverted = this.options.unrounded && isFloat(dtype) && isFloat(value.dtype as DTypeName);
    return isUnconverted ? { ...value, dtype } : castTo(value, dtype);
  }

  #dtype(node: TorchNode): string {
    if (node.kind === "dtype") return node.name;
    if (node.kind === "attribute") return this.#tensor(node.of).dtype;
    throw new UnsupportedByEvaluator("a dtype that no tensor has cannot be evaluated here");
  }

  #scalar(node: TorchNode): Scalar {
    const input = node.kind === "input" ? this.inputs[node.name] : undefined;
    if (isScalar(input)) return input;
    return Number(this.#compute(node).data[0]);
  }

  /** Stores kernel results that a PyTorch call uses. */
  #materialize(argument: TorchArgument): void {
    if (Array.isArray(argument)) argument.forEach((item) => this.#materialize(item));
    if (!isTorchNode(argument) || this.#values.has(argument)) return;
    if (argument.kind === "launched") this.#tensor(argument);
    torchOperands(argument).forEach((part) => this.#materialize(part));
  }
}

function castTo(value: TensorData, dtype: DTypeName): TensorData {
  if (value.dtype === dtype) return value;
  const { data } = cast(tileArray(value.dtype as DTypeName, value.shape, value.data), dtype);
  return { dtype, shape: value.shape, data };
}
