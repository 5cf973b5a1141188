/** A kernel as the author defines it. */
import { type Config, launchOptionNames } from "../compiled/compiled-kernel.js";
import { type ConfigGpu, listsOf } from "../compiled/gpus.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { missingPart, notAKernel, pythonName, unknownPart } from "../diagnostics/catalog/definition-codes.js";
import { paramKind, paramName } from "../diagnostics/catalog/param-codes.js";
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Handle } from "../ir/handle.js";
import { checkTolerance } from "../compiled/tolerance.js";
import { whyNoFunction, whyNoGrid } from "../params/kernel-call-types.js";
import { whyParam } from "../params/param-kind.js";
import { launch } from "./kernel-call.js";
import { throwingPrototype } from "./unknown-names.js";
import { specSchema, type RawSpec, type RawConfig } from "./spec-schema.js";
import { isObject, kindOf } from "./raw-values.js";

/** The base of objects that throw an error with a remedy when called as functions. */
class ThrowingCallable {
  constructor() {
    const throwOnCall = (): never => {
      const { name } = throwOnCall as unknown as KernelDefinition;
      return fail(whyNoFunction(name), captureLocation());
    };
    return Object.setPrototypeOf(throwOnCall, new.target.prototype) as this;
  }
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** Detects `kernel[grid]`: JavaScript converts the grid to a property name, such as numbers or a function's text. */
const isGrid = (name: string): boolean => !IDENTIFIER.test(name);

Object.setPrototypeOf(
  ThrowingCallable.prototype,
  throwingPrototype({
    onRead: (name, receiver) => {
      const kernel = (receiver as KernelDefinition).name;
      return isGrid(name)
        ? whyNoGrid(kernel)
        : unknownName.instead(name, `the kernel ${kernel}`, "kernel.run, kernel.evaluate or kernel.check");
    },
  }),
);

/** The result of `kernel(…)` without methods to run it. */
export class KernelDefinition extends ThrowingCallable {
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
  call(args: Readonly<Record<string, unknown>>): object {
    return launch(this, args);
  }
}

/** The definition behind an author's kernel. */
export function definitionOf(kernel: unknown): KernelDefinition {
  if (kernel instanceof KernelDefinition) return kernel;
  return fail(kernel instanceof Promise ? notAKernel.promise() : notAKernel.value(), captureLocation());
}

/** Leaves room for the longer names of the module, its source map and its temporary file. */
const MAX_NAME_LENGTH = 200;

/**
 * `extraArgs` are the arguments of `kernel(…)` after the body.
 *
 * @throws TileScriptError if the name is not a valid Python name, or a required part of the spec is missing.
 */
export function checkDefinition(
  { name, spec, body, at: location }: KernelDefinition,
  extraArgs: readonly unknown[],
): void {
  if (typeof name !== "string") fail(missingPart.name(kindOf(name)), location);
  if (!isObject(spec)) fail(missingPart.spec(name, kindOf(spec)), location);
  if (!/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.invalid("kernel", name), location);
  if (name.length > MAX_NAME_LENGTH) fail(pythonName.tooLong(name.length, MAX_NAME_LENGTH), location);
  if (!isObject(spec.params)) fail(missingPart.params(name, describeMissingPart(spec.params)), location);
  checkDescriptions(name, spec.params, location);
  checkParts(name, spec, Object.keys(specSchema), location);
  if (spec.grid === undefined) fail(missingPart.grid(name), location);
  checkTolerance(name, spec.tolerance, location);
  if (typeof body !== "function") fail(missingPart.body(name), location);
  if (extraArgs.length > 0) fail(missingPart.extraArgument(name, 3, kindOf(extraArgs[0])), location);
}

/** @throws TileScriptError at a param that is not the result of a builder, or that has an invalid name. */
export function checkDescriptions(name: string, params: RawSpec["params"], location: Location | undefined): void {
  for (const [param, description] of Object.entries(params)) {
    const why = whyParam(param, description);
    if (why) fail(paramKind(name, why), location);
    if (param in Object.prototype) fail(paramName.inherited(name, param), location);
    // Types and shapes contain the names of constexprs.
    if (!(description.kind === "constexpr" ? /^[A-Za-z_]\w*$/ : IDENTIFIER).test(param))
      fail(paramName.notAName(name, param), location);
  }
}

/** Describes the value of a required part that is missing or invalid. */
export const describeMissingPart = (value: unknown): string => (value === undefined ? "missing" : kindOf(value));

/** @throws TileScriptError at a part that is not in `partNames`: a misspelled part would have no effect. */
export function checkParts(
  name: string,
  spec: object,
  partNames: readonly string[],
  location: Location | undefined,
): void {
  const unknown = Object.keys(spec).find((part) => !partNames.includes(part));
  if (unknown !== undefined) fail(unknownPart(name, unknown, partNames), location);
}

/** The configs of `autotune` in one list, each with the GPUs that it is for. */
export function rawConfigs({ configs }: NonNullable<RawSpec["autotune"]>): readonly ConfigEntry[] {
  if (isConfigList(configs)) return configs.map((raw) => ({ raw }));
  return listsOf(configs).flatMap(({ list, gpu }) => list.map((raw) => ({ raw, ...(gpu && { gpu }) })));
}

const isConfigList = (configs: NonNullable<RawSpec["autotune"]>["configs"]): configs is readonly RawConfig[] =>
  Array.isArray(configs);

interface ConfigEntry {
  readonly raw: RawConfig;
  readonly gpu?: ConfigGpu;
}

/** Separates the launch options of a config from its values. */
export function configOf({ raw, gpu }: ConfigEntry, location: Location | undefined): Config {
  const launch: Record<string, number> = {};
  const values: Record<string, number | boolean | string> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    if (launchOptionNames.includes(key)) launch[key] = value as number;
    else values[key] = value as number;
  }
  return { values, ...launch, ...(gpu && { gpu }), at: location };
}
