/**
 * The accesses of a kernel, each with its address as a sum: a pointer parameter, and indices times strides. Names are
 * followed to what they were assigned, and an expression counts at an access only while what it names has not changed.
 */
import { writes } from "../liveness.js";
import type { Expression, FunctionTree, GivenSignature, If, KernelTree, Statement } from "../tree.js";
import { kindOf } from "../value.js";
import { callsIn } from "./expression-parts.js";
import type { Access, Binding, Env, Passed } from "./python-access.js";
import { conditionsOf, linear, type Linear, sizeOf } from "./linear-address.js";
import { incrementsOf, type Step } from "./induction-variables.js";
import { widthsOf } from "./constant-strides.js";

const ACCESSES: Readonly<Record<string, { readonly isStore: boolean }>> = {
  "tl.load": { isStore: false },
  "tl.store": { isStore: true },
};

/** What calls pass to the kernel, whose tree is `tree`. */
export function callArguments(tree: FunctionTree, { signatures, tuning, launch }: KernelTree): Passed {
  const where = (is: (given: GivenSignature[string]) => boolean): ReadonlySet<string> =>
    new Set(tree.params.map(({ name }) => name).filter((name) => signatures.every((given) => is(given[name]!))));
  // A constant that a config or a launch decides is none that a tensor has.
  const decided = new Set([
    ...(tuning.autotune?.configs ?? []).flatMap(({ values }) => Object.keys(values)),
    ...Object.keys(tuning.heuristics),
    ...Object.keys(launch?.computed ?? {}),
  ]);
  const integers = where(
    ({ kind, ...given }) =>
      kind === "constant" &&
      "value" in given &&
      given.value.what === "constant" &&
      given.value.of === "int" &&
      Number(given.value.value) > 0,
  );
  const numbers = where((given) => given.kind === "scalar" && given.dtype === "i32");
  const constants = new Set([...integers].filter((name) => !decided.has(name)));
  const isNone = (given: GivenSignature[string]): boolean =>
    given.kind === "constant" && given.value.what === "constant" && given.value.value === null;
  const absent = where(isNone);
  return {
    pointers: new Set(
      [...where((given) => given.kind === "pointer" || isNone(given))].filter((name) => !absent.has(name)),
    ),
    absent,
    numbers,
    ones: where((given) => given.kind === "constant" && given.value.what === "constant" && given.value.value === 1),
    constants,
    widths: widthsOf(tree.body, constants, numbers),
  };
}

/** The accesses in the order of the text. */
export function accessesOf(tree: FunctionTree, passed: Passed): readonly Access[] {
  const walk = new Walk(passed);
  walk.block(tree.body);
  return walk.accesses;
}

class Walk {
  readonly accesses: Access[] = [];
  #env: Env = new Map();
  #versions = 0;
  /** The statements of the loops that are open which move a name. */
  readonly #steps: ReadonlyMap<Statement, Step>[] = [];

  /** By a flag: what an arm under it made of names, and which version they have behind the branch. */
  readonly #flagged = new Map<string, ReadonlyMap<string, Flagged>>();

  constructor(readonly passed: Passed) {}

  block(body: readonly Statement[]): void {
    for (const statement of body) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    const step = this.#steps.at(-1)?.get(statement);
    if (step) return this.#bindMoved([{ ...step, value: step.next }]);
    switch (statement.kind) {
      case "Assign": {
        this.#visit(statement.value);
        const [target, ...more] = statement.targets;
        if (target?.kind === "Name" && more.length === 0) return this.#bind([[target.id, statement.value]]);
        if (isList(target) && isList(statement.value) && target.elts.length === statement.value.elts.length) {
          const { elts } = statement.value;
          const pairs = target.elts.flatMap((each, i) => (each.kind === "Name" ? [[each.id, elts[i]!] as const] : []));
          if (pairs.length === elts.length) return this.#bind(pairs);
        }
        return this.#forget(writes([statement]));
      }
      case "AnnAssign":
        if (!statement.value) return;
        this.#visit(statement.value);
        return statement.target.kind === "Name"
          ? this.#bind([[statement.target.id, statement.value]])
          : this.#forget(writes([statement]));
      case "AugAssign": {
        const { target, value, op } = statement;
        this.#visit(value);
        if (target.kind !== "Name") return;
        return this.#bind([[target.id, { ...statement, kind: "BinOp", left: target, op, right: value }]]);
      }
      case "If":
        return this.#if(statement);
      case "For": {
        this.#visit(statement.iter);
        const before = this.#env;
        this.#forget(writes([statement]));
        const steps = incrementsOf(statement, before, this.#env);
        this.#bindMoved(steps);
        this.#steps.push(new Map(steps.map((step) => [step.statement, step])));
        this.block(statement.body);
        this.#steps.pop();
        return this.#forget(writes([statement]));
      }
      case "While":
        this.#forget(writes([statement]));
        this.#visit(statement.test);
        this.block(statement.body);
        return this.#forget(writes([statement]));
      default:
        return this.#visit(statement);
    }
  }

  #if(statement: If): void {
    this.#visit(statement.test);
    const before = this.#env;
    const flag = flagOf(statement.test, before);
    const arms = [statement.body, statement.orelse].map((arm, i) => {
      const key = i === 0 ? flag : opposite(flag);
      this.#env = this.#under(key, before);
      this.block(arm);
      return [key, this.#env] as const;
    });
    this.#env = before;
    const names = writes([statement]);
    this.#forget(names);
    for (const [key, env] of arms) {
      if (key === undefined) continue;
      const found = names.flatMap((name) => {
        const [then, now] = [env.get(name), this.#env.get(name)];
        return then && now ? [[name, { then, now: now.version }] as const] : [];
      });
      this.#flagged.set(key, new Map([...(this.#flagged.get(key) ?? []), ...found]));
    }
  }

  /** What names are where a flag holds, under which an earlier branch has bound them. */
  #under(key: string | undefined, env: Env): Env {
    const bound = [...(this.#flagged.get(key ?? "") ?? [])].filter(([name, { now }]) => env.get(name)?.version === now);
    return bound.length === 0 ? env : new Map([...env, ...bound.map(([name, { then }]) => [name, then] as const)]);
  }

  #bind(pairs: readonly (readonly [string, Expression])[]): void {
    const before = this.#env;
    const env = new Map(before);
    for (const [name, value] of pairs) env.set(name, { version: ++this.#versions, value, env: before });
    this.#env = env;
  }

  #bindMoved(steps: readonly Step[]): void {
    const env = new Map(this.#env);
    for (const { name, value, env: seen } of steps)
      env.set(name, { version: ++this.#versions, value, env: seen, isMoved: true });
    this.#env = env;
  }

  /** Names whose values depend on turns or arms. */
  #forget(names: readonly string[]): void {
    this.#env = new Map([...this.#env, ...names.map((name) => [name, { version: ++this.#versions }] as const)]);
  }

  #visit(node: object): void {
    for (const call of callsIn(node)) {
      const kind = call.callee?.what === "function" ? ACCESSES[call.callee.name] : undefined;
      const { pointer, mask } = call.bound ?? {};
      if (!kind || !pointer || !("kind" in pointer)) continue;
      const address: Linear = linear(pointer, this.#env, this.passed);
      const [base, ...others] = address.bases;
      // No call gets there.
      if (address.terms.some(({ index }) => index.kind === "Name" && this.passed.absent.has(index.id))) continue;
      const leaf = address.terms.find(({ index }) => kindOf(index) === "pointer");
      const isWhole = base !== undefined && others.length === 0 && !leaf;
      this.accesses.push({
        call,
        env: this.#env,
        isStore: kind.isStore,
        base: isWhole ? base : undefined,
        ...(!isWhole && { lost: lost(leaf?.index) }),
        terms: address.terms,
        conditions: mask && "kind" in mask ? conditionsOf(mask, this.#env, this.passed) : [],
        within: (call.within ?? []).flatMap(({ index, size }) => {
          const name = sizeOf(size, this.#env, this.passed);
          return name === undefined ? [] : [{ node: index, env: this.#env, index, size: name }];
        }),
      });
    }
  }
}

interface Flagged {
  readonly then: Binding;
  readonly now: number;
}

/** A condition that does not change while the kernel runs: a flag, or whether a pointer is given. */
function flagOf(test: Expression, env: Env): string | undefined {
  if (test.kind === "UnaryOp" && test.op === "Not") return opposite(flagOf(test.operand, env));
  if (test.kind === "Name") return env.has(test.id) ? undefined : test.id;
  if (test.kind !== "Compare" || test.left.kind !== "Name" || test.comparators.length !== 1) return undefined;
  const [op, other] = [test.ops[0], test.comparators[0]!];
  const isNone = other.kind === "Constant" && other.of === "NoneType";
  const given = `${test.left.id} is given`;
  if (!isNone || kindOf(test.left) !== "pointer") return undefined;
  return op === "IsNot" ? given : op === "Is" ? opposite(given) : undefined;
}

const opposite = (flag: string | undefined): string | undefined =>
  flag?.startsWith("not ") ? flag.slice("not ".length) : flag && `not ${flag}`;

/** Why a pointer is followed to no parameter. */
function lost(leaf: Expression | undefined): NonNullable<Access["lost"]> {
  if (leaf?.kind === "Name") return { name: leaf.id, why: "a loop or a branch changes its pointer" };
  return { name: "a pointer", why: "its address is no sum of a pointer parameter and indices" };
}

const isList = (node: Expression | undefined): node is Extract<Expression, { kind: "Tuple" | "List" }> =>
  node?.kind === "Tuple" || node?.kind === "List";
