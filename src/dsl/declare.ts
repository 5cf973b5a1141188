/** A kernel's params, as its IR holds them and as its body gets them. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { allOptional, descriptorBlock, optionalDim, paramDims, paramName } from "../diagnostics/catalog/param-codes.js";
import type { Builder } from "../ir/builder.js";
import { type DType, dtype as dtypeVariable, type DTypeVariable, elemOf } from "../types/dtype.js";
import { Handle } from "../ir/handle.js";
import {
  type Argument,
  type ConstexprParam,
  isLiteral,
  isMemoryParam,
  isSizeParam,
  type Param,
  type SizeParam,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { chosenFunction } from "./constexpr-function.js";
import { type KernelDefinition, rawConfigs } from "./definition.js";
import { isOptional, type ParamDescription } from "./params.js";
import { sharingStrides } from "./shared-strides.js";

/** What an author declared with a builder of this kind. */
export type ParamKindOf<Kind extends ParamDescription["kind"]> = Extract<ParamDescription, { kind: Kind }>;

/** A kernel's params: tensors, pointers and scalars in the author's order, then sizes, then constexprs. */
export function declare(recorder: Builder, kernel: KernelDefinition): readonly Param[] {
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
          ...(p.numel !== undefined && { numel: numelOf(kernel, p, name, [...sizes, ...constexprs]) }),
          ...(isOptional(p) && { given: givenValue(recorder, name, at) }),
        },
      ];
    const value = recorder.value({ kind: "tile", dtype, shape: [] }, at, name);
    return [{ kind: "scalar", name, dtype, value, ...(p.default !== undefined && { default: p.default }) }];
  });
  const params = [...sharingStrides(kernel, others), ...sizes, ...constexprs];
  checkOptional(params, kernel);
  return params;
}

/** How many elements lie behind a pointer at least. */
function numelOf(
  { name: kernel }: KernelDefinition,
  { numel, at }: ParamKindOf<"pointer">,
  name: string,
  params: readonly (SizeParam | ConstexprParam)[],
): Value | number {
  if (typeof numel === "number") return numel;
  const known = params.filter(isSizeParam);
  const names = known.map((param) => param.name);
  return known.find((param) => param.name === numel)?.value ?? fail(paramDims.numel(kernel, name, numel!, names), at);
}

/** Fails because a dim has the name of a param that is not a size. */
function takenName({ name, spec, at }: KernelDefinition, dim: string): never {
  return fail(paramName.taken(name, dim, spec.params[dim]!.kind), at);
}

/** Sizes in order of first use: every name among the dims that is not a constexpr. */
function sizeNames(kernel: KernelDefinition): string[] {
  const names = new Set<string>();
  for (const p of Object.values(kernel.spec.params))
    if (p.kind === "tensor")
      for (const dim of p.dims) if (typeof dim === "string" && !(dim in kernel.spec.params)) names.add(dim);
  return [...names];
}

/** A size is 0 where all that have it are left out, which a constexpr, the dimension of tiles, cannot be. */
function checkOptional(params: readonly Param[], { name: kernel, spec, at }: KernelDefinition): void {
  const tensors = params.filter((param) => param.kind === "tensor");
  const bound = new Set(tensors.flatMap((param) => (param.optional ? [] : param.dimNames)));
  for (const { optional, role, name, dimNames } of tensors) {
    const dim = dimNames.find((each) => each in spec.params && !bound.has(each));
    const described = spec.params[name];
    const place = (described?.kind === "tensor" && described.at) || at;
    if (optional && role !== "out" && dim !== undefined) fail(optionalDim(kernel, dim, name), place);
  }
  const [written] = tensors.filter(({ role }) => role !== "in");
  if (written && tensors.every(({ optional }) => optional)) fail(allOptional(kernel), at);
}

function tensorParam(
  recorder: Builder,
  { spec, at }: KernelDefinition,
  name: string,
  p: ParamKindOf<"tensor">,
  dims: readonly Argument[],
): TensorParam {
  // If autotuning resets the tensor to zero before each trial, launches begin with zeros too.
  const zeroed = p.options.zeroed ?? (p.role === "out" && (spec.autotune?.resetToZero ?? []).includes(name));
  const dtype = elemOf(p.dtype);
  const contiguous = p.options.contiguous ?? false;
  const offsets = p.options.offsets ? (elemOf(p.options.offsets) as "int32" | "int64") : "int32";
  const access = p.role;
  const optional = isOptional(p);
  const strides = dims.map((_, axis): Argument => {
    if (contiguous) return productOf(dims.slice(axis + 1));
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
    ...(zeroed && { zeroed: true }),
  };
}

/** A product of sizes: a number where all are, the only one that is not 1, or the list of its factors. */
function productOf(sizes: readonly Argument[]): Argument {
  const number = sizes.reduce((product, size) => (isLiteral(size) ? product * Number(size.value) : product), 1);
  const others = sizes.filter((size) => !isLiteral(size));
  const factors = [...others, ...(number === 1 ? [] : [{ kind: "literal", value: number } as const])];
  return factors.length > 1 ? factors : (factors[0] ?? { kind: "literal", value: 1 });
}

/** A tensor that the wrapper makes a descriptor of. The chosen config sets its block. */
function descriptorParam(
  recorder: Builder,
  { name: kernel, at }: KernelDefinition,
  name: string,
  { dtype: token, dims: dimNames, block = [], paddingOption, role }: ParamKindOf<"tensor">,
  dims: readonly Argument[],
  constexprs: readonly ConstexprParam[],
): TensorParam {
  const blockDims = block.map((dim): Argument => {
    if (typeof dim === "number") return { kind: "literal", value: dim };
    const param = constexprs.find((each) => each.name === dim);
    if (param?.of === "int" && param.from !== "heuristic") return param.value;
    const form = param?.from === "heuristic" ? "heuristic" : "notConstexpr";
    return fail(descriptorBlock[form](kernel, name, dim), at);
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

/** Whether the caller gave an argument. Triton knows this when it compiles. */
function givenValue(recorder: Builder, name: string, at: Location | undefined): Value {
  return recorder.value({ kind: "constexpr", of: "bool", text: `${name}.given` }, at, `${name}.given`);
}

function constexprParam(
  recorder: Builder,
  kernel: KernelDefinition,
  name: string,
  p: ParamKindOf<"constexpr">,
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
  const { autotune, config = {} } = kernel.spec;
  if (autotune) return rawConfigs(autotune).some(({ raw }) => name in raw);
  // What a function gives is known once it has run.
  return typeof config !== "function" && name in config;
}

/** The dtype variable behind a constexpr: the author's, or one with the param's name. */
function variableOf(name: string, dtype: NonNullable<ParamKindOf<"constexpr">["dtype"]>): DTypeVariable {
  return elemOf(tokenOf(name, dtype)) as DTypeVariable;
}

function tokenOf(name: string, dtype: NonNullable<ParamKindOf<"constexpr">["dtype"]>): DType<any> {
  return "name" in dtype ? dtype : dtypeVariable(name, dtype);
}

/** What the body gets for each param: a token for a dtype, a function for a chosen function, else a handle. */
export function handles(kernel: KernelDefinition, params: readonly Param[]): Record<string, Handle> {
  return Object.fromEntries(
    params.map((param) => {
      const handle = new Handle(param.value);
      const described = kernel.spec.params[param.name];
      if (described?.kind !== "constexpr") return [param.name, handle];
      const { dtype, functions } = described;
      // Every reader of an argument tells handles, functions and dtypes apart.
      const other = dtype ? tokenOf(param.name, dtype) : functions ? chosenFunction(handle, functions) : handle;
      return [param.name, other as unknown as Handle];
    }),
  );
}

/** Whether a grid or a requirement may use it: sizes, scalars and constexprs. */
export function isHostVisible(params: readonly Param[], name: string): boolean {
  const param = params.find((p) => p.name === name);
  return param !== undefined && !isMemoryParam(param) && param.kind !== "device";
}
