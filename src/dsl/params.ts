/** How an author declares a kernel's params. These are descriptions only: tracing makes a value for each. */
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
import { dtypeOfText } from "../types/dtype-text.js";
import { whyPadding } from "../rules/descriptor-rules.js";
import { checkDefault } from "./param-defaults.js";
import { isObject, kindOf } from "./spec-forms.js";
import { builderNames } from "./unknown-names.js";
import type {
  ConstexprBuilder,
  DescriptorBuilder,
  InTensorOptions,
  OutTensorOptions,
  PointerBuilder,
  Range,
  ScalarBuilder,
  TensorBuilder,
} from "../params/param-types.js";

type AnyDType = DType<any>;
type Role = "in" | "out" | "inout";
type Constant = number | boolean | string;

export interface TensorDescription {
  readonly kind: "tensor";
  readonly dtype: AnyDType;
  readonly dims: readonly (string | number)[];
  readonly role: Role;
  /** The method, which the author's call replaces. */
  readonly optional: () => unknown;
  readonly options: InTensorOptions & OutTensorOptions;
  /** Where the author declares it. */
  readonly at: Location | undefined;
  /** The block that a descriptor moves, as numbers and names of constexprs. */
  readonly block?: readonly (string | number)[];
  readonly paddingOption?: "zero" | "nan" | undefined;
}

export interface ConstexprDescription {
  readonly kind: "constexpr";
  readonly of: "int" | "float" | "bool" | "string" | "dtype";
  /** A size, which a config or a shape sets. */
  readonly size: boolean;
  readonly choices?: readonly string[];
  /** The function behind each choice. */
  readonly functions?: Readonly<Record<string, (...args: unknown[]) => unknown>>;
  /** The dtype variable that it binds, or the members of a variable that gets the param's name. */
  readonly dtype?: AnyDType | readonly AnyDType[];
  readonly default?: Constant | undefined;
  readonly range?: Range | undefined;
  /** Where the author declares it, if that is known. */
  readonly at?: Location | undefined;
  /** Computes it from the sizes at each launch. */
  readonly launch?: (sizes: never) => unknown;
}

export type ParamDescription = TensorDescription | PointerDescription | ScalarDescription | ConstexprDescription;

export interface PointerDescription {
  readonly kind: "pointer";
  readonly dtype: AnyDType;
  readonly numel?: number | string | undefined;
  /** The method, which the author's call replaces. */
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

/** A builder that refuses further arguments, which JavaScript would drop. */
function taking<Builder extends (...args: never[]) => unknown>(what: string, most: number, build: Builder): Builder {
  const checked = (...args: Parameters<Builder>) => {
    if (args.length > most) fail(paramOption.further(what, most, kindOf(args[most])), captureLocation());
    return build(...args);
  };
  return checked as unknown as Builder;
}

function whyNoDType(builder: string, given: unknown, example?: string): MessageOfCode {
  const dtype = dtypeOfText(given);
  return dtype === undefined ? paramDType.missing(builder, example) : paramDType.text(builder, dtype);
}

function declareTensor(role: Role) {
  const build = (dtype: AnyDType, dims: readonly (string | number)[], options: TensorDescription["options"] = {}) => {
    const at = captureLocation();
    if (!isDType(dtype)) fail(whyNoDType("tensor", dtype), at);
    const why = whyDims("tensor", dims);
    if (why) fail(paramDims.rule(why), at);
    checkOptions("tensor", options, TENSOR_OPTIONS[role], at);
    checkFlags(options, at);
    checkContents(dtype, dims, options, at);
    return orOptional({ kind: "tensor", dtype, dims, role, options, at });
  };
  return taking("tensor", 3, build);
}

const TENSOR_OPTIONS: Readonly<Record<Role, readonly string[]>> = {
  in: ["contiguous", "offsets", "range", "partition"],
  inout: ["contiguous", "offsets", "range", "partition"],
  out: ["contiguous", "offsets", "zeroed"],
};

/** A misspelt option would have no effect. */
function checkOptions(what: string, options: unknown, known: readonly string[], at: Location | undefined): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return fail(paramOption.notOptions(what, options), at);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) fail(paramOption.unknown(what, unknown, known), at);
}

/** JavaScript would take any other value for one of these. */
function checkFlags({ contiguous, zeroed, offsets }: TensorDescription["options"], at: Location | undefined): void {
  for (const [option, given] of Object.entries({ contiguous, zeroed }))
    if (given !== undefined && typeof given !== "boolean")
      fail(paramOption.value("tensor", option, kindOf(given), "true or false"), at);
  const isWidth = isDType(offsets) && (offsets.name === "int32" || offsets.name === "int64");
  if (offsets !== undefined && !isWidth)
    fail(paramOption.value("tensor", "offsets", kindOf(offsets), "tl.int32 or tl.int64"), at);
}

/** What the author promises about a tensor's elements. */
function checkContents(
  dtype: AnyDType,
  dims: readonly (string | number)[],
  options: TensorDescription["options"],
  at: Location | undefined,
): void {
  const { range } = options;
  checkRange("tensor", range, at);
  if (options.partition === undefined) return;
  const partition = partitionOf(options);
  if (partition === undefined) return fail(paramPartition.form(kindOf(options.partition)), at);
  const { size } = partition;
  const elem = elemOf(dtype);
  if (elem !== "int32" && elem !== "int64") fail(paramPartition.dtype(size), at);
  if (dims.length !== 1) fail(paramPartition.rank(size, dims.length), at);
  if (range !== undefined) fail(paramPartition.range(size), at);
}

/** Which size a tensor divides into rows, and how; undefined if nothing says so. */
export function partitionOf({
  partition,
}: TensorDescription["options"]): { readonly size: string; readonly holds: Partition["holds"] } | undefined {
  if (typeof partition === "string") return { size: partition, holds: "offsets" };
  if (typeof partition !== "object" || partition === null) return undefined;
  const { ends, ...more } = partition;
  return typeof ends === "string" && Object.keys(more).length === 0 ? { size: ends, holds: "ends" } : undefined;
}

/** A range is two bounds in order, or a function that computes them. */
function checkRange(what: string, range: unknown, at: Location | undefined): void {
  if (range === undefined || typeof range === "function") return;
  const isBound = (bound: unknown): boolean =>
    typeof bound === "string" ||
    (typeof bound === "number" && (Number.isFinite(bound) || (what !== "tensor" && !Number.isNaN(bound))));
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isBound)) return fail(paramRange.form(what), at);
  const [low, end] = range as readonly unknown[];
  const isFraction = (bound: unknown): boolean =>
    typeof bound === "number" && bound % 1 !== 0 && Number.isFinite(bound);
  if (what !== "tensor" && [low, end].some(isFraction)) fail(paramRange.fraction(what), at);
  if (typeof low === "number" && typeof end === "number" && low > end) fail(paramRange.empty(what, low, end), at);
}

function checkDim(what: string, dim: unknown, at: Location | undefined): void {
  const why = whyDim(what, dim);
  if (why) fail(paramDims.rule(why), at);
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
    const at = captureLocation();
    checkOptions("descriptor", options, ["paddingOption"], at);
    const { paddingOption } = options;
    if (!isDType(dtype)) fail(whyNoDType("descriptor", dtype), at);
    if (!Array.isArray(dims) || !Array.isArray(block) || dims.length !== block.length || dims.length < 1)
      fail(paramDims.blocks(), at);
    if (dims.length > 5) fail(paramDims.tooMany(dims.length), at);
    for (const dim of [...dims, ...block]) checkDim("descriptor", dim, at);
    const padding = whyPadding(elemOf(dtype), paddingOption);
    if (padding !== "") fail(descriptorPadding(padding.replace(/^\w+/, "descriptor")), at);
    return required("descriptor", { kind: "tensor", dtype, dims, role, at, options: {}, block, paddingOption });
  };
  return taking("descriptor", 4, build);
}

/**
 * A tensor that reaches the kernel as a descriptor: `descriptor(tl.float16, ["M", "K"], ["BLOCK_M", "BLOCK_K"])`,
 * `descriptor.out(…)`, `descriptor.inout(…)`. Callers pass tensors.
 */
export const descriptor = Object.assign(declareDescriptor("in"), {
  out: declareDescriptor("out"),
  inout: declareDescriptor("inout"),
}) as unknown as DescriptorBuilder;

/** A raw pointer argument. Nothing is masked; its extent is unknown unless `numel` says it. */
export const pointer = taking("pointer", 2, (dtype: AnyDType, options: { readonly numel?: number | string } = {}) => {
  const at = captureLocation();
  if (!isDType(dtype)) fail(whyNoDType("pointer", dtype), at);
  checkOptions("pointer", options, ["numel"], at);
  if (options.numel !== undefined) checkDim("pointer", options.numel, at);
  return orOptional({ kind: "pointer", dtype, numel: options.numel, at });
}) as unknown as PointerBuilder;

/** What takes the place of `.optional()` once the author has called it. */
const again = (): never => fail(paramOption.again(), captureLocation());

/** A description with the method that says that callers may leave the argument out. */
function orOptional<Description extends object>(description: Description) {
  return { ...description, optional: () => ({ ...description, optional: again }) };
}

/** A description of what callers always give, if it has no default. */
function required<Description extends object>(builder: string, description: Description) {
  return { ...description, optional: (): never => fail(paramOption.required(builder), captureLocation()) };
}

/** Whether the author called `.optional()`. */
export function isOptional({ optional }: { readonly optional: unknown }): boolean {
  return optional === again;
}

/** A number that is passed at run time. */
export const scalar = taking("scalar", 2, (dtype: AnyDType, options: NumberOptions = {}): ScalarDescription => {
  const at = captureLocation();
  if (!isDType(dtype)) fail(whyNoDType("scalar", dtype, "tl.float32"), at);
  const elem = elemOf(dtype);
  if (typeof elem !== "string") fail(paramDType.variableOfScalar(), at);
  checkOptions("scalar", options, ["default", "range"], at);
  if (options.range !== undefined && !isInt(elem)) fail(paramRange.notInteger("scalar", elem), at);
  checkRange("scalar", options.range, at);
  checkDefault("scalar", options.default, elem, options.range, at);
  const initial = options.default as number | undefined;
  return required("scalar", { kind: "scalar", dtype, default: initial, range: options.range, at });
}) as unknown as ScalarBuilder;

/** What a number may be declared with. */
interface NumberOptions {
  readonly default?: Constant;
  readonly range?: Range;
}

function declareString(choices: readonly string[], options: { readonly default?: string } = {}): ConstexprDescription {
  checkOptions("constexpr.string", options, ["default"], captureLocation());
  return declareChoice("constexpr.string", choices, options.default);
}

function declareChoice(what: string, choices: readonly string[], initial: string | undefined): ConstexprDescription {
  const at = captureLocation();
  const quoted = () => choices.map((choice) => JSON.stringify(choice)).join(", ");
  if (!Array.isArray(choices) || choices.length === 0 || new Set(choices).size < choices.length)
    fail(paramChoices.strings(what), at);
  if (initial !== undefined && !choices.includes(initial))
    fail(paramDefault.choice(what, JSON.stringify(initial), quoted()), at);
  return required(what, { kind: "constexpr", of: "string", size: false, choices, default: initial });
}

function declareFunction(
  functions: Readonly<Record<string, (...args: unknown[]) => unknown>>,
  options: { readonly default?: string } = {},
): ConstexprDescription {
  const at = captureLocation();
  const names = isObject(functions) ? Object.keys(functions) : [];
  if (names.length === 0 || names.some((name) => typeof functions[name] !== "function"))
    fail(paramChoices.functions(), at);
  checkOptions("constexpr.fn", options, ["default"], at);
  return { ...declareChoice("constexpr.fn", names, options.default), functions };
}

function declareDType(
  choices: AnyDType | readonly AnyDType[],
  options: { readonly default?: AnyDType } = {},
): ConstexprDescription {
  const at = captureLocation();
  const isList = Array.isArray(choices) && choices.length > 0 && choices.every((choice) => isDType(choice));
  if (!isList && !(isDType(choices) && choices.members)) fail(paramDType.choices(), at);
  checkOptions("constexpr.dtype", options, ["default"], at);
  if (options.default !== undefined && !isDType(options.default))
    fail(paramDefault.kind("constexpr.dtype", kindOf(options.default), "a dtype"), at);
  const names = isList ? choices.map(({ name }) => name) : (choices as AnyDType).members!;
  const initial = options.default?.name;
  if (initial !== undefined && !(names as readonly string[]).includes(initial))
    fail(paramDefault.choice("constexpr.dtype", initial, names.join(", ")), at);
  return required("constexpr.dtype", { kind: "constexpr", of: "dtype", size: false, dtype: choices, default: initial });
}

function declareLaunch(of: "int" | "bool") {
  return taking("constexpr.launch", 1, (launch: (sizes: never) => unknown): ConstexprDescription => {
    if (typeof launch !== "function") fail(paramChoices.launch(), captureLocation());
    return required("constexpr.launch", { kind: "constexpr", of, size: false, launch });
  });
}

function declareConstexpr(of: ConstexprDescription["of"], size: boolean) {
  const isInteger = of === "int" && !size;
  const what = size ? "constexpr" : `constexpr.${of}`;
  return taking(what, 1, (options: NumberOptions = {}): ConstexprDescription => {
    const at = captureLocation();
    checkOptions(what, options, isInteger ? ["default", "range"] : size ? [] : ["default"], at);
    checkRange(what, options.range, at);
    if (of === "int" || of === "float" || of === "bool") checkDefault(what, options.default, of, options.range, at);
    return required(what, { kind: "constexpr", of, size, default: options.default, range: options.range, at });
  });
}

/** A value that Triton knows when it compiles the kernel. */
export const constexpr = Object.assign(declareConstexpr("int", true), {
  int: declareConstexpr("int", false),
  float: declareConstexpr("float", false),
  bool: declareConstexpr("bool", false),
  string: taking("constexpr.string", 2, declareString),
  fn: taking("constexpr.fn", 2, declareFunction),
  dtype: taking("constexpr.dtype", 2, declareDType),
  launch: Object.assign(declareLaunch("int"), { bool: declareLaunch("bool") }),
}) as unknown as ConstexprBuilder;

const ROLES =
  "tensor(…) for what the kernel reads, tensor.out(…) for what it fills, tensor.inout(…) for what it updates";
const OPTIONAL = { optional: ".optional() behind it, tensor(…).optional()" };
Object.setPrototypeOf(tensor, builderNames("tensor", ROLES, OPTIONAL));
Object.setPrototypeOf(descriptor, builderNames("descriptor", ROLES.replaceAll("tensor", "descriptor"), OPTIONAL));
Object.setPrototypeOf(
  constexpr,
  builderNames("constexpr", "constexpr(), or constexpr.int, float, bool, string, fn, dtype or launch"),
);
