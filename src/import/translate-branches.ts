/** Python's `if` as `tl.when`: arms change state, or give the values that what follows uses. */
import type { Context } from "./context.js";
import { condition } from "./translate-expressions.js";
import { childrenOf, liveBefore, reads, writes } from "./liveness.js";
import { negated } from "./operators.js";
import { makeState, statements } from "./translate-statements.js";
import type { If, Statement } from "./tree.js";
import { cast, constantKind, list, NotImported, traced, type Value } from "./value.js";

type Names = ReadonlySet<string>;

interface Arm {
  /** Undefined for the last arm, `else`. */
  readonly asked: Value | undefined;
  /** What holds in the last arm, if Triton compiles the kernel at all. */
  readonly holds?: Value;
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

function write(statement: If, open: readonly Arm[], live: Names, context: Context): void {
  const { scope } = context;
  const used = writes(open.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const isInAll = (name: string): boolean => open.every(({ body }) => writes(body).includes(name));
  const isNew = (name: string): boolean => !scope.variable(name);
  const isChain = open.length > 1;
  // Where Triton knows the conditions and every arm makes what follows needs, the last arm is the one that is left.
  const arms = isKnown(statement) && isChain && used.some((name) => isNew(name) && isInAll(name)) ? closed(open) : open;
  const isTotal = arms.at(-1)?.asked === undefined;
  const inAll = (name: string): boolean => isTotal && isInAll(name);
  const isHeld = (name: string): boolean => {
    const variable = scope.variable(name);
    if (!variable) return false;
    if (variable.isState) return scope.linked.has(name) || !inAll(name);
    return !inAll(name) && ["traced", "number", "truth"].includes(variable.value.kind);
  };
  const state = used.filter(isHeld);
  const given = used.filter((name) => !state.includes(name));
  const partial = isChain ? given.filter((name) => !inAll(name)) : [];
  if (partial.length === 0) return writeArms(statement, arms, live, { state, given }, context);
  if (!isKnown(statement)) scope.refuse(`${partial[0]!}, which only some arms of a branch define`, statement);
  const rest = arms.map((arm, i) => apart(statement, arms, i, arm, partial, context));
  if (rest.some(({ body }) => body.length > 0))
    writeArms(statement, rest, live, { state, given: given.filter((name) => !partial.includes(name)) }, context);
}

/** A name that an arm gives its last value only to return it would be a second name beside that of the result. */
function inlined(returned: string, from: number, { lines }: Context["scope"]): string {
  let text = returned;
  for (let i = lines.length - 1; i >= from; i--) {
    const [, name, value] = /^const (\w+) = ((?!tl\.mut\().*);$/s.exec(lines[i]!) ?? [];
    if (name === undefined || value === undefined) {
      if (lines[i]!.startsWith("//") || lines[i] === "") continue;
      break;
    }
    const use = new RegExp(`\\b${name}\\b`);
    const isUsed = lines.some((line, other) => other >= from && other !== i && use.test(line));
    if (isUsed || text.split(use).length !== 2) continue;
    text = text.replace(use, () => value);
    lines.splice(i, 1);
  }
  return text;
}

const closed = (arms: readonly Arm[]): readonly Arm[] =>
  arms.map((arm, i) => (i === arms.length - 1 && arm.asked ? { ...arm, asked: undefined, holds: arm.asked } : arm));

interface HandedOn {
  /** Variables that arms change. */
  readonly state: readonly string[];
  /** Names that arms define. */
  readonly given: readonly string[];
}

function writeArms(
  statement: If,
  arms: readonly Arm[],
  live: Names,
  { state, given }: HandedOn,
  context: Context,
): void {
  const { scope } = context;
  const isTotal = arms.at(-1)?.asked === undefined;
  makeState(state, context);
  const start = scope.lines.length;
  for (const [i, { asked, body, holds }] of arms.entries()) {
    scope.emit(opening(i, asked, ""));
    if (holds) scope.emit(`tl.staticAssert(${holds.text});`);
    scope.block(new Set(state), () => {
      const from = scope.lines.length;
      const hasReturned = statements(body, new Set([...live, ...given]), context);
      if (given.length > 0 && !hasReturned)
        scope.emit(`return ${inlined(results(given, statement, context), from, scope)};`);
    });
  }
  if (given.length > 0 && !isTotal && arms.length > 1)
    scope.refuse("a name that only some arms of a chain define", statement);
  scope.emit(given.length > 0 && !isTotal ? "}).value;" : "});");
  define(given, start, isTotal ? undefined : arms[0]!.asked?.text, context);
}

/** The names of a branch that begins in this line get what it gives; `under` is the condition under which they exist. */
function define(given: readonly string[], start: number, under: string | undefined, { scope }: Context): void {
  if (given.length === 0) return;
  const texts = given.map((name) => scope.fresh(name));
  scope.lines[start] = `const ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`} = ${scope.lines[start]}`;
  for (const [i, name] of given.entries()) scope.bind(name, traced(texts[i]!), false, under);
}

/**
 * Writes what an arm makes for later arms of the same condition as a branch of its own, and gives the arm without that.
 */
function apart(
  statement: If,
  arms: readonly Arm[],
  index: number,
  arm: Arm,
  partial: readonly string[],
  context: Context,
): Arm {
  const { scope } = context;
  const own = partial.filter((name) => writes(arm.body).includes(name));
  if (own.length === 0) return arm;
  const [first] = arms;
  const asked = index === 0 ? arm.asked : arms.length === 2 && first?.asked ? negated(first.asked) : undefined;
  if (!asked) return scope.refuse(`${own[0]!}, which only some arms of a chain define`, statement);
  const [needed, rest] = parted(arm.body, new Set(own));
  const isPlain = needed.every(
    (each) => each.kind === "Assign" || each.kind === "AnnAssign" || each.kind === "AugAssign",
  );
  const made = writes(needed);
  const isWritten = made.find((name) => scope.variable(name)?.isState === true);
  if (!isPlain || isWritten !== undefined || rest.some(hasEffect))
    return scope.refuse(`${own[0]!}, which only one arm of a branch defines`, statement);
  const start = scope.lines.length;
  scope.emit(opening(0, asked, ""));
  scope.block(new Set(), () => {
    statements(needed, new Set(made), context);
    scope.emit(`return ${results(made, statement, context)};`);
  });
  scope.emit("}).value;");
  define(made, start, asked.text, context);
  return { ...arm, body: rest };
}

/** The statements that lead to these names, and the others. */
function parted(body: readonly Statement[], names: Names): readonly [readonly Statement[], readonly Statement[]] {
  const wanted = new Set(names);
  const needed = new Set<Statement>();
  for (const statement of body.toReversed()) {
    const written = writes([statement]);
    if (!written.some((name) => wanted.has(name))) continue;
    needed.add(statement);
    for (const name of [...written, ...reads(statement)]) wanted.add(name);
  }
  return [body.filter((each) => needed.has(each)), body.filter((each) => !needed.has(each))];
}

/** Stores and other calls for their effect keep their place. */
const hasEffect = (statement: Statement): boolean =>
  statement.kind === "Expr" ? statement.value.kind !== "Constant" : childrenOf(statement).some(isEffect);
const isEffect = (node: object): boolean => ("kind" in node && node.kind === "Expr") || childrenOf(node).some(isEffect);

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
