/** A kernel's parameters as the spec declares them. */
import { LAUNCH_NAMES } from "../codegen/names/kernel-names.js";
import { authorName } from "./author-name.js";
import type { FunctionScope } from "./function-scope.js";
import { descriptorText } from "./descriptors.js";
import { callback, type HostNames } from "./host-text.js";
import type { LiftedAxis, LiftedTensor } from "./lift/lifted-tensors.js";
import { reads, writes } from "./liveness.js";
import { givenFlags } from "./presence-flags.js";
import { namesAskedForNone } from "./none-tests.js";
import { translateAnd } from "./operators.js";
import type { GivenArgument, KernelTree, ParameterTree } from "./tree.js";
import { dtypeName, elementText, knownValue, NONE, UnsupportedConstruct, traced, type Value } from "./value.js";

type Kind = "pointer" | "descriptor" | "tensor" | "scalar" | "size" | "int" | "bool" | "float" | "string" | "dtype";

export interface DeclaredParam {
  readonly python: string;
  /** Its name in the spec. */
  readonly name: string;
  /** What the body calls it. */
  readonly local: string;
  readonly kind: Kind;
  /** Its declaration; undefined for a size, which the tensors that have it declare. */
  readonly text: string | undefined;
  readonly isInteger: boolean;
  /** A constant's value in the first call, unless a launch computes it. */
  readonly value?: string | undefined;
  /** Other values that calls pass for a constant. */
  readonly others: readonly string[];
  /** Whether callers choose a constant. */
  readonly isArgument: boolean;
}

/** What the declarations need of the file that is written. */
export interface Declaring {
  readonly tree: KernelTree;
  readonly scope: FunctionScope;
  /** Whether this constant is fixed to what the first call gives. */
  isFixed(name: string, isDType: boolean): boolean;
  /** No constant is computed at the launch. */
  readonly pinned: boolean;
  /** Tensors that pointers become. */
  readonly tensors: readonly LiftedTensor[];
  dtype(element: string): string;
  /** The dtype variable that a constant binds. */
  bound(name: string): string | undefined;
  imports(name: "pointer" | "descriptor" | "tensor" | "scalar" | "constexpr"): void;
  todo(text: string, line: number): void;
}

export interface Declarations {
  readonly params: readonly DeclaredParam[];
  /** Constants that are fixed to what the calls give, by their Python names. */
  readonly fixed: readonly string[];
  /** Pointers that a call may leave out, by what the body calls them. */
  readonly optional: ReadonlySet<string>;
  /** A parameter as callbacks of the host have it. */
  readonly names: HostNames;
}

/** @throws NotImported */
export function declaredParams(declaring: Declaring): Declarations {
  const { tree, scope } = declaring;
  const kernel = tree.functions[0]!;
  const { sizes, shared, strides } = roles(declaring.tensors, (name) =>
    tree.signatures.some((signature) => signature[name]?.kind === "constant"),
  );
  const compared = namesAskedForNone(kernel.body);
  const flags = givenFlags(tree);
  const fixed: string[] = [];
  const optional = new Set<string>();
  const constants = new Map<string, Value>();
  const drafts = kernel.params.flatMap((param): readonly Draft[] => {
    const given = tree.signatures.map((signature) => signature[param.name]!);
    const present = given.filter((each) => !isNone(each));
    const [first] = present;
    const isDType = first?.kind === "constant" && first.value.what === "dtype";
    const known = first?.kind === "constant" ? knownValue(first.value) : NONE;
    if (!first || (first.kind === "constant" && declaring.isFixed(param.name, isDType))) {
      if (first) fixed.push(param.name);
      scope.bind(param.name, known ?? NONE);
      constants.set(param.name, known ?? NONE);
      return [];
    }
    // It is what the kernel can ask for itself.
    if (flags.has(param.name) && !declaring.isFixed(param.name, false)) return [];
    const isOptional = present.length < given.length || (first.kind === "pointer" && compared.has(param.name));
    if (strides.has(param.name) && !sizes.has(param.name)) return [];
    const described = sizes.has(param.name) ? SIZE : describe(param, first, present, isOptional, declaring);
    if (!described) {
      fixed.push(param.name);
      scope.bind(param.name, known ?? NONE);
      constants.set(param.name, known ?? NONE);
      return [];
    }
    const { name, local } = parameterNames(param.name, first, declaring);
    if (isOptional && first.kind === "pointer") optional.add(local);
    if (described.kind === "tensor") {
      scope.bind(param.name, { kind: "traced", text: `${local}.ptr`, of: "pointer" });
      return [{ python: param.name, name, local, ...described, others: [] }];
    }
    scope.bind(param.name, isDType ? { kind: "dtype", text: local } : handle(local, first));
    const values = shared.has(param.name) ? [] : [...new Set(present.flatMap(valueText))];
    return [{ python: param.name, name, local, ...described, ...valued(described, values), others: values.slice(1) }];
  });
  for (const [flag, pointers] of flags)
    if (!fixed.includes(flag)) scope.bind(flag, allGiven(drafts.filter(({ python }) => pointers.includes(python))));
  const nameOf = (python: string): string =>
    drafts.find((draft) => draft.python === python)?.name ?? constants.get(python)?.text ?? python;
  for (const [python, { tensor, axis }] of strides)
    if (!sizes.has(python))
      scope.bind(python, traced(`${drafts.find((each) => each.python === tensor)!.local}.stride(${axis})`));
  const made = madeSizes(declaring.tensors);
  const names = namesOf(drafts, made, constants);
  const described = describing(declaring, drafts, nameOf);
  const params = drafts.map((draft) =>
    completed(withShape(described(draft), declaring, nameOf, optional), declaring, names),
  );
  return { params, fixed, optional, names };
}

/** What callers pass tensors for. */
const MEMORY: ReadonlySet<Kind> = new Set(["pointer", "descriptor", "tensor"]);

/** What the host knows a parameter by, if it is no tensor. */
const namesOf =
  (drafts: readonly Draft[], made: ReadonlySet<string>, constants: ReadonlyMap<string, Value>): HostNames =>
  (python) => {
    const draft = drafts.find((each) => each.python === python);
    if (draft) return MEMORY.has(draft.kind) ? undefined : { name: draft.name };
    if (made.has(python)) return { name: python };
    const value = constants.get(python);
    if (value?.kind === "number") return { value: Number(value.value) };
    return value?.kind === "truth" ? { value: value.value } : undefined;
  };

/** The sizes that only shapes of tensors have. */
const madeSizes = (tensors: readonly LiftedTensor[]): ReadonlySet<string> =>
  new Set(tensors.flatMap(({ axes }) => axes.flatMap(({ size, isNew }) => (isNew ? [size] : []))));

/** Whether calls give all of these pointers. */
function allGiven(pointers: readonly Draft[]): Value {
  const { text } = pointers.map(({ local }) => traced(`${local}.given`, true)).reduce(translateAnd);
  return { kind: "traced", text, isConstant: true, of: "bool" };
}

/** The shapes of tensors declare it. */
const SIZE: Described = { kind: "scalar", text: undefined, isInteger: true };

interface Roles {
  readonly sizes: ReadonlySet<string>;
  /** Constants that are sizes of tensors too. */
  readonly shared: ReadonlySet<string>;
  /** The first tensor that has it, and the axis. */
  readonly strides: ReadonlyMap<string, { readonly tensor: string; readonly axis: number }>;
}

/** What parameters are to the tensors. */
function roles(tensors: readonly LiftedTensor[], isConstant: (name: string) => boolean): Roles {
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

/** A pointer that is lifted, as its tensor. */
function withShape(
  draft: Draft,
  { tensors }: Declaring,
  nameOf: (python: string) => string,
  optional: ReadonlySet<string>,
): Draft {
  const tensor = tensors.find(({ param }) => param === draft.python);
  if (!tensor) return draft;
  return { ...draft, text: tensorText(tensor, draft.text!, nameOf) + (optional.has(draft.local) ? ".optional()" : "") };
}

/** `tensor.out(tl.float16, ["M", "N"])` */
function tensorText(
  { axes, isContiguous, role }: LiftedTensor,
  dtype: string,
  nameOf: (python: string) => string,
): string {
  const dim = ({ size, isNew }: LiftedAxis): string => {
    const text = isNew ? size : nameOf(size);
    return /^\d/.test(text) ? text : JSON.stringify(text);
  };
  const options = isContiguous ? ", { contiguous: true }" : "";
  return `tensor${role === "in" ? "" : `.${role}`}(${dtype}, [${axes.map(dim).join(", ")}]${options})`;
}

/** The value of a constant, unless the shape of a tensor says it. */
const valued = ({ value }: Described, values: readonly string[]): Pick<Described, "value"> => ({
  value: values.length > 0 ? value : undefined,
});

/** A descriptor with its sizes and its block. */
function describing(
  { tree, scope, todo }: Declaring,
  drafts: readonly Draft[],
  nameOf: (python: string) => string,
): (draft: Draft) => Draft {
  const isDeclared = (python: string): boolean => drafts.some((each) => each.python === python);
  return (draft) =>
    draft.kind === "descriptor"
      ? { ...draft, text: descriptorText(draft, { tree, scope, todo, nameOf, isDeclared }) }
      : draft;
}

type Described = Pick<DeclaredParam, "kind" | "text" | "isInteger" | "value">;
type Draft = Described & Pick<DeclaredParam, "python" | "name" | "local" | "others">;

/** A constant that the script computes is computed at each launch; one that only callers know is an argument. */
function completed(draft: Draft, { tree, pinned }: Declaring, names: HostNames): DeclaredParam {
  const { value, ...rest } = draft;
  const isNumber = draft.kind === "size" || draft.kind === "int";
  const computed = pinned || !isNumber ? undefined : tree.launch?.computed[draft.python];
  const text = computed && callback([computed], names, ([each]) => each!);
  if (text !== undefined) return { ...rest, text: `constexpr.launch(${text})`, isArgument: false };
  const isChoice = draft.kind === "bool" || draft.kind === "float" || draft.kind === "string" || draft.kind === "int";
  return { ...rest, ...(value !== undefined && { value }), isArgument: isChoice && draft.others.length > 0 };
}

/**
 * Emission adds `_ptr` to a pointer's name and `_desc` to a descriptor's, so the name loses it. In the body it stays where the name without it is
 * another variable's.
 */
function parameterNames(
  python: string,
  { kind }: GivenArgument,
  { tree, scope }: Declaring,
): { readonly name: string; readonly local: string } {
  const kernel = tree.functions[0]!;
  const base = python.replace(/^_+(?=[a-zA-Z])/, "");
  const short = base.replace(kind === "pointer" ? /_ptr$/ : kind === "descriptor" ? /_desc$/ : /$/, "");
  if (short !== "" && short !== base && !kernel.params.some(({ name }) => name === short)) {
    const isTaken = writes(kernel.body).includes(short);
    const local = scope.fresh(isTaken ? base : short);
    return { name: isTaken ? authorName(short) : local, local };
  }
  // A constant that has the name of a launch option would be taken for one.
  const local = scope.fresh(LAUNCH_NAMES.has(base) ? base.toUpperCase() : base);
  return { name: local, local };
}

/** Undefined for a constant that the text has in the places where it is used. */
function describe(
  param: ParameterTree,
  first: GivenArgument,
  all: readonly GivenArgument[],
  isOptional: boolean,
  { tree, tensors, dtype, bound, imports, todo }: Declaring,
): Described | undefined {
  if (first.kind === "pointer" && tensors.some((tensor) => tensor.param === param.name)) {
    imports("tensor");
    const element = elementText(all.flatMap((each) => (each.kind === "pointer" ? [dtypeName(each.dtype)] : [])));
    return { kind: "tensor", text: dtype(element), isInteger: false };
  }
  if (first.kind !== "constant") {
    imports(first.kind);
    const optional = isOptional && first.kind === "pointer" ? ".optional()" : "";
    const element = elementText(all.flatMap((each) => (each.kind === "constant" ? [] : [dtypeName(each.dtype)])));
    if (first.kind === "descriptor") return { kind: "descriptor", text: dtype(element), isInteger: false };
    const text = first.kind === "pointer" ? dtype(element) : `tl.${dtypeName(first.dtype)}`;
    return { kind: first.kind, text: `${first.kind}(${text})${optional}`, isInteger: /^[iu]\d/.test(first.dtype) };
  }
  imports("constexpr");
  const value = knownValue(first.value);
  switch (value?.kind) {
    case "truth":
      return { kind: "bool", text: "constexpr.bool()", value: value.text, isInteger: false };
    case "number": {
      const kind = value.isFloat ? "float" : Number(value.value) > 0 ? "size" : "int";
      const text = kind === "size" ? "constexpr()" : `constexpr.${kind}()`;
      return { kind, text, value: value.text, isInteger: !value.isFloat };
    }
    case "string": {
      const choices = new Set([...all.flatMap(stringOf), ...stringsIn(tree.functions[0]!.body, param.name)]);
      const text = `constexpr.string(${JSON.stringify([...choices])})`;
      return { kind: "string", text, value: value.text, isInteger: false };
    }
    case undefined:
      throw new UnsupportedConstruct(`${param.name}, a constant of a kind that TileScript has not`, { line: 1 });
    case "dtype":
      return {
        kind: "dtype",
        text: `constexpr.dtype(${bound(param.name) ?? `[${value.text}]`}, { default: ${value.text} })`,
        isInteger: false,
      };
    default:
      todo(`${param.name} is fixed to its value in the traced calls`, 1);
      return undefined;
  }
}

function handle(text: string, given: GivenArgument): Value {
  if (given.kind !== "constant") return { kind: "traced", text, of: given.kind };
  return { kind: "traced", text, isConstant: true, ...(given.value.what === "constant" && { of: given.value.of }) };
}

const isNone = (given: GivenArgument): boolean =>
  given.kind === "constant" && given.value.what === "constant" && given.value.of === "NoneType";

const valueText = (given: GivenArgument): readonly string[] =>
  given.kind === "constant" ? [knownValue(given.value)?.text ?? ""] : [];

const stringOf = (given: GivenArgument): readonly string[] =>
  given.kind === "constant" && given.value.what === "constant" && typeof given.value.value === "string"
    ? [given.value.value]
    : [];

/** The strings that a parameter is compared with. */
function stringsIn(body: unknown, name: string): readonly string[] {
  if (typeof body !== "object" || body === null) return [];
  if (Array.isArray(body)) return body.flatMap((each) => stringsIn(each, name));
  const node = body as Readonly<Record<string, unknown>>;
  const own =
    node["kind"] === "Compare" && reads(node).has(name)
      ? (node["comparators"] as readonly { kind: string; of?: string; value?: unknown }[]).flatMap(({ of, value }) =>
          of === "str" ? [String(value)] : [],
        )
      : [];
  const inside = Object.entries(node).flatMap(([key, value]) =>
    key === "types" || key === "bound" ? [] : stringsIn(value, name),
  );
  return [...own, ...inside];
}
