/** Builds what an import writes: ways to write a kernel often give one text, which is built once. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { importKernels, isBuildError } from "../invocation/kernels.js";
import type { Scratch } from "./scratch.js";

/** The built kernel, or why it can't be built. */
export type Build = (text: string, name: string) => Promise<CompiledKernel | string>;

interface BuildTools {
  readonly scratch: Scratch;
  /** Loads the package that kernel files import. */
  readonly language: () => Promise<unknown>;
}

export function buildOnce(tools: BuildTools): Build {
  const built = new Map<string, CompiledKernel | string>();
  return async (text, name) => {
    const known = built.get(text) ?? (await build(text, name, tools));
    built.set(text, known);
    return known;
  };
}

async function build(text: string, name: string, { scratch, language }: BuildTools): Promise<CompiledKernel | string> {
  const file = await scratch.write(name, text);
  try {
    const [kernel] = await importKernels([file], [file], language);
    return await kernel!.compile();
  } catch (error) {
    if (!isBuildError(error))
      return `what is written does not run: ${error instanceof Error ? error.message : String(error)}`;
    const first = error.diagnostics.find(({ severity }) => severity === "error");
    const at = first?.at?.line;
    const said = at === undefined ? "" : ` (at ${JSON.stringify(text.split("\n")[at - 1]?.trim() ?? "")})`;
    return `what is written does not build: ${first?.message ?? error.message}${said}`;
  }
}
