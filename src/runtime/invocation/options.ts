/** Options that several commands share, and checks of their values against the kernel. */
import { formatNumber } from "../../compiled/canonical-json.js";
import { InvalidArgumentError, Option } from "commander";
import {
  type TestCase,
  type CompiledKernel,
  passedConstexprs,
  type Tolerance,
  type ConstexprSignature,
} from "../../compiled/compiled-kernel.js";
import { defaultDeadlineMs } from "../verify/case-steps.js";
import { type Selection, layoutsOf, tensorsWithLayout } from "../cases/selection.js";
import type { DeviceName } from "../../compiled/gpus.js";
import { parseSweep, type BenchmarkCase, type Sweep } from "../cases/command-cases.js";
import { parseBudget } from "../measure/tuner.js";
import { UsageError } from "../system/errors.js";
import { chosenDevice, deviceName } from "./chosen-device.js";
import type { Streams } from "../system/streams.js";

export interface JsonOptions {
  readonly json?: true;
}

/** Options that select test cases. */
export interface SelectionOptions extends JsonOptions {
  readonly shape?: Readonly<Record<string, string>>;
  readonly dtype?: Readonly<Record<string, string>>;
  readonly config?: number;
  readonly seed: number;
  readonly python?: string;
  readonly processes?: number;
  readonly verbose?: true;
}

/** Options for the device and the tolerance. */
export interface DeviceOptions {
  readonly device?: DeviceName;
  readonly rtol?: number;
  readonly atol?: number;
  readonly order?: "sequential" | "reversed" | "shuffled";
  /** In seconds. */
  readonly deadline: number;
}

/** Each option is declared once, because a kernel file accepts the options of all commands. */
export const options = {
  shape: new Option(
    "--shape <sizes>",
    "only these sizes, scalars and constexprs, such as M=300,N=200,K=100,CAUSAL=true",
  ).argParser(parseAssignments),
  dtype: new Option("--dtype <dtypes>", "choose dtypes for dtype variables, such as T=bfloat16").argParser(
    parseAssignments,
  ),
  device: new Option(
    "--device <device>",
    "where to run: auto (the default), cuda, hip, interpreter, eval; several GPUs: cuda:all, cuda:0,1; several workers on the interpreter: cpu:4; another machine: ssh:HOST; a Ray cluster: ray:auto",
  ).argParser((text: string) => deviceName("--device", text)),
  config: new Option("--config <index>", "use only the autotune config with this index").argParser(parseWhole),
  shapes: new Option(
    "--shapes <sizes...>",
    "sizes to use instead of the spec's, such as M=512,N=512 M=4096,N=4096",
  ).argParser((text: string, previous: readonly Record<string, string>[] | undefined) => [
    ...(previous ?? []),
    parseAssignments(text),
  ]),
  seed: new Option("--seed <number>", "seed of the inputs").argParser(parseWhole).default(0),
  kernel: new Option("--kernel <name>", "select one kernel of the file"),
  python: new Option("--python <path>", "the Python executable to use; it needs torch and triton"),
  rtol: new Option("--rtol <number>", "relative tolerance instead of the default").argParser(parsePositive),
  atol: new Option("--atol <number>", "absolute tolerance instead of the default").argParser(parsePositive),
  deadline: new Option(
    "--deadline <seconds>",
    "time limit of a test case; on timeout the case fails and its Python process is stopped",
  )
    .argParser(parsePositive)
    .default(defaultDeadlineMs / 1000),
  order: new Option(
    "--order <order>",
    "the order in which the evaluator runs programs; the seed determines the shuffled order",
  ).choices(["sequential", "reversed", "shuffled"]),
  runs: new Option("--runs <number>", "number of test cases to generate for each kernel")
    .argParser(parseWhole)
    .default(100),
  budget: new Option(
    "--budget <amount>",
    "time limit such as 60s or 5m, in verify for all kernels together; tune also accepts a number of configs, or all (defaults: verify 2m per kernel; tune 2m for a declared space, otherwise 60 configs and 60s per case)",
  ).argParser(parseBudget),
  special: new Option(
    "--special",
    "include NaN and infinities in the inputs; kernel and reference must return them at the same positions",
  ),
  case: new Option("--case <json>", "run only this test case; a failure prints it in this form").argParser(
    parseJsonObject,
  ),
  processes: new Option(
    "--processes <number>",
    "maximum number of compile processes; with 0, kernels for a GPU compile while the cases run",
  ).argParser(parseWhole),
  folder: new Option("--out <path>", "output folder; bench writes its report and plots, profile the module"),
  results: new Option("--results <path>", "append each measurement to the records in this folder, as one line of JSON"),
  tritonOp: new Option("--triton-op", "register operators with triton_op, so that torch.compile can trace into them"),
  watch: new Option("--watch", "run again whenever a source file changes"),
  json: new Option("--json", "print the report as JSON"),
  verbose: new Option("--verbose", "list every case, show whole tracebacks and the output of Python"),
};

/** Options that select benchmark cases, for `bench`, `tune` and `prewarm`. */
export interface MeasuringOptions extends SelectionOptions {
  readonly device?: DeviceName;
  readonly shapes?: readonly Readonly<Record<string, string>>[];
  readonly sweep?: Sweep;
  readonly results?: string;
}

export const measuringOptions: readonly Option[] = [
  options.device,
  options.shapes,
  new Option("--sweep <range>", "a range of sizes: M=256..8192:x2, M=256..4096:+256, or M,N,K=… together").argParser(
    parseSweep,
  ),
  options.dtype,
  options.seed,
  options.kernel,
  options.python,
  options.processes,
];

/** The benchmark cases that the flags select, checked against the kernel's signature. */
export function benchmarkCaseFor(
  kernel: CompiledKernel,
  { shapes, sweep, ...selection }: Omit<MeasuringOptions, "device">,
): BenchmarkCase {
  const names = kernel.signature.sizes;
  const remainingSizes = sweep ? names.filter((name) => !sweep.names.includes(name)) : names;
  return {
    selection: selectionFor(kernel, selection),
    ...(shapes && { shapes: shapes.map((each) => valuesFromFlags("--shapes", kernel, each, remainingSizes)) }),
    ...(sweep && { sweep }),
  };
}

/** The selection that the flags describe, checked against the kernel's signature. */
export function selectionFor(
  kernel: CompiledKernel,
  selectionOptions: SelectionOptions,
  flags = { shape: "--shape", dtype: "--dtype", config: "--config" },
): Selection {
  const { signature, configs } = kernel;
  const values = selectionOptions.shape && valuesFromFlags(flags.shape, kernel, selectionOptions.shape);
  const dtypes = selectionOptions.dtype && checkDtypes(flags.dtype, signature.dtypes, selectionOptions.dtype);
  if (selectionOptions.config !== undefined && selectionOptions.config >= configs.length) {
    throw new UsageError(
      `${flags.config} ${selectionOptions.config}: ${signature.name} has configs 0 to ${configs.length - 1}`,
    );
  }
  return {
    seed: selectionOptions.seed,
    ...values,
    ...(dtypes && { dtypes }),
    ...(selectionOptions.config !== undefined && { config: selectionOptions.config }),
  };
}

/** The test case of `--case`, checked against the kernel's signature. */
export function caseFor(kernel: CompiledKernel, json: Readonly<Record<string, unknown>>): TestCase {
  const unknown = Object.keys(json).filter((key) => !(CASE_KEYS as readonly string[]).includes(key));
  if (unknown.length > 0)
    throw new UsageError(`--case: unknown key ${unknown.join(", ")}; a case has ${CASE_KEYS.join(", ")}`);
  const { sizes, scalars, constexprs, dtypes, config = 0, seed = 0, layouts = {} } = json;
  const entries = (value: unknown): Record<string, string> =>
    Object.fromEntries(Object.entries(value ?? {}).map(([name, each]) => [name, formatNumber(each as string)]));
  if (!isWhole(config) || !isWhole(seed))
    throw new UsageError("--case: config and seed must be whole numbers from 0 up");
  const selection = selectionFor(
    kernel,
    { shape: { ...entries(sizes), ...entries(scalars), ...entries(constexprs) }, dtype: entries(dtypes), config, seed },
    { shape: "--case", dtype: "--case", config: "--case" },
  );
  checkLayouts(kernel, layouts as object);
  const checkPresent = (kind: string, names: readonly string[], values: object | undefined): void => {
    const missing = names.filter((name) => !(name in (values ?? {})));
    if (missing.length > 0) throw new UsageError(`--case: ${kind} lacks ${missing.join(", ")}`);
  };
  const requiredNames = (
    declarations: readonly { readonly name: string; readonly default?: unknown }[],
  ): readonly string[] => declarations.filter((each) => each.default === undefined).map(({ name }) => name);
  const { signature } = kernel;
  checkPresent("dtypes", Object.keys(signature.dtypes), entries(dtypes));
  checkPresent("scalars", requiredNames(signature.scalars), selection.scalars);
  const constexprParams = passedConstexprs(signature);
  checkPresent("constexprs", requiredNames(constexprParams), selection.constexprs);
  const testCase = { ...json, sizes: {}, dtypes: {}, ...selection } as TestCase;
  const refusal = kernel.refusal(testCase);
  if (refusal !== undefined)
    throw new UsageError(`--case: the kernel cannot be launched with these values (${refusal})`);
  return testCase;
}

function checkLayouts({ signature }: CompiledKernel, layouts: object): void {
  const { tensors } = signature;
  for (const [name, layout] of Object.entries(layouts)) {
    const tensor = tensors.find((each) => each.name === name);
    if (!tensor)
      throw new UsageError(
        `--case: there is no tensor ${name}; the tensors are ${tensors.map((each) => each.name).join(", ")}`,
      );
    const supported: readonly unknown[] = tensorsWithLayout(signature).includes(tensor)
      ? layoutsOf(signature, tensor)
      : ["contiguous"];
    if (!supported.includes(layout))
      throw new UsageError(
        `--case: the layout of ${name} must be one of ${supported.join(", ")}, not ${JSON.stringify(layout)}`,
      );
  }
}

const CASE_KEYS = [
  "sizes",
  "dtypes",
  "scalars",
  "constexprs",
  "layouts",
  "absent",
  "gpu",
  "special",
  "config",
  "seed",
] as const;

/** The device, the Python executable, the number of compile processes, and the output callback. */
export function deviceOf(
  { device, python, processes, verbose }: SelectionOptions & Pick<DeviceOptions, "device">,
  { err }: Streams,
) {
  return { device: chosenDevice(device).device, python, processes, ...(verbose && { onOutput: err }) };
}

export function toleranceOf({ rtol, atol }: DeviceOptions): Partial<Tolerance> {
  return { ...(rtol !== undefined && { rtol }), ...(atol !== undefined && { atol }) };
}

function checkDtypes(
  option: string,
  variables: Readonly<Record<string, readonly string[]>>,
  dtypes: Readonly<Record<string, string>>,
): Record<string, string> {
  for (const [name, value] of Object.entries(dtypes)) {
    const members = variables[name];
    const declared = Object.keys(variables).join(", ") || "none";
    if (!members) throw new UsageError(`${option}: there is no dtype variable ${name}; the kernel has ${declared}`);
    if (!members.includes(value)) throw new UsageError(`${option}: ${name} can be ${members.join(", ")}, not ${value}`);
  }
  return { ...dtypes };
}

export function parseAssignments(text: string): Record<string, string> {
  const pairs = text.split(",").map((part) => part.trim().split("="));
  if (pairs.some((part) => part.length !== 2 || part.includes(""))) {
    throw new InvalidArgumentError("Write NAME=VALUE,NAME=VALUE.");
  }
  const duplicate = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) < index);
  if (duplicate) throw new InvalidArgumentError(`It gives ${duplicate[0]} twice.`);
  return Object.fromEntries(pairs) as Record<string, string>;
}

function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError("It must be a JSON object.");
}

export function parseWhole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 0 up.");
  if (!isWhole(Number(text))) throw new InvalidArgumentError("It must be at most 2^53 - 1.");
  return Number(text);
}

export function parseCount(text: string): number {
  const value = parseWhole(text);
  if (value === 0) throw new InvalidArgumentError("It must be at least 1.");
  return value;
}

/** A nonnegative integer that JavaScript represents exactly. */
function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value < Infinity))
    throw new InvalidArgumentError("It must be a number from 0 up.");
  return value;
}

// Parses `NAME=VALUE` on the command line into a kernel's sizes, scalars and constexprs.

type Assignments = Readonly<Record<string, string>>;
type GivenValues = Required<Pick<Selection, "sizes" | "scalars" | "constexprs">>;

/** Parses all sizes, and optionally scalars and constexprs of the caller. `sizes` are the required names. */
function valuesFromFlags(
  option: string,
  { signature, configs }: CompiledKernel,
  assignments: Assignments,
  sizes: readonly string[] = signature.sizes,
): GivenValues {
  const values = { sizes: {}, scalars: {}, constexprs: {} } as Record<keyof GivenValues, Record<string, any>>;
  const passed = passedConstexprs(signature);
  for (const [name, text] of Object.entries(assignments)) {
    const scalar = signature.scalars.find((each) => each.name === name);
    const constexpr = signature.constexprs.find((each) => each.name === name);
    const label = `${option}: ${name}=${text}`;
    if (sizes.includes(name)) values.sizes[name] = parseSize(label, text);
    else if (scalar) values.scalars[name] = parseNumber(label, text, scalar.dtype.includes("int"));
    else if (constexpr && passed.includes(constexpr)) values.constexprs[name] = parseConstexpr(label, text, constexpr);
    else if (constexpr) throw new UsageError(`${option}: ${whyNotAssignable(constexpr, configs)}`);
    else {
      const names = [...signature.scalars, ...passed].map((each) => each.name);
      const others = names.length > 0 ? `; it also takes ${names.join(", ")}` : "";
      throw new UsageError(`${option}: there is no size ${name}; the sizes are ${sizes.join(", ")}${others}`);
    }
  }
  const missing = sizes.filter((name) => !(name in values.sizes));
  if (missing.length > 0)
    throw new UsageError(`${option}: ${missing.join(", ")} missing; give values for ${sizes.join(", ")}`);
  return { ...values, sizes: Object.fromEntries(sizes.map((name) => [name, values.sizes[name]])) };
}

/** Parses constexpr values that override those of a config. */
export function configValues(
  option: string,
  { signature }: CompiledKernel,
  assignments: Assignments,
): Readonly<Record<string, number | boolean | string>> {
  const constexprs = signature.constexprs.filter(({ from }) => from === "config");
  return Object.fromEntries(
    Object.entries(assignments).map(([name, text]) => {
      const constexpr = constexprs.find((each) => each.name === name);
      const names = constexprs.map((each) => each.name).join(", ") || "none";
      if (!constexpr)
        throw new UsageError(`${option}: there is no constexpr ${name} of the configs; they have ${names}`);
      return [name, parseConstexpr(`${option}: ${name}=${text}`, text, constexpr)];
    }),
  );
}

/** The reason why the caller cannot pass a constexpr. */
function whyNotAssignable({ name, from, variable }: ConstexprSignature, configs: CompiledKernel["configs"]): string {
  if (variable !== undefined) return `${name} is a dtype; choose it with --dtype ${variable}=…`;
  if (from !== "config") return `${name} is computed at the launch; leave it out`;
  const values = configs.map((config, i) => `${i} has ${config.values[name]}`);
  return `${name} belongs to the configs (${values.slice(0, 4).join(", ")}); choose one with --config`;
}

function parseSize(label: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`${label} is not a whole number`);
  if (!Number.isSafeInteger(Number(text))) throw new UsageError(`${label} is beyond 2^53 - 1; give less`);
  return Number(text);
}

function parseNumber(label: string, text: string, isInteger: boolean): number {
  const value = Number(text);
  if (text.trim() === "" || (Number.isNaN(value) && text !== "NaN")) throw new UsageError(`${label} is not a number`);
  if (!isInteger) return value;
  if (!Number.isInteger(value)) throw new UsageError(`${label} is not an integer`);
  // Digits that JavaScript would round to another integer are rejected, unless they are the printed form of the number.
  const isExact = Number.isSafeInteger(value) || text === String(value) || exactInteger(text) === BigInt(value);
  if (!isExact) throw new UsageError(`${label} is an integer that JavaScript rounds to ${BigInt(value)}; give that`);
  return value;
}

const exactInteger = (text: string): bigint | undefined => (/^[-]?\d+$/.test(text) ? BigInt(text) : undefined);

function parseConstexpr(label: string, text: string, { kind, choices }: ConstexprSignature): number | boolean | string {
  if (choices && !choices.includes(text)) throw new UsageError(`${label}: choose from ${choices.join(", ")}`);
  if (choices) return text;
  if (kind !== "bool") return parseNumber(label, text, kind === "int");
  if (text !== "true" && text !== "false") throw new UsageError(`${label}: a flag is true or false`);
  return text === "true";
}
