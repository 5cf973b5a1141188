/** A test case that is suitable for a picture: the reader's choices, otherwise small blocks and sizes. */
import { compile, TileScriptError } from "../../src/browser.js";
import type { TestCase, CompiledKernel, Config } from "../../src/compiled/compiled-kernel.js";
import type { SourceIndex } from "../../src/ir/source-index.js";
import { smallCase } from "../../src/runtime/cases/command-cases.js";

export interface Selection {
  readonly sizes?: Readonly<Record<string, number>> | undefined;
  readonly dtypes?: Readonly<Record<string, string>> | undefined;
  /** Constexprs of one config, which replaces all configs. */
  readonly config?: Config["values"] | undefined;
}

/** The kernel, recompiled if blocks were chosen, with its test case; or the reason why it cannot be launched. */
export type ShownCase = { readonly kernel: CompiledKernel; readonly at: TestCase } | { readonly refusal: string };

/** The largest block size for a picture of several programs. */
const BLOCK = 16;

export function shownCase(
  definition: unknown,
  compiledKernel: CompiledKernel,
  source: SourceIndex | undefined,
  { sizes, dtypes, config }: Selection = {},
): ShownCase {
  const selection = { seed: 0, ...(sizes && { sizes }), ...(dtypes && { dtypes }) };
  const rebuilt = (values: Config["values"]) => compile(definition, { source, configs: [{ values }] });
  const findCase = (kernel: CompiledKernel): ShownCase => {
    const result = smallCase(kernel, selection);
    return "refusal" in result ? result : { kernel, at: result.at };
  };
  if (compiledKernel.parts) return findCase(compiledKernel);
  if (config && Object.keys(config).length > 0) return findCase(rebuilt(config));
  const authored = findCase(compiledKernel);
  if ("refusal" in authored || sizes) return authored;
  const values = compiledKernel.configs[authored.at.config]?.values ?? {};
  const isLarge = (value: unknown): value is number => typeof value === "number" && value > BLOCK;
  if (!Object.values(values).some(isLarge)) return authored;
  const smaller = Object.entries(values).map(([name, value]) => [name, isLarge(value) ? BLOCK : value] as const);
  try {
    const smallExample = findCase(rebuilt(Object.fromEntries(smaller)));
    return "refusal" in smallExample ? authored : smallExample;
  } catch (error) {
    // Block sizes may depend on each other, or have a minimum.
    if (error instanceof TileScriptError) return authored;
    throw error;
  }
}
