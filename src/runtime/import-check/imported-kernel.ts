/** One kernel of a Triton file: its text, built and emitted again, and compared with the original as Triton's IR. */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { hasBlockPointers, withoutBlockPointers } from "../../import/blocks/block-pointers.js";
import { helperTypes } from "../../import/helper-types.js";
import type { Inferred } from "../../import/launch-facts/launch-facts.js";
import { kernelText, type KernelText, type TextOptions, type Todo } from "../../import/kernel-text.js";
import { type Lifted, liftPointers, type LiftedAccess } from "../../import/lift/lift.js";
import type { LiftedTensor } from "../../import/lift/lifted-tensors.js";
import { forCalls, type GivenArgument, type KernelTree } from "../../import/tree.js";
import { UnsupportedConstruct } from "../../import/value.js";
import { openWorkspace } from "../devices/workspace.js";
import { importKernels, isBuildError } from "../invocation/kernels.js";
import { type Build, buildOnce } from "./build-once.js";
import type { CallMatch, ReadCall, ReadKernel } from "../worker/protocol.js";
import type { ImportOutcome } from "../report/reports.js";
import type { Worker } from "../worker/worker.js";
import type { Written } from "./inference.js";
import type { Scratch } from "./scratch.js";
import { refineViews } from "./refine-views.js";

export type ImportedKernel = ImportOutcome & {
  readonly kernel: string;
  /** The kernel file; absent where none could be written. */
  readonly text?: string;
  readonly todos?: readonly Todo[];
  /** The calls that it was compared for, where it serves some of them only. */
  readonly calls?: { readonly compared: number; readonly noted: number };
  /** What it emits, where it could be built. */
  readonly built?: CompiledKernel;
  /** It has block pointers, which count as what Triton 3.6 makes of them. */
  readonly blockPointers?: true;
  /** What became of its accesses, where views were asked for; lines are those of the Python file. */
  readonly accesses?: readonly LiftedAccess[];
};

export interface ImportTools {
  readonly worker: Worker;
  readonly scratch: Scratch;
  /** Loads the package that kernel files import. */
  readonly language: () => Promise<unknown>;
  /** How long a comparison may take. */
  readonly deadlineMs: number;
  /** Constants to fix; with none of them named, every condition that Triton knows is decided. */
  readonly specialize?: ReadonlySet<string>;
  /** Accesses become views where the IR stays equal. */
  readonly lift?: boolean;
}

/** What serves one kernel. */
interface KernelTools extends ImportTools {
  readonly build: Build;
}

export async function importKernel(read: ReadKernel, tools: ImportTools): Promise<ImportedKernel> {
  const { name: kernel, line } = read;
  if ("refused" in read) return { kernel, status: "not imported", reason: read.refused, line };
  const imported = await firstEqualStrategy(read, { ...tools, build: buildOnce(tools) });
  return hasBlockPointers(read) ? { ...imported, blockPointers: true } : imported;
}

/** The kernel in the plainest way to write it that is equal. */
async function firstEqualStrategy(read: Read, tools: KernelTools): Promise<ImportedKernel> {
  const { specialize } = tools;
  const options: TextOptions = specialize ? { specialize, decides: specialize.size === 0 } : {};
  const calls = compatibleCalls(read.calls, specialize);
  let imported: ImportedKernel | undefined;
  const tried = new Map<string, ImportedKernel>();
  for (const [served, way] of strategies(calls, read, options)) {
    const [next, found] = await attemptApart(only(read, served, way), tools, way, tried);
    imported = { ...next, ...share(served, read) };
    if (!isEqual(imported)) continue;
    return tools.lift || hasBlockPointers(read)
      ? { ...(await withViews(imported, only(read, served, way), tools, found)), ...share(served, read) }
      : imported;
  }
  return imported!;
}

/** The kernel with views where the IR stays equal: of all pointers, or of one after another. */
async function withViews(
  plain: ImportedKernel,
  read: Read,
  tools: KernelTools,
  way: TextOptions,
): Promise<ImportedKernel> {
  const tree = treeOf(read);
  const { tensors, accesses } = liftPointers(tree);
  const refused = new Map<string, string>();
  const attemptWith = (params: readonly string[], masks: readonly string[]): Promise<ImportedKernel> =>
    attempt(read, tools, way, new Map(), liftPointers(tree, new Set(params), new Set(masks)));
  const wanted = tensors.map(({ param }) => param);
  let best = plain;
  let kept: readonly string[] = [];
  let masked: readonly string[] = [];
  const keep = async (params: readonly string[], masks: readonly string[]): Promise<void> => {
    const next = await attemptWith([...kept, ...params], [...masked, ...masks]);
    if (isEqual(next)) [best, kept, masked] = [next, [...kept, ...params], [...masked, ...masks]];
    else if (masks.length === 0) for (const param of params) refused.set(param, whyNot(next));
  };
  if (wanted.length > 1) await keep(wanted, []);
  for (const param of wanted) {
    if (!kept.includes(param)) await keep([param], []);
    // A view may mask more than the Python does, such as what is below 0.
    if (!kept.includes(param)) await keep([param], [param]);
  }
  if (read.launch && kept.length > 0) {
    const found = await refineViews({
      tree,
      kept,
      masked,
      write: (lift, inferred) => written(lift, inferred, way, tools),
      compared: async (lift, inferred) => {
        const next = await attempt(read, tools, inferred ? { ...way, inferred } : way, new Map(), lift);
        return isEqual(next) ? next : undefined;
      },
    });
    if (found.kernel) [best, kept] = [found.kernel, found.kept];
    for (const each of found.refuted) refused.set(each, "a proof finds launches where an index of it is out of bounds");
  }
  const isKept = ({ param }: LiftedAccess): boolean => param !== undefined && kept.includes(param);
  const left = accesses.filter((access) => !isKept(access));
  const found = [
    ...liftPointers(tree, new Set(kept), new Set(masked)).accesses.filter(isKept),
    ...left.map((access) => ({ ...access, why: access.why ?? refused.get(access.param ?? "") })),
  ];
  const first = read.functions[0]!.line - 1;
  const placed = found.map((access) => ({ ...access, line: access.line + first }));
  return { ...best, accesses: placed.toSorted((a, b) => a.line - b.line) };
}

/** A kernel with views, written and built; undefined where that fails. */
async function written(
  lift: Lifted,
  inferred: Inferred | undefined,
  way: TextOptions,
  tools: KernelTools,
): Promise<Written | undefined> {
  try {
    const options = { ...way, tensors: lift.tensors, ...(inferred && { inferred }) };
    const { text, name, parameters } = await kernelText(lift.tree, options);
    const built = await tools.build(text, name);
    return typeof built === "string" ? undefined : { built, parameters };
  } catch (error) {
    if (!(error instanceof UnsupportedConstruct)) throw error;
    return undefined;
  }
}

/** Why a kernel is not equal. */
function whyNot(result: ImportedKernel): string {
  if (result.status === "differs") return `Triton's IR has ${result.imported} in place of ${result.original}`;
  return result.status === "not imported" ? result.reason : "";
}

/** For all calls, the plainest first. */
const FURTHER: readonly TextOptions[] = [
  { tails: true },
  { reachedOnly: true },
  { compiledOnly: true },
  { tails: true, compiledOnly: true },
];

/** The ways to write a kernel, the plainest first, each with the calls that it serves. */
function strategies(
  calls: readonly ReadCall[],
  read: Read,
  options: TextOptions,
): readonly (readonly [readonly ReadCall[], TextOptions])[] {
  // Tiles may have sizes that only single launches know.
  const isComputed = Object.keys(read.launch?.computed ?? {}).length > 0;
  const plain = [options, ...(isComputed ? [{ ...options, pinned: true }] : [])];
  // A kernel may ask for the dtype of a pointer and name the same dtype elsewhere: then one dtype is all it serves.
  const first = calls.filter((call) => sameTypes(call, calls[0]!));
  const fixed = { ...options, pinned: true, fixedDTypes: true };
  return [
    ...[...plain, ...FURTHER.map((way) => ({ ...plain.at(-1)!, ...way }))].map((way) => [calls, way] as const),
    [first, { ...fixed, tails: true }],
    [first, fixed],
    [first, { ...fixed, tails: true, compiledOnly: true }],
    // Pointers that single calls leave out may be what a flag asks for that has another meaning.
    [calls.slice(0, 1), { ...fixed, tails: true }],
  ];
}

/** The kernel as these calls have it. Where conditions are decided, what other constants would do does not count. */
function only(read: Read, calls: readonly ReadCall[], { decides, reachedOnly }: TextOptions): Read {
  const kept = new Set(calls.map((call) => read.calls.indexOf(call)));
  return { ...read, calls, functions: forCalls(read.functions, decides || reachedOnly ? kept : kept.add(-1)) };
}

const share = (calls: readonly ReadCall[], read: Read): Pick<ImportedKernel, "calls"> =>
  calls.length < read.calls.length ? { calls: { compared: calls.length, noted: read.calls.length } } : {};

/**
 * The calls that one kernel file can serve: those that pass the same kinds of arguments as the first, and the same values
 * of what is fixed.
 */
function compatibleCalls(calls: readonly ReadCall[], specialize: ReadonlySet<string> | undefined): readonly ReadCall[] {
  const kindOf = (given: GivenArgument, name: string): string => {
    if (given.kind === "descriptor") return `descriptor ${given.block.length} ${given.padding}`;
    if (given.kind !== "constant") return given.kind === "pointer" ? "pointer" : given.dtype;
    const isFixed = specialize && (specialize.size === 0 || specialize.has(name));
    if (isFixed) return cacheKey(given.value);
    const { value } = given;
    return value.what === "constant" ? value.of : cacheKey(value);
  };
  const [first] = calls;
  return calls.filter((call) =>
    Object.entries(call.arguments).every(([name, given]) => {
      const kinds = [kindOf(given, name), kindOf(first!.arguments[name]!, name)];
      // A pointer may be left out.
      return kinds[0] === kinds[1] || (!specialize && kinds.includes("NoneType") && kinds.includes("pointer"));
    }),
  );
}

const sameTypes = (call: ReadCall, other: ReadCall): boolean =>
  Object.entries(call.arguments).every(([name, given]) => {
    const beside = other.arguments[name]!;
    return given.kind === "constant" || (beside.kind !== "constant" && beside.dtype === given.dtype);
  });

export const isEqual = ({ status }: Pick<ImportedKernel, "status">): boolean =>
  status === "equal" || status === "equal for the traced flags";

type Read = Exclude<ReadKernel, { readonly refused: string }>;

/** Writes, builds and compares a kernel; a text that was `tried` before for as many calls is not tried again. */
async function attempt(
  read: Read,
  tools: KernelTools,
  options: TextOptions,
  tried: Map<string, ImportedKernel>,
  lift?: Lifted,
): Promise<ImportedKernel> {
  const { name: kernel, line, calls } = read;
  const tensors = lift?.tensors ?? [];
  let tree: KernelTree;
  let written: KernelText;
  try {
    tree = lift?.tree ?? treeOf(read);
    written = await kernelText(tree, { ...options, tensors });
  } catch (error) {
    if (!(error instanceof UnsupportedConstruct)) throw error;
    return { kernel, status: "not imported", reason: error.message, line: error.line ?? line };
  }
  const key = `${calls.length} ${written.text}`;
  const known = tried.get(key) ?? (await judged(read, tools, { ...options, tensors }, tree, written));
  tried.set(key, known);
  return known;
}

/** What is written, built and compared. */
async function judged(
  read: Read,
  tools: KernelTools,
  options: TextOptions,
  tree: KernelTree,
  written: KernelText,
): Promise<ImportedKernel> {
  const { name: kernel, line } = read;
  const { tensors = [] } = options;
  const { todos, parameters, fixed } = written;
  const plain = await tools.build(written.text, written.name);
  if (typeof plain === "string")
    return { kernel, text: written.text, todos, status: "not imported", reason: plain, line };
  const { text, built } = await withTypes({ text: written.text, built: plain }, tree, options, tools);
  const made = { kernel, text, todos, built };
  const match = await compare(read, built, { parameters, tensors }, tools);
  switch (match.kind) {
    case "equal":
      return fixed.length > 0 || options.decides
        ? { ...made, status: "equal for the traced flags", fixed }
        : { ...made, status: "equal" };
    case "differs":
      return { ...made, status: "differs", original: match.original, imported: match.imported };
    case "uncompiled": {
      const reason = `Triton does not compile what is emitted: ${match.reason}`;
      return { ...made, status: "not imported", reason, line };
    }
    default:
      return match satisfies never;
  }
}

/**
 * The same, and the way that it was written in: with what follows a branch written for each arm where the build says that
 * arms give other shapes, and with one config where it says that trials of an autotuner would change each other's inputs.
 */
async function attemptApart(
  read: Read,
  tools: KernelTools,
  options: TextOptions,
  tried: Map<string, ImportedKernel>,
): Promise<readonly [ImportedKernel, TextOptions]> {
  let next = await attempt(read, tools, options, tried);
  let way = options;
  const changed = next.status === "not imported" ? CHANGED_BY_TRIALS.exec(next.reason)?.[1] : undefined;
  if (changed !== undefined) {
    way = { ...way, untuned: changed };
    next = await attempt(read, tools, way, tried);
  }
  while (way.tails && next.status === "not imported" && /: when: one arm returns /.test(next.reason)) {
    const branch = await branchOf(way, read, tools);
    if (branch === undefined || way.apart?.has(branch)) break;
    way = { ...way, apart: new Set([...(way.apart ?? []), branch]) };
    next = await attempt(read, tools, way, tried);
  }
  return [next, way];
}

/** The raw pointer or the descriptor that a build says is changed from trial to trial. */
const CHANGED_BY_TRIALS =
  /autotuning runs the kernel several times,? and (?:what the raw pointer|Triton cannot put back) (\w+)(?: leads to|, which is a descriptor)/;

/** The branch at which the build stops. */
async function branchOf(options: TextOptions, read: Read, tools: KernelTools): Promise<string | undefined> {
  const { text, name } = await kernelText(treeOf(read), { ...options, marked: true });
  const file = await tools.scratch.write(name, text);
  try {
    await (await importKernels([file], [file], tools.language))[0]!.compile();
    return undefined;
  } catch (error) {
    if (!isBuildError(error)) return undefined;
    const at = error.diagnostics.find(({ severity }) => severity === "error")?.at?.line;
    return at === undefined ? undefined : /^\s*\/\/ @(.*)$/.exec(text.split("\n")[at] ?? "")?.[1];
  }
}

interface Built {
  readonly text: string;
  readonly built: CompiledKernel;
}

/** The same kernel, with the types that its build gives the parameters of helper functions. */
async function withTypes(plain: Built, tree: KernelTree, options: TextOptions, tools: KernelTools): Promise<Built> {
  const helpers = helperTypes(plain.text, plain.built.helpers ?? []);
  if (helpers.size === 0) return plain;
  const { text, name } = await kernelText(tree, { ...options, helpers });
  const built = await tools.build(text, name);
  return typeof built === "string" || built.python !== plain.built.python ? plain : { text, built };
}

function treeOf({ functions, calls, tuning, launch, blocks }: Read): KernelTree {
  const signatures = calls.map((call) => call.arguments);
  return withoutBlockPointers({ functions, signatures, tuning, ...(launch && { launch }), ...(blocks && { blocks }) });
}

interface Names {
  /** The kernel's parameters by those of the Python. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly tensors: readonly LiftedTensor[];
}

/** The original's parameters of which each one of the emitted kernel is the product: none for a stride that is 1. */
function originalsOf(
  kernel: CompiledKernel,
  { parameters, tensors }: Names,
): Readonly<Record<string, readonly string[]>> {
  const originals = new Map(Object.entries(parameters).map(([python, name]) => [name, python]));
  const found = (kernel.kernelArguments ?? []).flatMap(
    ({ python, name, axis }): readonly (readonly [string, readonly string[]])[] => {
      const original = originals.get(name);
      if (original === undefined) return [];
      const strides =
        axis === undefined ? undefined : tensors.find(({ param }) => param === original)?.axes[axis]?.strides;
      return [[python, strides ?? [original]]];
    },
  );
  return Object.fromEntries(found);
}

/** The first call whose IR is not the original's, or that all are equal. */
async function compare(
  read: Read,
  kernel: CompiledKernel,
  names: Names,
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
          runtime: Object.keys(call.arguments).filter((name) => call.arguments[name]!.kind !== "constant"),
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
