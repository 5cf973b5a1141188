/** A case that a picture shows well: what the reader chose, else small blocks and sizes. */
import { compile, TileScriptError } from "../../src/browser.js";
import type { TestCase, CompiledKernel, Config } from "../../src/compiled/compiled-kernel.js";
import type { SourceIndex } from "../../src/ir/source.js";
import { smallCase } from "../../src/runtime/cases/small-case.js";

export interface Chosen {
  readonly sizes?: Readonly<Record<string, number>> | undefined;
  readonly dtypes?: Readonly<Record<string, string>> | undefined;
  /** Constexprs of one config, in place of all configs. */
  readonly config?: Config["values"] | undefined;
}

/** The kernel, compiled again where blocks were chosen, with its case; or why it cannot be launched. */
export type Shown = { readonly kernel: CompiledKernel; readonly at: TestCase } | { readonly refusal: string };

/** Blocks no larger than this make a picture of several programs. */
const BLOCK = 16;

export function shownCase(
  definition: unknown,
  compiled: CompiledKernel,
  source: SourceIndex | undefined,
  { sizes, dtypes, config }: Chosen = {},
): Shown {
  const selection = { seed: 0, ...(sizes && { sizes }), ...(dtypes && { dtypes }) };
  const rebuilt = (values: Config["values"]) => compile(definition, { source, configs: [{ values }] });
  const found = (kernel: CompiledKernel): Shown => {
    const one = smallCase(kernel, selection);
    return "refusal" in one ? one : { kernel, at: one.at };
  };
  if (compiled.parts) return found(compiled);
  if (config && Object.keys(config).length > 0) return found(rebuilt(config));
  const own = found(compiled);
  if ("refusal" in own || sizes) return own;
  const values = compiled.configs[own.at.config]?.values ?? {};
  const isLarge = (value: unknown): value is number => typeof value === "number" && value > BLOCK;
  if (!Object.values(values).some(isLarge)) return own;
  const smaller = Object.entries(values).map(([name, value]) => [name, isLarge(value) ? BLOCK : value] as const);
  try {
    const tried = found(rebuilt(Object.fromEntries(smaller)));
    return "refusal" in tried ? own : tried;
  } catch (error) {
    // Blocks may be tied to each other, or have a least size.
    if (error instanceof TileScriptError) return own;
    throw error;
  }
}
