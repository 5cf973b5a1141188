/** Runs an author's function once, with symbolic arguments, and keeps what it did as IR. */
import { fail, type Location } from "../diagnostics.js";
import { Builder, recording } from "../ir/builder.js";
import { captureLocation } from "../ir/callsite.js";
import { elemOf } from "../ir/dtype.js";
import { Handle } from "../ir/handle.js";
import type {
  Argument,
  ConstexprParam,
  HostBlock,
  KernelIR,
  Param,
  SizeParam,
  TensorParam,
  Tuning,
  Value,
} from "../ir/nodes.js";
import { toArgument, typeOfArgument } from "../ops/define.js";
import { configOf, type KernelDefinition } from "./kernel.js";
import { registerGiven, registerTensor } from "./methods.js";
import { isOptional, type ParamDescription } from "./params.js";
import { recordReference } from "./reference.js";

type Meta = Readonly<Record<string, Handle>>;
type Described<Kind extends ParamDescription["kind"]> = Extract<ParamDescription, { kind: Kind }>;

/** The program that a kernel's body, grid and other callbacks describe. */
export function trace(kernel: KernelDefinition): KernelIR {
  const recorder = new Builder();
  return recording(recorder, () => {
    recorder.open("the kernel", kernel.at);
    const params = declare(recorder, kernel);
    const args = handles(params);
    const meta = Object.fromEntries(Object.entries(args).filter(([name]) => isMeta(params, name)));
    for (const param of params) {
      if (param.kind === "tensor") registerTensor(param);
      if ((param.kind === "tensor" || param.kind === "pointer") && param.given) registerGiven(param.value, param.given);
    }
    checkBound(params, kernel);
    const host = (body: () => unknown) => hostBlock(recorder, body, kernel.at);
    const completed = params.map((param) => complete(param, kernel, (compute) => host(() => compute(meta))));
    const body = traceBody(recorder, kernel, args);
    const grid = host(() => asList(kernel.spec.grid(meta)));
    const requires = host(() => kernel.spec.requires?.(meta) ?? []);
    checkGrid(grid, kernel.at);
    recorder.close();
    const { shapes = [], tolerance, doc } = kernel.spec;
    const reference = referenceOf(kernel, params);
    const tuning = tuningOf(kernel);
    return {
      name: kernel.name,
      doc,
      params: completed,
      functions: recorder.functions,
      body,
      grid,
      requires,
      tuning,
      reference,
      shapes,
      tolerance,
      at: kernel.at,
    };
  });
}

function tuningOf({ spec, at }: KernelDefinition): Tuning {
  const { autotune, config } = spec;
  const raw = autotune?.configs ?? [config ?? {}];
  return {
    configs: raw.map((values) => configOf(values, at)),
    ...(autotune && { key: autotune.key }),
    resetToZero: autotune?.resetToZero ?? [],
    restoreValue: autotune?.restoreValue ?? [],
  };
}

function referenceOf({ spec, at }: KernelDefinition, params: readonly Param[]) {
  const names = (roles: readonly string[]) =>
    params.flatMap((param) => (param.kind === "tensor" && roles.includes(param.role) ? [param.name] : []));
  const numbers = params
    .filter((param) => param.kind !== "tensor" && param.kind !== "pointer")
    .map((param) => param.name);
  return recordReference(spec.reference, [...names(["in", "inout"]), ...numbers], names(["out", "inout"]), at);
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
      : [...sizes, ...constexprs].find((param) => param.name === name)!.value;
  const others = described.flatMap(([name, p]): Param[] => {
    if (p.kind === "tensor") return [tensorParam(recorder, name, p, p.dims.map(dim), at)];
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

function tensorParam(
  recorder: Builder,
  name: string,
  p: Described<"tensor">,
  dims: readonly Argument[],
  at: Location | undefined,
): TensorParam {
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
    from: p.launch ? "launch" : isDim ? "dim" : p.size || configured(kernel, name) ? "config" : "argument",
    ...(p.choices && { choices: p.choices }),
    ...(p.default !== undefined && { default: p.default }),
  };
}

function configured(kernel: KernelDefinition, name: string): boolean {
  return kernel.spec.autotune?.configs.some((config) => name in config) ?? name in (kernel.spec.config ?? {});
}

/** Adds what is computed on the host before a launch: derived sizes and launch-time constexprs. */
function complete(
  param: Param,
  kernel: KernelDefinition,
  host: (compute: (meta: Meta) => unknown) => HostBlock,
): Param {
  if (param.kind === "size") {
    const derive = kernel.spec.dims?.[param.name];
    return derive ? { ...param, derived: host(derive) } : param;
  }
  if (param.kind !== "constexpr" || param.from !== "launch") return param;
  const described = kernel.spec.params[param.name] as Described<"constexpr">;
  return { ...param, compute: host(described.launch as (meta: Meta) => unknown) };
}

function handles(params: readonly Param[]): Record<string, Handle> {
  return Object.fromEntries(params.map((param) => [param.name, new Handle(param.value)]));
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

function hostBlock(recorder: Builder, body: () => unknown, at: Location | undefined): HostBlock {
  recorder.place = "host";
  try {
    recorder.open("the launch", at);
    const given = body();
    const items = (asList(given) as unknown[]).map((item) => {
      const argument = toArgument(item);
      if (argument === undefined)
        fail(
          "host",
          "this callback returns something else than sizes, constexprs and numbers",
          captureLocation() ?? at,
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
  }
}
