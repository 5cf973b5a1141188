/** The form of each part of a spec, for authors who build without the type checker or cast its errors away. */
import type { RawSpec } from "./definition.js";

/**
 * Says of a value that has another form where it is wrong and what stands there, as in `dims.H is 3`; undefined of one
 * that has the form.
 */
type Form = (given: unknown, name: string) => string | undefined;

export const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === "object" && given !== null && !Array.isArray(given);
export const isConstant = (given: unknown): boolean =>
  given === undefined || ["number", "boolean", "string"].includes(typeof given);

/** What a value is, for a message. */
export function kindOf(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  if (typeof given === "function") return "a function";
  if (typeof given === "object") return Array.isArray(given) ? "an array" : "an object";
  return typeof given === "string" ? JSON.stringify(given) : String(given);
}

const otherThan = (given: unknown, name: string): string => `${name} is ${kindOf(given)}`;
const first = (said: readonly (string | undefined)[]): string | undefined => said.find((each) => each !== undefined);
const where =
  (test: (given: unknown) => boolean): Form =>
  (given, name) =>
    test(given) ? undefined : otherThan(given, name);
const listOf =
  (form: Form): Form =>
  (given, name) =>
    Array.isArray(given) ? first(given.map((each, i) => form(each, `${name}[${i}]`))) : otherThan(given, name);
const recordOf =
  (form: Form): Form =>
  (given, name) =>
    isObject(given)
      ? first(Object.entries(given).map(([key, each]) => form(each, `${name}.${key}`)))
      : otherThan(given, name);
const either =
  (a: Form, b: Form): Form =>
  (given, name) =>
    a(given, name) === undefined ? undefined : b(given, name);

/** An object with these parts and no others. */
const partsOf =
  (forms: Readonly<Record<string, Form>>, required: readonly string[]): Form =>
  (given, name) => {
    if (!isObject(given)) return otherThan(given, name);
    const missing = required.find((part) => given[part] === undefined);
    const said = Object.entries(given).map(([part, value]) =>
      part in forms
        ? value === undefined
          ? undefined
          : forms[part]!(value, `${name}.${part}`)
        : `${name} has a part ${part}, which has no meaning there`,
    );
    return first([missing && `${name} has no ${missing}`, ...said]);
  };

/** A compute capability as Triton writes it: 90 is sm_90. */
function isCapability(given: unknown): boolean {
  return Number.isInteger(given) && Number(given) >= 70;
}
function isArchitecture(given: unknown): boolean {
  return typeof given === "string" && given.startsWith("gfx");
}

const isFunction = where((given) => typeof given === "function");
const isString = where((given) => typeof given === "string");
const constants = recordOf(where(isConstant));
const names = listOf(isString);
const isTorch = either(
  isFunction,
  where((given) => isObject(given) && typeof given["source"] === "string"),
);

/** Lists of configs by the GPUs that choose from them; an empty one would leave a GPU without any. */
const someConfigs: Form = (given, name) =>
  Array.isArray(given) && given.length === 0 ? `${name} has no configs` : listOf(constants)(given, name);
const byKey =
  (isKey: (key: string) => boolean): Form =>
  (given, name) => {
    const unknown = isObject(given) ? Object.keys(given).find((key) => !isKey(key)) : undefined;
    return unknown === undefined ? recordOf(someConfigs)(given, name) : `${name} has ${unknown}, which is no GPU`;
  };
const configsByGpu = partsOf(
  {
    cuda: byKey((key) => isCapability(Number(key))),
    hip: byKey(isArchitecture),
    default: someConfigs,
  },
  ["default"],
);
/** An object with other parts is taken for a config that should stand in a list. */
const isByGpu = (given: unknown): boolean =>
  isObject(given) && ["cuda", "hip", "default"].some((part) => part in given);
const configs: Form = (given, name) => (isByGpu(given) ? configsByGpu : listOf(constants))(given, name);

const autotune = partsOf(
  {
    key: names,
    configs,
    resetToZero: names,
    restoreValue: names,
    cacheResults: where((given) => typeof given === "boolean"),
    space: recordOf(listOf(where(isConstant))),
  },
  ["key", "configs"],
);

/** GPUs that are left out have a reason, and some are left. */
const targets: Form = (given, name) =>
  partsOf(
    {
      cuda: where(isCapability),
      hip: listOf(where(isArchitecture)),
      reason: isString,
    },
    ["reason"],
  )(given, name) ??
  (isObject(given) && (given["cuda"] ?? given["hip"]) === undefined ? `${name} has no GPU` : undefined);

export const configRemedy =
  "an object of numbers, truth values and strings, such as { BLOCK: 64 }, or a function that gives one";

/** Checked elsewhere, with a sentence of its own. */
const elsewhere = [() => undefined, ""] as const;

/** Each part: its form, and how to write it. Others are refused, because a misspelt part would have no effect. */
export const specSchema: Readonly<Record<keyof RawSpec, readonly [Form, string | ((given: unknown) => string)]>> = {
  params: elsewhere,
  dims: [recordOf(isFunction), "an object of functions, such as { H: ({ Q, G }) => Q.mul(G) }"],
  grid: [isFunction, (given) => `a function, such as grid: ${gridLike(given)}`],
  autotune: [autotune, autotuneRemedy],
  config: [either(isFunction, constants), configRemedy],
  heuristics: [recordOf(isFunction), "an object of functions, such as { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) }"],
  launch: [constants, "an object such as { launchPdl: true }"],
  triton: elsewhere,
  targets: [
    targets,
    'an object such as { cuda: 90, hip: ["gfx950"], reason: "…" }: the oldest compute capability, AMD\'s architectures, and what others lack',
  ],
  specialize: elsewhere,
  doNotSpecialize: [names, 'a list of names, such as ["N"]'],
  doNotSpecializeOnAlignment: [names, 'a list of names, such as ["x"]'],
  sameStrides: [listOf(names), 'a list of groups of tensors, such as [["q", "k", "v"]]'],
  requires: [isFunction, "a function, such as ({ N, BLOCK }) => [N.le(BLOCK)]"],
  inputs: [isFunction, "a function, such as ({ N }, torch) => ({ x: torch.rand([N]) })"],
  reference: [isTorch, "a function, such as ({ x, y }) => x.add(y), or python`…`"],
  providers: [recordOf(isTorch), "an object of functions or python`…` by name"],
  flops: [isFunction, "a function, such as ({ M, N, K }) => 2 * M * N * K"],
  shapes: [listOf(constants), "a list of objects, such as [{ N: 1000 }]"],
  tolerance: elsewhere,
  doc: [isString, "a string"],
};

/** Of configs by GPU, what they look like. */
function autotuneRemedy(given: unknown): string {
  return isObject(given) && isByGpu(given["configs"])
    ? "an object whose configs are lists by GPU, such as { default: [{ BLOCK: 16 }], cuda: { 90: [{ BLOCK: 64 }] }, hip: { gfx942: [{ BLOCK: 32 }] } }: NVIDIA's by the oldest compute capability, AMD's by architecture, and default for all others"
    : 'an object such as { key: ["N"], configs: [{ BLOCK: 64 }] }, with resetToZero, restoreValue, cacheResults or space';
}

/** The grid that was meant, where it is made of numbers. */
function gridLike(given: unknown): string {
  const axes = Array.isArray(given) ? given : [given];
  const isNumbers = axes.length > 0 && axes.every((axis) => typeof axis === "number");
  return isNumbers ? `() => [${axes.join(", ")}]` : "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]";
}
