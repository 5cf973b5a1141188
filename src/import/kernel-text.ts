/** The text of a kernel file: its imports, helper functions, parameters and body. */
import { format } from "prettier";
import { authorName } from "./author-name.js";
import type { KernelContext } from "./context.js";
import { pruneConstantBranches } from "./constant-branches.js";
import { type DTypeVariable, dtypeVariables } from "./dtype-variables.js";
import { type DeclaredParam, declaredParams } from "./declared-params.js";
import { FunctionScope, type Refuted } from "./function-scope.js";
import { hostLines } from "./host-spec.js";
import type { HostNames } from "./host-text.js";
import type { Inferred } from "./launch-facts/launch-facts.js";
import type { LiftedTensor } from "./lift/lifted-tensors.js";
import { reads } from "./liveness.js";
import { translateStatements } from "./translate-statements.js";
import type { FunctionTree, KernelTree, GlobalBinding, ParameterTree } from "./tree.js";
import { withoutUnused } from "./unused-lines.js";
import { dtypeName, elementText, knownValue, list, NONE, UnsupportedConstruct, traced, type Value } from "./value.js";

/** What a person must look at, with the line of the Python file. */
export interface Todo {
  readonly text: string;
  readonly line: number;
}

export interface KernelText {
  readonly text: string;
  /** The kernel's name. */
  readonly name: string;
  /** The kernel's parameters by the names of the Python's; those that are fixed are left out. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly todos: readonly Todo[];
  /** Constants of the calls that the user asked to fix. */
  readonly fixed: readonly string[];
}

export interface TextOptions {
  /** Parameters that are fixed to what the first call gives them. */
  readonly specialize?: ReadonlySet<string>;
  /** Conditions that Triton knows are decided as in the first call. */
  readonly decides?: boolean;
  /** No dtype variables: every pointer has the dtype of the first call. */
  readonly fixedDTypes?: boolean;
  /** No constant is computed at a launch: each has the value of the first call. */
  readonly pinned?: boolean;
  /** Code that the calls do not reach has no types: those of other constants may contradict them. */
  readonly reachedOnly?: boolean;
  /** A raw pointer that an autotuner's trials would change: the first config is written. */
  readonly untuned?: string;
  /** Arms that Triton compiled for no constants are left out: their conditions must not hold. */
  readonly compiledOnly?: boolean;
  /** What follows a branch is written for each arm where arms give a name another dtype or shape. */
  readonly tails?: boolean;
  /** Branches that need that, by their keys, as a build found out. */
  readonly apart?: ReadonlySet<string>;
  /** Each arm has a comment with the key of its branch. */
  readonly marked?: boolean;
  /** The types of helper functions' parameters, which only a build knows; `any` without them. */
  readonly helpers?: HelperTypes;
  /** Tensors in place of pointers, of which the tree has views. */
  readonly tensors?: readonly LiftedTensor[];
  /** What the noted launches say of the grid and of what has to hold. */
  readonly inferred?: Inferred;
}

/** Types by the names of parameters, by the names of helper functions. */
export type HelperTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** @throws NotImported with the reason and the line of the file. */
export async function kernelText(tree: KernelTree, options: TextOptions = {}): Promise<KernelText> {
  const made = new KernelWriter(tree, options).write();
  try {
    return { ...made, text: await format(made.text, { parser: "typescript", printWidth: 120 }) };
  } catch (error) {
    // What no rule foresaw ends one kernel and not the command.
    const [why = ""] = String(error instanceof Error ? error.message : error).split("\n");
    throw new UnsupportedConstruct(`the text that it would have is not TypeScript (${why})`);
  }
}

class KernelWriter implements KernelContext {
  optional: ReadonlySet<string> = new Set();
  readonly #tree: KernelTree;
  readonly #options: TextOptions;
  readonly #todos: Todo[] = [];
  readonly #imports = new Set<string>(["kernel", "tl"]);
  /** The texts of helper functions, and the name of each by its number and its known arguments. */
  readonly #helpers = new Map<string, { readonly name: string; text: string }>();
  readonly #order: string[] = [];
  readonly #taken = new Set<string>();
  /** What the body calls parameters, by their Python names. */
  #locals: ReadonlyMap<string, string> = new Map();
  /** Dtype variables by their element types. */
  readonly #variables: ReadonlyMap<string, DTypeVariable>;

  /** `early` is what must not hold of the kernel, which its code shows only after it asks for it. */
  constructor(
    private readonly given: KernelTree,
    options: TextOptions,
    private readonly early: readonly Refuted[] = [],
  ) {
    const tree = given;
    this.#tree = options.decides === true ? { ...tree, functions: tree.functions.map(pruneConstantBranches) } : tree;
    this.#options = options;
    this.#variables = options.fixedDTypes ? new Map() : dtypeVariables(tree);
  }

  get #kernel(): FunctionTree {
    return this.#tree.functions[0]!;
  }

  get decides(): boolean {
    return this.#options.decides === true;
  }

  get tails(): boolean {
    return this.#options.tails === true;
  }

  get compiledOnly(): boolean {
    return this.#options.compiledOnly === true;
  }

  get apart(): ReadonlySet<string> {
    return this.#options.apart ?? new Set();
  }

  get isMarked(): boolean {
    return this.#options.marked === true;
  }

  elementOf(parameter: string): string | undefined {
    const given = this.#tree.signatures.map((signature) => signature[parameter]);
    const dtypes = given.flatMap((each) => (each && each.kind !== "constant" ? [dtypeName(each.dtype)] : []));
    return dtypes.length > 0 ? elementText(dtypes) : undefined;
  }

  tensor(parameter: string): string {
    return this.#locals.get(parameter)!;
  }

  todo(text: string, line: number): void {
    const at = this.#kernel.line + line - 1;
    if (!this.#todos.some((todo) => todo.text === text && todo.line === at)) this.#todos.push({ text, line: at });
  }

  dtype(element: string): string {
    const variable = this.#variables.get(element);
    if (variable) return variable.name;
    return element.includes(" ") ? this.#severalDTypes(element) : `tl.${element}`;
  }

  #severalDTypes(element: string): never {
    throw new UnsupportedConstruct(`a value that is ${element.split(" ").join(" or ")}, as no pointer is`);
  }

  imports(name: "libdevice" | "pointer" | "descriptor" | "tensor" | "scalar" | "constexpr"): void {
    this.#imports.add(name);
  }

  write(): KernelText {
    const { name, doc } = this.#kernel;
    const plain = name.replace(/^_+/, "") || "imported";
    // Emission adds it again.
    const kernelName = plain.replace(/(?<=.)_kernel$/, "");
    const variable = authorName(plain);
    this.#taken.add(variable);
    const scope = new FunctionScope(this.#kernel, true, this.#taken);
    const { specialize, fixedDTypes, pinned, tensors, inferred } = this.#options;
    const { params, fixed, optional, names } = declaredParams({
      tree: this.#tree,
      scope,
      isFixed: (name, isDType) => specialize?.has(name) === true || (isDType && fixedDTypes === true),
      pinned: pinned === true,
      tensors: tensors ?? [],
      dtype: (element) => this.dtype(element),
      bound: (python) => [...this.#variables.values()].find(({ binder }) => binder === python)?.name,
      imports: (name) => this.imports(name),
      todo: (text, line) => this.todo(text, line),
    });
    this.optional = optional;
    this.#locals = new Map(params.map(({ python, local }) => [python, local]));
    for (const each of this.early) scope.refute(each);
    this.#body(scope);
    const late = scope.late.filter(({ condition }) => isOf(condition, params) && !this.#isEarly(condition));
    if (late.length > 0) return new KernelWriter(this.given, this.#options, [...this.early, ...late]).write();
    const kept = params.filter((param) => isNeeded(param, scope));
    // A size that the body does not use is no argument of it.
    const used = kept.filter(({ text, local }) => text !== undefined || isNamed(local, scope));
    const left = new Set(params.filter((param) => !kept.includes(param)).map(({ python }) => python));
    // What only code that is left out reads has no effect.
    const asked = this.decides ? reads({ body: this.#kernel.body }) : scope.asked;
    const known: HostNames = (python) => (left.has(python) ? undefined : names(python));
    const imported = [...this.#imports].sort(byName).join(", ");
    const lines = [
      `import { ${imported} } from "tilescript";`,
      ...[...this.#variables.values()].map(
        ({ name, members }) =>
          `\nconst ${name} = tl.dtype("${name}", [${members.map((each) => `tl.${each}`).join(", ")}]);`,
      ),
      ...this.#order.flatMap((key) => ["", this.#helpers.get(key)!.text]),
      "",
      ...this.#todos.map(({ text, line }) => `// TODO(import): ${text} (line ${line})`),
      `export const ${variable} = kernel("${kernelName}", {`,
      ...(doc === undefined ? [] : [`doc: ${JSON.stringify(doc)},`]),
      `params: {`,
      ...kept.flatMap((param) => (param.text === undefined ? [] : [`${param.name}: ${param.text},`])),
      `},`,
      ...hostLines(kept, this.#tree, { names: known, inferred, untuned: this.#options.untuned }),
      ...sameStrides(tensors ?? [], (python) => kept.find((param) => param.python === python)?.name ?? python),
      `}, ({ ${used.map(({ name: own, local }) => (own === local ? own : `${own}: ${local}`)).join(", ")} }) => {`,
      ...withoutUnused(scope.lines),
      `});`,
    ];
    return {
      text: lines.join("\n"),
      name: kernelName,
      parameters: Object.fromEntries(kept.map((param) => [param.python, param.name])),
      todos: this.#todos,
      fixed: [...fixed, ...[...left].filter((name) => asked.has(name))],
    };
  }

  #isEarly({ text }: Value): boolean {
    return this.early.some(({ condition }) => condition.text === text);
  }

  #body(scope: FunctionScope): void {
    this.#located(this.#kernel, () => translateStatements(this.#kernel.body, new Set(), { scope, kernel: this }));
  }

  /** Turns the lines of a function into those of its file. */
  #located<T>(tree: FunctionTree, body: () => T): T {
    try {
      return body();
    } catch (error) {
      if (error instanceof UnsupportedConstruct && error.line !== undefined && error.inside === undefined) {
        error.line += tree.line - 1;
        error.inside = tree.name;
      }
      throw error;
    }
  }

  functionTree(number: number): FunctionTree {
    return this.#tree.functions[number]!;
  }

  helper(index: number, args: readonly Value[]): { readonly name: string; readonly args: readonly Value[] } {
    const tree = this.#tree.functions[index]!;
    const values = args.map((value, i) => (value.kind === "nothing" ? (knownDefault(tree.params[i]) ?? NONE) : value));
    const isPassed = (value: Value): boolean => value.kind === "traced" || (value.kind === "list" && isTraced(value));
    const key = `${index}:${values.map((value) => (isPassed(value) ? shapeOf(value) : `${value.kind} ${value.text}`)).join(",")}`;
    const known = this.#helpers.get(key);
    const passed = values.filter(isPassed);
    if (known) return { name: known.name, args: passed };
    const name = this.#free(authorName(tree.name));
    this.#helpers.set(key, { name, text: "" });
    const scope = new FunctionScope(tree, false, []);
    const params: string[] = [];
    const types = this.#options.helpers?.get(name);
    tree.params.forEach((param, i) => {
      const value = values[i]!;
      if (!isPassed(value)) return scope.bind(param.name, value);
      const inner = formal(param.name, value, scope);
      params.push(`${inner.text}: ${typeText(inner, types)}`);
      scope.bind(param.name, inner);
    });
    const formals = params.join(", ");
    // What follows from an unknown type is not inferred, but unknown.
    const result = /: any\b/.test(formals) ? ": any" : "";
    for (const [name] of formals.matchAll(TYPE_NAMES)) this.#imports.add(`type ${name}`);
    this.#located(tree, () => translateStatements(tree.body, new Set(), { scope, kernel: this }));
    const options = tree.noinline ? ", { noinline: true }" : "";
    this.#helpers.get(key)!.text =
      `${docComment(tree.doc)}const ${name} = tl.fn((${formals})${result} => {\n${withoutUnused(scope.lines).join("\n")}\n}${options});`;
    this.#order.push(key);
    return { name, args: passed };
  }

  #free(wanted: string): string {
    let name = wanted;
    for (let i = 1; this.#taken.has(name); i++) name = `${wanted}${i}`;
    this.#taken.add(name);
    return name;
  }
}

/** Emission wraps the lines of a paragraph again. */
function docComment(doc: string | undefined): string {
  if (doc === undefined) return "";
  const paragraphs = doc.replaceAll("*/", "* /").split(/\n\s*\n/);
  return `/** ${paragraphs.map((each) => each.replaceAll(/\s+/g, " ").trim()).join("\n *\n * ")} */\n`;
}

/** What the types of parameters are written with. */
const TYPE_NAMES = /\b(?:[A-Z]\w+Of|Const\w+)(?=<)/g;

/** Types stand where their names do. */
const byName = (one: string, other: string): number => {
  const [x, y] = [one.replace("type ", ""), other.replace("type ", "")];
  return x < y ? -1 : Number(x > y);
};

/** TileScript takes a flag that nothing uses for one that JavaScript decided. */
const isNeeded = ({ local, kind }: DeclaredParam, scope: FunctionScope): boolean =>
  (kind !== "bool" && kind !== "string") || isNamed(local, scope);

/** Whether a condition is of parameters alone. */
const isOf = ({ text }: Value, params: readonly DeclaredParam[]): boolean =>
  (text.match(/(?<![.\w])[A-Za-z_]\w*/g) ?? []).every((name) => params.some(({ local }) => local === name));

const isNamed = (local: string, { lines }: FunctionScope): boolean =>
  lines.some((line) => !line.startsWith("//") && new RegExp(`\\b${local}\\b`).test(line));

/** Tensors that have one set of strides in the original. */
function sameStrides(tensors: readonly LiftedTensor[], nameOf: (python: string) => string): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const { param, axes, isContiguous } of tensors) {
    const key = JSON.stringify(axes.map(({ size, strides }) => [size, strides]));
    if (!isContiguous) groups.set(key, [...(groups.get(key) ?? []), JSON.stringify(nameOf(param))]);
  }
  const lists = [...groups.values()].filter(({ length }) => length > 1).map((names) => `[${names.join(", ")}]`);
  return lists.length > 0 ? [`sameStrides: [${lists.join(", ")}],`] : [];
}

const isTraced = (value: Value): boolean =>
  value.kind === "traced" || (value.kind === "list" && value.items.some(isTraced));
const shapeOf = (value: Value): string =>
  value.kind === "list" ? `[${value.items.map(shapeOf).join(" ")}]` : value.kind === "traced" ? "?" : value.text;

/** A parameter for an argument: a name, or a pattern for a list. */
function formal(name: string, value: Value, scope: FunctionScope): Value {
  if (value.kind === "list") return list(value.items.map((item, i) => formal(`${name}_${i}`, item, scope)));
  const text = scope.fresh(name);
  return value.kind === "traced" ? { ...value, text } : traced(text);
}

/** The type of a parameter, which may be a list. */
function typeText(param: Value, types: ReadonlyMap<string, string> | undefined): string {
  if (param.kind !== "list") return types?.get(param.text) ?? "any";
  const items = param.items.map((item) => typeText(item, types));
  return items.includes("any") ? "any" : `readonly [${items.join(", ")}]`;
}

function knownDefault(param: ParameterTree | undefined): Value | undefined {
  const known: GlobalBinding | undefined = param?.default;
  return known && knownValue(known);
}
