/**
 * Imports one kernel of a Triton file: writes its text, builds and emits it, and compares it with the original by
 * Triton IR.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { hasBlockPointers, lowerBlockPointers } from "../../import/blocks/block-pointers.js";
import { isConstantKey } from "../../import/declared-params.js";
import { equalConstantsIn } from "../../import/equal-constants.js";
import type { InferredLaunchFacts } from "../../import/launch-facts/recorded-values.js";
import { kernelText, type KernelText, type TextOptions, type Todo, helperTypes } from "../../import/kernel-text.js";
import { type Lifted, liftPointers, type LiftedAccess } from "../../import/lift/lift.js";
import type { LiftedTensor } from "../../import/lift/lifted-tensors.js";
import type { LeftOut } from "../../import/left-out.js";
import { forCalls, type LaunchArgument, type KernelTree } from "../../import/tree.js";
import { UnsupportedConstruct } from "../../import/value.js";
import { openWorkspace } from "../devices/device.js";
import { importKernels, isBuildError } from "../invocation/kernels.js";
import type { CallMatch, ReadCall, ReadKernel } from "../worker/protocol.js";
import type { ImportOutcome } from "../report/reports.js";
import type { Worker } from "../worker/worker.js";
import type { Scratch } from "./scratch.js";
import { refineViews, type Written } from "./refine-views.js";

/** Returns the built kernel, or the reason why it cannot be built. */
type Build = (text: string, name: string) => Promise<CompiledKernel | string>;

interface BuildTools {
  readonly scratch: Scratch;
  /** Loads the package that kernel files import. */
  readonly language: () => Promise<unknown>;
}

function buildOnce(tools: BuildTools): Build {
  const cache = new Map<string, CompiledKernel | string>();
  return async (text, name) => {
    const result = cache.get(text) ?? (await build(text, name, tools));
    cache.set(text, result);
    return result;
  };
}

async function build(text: string, name: string, { scratch, language }: BuildTools): Promise<CompiledKernel | string> {
  const file = await scratch.write(name, text);
  try {
    return await compileOnly(file, language);
  } catch (error) {
    if (!isBuildError(error))
      return `the imported kernel does not run: ${error instanceof Error ? error.message : String(error)}`;
    const first = error.diagnostics.find(({ severity }) => severity === "error");
    const line = first?.at?.line;
    const excerpt = line === undefined ? "" : ` (at ${JSON.stringify(text.split("\n")[line - 1]?.trim() ?? "")})`;
    return `the imported kernel does not build: ${first?.message ?? error.message}${excerpt}`;
  }
}

/** Compiles the only kernel of a file. */
async function compileOnly(file: string, language: BuildTools["language"]): Promise<CompiledKernel> {
  const [kernel] = await importKernels([file], [file], language);
  if (!kernel) throw new Error(`${file} exports no kernel`);
  return kernel.compile();
}

export type ImportedKernel = ImportOutcome & {
  readonly kernel: string;
  /** The kernel file; absent if none could be written. */
  readonly text?: string;
  readonly todos?: readonly Todo[];
  /** The parts of the original that the file has no place for. */
  readonly leftOut?: readonly LeftOut[];
  /** The number of compared calls, if the kernel supports only some of them. */
  readonly calls?: { readonly compared: number; readonly noted: number };
  /** The built kernel; absent if the text cannot be built. */
  readonly built?: CompiledKernel;
  /** True if it has block pointers, which are compared in the form that Triton 3.6 lowers them to. */
  readonly blockPointers?: true;
  /** The result of lifting each access, with lines of the Python file; absent without `lift`. */
  readonly accesses?: readonly LiftedAccess[];
};

export interface ImportTools {
  readonly worker: Worker;
  readonly scratch: Scratch;
  /** Loads the package that kernel files import. */
  readonly language: () => Promise<unknown>;
  /** Time limit of a comparison. */
  readonly deadlineMs: number;
  /** Constants to fix. If empty, every condition that Triton knows is decided. */
  readonly specialize?: ReadonlySet<string>;
  /** Lifts accesses to views if the IR stays equal. */
  readonly lift?: boolean;
}

/** The tools for one kernel. */
interface KernelTools extends ImportTools {
  readonly build: Build;
}

export async function importKernel(read: ReadKernel, tools: ImportTools): Promise<ImportedKernel> {
  const { name: kernel, line } = read;
  if ("refused" in read) return { kernel, status: "not imported", reason: read.refused, line };
  const imported = await importFirstEqual(read, { ...tools, build: buildOnce(tools) });
  return hasBlockPointers(read) ? { ...imported, blockPointers: true } : imported;
}

/** Imports the kernel with the simplest strategy whose result is equal. */
async function importFirstEqual(read: ReadableKernel, tools: KernelTools): Promise<ImportedKernel> {
  const { specialize } = tools;
  const options: TextOptions = specialize ? { specialize, shouldFoldConditions: specialize.size === 0 } : {};
  const calls = compatibleCalls(read.calls, specialize);
  let imported: ImportedKernel | undefined;
  const attempts = new Map<string, ImportedKernel>();
  for (const [servedCalls, strategy] of strategies(calls, read, options)) {
    const [next, usedOptions] = await attemptWithRemedies(
      restrictToCalls(read, servedCalls, strategy),
      tools,
      strategy,
      attempts,
    );
    imported = { ...next, ...callCounts(servedCalls, read) };
    if (!isEqual(imported)) continue;
    return tools.lift || hasBlockPointers(read)
      ? {
          ...(await withViews(imported, restrictToCalls(read, servedCalls, strategy), tools, usedOptions)),
          ...callCounts(servedCalls, read),
        }
      : imported;
  }
  return imported!;
}

/** Lifts pointers to views while the IR stays equal: all pointers at once, or else one by one. */
async function withViews(
  plain: ImportedKernel,
  read: ReadableKernel,
  tools: KernelTools,
  options: TextOptions,
): Promise<ImportedKernel> {
  const tree = treeOf(read);
  const { tensors, accesses } = liftPointers(tree);
  const refused = new Map<string, string>();
  const attemptWith = (params: readonly string[], masks: readonly string[]): Promise<ImportedKernel> =>
    attempt(read, tools, options, new Map(), liftPointers(tree, new Set(params), new Set(masks)));
  const params = tensors.map(({ param }) => param);
  let best = plain;
  let lifted: readonly string[] = [];
  let maskedParams: readonly string[] = [];
  const tryLift = async (added: readonly string[], masks: readonly string[]): Promise<void> => {
    const result = await attemptWith([...lifted, ...added], [...maskedParams, ...masks]);
    if (isEqual(result)) [best, lifted, maskedParams] = [result, [...lifted, ...added], [...maskedParams, ...masks]];
    else if (masks.length === 0) for (const param of added) refused.set(param, whyNot(result));
  };
  if (params.length > 1) await tryLift(params, []);
  for (const param of params) {
    if (!lifted.includes(param)) await tryLift([param], []);
    // A view may mask more than the Python does, such as negative indices.
    if (!lifted.includes(param)) await tryLift([param], [param]);
  }
  if (lifted.length > 0 && (read.launch || tools.lift)) {
    const refinement = await refineViews({
      tree,
      lifted,
      maskedParams,
      write: (lift, inferred) => writeAndBuild(lift, inferred, options, tools),
      compare: async (lift, inferred) => {
        const next = await attempt(read, tools, inferred ? { ...options, inferred } : options, new Map(), lift);
        return isEqual(next) ? next : undefined;
      },
    });
    if (refinement.kernel) [best, lifted] = [refinement.kernel, refinement.lifted];
    for (const param of refinement.refuted)
      refused.set(param, "a proof finds launches where an index of it is out of bounds");
  }
  const isLifted = ({ param }: LiftedAccess): boolean => param !== undefined && lifted.includes(param);
  const remaining = accesses.filter((access) => !isLifted(access));
  const outcomes = [
    ...liftPointers(tree, new Set(lifted), new Set(maskedParams)).accesses.filter(isLifted),
    ...remaining.map((access) => ({ ...access, why: access.why ?? refused.get(access.param ?? "") })),
  ];
  const firstLine = read.functions[0].line - 1;
  const located = outcomes.map((access) => ({ ...access, line: access.line + firstLine }));
  return { ...best, accesses: located.toSorted((a, b) => a.line - b.line) };
}

/** Writes and builds a kernel with views; undefined on failure. */
async function writeAndBuild(
  lift: Lifted,
  inferred: InferredLaunchFacts | undefined,
  options: TextOptions,
  tools: KernelTools,
): Promise<Written | undefined> {
  try {
    const textOptions = { ...options, tensors: lift.tensors, ...(inferred && { inferred }) };
    const { text, name, parameters } = await kernelText(lift.tree, textOptions);
    const built = await tools.build(text, name);
    return typeof built === "string" ? undefined : { built, parameters };
  } catch (error) {
    if (!(error instanceof UnsupportedConstruct)) throw error;
    return undefined;
  }
}

/** The reason why a kernel is not equal. */
function whyNot(result: ImportedKernel): string {
  if (result.status === "differs") return `Triton's IR has ${result.imported} in place of ${result.original}`;
  return result.status === "not imported" ? result.reason : "";
}

/** Strategies for all calls, the simplest first. */
const FALLBACKS: readonly TextOptions[] = [
  { mayEmitContinuations: true },
  { isReachableOnly: true },
  { compiledArmsOnly: true },
  { mayEmitContinuations: true, compiledArmsOnly: true },
];

/** All strategies, the simplest first, each with the calls that it supports. */
function strategies(
  calls: readonly ReadCall[],
  read: ReadableKernel,
  options: TextOptions,
): readonly (readonly [readonly ReadCall[], TextOptions])[] {
  // Tile sizes may be known only for single launches.
  const isComputed =
    Object.keys(read.launch?.computed ?? {}).length > 0 ||
    read.functions[0].params.some(({ name }) => isConstantKey(name, read));
  const pinned: TextOptions = isComputed ? { ...options, hasPinnedConstants: true } : options;
  const plain = isComputed ? [options, pinned] : [options];
  // A kernel may test the dtype of a pointer and also name this dtype elsewhere: then it supports only one dtype.
  const [first] = calls;
  const sameTypeCalls = calls.filter((call) => first && sameTypes(call, first));
  return [
    ...[{}, ...FALLBACKS].flatMap((fallback) =>
      plain.map((strategy) => [calls, { ...strategy, ...fallback }] as const),
    ),
    ...plain.flatMap((strategy) =>
      [{ mayEmitContinuations: true }, {}, { mayEmitContinuations: true, compiledArmsOnly: true }].map(
        (fallback) => [sameTypeCalls, { ...strategy, ...fallback, hasFixedDTypes: true }] as const,
      ),
    ),
    ...(options.specialize?.size === 0 ? [[sameTypeCalls, fixedConstants(read, options)] as const] : []),
    // A flag with another meaning may test for pointers that single calls omit.
    [calls.slice(0, 1), { ...options, hasPinnedConstants: true, hasFixedDTypes: true, mayEmitContinuations: true }],
  ];
}

/** Fixes every constant that no config sets: two lengths may have to be equal. */
function fixedConstants({ calls, tuning, functions: [{ params }] }: ReadableKernel, options: TextOptions): TextOptions {
  const tuned = new Set(tuning.autotune?.configs.flatMap(({ values }) => Object.keys(values)));
  const constants = params.filter(
    ({ name }) => !tuned.has(name) && calls.every((call) => call.arguments[name]?.kind === "constant"),
  );
  const specialize = new Set(constants.map(({ name }) => name));
  return { ...options, specialize, hasFixedDTypes: true, mayEmitContinuations: true };
}

/** The kernel restricted to these calls. If conditions are decided, other constants are ignored. */
function restrictToCalls(
  read: ReadableKernel,
  calls: readonly ReadCall[],
  { shouldFoldConditions: decides, isReachableOnly: reachedOnly }: TextOptions,
): ReadableKernel {
  const callIndices = new Set(calls.map((call) => read.calls.indexOf(call)));
  return {
    ...read,
    calls,
    functions: forCalls(read.functions, decides || reachedOnly ? callIndices : callIndices.add(-1)),
  };
}

const callCounts = (calls: readonly ReadCall[], read: ReadableKernel): Pick<ImportedKernel, "calls"> =>
  calls.length < read.calls.length ? { calls: { compared: calls.length, noted: read.calls.length } } : {};

/**
 * The calls that one kernel file can support: those with the same argument kinds and fixed values as the first call.
 */
function compatibleCalls(calls: readonly ReadCall[], specialize: ReadonlySet<string> | undefined): readonly ReadCall[] {
  const kindOf = (argument: LaunchArgument, name: string): string => {
    if (argument.kind === "descriptor") return `descriptor ${argument.block.length} ${argument.padding}`;
    if (argument.kind !== "constant") return argument.kind === "pointer" ? "pointer" : argument.dtype;
    const isFixed = specialize && (specialize.size === 0 || specialize.has(name));
    if (isFixed) return cacheKey(argument.value);
    const { value } = argument;
    return value.what === "constant" ? value.of : cacheKey(value);
  };
  const [first] = calls;
  return calls.filter((call) =>
    Object.entries(call.arguments).every(([name, argument]) => {
      const kinds = [kindOf(argument, name), kindOf(first!.arguments[name]!, name)];
      // A pointer may be omitted.
      return kinds[0] === kinds[1] || (!specialize && kinds.includes("NoneType") && kinds.includes("pointer"));
    }),
  );
}

const sameTypes = (call: ReadCall, reference: ReadCall): boolean =>
  Object.entries(call.arguments).every(([name, argument]) => {
    const referenceArgument = reference.arguments[name]!;
    return (
      argument.kind === "constant" ||
      (referenceArgument.kind !== "constant" && referenceArgument.dtype === argument.dtype)
    );
  });

export const isEqual = ({ status }: Pick<ImportedKernel, "status">): boolean =>
  status !== "differs" && status !== "not imported";

type ReadableKernel = Exclude<ReadKernel, { readonly refused: string }>;

/** Writes, builds and compares a kernel. `attempts` caches the results by text and number of calls. */
async function attempt(
  read: ReadableKernel,
  tools: KernelTools,
  options: TextOptions,
  attempts: Map<string, ImportedKernel>,
  lift?: Lifted,
): Promise<ImportedKernel> {
  const { name: kernel, line, calls } = read;
  const tensors = lift?.tensors ?? [];
  let tree: KernelTree;
  let kernelSource: KernelText;
  try {
    tree = lift?.tree ?? treeOf(read);
    kernelSource = await kernelText(tree, { ...options, tensors });
  } catch (error) {
    if (!(error instanceof UnsupportedConstruct)) throw error;
    return { kernel, status: "not imported", reason: error.message, line: error.line ?? line };
  }
  const key = `${calls.length} ${kernelSource.text}`;
  const result = attempts.get(key) ?? (await buildAndCompare(read, tools, { ...options, tensors }, tree, kernelSource));
  attempts.set(key, result);
  return result;
}

/** Builds the text and compares the result. */
async function buildAndCompare(
  read: ReadableKernel,
  tools: KernelTools,
  options: TextOptions,
  tree: KernelTree,
  kernelSource: KernelText,
): Promise<ImportedKernel> {
  const { name: kernel, line } = read;
  const { tensors = [] } = options;
  const { todos, parameters, fixed, leftOut } = kernelSource;
  const plain = await tools.build(kernelSource.text, kernelSource.name);
  if (typeof plain === "string")
    return { kernel, text: kernelSource.text, todos, status: "not imported", reason: plain, line };
  const { text, built } = await withTypes({ text: kernelSource.text, built: plain }, tree, options, tools);
  const common = { kernel, text, todos, built, ...(leftOut.length > 0 && { leftOut }) };
  const match = await compare(read, built, { parameters, tensors }, tools);
  switch (match.kind) {
    case "equal":
      return fixed.length > 0 || options.shouldFoldConditions
        ? { ...common, status: "equal for the traced flags", fixed }
        : { ...common, status: leftOut.length > 0 ? "equal for the traced calls" : "equal" };
    case "differs":
      return { ...common, status: "differs", original: match.original, imported: match.imported };
    case "uncompiled": {
      const reason = `Triton does not compile the emitted kernel: ${match.reason}`;
      return { ...common, status: "not imported", reason, line };
    }
    default:
      return match satisfies never;
  }
}

/**
 * Attempts a strategy, and returns it with the remedies that were applied. If the build reports a value of another dtype
 * than a dtype variable, stored values are cast. If it reports two shapes whose sizes are equal in every call, one size
 * replaces the other. If it reports different shapes in the arms of a branch, the code after the branch is duplicated
 * into each arm. If it reports that autotuning trials would change each other's inputs, one config is used.
 */
async function attemptWithRemedies(
  read: ReadableKernel,
  tools: KernelTools,
  options: TextOptions,
  attempts: Map<string, ImportedKernel>,
): Promise<readonly [ImportedKernel, TextOptions]> {
  let current = options;
  for (;;) {
    const result = await attempt(read, tools, current, attempts);
    const remedy = result.status === "not imported" ? await remedyFor(result.reason, current, read, tools) : undefined;
    if (!remedy) return [result, current];
    current = { ...current, ...remedy };
  }
}

/** The options that a build error asks for; undefined without any that are not set yet. */
async function remedyFor(
  reason: string,
  options: TextOptions,
  read: ReadableKernel,
  tools: KernelTools,
): Promise<TextOptions | undefined> {
  const [, restored, untunedPointer] = CHANGED_BY_TRIALS.exec(reason) ?? [];
  if (restored !== undefined) {
    const { restoredPointers = new Set<string>() } = options;
    return restoredPointers.has(restored) ? undefined : { restoredPointers: new Set([...restoredPointers, restored]) };
  }
  if (untunedPointer !== undefined) return options.untunedPointer === undefined ? { untunedPointer } : undefined;
  if (STORED_IN_VARIABLE.test(reason)) return options.castsStoredValues ? undefined : { castsStoredValues: true };
  const equal = equalConstantsIn(reason, { ...read, signatures: read.calls.map((call) => call.arguments) });
  const { equalConstants = new Map<string, string>() } = options;
  if (equal) return equalConstants.has(equal[0]) ? undefined : { equalConstants: new Map([...equalConstants, equal]) };
  if (!options.mayEmitContinuations || !/: when: one arm returns /.test(reason)) return undefined;
  const branch = await branchOf(options, read, tools);
  if (branch === undefined || options.mixedTypeBranches?.has(branch)) return undefined;
  return { mixedTypeBranches: new Set([...(options.mixedTypeBranches ?? []), branch]) };
}

/** Matches the build error for a value that is stored through a pointer with a dtype variable. */
const STORED_IN_VARIABLE = /: store: the tensor holds \w+, the value is \w+; cast with \.to\(/;

/** Matches the build error for memory that trials change: a raw pointer, or a parameter that Triton cannot restore. */
const CHANGED_BY_TRIALS =
  /autotuning runs the kernel several times,? and (?:what the raw pointer (\w+) leads to|Triton cannot put back (\w+), which)/;

/** The branch that the build error points at. */
async function branchOf(options: TextOptions, read: ReadableKernel, tools: KernelTools): Promise<string | undefined> {
  const { text, name } = await kernelText(treeOf(read), { ...options, hasBranchMarkers: true });
  const file = await tools.scratch.write(name, text);
  try {
    await compileOnly(file, tools.language);
    return undefined;
  } catch (error) {
    if (!isBuildError(error)) return undefined;
    const line = error.diagnostics.find(({ severity }) => severity === "error")?.at?.line;
    return line === undefined ? undefined : /^\s*\/\/ @(.*)$/.exec(text.split("\n")[line] ?? "")?.[1];
  }
}

interface Built {
  readonly text: string;
  readonly built: CompiledKernel;
}

/** Adds the types that the build infers for the parameters of helper functions. */
async function withTypes(plain: Built, tree: KernelTree, options: TextOptions, tools: KernelTools): Promise<Built> {
  const helpers = helperTypes(plain.text, plain.built.helpers ?? []);
  if (helpers.size === 0) return plain;
  const { text, name } = await kernelText(tree, { ...options, helperTypes: helpers });
  const built = await tools.build(text, name);
  return typeof built === "string" || built.python !== plain.built.python ? plain : { text, built };
}

function treeOf({ calls, ...read }: ReadableKernel): KernelTree {
  return lowerBlockPointers({ ...read, signatures: calls.map((call) => call.arguments) });
}

interface NameMaps {
  /** Kernel parameters by the names of the Python parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly tensors: readonly LiftedTensor[];
}

/** For each parameter of the emitted kernel, the original's parameters whose product it is: none for a stride of 1. */
function originalsOf(
  kernel: CompiledKernel,
  { parameters, tensors }: NameMaps,
): Readonly<Record<string, readonly string[]>> {
  const originals = new Map(Object.entries(parameters).map(([python, name]) => [name, python]));
  const entries = (kernel.kernelArguments ?? []).flatMap(
    ({ python, name, axis }): readonly (readonly [string, readonly string[]])[] => {
      const original = originals.get(name);
      if (original === undefined) return [];
      const strides =
        axis === undefined ? undefined : tensors.find(({ param }) => param === original)?.axes[axis]?.strides;
      return [[python, strides ?? [original]]];
    },
  );
  return Object.fromEntries(entries);
}

/** Returns the first mismatch, or `equal`. */
async function compare(
  read: ReadableKernel,
  kernel: CompiledKernel,
  names: NameMaps,
  { worker, deadlineMs }: KernelTools,
): Promise<CallMatch> {
  const workspace = await openWorkspace(kernel);
  try {
    const reply = await worker.request(
      {
        type: "match",
        module: workspace.module,
        jit: kernel.signature.jit,
        calls: read.calls.map((call) => ({
          arguments: call.arguments,
          ttir: call.ttir,
          runtime: Object.entries(call.arguments).flatMap(([name, { kind }]) => (kind === "constant" ? [] : [name])),
          names: originalsOf(kernel, names),
          ...((names.tensors.length > 0 || hasBlockPointers(read)) && {
            views: names.tensors.map(({ param }) => param),
          }),
        })),
      },
      deadlineMs,
    );
    if (!reply.ok) return { kind: "uncompiled", reason: reply.error.message };
    return reply.result.calls.find(({ kind }) => kind !== "equal") ?? { kind: "equal" };
  } finally {
    await workspace.remove();
  }
}
