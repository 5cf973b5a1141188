/** Checks the parts of a spec at build time. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { configSources } from "../diagnostics/catalog/config-codes.js";
import { specShapes, specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Param } from "../ir/nodes.js";
import type { KernelDefinition } from "./definition.js";
import { specSchema, type RawSpec } from "./spec-forms.js";

/** @throws TileScriptError at a part of the spec that does not match the schema. */
export function checkSpec({ name, spec }: KernelDefinition, locationOf: (part: keyof RawSpec) => Location | undefined) {
  for (const part of Object.keys(specSchema) as (keyof RawSpec)[]) {
    if (spec[part] === undefined) continue;
    const [form, expected] = specSchema[part];
    const problem = form(spec[part], part);
    const remedy = typeof expected === "string" ? expected : expected(spec[part]);
    if (problem !== undefined) fail(specValue.part(name, problem, part, remedy), locationOf(part));
  }
  if (spec.autotune && spec.config) fail(configSources.conflict(name), locationOf("config"));
}

/** @throws TileScriptError at shapes that lack a size, or contain a key that is neither a size nor an argument. */
export function checkShapes(
  { name, spec }: KernelDefinition,
  params: readonly Param[],
  location: Location | undefined,
) {
  const sizes = params.flatMap((param) => (isFreeSize(param) ? [param.name] : []));
  const argumentNames = params.flatMap((param) =>
    param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument") ? [param.name] : [],
  );
  for (const [index, shape] of (spec.shapes ?? []).entries()) {
    const missing = sizes.filter((size) => shape[size] === undefined);
    if (missing.length > 0) fail(specShapes.missing(name, index, missing), location);
    const unknown = Object.keys(shape).find((key) => ![...sizes, ...argumentNames].includes(key));
    if (unknown !== undefined) fail(specShapes.unknown(name, index, unknown, [...sizes, ...argumentNames]), location);
    const invalid = sizes.find((size) => !(Number.isSafeInteger(shape[size]) && Number(shape[size]) >= 0));
    if (invalid !== undefined) fail(specShapes.notASize(name, index, invalid, shape[invalid]), location);
  }
}

/** True for a size that a tensor argument's shape sets. */
function isFreeSize(param: Param): boolean {
  return param.kind === "size" ? param.derived === undefined : param.kind === "constexpr" && param.from === "dim";
}
