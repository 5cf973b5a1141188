/** A kernel's params: as IR, and as handles for the body. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { specValue } from "../diagnostics/catalog/definition-codes.js";
import { allOptional, descriptorBlock, optionalDim, paramDims, paramName } from "../diagnostics/catalog/param-codes.js";
import { type Builder, builder } from "../ir/builder.js";
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
import { type KernelDefinition, rawConfigs } from "./definition.js";
import { isOptional, type ParamDescription } from "./params.js";
import { definitionOfHelper } from "../ops/helper.js";
import { when } from "./branches.js";

/** The description of a param of this kind. */
export type DescriptionOf<Kind extends ParamDescription["kind"]> = Extract<ParamDescription, { kind: Kind }>;

/** A kernel's params: tensors, pointers and scalars in the author's order, then sizes, then constexprs. */
export function declareParams(recorder: Builder, kernel: KernelDefinition): readonly Param[] {
  const descriptions = Object.entries(kernel.spec.params);
  const location = kernel.at;
  const constexprs = descriptions.flatMap(([name, p]) =>
    p.kind === "constexpr" ? [constexprParam(recorder, kernel, name, p)] : [],
  );
  const sizes = sizeNames(kernel).map((name): SizeParam => ({
    kind: "size",
    name,
    value: recorder.value({ kind: "tile", dtype: "int32", shape: [] }, location, name),
  }));
  const dimArgument = (name: string | number): Argument =>
    typeof name === "number"
      ? { kind: "literal", value: name }
      : ([...sizes, ...constexprs].find((param) => param.name === name)?.value ?? failOnNonSizeDim(kernel, name));
  const argumentParams = descriptions.flatMap(([name, p]): Param[] => {
    if (p.kind === "tensor" && p.block)
      return [descriptorParam(recorder, kernel, name, p, p.dims.map(dimArgument), constexprs)];
    if (p.kind === "tensor") return [tensorParam(recorder, kernel, name, p, p.dims.map(dimArgument))];
    if (p.kind === "constexpr") return [];
    const dtype = elemOf(p.dtype);
    if (p.kind === "pointer")
      return [
        {
          kind: "pointer",
          name,
          dtype,
          value: recorder.value({ kind: "pointer", to: dtype, shape: [], access: "inout" }, location, name),
          ...(p.numel !== undefined && { numel: numelOf(kernel, name, p.numel, p.at, [...sizes, ...constexprs]) }),
          ...(p.zeroed && { zeroed: true }),
          ...(isOptional(p) && { given: presenceFlag(recorder, name, location) }),
        },
      ];
    const value = recorder.value({ kind: "tile", dtype, shape: [] }, location, name);
    return [{ kind: "scalar", name, dtype, value, ...(p.default !== undefined && { default: p.default }) }];
  });
  const params = [...shareStrides(kernel, argumentParams), ...sizes, ...constexprs];
  checkOptionalTensors(params, kernel);
  return params;
}

/** Replaces the strides of each tensor in a group by those of the group's first tensor. */
function shareStrides(
  { name: kernel, spec, at: location }: KernelDefinition,
  params: readonly Param[],
): readonly Param[] {
  const firstOfGroup = new Map<string, TensorParam>();
  for (const group of spec.sameStrides ?? []) {
    const tensors = group.map((name, i) => {
      const param = params.find((tensor) => tensor.name === name);
      const isDuplicate = firstOfGroup.has(name) || group.indexOf(name) < i;
      const why = isDuplicate ? "which is listed twice" : whyNotStrided(param);
      return why === "" ? (param as TensorParam) : fail(specValue.sameStrides(kernel, name, why), location);
    });
    const [first, ...others] = tensors;
    if (!first) continue;
    for (const param of [first, ...others]) {
      if (param.dimNames.join() !== first.dimNames.join())
        fail(specValue.sameStrides(kernel, param.name, `whose dims are not those of ${first.name}`), location);
      firstOfGroup.set(param.name, first);
    }
  }
  return params.map((param) => {
    const first = param.kind === "tensor" ? firstOfGroup.get(param.name) : undefined;
    return first ? ({ ...param, strides: first.strides } as Param) : param;
  });
}

function whyNotStrided(param: Param | undefined): string {
  if (param?.kind !== "tensor") return "which is not a tensor";
  if (param.block) return "whose strides its descriptor has";
  if (param.optional) return "which may be absent";
  return param.contiguous ? "whose strides are sizes, as it is contiguous" : "";
}

/** The minimum number of elements behind a pointer. */
function numelOf(
  { name: kernel }: KernelDefinition,
  name: string,
  numel: number | string,
  location: Location | undefined,
  params: readonly (SizeParam | ConstexprParam)[],
): Value | number {
  if (typeof numel === "number") return numel;
  const sizes = params.filter(isSizeParam);
  const names = sizes.map((param) => param.name);
  return (
    sizes.find((param) => param.name === numel)?.value ?? fail(paramDims.numel(kernel, name, numel, names), location)
  );
}

/** Fails because a dim has the name of a param that is not a size. */
function failOnNonSizeDim({ name, spec, at: location }: KernelDefinition, dim: string): never {
  return fail(paramName.taken(name, dim, spec.params[dim]!.kind), location);
}

/** Sizes in order of first use: every name among the dims that is not a constexpr. */
function sizeNames(kernel: KernelDefinition): string[] {
  const names = new Set<string>();
  for (const p of Object.values(kernel.spec.params))
    if (p.kind === "tensor")
      for (const dim of p.dims) if (typeof dim === "string" && !(dim in kernel.spec.params)) names.add(dim);
  return [...names];
}

/** A size is 0 if all tensors with it are omitted. A constexpr cannot be 0, because it is a dim of tiles. */
function checkOptionalTensors(
  params: readonly Param[],
  { name: kernel, spec, at: kernelLocation }: KernelDefinition,
): void {
  const tensors = params.filter((param) => param.kind === "tensor");
  const boundDims = new Set(tensors.flatMap((param) => (param.optional ? [] : param.dimNames)));
  for (const { optional, role, name, dimNames } of tensors) {
    const dim = dimNames.find((each) => each in spec.params && !boundDims.has(each));
    const description = spec.params[name];
    const location = (description?.kind === "tensor" && description.at) || kernelLocation;
    if (optional && role !== "out" && dim !== undefined) fail(optionalDim(kernel, dim, name), location);
  }
  const [writtenTensor] = tensors.filter(({ role }) => role !== "in");
  if (writtenTensor && tensors.every(({ optional }) => optional)) fail(allOptional(kernel), kernelLocation);
}

function tensorParam(
  recorder: Builder,
  { spec, at: location }: KernelDefinition,
  name: string,
  p: DescriptionOf<"tensor">,
  dims: readonly Argument[],
): TensorParam {
  // Autotuning resets the tensor to zero before each trial, so every launch must start with zeros too.
  const zeroed = p.options.zeroed ?? (p.role === "out" && (spec.autotune?.resetToZero ?? []).includes(name));
  const dtype = elemOf(p.dtype);
  const contiguous = p.options.contiguous ?? false;
  const offsets = p.options.offsets ? (elemOf(p.options.offsets) as "int32" | "int64") : "int32";
  const access = p.role;
  const optional = isOptional(p);
  const strides = dims.map((_, axis): Argument => {
    if (contiguous) return productOf(dims.slice(axis + 1));
    return recorder.value({ kind: "tile", dtype: "int32", shape: [] }, location, `${name}.stride(${axis})`);
  });
  return {
    kind: "tensor",
    name,
    value: recorder.value({ kind: "tensor", to: dtype, dims: p.dims, access }, location, name),
    pointer: recorder.value({ kind: "pointer", to: dtype, shape: [], access }, location, `${name}.ptr`),
    strides,
    dims,
    dimNames: p.dims,
    dtype,
    role: p.role,
    optional,
    ...(optional && { given: presenceFlag(recorder, name, location) }),
    contiguous,
    offsets,
    ...(zeroed && { zeroed: true }),
  };
}

/** The product of sizes: one argument if at most one factor is not 1, else the list of factors. */
function productOf(sizes: readonly Argument[]): Argument {
  const constantFactor = sizes.reduce((product, size) => (isLiteral(size) ? product * Number(size.value) : product), 1);
  const symbolicSizes = sizes.filter((size) => !isLiteral(size));
  const factors = [
    ...symbolicSizes,
    ...(constantFactor === 1 ? [] : [{ kind: "literal", value: constantFactor } as const]),
  ];
  return factors.length > 1 ? factors : (factors[0] ?? { kind: "literal", value: 1 });
}

/** A tensor that the wrapper passes as a descriptor. The chosen config sets its block shape. */
function descriptorParam(
  recorder: Builder,
  { name: kernel, at: location }: KernelDefinition,
  name: string,
  { dtype: dtypeToken, dims: dimNames, block = [], paddingOption, role }: DescriptionOf<"tensor">,
  dims: readonly Argument[],
  constexprs: readonly ConstexprParam[],
): TensorParam {
  const blockDims = block.map((dim): Argument => {
    if (typeof dim === "number") return { kind: "literal", value: dim };
    const param = constexprs.find((each) => each.name === dim);
    if (param?.of === "int" && param.from !== "heuristic") return param.value;
    const form = param?.from === "heuristic" ? "heuristic" : "notConstexpr";
    return fail(descriptorBlock[form](kernel, name, dim), location);
  });
  const dtype = elemOf(dtypeToken);
  const value = recorder.value({ kind: "descriptor", to: dtype, shape: block, access: role }, location, name);
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

/** A constexpr that is true if the caller passed the optional argument. */
function presenceFlag(recorder: Builder, name: string, location: Location | undefined): Value {
  return recorder.value({ kind: "constexpr", of: "bool", text: `${name}.given` }, location, `${name}.given`);
}

function constexprParam(
  recorder: Builder,
  kernel: KernelDefinition,
  name: string,
  p: DescriptionOf<"constexpr">,
): ConstexprParam {
  return {
    kind: "constexpr",
    name,
    value: recorder.value({ kind: "constexpr", of: p.of, text: name }, kernel.at, name),
    of: p.of,
    from: sourceOf(kernel, name, p),
    ...(p.choices && { choices: p.choices }),
    ...(p.dtype && { variable: variableOf(name, p.dtype), choices: variableOf(name, p.dtype).members }),
    ...(p.default !== undefined && { default: p.default }),
  };
}

function sourceOf(
  kernel: KernelDefinition,
  name: string,
  { launch, size }: DescriptionOf<"constexpr">,
): ConstexprParam["from"] {
  const { heuristics = {}, params } = kernel.spec;
  if (launch) return "launch";
  if (name in heuristics) return "heuristic";
  if (Object.values(params).some((param) => param.kind === "tensor" && param.dims.includes(name))) return "dim";
  return size || isInConfig(kernel, name) ? "config" : "argument";
}

function isInConfig(kernel: KernelDefinition, name: string): boolean {
  const { autotune, config = {} } = kernel.spec;
  if (autotune) return rawConfigs(autotune).some(({ raw }) => name in raw);
  // The keys that a function returns are known only after tracing it.
  return typeof config !== "function" && name in config;
}

/** The dtype variable that a constexpr binds: the author's, or a new one with the param's name. */
function variableOf(name: string, dtype: NonNullable<DescriptionOf<"constexpr">["dtype"]>): DTypeVariable {
  return elemOf(tokenOf(name, dtype)) as DTypeVariable;
}

function tokenOf(name: string, dtype: NonNullable<DescriptionOf<"constexpr">["dtype"]>): DType<any> {
  return "name" in dtype ? dtype : dtypeVariable(name, dtype);
}

/** The body's arguments: a token for a dtype, a function for `constexpr.fn`, and a handle for any other param. */
export function paramHandles(kernel: KernelDefinition, params: readonly Param[]): Record<string, Handle> {
  return Object.fromEntries(
    params.map((param) => {
      const handle = new Handle(param.value);
      const description = kernel.spec.params[param.name];
      if (description?.kind !== "constexpr") return [param.name, handle];
      const { dtype, functions } = description;
      // Code that reads an argument distinguishes handles, functions and dtypes, so the cast is safe.
      const chosen = functions ? chosenFunction(handle, functions) : handle;
      const argument = dtype ? tokenOf(param.name, dtype) : chosen;
      return [param.name, argument as unknown as Handle];
    }),
  );
}

/** True for params that host callbacks may use: sizes, scalars and constexprs. */
export function isHostVisible(params: readonly Param[], name: string): boolean {
  const param = params.find((p) => p.name === name);
  return param !== undefined && !isMemoryParam(param) && param.kind !== "device";
}

// The value of a `constexpr.fn` param in the body: a function that each launch or config chooses by name.

type AnyFunction = (...args: unknown[]) => unknown;
interface NameHandle {
  eq(choice: string): unknown;
  ne(choice: string): unknown;
}
type WhenChain = Pick<ReturnType<typeof when>, "elseWhen" | "otherwise">;
const untypedWhen = when as (condition: unknown, body: () => unknown) => WhenChain;

/** A call becomes a branch on the name with one arm for each function. Triton resolves it at compile time. */
function chosenFunction(handle: Handle, functions: Readonly<Record<string, AnyFunction>>): AnyFunction & NameHandle {
  const name = handle as unknown as NameHandle;
  const choices = Object.entries(functions);
  // The author's variable names the result of the whole branch.
  const unnamed = <T>(compute: () => T): T => builder("constexpr.fn").withoutNames(compute);
  const nameEquals = (choice: string) => unnamed(() => name.eq(choice));
  const call = (...args: unknown[]): unknown => {
    const arm = (body: AnyFunction) => () => (definitionOfHelper(body) ? unnamed(() => body(...args)) : body(...args));
    let chain: WhenChain | undefined;
    for (const [i, [choice, body]] of choices.entries()) {
      const isLast = i === choices.length - 1;
      if (isLast) return chain ? chain.otherwise(arm(body) as never) : arm(body)();
      chain = chain
        ? chain.elseWhen(nameEquals(choice) as never, arm(body) as never)
        : untypedWhen(nameEquals(choice), arm(body));
    }
    return undefined;
  };
  return Object.assign(call, {
    eq: (choice: string) => name.eq(choice),
    ne: (choice: string) => name.ne(choice),
  });
}
