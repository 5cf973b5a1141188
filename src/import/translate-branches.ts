/** Python's `if` as `tl.when`: arms change state, or give the values that what follows uses. */
import type { Context } from "./context.js";
import { condition } from "./translate-expressions.js";
import { liveBefore, writes } from "./liveness.js";
import { makeState, statements } from "./translate-statements.js";
import type { If, Statement } from "./tree.js";
import { cast, constantKind, list, NotImported, traced, type Value } from "./value.js";

type Names = ReadonlySet<string>;

interface Arm {
  /** Undefined for the last arm, `else`. */
  readonly asked: Value | undefined;
  readonly body: readonly Statement[];
}

/** Gives whether the function has returned on every way, so that `rest` is not written again. */
export function branch(statement: If, rest: readonly Statement[], after: Names, context: Context): boolean {
  const { scope } = context;
  const arms = armsOf(statement, context);
  const [first] = arms;
  if (!first) return false;
  if (!first.asked) return statements(first.body, liveBefore(rest, after), context);
  if (!scope.isKernel && arms.some(({ body }) => returns(body))) return choose(arms, rest, after, context);
  write(statement, arms, liveBefore(rest, after), context);
  return false;
}

/** The arms that may run: conditions that are known while the text is written are decided. */
function armsOf(statement: If, context: Context): readonly Arm[] {
  const arms: Arm[] = [];
  for (let node: If | undefined = statement; node;) {
    const asked = condition(node.test, context);
    if (asked.kind !== "truth") arms.push({ asked, body: node.body });
    else if (asked.value) return [...arms, { asked: undefined, body: node.body }];
    const [only, ...more]: readonly Statement[] = node.orelse;
    // Triton knows some conditions when it compiles; a chain has one kind.
    const isChain = only?.kind === "If" && more.length === 0 && isKnown(only) === isKnown(statement);
    if (isChain) node = only;
    else {
      if (node.orelse.length > 0) arms.push({ asked: undefined, body: node.orelse });
      node = undefined;
    }
  }
  return arms;
}

const isKnown = ({ test }: If): boolean => constantKind(test) !== undefined;

const returns = (body: readonly Statement[]): boolean =>
  body.some(
    (statement) =>
      statement.kind === "Return" ||
      (statement.kind === "If" && (returns(statement.body) || returns(statement.orelse))),
  );

const endsByReturn = (body: readonly Statement[]): boolean => {
  const last = body.at(-1);
  return last?.kind === "Return" || (last?.kind === "If" && endsByReturn(last.body) && endsByReturn(last.orelse));
};

/** Returns in the arms of a helper function: the branch is what the function gives, and `rest` is its last arm. */
function choose(arms: readonly Arm[], rest: readonly Statement[], after: Names, context: Context): boolean {
  const { scope } = context;
  if (scope.loops > 0 || scope.depth > 0) scope.refuse("a return inside of a loop or of several branches");
  const isTotal = arms.at(-1)?.asked === undefined;
  const all = isTotal ? arms : [...arms, { asked: undefined, body: [] }];
  for (const [i, { asked, body }] of all.entries()) {
    scope.emit(opening(i, asked, i === 0 ? "return " : ""));
    scope.block(new Set(), () => statements(endsByReturn(body) ? body : [...body, ...rest], after, context));
  }
  scope.emit("});");
  return true;
}

const opening = (index: number, asked: Value | undefined, before: string): string =>
  index === 0
    ? `${before}tl.when(${asked?.text ?? ""}, () => {`
    : asked
      ? `}).elseWhen(${asked.text}, () => {`
      : "}).otherwise(() => {";

function write(statement: If, arms: readonly Arm[], live: Names, context: Context): void {
  const { scope } = context;
  const isTotal = arms.at(-1)?.asked === undefined;
  const used = writes(arms.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const inAll = (name: string): boolean => isTotal && arms.every(({ body }) => writes(body).includes(name));
  const isHeld = (name: string): boolean => {
    const variable = scope.variable(name);
    if (!variable) return false;
    if (variable.isState) return scope.linked.has(name) || !inAll(name);
    return !inAll(name) && ["traced", "number", "truth"].includes(variable.value.kind);
  };
  const state = used.filter(isHeld);
  const given = used.filter((name) => !state.includes(name));
  makeState(state, context);
  const start = scope.lines.length;
  for (const [i, { asked, body }] of arms.entries()) {
    scope.emit(opening(i, asked, ""));
    scope.block(new Set(state), () => {
      const hasReturned = statements(body, new Set([...live, ...given]), context);
      if (given.length > 0 && !hasReturned) scope.emit(`return ${results(given, statement, context)};`);
    });
  }
  const isSingle = arms.length === 1;
  if (given.length > 0 && !isTotal && !isSingle)
    scope.refuse("a name that only some arms of a chain define", statement);
  scope.emit(given.length > 0 && !isTotal ? "}).value;" : "});");
  if (given.length === 0) return;
  const texts = given.map((name) => scope.fresh(name));
  scope.lines[start] = `const ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`} = ${scope.lines[start]}`;
  for (const [i, name] of given.entries()) scope.bind(name, traced(texts[i]!));
}

/** What an arm gives for these names. */
function results(names: readonly string[], statement: If, { scope }: Context): string {
  const values = names.map((name) => {
    const value = scope.read(name);
    if (!value) throw new NotImported(`${name}, which one arm of a branch does not define`, statement);
    if (value.kind === "number") return cast(value, value.isFloat ? "tl.float32" : "tl.int32");
    if (value.kind === "truth") return cast(value, "tl.int1");
    if (value.kind !== "traced")
      throw new NotImported(
        `${name}, which is ${value.kind === "none" ? "None" : `a ${value.kind}`} in one arm`,
        statement,
      );
    return value;
  });
  return values.length === 1 ? values[0]!.text : `${list(values).text} as const`;
}
