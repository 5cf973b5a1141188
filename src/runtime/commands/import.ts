import { InvalidArgumentError, Option } from "commander";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { suggestName } from "../../diagnostics/message.js";
import { TypeListError, parseTypes } from "../../import/given-types.js";
import type { LaunchSignature } from "../../import/tree.js";
import { thisMachine } from "../devices/devices.js";
import { importKernel, isEqual } from "../import-check/imported-kernel.js";
import { openScratch } from "../import-check/scratch.js";
import type { PlainCommand } from "../invocation/command.js";
import { type JsonOptions, options } from "../invocation/options.js";
import type { ReadKernel, WireFailure } from "../worker/protocol.js";
import { Worker } from "../worker/worker.js";
import type { ImportReport } from "../report/reports.js";
import { writeOutput } from "../system/files.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { printJson, progress } from "../system/streams.js";

// The text report of `tilescript import`.

type Kernel = ImportReport["kernels"][number];

/** One line per kernel, followed by the reason if it is not equal. */
function importText({ kernels, file, stopped }: ImportReport): string {
  const note = stopped === undefined ? [] : [`note: the script stopped before its end: ${stopped}`];
  const lines = kernels.flatMap((kernel) => [
    `${kernel.kernel}: ${kernel.status}${formatLeftOut(kernel)}${formatCalls(kernel)}`,
    ...details(kernel, file),
  ]);
  return [...lines, ...note].join("\n");
}

/** "1 arm and 2 keys left out" */
function countLeftOut(parts: NonNullable<Kernel["leftOut"]>): string {
  const counts = new Map<string, number>();
  for (const { what } of parts) counts.set(what, (counts.get(what) ?? 0) + 1);
  const texts = [...counts].map(([what, count]) => `${count} ${what}${count > 1 ? "s" : ""}`);
  const last = texts.pop() ?? "nothing";
  return `${texts.length > 0 ? `${texts.join(", ")} and ${last}` : last} left out`;
}

const formatLeftOut = ({ leftOut = [] }: Kernel): string => (leftOut.length > 0 ? `; ${countLeftOut(leftOut)}` : "");

const formatCalls = ({ calls }: Kernel): string =>
  calls
    ? ` (for ${calls.compared} of ${calls.noted} calls; the others pass other dtypes, flags or kinds of arguments)`
    : "";

function details(kernel: Kernel, file: string): readonly string[] {
  const views = (kernel.accesses ?? []).filter(({ why }) => why === undefined).length;
  const accesses = kernel.accesses
    ? [
        `  ${views} of ${kernel.accesses.length} accesses are views`,
        ...kernel.accesses.flatMap(({ line, of: subject, why: reason }) =>
          reason === undefined ? [] : [`  ${file}:${line}: the ${subject} stays as it is: ${reason}`],
        ),
      ]
    : [];
  const compared = kernel.blockPointers
    ? [
        "  its block pointers are compared as the addresses and masks that Triton 3.6 makes of them, if no index overflows int32",
      ]
    : [];
  const todos = [...(kernel.todos ?? []), ...(kernel.leftOut ?? [])].map(
    ({ text, line }) => `  ${file}:${line}: TODO: ${text}`,
  );
  const writtenLines = kernel.path === undefined ? [] : [`  wrote ${kernel.path}`];
  switch (kernel.status) {
    case "equal":
    case "equal for the traced calls":
      return [...writtenLines, ...compared, ...accesses, ...todos];
    case "equal for the traced flags":
      return [...writtenLines, `  fixed: ${kernel.fixed.join(", ")}`, ...compared, ...accesses, ...todos];
    case "differs":
      return [
        ...writtenLines,
        `  the original has: ${kernel.original}`,
        `  the imported has: ${kernel.imported}`,
        ...todos,
      ];
    case "not imported":
      return [...writtenLines, `  ${file}:${kernel.line}: ${kernel.reason}`];
    default:
      return kernel satisfies never;
  }
}

interface ImportOptions extends JsonOptions {
  readonly types?: LaunchSignature;
  readonly call?: string;
  readonly kernel?: string;
  readonly specialize?: true | readonly string[];
  readonly lift?: true;
  readonly out?: string;
  readonly python?: string;
  /** In seconds. */
  readonly deadline: number;
}

export const importTriton: PlainCommand<ImportOptions> = {
  name: "import",
  description: "translate the kernels of a Triton file to TypeScript, and compare their output with the original",
  example: "import softmax.py",
  argument: { text: "<file>", description: "a Python file with @triton.jit functions; it is imported" },
  options: [
    new Option(
      "--types <types>",
      "the arguments of a call: pointers and numbers by dtype, constants by value, such as x:*fp16,M:i32,BLOCK=64",
    ).argParser(parseTypesOption),
    new Option("--call <script>", "run this Python script and record its kernel calls instead of launching them"),
    options.kernel,
    new Option(
      "--specialize [names...]",
      "fix these constants to their values in the first call; without names, fold every condition that Triton knows",
    ),
    new Option("--lift", "write pointer arithmetic as views of tensors, wherever Triton's IR stays equal"),
    new Option("-o, --out <folder>", "where to write a kernel file for each kernel (default: standard output)"),
    new Option("--deadline <seconds>", "time limit for importing the file, and for compiling each kernel with Triton")
      .argParser(parseSeconds)
      .default(60),
    options.python,
    options.json,
  ],
  async run(file = "", { types, call, kernel, specialize, lift, out, python, json, deadline }, streams, language) {
    checkGiven(types, call, out);
    await checkFiles([file, ...(call === undefined ? [] : [call])]);
    const environment = await thisMachine.python({ python });
    const show = progress(streams);
    const scratch = await openScratch();
    const worker = new Worker({ python: environment.python, device: "compiler" });
    try {
      show(`reading ${file}`);
      streams.err(
        call === undefined
          ? `importing ${file}, which runs its top level\n`
          : `running ${call}; its kernels are recorded, not launched\n`,
      );
      const reply = await worker.request(importRequest(file, types, call, kernel), deadline * 1000);
      if (reply.ok && typeof specialize === "object") checkNames(specialize, reply.result.kernels);
      const kernels: ImportReport["kernels"][number][] = [];
      const unread = reply.ok ? undefined : whyNothingRead(reply.error, call ?? file);
      if (unread !== undefined)
        kernels.push({ kernel: kernel ?? file, status: "not imported", reason: unread, line: 1 });
      for (const read of reply.ok ? reply.result.kernels : []) {
        show(`importing ${read.name}`);
        const imported = await importToFolder(read, out, {
          worker,
          scratch,
          language,
          deadlineMs: deadline * 1000,
          ...(lift && { lift }),
          ...(specialize && { specialize: new Set(specialize === true ? [] : specialize) }),
        });
        kernels.push(imported);
      }
      show("");
      const report: ImportReport = {
        ok: kernels.every(isEqual),
        file,
        ...(reply.ok && reply.result.stopped !== undefined && { stopped: reply.result.stopped }),
        kernels,
      };
      if (json) printJson(streams, report);
      else print(report, out, streams);
      return report.ok ? exitCodes.ok : exitCodes.failed;
    } finally {
      await worker.stop();
      await scratch.remove();
    }
  },
};

/** @throws UsageError for options that do not go together. */
function checkGiven(types: LaunchSignature | undefined, call: string | undefined, out: string | undefined): void {
  if ((types === undefined) === (call === undefined))
    throw new UsageError(
      "give --call with a script that launches the kernels, or --types with the arguments of a call, such as x:*fp16,n:i32,BLOCK=64",
    );
  if (out === "") throw new UsageError("-o needs a folder");
}

function importRequest(
  file: string,
  types: LaunchSignature | undefined,
  call: string | undefined,
  kernel: string | undefined,
) {
  return {
    type: "import",
    file: resolve(file),
    kernels: kernel === undefined ? [] : [kernel],
    ...(types && { types }),
    ...(call !== undefined && { call: resolve(call) }),
  } as const;
}

/** Imports a kernel, and writes its file to the output folder. */
async function importToFolder(
  read: ReadKernel,
  out: string | undefined,
  tools: Parameters<typeof importKernel>[1],
): Promise<ImportReport["kernels"][number]> {
  const { built: _, ...imported } = await importKernel(read, tools);
  if (out === undefined || imported.text === undefined) return imported;
  const path = join(out, `${read.name}.ts`);
  await writeOutput(path, imported.text);
  return { ...imported, path };
}

/** @throws UsageError for a path that is not a file. */
async function checkFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths)
    if (!(await stat(path).catch(() => undefined))?.isFile())
      throw new UsageError(`there is no file ${path}; name a Python file`);
}

function parseSeconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e6)) throw new InvalidArgumentError("It must be a number above 0.");
  return value;
}

function parseTypesOption(text: string): LaunchSignature {
  try {
    return parseTypes(text);
  } catch (error) {
    throw error instanceof TypeListError ? new InvalidArgumentError(error.message) : error;
  }
}

/** The reason why nothing was read, with a remedy if the message has none. */
function whyNothingRead({ kind, message }: WireFailure, script: string): string {
  if (kind === "timeout") return `${message}; let ${script} end sooner, or give it longer with --deadline SECONDS`;
  if (kind === "crash") return `${message} while ${script} ran; let it leave the process to Python, without os._exit`;
  return message;
}

/** Throws UsageError for a name that no kernel has. */
function checkNames(names: readonly string[], kernels: readonly ReadKernel[]): void {
  const params = kernels.flatMap((read) => ("refused" in read ? [] : read.functions[0].params));
  const declared = [...new Set(params.map((param) => param.name))];
  const unknown = names.find((name) => !declared.includes(name));
  if (unknown === undefined || declared.length === 0) return;
  const near = suggestName(unknown, declared);
  const remedy = near === undefined ? `the parameters are ${declared.join(", ")}` : `write ${near}`;
  throw new UsageError(`--specialize: no kernel has a parameter ${unknown}; ${remedy}`);
}

/** Without an output folder, prints the files to standard output and the report to standard error. */
function print(report: ImportReport, out: string | undefined, streams: Parameters<typeof importTriton.run>[2]): void {
  if (out === undefined) for (const { text } of report.kernels) if (text !== undefined) streams.out(`${text}\n`);
  (out === undefined ? streams.err : streams.out)(`${importText(report)}\n`);
}
