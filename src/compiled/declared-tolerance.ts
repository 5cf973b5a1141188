/** What an author says of tolerances: of all outputs, and of some by their names. */
import type { GivenTolerance, Tolerance } from "./compiled-kernel.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { suggestName } from "../diagnostics/did-you-mean.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";

const PARTS: readonly string[] = ["rtol", "atol", "rms", "share"] satisfies readonly (keyof Tolerance)[];

/** The parts that hold for one output: its own before those of all. */
export function declaredToleranceFor(given: GivenTolerance | undefined, output: string): Partial<Tolerance> {
  const own = given?.[output];
  return { ...declaredTolerance(given), ...(typeof own === "object" && own) };
}

/** The parts that hold for every output. */
export function declaredTolerance(given: GivenTolerance = {}): Partial<Tolerance> {
  return Object.fromEntries(Object.entries(given).filter(([part, value]) => isPart(part, value)));
}

const isPart = (part: string, value: unknown): boolean =>
  PARTS.includes(part) &&
  (value === undefined ||
    (typeof value === "number" && value >= 0 && Number.isFinite(value) && (part !== "share" || value <= 1)));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TileScriptError if it is neither a tolerance nor parts of one. */
export function checkTolerance(kernel: string, tolerance: unknown, at: Location | undefined): void {
  if (tolerance === undefined) return;
  const isParts = (value: unknown): boolean =>
    isRecord(value) && Object.entries(value).every(([part, figure]) => isPart(part, figure));
  const isOne =
    isRecord(tolerance) && Object.entries(tolerance).every(([key, value]) => isPart(key, value) || isParts(value));
  if (!isOne) fail(specValue.tolerance(kernel, tolerance), at);
}

/** An output, and what it holds in every call. */
export interface ToleratedOutput {
  readonly name: string;
  readonly holds: "floats" | "integers" | undefined;
}

/** @throws TileScriptError if a tolerance names no output, or has a part that says nothing of what the output holds. */
export function checkOutputTolerances(
  kernel: string,
  given: GivenTolerance | undefined,
  outputs: readonly ToleratedOutput[],
  at: Location | undefined,
): void {
  const names = outputs.map(({ name }) => name);
  for (const [output, own] of Object.entries(given ?? {})) {
    if (typeof own !== "object") continue;
    const found = outputs.find(({ name }) => name === output);
    if (!found) fail(specValue.toleratedOutput(kernel, output, names, suggestName(output, names)), at);
    if (found.holds === "floats" && own.share !== undefined) fail(specValue.shareOfFloats(kernel, output), at);
    if (found.holds === "integers" && (own.rtol ?? own.rms) !== undefined)
      fail(specValue.toleranceOfIntegers(kernel, output), at);
  }
  if (declaredTolerance(given).share !== undefined && outputs.every(({ holds }) => holds === "floats"))
    fail(specValue.shareOfFloats(kernel, names.join(", ")), at);
}
