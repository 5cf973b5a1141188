/** The schema of a spec and its check, for authors who build without the type checker or cast its errors away. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { configSources } from "../diagnostics/catalog/config-codes.js";
import { specShapes, specValue } from "../diagnostics/catalog/definition-codes.js";
import type { GivenTolerance, SearchSpace } from "../compiled/compiled-kernel.js";
import type { KernelTargets, PerGpu } from "../compiled/gpus.js";
import type { Handle } from "../ir/handle.js";
import type { Param } from "../ir/nodes.js";
import type { ParamDescription } from "./params.js";
import { isObject, isConstant, kindOf } from "./raw-values.js";

export type Meta = Readonly<Record<string, Handle>>;

export type RawConfig = Readonly<Record<string, unknown>>;

export type RawReference =
  ((inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown) | { readonly source: string };

/** `Spec` of `params/spec.ts` without its type parameters. */
export interface RawSpec {
  readonly params: Readonly<Record<string, ParamDescription>>;
  readonly dims?: Readonly<Record<string, (meta: Meta) => unknown>>;
  readonly grid: (meta: Meta) => unknown;
  readonly autotune?: {
    readonly key: readonly string[];
    readonly configs: readonly RawConfig[] | PerGpu<readonly RawConfig[]>;
    readonly resetToZero?: readonly string[];
    readonly restoreValue?: readonly string[];
    readonly cacheResults?: boolean;
    readonly space?: SearchSpace;
  };
  readonly config?: RawConfig | ((meta: Meta) => unknown);
  readonly heuristics?: Readonly<Record<string, (meta: Meta) => unknown>>;
  readonly launch?: "fast" | Readonly<Record<string, boolean | number>>;
  readonly triton?: string;
  readonly targets?: KernelTargets;
  readonly warpSpecialize?: string;
  readonly doNotSpecialize?: readonly string[];
  readonly doNotSpecializeOnAlignment?: readonly string[];
  readonly sameStrides?: readonly (readonly string[])[];
  readonly requires?: (meta: Meta) => unknown;
  readonly inputs?: (sizes: Readonly<Record<string, unknown>>, torch: unknown) => unknown;
  readonly reference?: RawReference;
  readonly providers?: Readonly<Record<string, RawReference>>;
  readonly invariant?: readonly string[];
  readonly flops?: (values: Readonly<Record<string, number | boolean | string>>) => unknown;
  readonly shapes?: readonly Readonly<Record<string, number | boolean | string>>[];
  readonly tolerance?: GivenTolerance;
  readonly doc?: string;
}

/** Returns the path and the kind of the first invalid value, as in `dims.H is 3`; undefined for a valid value. */
type Validator = (value: unknown, name: string) => string | undefined;

const describeMismatch = (value: unknown, name: string): string => `${name} is ${kindOf(value)}`;
const firstProblem = (problems: readonly (string | undefined)[]): string | undefined =>
  problems.find((problem) => problem !== undefined);
const fromPredicate =
  (predicate: (value: unknown) => boolean): Validator =>
  (value, name) =>
    predicate(value) ? undefined : describeMismatch(value, name);
const listOf =
  (validator: Validator): Validator =>
  (value, name) =>
    Array.isArray(value)
      ? firstProblem(value.map((item, i) => validator(item, `${name}[${i}]`)))
      : describeMismatch(value, name);
const recordOf =
  (validator: Validator): Validator =>
  (value, name) =>
    isObject(value)
      ? firstProblem(Object.entries(value).map(([key, item]) => validator(item, `${name}.${key}`)))
      : describeMismatch(value, name);
const anyOf =
  (a: Validator, b: Validator): Validator =>
  (value, name) =>
    a(value, name) === undefined ? undefined : b(value, name);

/** An object with these parts and no others. */
const objectOf =
  (validators: Readonly<Record<string, Validator>>, required: readonly string[]): Validator =>
  (value, name) => {
    if (!isObject(value)) return describeMismatch(value, name);
    const missing = required.find((part) => value[part] === undefined);
    const problems = Object.entries(value).map(([part, item]) => {
      const validator = validators[part];
      if (!validator) return `${name} has a part ${part}, which has no meaning there`;
      return item === undefined ? undefined : validator(item, `${name}.${part}`);
    });
    return firstProblem([missing && `${name} has no ${missing}`, ...problems]);
  };

/** A compute capability as Triton writes it: 90 is sm_90. */
function isCapability(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 70;
}
function isArchitecture(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("gfx");
}

const functionValidator = fromPredicate((value) => typeof value === "function");
const stringValidator = fromPredicate((value) => typeof value === "string");
const constantRecord = recordOf(fromPredicate(isConstant));
const nameList = listOf(stringValidator);
const torchFunction = anyOf(
  functionValidator,
  fromPredicate((value) => isObject(value) && typeof value["source"] === "string"),
);

/** A nonempty list of configs. An empty one would leave its GPUs without configs. */
const nonEmptyConfigs: Validator = (value, name) =>
  Array.isArray(value) && value.length === 0 ? `${name} has no configs` : listOf(constantRecord)(value, name);
const configsByKey =
  (isKey: (key: string) => boolean): Validator =>
  (value, name) => {
    const unknown = isObject(value) ? Object.keys(value).find((key) => !isKey(key)) : undefined;
    return unknown === undefined ? recordOf(nonEmptyConfigs)(value, name) : `${name} has ${unknown}, which is no GPU`;
  };
const configsByGpu = objectOf(
  {
    cuda: configsByKey((key) => isCapability(Number(key))),
    hip: configsByKey(isArchitecture),
    default: nonEmptyConfigs,
  },
  ["default"],
);
/** An object without any of these keys is treated as a config that should be in a list. */
const isByGpu = (value: unknown): boolean =>
  isObject(value) && ["cuda", "hip", "default"].some((part) => part in value);
const configLists: Validator = (value, name) => (isByGpu(value) ? configsByGpu : listOf(constantRecord))(value, name);

const autotune = objectOf(
  {
    key: nameList,
    configs: configLists,
    resetToZero: nameList,
    restoreValue: nameList,
    cacheResults: fromPredicate((value) => typeof value === "boolean"),
    space: recordOf(listOf(fromPredicate(isConstant))),
  },
  ["key", "configs"],
);

/** Excluded GPUs need a reason, and at least one GPU must remain. */
const targets: Validator = (value, name) =>
  objectOf(
    {
      cuda: fromPredicate(isCapability),
      hip: listOf(fromPredicate(isArchitecture)),
      reason: stringValidator,
    },
    ["reason"],
  )(value, name) ??
  (isObject(value) && (value["cuda"] ?? value["hip"]) === undefined ? `${name} has no GPU` : undefined);

export const configRemedy =
  "an object of numbers, truth values and strings, such as { BLOCK: 64 }, or a function that gives one";

/** For parts whose own checks report a more specific message. */
const CHECKED_ELSEWHERE = [() => undefined, ""] as const;

/** The validator and the remedy of each part. Other parts are rejected: a misspelled part would have no effect. */
export const specSchema: Readonly<Record<keyof RawSpec, readonly [Validator, string | ((value: unknown) => string)]>> =
  {
    params: CHECKED_ELSEWHERE,
    dims: [recordOf(functionValidator), "an object of functions, such as { H: ({ Q, G }) => Q.mul(G) }"],
    grid: [functionValidator, (value) => `a function, such as grid: ${suggestGrid(value)}`],
    autotune: [autotune, autotuneRemedy],
    config: [anyOf(functionValidator, constantRecord), configRemedy],
    heuristics: [
      recordOf(functionValidator),
      "an object of functions, such as { EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0) }",
    ],
    launch: [
      anyOf(
        fromPredicate((value) => value === "fast"),
        constantRecord,
      ),
      '"fast", or an object such as { launchPdl: true }',
    ],
    triton: CHECKED_ELSEWHERE,
    targets: [
      targets,
      'an object such as { cuda: 90, hip: ["gfx950"], reason: "…" }: the oldest compute capability, AMD\'s architectures, and the reason',
    ],
    warpSpecialize: CHECKED_ELSEWHERE,
    doNotSpecialize: [nameList, 'a list of names, such as ["N"]'],
    doNotSpecializeOnAlignment: [nameList, 'a list of names, such as ["x"]'],
    sameStrides: [listOf(nameList), 'a list of groups of tensors, such as [["q", "k", "v"]]'],
    requires: [functionValidator, "a function, such as ({ N, BLOCK }) => [N.le(BLOCK)]"],
    inputs: [functionValidator, "a function, such as ({ N }, torch) => ({ x: torch.rand([N]) })"],
    reference: [torchFunction, "a function, such as ({ x, y }) => x.add(y), or python`…`"],
    providers: [recordOf(torchFunction), "an object of functions or python`…` by name"],
    invariant: [nameList, 'a list of sizes, such as ["M"]'],
    flops: [functionValidator, "a function, such as ({ M, N, K }) => 2 * M * N * K"],
    shapes: [listOf(constantRecord), "a list of objects, such as [{ N: 1000 }]"],
    tolerance: CHECKED_ELSEWHERE,
    doc: [stringValidator, "a string"],
  };

function autotuneRemedy(value: unknown): string {
  return isObject(value) && isByGpu(value["configs"])
    ? "an object whose configs are lists by GPU, such as { default: [{ BLOCK: 16 }], cuda: { 90: [{ BLOCK: 64 }] }, hip: { gfx942: [{ BLOCK: 32 }] } }: NVIDIA's by the oldest compute capability, AMD's by architecture, and default for all others"
    : 'an object such as { key: ["N"], configs: [{ BLOCK: 64 }] }, with resetToZero, restoreValue, cacheResults or space';
}

/** The suggested grid function, with the author's numbers if the grid consists of numbers. */
function suggestGrid(value: unknown): string {
  const axes = Array.isArray(value) ? value : [value];
  const isNumbers = axes.length > 0 && axes.every((axis) => typeof axis === "number");
  return isNumbers ? `() => [${axes.join(", ")}]` : "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]";
}

/** A kernel's name and spec. */
interface NamedSpec {
  readonly name: string;
  readonly spec: RawSpec;
}

/** @throws TileScriptError at a part of the spec that does not match the schema. */
export function checkSpec({ name, spec }: NamedSpec, locationOf: (part: keyof RawSpec) => Location | undefined): void {
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
export function checkShapes({ name, spec }: NamedSpec, params: readonly Param[], location: Location | undefined): void {
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
