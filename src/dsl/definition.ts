/** A kernel as the author defines it. */
import { type Config, launchOptionNames } from "../compiled/compiled-kernel.js";
import { type ConfigGpu, listsOf } from "../compiled/gpus.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { missingPart, notAKernel, pythonName, unknownPart } from "../diagnostics/catalog/definition-codes.js";
import { paramKind, paramName } from "../diagnostics/catalog/param-codes.js";
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation, whileReading } from "../diagnostics/callsite.js";
import type { Handle } from "../ir/handle.js";
import { checkTolerance } from "../compiled/tolerance.js";
import {
  whyNoFunction,
  whyNoGrid,
  whyAsked,
  whyBound,
  whyDecided,
  whyMissing,
  whyNumber,
  whyOutput,
  whyTensor,
  whyUnknown,
} from "../params/kernel-call-types.js";
import { whyParam } from "../params/param-kind.js";
import { throwingPrototype } from "./unknown-names.js";
import { specSchema, type RawSpec, type RawConfig } from "./spec-schema.js";
import { isObject, kindOf } from "./raw-values.js";
import type { wrongCall } from "../diagnostics/catalog/rule-codes.js";
import { optionalSizes } from "../analysis/launch-facts.js";
import { kernelCall } from "../diagnostics/catalog/operator-codes.js";
import type { Elem } from "../types/dtype.js";
import {
  isMemoryParam,
  isSizeParam,
  type KernelIR,
  type Param,
  type TensorParam,
  tensorsOf,
  type KernelLaunch,
} from "../ir/nodes.js";
import { isTorchNode, type Launched, type TorchArgument, type TorchNode } from "../torch/node.js";
import { argument, reportNode, tensorProxy } from "../torch/proxy.js";

// A kernel's call inside an operator: checks its arguments and returns proxies for its outputs.

/** The statically known type of a tensor: its dims and its dtype. */
export interface AbstractTensor {
  readonly dims: readonly (string | number | undefined)[];
  readonly dtype: Elem | undefined;
}

/** Records the launches of one operator. */
interface LaunchRecorder {
  readonly name: string;
  traceKernel(definition: KernelDefinition): KernelIR;
  typeOf(node: TorchNode): AbstractTensor | undefined;
  setType(node: TorchNode, type: AbstractTensor): void;
  /** True for a tensor that the operator's caller passes. */
  isInput(node: TorchNode): boolean;
  /**
   * The name of an input whose memory this tensor shares or may share, as a view, a cast or a gradient. The operator
   * must not change that memory.
   */
  aliasedInput(node: TorchNode): string | undefined;
}

let activeRecorder: LaunchRecorder | undefined;

/** Runs `body` with `recorder` active, so that it can call kernels. */
export function withLaunchRecorder<T>(recorder: LaunchRecorder, body: () => T): T {
  const previous = activeRecorder;
  activeRecorder = recorder;
  try {
    return body();
  } finally {
    activeRecorder = previous;
  }
}

/** The implementation of `kernel.call(…)`. Returns an object with a tensor for each output of the kernel. */
function launch(definition: KernelDefinition, authorArgs: Readonly<Record<string, unknown>>): object {
  const location = captureLocation();
  const { name } = definition;
  const recorder = activeRecorder ?? fail(kernelCall.outside(name), location);
  if (typeof authorArgs !== "object" || authorArgs === null) fail(kernelCall.byName(name), location);
  const kernel = recorder.traceKernel(definition);
  const args = Object.fromEntries(
    Object.entries(authorArgs).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, argument(value, location)] as const],
    ),
  );
  checkArguments(kernel, args, recorder, location);
  const { sizes, typeOf } = bindTypes(kernel, args, recorder, location);
  const call: KernelLaunch = reportNode({ kind: "launch", kernel, args, sizes, at: location });
  const results = {};
  for (const param of kernel.params) {
    if (param.kind !== "tensor" || param.role !== "out" || (param.optional && args[param.name] !== true)) continue;
    let node: Launched | undefined;
    const get = (): unknown => {
      // Created on access, because the location of the access names the author's variable.
      const locationOfRead = () => whileReading(param.name, () => captureLocation());
      node ??= { kind: "launched", launch: call, output: param.name, at: locationOfRead() };
      recorder.setType(node, typeOf(param));
      return tensorProxy(node, location);
    };
    Object.defineProperty(results, param.name, { enumerable: true, get });
  }
  return new Proxy(results, {
    get: (target, key, receiver) => {
      // `await` and other code read `then` to detect a promise.
      if (typeof key === "string" && key !== "then" && !(key in target))
        fail(kernelCall.noOutput(name, key, Object.keys(target)), captureLocation());
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

function checkArguments(
  kernel: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  recorder: LaunchRecorder,
  location: Location | undefined,
): void {
  const { name, params } = kernel;
  const problem = [
    ...Object.keys(args).map((key) => whyNoArgument(kernel, key)),
    ...params.filter(isArgument).map((param) => whyArgument(kernel, param, args[param.name], recorder)),
  ].find((error) => error !== undefined);
  if (problem) fail(problem, location);
  for (const param of tensorsOf(kernel, "inout")) {
    const value = args[param.name];
    const inputName = isTorchNode(value) ? recorder.aliasedInput(value) : undefined;
    if (inputName !== undefined) fail(kernelCall.changesInput(name, param.name, inputName, recorder.name), location);
  }
}

type CallError = ReturnType<typeof wrongCall>;

function whyNoArgument({ name, params }: KernelIR, key: string): CallError | undefined {
  const param = params.find((candidate) => candidate.name === key);
  if (!param) return whyUnknown(name, key);
  if (isBoundSize(param, params)) return whyBound(name, key);
  if (isArgument(param)) return undefined;
  return param.kind === "tensor" ? whyOutput(name, key) : whyDecided(name, key);
}

function whyArgument(
  kernel: KernelIR,
  param: Param,
  value: TorchArgument | undefined,
  recorder: LaunchRecorder,
): CallError | undefined {
  const { name } = kernel;
  if (value === undefined) return isRequired(kernel, param) ? whyMissing(name, param.name) : undefined;
  const isTensorArg = isTorchNode(value) ? isTensor(value, recorder) : false;
  if (isOptionalOutput(param)) return value === true ? undefined : whyAsked(name, param.name);
  if (param.kind === "tensor")
    return isTensorArg !== false || (value === null && param.optional) ? undefined : whyTensor(name, param.name);
  return isTensorArg === true || value === null || Array.isArray(value) ? whyNumber(name, param.name) : undefined;
}

/** True for a tensor, false for another value, and undefined if that is unknown before the call runs. */
function isTensor(node: TorchNode, recorder: LaunchRecorder): boolean | undefined {
  switch (node.kind) {
    case "input":
      return recorder.isInput(node) || recorder.typeOf(node) !== undefined;
    case "launched":
      return true;
    case "arithmetic":
    case "dtype":
      return false;
    case "attribute":
      return ["dtype", "device", "shape"].includes(node.name) ? false : undefined;
    case "method":
      return node.name === "size" ? false : undefined;
    case "call":
    case "choice":
    case "comparison":
    case "item":
    case "otherwise":
      return undefined;
    default:
      return node satisfies never;
  }
}

function isArgument(param: Param): boolean {
  if (param.kind === "tensor") return param.role !== "out" || isOptionalOutput(param);
  if (param.kind === "size") return !param.derived;
  if (param.kind === "device") return false;
  return param.kind !== "constexpr" || param.from === "argument" || param.from === "dim";
}

/** True for an output that the call can request. */
function isOptionalOutput(param: Param): boolean {
  return param.kind === "tensor" && param.role === "out" && param.optional;
}

/** True for an argument without a default that no other argument's shape sets. */
function isRequired({ params }: KernelIR, param: Param): boolean {
  if (isMemoryParam(param)) return param.given === undefined;
  if (param.kind === "device") return false;
  if (param.kind !== "size" && param.default !== undefined) return false;
  return !isBoundSize(param, params);
}

/** True for a size that the shape of an input sets, also of an optional one. */
function isBoundSize(param: Param, params: readonly Param[]): boolean {
  const isSize = isSizeParam(param);
  const isBoundBy = (tensor: Param): boolean =>
    tensor.kind === "tensor" && tensor.role !== "out" && !tensor.optional && tensor.dimNames.includes(param.name);
  return isSize && (params.some(isBoundBy) || optionalSizes({ params }).some((size) => size.param === param));
}

/** Checks the known shapes and dtypes of the arguments, and derives those of the outputs. */
function bindTypes(
  { name, params }: KernelIR,
  args: Readonly<Record<string, TorchArgument>>,
  recorder: LaunchRecorder,
  location: Location | undefined,
): { readonly sizes: KernelLaunch["sizes"]; readonly typeOf: (param: TensorParam) => AbstractTensor } {
  const sizes = new Map<string, string | number>();
  const dtypes = new Map<string, Elem>();
  for (const param of params) {
    const value = args[param.name];
    if (param.kind === "constexpr" && param.variable && isTorchNode(value)) {
      const dtype = dtypeOf(value, recorder);
      if (dtype !== undefined) dtypes.set(param.variable.name, dtype);
    }
    if (param.kind !== "tensor" || !isTorchNode(value)) continue;
    const type = recorder.typeOf(value);
    if (!type) continue;
    const shape = `[${type.dims.map((dim) => dim ?? "?").join(", ")}]`;
    const expected = `[${param.dimNames.join(", ")}]`;
    if (type.dims.length !== param.dimNames.length)
      fail(kernelCall.rank(name, param.name, expected, shape, formatRank(param.dimNames.length)), location);
    param.dimNames.forEach((dim, axis) => {
      const size = type.dims[axis];
      const bound = typeof dim === "number" ? dim : sizes.get(dim);
      if (size !== undefined && bound !== undefined && bound !== size)
        fail(kernelCall.size(name, param.name, expected, [dim, bound], shape), location);
      if (size !== undefined && typeof dim === "string") sizes.set(dim, size);
    });
    if (type.dtype === undefined) continue;
    const bound = typeof param.dtype === "string" ? param.dtype : dtypes.get(param.dtype.name);
    const allowedDType = bound ?? param.dtype;
    if (!isAllowedElem(allowedDType, type.dtype))
      fail(kernelCall.dtype(name, param.name, formatElem(allowedDType), formatElem(type.dtype)), location);
    if (typeof param.dtype !== "string") dtypes.set(param.dtype.name, type.dtype);
  }
  for (const { name: size } of params) {
    const value = args[size];
    if (typeof value === "number") sizes.set(size, value);
    // A size of the operator, passed unchanged.
    if (isTorchNode(value) && value.kind === "input" && !recorder.typeOf(value)) sizes.set(size, value.name);
  }
  return {
    sizes: Object.fromEntries(sizes),
    typeOf: (param) => ({
      dims: param.dimNames.map((dim) => (typeof dim === "number" ? dim : sizes.get(dim))),
      dtype: typeof param.dtype === "string" ? param.dtype : dtypes.get(param.dtype.name),
    }),
  };
}

/** The dtype of a dtype argument: a torch dtype, or a tensor's `dtype` attribute. */
function dtypeOf(node: TorchNode, recorder: LaunchRecorder): Elem | undefined {
  if (node.kind === "dtype") return node.name;
  return node.kind === "attribute" && node.name === "dtype" ? recorder.typeOf(node.of)?.dtype : undefined;
}

const formatRank = (rank: number): string => (rank === 1 ? "1 axis" : `${rank} axes`);
const membersOf = (elem: Elem): readonly string[] => (typeof elem === "string" ? [elem] : elem.members);
const formatElem = (elem: Elem): string => membersOf(elem).join(" or ");

/** True if `allowedElem` contains every dtype of `elem`. */
export function isAllowedElem(allowedElem: Elem, elem: Elem): boolean {
  return membersOf(elem).every((member) => membersOf(allowedElem).includes(member));
}

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
