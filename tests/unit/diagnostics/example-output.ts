/** What an example of the catalog says: it is imported, built and evaluated as an author's file is. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { type Edit, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import {
  type KernelExample,
  kernelFileOf,
  type KernelFileParts,
  type Run,
} from "../../../src/diagnostics/explanations/explanation.js";
import { outputDiagnostics, kernelDiagnostics } from "../../../src/runtime/report/proof-text.js";
import { acceptedCase } from "../../../src/runtime/cases/valid-cases.js";
import { build } from "../../../src/pipeline/build.js";

export interface Shown {
  readonly code: string;
  readonly message: string;
  readonly edit?: Edit | undefined;
}

type Options = Pick<KernelExample, "otherFiles" | "run">;

/** Writes an example to a file and builds its kernel. Undefined for an example that exports none. */
async function built(file: string, text: string, { otherFiles = {} }: Options) {
  mkdirSync(dirname(file), { recursive: true });
  for (const [name, text] of Object.entries(otherFiles)) writeFileSync(join(dirname(file), name), text);
  writeFileSync(file, text);
  const { example } = (await import(/* @vite-ignore */ file)) as { example?: unknown };
  return example !== undefined && isKernel(example) ? build(example) : undefined;
}

/** The edits that `check` offers for an example that builds. */
export async function editsOf(file: string, text: string, options: Options): Promise<readonly Edit[]> {
  try {
    const compiled = await built(file, text, options);
    const said = compiled ? kernelDiagnostics(compiled, compiled.proof(), undefined) : [];
    return said.flatMap(({ edit }) => edit ?? []);
  } catch (error) {
    if (error instanceof TileScriptError) return [];
    throw error;
  }
}

/** A file after its edits, the last one first. Messages may share an edit. */
export function edited(file: string, edits: readonly Edit[]): string {
  let text = readFileSync(file, "utf8");
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const place = ({ line, column }: Edit["at"]) => starts[line - 1]! + column - 1;
  const distinct = new Map(edits.map((edit) => [JSON.stringify(edit), edit]));
  for (const { at, end, text: by } of [...distinct.values()].toReversed())
    text = text.slice(0, place(at)) + by + text.slice(place(end));
  return text;
}

/** How an example that was mended fares: what `check` says and leaves open, and what a run finds. */
export async function faultsOf(file: string, text: string, options: Options) {
  const { run } = options;
  const compiled = await built(file, text, options);
  if (!compiled) return undefined;
  const proof = compiled.proof();
  const accepted = acceptedCase(compiled, 0, { seed: 1, ...(run?.sizes && { sizes: run.sizes }) });
  if (!("at" in accepted)) throw new Error(accepted.refusal);
  const at = { ...accepted.at, ...(run?.constexprs && { constexprs: run.constexprs }) };
  const { findings, comparison, unchecked } = compiled.evaluate(at, { order: run?.order, nonFinite: run?.nonFinite });
  return {
    said: kernelDiagnostics(compiled, proof, undefined).map(({ message }) => message),
    open: proof.obligations.filter(({ verdict: { kind } }) => kind !== "proved" && kind !== "waived"),
    findings: findings.map(({ message }) => message),
    correct: comparison?.correct ?? "no reference",
    unchecked: unchecked.length,
  };
}

/** Everything that is said of an example, in order. `file` is where it is written. */
export async function shownBy(
  file: string,
  parts: KernelFileParts | string,
  options: Options,
): Promise<readonly Shown[]> {
  const { run } = options;
  try {
    const compiled = await built(file, kernelFileOf(parts), options);
    if (!compiled) return [];
    if (run?.op) compiled.emit({ op: run.op });
    const said = run?.proof
      ? [...kernelDiagnostics(compiled, compiled.proof(), undefined), ...outputDiagnostics(compiled.computes())]
      : compiled.warnings;
    return [...said, ...(run?.sizes ? findingsOf(compiled, run) : [])];
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics;
    throw error;
  }
}

const isKernel = (value: unknown): boolean => typeof value === "function" || typeof value === "object";

function findingsOf(compiled: CompiledKernel, { sizes = {}, constexprs, order, nonFinite }: Run) {
  const at = { sizes, dtypes: {}, config: 0, seed: 1, ...(constexprs && { constexprs }) };
  return compiled.evaluate(at, { order, nonFinite }).findings;
}
