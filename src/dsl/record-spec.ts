/** Records the torch parts of a kernel's spec: its reference, providers and inputs. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { pythonName, reservedName } from "../diagnostics/catalog/definition-codes.js";
import { referenceArgument, referenceResult, specInputs } from "../diagnostics/catalog/reference-codes.js";
import { isMemoryParam, type KernelIR, type Param } from "../ir/nodes.js";
import { inputsOf as inputsIn, type Reference, type TorchNode, isPythonIdentifier } from "../torch/node.js";
import { type KernelDefinition, rawConfigs } from "./definition.js";
import { prefixMessages, type Author, type RecorderArguments, record } from "../torch/record-author.js";
import { isRecord, nodeOf, tensorProxy } from "../torch/proxy.js";

/** Names of the benchmark's built-in providers. */
const RESERVED_PROVIDERS = ["kernel", "eager"];

/** Records the functions that the benchmark compares with the kernel. `location` is that of the spec part. */
export function providersOf(
  kernel: KernelDefinition,
  params: readonly Param[],
  location: Location | undefined,
): KernelIR["providers"] {
  const providers = Object.entries(kernel.spec.providers ?? {}).map(([name, author]) => {
    if (!isPythonIdentifier(name)) fail(pythonName.provider(kernel.name, name), location);
    if (RESERVED_PROVIDERS.includes(name)) fail(reservedName.provider(kernel.name, name), location);
    const recordProvider = () => recordReferenceSpec(kernel, author, params, location, `the provider ${name}`);
    return [name, prefixMessages(`${kernel.name}: the provider ${name}:`, recordProvider)] as const;
  });
  return Object.fromEntries(providers);
}

/** Records the reference. `location` is that of the spec part. */
export function referenceOf(
  kernel: KernelDefinition,
  params: readonly Param[],
  location: Location | undefined,
): KernelIR["reference"] {
  const { reference } = kernel.spec;
  return reference && recordReferenceSpec(kernel, reference, params, location, "the reference");
}

function recordReferenceSpec(
  { spec }: KernelDefinition,
  author: NonNullable<typeof spec.reference>,
  params: readonly Param[],
  location: Location | undefined,
  subject: string,
): Reference {
  const numbers = params.filter((param) => !isMemoryParam(param));
  const recorderArguments = {
    subject,
    tensors: tensorNames(params, ["in", "inout"]),
    numbers: numbers.map(({ name }) => name),
    flags: flagsOf(numbers),
    variables: variablesOf(params),
  };
  const reference = recordReference(author, recorderArguments, tensorNames(params, ["out", "inout"]), location);
  const usedInputs = reference.kind === "recorded" ? inputsIn(reference.outputs) : new Set<string>();
  const configParam = params.find((param) => usedInputs.has(param.name) && isConfigDependent(spec, param));
  if (configParam) fail(referenceArgument.config(configParam.name), location);
  return reference;
}

/** True if the param's value differs between configs. A single value is also known to the reference. */
function isConfigDependent({ autotune }: KernelDefinition["spec"], param: Param): boolean {
  if (param.kind !== "constexpr") return false;
  const values = (autotune ? rawConfigs(autotune) : []).map(({ raw }) => raw[param.name]);
  return param.from === "heuristic" || (param.from === "config" && new Set(values).size > 1);
}

/** Records the spec's inputs. They are created before a config is chosen and cannot depend on its values. */
export function inputsOf({ spec }: KernelDefinition, params: readonly Param[], location: Location | undefined) {
  if (!spec.inputs) return {};
  const isKnownBeforeConfig = (param: Param) =>
    param.kind === "size" ||
    param.kind === "scalar" ||
    (param.kind === "constexpr" && (param.from === "dim" || param.from === "argument"));
  const numbers = params.filter(isKnownBeforeConfig);
  const recorderArguments = {
    subject: "inputs",
    tensors: [],
    numbers: numbers.map(({ name }) => name),
    flags: flagsOf(numbers),
  };
  const author = spec.inputs;
  return prefixMessages("inputs:", () =>
    recordInputs(author, recorderArguments, tensorNames(params, ["in", "inout"]), location),
  );
}

/** Names of flags and string constexprs. Authors may be tempted to test them with JavaScript's `?:`. */
export function flagsOf(params: readonly Param[]): readonly string[] {
  const isFlag = (param: Param) =>
    param.kind === "constexpr" && !param.variable && (param.of === "bool" || param.of === "string");
  return params.filter(isFlag).map(({ name }) => name);
}

function tensorNames(params: readonly Param[], roles: readonly string[]): readonly string[] {
  return params.flatMap((param) => (param.kind === "tensor" && roles.includes(param.role) ? [param.name] : []));
}

/**
 * The expression for each dtype variable: the argument that binds it, else its entry in `dtypeSources`, else the dtype
 * of an input.
 */
export function variablesOf(
  params: readonly Param[],
  dtypeSources: Readonly<Record<string, TorchNode>> = {},
): Readonly<Record<string, TorchNode>> {
  const variables: Record<string, TorchNode> = { ...dtypeSources };
  for (const param of params)
    if (param.kind === "tensor" && param.role !== "out" && typeof param.dtype !== "string")
      variables[param.dtype.name] ??= { kind: "attribute", of: { kind: "input", name: param.name }, name: "dtype" };
  for (const param of params)
    if (param.kind === "constexpr" && param.variable)
      variables[param.variable.name] = { kind: "input", name: param.name };
  return variables;
}

// Records the author's torch expressions: a kernel's reference and its custom inputs.

/** Python source for a reference that the recorder cannot express: the body of `reference_fn`. */
export function python(
  strings: TemplateStringsArray,
  ...values: readonly (string | number)[]
): { readonly source: string } {
  return { source: String.raw({ raw: strings.raw }, ...values) };
}

/** Records a reference by calling the author's function with proxies. */
export function recordReference(
  author: Author | { readonly source: string },
  recorderArguments: RecorderArguments,
  outputs: readonly string[],
  location: Location | undefined,
): Reference {
  if (typeof author !== "function") return { kind: "python", source: dedent(author.source) };
  const { result } = record(author, recorderArguments, location);
  const unknownOutput =
    isRecord(result) && !Array.isArray(result)
      ? Object.keys(result).find((name) => !outputs.includes(name))
      : undefined;
  if (unknownOutput !== undefined) fail(referenceResult.unknown(unknownOutput, outputs), location);
  const results = resultsOf(result, outputs, location);
  if (results.length !== outputs.length)
    fail(
      referenceResult.count(formatCount(results.length, "result"), formatCount(outputs.length, "output"), outputs),
      location,
    );
  return { kind: "recorded", outputs: outputs.map((name, i) => outputNode(results[i], name, location)) };
}

/** The author's result for each output. */
function resultsOf(result: unknown, outputs: readonly string[], location: Location | undefined): readonly unknown[] {
  if (Array.isArray(result)) return result;
  if (isRecord(result)) return outputs.map((name) => result[name]);
  const node = nodeOf(result);
  if (!node || outputs.length < 2) return [result];
  return outputs.map((_, index) => tensorProxy({ kind: "item", of: node, index }, location));
}

/**
 * Records the custom inputs, by name.
 *
 * @throws TileScriptError if one is not a tensor that the kernel reads.
 */
function recordInputs(
  author: Author,
  recorderArguments: RecorderArguments,
  names: readonly string[],
  location: Location | undefined,
): Readonly<Record<string, TorchNode>> {
  const { result } = record(author, recorderArguments, location);
  if (!isRecord(result)) fail(specInputs.byName(), location);
  const inputs = Object.entries(result).map(([name, item]) => {
    if (!names.includes(name)) fail(specInputs.unknown(name, names), location);
    const node = nodeOf(item);
    return [name, node ?? fail(specInputs.notTorch(name), location)] as const;
  });
  return Object.fromEntries(inputs);
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function outputNode(item: unknown, name: string, location: Location | undefined): TorchNode {
  const node = nodeOf(item);
  if (node === undefined) fail(referenceResult.notTorch(name), location);
  return node;
}

/** Removes the template's indentation in the author's file. */
function dedent(source: string): string {
  const lines = source.replace(/^\n/, "").trimEnd().split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/[^ ]/));
  const indent = Math.min(...indents, Infinity);
  return lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0)).join("\n");
}
