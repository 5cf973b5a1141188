import { Option } from "commander";
import { text } from "node:stream/consumers";
import { type PlainCommand, runnableOf } from "../invocation/command.js";
import { importKernels, registerFor } from "../invocation/kernels.js";
import { analyze, type AnalysisRequest, replaceReads } from "../language-server/file-analysis.js";
import { EnvironmentError, exitCodes } from "../system/errors.js";
import { printJson, type Streams } from "../system/streams.js";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder, openProofCache } from "../system/files.js";

// Work ahead of a request: V8 then has compiled most functions that the request calls.

/** Registers tsx for the project of the current folder, and analyzes the kernel of `tilescript new`. */
async function warmUp(): Promise<void> {
  try {
    await registerFor(join(process.cwd(), "kernel.ts"));
    const exported: object = await import(pathToFileURL(join(packageFolder, "templates/kernel.ts")).href);
    await analyze(
      Object.values(exported).flatMap((value) => runnableOf(value) ?? []),
      undefined,
    );
  } catch {
    // A request works without it, and reports what is wrong.
  }
}

interface LspOptions {
  readonly analyze?: true;
}

export const lsp: PlainCommand<LspOptions> = {
  name: "lsp",
  description: "start the language server, which an editor drives on standard input and output",
  example: "lsp",
  options: [
    new Option("--stdio", "what editors add; it is the only transport").hideHelp(),
    new Option("--analyze", "answer one request of the server").hideHelp(),
    new Option("--json", "print the answer as JSON").hideHelp(),
  ],
  async run(_, { analyze: isChild }, streams, language) {
    if (isChild) return answer(streams, language);
    const { serve } = await import("../language-server/server.js").catch(explainMissingPackage);
    return serve(streams);
  },
};

/** Loads what every kernel file needs, and waits for a request. */
async function answer(streams: Streams, language: () => Promise<unknown>): Promise<number> {
  await language();
  const setTexts = await replaceReads();
  await warmUp();
  const { file, texts } = JSON.parse(await text(process.stdin)) as AnalysisRequest;
  await setTexts(texts);
  printJson(streams, await analyze(await importKernels([file], [file], language), openProofCache()));
  return exitCodes.ok;
}

function explainMissingPackage(error: unknown): never {
  const name = "vscode-languageserver-protocol";
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  if (!isMissing || !error.message.includes(name)) throw error;
  throw new EnvironmentError(`the language server needs ${name}; \`npm install --save-dev ${name}\` installs it`);
}
