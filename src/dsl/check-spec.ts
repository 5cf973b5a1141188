/** Checks a spec when its kernel is built. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { configSources } from "../diagnostics/catalog/config-codes.js";
import { specShapes, specValue } from "../diagnostics/catalog/definition-codes.js";
import type { Param } from "../ir/nodes.js";
import type { KernelDefinition, RawSpec } from "./definition.js";
import { specSchema } from "./spec-forms.js";

/** @throws TileScriptError at a part of the spec that has the wrong form. */
export function checkSpec({ name, spec }: KernelDefinition, placeOf: (part: keyof RawSpec) => Location | undefined) {
  for (const part of Object.keys(specSchema) as (keyof RawSpec)[]) {
    if (spec[part] === undefined) continue;
    const [form, wanted] = specSchema[part];
    const said = form(spec[part], part);
    const remedy = typeof wanted === "string" ? wanted : wanted(spec[part]);
    if (said !== undefined) fail(specValue.part(name, said, part, remedy), placeOf(part));
  }
  if (spec.autotune && spec.config) fail(configSources.both(name), placeOf("config"));
}

/** @throws TileScriptError at shapes that lack a size, or give something that callers do not pass. */
export function checkShapes({ name, spec }: KernelDefinition, params: readonly Param[], at: Location | undefined) {
  const sizes = params.flatMap((param) => (isFreeSize(param) ? [param.name] : []));
  const others = params.flatMap((param) =>
    param.kind === "scalar" || (param.kind === "constexpr" && param.from === "argument") ? [param.name] : [],
  );
  for (const [index, shape] of (spec.shapes ?? []).entries()) {
    const missing = sizes.filter((size) => shape[size] === undefined);
    if (missing.length > 0) fail(specShapes.missing(name, index, missing), at);
    const unknown = Object.keys(shape).find((key) => ![...sizes, ...others].includes(key));
    if (unknown !== undefined) fail(specShapes.unknown(name, index, unknown, [...sizes, ...others]), at);
    const wrong = sizes.find((size) => !(Number.isSafeInteger(shape[size]) && Number(shape[size]) >= 0));
    if (wrong !== undefined) fail(specShapes.notASize(name, index, wrong, shape[wrong]), at);
  }
}

/** Whether an argument's shape sets it. */
function isFreeSize(param: Param): boolean {
  return param.kind === "size" ? param.derived === undefined : param.kind === "constexpr" && param.from === "dim";
}
