/** Records the torch parts of a kernel's spec: its reference, its providers and its inputs. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { pythonName, reservedName } from "../diagnostics/catalog/definition-codes.js";
import { referenceArgument } from "../diagnostics/catalog/reference-codes.js";
import { isMemoryParam, type KernelIR, type Param } from "../ir/nodes.js";
import { isPythonIdentifier } from "../torch/python-identifiers.js";
import { inputsOf as inputsIn, type TorchNode } from "../torch/node.js";
import { type KernelDefinition, rawConfigs } from "./definition.js";
import { prefixMessages } from "../torch/record-author.js";
import { recordInputs, recordReference } from "./record-reference.js";

/** Names of the providers that the benchmark adds to the author's. */
const RESERVED_PROVIDERS = ["kernel", "eager"];

/** Functions to measure beside the kernel. The author wrote them at `at`. */
export function providersOf(
  kernel: KernelDefinition,
  params: readonly Param[],
  at: Location | undefined,
): KernelIR["providers"] {
  const made = Object.entries(kernel.spec.providers ?? {}).map(([name, author]) => {
    if (!isPythonIdentifier(name)) fail(pythonName.provider(kernel.name, name), at);
    if (RESERVED_PROVIDERS.includes(name)) fail(reservedName.provider(kernel.name, name), at);
    const given = () => recordReferenceSpec(kernel, author, params, at, `the provider ${name}`)!;
    return [name, prefixMessages(`${kernel.name}: the provider ${name}:`, given)] as const;
  });
  return Object.fromEntries(made);
}

/** The reference. The author wrote it at `at`. */
export function recordReferenceSpec(
  { spec }: KernelDefinition,
  author: typeof spec.reference,
  params: readonly Param[],
  at: Location | undefined,
  what = "the reference",
) {
  const numbers = params.filter((param) => !isMemoryParam(param));
  const given = {
    subject: what,
    tensors: tensorNames(params, ["in", "inout"]),
    numbers: numbers.map(({ name }) => name),
    flags: flagsOf(numbers),
    variables: variablesOf(params),
  };
  const made = recordReference(author, given, tensorNames(params, ["out", "inout"]), at);
  const used = made?.kind === "recorded" ? inputsIn(made.outputs) : new Set<string>();
  const varying = params.find((param) => used.has(param.name) && isOfConfig(spec, param));
  if (varying) fail(referenceArgument.config(varying.name), at);
  return made;
}

/** Whether the configs decide its value, and differ in it. A single value is known wherever the reference runs. */
function isOfConfig({ autotune }: KernelDefinition["spec"], param: Param): boolean {
  if (param.kind !== "constexpr") return false;
  const values = (autotune ? rawConfigs(autotune) : []).map(({ raw }) => raw[param.name]);
  return param.from === "heuristic" || (param.from === "config" && new Set(values).size > 1);
}

/** The spec's inputs. They are made before a config is chosen, so they see no values of one. */
export function inputsOf({ spec }: KernelDefinition, params: readonly Param[], at: Location | undefined) {
  if (!spec.inputs) return {};
  const early = (param: Param) =>
    param.kind === "size" ||
    param.kind === "scalar" ||
    (param.kind === "constexpr" && (param.from === "dim" || param.from === "argument"));
  const numbers = params.filter(early);
  const given = {
    subject: "inputs",
    tensors: [],
    numbers: numbers.map(({ name }) => name),
    flags: flagsOf(numbers),
  };
  const author = spec.inputs;
  return prefixMessages("inputs:", () => recordInputs(author, given, tensorNames(params, ["in", "inout"]), at));
}

/** Flags and choices of words, which authors may want to ask with JavaScript's `?:`. */
export function flagsOf(params: readonly Param[]): readonly string[] {
  const isFlag = (param: Param) =>
    param.kind === "constexpr" && !param.variable && (param.of === "bool" || param.of === "string");
  return params.filter(isFlag).map(({ name }) => name);
}

function tensorNames(params: readonly Param[], roles: readonly string[]): readonly string[] {
  return params.flatMap((param) => (param.kind === "tensor" && roles.includes(param.role) ? [param.name] : []));
}

/**
 * How a reference reads each dtype variable: from an argument that names it, else as `besides` says, or from an input's
 * dtype.
 */
export function variablesOf(
  params: readonly Param[],
  besides: Readonly<Record<string, TorchNode>> = {},
): Readonly<Record<string, TorchNode>> {
  const found: Record<string, TorchNode> = { ...besides };
  for (const param of params)
    if (param.kind === "tensor" && param.role !== "out" && typeof param.dtype !== "string")
      found[param.dtype.name] ??= { kind: "attribute", of: { kind: "input", name: param.name }, name: "dtype" };
  for (const param of params)
    if (param.kind === "constexpr" && param.variable) found[param.variable.name] = { kind: "input", name: param.name };
  return found;
}
