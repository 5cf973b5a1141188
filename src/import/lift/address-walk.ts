/**
 * Collects the memory accesses of a kernel. Each address is a sum of a pointer parameter and of indices times strides.
 * Names are replaced by their definitions. An expression is valid at an access only if its names have not changed
 * since.
 */
import { assignedNames, writtenNames, childrenOf, readNames } from "../liveness.js";
import {
  argumentsOf,
  boundArgument,
  type Expression,
  type FunctionTree,
  type If,
  type KernelTree,
  type LaunchArgument,
  type Statement,
  type Call,
  type Comparison,
} from "../tree.js";
import { kindOf, rankOf } from "../value.js";
import { callsIn, type Access, type Binding, type Env, type ParamKinds } from "./expression-parts.js";
import { maskConditions, toLinearAddress, type LinearAddress, sizeOf } from "./linear-address.js";
import { incrementsOf, type InductionVariable } from "./induction-variables.js";

/**
 * Constants that masks or block pointers use as sizes, and constants that multiply a tile of several axes or another
 * stride. Tile lengths are excluded from the products, because `program * BLOCK` is an index.
 */
function strideConstantsOf(
  body: object,
  constants: ReadonlySet<string>,
  numbers: ReadonlySet<string>,
): ReadonlySet<string> {
  const result = new Set([...constants].filter((name) => isSizeBound(body, name)));
  const lengths = new Set(
    callsOf(body, "tl.arange").flatMap(({ args, keywords }) => [...readNames({ args, keywords })]),
  );
  const products = productsIn(body).map((factors) => ({
    names: factors.flatMap((each) => (each.kind === "Name" ? [each.id] : [])),
    isTile: factors.some((each) => (rankOf(each) ?? 0) > 1),
  }));
  const constantsIn = (names: readonly string[]): readonly string[] => names.filter((name) => constants.has(name));
  for (const { names, isTile } of products) {
    const strides = constantsIn(names).filter((name) => !lengths.has(name));
    const [first, ...others] = constantsIn(names);
    if (isTile) for (const name of strides) result.add(name);
    // A row stride may equal the length of the only tile.
    if (isTile && strides.length === 0 && first !== undefined && others.length === 0) result.add(first);
  }
  const isStride = (name: string): boolean => result.has(name) || numbers.has(name);
  for (const { names } of products)
    if (names.some(isStride)) for (const name of constantsIn(names)) if (!lengths.has(name)) result.add(name);
  return result;
}

/** True if a comparison has the name as its bound, or a block pointer has it as a size. */
function isSizeBound(node: object, name: string): boolean {
  const isName = (each: Expression | undefined): boolean => each?.kind === "Name" && each.id === name;
  if ("kind" in node && node.kind === "Compare" && (node as Comparison).comparators.some(isName)) return true;
  const within = ("within" in node ? node.within : []) as NonNullable<Call["within"]>;
  return within.some(({ size }) => isName(size)) || childrenOf(node).some((each) => isSizeBound(each, name));
}

function callsOf(node: object, callee: string): readonly Call[] {
  const call = "kind" in node && node.kind === "Call" ? (node as Call) : undefined;
  const isMatch = call?.callee?.what === "function" && call.callee.name === callee;
  return [...(isMatch ? [call] : []), ...childrenOf(node).flatMap((each) => callsOf(each, callee))];
}

/** The factors of each product, flattened. */
function productsIn(node: object): readonly (readonly Expression[])[] {
  const factors = "kind" in node ? factorsOf(node as Expression) : [];
  if (factors.length < 2) return childrenOf(node).flatMap(productsIn);
  return [factors, ...factors.flatMap(productsIn)];
}

const factorsOf = (node: Expression): readonly Expression[] =>
  node.kind === "BinOp" && node.op === "Mult" ? [...factorsOf(node.left), ...factorsOf(node.right)] : [node];

const ACCESSES: Readonly<Record<string, { readonly isStore: boolean }>> = {
  "tl.load": { isStore: false },
  "tl.store": { isStore: true },
};

/** Classifies the parameters of the kernel by the arguments of its recorded calls. */
export function callArguments(tree: FunctionTree, kernelTree: KernelTree): ParamKinds {
  const { tuning, launch } = kernelTree;
  const paramsWhere = (test: (arg: LaunchArgument) => boolean): ReadonlySet<string> =>
    new Set(tree.params.map(({ name }) => name).filter((name) => argumentsOf(kernelTree, name).every(test)));
  // A constant that depends on a config or a launch is no property of a tensor.
  const launchDependentNames = new Set([
    ...(tuning.autotune?.configs ?? []).flatMap(({ values }) => Object.keys(values)),
    ...Object.keys(tuning.heuristics),
    ...Object.keys(launch?.computed ?? {}),
  ]);
  const integers = paramsWhere(
    ({ kind, ...arg }) =>
      kind === "constant" &&
      "value" in arg &&
      arg.value.what === "constant" &&
      arg.value.of === "int" &&
      Number(arg.value.value) > 0,
  );
  const numbers = paramsWhere((arg) => arg.kind === "scalar" && arg.dtype === "i32");
  const constants = new Set([...integers].filter((name) => !launchDependentNames.has(name)));
  const isNone = (arg: LaunchArgument): boolean =>
    arg.kind === "constant" && arg.value.what === "constant" && arg.value.value === null;
  const absent = paramsWhere(isNone);
  return {
    pointers: new Set(
      [...paramsWhere((arg) => arg.kind === "pointer" || isNone(arg))].filter((name) => !absent.has(name)),
    ),
    omitted: absent,
    int32Scalars: numbers,
    unitConstants: paramsWhere(
      (arg) => arg.kind === "constant" && arg.value.what === "constant" && arg.value.value === 1,
    ),
    positiveConstants: constants,
    strideConstants: strideConstantsOf(tree.body, constants, numbers),
  };
}

/** The accesses in source order. */
export function accessesOf(tree: FunctionTree, params: ParamKinds): readonly Access[] {
  const walk = new AccessCollector(params);
  walk.visitBlock(tree.body);
  return walk.accesses;
}

class AccessCollector {
  readonly accesses: Access[] = [];
  #env: Env = new Map();
  #versions = 0;
  /** Induction variables of the open loops, by their increment statements. */
  readonly #inductionVariables: ReadonlyMap<Statement, InductionVariable>[] = [];

  /** For each flag, the bindings at the end of an arm under it, and the versions of the names after the branch. */
  readonly #bindingsByFlag = new Map<string, ReadonlyMap<string, FlaggedBinding>>();

  constructor(readonly params: ParamKinds) {}

  visitBlock(body: readonly Statement[]): void {
    for (const statement of body) this.#visitStatement(statement);
  }

  #visitStatement(statement: Statement): void {
    const variable = this.#inductionVariables.at(-1)?.get(statement);
    if (variable) return this.#bindInductionVariables([{ ...variable, value: variable.next }]);
    switch (statement.kind) {
      case "Assign":
        return this.#visitAssign(statement);
      case "AnnAssign":
        if (!statement.value) return;
        this.#collectAccesses(statement.value);
        return statement.target.kind === "Name"
          ? this.#bindNames([[statement.target.id, statement.value]])
          : this.#invalidate(writtenNames([statement]));
      case "AugAssign": {
        const { target, value, op } = statement;
        this.#collectAccesses(value);
        if (target.kind !== "Name") return;
        return this.#bindNames([[target.id, { ...statement, kind: "BinOp", left: target, op, right: value }]]);
      }
      case "If":
        return this.#visitIf(statement);
      case "For": {
        this.#collectAccesses(statement.iter);
        const outerEnv = this.#env;
        this.#invalidate(writtenNames([statement]));
        const variables = incrementsOf(statement, outerEnv, this.#env);
        this.#bindInductionVariables(variables);
        this.#inductionVariables.push(new Map(variables.map((step) => [step.statement, step])));
        this.visitBlock(statement.body);
        this.#inductionVariables.pop();
        return this.#invalidate(writtenNames([statement]));
      }
      case "While":
        this.#invalidate(writtenNames([statement]));
        this.#collectAccesses(statement.test);
        this.visitBlock(statement.body);
        return this.#invalidate(writtenNames([statement]));
      case "Assert":
      case "Unsupported":
      case "Expr":
      case "Pass":
      case "Return":
        return this.#collectAccesses(statement);
      default:
        statement satisfies never;
    }
  }

  #visitAssign(statement: Extract<Statement, { kind: "Assign" }>): void {
    this.#collectAccesses(statement.value);
    const names = assignedNames(statement);
    return names ? this.#bindNames(names) : this.#invalidate(writtenNames([statement]));
  }

  #visitIf(statement: If): void {
    this.#collectAccesses(statement.test);
    const outerEnv = this.#env;
    const flag = flagKey(statement.test, outerEnv);
    const arms = [statement.body, statement.orelse].map((arm, i) => {
      const key = i === 0 ? flag : negateFlag(flag);
      this.#env = this.#envUnder(key, outerEnv);
      this.visitBlock(arm);
      return [key, this.#env] as const;
    });
    this.#env = outerEnv;
    const names = writtenNames([statement]);
    this.#invalidate(names);
    for (const [key, env] of arms) {
      if (key === undefined) continue;
      const bindings = names.flatMap((name) => {
        const [binding, current] = [env.get(name), this.#env.get(name)];
        return binding && current ? [[name, { binding, version: current.version }] as const] : [];
      });
      this.#bindingsByFlag.set(key, new Map([...(this.#bindingsByFlag.get(key) ?? []), ...bindings]));
    }
  }

  /** The environment if a flag is true: restores the bindings of an earlier arm under the same flag. */
  #envUnder(key: string | undefined, env: Env): Env {
    const bindings = [...(this.#bindingsByFlag.get(key ?? "") ?? [])].filter(
      ([name, { version }]) => env.get(name)?.version === version,
    );
    return bindings.length === 0
      ? env
      : new Map([...env, ...bindings.map(([name, { binding }]) => [name, binding] as const)]);
  }

  #bindNames(pairs: readonly (readonly [string, Expression])[]): void {
    const previousEnv = this.#env;
    const env = new Map(previousEnv);
    for (const [name, value] of pairs) env.set(name, { version: ++this.#versions, value, env: previousEnv });
    this.#env = env;
  }

  #bindInductionVariables(variables: readonly InductionVariable[]): void {
    const env = new Map(this.#env);
    for (const { name, value, env: valueEnv } of variables)
      env.set(name, { version: ++this.#versions, value, env: valueEnv, isInductionVariable: true });
    this.#env = env;
  }

  /** Invalidates the bindings of names that change in loops or arms. */
  #invalidate(names: readonly string[]): void {
    this.#env = new Map([...this.#env, ...names.map((name) => [name, { version: ++this.#versions }] as const)]);
  }

  #collectAccesses(node: object): void {
    for (const call of callsIn(node)) {
      const kind = call.callee?.what === "function" ? ACCESSES[call.callee.name] : undefined;
      const [pointer, mask] = [boundArgument(call, "pointer"), boundArgument(call, "mask")];
      if (!kind || !pointer) continue;
      const address: LinearAddress = toLinearAddress(pointer, this.#env, this.params);
      const [base, ...others] = address.bases;
      // No call executes an access to an omitted pointer.
      if (address.terms.some(({ index }) => index.kind === "Name" && this.params.omitted.has(index.id))) continue;
      const leaf = address.terms.find(({ index }) => kindOf(index) === "pointer");
      const isWhole = base !== undefined && others.length === 0 && !leaf;
      this.accesses.push({
        call,
        pointer,
        env: this.#env,
        isStore: kind.isStore,
        base: isWhole ? base : undefined,
        ...(!isWhole && { unresolved: describeUnresolved(leaf?.index) }),
        terms: address.terms,
        conditions: mask ? maskConditions(mask, this.#env, this.params) : [],
        knownBounds: (call.within ?? []).flatMap(({ index, size }) => {
          const name = sizeOf(size, this.#env, this.params);
          return name === undefined ? [] : [{ node: index, env: this.#env, index, size: name }];
        }),
      });
    }
  }
}

interface FlaggedBinding {
  readonly binding: Binding;
  readonly version: number;
}

/** The key of a launch-invariant condition: a flag, or the presence of a pointer. */
function flagKey(test: Expression, env: Env): string | undefined {
  if (test.kind === "UnaryOp" && test.op === "Not") return negateFlag(flagKey(test.operand, env));
  if (test.kind === "Name") return env.has(test.id) ? undefined : test.id;
  if (test.kind !== "Compare" || test.left.kind !== "Name" || test.comparators.length !== 1) return undefined;
  const [[op], [rhs]] = [test.ops, test.comparators];
  const isNone = rhs?.kind === "Constant" && rhs.of === "NoneType";
  if (!isNone || kindOf(test.left) !== "pointer") return undefined;
  const presenceFlag = `${test.left.id} is given`;
  if (op === "IsNot") return presenceFlag;
  return op === "Is" ? negateFlag(presenceFlag) : undefined;
}

const negateFlag = (flag: string | undefined): string | undefined =>
  flag?.startsWith("not ") ? flag.slice("not ".length) : flag && `not ${flag}`;

/** The reason why a pointer has no unique pointer parameter. */
function describeUnresolved(leaf: Expression | undefined): NonNullable<Access["unresolved"]> {
  if (leaf?.kind === "Name") return { name: leaf.id, reason: "a loop or a branch changes its pointer" };
  return { name: "a pointer", reason: "its address is no sum of a pointer parameter and indices" };
}
