/** One kernel of a Triton file: its text, built and emitted again, and compared with the original as Triton's IR. */
import type { CompiledKernel } from "../../contract/compiled.js";
import { kernelText, type KernelText, type TextOptions, type Todo } from "../../import/kernel-text.js";
import { NotImported } from "../../import/value.js";
import { openWorkspace } from "../devices/workspace.js";
import { importKernels, isBuildError } from "../invocation/kernels.js";
import type { CallMatch, ReadKernel } from "../python/protocol.js";
import type { ImportOutcome } from "../report/reports.js";
import type { Worker } from "../python/worker.js";
import type { Scratch } from "./scratch.js";

export type ImportedKernel = ImportOutcome & {
  readonly kernel: string;
  /** The kernel file; absent where none could be written. */
  readonly text?: string;
  readonly todos?: readonly Todo[];
  /** What it emits, where it could be built. */
  readonly built?: CompiledKernel;
};

export interface ImportTools {
  readonly worker: Worker;
  readonly scratch: Scratch;
  /** Loads the package that kernel files import. */
  readonly language: () => Promise<unknown>;
  /** How long a comparison may take. */
  readonly deadlineMs: number;
  readonly specialise: ReadonlySet<string>;
}

export async function importKernel(read: ReadKernel, tools: ImportTools): Promise<ImportedKernel> {
  const { name: kernel, line } = read;
  if ("refused" in read) return { kernel, status: "not imported", reason: read.refused, line };
  const imported = await attempt(read, tools, { specialise: tools.specialise });
  if (isEqual(imported)) return imported;
  // A kernel may ask for the dtype of a pointer and name the same dtype elsewhere.
  const fixed = await attempt(read, tools, { specialise: tools.specialise, fixedDTypes: true });
  return isEqual(fixed) ? fixed : imported;
}

export const isEqual = ({ status }: Pick<ImportedKernel, "status">): boolean =>
  status === "equal" || status === "equal for the traced flags";

type Read = Exclude<ReadKernel, { readonly refused: string }>;

async function attempt(read: Read, tools: ImportTools, options: TextOptions): Promise<ImportedKernel> {
  const { name: kernel, line, functions, calls } = read;
  let written: KernelText;
  try {
    written = await kernelText({ functions, signatures: calls.map((call) => call.arguments) }, options);
  } catch (error) {
    if (!(error instanceof NotImported)) throw error;
    return { kernel, status: "not imported", reason: error.message, line: error.line ?? line };
  }
  const { text, todos, parameters, fixed } = written;
  const built = await build(text, written.name, tools);
  if (typeof built === "string") return { kernel, text, todos, status: "not imported", reason: built, line };
  const made = { kernel, text, todos, built };
  const match = await compare(read, built, parameters, tools);
  switch (match.kind) {
    case "equal":
      return fixed.length > 0 ? { ...made, status: "equal for the traced flags", fixed } : { ...made, status: "equal" };
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

/** The built kernel, or why it can't be built. */
async function build(text: string, name: string, { scratch, language }: ImportTools): Promise<CompiledKernel | string> {
  const file = await scratch.write(name, text);
  try {
    const [kernel] = await importKernels([file], [file], language);
    return await kernel!.compile();
  } catch (error) {
    if (!isBuildError(error))
      return `what is written does not run: ${error instanceof Error ? error.message : String(error)}`;
    const [first] = error.diagnostics;
    const at = first?.at?.line;
    const said = at === undefined ? "" : ` (at ${JSON.stringify(text.split("\n")[at - 1]?.trim() ?? "")})`;
    return `what is written does not build: ${first?.message ?? error.message}${said}`;
  }
}

/** The first call whose IR is not the original's, or that all are equal. */
async function compare(
  read: Read,
  kernel: CompiledKernel,
  parameters: Readonly<Record<string, string>>,
  { worker, deadlineMs }: ImportTools,
): Promise<CallMatch> {
  const originals = new Map(Object.entries(parameters).map(([python, name]) => [name, python]));
  const { pointers, scalars, constexprs, jit } = kernel.signature;
  const names = Object.fromEntries([...scalars, ...constexprs].map((each) => [each.python, originals.get(each.name)!]));
  const workspace = await openWorkspace(kernel);
  try {
    const reply = await worker.request(
      {
        type: "match",
        module: workspace.module,
        jit,
        calls: read.calls.map((call) => ({
          arguments: call.arguments,
          ttir: call.ttir,
          runtime: Object.keys(call.arguments).filter((name) => call.arguments[name]!.kind !== "constant"),
          pointers: pointers.map(({ name }) => originals.get(name)!),
          names,
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
