/** Writes a kernel file: imports, helper functions, parameters and body. */
import { format } from "prettier";
import { authorName } from "./author-name.js";
import type { KernelContext, Translators } from "./context.js";
import { type DTypeVariable, dtypeVariables } from "./dtype-variables.js";
import { type DeclaredParam, declareParams } from "./declared-params.js";
import type { EqualConstants } from "./equal-constants.js";
import { FunctionScope, type RefutedCondition } from "./function-scope.js";
import { gridText } from "./launch-facts/grid-text.js";
import { hostLines } from "./host-spec.js";
import { type HostNames, docComment, escapeInvisible, lineComment } from "./host-text.js";
import type { InferredLaunchFacts } from "./launch-facts/recorded-values.js";
import type { LiftedTensor } from "./lift/lifted-tensors.js";
import type { LeftOut } from "./left-out.js";
import { readNames } from "./liveness.js";
import { presenceFlags } from "./presence-flags.js";
import { splitLiveRanges } from "./live-ranges.js";
import { translateCall } from "./translate-calls.js";
import { translateStatements } from "./translate-statements.js";
import { type FunctionTree, helperTree, type KernelTree, type ParameterTree } from "./tree.js";
import { unrollLoops, pruneConstantBranches, withoutUnused } from "./unroll-loops.js";
import {
  bindingValue,
  dtypeName,
  elementText,
  list,
  NO_VALUE,
  NONE,
  traced,
  UnsupportedConstruct,
  type Value,
  withFileLines,
} from "./value.js";
import type { HelperSignature } from "../compiled/compiled-kernel.js";

const translate: Translators = { statements: translateStatements, call: translateCall };

/** A TODO for the user, with its line in the Python file. */
export interface Todo {
  readonly text: string;
  readonly line: number;
}

export interface KernelText {
  readonly text: string;
  readonly name: string;
  /** The parameters of the kernel, without fixed parameters, by their Python names. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly todos: readonly Todo[];
  /** Constants that are replaced by their values. */
  readonly fixed: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

export interface TextOptions {
  /** Parameters that are replaced by their values in the first call. */
  readonly specialize?: ReadonlySet<string>;
  /** Folds compile-time conditions to their values in the first call. */
  readonly shouldFoldConditions?: boolean;
  /** Uses no dtype variables: every pointer has its dtype in the first call. */
  readonly hasFixedDTypes?: boolean;
  /** Computes no constants at launch: each has its value in the first call. */
  readonly hasPinnedConstants?: boolean;
  /** Drops the types of code that no call reaches. They come from other constants and may be contradictory. */
  readonly isReachableOnly?: boolean;
  /** Raw pointers whose memory the autotuner restores after each trial. */
  readonly restoredPointers?: ReadonlySet<string>;
  /** A parameter that trials would change and Triton cannot restore. The file then uses the first config only. */
  readonly untunedPointer?: string;
  /** Removes arms that Triton compiled for no constants, and asserts that their conditions are false. */
  readonly compiledArmsOnly?: boolean;
  /** Duplicates the statements after a branch into its arms if a name has different dtypes or shapes in them. */
  readonly mayEmitContinuations?: boolean;
  /** Casts stored values to dtype variables: an arm for one dtype stores a value of this dtype. */
  readonly castsStoredValues?: boolean;
  /** Constants that the body replaces by others, according to an earlier build: shapes agree only if they are equal. */
  readonly equalConstants?: EqualConstants;
  /** Keys of the branches that a build reported for different types. Their continuations are duplicated. */
  readonly mixedTypeBranches?: ReadonlySet<string>;
  /** Starts each arm with a comment that contains the key of its branch. */
  readonly hasBranchMarkers?: boolean;
  /** The types of helper functions' parameters, which only a build can infer. Without them, parameters are `any`. */
  readonly helperTypes?: HelperTypes;
  /** Tensors that replace pointers. The tree contains views of them. */
  readonly tensors?: readonly LiftedTensor[];
  /** The grid and the requirements that follow from the recorded launches. */
  readonly inferred?: InferredLaunchFacts;
}

/** Parameter types by helper function and parameter name. */
type HelperTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** @throws UnsupportedConstruct with the reason and the line in the Python file. */
export async function kernelText(tree: KernelTree, options: TextOptions = {}): Promise<KernelText> {
  const unformatted = new KernelWriter(tree, options).write();
  try {
    return { ...unformatted, text: await format(unformatted.text, { parser: "typescript", printWidth: 120 }) };
  } catch (error) {
    // A translation bug must fail only this kernel and not the whole command.
    const [message = ""] = String(error instanceof Error ? error.message : error).split("\n");
    throw new UnsupportedConstruct(
      `the text that it would have is not TypeScript (${message})`,
      "report it with the Python file",
    );
  }
}

class KernelWriter implements KernelContext {
  optionalPointers: ReadonlySet<string> = new Set();
  readonly #tree: KernelTree;
  readonly #options: TextOptions;
  readonly #todos: Todo[] = [];
  readonly #leftOut: LeftOut[] = [];
  readonly #imports = new Set<string>(["kernel", "tl"]);
  /** Helper functions and the positions of arguments that they do not get, by their index and constant arguments. */
  readonly #helpers = new Map<string, { readonly name: string; readonly unused: ReadonlySet<number> }>();
  /** The text of each helper function, callees before callers. */
  readonly #helperTexts: string[] = [];
  readonly #usedNames = new Set<string>();
  /** Names of parameters in the body, by their Python names. */
  #localNames: ReadonlyMap<string, string> = new Map();
  /** Dtype variables by element type. */
  readonly #dtypeVariables: ReadonlyMap<string, DTypeVariable>;

  /** `refuted` contains conditions that an earlier attempt refuted only after it had translated them. */
  constructor(
    private readonly source: KernelTree,
    options: TextOptions,
    private readonly refuted: readonly RefutedCondition[] = [],
  ) {
    const [kernel, ...helpers] = source.functions;
    const isFixed = (name: string): boolean =>
      options.shouldFoldConditions === true || options.specialize?.has(name) === true;
    const prepare = (tree: FunctionTree): FunctionTree => {
      const ranges = splitLiveRanges(options.shouldFoldConditions === true ? pruneConstantBranches(tree) : tree);
      // Unrolling splits live ranges again.
      return splitLiveRanges(unrollLoops(ranges, isFixed));
    };
    this.#tree = { ...source, functions: [prepare(kernel), ...helpers.map(prepare)] };
    this.#options = options;
    this.#dtypeVariables = options.hasFixedDTypes ? new Map() : dtypeVariables(source);
  }

  get #kernel(): FunctionTree {
    return this.#tree.functions[0];
  }

  /** Names of dtype variables that no constant of the kernel binds. */
  get #dtypeNames(): readonly string[] {
    return [...this.#dtypeVariables.values()].flatMap(({ name, binder }) => (binder === undefined ? [name] : []));
  }

  get isSpecialized(): boolean {
    return this.#options.shouldFoldConditions === true;
  }

  get canDuplicateTails(): boolean {
    return this.#options.mayEmitContinuations === true;
  }

  get shouldPruneUncompiled(): boolean {
    return this.#options.compiledArmsOnly === true;
  }

  get castsStoredValues(): boolean {
    return this.#options.castsStoredValues === true;
  }

  get divergentBranches(): ReadonlySet<string> {
    return this.#options.mixedTypeBranches ?? new Set();
  }

  get hasBranchMarkers(): boolean {
    return this.#options.hasBranchMarkers === true;
  }

  elementOf(parameter: string): string | undefined {
    const args = this.#tree.signatures.map((signature) => signature[parameter]);
    const dtypes = args.flatMap((arg) => (arg && arg.kind !== "constant" ? [dtypeName(arg.dtype)] : []));
    return dtypes.length > 0 ? elementText(dtypes) : undefined;
  }

  tensor(parameter: string): string {
    return this.#localNames.get(parameter)!;
  }

  addTodo(text: string, line: number): void {
    const fileLine = this.#kernel.line + line - 1;
    if (!this.#todos.some((todo) => todo.text === text && todo.line === fileLine))
      this.#todos.push({ text, line: fileLine });
  }

  leaveOut(what: LeftOut["what"], text: string, line: number): void {
    const fileLine = this.#kernel.line + line - 1;
    if (!this.#leftOut.some((part) => part.text === text && part.line === fileLine))
      this.#leftOut.push({ what, text, line: fileLine });
  }

  dtype(element: string): string {
    const variable = this.#dtypeVariables.get(element);
    if (variable) return variable.name;
    return element.includes(" ") ? this.#refuseSeveralDTypes(element) : `tl.${element}`;
  }

  isVariable(element: string): boolean {
    return this.#dtypeVariables.has(element);
  }

  #refuseSeveralDTypes(element: string): never {
    throw new UnsupportedConstruct(
      `a value that is ${element.split(" ").join(" or ")}, as no pointer is`,
      "call the kernel with one of them only",
    );
  }

  addImport(importName: "libdevice" | "pointer" | "descriptor" | "tensor" | "scalar" | "constexpr"): void {
    this.#imports.add(importName);
  }

  write(): KernelText {
    const { name } = this.#kernel;
    const publicName = name.replace(/^_+/, "") || "imported";
    // The emitter adds the suffix.
    const kernelName = publicName.replace(/(?<=.)_kernel$/, "");
    const variable = authorName(publicName);
    this.#usedNames.add(variable);
    for (const name of this.#dtypeNames) this.#usedNames.add(name);
    const scope = new FunctionScope(this.#kernel, true, this.#usedNames);
    const { specialize, hasPinnedConstants, tensors = [] } = this.#options;
    const { params, fixedNames, optionalPointers, names } = declareParams({
      tree: this.#tree,
      scope,
      isFixed: (name) => specialize?.has(name) === true,
      isPinned: hasPinnedConstants === true,
      tensors,
      dtype: (element) => this.dtype(element),
      dtypeVariable: (python) => [...this.#dtypeVariables.values()].find(({ binder }) => binder === python)?.name,
      addImport: (name) => this.addImport(name),
      addTodo: (message, line) => this.addTodo(message, line),
      leaveOut: (what, message, line) => this.leaveOut(what, message, line),
    });
    this.optionalPointers = optionalPointers;
    this.#localNames = new Map(params.map(({ python, local }) => [python, local]));
    for (const refutation of this.refuted) scope.refute(refutation);
    this.#translateBody(scope);
    const lateRefutations = scope.lateRefutations.filter(
      ({ condition }) => dependsOnlyOnParams(condition, params) && !this.#isRefuted(condition),
    );
    if (lateRefutations.length > 0)
      return new KernelWriter(this.source, this.#options, [...this.refuted, ...lateRefutations]).write();
    const retainedParams = params.filter((param) => isNeeded(param, scope));
    // The body does not destructure sizes that it does not use.
    const usedParams = retainedParams.filter(({ text, local }) => text !== undefined || isNamed(local, scope));
    const droppedParams = new Set(
      params.filter((param) => !retainedParams.includes(param)).map(({ python }) => python),
    );
    // Reports a constant as fixed only if translated code reads it.
    const namesRead = this.isSpecialized ? readNames({ body: this.#kernel.body }) : scope.readNames;
    for (const [line, text] of scope.arms) this.leaveOut("arm", text, line);
    const hostNames: HostNames = (python) => (droppedParams.has(python) ? undefined : names(python));
    const spec = this.#specLines(retainedParams, hostNames);
    const bodyNames = usedParams.map(({ name: publicName, local }) =>
      publicName === local ? publicName : `${publicName}: ${local}`,
    );
    const lines = [
      ...this.#moduleHead(),
      `export const ${variable} = kernel("${kernelName}", {`,
      ...spec,
      `}, ({ ${bodyNames.join(", ")} }) => {`,
      ...withoutUnused(scope.lines),
      `});`,
    ];
    return {
      text: escapeInvisible(lines.join("\n")),
      name: kernelName,
      parameters: Object.fromEntries(retainedParams.map((param) => [param.python, param.name])),
      todos: this.#todos,
      leftOut: this.#leftOut,
      fixed: [...fixedNames, ...[...droppedParams].filter((name) => namesRead.has(name))],
    };
  }

  #specLines(params: readonly DeclaredParam[], names: HostNames): readonly string[] {
    const { doc } = this.#kernel;
    const {
      tensors = [],
      inferred,
      equalConstants,
      restoredPointers = new Set(),
      untunedPointer: mutatedParam,
    } = this.#options;
    const grid = gridText(this.#tree, names, inferred);
    if (grid.params.length > 0) this.addImport("scalar");
    const declarations = params.flatMap(({ name, text }) => (text === undefined ? [] : [`${name}: ${text},`]));
    return [
      ...(doc === undefined ? [] : [`doc: ${JSON.stringify(doc)},`]),
      `params: {`,
      ...declarations,
      ...grid.params.map((name) => `${name}: scalar(tl.int32),`),
      `},`,
      ...hostLines(params, this.#tree, {
        names: (python) => (grid.params.includes(python) ? { name: python } : names(python)),
        inferred,
        equalConstants,
        presenceFlags: presenceFlags(this.#tree),
        gridLines: grid.lines,
        tensors,
        restoredPointers,
        mutatedParam,
        leaveOut: (what, message) => this.leaveOut(what, message, 1),
      }),
      ...sameStrides(tensors, (python) => params.find((param) => param.python === python)?.name ?? python),
    ];
  }

  /** The file above the kernel: imports, dtype variables, helpers and remarks. */
  #moduleHead(): readonly string[] {
    const importList = [...this.#imports].sort(compareImportNames).join(", ");
    return [
      `import { ${importList} } from "tilescript";`,
      ...[...this.#dtypeVariables.values()].map(
        ({ name, members }) =>
          `\nconst ${name} = tl.dtype("${name}", [${members.map((member) => `tl.${member}`).join(", ")}]);`,
      ),
      ...this.#helperTexts.flatMap((text) => ["", text]),
      "",
      ...[...this.#todos, ...this.#leftOut].map(({ text, line }) =>
        lineComment(`TODO(import): ${text} (line ${line})`),
      ),
    ];
  }

  #isRefuted({ text }: Value): boolean {
    return this.refuted.some(({ condition }) => condition.text === text);
  }

  #translateBody(scope: FunctionScope): void {
    for (const [replaced, constant] of this.#options.equalConstants ?? []) {
      const value = scope.read(constant);
      if (value) scope.bind(replaced, value);
    }
    withFileLines(this.#kernel, () =>
      translateStatements(this.#kernel.body, new Set(), { scope, kernel: this, translate }),
    );
  }

  functionTree(index: number): FunctionTree {
    return helperTree(this.#tree, index);
  }

  instantiateHelper(index: number, args: readonly Value[]): { readonly name: string; readonly args: readonly Value[] } {
    const tree = this.functionTree(index);
    const bindings = tree.params.map((param, i) => {
      const arg = args[i] ?? NO_VALUE;
      return { param, value: arg.kind === "nothing" ? (defaultValue(param) ?? NONE) : arg };
    });
    const values = bindings.map(({ value }) => value);
    const isPassed = (value: Value): boolean => value.kind === "traced" || (value.kind === "list" && isTraced(value));
    const key = `${index}:${values.map((value) => (isPassed(value) ? argumentPattern(value) : `${value.kind} ${value.text}`)).join(",")}`;
    const passedArgs = values.filter(isPassed);
    const argsFor = (unused: ReadonlySet<number>): readonly Value[] => passedArgs.filter((_, i) => !unused.has(i));
    const existing = this.#helpers.get(key);
    if (existing) return { name: existing.name, args: argsFor(existing.unused) };
    const name = this.#uniqueName(authorName(tree.name));
    const scope = new FunctionScope(tree, false, this.#dtypeNames);
    const params: string[] = [];
    const types = this.#options.helperTypes?.get(name);
    for (const { param, value } of bindings) {
      const parameter = isPassed(value) ? bindParameter(param.name, value, scope) : value;
      if (isPassed(value)) params.push(`${parameter.text}: ${parameterType(parameter, types)}`);
      scope.bind(param.name, parameter);
    }
    withFileLines(tree, () => translateStatements(tree.body, new Set(), { scope, kernel: this, translate }));
    // An optional pointer may be absent where the function does not use it.
    const isUnused = ({ text }: Value, i: number): boolean =>
      this.optionalPointers.has(text) && !isNamed(params[i]?.split(":")[0] ?? "", scope);
    const unused = new Set(passedArgs.flatMap((arg, i) => (isUnused(arg, i) ? [i] : [])));
    this.#helpers.set(key, { name, unused });
    const parameterList = params.filter((_, i) => !unused.has(i)).join(", ");
    // If a parameter is `any`, the inferred return type would be wrong.
    const returnType = /: any\b/.test(parameterList) ? ": any" : "";
    for (const [name] of parameterList.matchAll(TYPE_NAMES)) this.#imports.add(`type ${name}`);
    const options = tree.noinline ? ", { noinline: true }" : "";
    const body = withoutUnused(scope.lines).join("\n");
    this.#helperTexts.push(
      `${docComment(tree.doc)}const ${name} = tl.fn((${parameterList})${returnType} => {\n${body}\n}${options});`,
    );
    return { name, args: argsFor(unused) };
  }

  #uniqueName(base: string): string {
    let name = base;
    for (let i = 1; this.#usedNames.has(name); i++) name = `${base}${i}`;
    this.#usedNames.add(name);
    return name;
  }
}

/** Type names that the kernel file must import. */
const TYPE_NAMES = /\b(?:[A-Z]\w+Of|Const\w+)(?=<)/g;

/** Sorts `type X` at the position of `X`. */
const compareImportNames = (a: string, b: string): number => {
  const [x, y] = [a.replace("type ", ""), b.replace("type ", "")];
  return x < y ? -1 : Number(x > y);
};

/** Drops unused flags, because TileScript reports them as evaluated in JavaScript. */
const isNeeded = ({ local, kind }: DeclaredParam, scope: FunctionScope): boolean =>
  (kind !== "bool" && kind !== "string") || isNamed(local, scope);

/** True if a condition names only parameters. */
const dependsOnlyOnParams = ({ text }: Value, params: readonly DeclaredParam[]): boolean =>
  (text.match(/(?<![.\w])[A-Za-z_]\w*/g) ?? []).every((name) => params.some(({ local }) => local === name));

const isNamed = (local: string, { lines }: FunctionScope): boolean =>
  lines.some((line) => !line.startsWith("//") && new RegExp(`\\b${local}\\b`).test(line));

/** The `sameStrides` line for tensors that share their stride parameters in the original. */
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
function argumentPattern(value: Value): string {
  if (value.kind === "list") return `[${value.items.map(argumentPattern).join(" ")}]`;
  return value.kind === "traced" ? "?" : value.text;
}

/** Binds a parameter to an argument: a name, or a destructuring pattern for a list. */
function bindParameter(name: string, value: Value, scope: FunctionScope): Value {
  if (value.kind === "list") return list(value.items.map((item, i) => bindParameter(`${name}_${i}`, item, scope)));
  const text = scope.fresh(name);
  return value.kind === "traced" ? { ...value, text } : traced(text);
}

/** The type of a parameter or of a destructured list. */
function parameterType(param: Value, types: ReadonlyMap<string, string> | undefined): string {
  if (param.kind !== "list") return types?.get(param.text) ?? "any";
  const items = param.items.map((item) => parameterType(item, types));
  return items.includes("any") ? "any" : `readonly [${items.join(", ")}]`;
}

const defaultValue = ({ default: binding }: ParameterTree): Value | undefined => binding && bindingValue(binding);

/** Omits parameters whose types differ between calls. */
export function helperTypes(text: string, helpers: readonly HelperSignature[]): HelperTypes {
  const lines = text.split("\n");
  const typesByHelper = new Map<string, Map<string, string | undefined>>();
  for (const { at: location, params } of helpers) {
    const [, name] =
      /^const (\w+) = tl\.fn\(/.exec(location === undefined ? "" : (lines[location.line - 1] ?? "")) ?? [];
    if (name === undefined) continue;
    const types = typesByHelper.get(name) ?? new Map<string, string | undefined>();
    typesByHelper.set(name, types);
    for (const { name: param, type } of params)
      types.set(param, types.has(param) && types.get(param) !== type ? undefined : type);
  }
  return new Map(
    [...typesByHelper].map(([name, types]) => [
      name,
      new Map([...types].flatMap(([param, type]) => (type === undefined ? [] : [[param, type] as const]))),
    ]),
  );
}
