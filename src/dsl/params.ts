/** The builders that declare a kernel's params. They return descriptions; tracing creates the values. */
import { fail, type Location, type MessageOfCode } from "../diagnostics/diagnostic.js";
import {
  descriptorPadding,
  paramChoices,
  paramDType,
  paramDefault,
  paramDims,
  paramOption,
  paramPartition,
  paramRange,
} from "../diagnostics/catalog/param-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Partition } from "../ir/nodes.js";
import { whyDim, whyDims } from "../types/dim-names.js";
import { type DType, elemOf, isDType, isInt } from "../types/dtype.js";
import { dtypeOfText } from "../types/casts.js";
import { whyPadding } from "../rules/descriptor-rules.js";
import { builderPrototype } from "./unknown-names.js";
import type {
  ConstexprBuilder,
  DescriptorBuilder,
  InTensorOptions,
  OutTensorOptions,
  PointerBuilder,
  PointerOptions,
  Range,
  ScalarBuilder,
  TensorBuilder,
} from "../params/param-types.js";
import { isObject, kindOf, checkDefault } from "./raw-values.js";

type AnyDType = DType<any>;
type Role = "in" | "out" | "inout";
type Constant = number | boolean | string;

export interface TensorDescription {
  readonly kind: "tensor";
  readonly dtype: AnyDType;
  readonly dims: readonly (string | number)[];
  readonly role: Role;
  /** The method. After the author's call, {@link failOnSecondOptional}. */
  readonly optional: () => unknown;
  readonly options: InTensorOptions & OutTensorOptions;
  /** The location of the declaration. */
  readonly at: Location | undefined;
  /** The block shape of a descriptor: numbers and names of constexprs. */
  readonly block?: readonly (string | number)[];
  readonly paddingOption?: "zero" | "nan" | undefined;
}

export interface ConstexprDescription {
  readonly kind: "constexpr";
  readonly of: "int" | "float" | "bool" | "string" | "dtype";
  /** True for a size, which a config or a shape sets. */
  readonly size: boolean;
  readonly choices?: readonly string[];
  /** The function behind each choice. */
  readonly functions?: Readonly<Record<string, (...args: unknown[]) => unknown>>;
  /** The dtype variable that it binds, or the members of a new variable with the param's name. */
  readonly dtype?: AnyDType | readonly AnyDType[];
  readonly default?: Constant | undefined;
  readonly range?: Range | undefined;
  /** The location of the declaration, if known. */
  readonly at?: Location | undefined;
  /** Computes the value from the sizes at each launch. */
  readonly launch?: (sizes: never) => unknown;
}

export type ParamDescription = TensorDescription | PointerDescription | ScalarDescription | ConstexprDescription;

export interface PointerDescription {
  readonly kind: "pointer";
  readonly dtype: AnyDType;
  readonly numel?: number | string | undefined;
  readonly zeroed?: boolean | undefined;
  /** The method. After the author's call, {@link failOnSecondOptional}. */
  readonly optional: () => unknown;
  readonly at: Location | undefined;
}

export interface ScalarDescription {
  readonly kind: "scalar";
  readonly dtype: AnyDType;
  readonly default?: number | undefined;
  readonly range?: Range | undefined;
  readonly at: Location | undefined;
}

/** A builder that rejects extra arguments. JavaScript would silently drop them. */
function withArityCheck<Builder extends (...args: never[]) => unknown>(
  builderName: string,
  maxCount: number,
  build: Builder,
): Builder {
  const checkedBuild = (...args: Parameters<Builder>) => {
    if (args.length > maxCount)
      fail(paramOption.extraArgument(builderName, maxCount, kindOf(args[maxCount])), captureLocation());
    return build(...args);
  };
  return checkedBuild as unknown as Builder;
}

function whyNoDType(builderName: string, value: unknown, example?: string): MessageOfCode {
  const dtype = dtypeOfText(value);
  return dtype === undefined ? paramDType.missing(builderName, example) : paramDType.text(builderName, dtype);
}

function declareTensor(role: Role) {
  const build = (dtype: AnyDType, dims: readonly (string | number)[], options: TensorDescription["options"] = {}) => {
    const location = captureLocation();
    if (!isDType(dtype)) fail(whyNoDType("tensor", dtype), location);
    const why = whyDims("tensor", dims);
    if (why) fail(why, location);
    checkOptions("tensor", options, TENSOR_OPTIONS[role], location);
    const { contiguous, zeroed, offsets } = options;
    checkFlags("tensor", { contiguous, zeroed }, location);
    checkWidth(offsets, location);
    checkContents(dtype, dims, options, location);
    return withOptional({ kind: "tensor", dtype, dims, role, options, at: location });
  };
  return withArityCheck("tensor", 3, build);
}

const TENSOR_OPTIONS: Readonly<Record<Role, readonly string[]>> = {
  in: ["contiguous", "offsets", "range", "partition"],
  inout: ["contiguous", "offsets", "range", "partition"],
  out: ["contiguous", "offsets", "zeroed"],
};

/** Rejects unknown options, because a misspelled option would have no effect. */
function checkOptions(
  builderName: string,
  options: unknown,
  optionNames: readonly string[],
  location: Location | undefined,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return fail(paramOption.notOptions(builderName, options), location);
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown !== undefined) fail(paramOption.unknown(builderName, unknown, optionNames), location);
}

/** Checks option values, because JavaScript would accept any other value as true or false. */
function checkFlags(
  builderName: string,
  flags: Readonly<Record<string, unknown>>,
  location: Location | undefined,
): void {
  for (const [option, value] of Object.entries(flags))
    if (value !== undefined && typeof value !== "boolean")
      fail(paramOption.value(builderName, option, kindOf(value), "true or false"), location);
}

function checkWidth(offsets: unknown, location: Location | undefined): void {
  const isWidth = isDType(offsets) && (offsets.name === "int32" || offsets.name === "int64");
  if (offsets !== undefined && !isWidth)
    fail(paramOption.value("tensor", "offsets", kindOf(offsets), "tl.int32 or tl.int64"), location);
}

/** Checks the claims about a tensor's elements. */
function checkContents(
  dtype: AnyDType,
  dims: readonly (string | number)[],
  options: TensorDescription["options"],
  location: Location | undefined,
): void {
  const { range } = options;
  checkRange("tensor", range, location);
  if (options.partition === undefined) return;
  const partition = partitionOf(options);
  if (partition === undefined) return fail(paramPartition.form(kindOf(options.partition)), location);
  const { size } = partition;
  const elem = elemOf(dtype);
  if (elem !== "int32" && elem !== "int64") fail(paramPartition.dtype(size), location);
  if (dims.length !== 1) fail(paramPartition.rank(size, dims.length), location);
  if (range !== undefined) fail(paramPartition.range(size), location);
}

/** The declared partition of a size into rows; undefined if there is none or it has another form. */
export function partitionOf({
  partition,
}: TensorDescription["options"]): { readonly size: string; readonly holds: Partition["holds"] } | undefined {
  if (typeof partition === "string") return { size: partition, holds: "offsets" };
  if (typeof partition !== "object" || partition === null) return undefined;
  const { ends, ...extraOptions } = partition;
  return typeof ends === "string" && Object.keys(extraOptions).length === 0 ? { size: ends, holds: "ends" } : undefined;
}

/** A range is a lower and an upper bound, or a function that computes them. */
function checkRange(builderName: string, range: unknown, location: Location | undefined): void {
  if (range === undefined || typeof range === "function") return;
  const isBound = (bound: unknown): boolean =>
    typeof bound === "string" ||
    (typeof bound === "number" && (Number.isFinite(bound) || (builderName !== "tensor" && !Number.isNaN(bound))));
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isBound))
    return fail(paramRange.form(builderName), location);
  const [low, end] = range as readonly unknown[];
  const isFraction = (bound: unknown): boolean =>
    typeof bound === "number" && bound % 1 !== 0 && Number.isFinite(bound);
  if (builderName !== "tensor" && [low, end].some(isFraction)) fail(paramRange.fraction(builderName), location);
  if (typeof low === "number" && typeof end === "number" && low > end)
    fail(paramRange.empty(builderName, low, end), location);
}

function checkDim(builderName: string, dim: unknown, location: Location | undefined): void {
  const why = whyDim(builderName, dim);
  if (why) fail(why, location);
}

/** A tensor argument: `tensor(tl.float16, ["M", "K"])`, `tensor.out(…)`, `tensor.inout(…)`. */
export const tensor = Object.assign(declareTensor("in"), {
  out: declareTensor("out"),
  inout: declareTensor("inout"),
}) as unknown as TensorBuilder;

function declareDescriptor(role: Role) {
  const build = (
    dtype: AnyDType,
    dims: readonly (string | number)[],
    block: readonly (string | number)[],
    options: { readonly paddingOption?: "zero" | "nan" } = {},
  ): TensorDescription => {
    const location = captureLocation();
    checkOptions("descriptor", options, ["paddingOption"], location);
    const { paddingOption } = options;
    if (!isDType(dtype)) fail(whyNoDType("descriptor", dtype), location);
    if (!Array.isArray(dims) || !Array.isArray(block) || dims.length !== block.length || dims.length < 1)
      fail(paramDims.blocks(), location);
    if (dims.length > 5) fail(paramDims.tooMany(dims.length), location);
    for (const dim of [...dims, ...block]) checkDim("descriptor", dim, location);
    const padding = whyPadding("descriptor", elemOf(dtype), paddingOption);
    if (padding) fail(descriptorPadding(padding), location);
    return withoutOptional("descriptor", {
      kind: "tensor",
      dtype,
      dims,
      role,
      at: location,
      options: {},
      block,
      paddingOption,
    });
  };
  return withArityCheck("descriptor", 4, build);
}

/**
 * A tensor that the kernel gets as a descriptor: `descriptor(tl.float16, ["M", "K"], ["BLOCK_M", "BLOCK_K"])`,
 * `descriptor.out(…)`, `descriptor.inout(…)`. Callers pass tensors.
 */
export const descriptor = Object.assign(declareDescriptor("in"), {
  out: declareDescriptor("out"),
  inout: declareDescriptor("inout"),
}) as unknown as DescriptorBuilder;

/** A raw pointer argument. Nothing is masked; its extent is unknown unless `numel` sets it. */
export const pointer = withArityCheck("pointer", 2, (dtype: AnyDType, options: PointerOptions = {}) => {
  const location = captureLocation();
  if (!isDType(dtype)) fail(whyNoDType("pointer", dtype), location);
  checkOptions("pointer", options, ["numel", "zeroed"], location);
  const { numel, zeroed } = options;
  if (numel !== undefined) checkDim("pointer", numel, location);
  checkFlags("pointer", { zeroed }, location);
  return withOptional({ kind: "pointer", dtype, numel, zeroed, at: location });
}) as unknown as PointerBuilder;

/** Replaces `.optional()` after the author's call. {@link isOptional} compares with it. */
const failOnSecondOptional = (): never => fail(paramOption.duplicate(), captureLocation());

/** Adds the method `.optional()`, which lets callers omit the argument. */
function withOptional<Description extends object>(description: Description) {
  return { ...description, optional: () => ({ ...description, optional: failOnSecondOptional }) };
}

/** Adds a method `.optional()` that fails: callers always pass the argument unless it has a default. */
function withoutOptional<Description extends object>(builderName: string, description: Description) {
  return { ...description, optional: (): never => fail(paramOption.required(builderName), captureLocation()) };
}

/** True if the author called `.optional()`. */
export function isOptional({ optional }: { readonly optional: unknown }): boolean {
  return optional === failOnSecondOptional;
}

/** A run-time number. */
export const scalar = withArityCheck("scalar", 2, (dtype: AnyDType, options: NumberOptions = {}): ScalarDescription => {
  const location = captureLocation();
  if (!isDType(dtype)) fail(whyNoDType("scalar", dtype, "tl.float32"), location);
  const elem = elemOf(dtype);
  if (typeof elem !== "string") fail(paramDType.variableOfScalar(), location);
  checkOptions("scalar", options, ["default", "range"], location);
  if (options.range !== undefined && !isInt(elem)) fail(paramRange.notInteger("scalar", elem), location);
  checkRange("scalar", options.range, location);
  checkDefault("scalar", options.default, elem, options.range, location);
  const initial = options.default as number | undefined;
  return withoutOptional("scalar", { kind: "scalar", dtype, default: initial, range: options.range, at: location });
}) as unknown as ScalarBuilder;

interface NumberOptions {
  readonly default?: Constant;
  readonly range?: Range;
}

function declareString(choices: readonly string[], options: { readonly default?: string } = {}): ConstexprDescription {
  checkOptions("constexpr.string", options, ["default"], captureLocation());
  return declareChoice("constexpr.string", choices, options.default);
}

function declareChoice(
  builderName: string,
  choices: readonly string[],
  initial: string | undefined,
): ConstexprDescription {
  const location = captureLocation();
  const quotedChoices = () => choices.map((choice) => JSON.stringify(choice)).join(", ");
  if (!Array.isArray(choices) || choices.length === 0 || new Set(choices).size < choices.length)
    fail(paramChoices.strings(builderName), location);
  if (initial !== undefined && !choices.includes(initial))
    fail(paramDefault.choice(builderName, JSON.stringify(initial), quotedChoices()), location);
  return withoutOptional(builderName, { kind: "constexpr", of: "string", size: false, choices, default: initial });
}

function declareFunction(
  functions: Readonly<Record<string, (...args: unknown[]) => unknown>>,
  options: { readonly default?: string } = {},
): ConstexprDescription {
  const location = captureLocation();
  const names = isObject(functions) ? Object.keys(functions) : [];
  if (names.length === 0 || names.some((name) => typeof functions[name] !== "function"))
    fail(paramChoices.functions(), location);
  checkOptions("constexpr.fn", options, ["default"], location);
  return { ...declareChoice("constexpr.fn", names, options.default), functions };
}

/** The names of listed dtypes, or of a variable's members. Undefined if there are none. */
function dtypeNames(choices: AnyDType | readonly AnyDType[]): readonly string[] | undefined {
  if (isDType(choices)) return choices.members;
  const isList = Array.isArray(choices) && choices.length > 0 && choices.every((choice) => isDType(choice));
  return isList ? choices.map(({ name }) => name) : undefined;
}

function declareDType(
  choices: AnyDType | readonly AnyDType[],
  options: { readonly default?: AnyDType } = {},
): ConstexprDescription {
  const location = captureLocation();
  const names = dtypeNames(choices);
  if (!names) fail(paramDType.choices(), location);
  checkOptions("constexpr.dtype", options, ["default"], location);
  if (options.default !== undefined && !isDType(options.default))
    fail(paramDefault.kind("constexpr.dtype", kindOf(options.default), "a dtype"), location);
  const initial = options.default?.name;
  if (initial !== undefined && !names.includes(initial))
    fail(paramDefault.choice("constexpr.dtype", initial, names.join(", ")), location);
  return withoutOptional("constexpr.dtype", {
    kind: "constexpr",
    of: "dtype",
    size: false,
    dtype: choices,
    default: initial,
  });
}

function declareLaunch(kind: "int" | "bool") {
  return withArityCheck("constexpr.launch", 1, (launch: (sizes: never) => unknown): ConstexprDescription => {
    if (typeof launch !== "function") fail(paramChoices.launch(), captureLocation());
    return withoutOptional("constexpr.launch", { kind: "constexpr", of: kind, size: false, launch });
  });
}

function declareConstexpr(kind: ConstexprDescription["of"], size: boolean) {
  const builderName = size ? "constexpr" : `constexpr.${kind}`;
  const ownOptionNames = kind === "int" ? ["default", "range"] : ["default"];
  const optionNames = size ? [] : ownOptionNames;
  return withArityCheck(builderName, 1, (options: NumberOptions = {}): ConstexprDescription => {
    const location = captureLocation();
    checkOptions(builderName, options, optionNames, location);
    checkRange(builderName, options.range, location);
    if (kind === "int" || kind === "float" || kind === "bool")
      checkDefault(builderName, options.default, kind, options.range, location);
    return withoutOptional(builderName, {
      kind: "constexpr",
      of: kind,
      size,
      default: options.default,
      range: options.range,
      at: location,
    });
  });
}

/** A value that Triton knows at compile time. */
export const constexpr = Object.assign(declareConstexpr("int", true), {
  int: declareConstexpr("int", false),
  float: declareConstexpr("float", false),
  bool: declareConstexpr("bool", false),
  string: withArityCheck("constexpr.string", 2, declareString),
  fn: withArityCheck("constexpr.fn", 2, declareFunction),
  dtype: withArityCheck("constexpr.dtype", 2, declareDType),
  launch: Object.assign(declareLaunch("int"), { bool: declareLaunch("bool") }),
}) as unknown as ConstexprBuilder;

const ROLES = "tensor(…) for an input, tensor.out(…) for an output, tensor.inout(…) for a tensor updated in place";
const OPTIONAL = { optional: ".optional() behind it, tensor(…).optional()" };
Object.setPrototypeOf(tensor, builderPrototype("tensor", ROLES, OPTIONAL));
Object.setPrototypeOf(descriptor, builderPrototype("descriptor", ROLES.replaceAll("tensor", "descriptor"), OPTIONAL));
Object.setPrototypeOf(
  constexpr,
  builderPrototype("constexpr", "constexpr(), or constexpr.int, float, bool, string, fn, dtype or launch"),
);
