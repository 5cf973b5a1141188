/** Runs an author's function once, with symbolic arguments, and records it as IR. */
import { typeOfArgument } from "../ir/typed.js";
import { checkOutputTolerances, type ToleratedOutput } from "../compiled/declared-tolerance.js";
import { launchOptionNames, SPECIALIZE_MODES, type Specialize } from "../compiled/compiled-kernel.js";
import {
  type Diagnostic,
  fail,
  rethrowSwallowedErrors,
  type Location,
  TileScriptError,
} from "../diagnostics/diagnostic.js";
import { placeThrown } from "../diagnostics/callsite.js";
import { changedState, earlyExit, loopBounds, unusedValue } from "../diagnostics/catalog/control-codes.js";
import { kernelResult, specValue } from "../diagnostics/catalog/definition-codes.js";
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { gridAxes, heuristicTarget, hostResult } from "../diagnostics/catalog/host-codes.js";
import { Builder, recording } from "../ir/builder.js";
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
  type Tuning,
  type Value,
} from "../ir/nodes.js";
import { walkUses } from "../ir/walk.js";
import { type DTypeName, isInt, members } from "../types/dtype.js";
import { showType } from "../types/types.js";
import type { SourceIndex, SpecPlaces } from "../ir/source.js";
import { rejectPromise, toArgument } from "../ops/define.js";
import * as ops from "../ops/index.js";
import { type ComputedConfig, computedConfig } from "./computed-config.js";
import { deviceProperties } from "./device.js";
import { declare, type ParamKindOf, handles, isHostVisible } from "./declare.js";
import { configOf, type KernelDefinition, rawConfigs, type RawSpec } from "./definition.js";
import { registerGiven, registerTensor } from "./methods.js";
import { inputsOf, providersOf, recordReferenceSpec } from "./record-spec.js";
import { checkShapes, checkSpec } from "./check-spec.js";
import { namedArguments, pythonName } from "./unknown-names.js";
import { rangeRequirements, type TraceHost, withRange } from "./ranges.js";

type Meta = Readonly<Record<string, Handle>>;

/** The program that a kernel's body, grid and other callbacks describe. `source` says where the author wrote each. */
export function trace(kernel: KernelDefinition, source?: SourceIndex): KernelIR {
  try {
    return rethrowSwallowedErrors(() => traced(kernel, source));
  } catch (error) {
    const said = pythonName(error, Object.keys(ops), argumentNames(kernel));
    if (said) fail(said, placeThrown(error as Error) ?? kernel.at);
    throw error;
  }
}

/** The names of params and sizes, which the kernel's functions take. */
function argumentNames({ spec }: KernelDefinition): readonly string[] {
  return Object.entries(spec.params).flatMap(([name, param]) => [
    name,
    ...("dims" in param ? param.dims.filter((dim) => typeof dim === "string") : []),
  ]);
}

function traced(kernel: KernelDefinition, source: SourceIndex | undefined): KernelIR {
  const recorder = new Builder(source);
  const places = kernel.at && source?.spec(kernel.at);
  const placeOf = (part: keyof RawSpec) => places?.parts[part] ?? kernel.at;
  checkSpec(kernel, placeOf);
  return recording(recorder, () => {
    recorder.open("the kernel", kernel.at);
    const params = declare(recorder, kernel);
    const args = handles(kernel, params);
    const meta = Object.fromEntries(Object.entries(args).filter(([name]) => isHostVisible(params, name)));
    for (const param of params) {
      if (param.kind === "tensor") registerTensor(param);
      if (isMemoryParam(param) && param.given) registerGiven(param.value, param.given);
    }
    const properties = deviceProperties(recorder, kernel.at);
    // A param of the author's with that name is the author's.
    const known: Meta = namedArguments(kernel.name, noted(recorder, { device: properties.device, ...meta }));
    const host = (body: () => unknown, place = kernel.at) => hostBlock(recorder, body, kernel.at, place);
    const onHost = (compute: (meta: never) => unknown) => host(() => compute(known as never));
    const config = computedConfig(kernel, known, (body) => host(body, placeOf("config")));
    const completed = params.map((param) => withRange(complete(param, kernel, config, onHost), params, kernel, onHost));
    checkShapes(kernel, completed, placeOf("shapes"));
    // The body may keep handles and is entered again, so it gets new ones each time.
    const body = traceBody(recorder, kernel, places, () =>
      namedArguments(kernel.name, noted(recorder, handles(kernel, params))),
    );
    const grid = host(() => asList(kernel.spec.grid(known)), placeOf("grid"));
    const asked = host(() => [...rangeRequirements(kernel, meta), ...required(kernel, known)], placeOf("requires"));
    checkRequirements(kernel, asked, placeOf("requires"));
    const requires = { ...asked, block: { ...asked.block, statements: [...config.unused, ...asked.block.statements] } };
    checkGrid(grid, placeOf("grid"));
    const taken = ended(recorder);
    const { shapes = [], tolerance, doc } = kernel.spec;
    checkNames(kernel, params);
    const reference = recordReferenceSpec(kernel, kernel.spec.reference, params, placeOf("reference"));
    const inputs = inputsOf(kernel, params, placeOf("inputs"));
    const tuning = tuningOf(kernel, config, completed, places);
    return {
      name: kernel.name,
      doc,
      params: [...completed, ...properties.used],
      functions: recorder.functions,
      body,
      grid,
      requires,
      flags: recorder.flags,
      coercionError: taken,
      tuning,
      launch: launchOf(kernel),
      triton: versionOf(kernel),
      targets: kernel.spec.targets && { ...kernel.spec.targets, at: placeOf("targets") },
      specialize: specializeOf(kernel),
      reference: reference && { ...reference, at: placeOf("reference") },
      providers: providersOf(kernel, params, placeOf("providers")),
      flops: kernel.spec.flops,
      inputs,
      shapes,
      tolerance,
      at: kernel.at,
    };
  });
}

function toleratedOutput(param: Param): readonly ToleratedOutput[] {
  if (param.kind !== "tensor" || param.role === "in") return [];
  const all = members(param.dtype);
  const holds = all.every(isInt) ? "integers" : all.some(isInt) ? undefined : "floats";
  return [{ name: param.name, holds }];
}

/** Closes the kernel, unless JavaScript took a value of it for true. */
function ended(recorder: Builder): Diagnostic | undefined {
  const taken = retraceWithFalsyHandles(recorder);
  if (!taken) recorder.close();
  return taken;
}

const required = ({ spec }: KernelDefinition, meta: Meta): readonly unknown[] =>
  asList(spec.requires?.(meta) ?? []) as readonly unknown[];

function tuningOf(
  { spec, at }: KernelDefinition,
  { fixed, computed }: ComputedConfig,
  params: readonly Param[],
  places: SpecPlaces | undefined,
): Tuning {
  const { autotune } = spec;
  const raw = autotune ? rawConfigs(autotune) : [{ raw: fixed }];
  const options = Object.entries(computed).filter(([name]) => launchOptionNames.includes(name));
  const placeOf = (index: number) => (places?.configs.length === raw.length ? places.configs[index] : at);
  // A tensor that holds zeros when a launch begins must hold them at each trial.
  const zeroed = params.flatMap((param) => (param.kind === "tensor" && param.zeroed ? [param.name] : []));
  return {
    configs: raw.map((each, i) => configOf(each, placeOf(i))),
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
  const { launch = {}, doNotSpecialize = [], doNotSpecializeOnAlignment = [] } = spec;
  const options = Object.fromEntries(Object.entries(launch).filter(([, value]) => value !== undefined));
  return { options, doNotSpecialize, doNotSpecializeOnAlignment };
}

function versionOf({ name, spec: { triton }, at }: KernelDefinition): KernelIR["triton"] {
  if (triton === undefined || triton === "3.6" || triton === "3.9") return triton;
  return fail(specValue.triton(name, triton), at);
}

function specializeOf({ name, spec: { specialize = "never" }, at }: KernelDefinition): Specialize {
  return SPECIALIZE_MODES.find((each) => each === specialize) ?? fail(specValue.specialize(name, specialize), at);
}

/** The names that the spec's tables may use. */
function checkNames({ name, spec, at }: KernelDefinition, params: readonly Param[]): void {
  for (const key of Object.keys(spec.dims ?? {}))
    if (!params.some((param) => isSizeParam(param) && param.name === key)) fail(hostResult.noSize(name, key), at);
  for (const key of Object.keys(spec.heuristics ?? {})) {
    const param = params.find((other) => other.name === key);
    if (param?.kind !== "constexpr" || (param.of !== "int" && param.of !== "bool"))
      fail(heuristicTarget(name, key), at);
  }
  checkOutputTolerances(name, spec.tolerance, params.flatMap(toleratedOutput), at);
}

/** Adds what the host computes before a launch: derived sizes, launch-time constexprs and heuristics. */
function complete(param: Param, kernel: KernelDefinition, config: ComputedConfig, host: TraceHost): Param {
  if (param.kind === "size") {
    const derive = kernel.spec.dims?.[param.name];
    if (!derive) return param;
    const derived = host(derive);
    if (derived.block.yields.length !== 1 || !isInteger(derived.block.yields[0]!))
      fail(hostResult.wrongKind(kernel.name, param.name, "an integer", "; write one, such as N.mul(2)"), kernel.at);
    return { ...param, derived };
  }
  if (param.kind === "constexpr" && (param.from === "config" || param.from === "argument")) {
    const compute = config.computed[param.name];
    if (compute === undefined) return param.name in config.fixed ? { ...param, from: "config" } : param;
    const launched: ConstexprParam = { ...param, from: "launch", compute, computedByConfig: true };
    checkComputed(kernel, launched, compute);
    return launched;
  }
  if (param.kind !== "constexpr" || (param.from !== "launch" && param.from !== "heuristic")) return param;
  const described = kernel.spec.params[param.name] as ParamKindOf<"constexpr">;
  const callback = param.from === "launch" ? described.launch : kernel.spec.heuristics![param.name];
  const compute = host(callback as (meta: never) => unknown);
  checkComputed(kernel, param, compute);
  return { ...param, compute };
}

/** A computed value must be of the declared kind. */
function checkComputed({ name, at }: KernelDefinition, param: ConstexprParam, { block }: HostBlock): void {
  const type = block.yields.length === 1 ? typeOfArgument(block.yields[0]!) : undefined;
  const isBool =
    type?.kind === "constexpr" ? type.of === "bool" : type?.kind === "tile" ? type.dtype === "int1" : undefined;
  const isWanted = isBool === (param.of === "bool") && (param.of !== "int" || isInteger(block.yields[0]!));
  if (isWanted) return;
  const wanted = param.of === "bool" ? "a truth value, such as N.mod(16).eq(0)" : "an integer";
  const declared =
    param.from === "launch" && !param.computedByConfig && param.of === "int" && isBool
      ? "; declare it constexpr.launch.bool(…)"
      : "";
  fail(hostResult.wrongKind(name, param.name, wanted, declared), at);
}

/** The arguments of the author's code: that it takes a flag, or a choice of words, is noted. */
function noted(recorder: Builder, args: Readonly<Record<string, Handle>>): Record<string, Handle> {
  const watched = { ...args };
  for (const [name, handle] of Object.entries(args)) {
    const value = isHandle(handle) ? valueOf(handle) : undefined;
    if (value?.type.kind !== "constexpr" || (value.type.of !== "bool" && value.type.of !== "string")) continue;
    const get = (): Handle => {
      recorder.askFor(value);
      return isRetracingFalsy() ? new Handle(value) : handle;
    };
    Object.defineProperty(watched, name, { get, enumerable: true });
  }
  return watched;
}

/** Says of an error in a body that is entered again why it came only now. */
function explained<T>(recorder: Builder, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!recorder.entry?.again) throw error;
    const [first] = error instanceof TileScriptError ? error.diagnostics : [];
    if (first?.code === "changed-state") throw error;
    const { what, at } = recorder.entry.head;
    fail(changedState.throws(what, first?.message ?? String(error)), first?.at ?? at);
  }
}

function traceBody(
  recorder: Builder,
  kernel: KernelDefinition,
  places: SpecPlaces | undefined,
  args: () => Record<string, Handle>,
): Block {
  const { body: written = kernel.at, returned = written } = places ?? {};
  if (kernel.body.length > 1) fail(unknownName.arguments(kernel.name, Object.keys(args())), written);
  const once = (): BodyResult => {
    const { depth } = recorder;
    const result: unknown = explained(recorder, () => kernel.body(args()));
    rejectPromise(result, written);
    if (Object.prototype.toString.call(result) === "[object Generator]") fail(earlyExit.generator(), written);
    if (result !== undefined) fail(kernelResult(kernel.name), returned);
    if (recorder.depth !== depth) fail(earlyExit.left(kernel.name), kernel.at);
    return { yields: [], form: "nothing" };
  };
  const body = runBody(recorder, { what: "the kernel", kind: "kernel", at: kernel.at }, once);
  const [unused] = recorder.loops;
  if (unused) fail(loopBounds.unused(), unused.at);
  retraceBodyWithFalsyHandles(recorder, body, once);
  return body.block;
}

/** What a callback of the spec computes; `place` is where the author wrote it. */
function hostBlock(
  recorder: Builder,
  body: () => unknown,
  at: Location | undefined,
  place: Location | undefined,
): HostBlock {
  return asHost(recorder, () => {
    const asked = new Map<Value, Location | undefined>();
    const block = recorder.askingInto(asked, () => hostStatements(recorder, body, at, place));
    // JavaScript runs it once for all launches.
    const again = (): void => {
      const forget = recorder.mark();
      const second = recorder.askingInto(new Map(), () => hostStatements(recorder, body, at, place));
      forget();
      const what = "this function";
      const different = firstDifference({ params: [], block }, { params: [], block: second });
      if (!different) return;
      fail(different.at ? changedState.outside(what) : changedState.outsideResult(what), different.at ?? place);
    };
    again();
    recorder.questions.push({ again: () => asHost(recorder, again), at: place });
    checkAsked(asked, block);
    return { block, at };
  });
}

function asHost<T>(recorder: Builder, body: () => T): T {
  recorder.place = "host";
  try {
    return body();
  } finally {
    recorder.place = "kernel";
  }
}

function hostStatements(recorder: Builder, body: () => unknown, at: Location | undefined, place: Location | undefined) {
  recorder.open("the launch", at);
  const items = (asList(body()) as unknown[]).map((item) => {
    const argument = toArgument(item, place);
    if (argument === undefined) fail(hostResult.notAValue(), place);
    return argument;
  });
  return recorder.close(items);
}

/** Fails for a flag that a function of the spec asks for and does not use: JavaScript may have decided by it. */
function checkAsked(asked: ReadonlyMap<Value, Location | undefined>, block: Block): void {
  const used = new Set<Value>();
  walkUses(block, (value) => used.add(value));
  for (const [flag, place] of asked) {
    if (used.has(flag)) continue;
    const isWord = flag.type.kind === "constexpr" && flag.type.of === "string";
    fail(unusedValue.parameter(flag.parameter ?? "given", isWord), place);
  }
}

/** A list with a hole has no value there. */
function asList(x: unknown): unknown {
  return Array.isArray(x) ? Array.from(x as readonly unknown[]) : [x];
}

function isInteger(argument: Argument): boolean {
  const type = typeOfArgument(argument);
  if (type.kind === "constexpr") return type.of === "int";
  return type.kind === "tile" && type.shape.length === 0 && typeof type.dtype === "string" && isCount(type.dtype);
}

const isCount = (dtype: DTypeName): boolean => isInt(dtype) && dtype !== "int1";

/** Anything else would hold of every call, or of none. */
function checkRequirements({ name }: KernelDefinition, { block }: HostBlock, at: Location | undefined): void {
  for (const asked of block.yields) {
    const type = typeOfArgument(asked);
    const isCondition = type.kind === "constexpr" ? type.of === "bool" : type.kind === "tile" && type.dtype === "int1";
    if (!isLiteral(asked) && isCondition) continue;
    fail(hostResult.requirement(name, isLiteral(asked) ? JSON.stringify(asked.value) : showType(type)), at);
  }
}

function checkGrid(grid: HostBlock, at: Location | undefined): void {
  const axes = grid.block.yields;
  if (axes.length < 1 || axes.length > 3) fail(gridAxes.axes(axes.length), at);
  for (const axis of axes) {
    if (!isInteger(axis)) fail(gridAxes.notInteger(), at);
    if (isLiteral(axis) && Number(axis.value) < 1) fail(gridAxes.empty(axis.value), at);
  }
}
