/** A kernel as its author defines it. */
import { type Config, type GivenTolerance, type SearchSpace, launchOptionNames } from "../compiled/compiled-kernel.js";
import { type PerGpu, type ConfigGpu, listsOf } from "../compiled/configs-by-gpu.js";
import type { KernelTargets } from "../compiled/kernel-targets.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { missingPart, notAKernel, pythonName, unknownPart } from "../diagnostics/catalog/definition-codes.js";
import { paramKind, paramName } from "../diagnostics/catalog/param-codes.js";
import { kernelCall } from "../diagnostics/catalog/operator-codes.js";
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Handle } from "../ir/handle.js";
import { checkTolerance } from "../compiled/declared-tolerance.js";
import { whyNoFunction, whyNoGrid } from "../params/kernel-call-types.js";
import { whyParam } from "../params/param-kind.js";
import { launch } from "./kernel-call.js";
import { throwingPrototype } from "./unknown-names.js";
import type { ParamDescription } from "./params.js";
import { isObject, kindOf, specSchema } from "./spec-forms.js";

type Meta = Readonly<Record<string, Handle>>;
type RawConfig = Readonly<Record<string, unknown>>;

export type RawReference =
  ((inputs: Readonly<Record<string, unknown>>, torch: unknown) => unknown) | { readonly source: string };

/** `Spec` of `params/spec.ts` as the build reads it, without type parameters. */
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
  readonly launch?: Readonly<Record<string, boolean | number>>;
  readonly triton?: string;
  readonly targets?: KernelTargets;
  readonly specialize?: string;
  readonly doNotSpecialize?: readonly string[];
  readonly doNotSpecializeOnAlignment?: readonly string[];
  readonly sameStrides?: readonly (readonly string[])[];
  readonly requires?: (meta: Meta) => unknown;
  readonly inputs?: (sizes: Readonly<Record<string, unknown>>, torch: unknown) => unknown;
  readonly reference?: RawReference;
  readonly providers?: Readonly<Record<string, RawReference>>;
  readonly flops?: (given: Readonly<Record<string, number | boolean | string>>) => unknown;
  readonly shapes?: readonly Readonly<Record<string, number | boolean | string>>[];
  readonly tolerance?: GivenTolerance;
  readonly doc?: string;
}

/** Makes objects that can be called as functions, and then say what to write instead. */
class NoFunction {
  constructor() {
    const called = (): never => {
      const { name } = called as unknown as KernelDefinition;
      return fail(kernelCall.rule(`${name}: ${whyNoFunction}`), captureLocation());
    };
    return Object.setPrototypeOf(called, new.target.prototype) as this;
  }
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** `kernel[grid]`, where the grid has become the name of a property: numbers, or the text of a function or an object. */
const isGrid = (name: string): boolean => !IDENTIFIER.test(name);

Object.setPrototypeOf(
  NoFunction.prototype,
  throwingPrototype({
    read: (name, receiver) => {
      const kernel = (receiver as KernelDefinition).name;
      return isGrid(name)
        ? kernelCall.rule(`${kernel}: ${whyNoGrid}`)
        : unknownName.instead(name, `the kernel ${kernel}`, "kernel.run, kernel.evaluate or kernel.check");
    },
  }),
);

/** What `kernel(…)` returns, without the ways to run it. */
export class KernelDefinition extends NoFunction {
  constructor(
    readonly name: string,
    readonly spec: RawSpec,
    readonly body: (args: Record<string, Handle>) => unknown,
    readonly at: Location | undefined,
  ) {
    super();
  }

  get params(): RawSpec["params"] {
    return this.spec.params;
  }

  /** A step of an operator. */
  call(given: Readonly<Record<string, unknown>>): object {
    return launch(this, given);
  }
}

/** The definition behind an author's kernel. */
export function definitionOf(kernel: unknown): KernelDefinition {
  if (kernel instanceof KernelDefinition) return kernel;
  return fail(notAKernel(), captureLocation());
}

/** Names of the module, its source map and its temporary file are longer than the kernel's; this leaves room. */
const LONGEST_NAME = 200;

/**
 * `further` is what `kernel` was given beside the definition's parts.
 *
 * @throws TileScriptError if the name is not a valid Python name, or a required part of the spec is missing.
 */
export function checkDefinition({ name, spec, body, at }: KernelDefinition, further: readonly unknown[]): void {
  if (typeof name !== "string") fail(missingPart.name(kindOf(name)), at);
  if (!isObject(spec)) fail(missingPart.spec(name, kindOf(spec)), at);
  if (!/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.invalid("kernel", name), at);
  if (name.length > LONGEST_NAME) fail(pythonName.tooLong(name.length, LONGEST_NAME), at);
  if (!isObject(spec.params)) fail(missingPart.params(name, describeMissingPart(spec.params)), at);
  checkDescriptions(name, spec.params, at);
  checkParts(name, spec, Object.keys(specSchema), at);
  if (spec.grid === undefined) fail(missingPart.grid(name), at);
  checkTolerance(name, spec.tolerance, at);
  if (typeof body !== "function") fail(missingPart.body(name), at);
  if (further.length > 0) fail(missingPart.further(name, 3, kindOf(further[0])), at);
}

/** @throws TileScriptError at a param that none of the builders made, or whose name cannot be one. */
export function checkDescriptions(name: string, params: RawSpec["params"], at: Location | undefined): void {
  for (const [param, description] of Object.entries(params)) {
    const why = whyParam(param, description);
    if (why) fail(paramKind(`${name}: ${why}`), at);
    if (param in Object.prototype) fail(paramName.inherited(name, param), at);
    // Types and shapes are written with the names of constexprs.
    if (!(description.kind === "constexpr" ? /^[A-Za-z_]\w*$/ : IDENTIFIER).test(param))
      fail(paramName.notAName(name, param), at);
  }
}

/** What stands in the place of a required part. */
export const describeMissingPart = (given: unknown): string => (given === undefined ? "missing" : kindOf(given));

/** @throws TileScriptError at a part that is not one of `known`: a misspelt part would have no effect. */
export function checkParts(name: string, spec: object, known: readonly string[], at: Location | undefined): void {
  const unknown = Object.keys(spec).find((part) => !known.includes(part));
  if (unknown !== undefined) fail(unknownPart(name, unknown, known), at);
}

/** The configs of `autotune`, one list after another, each with the GPUs of its list. */
export function rawConfigs({ configs }: NonNullable<RawSpec["autotune"]>): readonly GivenConfig[] {
  if (isList(configs)) return configs.map((raw) => ({ raw }));
  return listsOf(configs).flatMap(({ list, gpu }) => list.map((raw) => ({ raw, ...(gpu && { gpu }) })));
}

const isList = (configs: NonNullable<RawSpec["autotune"]>["configs"]): configs is readonly RawConfig[] =>
  Array.isArray(configs);

interface GivenConfig {
  readonly raw: RawConfig;
  readonly gpu?: ConfigGpu;
}

/** A config of the spec, with its launch options separate. */
export function configOf({ raw, gpu }: GivenConfig, at: Location | undefined): Config {
  const launch: Record<string, number> = {};
  const values: Record<string, number | boolean | string> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    if (launchOptionNames.includes(key)) launch[key] = value as number;
    else values[key] = value as number;
  }
  return { values, ...launch, ...(gpu && { gpu }), at };
}
