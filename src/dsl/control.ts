/** Loops, branches and the state that they change. */
import { fail, type Location } from "../diagnostics.js";
import { type Builder, builder } from "../ir/builder.js";
import { captureLocation } from "../ir/callsite.js";
import { Handle, isHandle } from "../ir/handle.js";
import type { Argument, Block, ForStatement, IfStatement, Value, Variable } from "../ir/nodes.js";
import type { ConstLike } from "../ir/constexpr.js";
import type { Checked } from "../ir/problem.js";
import {
  type MutOut,
  type RangeElement,
  rangeElement,
  type RangeOptions,
  whyAssign,
  whyCondition,
  type WhyMut,
  whyMut,
  type WhyRangeBound,
  whyRangeBound,
  type WhyWhen,
} from "../ir/signatures-control.js";
import type { Constexpr } from "../ir/constexpr.js";
import type { Scalar } from "../ir/tile.js";
import type { Type } from "../ir/types.js";
import { opOf, toArgument, typeOfArgument } from "../ops/define.js";
import { full } from "../ops/create.js";

/** Refuses when `why` is a sentence. */
function must(why: string, at: Location | undefined): void {
  if (why !== "") fail("type", why, at);
}

function argumentOf(recorder: Builder, given: unknown, what: string, at: Location | undefined): Argument {
  const argument = toArgument(given);
  if (argument === undefined) fail("arguments", `${what}; give a tile, a constexpr or a number`, at);
  recorder.use(argument, at);
  return argument;
}

// ---- state ----------------------------------------------------------------------------------------------------------

/** What `tl.mut` returns. Not a tile: `.value` reads and writes. */
export class MutHandle {
  readonly #variable: Variable;

  constructor(variable: Variable) {
    this.#variable = variable;
  }

  get value(): Handle {
    const at = captureLocation();
    const recorder = builder("tl.mut(…).value");
    recorder.useVariable(this.#variable, at);
    const result = recorder.value(this.#variable.type, at);
    recorder.append({ kind: "read", variable: this.#variable, result, at });
    return new Handle(result);
  }

  set value(given: unknown) {
    const at = captureLocation();
    const recorder = builder("tl.mut(…).value");
    recorder.useVariable(this.#variable, at);
    const value = argumentOf(recorder, given, "value: this cannot be held in a tl.mut", at);
    const { type } = this.#variable;
    must(whyAssign(type, typeOfArgument(value)), at);
    recorder.append({ kind: "write", variable: this.#variable, value: strong(recorder, type, value), at });
  }
}

/** A number becomes a tile of what the variable holds: a bare literal would change the variable's dtype in Triton. */
function strong(recorder: Builder, type: Type, value: Argument): Argument {
  if (type.kind !== "tile" || typeOfArgument(value).kind !== "constexpr") return value;
  const shape = type.shape.map((dim): Argument =>
    typeof dim === "number" ? literal(dim) : recorder.constexprs.get(dim)!,
  );
  const operands = [shape, value, { kind: "dtype" as const, dtype: type.dtype }];
  return recorder.op(opOf(full)!, operands, {}, [type], recorder.location())[0]!;
}

/** State that loops and branches change: `.value` reads it at that point of the program, and writes it. */
export const mut = ((initial: unknown): MutHandle => {
  const at = captureLocation();
  const recorder = builder("tl.mut");
  const value = argumentOf(recorder, initial, "mut: needs a tile or a pointer", at);
  const type = typeOfArgument(value);
  must(whyMut(type), at);
  const variable = recorder.variable(type, at);
  recorder.append({ kind: "let", variable, initial: value, at });
  return new MutHandle(variable);
}) as unknown as <const X>(initial: Checked<X, WhyMut<X>>) => MutOut<X>;

// ---- loops ----------------------------------------------------------------------------------------------------------

/**
 * A loop of the kernel: `for (const k of tl.range(0, K, BLOCK_K)) { … }`. The body runs once, while the kernel is traced;
 * `k` stands for every iteration. With one argument it counts from 0 to that.
 */
export const range = ((...args: unknown[]) => loop("range", args, false)) as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Checked<Lo, WhyRangeBound<Lo>>,
  end?: Checked<Hi, Hi extends undefined ? "" : WhyRangeBound<Hi>>,
  step?: Checked<Step, WhyRangeBound<Step>>,
  options?: RangeOptions,
) => Iterable<Scalar<RangeElement<Lo, Hi, Step>>>;

type ConstBound<X> = X extends undefined | number | ConstLike<any, "int">
  ? ""
  : "staticRange: bounds are constexprs or numbers";

/** A loop that Triton unrolls: its index is a constexpr in each copy of the body. */
export const staticRange = ((...args: unknown[]) => loop("staticRange", args, true)) as unknown as <
  const Lo,
  const Hi = undefined,
  const Step = 1,
>(
  start: Checked<Lo, ConstBound<Lo>>,
  end?: Checked<Hi, ConstBound<Hi>>,
  step?: Checked<Step, ConstBound<Step>>,
) => Iterable<Constexpr<string>>;

function loop(name: string, args: unknown[], unrolled: boolean): Iterable<Handle> {
  const at = captureLocation();
  const recorder = builder(`tl.${name}`);
  const last = args.at(-1);
  const hasOptions = typeof last === "object" && last !== null && !isHandle(last);
  const bounds = (hasOptions ? args.slice(0, -1) : args).map((bound) =>
    argumentOf(recorder, bound, `${name}: a bound is an integer`, at),
  );
  if (bounds.length < 1 || bounds.length > 3)
    fail("arguments", `${name}: takes an end, a start and an end, or a start, an end and a step`, at);
  for (const bound of bounds) must(whyRangeBound(typeOfArgument(bound), name), at);
  const [start, end, step] =
    bounds.length === 1 ? [literal(0), bounds[0], literal(1)] : [bounds[0], bounds[1], bounds[2] ?? literal(1)];
  const options: Record<string, Argument> = {};
  if (hasOptions)
    for (const [key, given] of Object.entries(last as object))
      if (given !== undefined) options[key] = argumentOf(recorder, given, `${name}: ${key}`, at);
  const type: Type = unrolled
    ? { kind: "constexpr", of: "int", text: `${name}@${at?.line ?? 0}:${at?.column ?? 0}` }
    : { kind: "tile", dtype: rangeElement(...bounds.map(typeOfArgument)), shape: [] };
  return iterate(recorder, { start: start!, end: end!, step: step!, options, unrolled, at }, type);
}

function literal(value: number): Argument {
  return { kind: "literal", value };
}

/** Yields the symbolic index once: what runs until the next request is the loop's body. */
function* iterate(
  recorder: Builder,
  head: Omit<ForStatement, "kind" | "index" | "body">,
  type: Type,
): Generator<Handle, void> {
  recorder.open("the loop", head.at);
  const depth = recorder.depth;
  const index = recorder.value(type, head.at);
  let complete = false;
  try {
    yield new Handle(index);
    complete = true;
  } finally {
    if (!complete)
      fail(
        "early-exit",
        "a traced loop cannot be left early: its body runs once, while the kernel is traced; mask the work or put it in tl.when(…)",
        head.at,
      );
  }
  if (recorder.depth !== depth) fail("early-exit", "a traced loop inside this one was left early", head.at);
  recorder.append({ kind: "for", ...head, index, body: recorder.close() });
}

// ---- branches -------------------------------------------------------------------------------------------------------

type Arm = () => unknown;

/** What `tl.when` returns: the branch, to which other arms can be added, and whose value `otherwise` gives. */
export interface When<R> {
  /** The next condition, asked where the ones before do not hold. */
  elseWhen<const C>(condition: Checked<C, WhyWhen<C, "elseWhen">>, body: () => NoInfer<R>): When<R>;
  /** The arm that runs where no condition holds. Gives what the arms return. */
  otherwise(body: () => NoInfer<R>): R;
}

interface WhenHandle {
  elseWhen(condition: unknown, body: Arm): WhenHandle;
  otherwise(body: Arm): unknown;
}

interface Branch {
  readonly statement: Mutable<IfStatement>;
  readonly yields: Yielded;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A branch of the kernel: `tl.when(condition, () => { … }).otherwise(() => { … })`. Both arms are traced; one runs. On a
 * constexpr Triton decides when it compiles. Arms may return tiles, the same from each, which the chain then gives.
 */
export const when = ((condition: unknown, body: Arm): WhenHandle => {
  const at = captureLocation();
  const recorder = builder("tl.when");
  const branch = openBranch(recorder, condition, body, at);
  recorder.append(branch.statement);
  return chain(recorder, [branch]);
}) as unknown as <const C, R = void>(condition: Checked<C, WhyWhen<C>>, body: () => R) => When<R>;

function openBranch(recorder: Builder, condition: unknown, body: Arm, at: Location | undefined): Branch {
  if (typeof condition === "boolean")
    fail("type", "when: this is a JavaScript boolean, known while the kernel is traced; use a JavaScript if", at);
  const argument = argumentOf(recorder, condition, "when: the condition is a scalar of int1 or a constexpr", at);
  must(whyCondition(typeOfArgument(argument)), at);
  const { block, yields } = arm(recorder, body, at);
  const statement = { kind: "if" as const, condition: argument, then: block, otherwise: EMPTY, results: [], at };
  return { statement, yields };
}

const EMPTY: Block = { statements: [], yields: [] };

/** How an arm's result looks to the author: nothing, one value, or a list. */
type Yielded = "nothing" | "one" | "list";

function arm(recorder: Builder, body: Arm, at: Location | undefined): { block: Block; yields: Yielded } {
  recorder.open("this branch", at);
  const given = body();
  if (given === undefined) return { block: recorder.close(), yields: "nothing" };
  const items = Array.isArray(given) ? given : [given];
  const values = items.map((item) => argumentOf(recorder, item, "when: an arm returns tiles, or nothing", at));
  return { block: recorder.close(values), yields: Array.isArray(given) ? "list" : "one" };
}

function chain(recorder: Builder, branches: readonly Branch[]): WhenHandle {
  const last = branches.at(-1)!;
  return {
    elseWhen(condition, body) {
      settle(recorder, branches[0]!, "elseWhen");
      const branch = openBranch(recorder, condition, body, captureLocation());
      last.statement.otherwise = { statements: [branch.statement], yields: [] };
      return chain(recorder, [...branches, branch]);
    },
    otherwise(body) {
      const here = captureLocation();
      settle(recorder, branches[0]!, "otherwise");
      const { block, yields } = arm(recorder, body, here);
      last.statement.otherwise = block;
      if (branches.every((branch) => branch.yields === "nothing") && yields === "nothing") return undefined;
      if (branches.some((branch) => branch.yields !== yields))
        fail("type", "when: all arms return a value, or none does; return the same number of values from each", here);
      return join(recorder, branches, block, yields, here);
    },
  };
}

/** The branch must be the last thing that happened. Pure values that a condition needed move in front of it. */
function settle(recorder: Builder, first: Branch, name: string): void {
  const { statements } = recorder;
  const position = statements.indexOf(first.statement);
  const between = statements.slice(position + 1);
  const inOrder =
    position >= 0 && between.every((s) => s.kind === "read" || (s.kind === "op" && s.op.effect === "pure"));
  if (!inOrder)
    fail("branch-order", `${name} must follow its tl.when directly; write them as one chain`, captureLocation());
  statements.splice(position, 1);
  statements.push(first.statement);
}

/** Gives every arm of the chain the results that its innermost arms yield. */
function join(
  recorder: Builder,
  branches: readonly Branch[],
  otherwise: Block,
  yields: Yielded,
  at: Location | undefined,
): unknown {
  const types = otherwise.yields.map((argument, i) => {
    const type = typeOfArgument(argument);
    for (const { statement } of branches) {
      const other = statement.then.yields[i];
      const why =
        other === undefined || statement.then.yields.length !== otherwise.yields.length
          ? "when: the arms return different numbers of values"
          : type.kind === "constexpr"
            ? "when: a number has no dtype; return tl.full([], x, dtype)"
            : whyAssign(type, typeOfArgument(other));
      must(
        why.replace("value: the variable holds", "when: one arm returns").replace("the new value is", "another"),
        at,
      );
    }
    return type;
  });
  let results: readonly Value[] = [];
  for (const [i, { statement }] of [...branches.entries()].reverse()) {
    results = types.map((type) => recorder.value(type, at));
    statement.results = results;
    const parent = branches[i - 1];
    if (parent) parent.statement.otherwise = { statements: [statement], yields: results };
  }
  const handles = results.map((value) => new Handle(value));
  return yields === "one" ? handles[0] : handles;
}
