/** Python's `if` as `tl.when`: arms change state, or give the values that what follows uses. */
import { type Arm, type Arms, armsOf, conditionsOf, branchHeader } from "./if-arms.js";
import type { Context } from "./context.js";
import { childrenOf, defines, liveBefore, reads, targetNames, writes } from "./liveness.js";
import { translateAnd, either, negated } from "./operators.js";
import { makeState, translateStatements } from "./translate-statements.js";
import { translateCondition } from "./translate-expressions.js";
import { branchKey, followsInEachArm, isReadAsNone, emitContinuation } from "./translate-tails.js";
import type { Expression, If, Statement } from "./tree.js";
import { cast, isKnown, list, UnsupportedConstruct, traced, truth, type Value } from "./value.js";

type Names = ReadonlySet<string>;

/** Gives whether the function has returned on every way, so that `rest` is not written again. */
export function translateIf(statement: If, rest: readonly Statement[], after: Names, context: Context): boolean {
  const { scope } = context;
  const { arms: all, isKnown: isDecided } = armsOf(statement, context);
  const arms = isDecided ? withoutNone(all, rest, context) : all;
  const [first] = arms;
  if (!first) return false;
  const live = liveBefore(rest, after);
  if (!first.asked) return translateStatements(first.body, live, context);
  if (!scope.isKernel && arms.some(({ body }) => returns(body))) return choose(arms, rest, after, context);
  const names = writes(arms.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const own = names.filter((name) => !scope.linked.has(name));
  if (isDecided && followsInEachArm(statement, arms, own, rest, context)) {
    // What asks for the same flag again is another text in each arm.
    if (asksAgain(statement, rest)) return copies(arms, rest, after, context);
    emitContinuation(arms, own, rest, after, context, (name) => result(name, statement, context).text);
    return true;
  }
  write(statement, { arms, isKnown: isDecided }, live, context);
  return false;
}

/** Arms without the names that they make None, where nothing that follows reads them as None. */
function withoutNone(arms: readonly Arm[], rest: readonly Statement[], { scope }: Context): readonly Arm[] {
  const isKept = (statement: Statement): boolean => {
    if (statement.kind !== "Assign" || !isNone(statement.value)) return true;
    const names = statement.targets.flatMap(targetNames);
    return names.some((name) => scope.variable(name) || scope.given.has(name) || isReadAsNone(name, rest));
  };
  const left = arms.map((arm) => ({ ...arm, body: arm.body.filter(isKept) }));
  const isElse = arms.length > 1 && arms.at(-1)!.asked === undefined;
  return isElse && left.at(-1)!.body.length === 0 ? left.slice(0, -1) : left;
}

const isNone = (node: Expression): boolean => node.kind === "Constant" && node.of === "NoneType";

/** `x = a if FLAG else None` as a branch: where the flag does not hold, there is no x. */
export function choiceOrNone(target: Expression, value: Expression, context: Context): If | undefined {
  if (value.kind !== "IfExp" || isNone(value.body) === isNone(value.orelse)) return undefined;
  if (!isKnown(translateCondition(value.test, context), value.test)) return undefined;
  const { line, end, test } = value;
  const of = (arm: Expression): Statement => ({ kind: "Assign", targets: [target], value: arm, line, end });
  return { kind: "If", test, body: [of(value.body)], orelse: [of(value.orelse)], line, end };
}

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
    scope.emit(branchHeader(i, asked, i === 0 ? "return " : ""));
    scope.block(new Set(), () => translateStatements(endsByReturn(body) ? body : [...body, ...rest], after, context));
  }
  scope.emit("});");
  return true;
}

const asksAgain = (statement: If, rest: readonly Statement[]): boolean => {
  const flags = reads(statement.test);
  const isAsked = (node: object): boolean =>
    ("test" in node && [...reads(node.test as Expression)].some((name) => flags.has(name))) ||
    childrenOf(node).some(isAsked);
  return rest.some(isAsked);
};

/** Flags in turn would double what follows each time. */
const MOST_LINES = 1500;

/** Each arm with all that follows: state and tiles have the types of that arm. */
function copies(arms: readonly Arm[], rest: readonly Statement[], after: Names, context: Context): boolean {
  const { scope } = context;
  if (scope.lines.length > MOST_LINES)
    scope.refuse("flags that change shapes again and again, each with all that follows; fix one with --specialize");
  const all = arms.at(-1)?.asked === undefined ? arms : [...arms, { asked: undefined, body: [] }];
  const conditions = conditionsOf(all);
  for (const [i, { asked, body }] of all.entries()) {
    scope.emit(branchHeader(i, asked, ""));
    scope.block(scope.linked, () => {
      const home = scope.home;
      if (scope.depth === home + 1) scope.home = scope.depth;
      scope.assume(conditions[i]!);
      scope.hasLeft = false;
      translateStatements([...body, ...rest], after, context);
      scope.home = home;
    });
  }
  scope.emit("});");
  return true;
}

function write(statement: If, { arms: open, isKnown: isDecided }: Arms, live: Names, context: Context): void {
  const { scope } = context;
  const used = writes(open.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const isNew = (name: string): boolean => !hasValue(name, context);
  // An arm may make a new name under a further condition only.
  const isMade = (name: string, body: readonly Statement[]): boolean =>
    isNew(name) ? defines(body, name) : writes(body).includes(name);
  const isInAll = (name: string): boolean => open.every(({ body }) => isMade(name, body));
  const isChain = open.length > 1;
  // Where Triton knows the conditions and every arm makes what follows needs, the last arm is the one that is left.
  const arms = isDecided && isChain && used.some((name) => isNew(name) && isInAll(name)) ? closed(open) : open;
  const isTotal = arms.at(-1)?.asked === undefined;
  const inAll = (name: string): boolean => isTotal && isInAll(name);
  const isHeld = (name: string): boolean => {
    const variable = scope.variable(name);
    if (!variable) return false;
    if (variable.isState) return scope.linked.has(name) || !inAll(name);
    // What exists under another condition has no value here that an arm may change.
    if (isDecided && (variable.under || isNew(name)) && !inAll(name)) return false;
    return !inAll(name) && ["traced", "number", "truth"].includes(variable.value.kind);
  };
  const state = used.filter(isHeld);
  // Where the program decides, Triton forgets what only some arms define.
  const given = used.filter((name) => !state.includes(name) && (isDecided || inAll(name)));
  const partial = given.filter((name) => !inAll(name) && (isChain || !isNew(name)));
  if (partial.length === 0) return writeArms(statement, arms, live, { state, given }, context);
  const moved = arms.map((arm) => leading(arm, partial, context));
  if (partial.some((name) => !isNew(name)) || moved.some((parts) => !parts))
    return writeEach(statement, arms, live, { state, given }, context);
  const conditions = conditionsOf(arms);
  const rest = arms.map((arm, i): Arm => {
    const { needed, others } = moved[i]!;
    if (needed.length === 0) return arm;
    const made = writes(needed);
    writeArms(statement, [{ asked: conditions[i]!, body: needed }], new Set(), { state: [], given: made }, context);
    return { ...arm, body: others };
  });
  if (rest.some(({ body }) => body.length > 0))
    writeArms(statement, rest, live, { state, given: given.filter((name) => !partial.includes(name)) }, context);
}

/** Whether a name has a value here under every condition: None is none, nor is a parameter that calls may leave out. */
function hasValue(name: string, { scope, kernel }: Context): boolean {
  const variable = scope.variable(name);
  return variable !== undefined && variable.value.kind !== "none" && !kernel.optional.has(variable.value.text);
}

/** Writes each arm as a branch of its own, since later arms use what only some of them make. */
function writeEach(
  statement: If,
  arms: readonly Arm[],
  live: Names,
  { state, given }: HandedOn,
  context: Context,
): void {
  const { scope } = context;
  makeState(state, context);
  const earlierOnes = given.map((name) => [name, scope.variable(name)] as const);
  const made = new Map(given.map((name) => [name, [] as Made[]]));
  const conditions = conditionsOf(arms);
  for (const [i, asked] of conditions.entries()) {
    for (const [name, variable] of earlierOnes) scope.restore(name, variable);
    const arm = arms[i]!;
    const own = given.filter((name) => writes(arm.body).includes(name));
    writeArms(statement, [{ ...arm, asked }], live, { state, given: own }, context);
    for (const name of own) {
      const { value, under } = scope.variable(name)!;
      made.get(name)!.push({ text: value.text, under: under ?? asked });
    }
  }
  for (const [name, variable] of earlierOnes) {
    const parts = made.get(name)!;
    // Where none of these arms runs, it is what an earlier branch made.
    const before = variable?.under && { text: variable.value.text, under: variable.under };
    const earlier = parts.some(({ under }) => under.text === before?.under.text) ? undefined : before;
    const isOpposite = parts.some(({ under }) => negated(under).text === earlier?.under.text);
    const isInAll = parts.length === arms.length && parts.every(({ under }, i) => under.text === conditions[i]!.text);
    const isTotal = isOpposite || (isInAll && arms.at(-1)?.asked === undefined);
    joined(name, earlier ? [...parts, earlier] : parts, isTotal, context);
  }
}

interface Made {
  readonly text: string;
  readonly under: Value;
}

/** A name that several arms define, each as its own. */
function joined(name: string, parts: readonly Made[], isTotal: boolean, { scope }: Context): void {
  const under = parts.map((part) => part.under).reduce(either);
  if (parts.length === 1) return scope.bind(name, traced(parts[0]!.text), false, under);
  const chain = parts.map((part, i) => {
    const [opened, last] = [i === 0 ? "tl.when(" : ".elseWhen(", i === parts.length - 1];
    return last ? `.otherwise(() => ${part.text})` : `${opened}${part.under.text}, () => ${part.text})`;
  });
  const text = scope.fresh(name);
  scope.emit(`const ${text} = ${isTotal ? chain.join("") : `tl.when(${under.text}, () => ${chain.join("")}).value`};`);
  scope.bind(name, traced(text), false, isTotal ? undefined : under);
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
  const conditions = isKnown(arms[0]!.asked!, statement.test) ? conditionsOf(arms) : undefined;
  // A name may exist under a condition inside of an arm.
  let inner: readonly (Value | undefined)[] = [];
  for (const [i, { asked, body, holds }] of arms.entries()) {
    scope.emit(branchHeader(i, asked, ""));
    if (holds) scope.emit(`tl.staticAssert(${holds.text});`);
    if (context.kernel.isMarked) scope.emit(`// @${branchKey(statement, scope)}`);
    scope.block(new Set(state), () => {
      scope.hasLeft = false;
      if (conditions) scope.assume(conditions[i]!);
      scope.given = new Set(given);
      const from = scope.lines.length;
      translateStatements(body, new Set([...live, ...given]), context);
      inner = given.map((name) => scope.variable(name)?.under);
      if (given.length > 0 && !scope.hasLeft)
        scope.emit(`return ${inlined(results(given, statement, context), from, scope)};`);
    });
  }
  scope.emit(given.length > 0 && !isTotal ? "}).value;" : "});");
  if (given.length === 0) return;
  // The names of the branch that begins in this line get what it gives.
  const texts = given.map((name) => scope.fresh(name));
  scope.lines[start] = `const ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`} = ${scope.lines[start]}`;
  for (const [i, name] of given.entries()) {
    const under = isTotal ? undefined : translateAnd(arms[0]!.asked!, inner[i] ?? truth(true));
    scope.bind(name, traced(texts[i]!), false, under);
  }
}

/** The plain statements of an arm that make these names and may stand in front of it; undefined if they may not. */
function leading(
  { body }: Arm,
  names: readonly string[],
  { scope }: Context,
): { readonly needed: readonly Statement[]; readonly others: readonly Statement[] } | undefined {
  const own = names.filter((name) => writes(body).includes(name));
  if (own.length === 0) return { needed: [], others: body };
  const [needed, others] = parted(body, new Set(own));
  const isPlain = needed.every(
    (each) => each.kind === "Assign" || each.kind === "AnnAssign" || each.kind === "AugAssign",
  );
  const isState = writes(needed).some((name) => scope.variable(name)?.isState === true);
  return isPlain && !isState && !others.some(hasEffect) ? { needed, others } : undefined;
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
function results(names: readonly string[], statement: If, context: Context): string {
  const values = names.map((name) => result(name, statement, context));
  return values.length === 1 ? values[0]!.text : `${list(values).text} as const`;
}

function result(name: string, statement: If, { scope }: Context): Value {
  const value = scope.read(name);
  if (!value) throw new UnsupportedConstruct(`${name}, which one arm of a branch does not define`, statement);
  if (value.kind === "number") return cast(value, value.isFloat ? "tl.float32" : "tl.int32");
  if (value.kind === "truth") return cast(value, "tl.int1");
  if (value.kind !== "traced")
    throw new UnsupportedConstruct(
      `${name}, which is ${value.kind === "none" ? "None" : `a ${value.kind}`} in one arm`,
      statement,
    );
  return value;
}
