/** Runs an operator in-process: its kernels in order, and PyTorch calls between them in float64. */
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
import { tileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import type { DTypeName } from "../types/dtype.js";
import { isMemoryParam, type KernelIR, type OpStatement, tensorsOf } from "../ir/nodes.js";
import type { OperatorIR, KernelLaunch } from "../ir/operator-ir.js";
import {
  isTorchNode,
  type Launch,
  partsOf,
  type ReferenceInputs,
  type TorchArgument,
  type TorchNode,
} from "../torch/node.js";
import { isFloat } from "../numerics/numeric.js";
import { AccessRecord } from "./access-record.js";
import { Bindings } from "./bindings.js";
import { evaluateForms } from "./emitted-form.js";
import { notEvaluated } from "./evaluate-case.js";
import type { Run, RunResult } from "./evaluate-kernel.js";
import { compareWithReference } from "./compare-reference.js";
import type { Tolerances } from "./reference-outputs.js";
import { checkElements } from "./memory-limit.js";
import { checkRanges, describedInputs, makeInputs } from "./make-inputs.js";
import { launchOf, rangesOf } from "./case-launch.js";
import { refusal } from "./refusal.js";
import { UnsupportedByEvaluator } from "../torch/errors.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { UnknownAddress } from "./tensor.js";
import { estimateWork } from "./cost-estimate.js";

/** A number, a flag or a choice. */
type Scalar = number | boolean | string;
type Scalars = Readonly<Record<string, Scalar>>;
const isScalar = (value: unknown): value is Scalar => ["number", "boolean", "string"].includes(typeof value);

/** Why one of its kernels cannot be launched with the case's sizes; undefined if no known size prevents it. */
export function operatorRefusal(operator: OperatorIR, at: TestCase): string | undefined {
  for (const [kernel, launched] of launchesKnown(operator, at)) {
    const why = refusal(kernel, launched);
    if (why !== undefined) return `${kernel.name}: ${why}`;
  }
  return undefined;
}

/** The work of the launches whose arguments the case decides. */
export function operatorWork(operator: OperatorIR, at: TestCase): Work {
  const works = launchesKnown(operator, at).map(([kernel, launched]) => estimateWork(kernel, launched));
  const guessed = works.some((work) => work.guessed) && ({ guessed: true } as const);
  return works.reduce<Work>((all, { ops, lanes }) => ({ ...all, ops: all.ops + ops, lanes: all.lanes + lanes }), {
    ops: 0,
    lanes: 0,
    ...guessed,
  });
}

/** Each launch whose arguments the case decides, as a case of its kernel. */
function launchesKnown(
  { face, forward, backward }: OperatorIR,
  at: TestCase,
): readonly (readonly [KernelIR, TestCase])[] {
  const { sizes, constexprs } = new Bindings(face, launchOf(face, { ...at, config: 0 }));
  /** Flags and choices that a launch has from the operator's caller or from the author. */
  const chosen = ({ args }: KernelLaunch): Scalars =>
    Object.fromEntries(
      Object.entries(args).flatMap(([name, argument]) => {
        const isOfCaller = isTorchNode(argument) && argument.kind === "input";
        const value: unknown = isOfCaller ? constexprs[argument.name] : argument;
        return isScalar(value) ? [[name, value] as const] : [];
      }),
    );
  return [...forward.steps, ...(backward?.steps ?? [])].flatMap((step) => {
    if (step.kind !== "launch") return [];
    const { kernel, sizes: bound } = step;
    const known = Object.entries(bound).flatMap(([name, size]) => {
      const value = typeof size === "number" ? size : sizes[size];
      return value === undefined ? [] : [[name, value] as const];
    });
    const flags = chosen(step);
    if (!kernel.params.every((param) => isKnown(param, step, known, flags))) return [];
    const config = at.config % kernel.tuning.configs.length;
    return [[kernel, { ...at, sizes: Object.fromEntries(known), scalars: {}, constexprs: flags, config }] as const];
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

/** Options of a case, with the lowered form of each kernel if those run too. */
export interface OperatorOptions extends Omit<EvaluateOptions, "lowered"> {
  readonly lowered?: ReadonlyMap<KernelIR, KernelIR> | undefined;
}

/** Evaluates one case of the forward function. */
export function evaluateOperator(
  operator: OperatorIR,
  signature: Signature,
  at: TestCase,
  tolerance: Tolerances,
  {
    inputs: given = {},
    special,
    order,
    nonFinite,
    until,
    lowered,
    tolerance: override = {},
    accesses,
  }: OperatorOptions = {},
): Evaluation {
  const { face, kernels } = operator;
  const why = kernels.map((kernel) => notEvaluated(kernel, {})).find((reason) => reason !== undefined);
  if (why !== undefined) return { outputs: {}, findings: [], unchecked: [why] };
  const bindings = new Bindings(face, launchOf(face, { ...at, config: 0 }));
  checkElements(face, bindings, at.absent);
  const { sizes, scalars, constexprs } = bindings;
  const numbers = { ...sizes, ...scalars, ...constexprs } as Record<string, number | boolean | string>;
  const ranges = rangesOf(face, { ...at, config: 0 });
  const drawn = makeInputs(signature, at, { sizes: { ...at.sizes, ...sizes }, ranges }, special ?? at.special);
  const inputs = { ...drawn, ...describedInputs(face, drawn, numbers, at.seed), ...given };
  checkRanges(signature, inputs, ranges, face);
  const missing = Object.fromEntries((at.absent ?? []).map((name) => [name, null]));
  const known: ReferenceInputs = { ...numbers, ...inputs, ...missing };
  const record = accesses && new AccessRecord(accesses);
  try {
    const result = new Steps(operator, at, known, { order, nonFinite, until, lowered, record }).run();
    const { outputs, findings, more, reached } = result;
    const { unchecked, ...verdict } = compareWithReference(face, result, known, tolerance, override, () =>
      new Steps(operator, at, known, { order, until, unrounded: true }).run(),
    );
    const besides = [
      ...(record?.leftOut() ?? []),
      ...(more > 0 ? [`${more} more findings are not listed`] : []),
      ...(operator.backward ? ["the gradient: torch.autograd computes it, which needs Python"] : []),
    ];
    const seen = { reached, ...(record && { accesses: record.accesses }) };
    return { outputs, findings, unchecked: [...besides, ...unchecked], ...verdict, ...seen };
  } catch (error) {
    if (error instanceof UnknownAddress || error instanceof UnsupportedByEvaluator)
      return { outputs: {}, findings: [], unchecked: [error.message] };
    throw error;
  }
}

class Steps {
  readonly #values = new Map<TorchNode, TensorData>();
  readonly #results = new Map<Launch, Readonly<Record<string, TensorData>>>();
  readonly #findings: Finding[] = [];
  #more = 0;
  readonly #reached = new Set<Location>();
  readonly #rounded: OpStatement[] = [];

  constructor(
    readonly operator: OperatorIR,
    readonly at: TestCase,
    readonly inputs: ReferenceInputs,
    readonly options: Pick<OperatorOptions, "order" | "nonFinite" | "until" | "lowered"> &
      Pick<Run, "record" | "unrounded">,
  ) {}

  run(): RunResult {
    const { face, forward } = this.operator;
    for (const step of forward.steps) {
      if (step.kind === "launch") this.#launch(step);
      // Computed now, because a later kernel may change its inputs.
      else this.#values.set(step, this.#compute(step));
    }
    const declared = tensorsOf(face, "out");
    const outputs = declared.map(({ name, dtype }) => {
      const value = this.#tensor(forward.results[name]!);
      const wanted = typeof dtype === "string" ? dtype : this.at.dtypes[dtype.name];
      return [name, this.#cast(value, wanted as DTypeName)] as const;
    });
    const [findings, more, rounded] = [this.#findings, this.#more, this.#rounded];
    return { outputs: Object.fromEntries(outputs), findings, more, rounded, reached: [...this.#reached] };
  }

  #launch(launch: KernelLaunch): void {
    const { kernel, args } = launch;
    const tensors = tensorsOf(kernel, "in", "inout");
    const given: Record<string, TensorData> = {};
    const sizes: Record<string, number> = {};
    const dtypes: Record<string, string> = {};
    const layouts: Record<string, Layout> = {};
    for (const param of tensors) {
      const node = args[param.name];
      if (!isTorchNode(node)) continue;
      const value = this.#tensor(node);
      const dtype = typeof param.dtype === "string" ? param.dtype : (dtypes[param.dtype.name] ??= value.dtype);
      given[param.name] = this.#cast(value, dtype as DTypeName);
      param.dimNames.forEach((dim, axis) => {
        if (typeof dim === "string") sizes[dim] = value.shape[axis]!;
      });
      const layout = node.kind === "input" ? this.at.layouts?.[node.name] : undefined;
      if (layout) layouts[param.name] = layout;
    }
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
    const asked = tensorsOf(kernel, "out").filter(({ optional, name }) => !optional || args[name] === true);
    const here = [...Object.keys(given), ...asked.map(({ name }) => name)];
    const absent = tensorsOf(kernel, "in", "inout", "out").flatMap(({ name }) => (here.includes(name) ? [] : [name]));
    const config = this.at.config % kernel.tuning.configs.length;
    const at: TestCase = {
      sizes: { ...sizes, ...numbers },
      dtypes,
      scalars: numbers,
      constexprs: values,
      absent,
      config,
      seed: 0,
    };
    const { lowered, ...options } = this.options;
    const run = { ...launchOf(kernel, at), inputs: given, absent, layouts, seed: this.at.seed, ...options };
    const { outputs, findings, more, rounded, reached } = evaluateForms(kernel, lowered?.get(kernel), run);
    this.#findings.push(...findings);
    this.#more += more;
    for (const at of reached) this.#reached.add(at);
    this.#rounded.push(...rounded);
    this.#results.set(launch, outputs);
    for (const param of tensors) {
      const node = args[param.name];
      if (param.role === "inout" && isTorchNode(node)) this.#values.set(node, outputs[param.name]!);
    }
  }

  #tensor(node: TorchNode): TensorData {
    const known = this.#values.get(node);
    if (known) return known;
    if (node.kind === "launched") {
      const value = this.#results.get(node.launch)![node.output]!;
      this.#values.set(node, value);
      return value;
    }
    const input = node.kind === "input" ? this.inputs[node.name] : undefined;
    return typeof input === "object" && input !== null ? input : this.#compute(node);
  }

  /** Evaluates PyTorch calls in float64. */
  #compute(node: TorchNode): TensorData {
    this.#settle(node);
    const [array] = evaluateReference([node], this.inputs, {
      given: this.#values,
      unrounded: this.options.unrounded === true,
    });
    return { dtype: "float64", ...array! };
  }

  /** Unrounded, floats keep their values, whatever their dtype is called. */
  #cast(value: TensorData, dtype: DTypeName): TensorData {
    const isFree = this.options.unrounded && isFloat(dtype) && isFloat(value.dtype as DTypeName);
    return isFree ? { ...value, dtype } : castTo(value, dtype);
  }

  #dtype(node: TorchNode): string {
    if (node.kind === "dtype") return node.name;
    if (node.kind === "attribute") return this.#tensor(node.of).dtype;
    throw new UnsupportedByEvaluator("a dtype that no tensor has cannot be evaluated here");
  }

  #scalar(node: TorchNode): Scalar {
    const given = node.kind === "input" ? this.inputs[node.name] : undefined;
    if (isScalar(given)) return given;
    return Number(this.#compute(node).data[0]);
  }

  /** Stores the values of kernel results before PyTorch calls use them. */
  #settle(argument: TorchArgument): void {
    if (Array.isArray(argument)) argument.forEach((item) => this.#settle(item));
    if (!isTorchNode(argument) || this.#values.has(argument)) return;
    if (argument.kind === "launched") this.#tensor(argument);
    partsOf(argument).forEach((part) => this.#settle(part));
  }
}

function castTo(value: TensorData, dtype: DTypeName): TensorData {
  if (value.dtype === dtype) return value;
  const { data } = cast(tileArray(value.dtype as DTypeName, value.shape, value.data), dtype);
  return { dtype, shape: value.shape, data };
}
