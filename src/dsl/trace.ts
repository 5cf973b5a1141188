/** Traces a kernel: runs the author's functions with symbolic arguments and records them as IR. */
import { checkOutputTolerances, type ToleratedOutput } from "../compiled/tolerance.js";
import { launchOptionNames, SPECIALIZE_MODES, type Specialize } from "../compiled/compiled-kernel.js";
import {
  type Diagnostic,
  fail,
  rethrowSwallowedErrors,
  type Location,
  TileScriptError,
} from "../diagnostics/diagnostic.js";
import { locationOfError } from "../diagnostics/callsite.js";
import { changedState, earlyExit, loopBounds, unusedValue } from "../diagnostics/catalog/control-codes.js";
import { kernelResult, specValue } from "../diagnostics/catalog/definition-codes.js";
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { gridAxes, heuristicTarget, hostResult } from "../diagnostics/catalog/host-codes.js";
import { Builder, withBuilder } from "../ir/builder.js";
import { retraceBodyWithFalsyHandles, retraceWithFalsyHandles, type BodyResult, runBody } from "../ir/retrace.js";
import { firstDifference } from "../ir/same-statements.js";
import { Handle, isHandle, isRetracingFalsy, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type Block,
  type ConstexprParam,
  type HostBlock,
  isLiteral,
  isMemoryParam,
  isSizeParam,
  type KernelIR,
  type LaunchSpec,
  type Param,
  type Statement,
  type Tuning,
  type Value,
} from "../ir/nodes.js";
import { walkUses, typeOfArgument } from "../ir/walk.js";
import { type DTypeName, isInt, members } from "../types/dtype.js";
import { LIMITS } from "../types/limits.js";
import { showType, type Type } from "../types/types.js";
import type { SourceIndex, SpecLocations } from "../ir/source-index.js";
import { rejectPromise, toArgument } from "../ops/define.js";
import * as ops from "../ops/index.js";
import { declareParams, type DescriptionOf, paramHandles, isHostVisible } from "./declare.js";
import { configOf, type KernelDefinition, rawConfigs } from "./definition.js";
import { registerPresenceFlag, registerTensor } from "./methods.js";
import { inputsOf, providersOf, referenceOf } from "./record-spec.js";
import { withArgumentNames, undefinedNameMessage } from "./unknown-names.js";
import {
  rangeRequirements,
  type TraceHost,
  withRange,
  type ComputedConfig,
  computedConfig,
  deviceProperties,
} from "./launch-values.js";
import { type RawSpec, checkShapes, checkSpec } from "./spec-schema.js";

type Meta = Readonly<Record<string, Handle>>;

/** Traces a kernel's body, grid and other callbacks. `source` has their locations. */
export function trace(kernel: KernelDefinition, source?: SourceIndex): KernelIR {
  try {
    return rethrowSwallowedErrors(() => traceKernel(kernel, source));
  } catch (error) {
    const message = undefinedNameMessage(error, Object.keys(ops), argumentNames(kernel));
    if (message) fail(message, locationOfError(error as Error) ?? kernel.at);
    throw error;
  }
}

/** The names of params and sizes, which are the arguments of the kernel's functions. */
function argumentNames({ spec }: KernelDefinition): readonly string[] {
  return Object.entries(spec.params).flatMap(([name, param]) => [
    name,
    ...("dims" in param ? param.dims.filter((dim) => typeof dim === "string") : []),
  ]);
}

function traceKernel(kernel: KernelDefinition, source: SourceIndex | undefined): KernelIR {
  const recorder = new Builder(source);
  const specLocations = kernel.at && source?.spec(kernel.at);
  const locationOf = (part: keyof RawSpec) => specLocations?.parts[part] ?? kernel.at;
  checkSpec(kernel, locationOf);
  return withBuilder(recorder, () => {
    recorder.open("the kernel", kernel.at);
    const params = declareParams(recorder, kernel);
    const args = paramHandles(kernel, params);
    const meta = Object.fromEntries(Object.entries(args).filter(([name]) => isHostVisible(params, name)));
    registerMemoryParams(params);
    const properties = deviceProperties(recorder, kernel.at);
    // An author's param named `device` takes precedence.
    const hostArgs: Meta = withArgumentNames(kernel.name, watchFlags(recorder, { device: properties.device, ...meta }));
    const host = (body: () => unknown, location = kernel.at) => hostBlock(recorder, body, kernel.at, location);
    const onHost = (compute: (meta: never) => unknown) => host(() => compute(hostArgs as never));
    const config = computedConfig(kernel, hostArgs, (body) => host(body, locationOf("config")));
    const completedParams = params.map((param) =>
      withRange(completeParam(param, kernel, config, onHost), params, kernel, onHost),
    );
    checkShapes(kernel, completedParams, locationOf("shapes"));
    // The body may store handles and is retraced, so each trace gets new ones.
    const body = traceBody(recorder, kernel, specLocations, () =>
      withArgumentNames(kernel.name, watchFlags(recorder, paramHandles(kernel, params))),
    );
    const grid = host(() => kernel.spec.grid(hostArgs), locationOf("grid"));
    const requirements = host(
      () => [...rangeRequirements(kernel, meta), ...declaredRequirements(kernel, hostArgs)],
      locationOf("requires"),
    );
    checkRequirements(kernel, requirements, locationOf("requires"));
    const requires = withLeadingStatements(requirements, config.unusedStatements);
    checkGrid(grid, locationOf("grid"));
    const coercionError = closeKernel(recorder);
    checkNames(kernel, params);
    const reference = referenceOf(kernel, params, locationOf("reference"));
    return {
      name: kernel.name,
      doc: kernel.spec.doc,
      params: [...completedParams, ...properties.usedParams],
      functions: recorder.functions,
      body,
      grid,
      requires,
      flags: recorder.flags,
      coercionError,
      tuning: tuningOf(kernel, config, completedParams, specLocations),
      launch: launchOf(kernel),
      triton: versionOf(kernel),
      targets: kernel.spec.targets && { ...kernel.spec.targets, at: locationOf("targets") },
      warpSpecialize: warpSpecializeMode(kernel),
      reference: reference && { ...reference, at: locationOf("reference") },
      providers: providersOf(kernel, params, locationOf("providers")),
      flops: kernel.spec.flops,
      inputs: inputsOf(kernel, params, locationOf("inputs")),
      shapes: kernel.spec.shapes ?? [],
      tolerance: kernel.spec.tolerance,
      limits: LIMITS,
      at: kernel.at,
    };
  });
}

function registerMemoryParams(params: readonly Param[]): void {
  for (const param of params) {
    if (param.kind === "tensor") registerTensor(param);
    if (isMemoryParam(param) && param.given) registerPresenceFlag(param.value, param.given);
  }
}

function withLeadingStatements({ block, ...rest }: HostBlock, statements: readonly Statement[]): HostBlock {
  return { ...rest, block: { ...block, statements: [...statements, ...block.statements] } };
}

function toleratedOutput(param: Param): readonly ToleratedOutput[] {
  if (param.kind !== "tensor" || param.role === "in") return [];
  const dtypes = members(param.dtype);
  if (dtypes.every(isInt)) return [{ name: param.name, holds: "integers" }];
  return [{ name: param.name, holds: dtypes.some(isInt) ? undefined : "floats" }];
}

/** Closes the kernel, unless JavaScript converted one of its values to a boolean. */
function closeKernel(recorder: Builder): Diagnostic | undefined {
  const coercionError = retraceWithFalsyHandles(recorder);
  if (!coercionError) recorder.close();
  return coercionError;
}

const declaredRequirements = ({ spec }: KernelDefinition, meta: Meta): readonly unknown[] =>
  toList(spec.requires?.(meta) ?? []) as readonly unknown[];

function tuningOf(
  { spec, at: location }: KernelDefinition,
  { constants: fixed, hostBlocks: computed }: ComputedConfig,
  params: readonly Param[],
  specLocations: SpecLocations | undefined,
): Tuning {
  const { autotune } = spec;
  const raw = autotune ? rawConfigs(autotune) : [{ raw: fixed }];
  const options = Object.entries(computed).filter(([name]) => launchOptionNames.includes(name));
  const locationOf = (index: number) =>
    specLocations?.configs.length === raw.length ? specLocations.configs[index] : location;
  // Memory that must be zero at the start of a launch must be zero at the start of each trial.
  const zeroed = params.flatMap((param) => (isMemoryParam(param) && param.zeroed ? [param.name] : []));
  return {
    configs: raw.map((each, i) => configOf(each, locationOf(i))),
    ...(options.length > 0 && { options: Object.fromEntries(options) }),
    ...(autotune && { key: autotune.key }),
    ...(autotune && !Array.isArray(autotune.configs) && { byGpu: true as const }),
    resetToZero: [...new Set([...(autotune?.resetToZero ?? []), ...zeroed])],
    restoreValue: autotune?.restoreValue ?? [],
    ...(autotune?.cacheResults && { cacheResults: true }),
    ...(autotune?.space && { space: autotune.space }),
  };
}

function launchOf({ spec }: KernelDefinition): LaunchSpec {
  const { launch = {}, doNotSpecialize = [], doNotSpecializeOnAlignment = [], invariant = [] } = spec;
  const names = { doNotSpecialize, doNotSpecializeOnAlignment, invariant };
  if (launch === "fast") return { isFast: true, options: {}, ...names };
  const options = Object.fromEntries(Object.entries(launch).filter(([, value]) => value !== undefined));
  return { isFast: false, options, ...names };
}

function versionOf({ name, spec: { triton }, at: location }: KernelDefinition): KernelIR["triton"] {
  if (triton === undefined || triton === "3.6" || triton === "3.9") return triton;
  return fail(specValue.triton(name, triton), location);
}

function warpSpecializeMode({ name, spec: { warpSpecialize = "never" }, at: location }: KernelDefinition): Specialize {
  return (
    SPECIALIZE_MODES.find((each) => each === warpSpecialize) ??
    fail(specValue.warpSpecialize(name, warpSpecialize), location)
  );
}

/** Checks the names in the spec's tables. */
function checkNames({ name, spec, at: location }: KernelDefinition, params: readonly Param[]): void {
  for (const key of Object.keys(spec.dims ?? {}))
    if (!params.some((param) => isSizeParam(param) && param.name === key)) fail(hostResult.noSize(name, key), location);
  for (const key of Object.keys(spec.heuristics ?? {})) {
    const param = params.find((candidate) => candidate.name === key);
    if (param?.kind !== "constexpr" || (param.of !== "int" && param.of !== "bool"))
      fail(heuristicTarget(name, key), location);
  }
  checkOutputTolerances(name, spec.tolerance, params.flatMap(toleratedOutput), location);
}

/** Adds the host expression of a derived size, a launch-time constexpr or a heuristic. */
function completeParam(param: Param, kernel: KernelDefinition, config: ComputedConfig, host: TraceHost): Param {
  if (param.kind === "size") {
    const derive = kernel.spec.dims?.[param.name];
    if (!derive) return param;
    const derived = host(derive);
    const [value, ...others] = derived.block.yields;
    if (value === undefined || others.length > 0 || !isInteger(value))
      fail(hostResult.wrongKind(kernel.name, param.name, "an integer", "write one, such as N.mul(2)"), kernel.at);
    return { ...param, derived };
  }
  if (param.kind === "constexpr" && (param.from === "config" || param.from === "argument")) {
    const compute = config.hostBlocks[param.name];
    if (compute === undefined) return param.name in config.constants ? { ...param, from: "config" } : param;
    const launchParam: ConstexprParam = { ...param, from: "launch", compute, computedByConfig: true };
    checkComputed(kernel, launchParam, compute);
    return launchParam;
  }
  if (param.kind !== "constexpr" || (param.from !== "launch" && param.from !== "heuristic")) return param;
  const description = kernel.spec.params[param.name] as DescriptionOf<"constexpr">;
  const callback = param.from === "launch" ? description.launch : kernel.spec.heuristics?.[param.name];
  const compute = host(callback as (meta: never) => unknown);
  checkComputed(kernel, param, compute);
  return { ...param, compute };
}

/** Checks that a computed value has the declared kind. */
function checkComputed({ name, at: location }: KernelDefinition, param: ConstexprParam, { block }: HostBlock): void {
  const [value, ...others] = block.yields;
  const isSingle = value !== undefined && others.length === 0;
  const isBool = isSingle ? isTruthValue(typeOfArgument(value)) : undefined;
  if (isSingle && isBool === (param.of === "bool") && (param.of !== "int" || isInteger(value))) return;
  const expected = param.of === "bool" ? "a truth value, such as N.mod(16).eq(0)" : "an integer";
  const remedy =
    param.from === "launch" && !param.computedByConfig && param.of === "int" && isBool
      ? "declare it constexpr.launch.bool(…)"
      : "";
  fail(hostResult.wrongKind(name, param.name, expected, remedy), location);
}

/** True for a boolean, false for a number. Undefined for other types. */
function isTruthValue(type: Type): boolean | undefined {
  if (type.kind === "constexpr") return type.of === "bool";
  return type.kind === "tile" ? type.dtype === "int1" : undefined;
}

/** Wraps the arguments of the author's code to record reads of flags and string constexprs. */
function watchFlags(recorder: Builder, args: Readonly<Record<string, Handle>>): Record<string, Handle> {
  const watchedArgs = { ...args };
  for (const [name, handle] of Object.entries(args)) {
    const value = isHandle(handle) ? valueOf(handle) : undefined;
    if (value?.type.kind !== "constexpr" || (value.type.of !== "bool" && value.type.of !== "string")) continue;
    const get = (): Handle => {
      recorder.recordFlagUse(value);
      return isRetracingFalsy() ? new Handle(value) : handle;
    };
    Object.defineProperty(watchedArgs, name, { get, enumerable: true });
  }
  return watchedArgs;
}

/** Rethrows an error that occurs only when a body is retraced, with the reason. */
function explainRetraceError<T>(recorder: Builder, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!recorder.entry?.retrace) throw error;
    const [first] = error instanceof TileScriptError ? error.diagnostics : [];
    if (first?.code === "changed-state") throw error;
    const { label: subject, location } = recorder.entry.head;
    fail(changedState.throws(subject, first?.message ?? String(error)), first?.at ?? location);
  }
}

function traceBody(
  recorder: Builder,
  kernel: KernelDefinition,
  specLocations: SpecLocations | undefined,
  args: () => Record<string, Handle>,
): Block {
  const { body: bodyLocation = kernel.at, firstReturn: returnLocation = bodyLocation } = specLocations ?? {};
  if (kernel.body.length > 1) fail(unknownName.arguments(kernel.name, Object.keys(args())), bodyLocation);
  const traceOnce = (): BodyResult => {
    const { depth } = recorder;
    const result: unknown = explainRetraceError(recorder, () => kernel.body(args()));
    rejectPromise(result, bodyLocation);
    if (Object.prototype.toString.call(result) === "[object Generator]") fail(earlyExit.generator(), bodyLocation);
    if (result !== undefined) fail(kernelResult(kernel.name), returnLocation);
    if (recorder.depth !== depth) fail(earlyExit.left(kernel.name), kernel.at);
    return { yields: [], form: "nothing" };
  };
  const body = runBody(recorder, { label: "the kernel", kind: "kernel", location: kernel.at }, traceOnce);
  const [unused] = recorder.pendingLoops;
  if (unused) fail(loopBounds.unused(), unused.at);
  retraceBodyWithFalsyHandles(recorder, body, traceOnce);
  return body.block;
}

/** Traces a host callback of the spec. `location` is that of the callback. */
function hostBlock(
  recorder: Builder,
  body: () => unknown,
  kernelLocation: Location | undefined,
  location: Location | undefined,
): HostBlock {
  return runAsHost(recorder, () => {
    const queriedFlags = new Map<Value, Location | undefined>();
    const block = recorder.collectFlagUses(queriedFlags, () =>
      traceHostStatements(recorder, body, kernelLocation, location),
    );
    // JavaScript runs the callback once for all launches, so it must record the same statements every time.
    const retrace = (): void => {
      const restore = recorder.checkpoint();
      const retracedBlock = recorder.collectFlagUses(new Map(), () =>
        traceHostStatements(recorder, body, kernelLocation, location),
      );
      restore();
      const subject = "this function";
      const difference = firstDifference({ params: [], block }, { params: [], block: retracedBlock });
      if (!difference) return;
      fail(
        difference.at ? changedState.outside(subject) : changedState.outsideResult(subject),
        difference.at ?? location,
      );
    };
    retrace();
    recorder.pendingRetraces.push({ run: () => runAsHost(recorder, retrace), at: location });
    checkQueriedFlags(queriedFlags, block);
    return { block, at: kernelLocation };
  });
}

function runAsHost<T>(recorder: Builder, body: () => T): T {
  recorder.executionSpace = "host";
  try {
    return body();
  } finally {
    recorder.executionSpace = "kernel";
  }
}

function traceHostStatements(
  recorder: Builder,
  body: () => unknown,
  kernelLocation: Location | undefined,
  location: Location | undefined,
) {
  recorder.open("the launch", kernelLocation);
  const result = body();
  if (result === undefined) fail(hostResult.nothing(), location);
  const items = (toList(result) as unknown[]).map((item) => {
    const argument = toArgument(item, location);
    if (argument === undefined) fail(hostResult.notAValue(), location);
    return argument;
  });
  return recorder.close(items);
}

/** Fails if a callback reads a flag without using it: JavaScript may have branched on it. */
function checkQueriedFlags(queriedFlags: ReadonlyMap<Value, Location | undefined>, block: Block): void {
  const used = new Set<Value>();
  walkUses(block, (value) => used.add(value));
  for (const [flag, location] of queriedFlags) {
    if (used.has(flag)) continue;
    const isString = flag.type.kind === "constexpr" && flag.type.of === "string";
    fail(unusedValue.parameter(flag.parameter ?? "given", isString), location);
  }
}

/** Converts to an array. `Array.from` replaces holes by undefined. */
function toList(x: unknown): unknown {
  return Array.isArray(x) ? Array.from(x as readonly unknown[]) : [x];
}

function isInteger(argument: Argument): boolean {
  const type = typeOfArgument(argument);
  if (type.kind === "constexpr") return type.of === "int";
  return type.kind === "tile" && type.shape.length === 0 && typeof type.dtype === "string" && isCount(type.dtype);
}

const isCount = (dtype: DTypeName): boolean => isInt(dtype) && dtype !== "int1";

/** Each requirement must be a condition. Any other value would be true for every call, or for none. */
function checkRequirements({ name }: KernelDefinition, { block }: HostBlock, location: Location | undefined): void {
  for (const condition of block.yields) {
    const type = typeOfArgument(condition);
    const isCondition = type.kind === "constexpr" ? type.of === "bool" : type.kind === "tile" && type.dtype === "int1";
    if (!isLiteral(condition) && isCondition) continue;
    fail(
      hostResult.requirement(name, isLiteral(condition) ? JSON.stringify(condition.value) : showType(type)),
      location,
    );
  }
}

function checkGrid(grid: HostBlock, location: Location | undefined): void {
  const axes = grid.block.yields;
  if (axes.length < 1 || axes.length > 3) fail(gridAxes.axes(axes.length), location);
  for (const axis of axes) {
    if (!isInteger(axis)) fail(gridAxes.notInteger(), location);
    if (isLiteral(axis) && Number(axis.value) < 1) fail(gridAxes.empty(axis.value), location);
  }
}
