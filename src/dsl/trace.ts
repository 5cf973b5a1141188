/** Runs an author's function once, with symbolic arguments, and keeps what it did as IR. */
import { fail, type Location, TileScriptError } from "../diagnostics.js";
import { Builder, recording } from "../ir/builder.js";
import { type DType, dtype as dtypeVariable, type DTypeVariable, elemOf } from "../ir/dtype.js";
import { Handle } from "../ir/handle.js";
import {
  type Argument,
  type ConstexprParam,
  type HostBlock,
  isLiteral,
  type KernelIR,
  type LaunchSpec,
  type Param,
  type SizeParam,
  type TensorParam,
  type Tuning,
  type Value,
} from "../ir/nodes.js";
import { typeOfArgument } from "../ir/types.js";
import { toArgument } from "../ops/define.js";
import type { TorchNode } from "../ir/reference.js";
import { chosenFunction } from "./choice.js";
import type { SpecPlaces } from "../ir/source.js";
import { configOf, type KernelDefinition, type RawSpec } from "./kernel.js";
import { registerGiven, registerTensor } from "./methods.js";
import { isOptional, type ParamDescription } from "./params.js";
import { recordInputs, recordReference } from "./reference.js";
import { checkShapes, checkSpec } from "./spec.js";

type Meta = Readonly<Record<string, Handle>>;
type Described<Kind extends ParamDescription["kind"]> = Extract<ParamDescription, { kind: Kind }>;

/** The program that a kernel's body, grid and other callbacks describe. `places` say where its parts are written. */
export function trace(kernel: KernelDefinition, places?: SpecPlaces): KernelIR {
  const recorder = new Builder();
  const placeOf = (part: keyof RawSpec) => places?.parts[part] ?? kernel.at;
  checkSpec(kernel, placeOf);
  return recording(recorder, () => {
    recorder.open("the kernel", kernel.at);
    const params = declare(recorder, kernel);
    const args = handles(kernel, params);
    const meta = Object.fromEntries(Object.entries(args).filter(([name]) => isMeta(params, name)));
    for (const param of params) {
      if (param.kind === "tensor") registerTensor(param);
      if ((param.kind === "tensor" || param.kind === "pointer") && param.given) registerGiven(param.value, param.given);
    }
    checkBound(params, kernel);
    checkRanges(params, kernel);
    const host = (body: () => unknown, place = kernel.at) => hostBlock(recorder, body, kernel.at, place);
    const completed = params.map((param) => complete(param, kernel, (compute) => host(() => compute(meta))));
    checkShapes(kernel, completed, placeOf("shapes"));
    const body = traceBody(recorder, kernel, args);
    const grid = host(() => asList(kernel.spec.grid(meta)), placeOf("grid"));
    const requires = host(() => kernel.spec.requires?.(meta) ?? [], placeOf("requires"));
    checkGrid(grid, placeOf("grid"));
    recorder.close();
    const { shapes = [], tolerance, doc } = kernel.spec;
    checkNames(kernel, params);
    const reference = recorded(kernel, kernel.spec.reference, params, placeOf("reference"));
    const inputs = inputsOf(kernel, params, placeOf("inputs"));
    const tuning = tuningOf(kernel, completed, places);
    return {
      name: kernel.name,
      doc,
      params: completed,
      functions: recorder.functions,
      body,
      grid,
      requires,
      tuning,
      launch: launchOf(kernel),
      triton: versionOf(kernel),
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

function tuningOf({ spec, at }: KernelDefinition, params: readonly Param[], places: SpecPlaces | undefined): Tuning {
  const { autotune, config } = spec;
  const raw = autotune?.configs ?? [config ?? {}];
  const placeOf = (index: number) => (places?.configs.length === raw.length ? places.configs[index] : at);
  // What holds zeros when a launch begins must hold them at each trial.
  const zeroed = params.flatMap((param) => (param.kind === "tensor" && param.zeroed ? [param.name] : []));
  return {
    configs: raw.map((values, i) => configOf(values, placeOf(i))),
    ...(autotune && { key: autotune.key }),
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
  return fail("kernel", `${name}: triton is ${JSON.stringify(triton)}; it is "3.6" or "3.9"`, at);
}

/** Names that the spec's tables may hold. */
function checkNames({ name, spec, at }: KernelDefinition, params: readonly Param[]): void {
  for (const key of Object.keys(spec.heuristics ?? {})) {
    const param = params.find((other) => other.name === key);
    if (param?.kind !== "constexpr" || (param.of !== "int" && param.of !== "bool"))
      fail(
        "heuristics",
        `${name}: heuristics names ${key}, which is no constexpr() and no constexpr.bool() of params`,
        at,
      );
  }
}

function providersOf(
  kernel: KernelDefinition,
  params: readonly Param[],
  at: Location | undefined,
): KernelIR["providers"] {
  const made = Object.entries(kernel.spec.providers ?? {}).map(([name, author]) => {
    if (!/^[A-Za-z_]\w*$/.test(name))
      fail("providers", `${kernel.name}: the provider ${name} cannot be a Python name`, at);
    if (RESERVED_PROVIDERS.includes(name))
      fail("providers", `${kernel.name}: ${name} is measured anyway; give the provider another name`, at);
    try {
      return [name, recorded(kernel, author, params, at)!] as const;
    } catch (error) {
      // It is recorded as a reference is, whose messages say "reference".
      if (!(error instanceof TileScriptError)) throw error;
      const say = (message: string) => message.replace(/^reference:/, `${kernel.name}: the provider ${name}`);
      throw new TileScriptError(error.diagnostics.map((each) => ({ ...each, message: say(each.message) })));
    }
  });
  return Object.fromEntries(made);
}
const RESERVED_PROVIDERS = ["kernel", "eager"];

function recorded(
  { spec }: KernelDefinition,
  author: typeof spec.reference,
  params: readonly Param[],
  at: Location | undefined,
) {
  const numbers = params.filter((param) => param.kind !== "tensor" && param.kind !== "pointer");
  const given = {
    tensors: tensorNames(params, ["in", "inout"]),
    numbers: numbers.map(({ name }) => name),
    variables: variablesOf(params),
  };
  return recordReference(author, given, tensorNames(params, ["out", "inout"]), at);
}

/** Inputs are made before a config is chosen. */
function inputsOf({ spec }: KernelDefinition, params: readonly Param[], at: Location | undefined) {
  if (!spec.inputs) return {};
  const early = (param: Param) =>
    param.kind === "size" ||
    param.kind === "scalar" ||
    (param.kind === "constexpr" && (param.from === "dim" || param.from === "argument"));
  const numbers = params.filter(early).map(({ name }) => name);
  return recordInputs(spec.inputs, { tensors: [], numbers }, tensorNames(params, ["in", "inout"]), at);
}

function tensorNames(params: readonly Param[], roles: readonly string[]): readonly string[] {
  return params.flatMap((param) => (param.kind === "tensor" && roles.includes(param.role) ? [param.name] : []));
}

/** How a reference reads each dtype variable: an argument that names it, or the dtype of an input. */
export function variablesOf(params: readonly Param[]): Readonly<Record<string, TorchNode>> {
  const found: Record<string, TorchNode> = {};
  for (const param of params)
    if (param.kind === "tensor" && param.role !== "out" && typeof param.dtype !== "string")
      found[param.dtype.name] ??= { kind: "attribute", of: { kind: "input", name: param.name }, name: "dtype" };
  for (const param of params)
    if (param.kind === "constexpr" && param.variable) found[param.variable.name] = { kind: "input", name: param.name };
  return found;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

function declare(recorder: Builder, kernel: KernelDefinition): Param[] {
  const described = Object.entries(kernel.spec.params);
  const at = kernel.at;
  const constexprs = described.flatMap(([name, p]) =>
    p.kind === "constexpr" ? [constexprParam(recorder, kernel, name, p)] : [],
  );
  const sizes = sizeNames(kernel).map((name): SizeParam => ({
    kind: "size",
    name,
    value: recorder.value({ kind: "tile", dtype: "int32", shape: [] }, at, name),
  }));
  const dim = (name: string | number): Argument =>
    typeof name === "number"
      ? { kind: "literal", value: name }
      : ([...sizes, ...constexprs].find((param) => param.name === name)?.value ?? takenName(kernel, name));
  const others = described.flatMap(([name, p]): Param[] => {
    if (p.kind === "tensor" && p.block)
      return [descriptorParam(recorder, kernel, name, p, p.dims.map(dim), constexprs)];
    if (p.kind === "tensor") return [tensorParam(recorder, kernel, name, p, p.dims.map(dim))];
    if (p.kind === "constexpr") return [];
    const dtype = elemOf(p.dtype);
    if (p.kind === "pointer")
      return [
        {
          kind: "pointer",
          name,
          dtype,
          value: recorder.value({ kind: "pointer", to: dtype, shape: [], access: "inout" }, at, name),
          ...(isOptional(p) && { given: givenValue(recorder, name, at) }),
        },
      ];
    const value = recorder.value({ kind: "tile", dtype, shape: [] }, at, name);
    return [{ kind: "scalar", name, dtype, value, ...(p.default !== undefined && { default: p.default }) }];
  });
  return [...others, ...sizes, ...constexprs];
}

/** A dim that is also called as something else than a size. */
function takenName({ name, spec, at }: KernelDefinition, dim: string): never {
  return fail("param", `${name}: ${dim} is a ${spec.params[dim]!.kind} and a size of a tensor; rename one`, at);
}

/** Sizes in order of first use: every name among the dims that is not a constexpr. */
function sizeNames(kernel: KernelDefinition): string[] {
  const names = new Set<string>();
  for (const p of Object.values(kernel.spec.params))
    if (p.kind === "tensor")
      for (const dim of p.dims) if (typeof dim === "string" && !(dim in kernel.spec.params)) names.add(dim);
  return [...names];
}

/** A size is read off a tensor that is always there. */
function checkBound(params: readonly Param[], kernel: KernelDefinition): void {
  const tensors = params.filter((param) => param.kind === "tensor");
  const bound = new Set(tensors.flatMap((param) => (param.optional ? [] : param.dimNames)));
  for (const { optional, name, dimNames } of tensors)
    for (const dim of optional ? dimNames : [])
      if (typeof dim === "string" && !bound.has(dim) && !(dim in (kernel.spec.dims ?? {})))
        fail(
          "param",
          `${kernel.name}: ${dim} is a dim of ${name} alone, which may be left out; another tensor must have it, or dims say how it is computed`,
          kernel.at,
        );
}

/** A range ends at numbers, and at sizes that are known when inputs are made. */
function checkRanges(params: readonly Param[], { name: kernel, spec }: KernelDefinition): void {
  const known = params.filter((param) => param.kind === "size" || (param.kind === "constexpr" && param.from === "dim"));
  const names = known.map(({ name }) => name);
  for (const [name, described] of Object.entries(spec.params)) {
    if (described.kind !== "tensor") continue;
    for (const bound of described.options.range ?? [])
      if (typeof bound === "string" && !names.includes(bound))
        fail(
          "param",
          `${kernel}: the range of ${name} names ${bound}, which is no size of a tensor; those are ${names.join(", ")}`,
          described.at,
        );
  }
}

function tensorParam(
  recorder: Builder,
  { spec, at }: KernelDefinition,
  name: string,
  p: Described<"tensor">,
  dims: readonly Argument[],
): TensorParam {
  // A trial that begins with zeros says that a launch does.
  const zeroed = p.options.zeroed ?? (p.role === "out" && (spec.autotune?.resetToZero ?? []).includes(name));
  const dtype = elemOf(p.dtype);
  const contiguous = p.options.contiguous ?? false;
  const offsets = p.options.offsets ? (elemOf(p.options.offsets) as "int32" | "int64") : "int32";
  const access = p.role;
  const optional = isOptional(p);
  const rank = dims.length;
  const strides = dims.map((_, axis): Argument => {
    if (contiguous && axis === rank - 1) return { kind: "literal", value: 1 };
    if (contiguous && axis === rank - 2) return dims[rank - 1]!;
    return recorder.value({ kind: "tile", dtype: "int32", shape: [] }, at, `${name}.stride(${axis})`);
  });
  return {
    kind: "tensor",
    name,
    value: recorder.value({ kind: "tensor", to: dtype, dims: p.dims, access }, at, name),
    pointer: recorder.value({ kind: "pointer", to: dtype, shape: [], access }, at, `${name}.ptr`),
    strides,
    dims,
    dimNames: p.dims,
    dtype,
    role: p.role,
    optional,
    ...(optional && { given: givenValue(recorder, name, at) }),
    contiguous,
    offsets,
    ...(p.options.range && { range: p.options.range }),
    ...(zeroed && { zeroed: true }),
  };
}

/** A tensor that comes as a descriptor: made by the wrapper, its block set once a config is chosen. */
function descriptorParam(
  recorder: Builder,
  { name: kernel, at }: KernelDefinition,
  name: string,
  { dtype: token, dims: dimNames, block = [], paddingOption, role }: Described<"tensor">,
  dims: readonly Argument[],
  constexprs: readonly ConstexprParam[],
): TensorParam {
  const blockDims = block.map((dim): Argument => {
    if (typeof dim === "number") return { kind: "literal", value: dim };
    const param = constexprs.find((each) => each.name === dim);
    if (param?.of === "int" && param.from !== "heuristic") return param.value;
    const why =
      param?.from === "heuristic" ? "which is computed once the config is chosen" : "which is no constexpr() of params";
    return fail("param", `${kernel}: the block of ${name} names ${dim}, ${why}`, at);
  });
  const dtype = elemOf(token);
  const value = recorder.value({ kind: "descriptor", to: dtype, shape: block, access: role }, at, name);
  return {
    kind: "tensor",
    name,
    value,
    pointer: value,
    strides: [],
    dims,
    dimNames,
    dtype,
    role,
    optional: false,
    contiguous: false,
    offsets: "int64",
    block: blockDims,
    ...(paddingOption && { padding: paddingOption }),
  };
}

/** Whether the caller gave an argument: Triton knows it when it compiles. */
function givenValue(recorder: Builder, name: string, at: Location | undefined): Value {
  return recorder.value({ kind: "constexpr", of: "bool", text: `${name}.given` }, at, `${name}.given`);
}

function constexprParam(
  recorder: Builder,
  kernel: KernelDefinition,
  name: string,
  p: Described<"constexpr">,
): ConstexprParam {
  const isDim = Object.values(kernel.spec.params).some((q) => q.kind === "tensor" && q.dims.includes(name));
  return {
    kind: "constexpr",
    name,
    value: recorder.value({ kind: "constexpr", of: p.of, text: name }, kernel.at, name),
    of: p.of,
    from: p.launch
      ? "launch"
      : name in (kernel.spec.heuristics ?? {})
        ? "heuristic"
        : isDim
          ? "dim"
          : p.size || configured(kernel, name)
            ? "config"
            : "argument",
    ...(p.choices && { choices: p.choices }),
    ...(p.dtype && { variable: variableOf(name, p.dtype), choices: variableOf(name, p.dtype).members }),
    ...(p.default !== undefined && { default: p.default }),
  };
}

function configured(kernel: KernelDefinition, name: string): boolean {
  return kernel.spec.autotune?.configs.some((config) => name in config) ?? name in (kernel.spec.config ?? {});
}

/** The dtype variable behind a constexpr: the author's, or one that has the param's name. */
function variableOf(name: string, dtype: NonNullable<Described<"constexpr">["dtype"]>): DTypeVariable {
  return elemOf(tokenOf(name, dtype)) as DTypeVariable;
}

function tokenOf(name: string, dtype: NonNullable<Described<"constexpr">["dtype"]>): DType<any> {
  return "name" in dtype ? dtype : dtypeVariable(name, dtype);
}

/** Adds what is computed on the host before a launch: derived sizes, launch-time constexprs and heuristics. */
function complete(
  param: Param,
  kernel: KernelDefinition,
  host: (compute: (meta: Meta) => unknown) => HostBlock,
): Param {
  if (param.kind === "size") {
    const derive = kernel.spec.dims?.[param.name];
    return derive ? { ...param, derived: host(derive) } : param;
  }
  if (param.kind !== "constexpr" || (param.from !== "launch" && param.from !== "heuristic")) return param;
  const described = kernel.spec.params[param.name] as Described<"constexpr">;
  const callback = param.from === "launch" ? described.launch : kernel.spec.heuristics![param.name];
  const compute = host(callback as (meta: Meta) => unknown);
  checkComputed(kernel, param, compute);
  return { ...param, compute };
}

/** What is computed must be of the kind that was declared. */
function checkComputed({ name, at }: KernelDefinition, param: ConstexprParam, { block }: HostBlock): void {
  const type = block.yields.length === 1 ? typeOfArgument(block.yields[0]!) : undefined;
  const isBool =
    type?.kind === "constexpr" ? type.of === "bool" : type?.kind === "tile" ? type.dtype === "int1" : undefined;
  if (isBool === (param.of === "bool")) return;
  const wanted = param.of === "bool" ? "a truth value, such as N.mod(16).eq(0)" : "an integer";
  const declared =
    param.from === "launch" && param.of === "int" && isBool ? "; declare it constexpr.launch.bool(…)" : "";
  fail("host", `${name}: what computes ${param.name} must give ${wanted}${declared}`, at);
}

/** What the body gets for each param: a dtype is a token, a chosen function a function, all else a handle. */
function handles(kernel: KernelDefinition, params: readonly Param[]): Record<string, Handle> {
  return Object.fromEntries(
    params.map((param) => {
      const handle = new Handle(param.value);
      const described = kernel.spec.params[param.name];
      if (described?.kind !== "constexpr") return [param.name, handle];
      const { dtype, functions } = described;
      // Handles, functions and dtypes are told apart wherever an argument may be any of them.
      const other = dtype ? tokenOf(param.name, dtype) : functions ? chosenFunction(handle, functions) : handle;
      return [param.name, other as unknown as Handle];
    }),
  );
}

/** Whether a grid or a requirement may look at it: sizes, scalars and constexprs. */
function isMeta(params: readonly Param[], name: string): boolean {
  const param = params.find((p) => p.name === name);
  return param !== undefined && param.kind !== "tensor" && param.kind !== "pointer";
}

// ---- callbacks ------------------------------------------------------------------------------------------------------

function traceBody(recorder: Builder, kernel: KernelDefinition, args: Record<string, Handle>) {
  recorder.open("the kernel", kernel.at);
  const depth = recorder.depth;
  const result: unknown = kernel.body(args);
  if (result !== undefined)
    fail(
      "kernel-result",
      `${kernel.name}: the kernel's function returns something; a kernel returns nothing and stores its results`,
      kernel.at,
    );
  if (recorder.depth !== depth) fail("early-exit", `${kernel.name}: a traced loop was left early`, kernel.at);
  return recorder.close();
}

/** What a callback of the spec computes; `place` is where it is written. */
function hostBlock(
  recorder: Builder,
  body: () => unknown,
  at: Location | undefined,
  place: Location | undefined,
): HostBlock {
  recorder.place = "host";
  try {
    recorder.open("the launch", at);
    const given = body();
    const items = (asList(given) as unknown[]).map((item) => {
      const argument = toArgument(item);
      if (argument === undefined)
        fail(
          "host",
          "this callback returns something else than sizes, constexprs and numbers; compute it from them",
          place,
        );
      return argument;
    });
    return { block: recorder.close(items), at };
  } finally {
    recorder.place = "kernel";
  }
}

function asList(x: unknown): unknown {
  return Array.isArray(x) ? x : [x];
}

function checkGrid(grid: HostBlock, at: Location | undefined): void {
  const axes = grid.block.yields;
  if (axes.length < 1 || axes.length > 3) fail("grid", `grid: has ${axes.length} axes; give one, two or three`, at);
  for (const axis of axes) {
    const type = typeOfArgument(axis);
    const isInt = type.kind === "constexpr" ? type.of === "int" : type.kind === "tile" && type.shape.length === 0;
    if (!isInt) fail("grid", "grid: an axis is a number of programs, an integer", at);
    if (isLiteral(axis) && Number(axis.value) < 1)
      fail("grid", `grid: ${axis.value} programs compute nothing; give 1 or more`, at);
  }
}
