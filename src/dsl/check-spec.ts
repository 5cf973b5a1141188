/** Checks a spec at build time, for authors who build without the type checker or cast its errors away. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { configSources } from "../diagnostics/catalogue/config-codes.js";
import { specShapes, specValue } from "../diagnostics/catalogue/definition-codes.js";
import type { Param } from "../ir/nodes.js";
import type { KernelDefinition, RawSpec } from "./definition.js";

type Test = (given: unknown) => boolean;

export const isRecord = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === "object" && given !== null && !Array.isArray(given);
const isFunction: Test = (given) => typeof given === "function";
export const isConstant: Test = (given) =>
  given === undefined || ["number", "boolean", "string"].includes(typeof given);
const listOf =
  (test: Test): Test =>
  (given) =>
    Array.isArray(given) && given.every(test);
const recordOf =
  (test: Test): Test =>
  (given) =>
    isRecord(given) && Object.values(given).every(test);
const isNames = listOf((given) => typeof given === "string");
const isTorch: Test = (given) => isFunction(given) || (isRecord(given) && typeof given["source"] === "string");

/** An object with these parts and no others. */
const partsOf =
  (tests: Readonly<Record<string, Test>>, required: readonly string[] = []): Test =>
  (given) =>
    isRecord(given) &&
    required.every((name) => given[name] !== undefined) &&
    Object.entries(given).every(([name, part]) => part === undefined || tests[name]?.(part) === true);

const isAutotune = partsOf(
  {
    key: isNames,
    configs: listOf(recordOf(isConstant)),
    resetToZero: isNames,
    restoreValue: isNames,
    cacheResults: (given) => typeof given === "boolean",
    space: isRecord,
  },
  ["key", "configs"],
);

export const configRemedy =
  "an object of numbers, truth values and strings, such as { BLOCK: 64 }, or a function that gives one";

/** What each part may be, and how to write it. `src/contract/tolerance.ts` checks the tolerance. */
const parts: { readonly [Part in keyof RawSpec]?: readonly [Test, string] } = {
  dims: [recordOf(isFunction), "an object of functions, such as { H: ({ Q, G }) => Q.mul(G) }"],
  autotune: [
    isAutotune,
    'an object such as { key: ["N"], configs: [{ BLOCK: 64 }] }, with resetToZero, restoreValue, cacheResults or space',
  ],
  config: [(given) => isFunction(given) || recordOf(isConstant)(given), configRemedy],
  heuristics: [recordOf(isFunction), "an object of functions, such as { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) }"],
  launch: [recordOf(isConstant), "an object such as { launchPdl: true }"],
  doNotSpecialize: [isNames, 'a list of names, such as ["N"]'],
  doNotSpecializeOnAlignment: [isNames, 'a list of names, such as ["x"]'],
  sameStrides: [listOf(isNames), 'a list of groups of tensors, such as [["q", "k", "v"]]'],
  requires: [isFunction, "a function, such as ({ N, BLOCK }) => N.le(BLOCK)"],
  inputs: [isFunction, "a function, such as ({ N }, torch) => ({ x: torch.rand([N]) })"],
  reference: [isTorch, "a function, such as ({ x, y }) => x.add(y), or python`…`"],
  providers: [recordOf(isTorch), "an object of functions or python`…` by name"],
  flops: [isFunction, "a function, such as ({ M, N, K }) => 2 * M * N * K"],
  shapes: [listOf(recordOf(isConstant)), "a list of objects, such as [{ N: 1000 }]"],
  doc: [(given) => typeof given === "string", "a string"],
};

/** @throws TileScriptError at a part of the spec that has the wrong form. */
export function checkSpec({ name, spec }: KernelDefinition, placeOf: (part: keyof RawSpec) => Location | undefined) {
  for (const part of Object.keys(parts) as (keyof RawSpec)[]) {
    const [test, remedy] = parts[part]!;
    if (spec[part] !== undefined && !test(spec[part])) fail(specValue.part(name, part, remedy), placeOf(part));
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
