/** Tolerances declared by the author: for all outputs, and for individual outputs by name. */
import type { GivenTolerance, Tolerance } from "./compiled-kernel.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { suggestName } from "../diagnostics/message.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";

const FIELDS: readonly string[] = ["rtol", "atol", "rms", "share"] satisfies readonly (keyof Tolerance)[];

/** The fields for one output. Its own fields override those for all outputs. */
export function declaredToleranceFor(declared: GivenTolerance | undefined, output: string): Partial<Tolerance> {
  const outputTolerance = declared?.[output];
  return { ...declaredTolerance(declared), ...(typeof outputTolerance === "object" && outputTolerance) };
}

/** The fields that apply to every output. */
export function declaredTolerance(declared: GivenTolerance = {}): Partial<Tolerance> {
  return Object.fromEntries(Object.entries(declared).filter(([field, value]) => isValidField(field, value)));
}

const isValidField = (field: string, value: unknown): boolean =>
  FIELDS.includes(field) &&
  (value === undefined ||
    (typeof value === "number" && value >= 0 && Number.isFinite(value) && (field !== "share" || value <= 1)));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TileScriptError if the value is neither a tolerance nor a partial one. */
export function checkTolerance(kernel: string, tolerance: unknown, at: Location | undefined): void {
  if (tolerance === undefined) return;
  const isPartialTolerance = (value: unknown): boolean =>
    isRecord(value) && Object.entries(value).every(([field, fieldValue]) => isValidField(field, fieldValue));
  const isValid =
    isRecord(tolerance) &&
    Object.entries(tolerance).every(([key, value]) => isValidField(key, value) || isPartialTolerance(value));
  if (!isValid) fail(specValue.tolerance(kernel, tolerance), at);
}

/** An output and the kind of its elements in every call. */
export interface ToleratedOutput {
  readonly name: string;
  readonly holds: "floats" | "integers" | undefined;
}

/**
 * @throws TileScriptError if a tolerance names no output, or has a field that does not apply to the elements of the
 * output.
 */
export function checkOutputTolerances(
  kernel: string,
  declared: GivenTolerance | undefined,
  outputs: readonly ToleratedOutput[],
  at: Location | undefined,
): void {
  const names = outputs.map(({ name }) => name);
  for (const [output, tolerance] of Object.entries(declared ?? {})) {
    if (typeof tolerance !== "object") continue;
    const match = outputs.find(({ name }) => name === output);
    if (!match) fail(specValue.toleratedOutput(kernel, output, names, suggestName(output, names)), at);
    if (match.holds === "floats" && tolerance.share !== undefined) fail(specValue.shareOfFloats(kernel, output), at);
    if (match.holds === "integers" && (tolerance.rtol ?? tolerance.rms) !== undefined)
      fail(specValue.toleranceOfIntegers(kernel, output), at);
  }
  if (declaredTolerance(declared).share !== undefined && outputs.every(({ holds }) => holds === "floats"))
    fail(specValue.shareOfFloats(kernel, names.join(", ")), at);
}
