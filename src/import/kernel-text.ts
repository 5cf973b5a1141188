/** The text of a kernel file: its imports, helper functions, parameters and body. */
import { format } from "prettier";
import { authorName } from "./author-name.js";
import type { KernelContext } from "./context.js";
import { decided } from "./decided.js";
import { type DTypeVariable, dtypeVariables } from "./dtype-variables.js";
import { LAUNCH_NAMES } from "../codegen/names/launch-names.js";
import { reads, writes } from "./liveness.js";
import { FunctionScope } from "./function-scope.js";
import { statements } from "./translate-statements.js";
import type { FunctionTree, GivenArgument, KernelTree, Known, ParameterTree } from "./tree.js";
import { dtypeName, elementText, knownValue, NONE, NotImported, traced, type Value } from "./value.js";

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
  readonly specialise?: ReadonlySet<string>;
  /** Conditions that Triton knows are decided as in the first call. */
  readonly decides?: boolean;
  /** No dtype variables: every pointer has the dtype of the first call. */
  readonly fixedDTypes?: boolean;
}

/** @throws NotImported with the reason and the line of the file. */
export async function kernelText(tree: KernelTree, options: TextOptions = {}): Promise<KernelText> {
  const made = new KernelWriter(tree, options).write();
  return { ...made, text: await format(made.text, { parser: "typescript", printWidth: 120 }) };
}

interface Declared {
  readonly name: string;
  /** What the body calls it. */
  readonly local: string;
  readonly text: string;
  readonly config?: string;
}

class KernelWriter implements KernelContext {
  readonly optional = new Set<string>();
  readonly #tree: KernelTree;
  readonly #options: TextOptions;
  readonly #todos: Todo[] = [];
  readonly #fixed: string[] = [];
  readonly #imports = new Set<string>(["kernel", "tl"]);
  /** The texts of helper functions, and the name of each by its number and its known arguments. */
  readonly #helpers = new Map<string, { readonly name: string; text: string }>();
  readonly #order: string[] = [];
  readonly #taken = new Set<string>();
  /** Dtype variables by their element types. */
  readonly #variables: ReadonlyMap<string, DTypeVariable>;
  /** The TypeScript names of the kernel's parameters by their Python names. */
  readonly #names = new Map<string, string>();

  constructor(tree: KernelTree, options: TextOptions) {
    this.#tree = options.decides === true ? { ...tree, functions: tree.functions.map(decided) } : tree;
    this.#options = options;
    this.#variables = options.fixedDTypes ? new Map() : dtypeVariables(tree);
  }

  get #kernel(): FunctionTree {
    return this.#tree.functions[0]!;
  }

  get decides(): boolean {
    return this.#options.decides === true;
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
    throw new NotImported(`a value that is ${element.split(" ").join(" or ")}, as no pointer is`);
  }

  imports(name: "libdevice"): void {
    this.#imports.add(name);
  }

  write(): KernelText {
    const { name, doc } = this.#kernel;
    const kernelName = name.replace(/^_+/, "") || "imported";
    const variable = authorName(kernelName);
    this.#taken.add(variable);
    const scope = new FunctionScope(this.#kernel, true, this.#taken);
    const all = this.#declare(scope);
    this.#body(scope);
    const declared = all.filter((param) => this.#isNeeded(param, scope));
    const config = declared.flatMap((param) => param.config ?? []);
    const helpers = this.#order.map((key) => this.#helpers.get(key)!.text);
    const imported = [...this.#imports].sort().join(", ");
    const lines = [
      `import { ${imported} } from "tilescript";`,
      ...[...this.#variables.values()].map(
        (variable) =>
          `\nconst ${variable.name} = tl.dtype("${variable.name}", [${variable.members.map((each) => `tl.${each}`).join(", ")}]);`,
      ),
      ...helpers.flatMap((helper) => ["", helper]),
      "",
      ...this.#todos.map(({ text, line }) => `// TODO(import): ${text} (line ${line})`),
      `export const ${variable} = kernel("${kernelName}", {`,
      ...(doc === undefined ? [] : [`doc: ${JSON.stringify(doc)},`]),
      `params: {`,
      ...declared.map((param) => `${param.name}: ${param.text},`),
      `},`,
      `// TODO(import): how many programs the kernel has`,
      `grid: () => [1],`,
      ...(config.length > 0 ? [`config: { ${config.join(", ")} },`] : []),
      `}, ({ ${declared.map(({ name: own, local }) => (own === local ? own : `${own}: ${local}`)).join(", ")} }) => {`,
      ...scope.lines,
      `});`,
    ];
    return {
      text: lines.join("\n"),
      name: kernelName,
      parameters: Object.fromEntries(this.#names),
      todos: this.#todos,
      fixed: this.#fixed,
    };
  }

  /** TileScript takes a flag that nothing uses for one that JavaScript decided. */
  #isNeeded({ name, local, text }: Declared, { lines }: FunctionScope): boolean {
    if (!/^constexpr\.(bool|string)/.test(text) || lines.some((line) => new RegExp(`\\b${local}\\b`).test(line)))
      return true;
    const [python] = [...this.#names].find(([, own]) => own === name)!;
    this.#names.delete(python);
    this.#fixed.push(python);
    return false;
  }

  #body(scope: FunctionScope): void {
    this.#located(this.#kernel, () => statements(this.#kernel.body, new Set(), { scope, kernel: this }));
  }

  /** Turns the lines of a function into those of its file. */
  #located<T>(tree: FunctionTree, body: () => T): T {
    try {
      return body();
    } catch (error) {
      if (error instanceof NotImported && error.line !== undefined && error.inside === undefined) {
        error.line += tree.line - 1;
        error.inside = tree.name;
      }
      throw error;
    }
  }

  #declare(scope: FunctionScope): readonly Declared[] {
    const compared = new Set(
      this.#kernel.params.map(({ name }) => name).filter((name) => hasNoneTest(this.#kernel.body, name)),
    );
    return this.#kernel.params.flatMap((param): readonly Declared[] => {
      const given = this.#tree.signatures.map((signature) => signature[param.name]!);
      const present = given.filter((each) => !isNone(each));
      const [first] = present;
      const isDType = first?.kind === "constant" && first.value.what === "dtype";
      const fixed =
        this.#options.specialise?.has(param.name) === true || (isDType && this.#options.fixedDTypes === true);
      if (!first || (fixed && first.kind === "constant")) {
        if (first) this.#fixed.push(param.name);
        const value = first?.kind === "constant" ? knownValue(first.value) : NONE;
        scope.bind(param.name, value ?? NONE);
        return [];
      }
      const { name, local } = this.#parameterNames(param.name, first.kind === "pointer", scope);
      const isOptional = present.length < given.length || (first.kind === "pointer" && compared.has(param.name));
      const described = this.#described(param, first, present, isOptional);
      if (!described) {
        scope.bind(param.name, first.kind === "constant" ? (knownValue(first.value) ?? NONE) : NONE);
        return [];
      }
      if (isOptional && first.kind === "pointer") this.optional.add(local);
      scope.bind(param.name, isDType ? { kind: "dtype", text: local } : traced(local));
      this.#names.set(param.name, name);
      const { text, config } = described;
      return [{ name, local, text, ...(config !== undefined && { config: `${name}: ${config}` }) }];
    });
  }

  /**
   * Emission adds `_ptr` to a pointer's name, so the name loses it. In the body it stays where the name without it is
   * another variable's.
   */
  #parameterNames(python: string, isPointer: boolean, scope: FunctionScope): { name: string; local: string } {
    const names = this.#kernel.params.map(({ name }) => name);
    const base = python.replace(/^_+(?=[a-zA-Z])/, "");
    const short = base.replace(/_ptr$/, "");
    if (isPointer && short !== "" && short !== base && !names.includes(short)) {
      const isTaken = writes(this.#kernel.body).includes(short);
      const local = scope.fresh(isTaken ? base : short);
      return { name: isTaken ? authorName(short) : local, local };
    }
    // A constant that has the name of a launch option would be taken for one.
    const local = scope.fresh(LAUNCH_NAMES.has(base) ? base.toUpperCase() : base);
    return { name: local, local };
  }

  #described(
    param: ParameterTree,
    first: GivenArgument,
    all: readonly GivenArgument[],
    isOptional: boolean,
  ): Omit<Declared, "name" | "local"> | undefined {
    if (first.kind !== "constant") {
      this.#imports.add(first.kind);
      const optional = isOptional && first.kind === "pointer" ? ".optional()" : "";
      const element = elementText(all.flatMap((each) => (each.kind === "constant" ? [] : [dtypeName(each.dtype)])));
      const dtype = first.kind === "pointer" ? this.dtype(element) : `tl.${dtypeName(first.dtype)}`;
      return { text: `${first.kind}(${dtype})${optional}` };
    }
    this.#imports.add("constexpr");
    const value = knownValue(first.value);
    switch (value?.kind) {
      case "truth":
        return { text: "constexpr.bool()", config: value.text };
      case "number": {
        const isSize = !value.isFloat && Number(value.value) > 0;
        return {
          text: value.isFloat ? "constexpr.float()" : isSize ? "constexpr()" : "constexpr.int()",
          config: value.text,
        };
      }
      case "string": {
        const choices = new Set([...all.flatMap(textOf), ...stringsIn(this.#kernel.body, param.name)]);
        return { text: `constexpr.string(${JSON.stringify([...choices])})`, config: value.text };
      }
      case undefined:
        throw new NotImported(`${param.name}, a constant of a kind that TileScript has not`, { line: 1 });
      case "dtype":
        return { text: `constexpr.dtype([${value.text}], { default: ${value.text} })` };
      default:
        this.todo(`${param.name} is fixed to its value in the traced calls`, 1);
        return undefined;
    }
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
    tree.params.forEach((param, i) => {
      const value = values[i]!;
      if (!isPassed(value)) return scope.bind(param.name, value);
      const [pattern, inner] = formal(param.name, value, scope);
      params.push(`${pattern}: any`);
      scope.bind(param.name, inner);
    });
    this.#located(tree, () => statements(tree.body, new Set(), { scope, kernel: this }));
    const options = tree.noinline ? ", { noinline: true }" : "";
    this.#helpers.get(key)!.text =
      `const ${name} = tl.fn((${params.join(", ")}): any => {\n${scope.lines.join("\n")}\n}${options});`;
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

const isNone = (given: GivenArgument): boolean =>
  given.kind === "constant" && given.value.what === "constant" && given.value.of === "NoneType";

const textOf = (given: GivenArgument): readonly string[] =>
  given.kind === "constant" && given.value.what === "constant" && typeof given.value.value === "string"
    ? [given.value.value]
    : [];

const isTraced = (value: Value): boolean =>
  value.kind === "traced" || (value.kind === "list" && value.items.some(isTraced));
const shapeOf = (value: Value): string =>
  value.kind === "list" ? `[${value.items.map(shapeOf).join(" ")}]` : value.kind === "traced" ? "?" : value.text;

/** A parameter for an argument: a name, or a pattern for a list. */
function formal(name: string, value: Value, scope: FunctionScope): readonly [string, Value] {
  if (value.kind !== "list") {
    const text = scope.fresh(name);
    return [text, traced(text)];
  }
  const parts = value.items.map((item, i) => formal(`${name}_${i}`, item, scope));
  return [
    `[${parts.map(([text]) => text).join(", ")}]`,
    { kind: "list", text: `[${parts.map(([text]) => text).join(", ")}]`, items: parts.map(([, inner]) => inner) },
  ];
}

function knownDefault(param: ParameterTree | undefined): Value | undefined {
  const known: Known | undefined = param?.default;
  return known && knownValue(known);
}

/** Whether a function asks if a parameter is None. */
function hasNoneTest(body: unknown, name: string): boolean {
  if (typeof body !== "object" || body === null) return false;
  if (Array.isArray(body)) return body.some((each) => hasNoneTest(each, name));
  const node = body as Readonly<Record<string, unknown>>;
  if (node["kind"] === "Compare") {
    const { left, comparators } = node as {
      left: { kind: string; id?: string };
      comparators: readonly { kind: string; of?: string }[];
    };
    if (left.kind === "Name" && left.id === name && comparators.some(({ of }) => of === "NoneType")) return true;
  }
  return Object.entries(node).some(([key, value]) => key !== "types" && key !== "bound" && hasNoneTest(value, name));
}

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
  return [
    ...own,
    ...Object.entries(node).flatMap(([key, value]) =>
      key === "types" || key === "bound" ? [] : stringsIn(value, name),
    ),
  ];
}
