/** Declares a kernel's parameters in the spec. */
import { LAUNCH_NAMES } from "../codegen/names/kernel-names.js";
import { authorName, isOfObjects, splitName } from "./author-name.js";
import type { FunctionScope } from "./function-scope.js";
import { descriptorText } from "./descriptors.js";
import { callbackText, type HostNames, objectText } from "./host-text.js";
import type { LiftedAxis, LiftedTensor } from "./lift/lifted-tensors.js";
import type { LeftOut } from "./left-out.js";
import { VALUE } from "./live-ranges.js";
import { readNames, writtenNames } from "./liveness.js";
import { namesComparedWithNone, presenceFlags } from "./presence-flags.js";
import { translateAnd } from "./operators.js";
import { argumentsOf, type LaunchArgument, type KernelTree, type ParameterTree } from "./tree.js";
import { dtypeName, elementText, bindingValue, NONE, UnsupportedConstruct, traced, type Value } from "./value.js";

type Kind = "pointer" | "descriptor" | "tensor" | "scalar" | "size" | "int" | "bool" | "float" | "string" | "dtype";

export interface DeclaredParam {
  readonly python: string;
  /** The name in the spec. */
  readonly name: string;
  /** The name in the body. */
  readonly local: string;
  readonly kind: Kind;
  /** The declaration. Undefined for a size, which the shapes of tensors declare. */
  readonly text: string | undefined;
  readonly isInteger: boolean;
  /** The value of a constant in the first call. Undefined if the launch computes it. */
  readonly value?: string | undefined;
  /** The values of a constant in other calls. */
  readonly otherValues: readonly string[];
  /** True if callers pass the constant. */
  readonly isArgument: boolean;
}

/** The parts of the kernel file that declarations use. */
export interface DeclarationContext {
  readonly tree: KernelTree;
  readonly scope: FunctionScope;
  /** True if a constant is replaced by its value in the first call. */
  isFixed(name: string): boolean;
  /** True if the launch computes no constants. */
  readonly isPinned: boolean;
  /** Tensors that replace pointers. */
  readonly tensors: readonly LiftedTensor[];
  dtype(element: string): string;
  dtypeVariable(name: string): string | undefined;
  addImport(name: "pointer" | "descriptor" | "tensor" | "scalar" | "constexpr"): void;
  addTodo(text: string, line: number): void;
  leaveOut(what: LeftOut["what"], text: string, line: number): void;
}

export interface Declarations {
  readonly params: readonly DeclaredParam[];
  /** Python names of the constants that are replaced by their values. */
  readonly fixedNames: readonly string[];
  /** Optional pointers, by their names in the body. */
  readonly optionalPointers: ReadonlySet<string>;
  /** Names and values of parameters in host callbacks. */
  readonly names: HostNames;
}

/** @throws NotImported */
export function declareParams(context: DeclarationContext): Declarations {
  const { tree, scope } = context;
  const [kernel] = tree.functions;
  const { sizes, shared, strides } = rolesOf(context.tensors, (name) =>
    tree.signatures.some((signature) => signature[name]?.kind === "constant"),
  );
  const flags = presenceFlags(tree);
  const testedPointers = new Set([...namesComparedWithNone(kernel.body), ...[...flags.values()].flat()]);
  const fixedNames: string[] = [];
  const optionalPointers = new Set<string>();
  const constants = new Map<string, Value>();
  const fix = (name: string, value: Value = NONE): void => {
    scope.bind(name, value);
    constants.set(name, value);
  };
  checkParams(context);
  const drafts = kernel.params.flatMap((param): readonly Draft[] => {
    const args = argumentsOf(tree, param.name);
    const presentArgs = args.filter((each) => !isNone(each));
    const [first] = presentArgs;
    const constant = first?.kind === "constant" ? bindingValue(first.value) : undefined;
    if (!first || (first.kind === "constant" && context.isFixed(param.name))) {
      if (first) fixedNames.push(param.name);
      fix(param.name, constant);
      return [];
    }
    // The kernel can test the presence of the pointers itself.
    if (flags.has(param.name) && !context.isFixed(param.name)) return [];
    const isOptional = presentArgs.length < args.length || (first.kind === "pointer" && testedPointers.has(param.name));
    if (strides.has(param.name) && !sizes.has(param.name)) return [];
    const declaration = sizes.has(param.name)
      ? SIZE_DECLARATION
      : declareParam(param, first, presentArgs, isOptional, context);
    if (!declaration) {
      fixedNames.push(param.name);
      fix(param.name, constant);
      return [];
    }
    const draft = bindDraft(param.name, first, declaration, shared.has(param.name) ? [] : presentArgs, context);
    if (isOptional && first.kind === "pointer") optionalPointers.add(draft.local);
    return [draft];
  });
  for (const [flag, pointers] of flags)
    if (!fixedNames.includes(flag))
      scope.bind(flag, presenceCondition(drafts.filter(({ python }) => pointers.includes(python))));
  const nameOf = (python: string): string =>
    drafts.find((draft) => draft.python === python)?.name ?? constants.get(python)?.text ?? python;
  for (const [python, { tensor, axis }] of strides)
    if (!sizes.has(python))
      scope.bind(python, traced(`${drafts.find((each) => each.python === tensor)!.local}.stride(${axis})`));
  const newSizes = newSizesOf(context.tensors);
  const names = hostNamesOf(drafts, newSizes, constants);
  const declareDescriptor = descriptorDeclarator(context, drafts, nameOf);
  const params = drafts.map((draft) =>
    finishDraft(withTensorText(declareDescriptor(draft), context, nameOf, optionalPointers), context, names),
  );
  return { params, fixedNames, optionalPointers, names };
}

/** @throws UnsupportedConstruct for a name that no spec can have. */
function checkParams({ tree, leaveOut }: DeclarationContext): void {
  const [kernel] = tree.functions;
  const namesRead = readNames({ body: kernel.body });
  for (const { name } of kernel.params) {
    if (isOfObjects(name))
      throw new UnsupportedConstruct(`a parameter named ${name}`, "rename it, as every object of JavaScript has one", {
        line: 1,
      });
    if (namesRead.has(name) && argumentsOf(tree, name).every(isNone))
      leaveOut("parameter", `${name} is left out: each traced call passes None`, 1);
  }
}

/** Names a declared parameter and binds its Python name. `args` may give it a default. */
function bindDraft(
  python: string,
  first: LaunchArgument,
  declaration: ParamDeclaration,
  args: readonly LaunchArgument[],
  context: DeclarationContext,
): Draft {
  const { scope } = context;
  const { name, local } = parameterNames(python, first, context);
  if (declaration.kind === "tensor") {
    scope.bind(python, { kind: "traced", text: `${local}.ptr`, typeTag: "pointer" });
    return { python, name, local, ...declaration, otherValues: [] };
  }
  const isDType = first.kind === "constant" && first.value.what === "dtype";
  // A dtype that is the only choice is no variable: an accumulator may have it.
  const isOnlyDType = isDType && context.dtypeVariable(python) === undefined;
  const dtype = isOnlyDType ? bindingValue(first.value)?.text : undefined;
  scope.bind(python, isDType ? { kind: "dtype", text: dtype ?? local } : handleOf(local, first));
  const values = [...new Set(args.flatMap(valueText))];
  return { python, name, local, ...declaration, ...optionalValue(declaration, values), otherValues: values.slice(1) };
}

/** Kinds for which callers pass tensors. */
const TENSOR_KINDS: ReadonlySet<Kind> = new Set(["pointer", "descriptor", "tensor"]);

/** The names and values of parameters other than tensors in host callbacks. */
const hostNamesOf =
  (drafts: readonly Draft[], newSizes: ReadonlySet<string>, constants: ReadonlyMap<string, Value>): HostNames =>
  (python) => {
    const draft = drafts.find((each) => each.python === python);
    if (draft) return TENSOR_KINDS.has(draft.kind) ? undefined : { name: draft.name };
    if (newSizes.has(python)) return { name: python };
    const value = constants.get(python);
    if (value?.kind === "number") return { value: Number(value.value) };
    return value?.kind === "truth" ? { value: value.value } : undefined;
  };

/** The sizes that are not parameters of the Python kernel. */
const newSizesOf = (tensors: readonly LiftedTensor[]): ReadonlySet<string> =>
  new Set(tensors.flatMap(({ axes }) => axes.flatMap(({ size, isNew }) => (isNew ? [size] : []))));

/** The condition that all of these pointers are passed. */
function presenceCondition(pointers: readonly Draft[]): Value {
  const { text } = pointers.map(({ local }) => traced(`${local}.given`, true)).reduce(translateAnd);
  return { kind: "traced", text, isConstant: true, typeTag: "bool" };
}

/** A size has no declaration text, because the shapes of tensors declare it. */
const SIZE_DECLARATION: ParamDeclaration = { kind: "scalar", text: undefined, isInteger: true };

interface ParamRoles {
  readonly sizes: ReadonlySet<string>;
  /** Constants that are also sizes of tensors. */
  readonly shared: ReadonlySet<string>;
  /** For each stride, the first tensor that has it, and the axis. */
  readonly strides: ReadonlyMap<string, { readonly tensor: string; readonly axis: number }>;
}

/** Classifies parameters by their use in the shapes and strides of tensors. */
function rolesOf(tensors: readonly LiftedTensor[], isConstant: (name: string) => boolean): ParamRoles {
  const axes = tensors.flatMap(({ param, axes }) => axes.map((each, axis) => ({ ...each, tensor: param, axis })));
  return {
    sizes: new Set(axes.flatMap(({ size, isNew, isConstant }) => (isNew || isConstant ? [] : [size]))),
    shared: new Set(axes.flatMap(({ size, isConstant }) => (isConstant ? [size] : []))),
    strides: new Map(
      axes
        .toReversed()
        .flatMap(({ strides: [stride, ...more], tensor, axis }) =>
          stride === undefined || more.length > 0 || isConstant(stride) ? [] : [[stride, { tensor, axis }]],
        ),
    ),
  };
}

/** Replaces the declaration of a lifted pointer by that of its tensor. */
function withTensorText(
  draft: Draft,
  { tensors, tree }: DeclarationContext,
  nameOf: (python: string) => string,
  optionalPointers: ReadonlySet<string>,
): Draft {
  const tensor = tensors.find(({ param }) => param === draft.python);
  if (!tensor) return draft;
  return {
    ...draft,
    text:
      tensorText(tensor, draft.text!, isZeroed(tensor.param, tree), nameOf) +
      (optionalPointers.has(draft.local) ? ".optional()" : ""),
  };
}

/** `tensor.out(tl.float16, ["M", "N"])` */
function tensorText(
  { axes, isContiguous, role }: LiftedTensor,
  dtype: string,
  zeroed: boolean,
  nameOf: (python: string) => string,
): string {
  const dim = ({ size, isNew }: LiftedAxis): string => {
    const text = isNew ? size : nameOf(size);
    return /^\d/.test(text) ? text : JSON.stringify(text);
  };
  const options = [...(isContiguous ? ["contiguous: true"] : []), ...(zeroed ? ["zeroed: true"] : [])];
  const optionsText = options.length > 0 ? `, ${objectText(options)}` : "";
  // A launch overwrites the caller's values with zeros.
  const form = zeroed ? "out" : role;
  return `tensor${form === "in" ? "" : `.${form}`}(${dtype}, [${axes.map(dim).join(", ")}]${optionsText})`;
}

/** The value of a constant. Undefined if the shape of a tensor determines it. */
const optionalValue = ({ value }: ParamDeclaration, values: readonly string[]): Pick<ParamDeclaration, "value"> => ({
  value: values.length > 0 ? value : undefined,
});

/** Adds the sizes and the block shape to the declaration of a descriptor. */
function descriptorDeclarator(
  { tree, scope, addTodo }: DeclarationContext,
  drafts: readonly Draft[],
  nameOf: (python: string) => string,
): (draft: Draft) => Draft {
  const isDeclared = (python: string): boolean => drafts.some((each) => each.python === python);
  return (draft) =>
    draft.kind === "descriptor"
      ? { ...draft, text: descriptorText(draft, { tree, scope, addTodo, nameOf, isDeclared }) }
      : draft;
}

type ParamDeclaration = Pick<DeclaredParam, "kind" | "text" | "isInteger" | "value">;
type Draft = ParamDeclaration & Pick<DeclaredParam, "python" | "name" | "local" | "otherValues">;

/**
 * A constant that the script computes becomes a launch expression. A constant with several values becomes an argument.
 */
function finishDraft(draft: Draft, { tree, isPinned }: DeclarationContext, names: HostNames): DeclaredParam {
  const { value, ...param } = draft;
  const isNumber = draft.kind === "size" || draft.kind === "int";
  const expression = isPinned || !isNumber ? undefined : tree.launch?.computed[draft.python];
  const text = expression && callbackText([expression], names, (texts) => texts.join(""));
  if (text !== undefined) return { ...param, text: `constexpr.launch(${text})`, isArgument: false };
  const isChoice = draft.kind === "bool" || draft.kind === "float" || draft.kind === "string" || draft.kind === "int";
  const isArgument = isChoice && (draft.otherValues.length > 0 || isConstantKey(draft.python, tree));
  return { ...param, ...(value !== undefined && { value }), isArgument };
}

/** True for a constant that callers pass, and for which the autotuner measures again. */
export const isConstantKey = (
  python: string,
  { tuning: { autotune, heuristics } }: Pick<KernelTree, "tuning">,
): boolean =>
  autotune?.key.includes(python) === true &&
  !(python in heuristics) &&
  autotune.configs.every(({ values }) => !(python in values));

/**
 * The names of a parameter without `_ptr` or `_desc`, because the emitter adds these suffixes to pointers and
 * descriptors. The body keeps the suffix if the short name is another variable.
 */
function parameterNames(
  python: string,
  { kind }: LaunchArgument,
  { tree, scope }: DeclarationContext,
): { readonly name: string; readonly local: string } {
  const [kernel] = tree.functions;
  const base = python.replace(/^_+(?=[a-zA-Z])/, "");
  const suffix = { pointer: /_ptr$/, descriptor: /_desc$/, scalar: /$/, constant: /$/ }[kind];
  const short = base.replace(suffix, "");
  if (short !== "" && short !== base && !kernel.params.some(({ name }) => name === short)) {
    const isTaken = writtenNames(kernel.body).includes(short);
    const local = scope.fresh(isTaken ? base : short);
    return { name: isTaken ? authorName(short) : local, local };
  }
  // The value that a pointer leads to often has the pointer's name.
  if (kind === "pointer" && writtenNames(kernel.body).some((name) => isValueOf(python, name)))
    return { name: authorName(base), local: scope.fresh(`${base}_ptr`) };
  // A constant must not have the name of a launch option.
  const local = scope.fresh(LAUNCH_NAMES.has(base) ? base.toUpperCase() : base);
  return { name: local, local };
}

function isValueOf(pointer: string, name: string): boolean {
  const { python, suffix } = splitName(name);
  return python === pointer && suffix === VALUE;
}

/** The declaration of a parameter. Undefined for a constant that is inlined at its uses. */
function declareParam(
  param: ParameterTree,
  first: LaunchArgument,
  args: readonly LaunchArgument[],
  isOptional: boolean,
  { tree, tensors, isPinned, dtype, dtypeVariable, addImport, leaveOut }: DeclarationContext,
): ParamDeclaration | undefined {
  if (first.kind === "pointer" && tensors.some((tensor) => tensor.param === param.name)) {
    addImport("tensor");
    const element = elementText(args.flatMap((each) => (each.kind === "pointer" ? [dtypeName(each.dtype)] : [])));
    return { kind: "tensor", text: dtype(element), isInteger: false };
  }
  if (first.kind !== "constant") {
    addImport(first.kind);
    const optional = isOptional && first.kind === "pointer" ? ".optional()" : "";
    const element = elementText(args.flatMap((each) => (each.kind === "constant" ? [] : [dtypeName(each.dtype)])));
    if (first.kind === "descriptor") return { kind: "descriptor", text: dtype(element), isInteger: false };
    const options = isZeroed(param.name, tree) ? ", { zeroed: true }" : "";
    const text = first.kind === "pointer" ? dtype(element) + options : `tl.${dtypeName(first.dtype)}`;
    return { kind: first.kind, text: `${first.kind}(${text})${optional}`, isInteger: /^[iu]\d/.test(first.dtype) };
  }
  addImport("constexpr");
  const value = bindingValue(first.value);
  switch (value?.kind) {
    case "truth":
      return { kind: "bool", text: "constexpr.bool()", value: value.text, isInteger: false };
    case "number": {
      const isKey = !isPinned && isConstantKey(param.name, tree);
      const integerKind = Number(value.value) > 0 && !isKey ? "size" : "int";
      const kind = value.isFloat ? "float" : integerKind;
      const text = kind === "size" ? "constexpr()" : `constexpr.${kind}()`;
      return { kind, text, value: value.text, isInteger: !value.isFloat };
    }
    case "string": {
      const choices = new Set([...args.flatMap(stringOf), ...stringsIn(tree.functions[0].body, param.name)]);
      const text = `constexpr.string(${JSON.stringify([...choices])})`;
      return { kind: "string", text, value: value.text, isInteger: false };
    }
    case undefined:
      throw new UnsupportedConstruct(`${param.name}, a constant of another kind`, "pass numbers, strings or dtypes", {
        line: 1,
      });
    case "dtype":
      return {
        kind: "dtype",
        text: `constexpr.dtype(${dtypeVariable(param.name) ?? `[${value.text}]`}, { default: ${value.text} })`,
        isInteger: false,
      };
    case "function":
    case "helper":
    case "list":
    case "none":
    case "nothing":
    case "traced":
      leaveOut("parameter", `${param.name} is left out: it is fixed to its value in the traced calls`, 1);
      return undefined;
    default:
      return value satisfies never;
  }
}

const isZeroed = (name: string, { tuning }: KernelTree): boolean => tuning.autotune?.zeroed.includes(name) === true;

function handleOf(text: string, arg: LaunchArgument): Value {
  if (arg.kind !== "constant") return { kind: "traced", text, typeTag: arg.kind };
  return { kind: "traced", text, isConstant: true, ...(arg.value.what === "constant" && { typeTag: arg.value.of }) };
}

const isNone = (arg: LaunchArgument): boolean =>
  arg.kind === "constant" && arg.value.what === "constant" && arg.value.of === "NoneType";

const valueText = (arg: LaunchArgument): readonly string[] =>
  arg.kind === "constant" ? [bindingValue(arg.value)?.text ?? ""] : [];

const stringOf = (arg: LaunchArgument): readonly string[] =>
  arg.kind === "constant" && arg.value.what === "constant" && typeof arg.value.value === "string"
    ? [arg.value.value]
    : [];

/** The string literals that a parameter is compared with. */
function stringsIn(body: unknown, name: string): readonly string[] {
  if (typeof body !== "object" || body === null) return [];
  if (Array.isArray(body)) return body.flatMap((each) => stringsIn(each, name));
  const node = body as Readonly<Record<string, unknown>>;
  const comparedStrings =
    node["kind"] === "Compare" && readNames(node).has(name)
      ? (node["comparators"] as readonly { kind: string; of?: string; value?: unknown }[]).flatMap(({ of, value }) =>
          of === "str" ? [String(value)] : [],
        )
      : [];
  const nestedStrings = Object.entries(node).flatMap(([key, value]) =>
    key === "types" || key === "bound" ? [] : stringsIn(value, name),
  );
  return [...comparedStrings, ...nestedStrings];
}
