/** Translates Python's `if` to `tl.when`. Arms assign mutable variables or return values for later statements. */
import { type Arm, type Arms, armsOf, branchHeader, pathsOf, withElse } from "./if-arms.js";
import { pythonName } from "./author-name.js";
import { type Context, makeState, toStoredValue } from "./context.js";
import type { Variable } from "./function-scope.js";
import { hoistConstants } from "./hoist-constants.js";
import { childrenOf, defines, liveBefore, readNames, targetNames, writtenNames } from "./liveness.js";
import { translateAnd, translateOr } from "./operators.js";
import { translateCondition } from "./translate-expressions.js";
import { branchKey, needsContinuation, isReadAsNone, emitContinuation } from "./translate-tails.js";
import type { Expression, If, Statement } from "./tree.js";
import { isCompileTimeConstant, list, UnsupportedConstruct, traced, truth, type Value, translateNot } from "./value.js";

type Names = ReadonlySet<string>;

/** Returns true if `following` must not be translated again: it is part of the branch, or every path has returned. */
export function translateIf(
  statement: If,
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): boolean {
  const { scope } = context;
  const { arms: all, isCompileTime } = armsOf(statement, context);
  const live = liveBefore(following, liveAfter);
  const arms = isCompileTime ? hoistConstants(withoutNone(all, following, context), live, context) : all;
  const [first] = arms;
  if (!first) return false;
  if (!first.condition) return context.translate.statements(first.body, live, context);
  if (!scope.isKernel && arms.some(({ body }) => returns(body)))
    return emitReturnBranches(arms, following, liveAfter, context);
  const names = writtenNames(arms.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const newNames = names.filter((name) => !scope.carriedNames.has(name));
  if (isCompileTime && needsContinuation(statement, arms, newNames, following, context)) {
    // If later branches test the same flag, the continuation differs between the arms.
    if (isFlagReused(statement, following)) return emitTailInEachArm(arms, following, liveAfter, context);
    emitContinuation(arms, newNames, following, liveAfter, context, (name) => result(name, statement, context).text);
    return true;
  }
  emitBranch(statement, { arms, isCompileTime }, live, context);
  return false;
}

/** Removes assignments of None, unless a later statement reads the name as None. */
function withoutNone(arms: readonly Arm[], following: readonly Statement[], { scope }: Context): readonly Arm[] {
  const shouldKeep = (statement: Statement): boolean => {
    if (statement.kind !== "Assign" || !isNone(statement.value)) return true;
    const names = statement.targets.flatMap(targetNames);
    return names.some((name) => scope.variable(name) || scope.exportedNames.has(name) || isReadAsNone(name, following));
  };
  const remaining = arms.map((arm) => ({ ...arm, body: arm.body.filter(shouldKeep) }));
  const last = remaining.at(-1);
  const isElse = arms.length > 1 && last?.condition === undefined;
  return isElse && last?.body.length === 0 ? remaining.slice(0, -1) : remaining;
}

const isNone = (node: Expression): boolean => node.kind === "Constant" && node.of === "NoneType";

/** Rewrites `x = a if FLAG else None` as a branch. If the flag is false, x is undefined. */
export function choiceOrNone(target: Expression, value: Expression, context: Context): If | undefined {
  if (value.kind !== "IfExp" || isNone(value.body) === isNone(value.orelse)) return undefined;
  if (!isCompileTimeConstant(translateCondition(value.test, context), value.test)) return undefined;
  const { line, end, test } = value;
  const assign = (arm: Expression): Statement => ({ kind: "Assign", targets: [target], value: arm, line, end });
  return { kind: "If", test, body: [assign(value.body)], orelse: [assign(value.orelse)], line, end };
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

/**
 * Translates a branch with returns in a helper function to a returned `tl.when`. Other arms continue with `following`.
 */
function emitReturnBranches(
  arms: readonly Arm[],
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): boolean {
  const { scope } = context;
  if (scope.depth > scope.bodyDepth) scope.refuseReturnInLoop();
  limitCopies(scope);
  for (const [i, { condition, body }] of withElse(arms).entries()) {
    scope.emit(branchHeader(i, condition, i === 0 ? "return " : ""));
    scope.block(new Set(), () => {
      const outerDepth = scope.bodyDepth;
      scope.bodyDepth = scope.depth;
      context.translate.statements(endsByReturn(body) ? body : [...body, ...following], liveAfter, context);
      scope.bodyDepth = outerDepth;
    });
  }
  scope.emit("});");
  return true;
}

const isFlagReused = (statement: If, following: readonly Statement[]): boolean => {
  const flags = readNames(statement.test);
  const isReused = (node: object): boolean =>
    ("test" in node && [...readNames(node.test as Expression)].some((name) => flags.has(name))) ||
    childrenOf(node).some(isReused);
  return following.some(isReused);
};

/** Limits code duplication, because each flag doubles the following code. */
const MAX_LINES = 1500;

function limitCopies(scope: Context["scope"]): void {
  if (scope.lines.length > MAX_LINES)
    scope.refuse("flags that change shapes again and again, each with all that follows", "fix one with --specialize");
}

/** Duplicates all following statements into each arm, so that variables can have different types in each arm. */
function emitTailInEachArm(
  arms: readonly Arm[],
  following: readonly Statement[],
  liveAfter: Names,
  context: Context,
): boolean {
  const { scope } = context;
  limitCopies(scope);
  for (const [i, { arm, condition }] of pathsOf(withElse(arms)).entries()) {
    scope.emit(branchHeader(i, arm.condition, ""));
    scope.block(scope.carriedNames, () => {
      const outerDepth = scope.bodyDepth;
      if (scope.depth === outerDepth + 1) scope.bodyDepth = scope.depth;
      scope.assume(condition);
      scope.hasReturned = false;
      context.translate.statements([...arm.body, ...following], liveAfter, context);
      scope.bodyDepth = outerDepth;
    });
  }
  scope.emit("});");
  return true;
}

function emitBranch(statement: If, { arms: openArms, isCompileTime }: Arms, live: Names, context: Context): void {
  const { scope } = context;
  const used = writtenNames(openArms.flatMap(({ body }) => body)).filter((name) => live.has(name));
  const isNew = (name: string): boolean => !hasValue(name, context);
  // An arm may define a new name only under another condition.
  const isDefined = (name: string, body: readonly Statement[]): boolean =>
    isNew(name) ? defines(body, name) : writtenNames(body).includes(name);
  const isDefinedInAllArms = (name: string): boolean => openArms.every(({ body }) => isDefined(name, body));
  const isChain = openArms.length > 1;
  // If every arm of a compile-time chain defines a name that is used later, the last arm must be the else arm.
  const arms =
    isCompileTime && isChain && used.some((name) => isNew(name) && isDefinedInAllArms(name))
      ? withElseArm(openArms)
      : openArms;
  const isTotal = arms.at(-1)?.condition === undefined;
  const isAlwaysDefined = (name: string): boolean => isTotal && isDefinedInAllArms(name);
  const isState = (name: string): boolean => {
    const variable = scope.variable(name);
    if (!variable) return false;
    if (variable.isMutable) return scope.carriedNames.has(name) || !isAlwaysDefined(name);
    // A variable that exists only under another condition has no value here that an arm could change.
    if (isCompileTime && (variable.condition || isNew(name)) && !isAlwaysDefined(name)) return false;
    return !isAlwaysDefined(name) && ["traced", "number", "truth"].includes(variable.value.kind);
  };
  const state = used.filter(isState);
  // In run-time branches, Triton drops names that only some arms define.
  const outputs = used.filter((name) => !state.includes(name) && (isCompileTime || isAlwaysDefined(name)));
  const partialOutputs = outputs.filter((name) => !isAlwaysDefined(name) && (isChain || !isNew(name)));
  if (partialOutputs.length === 0) return emitArms(statement, arms, live, { state, outputs }, context);
  const splits = pathsOf(arms).flatMap((path) => {
    const split = splitForHoisting(path.arm, partialOutputs, context);
    return split ? [{ ...path, ...split }] : [];
  });
  if (partialOutputs.some((name) => !isNew(name)) || splits.length < arms.length)
    return emitSeparateBranches(statement, arms, live, { state, outputs }, context);
  const remainingArms = splits.map(({ arm, condition, hoisted, remaining }): Arm => {
    if (hoisted.length === 0) return arm;
    const hoistedNames = writtenNames(hoisted);
    emitArms(statement, [{ condition, body: hoisted }], new Set(), { state: [], outputs: hoistedNames }, context);
    return { ...arm, body: remaining };
  });
  if (remainingArms.some(({ body }) => body.length > 0))
    emitArms(
      statement,
      remainingArms,
      live,
      { state, outputs: outputs.filter((name) => !partialOutputs.includes(name)) },
      context,
    );
}

/** True if a name has a value here under every condition, other than None and optional parameters. */
function hasValue(name: string, { scope, kernel }: Context): boolean {
  const variable = scope.variable(name);
  return variable !== undefined && variable.value.kind !== "none" && !kernel.optionalPointers.has(variable.value.text);
}

/** Emits each arm as a separate branch, for names that only some arms define. */
function emitSeparateBranches(
  statement: If,
  arms: readonly Arm[],
  live: Names,
  { state, outputs }: BranchOutputs,
  context: Context,
): void {
  const { scope } = context;
  makeState(state, context);
  const joins = outputs.map((name): Join => ({ name, variable: scope.variable(name), armDefinitions: [] }));
  const paths = pathsOf(arms);
  for (const path of paths) {
    for (const { name, variable } of joins) scope.restore(name, variable);
    const armJoins = joins.filter(({ name }) => writtenNames(path.arm.body).includes(name));
    const armOutputs = { state, outputs: armJoins.map(({ name }) => name) };
    emitArms(statement, [{ ...path.arm, condition: path.condition }], live, armOutputs, context);
    for (const { name, armDefinitions } of armJoins) {
      const { value, condition } = scope.variable(name)!;
      armDefinitions.push({ text: value.text, condition: condition ?? path.condition });
    }
  }
  for (const { name, variable, armDefinitions } of joins) {
    // If no arm runs, the name has its value from an earlier branch.
    const previous = variable?.condition && { text: variable.value.text, condition: variable.condition };
    const fallback = armDefinitions.some(({ condition }) => condition.text === previous?.condition.text)
      ? undefined
      : previous;
    const isOpposite = armDefinitions.some(
      ({ condition }) => translateNot(condition).text === fallback?.condition.text,
    );
    const isDefinedInAllArms =
      armDefinitions.length === arms.length &&
      armDefinitions.every(({ condition }, i) => condition.text === paths[i]?.condition.text);
    const isTotal = isOpposite || (isDefinedInAllArms && arms.at(-1)?.condition === undefined);
    bindJoin(name, fallback ? [...armDefinitions, fallback] : armDefinitions, isTotal, context);
  }
}

interface Definition {
  readonly text: string;
  readonly condition: Value;
}

/** A name that arms define in separate branches, and its variable before them. */
interface Join {
  readonly name: string;
  readonly variable: Variable | undefined;
  readonly armDefinitions: Definition[];
}

/** Joins the definitions of a name from separate branches (a phi node). */
function bindJoin(name: string, definitions: readonly Definition[], isTotal: boolean, { scope }: Context): void {
  const condition = definitions.map((part) => part.condition).reduce(translateOr);
  const [first, ...others] = definitions;
  if (first && others.length === 0) return scope.bind(name, traced(first.text), false, condition);
  const chain = definitions.map((definition, i) => {
    const [header, isLast] = [i === 0 ? "tl.when(" : ".elseWhen(", i === definitions.length - 1];
    return isLast
      ? `.otherwise(() => ${definition.text})`
      : `${header}${definition.condition.text}, () => ${definition.text})`;
  });
  const text = scope.fresh(name);
  scope.emit(
    `const ${text} = ${isTotal ? chain.join("") : `tl.when(${condition.text}, () => ${chain.join("")}).value`};`,
  );
  scope.bind(name, traced(text), false, isTotal ? undefined : condition);
}

/** Inlines constants that are only returned, to avoid a second name for the result. */
function inlineReturnedNames(returned: string, start: number, { lines }: Context["scope"]): string {
  let text = returned;
  for (const [i, line] of [...lines.entries()].slice(start).reverse()) {
    const [, name, value] = /^const (\w+) = ((?!tl\.mut\().*);$/s.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      if (line.startsWith("//") || line === "") continue;
      break;
    }
    // The name of an option may be the same, and a shorthand is both.
    const use = new RegExp(`(?<!\\.)\\b${name}\\b(?!:)`);
    const isUsed = lines.some(
      (otherLine, otherIndex) => otherIndex >= start && otherIndex !== i && use.test(otherLine),
    );
    if (isUsed || text.split(use).length !== 2) continue;
    text = text.replace(use, (_, index: number) => (isShorthand(text, index) ? `${name}: ${value}` : value));
    lines.splice(i, 1);
  }
  return text;
}

/** True for `name` in `{ name }` and `{ mask: x, name }`. */
function isShorthand(text: string, index: number): boolean {
  const prefix = text.slice(0, index);
  if (!/[{,]\s*$/.test(prefix)) return false;
  let depth = 0;
  for (const bracket of prefix
    .replaceAll(/[^()[\]{}]/g, "")
    .split("")
    .reverse()) {
    if (")]}".includes(bracket)) depth++;
    else if (depth === 0) return bracket === "{";
    else depth--;
  }
  return false;
}

const withElseArm = (arms: readonly Arm[]): readonly Arm[] =>
  arms.map((arm, i) =>
    i === arms.length - 1 && arm.condition ? { ...arm, condition: undefined, impliedCondition: arm.condition } : arm,
  );

interface BranchOutputs {
  /** Mutable variables that arms change. */
  readonly state: readonly string[];
  /** Names that the branch returns. */
  readonly outputs: readonly string[];
}

function emitArms(
  statement: If,
  arms: readonly Arm[],
  live: Names,
  { state, outputs }: BranchOutputs,
  context: Context,
): void {
  const { scope } = context;
  const isTotal = arms.at(-1)?.condition === undefined;
  makeState(state, context);
  const start = scope.lines.length;
  const firstCondition = arms[0]?.condition;
  if (!firstCondition) throw new Error("a branch without a condition");
  const isCompileTime = isCompileTimeConstant(firstCondition, statement.test);
  // A name may exist only under a condition inside an arm.
  let innerConditions: readonly (Value | undefined)[] = [];
  for (const [i, { arm, condition }] of pathsOf(arms).entries()) {
    const { body, impliedCondition } = arm;
    scope.emit(branchHeader(i, arm.condition, ""));
    if (impliedCondition) scope.emit(`tl.staticAssert(${impliedCondition.text});`);
    if (context.kernel.hasBranchMarkers) scope.emit(`// @${branchKey(statement, scope)}`);
    scope.block(new Set(state), () => {
      scope.hasReturned = false;
      if (isCompileTime) scope.assume(condition);
      scope.exportedNames = new Set(outputs);
      const bodyStart = scope.lines.length;
      context.translate.statements(body, new Set([...live, ...outputs]), context);
      innerConditions = outputs.map((name) => scope.variable(name)?.condition);
      if (outputs.length > 0 && !scope.hasReturned)
        scope.emit(`return ${inlineReturnedNames(returnedText(outputs, statement, context), bodyStart, scope)};`);
    });
  }
  scope.emit(outputs.length > 0 && !isTotal ? "}).value;" : "});");
  if (outputs.length === 0) return;
  // Declares the results of the branch in front of its first line.
  const results = outputs.map((name, i) => ({ name, text: scope.fresh(name), innerCondition: innerConditions[i] }));
  const texts = results.map(({ text }) => text);
  scope.lines[start] = `const ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`} = ${scope.lines[start]}`;
  for (const { name, text, innerCondition = truth(true) } of results)
    scope.bind(name, traced(text), false, isTotal ? undefined : translateAnd(firstCondition, innerCondition));
}

/** Splits off the statements that define these names, to emit them first. Undefined if this would reorder effects. */
function splitForHoisting(
  { body }: Arm,
  names: readonly string[],
  { scope }: Context,
): { readonly hoisted: readonly Statement[]; readonly remaining: readonly Statement[] } | undefined {
  const armNames = names.filter((name) => writtenNames(body).includes(name));
  if (armNames.length === 0) return { hoisted: [], remaining: body };
  const [hoisted, remaining] = partitionBySlice(body, new Set(armNames));
  const isPlain = hoisted.every(
    (each) => each.kind === "Assign" || each.kind === "AnnAssign" || each.kind === "AugAssign",
  );
  const isState = writtenNames(hoisted).some((name) => scope.variable(name)?.isMutable === true);
  return isPlain && !isState && !remaining.some(hasEffect) ? { hoisted, remaining } : undefined;
}

/** The backward slice of these names, and the other statements. */
function partitionBySlice(
  body: readonly Statement[],
  names: Names,
): readonly [readonly Statement[], readonly Statement[]] {
  const sliceNames = new Set(names);
  const slice = new Set<Statement>();
  for (const statement of body.toReversed()) {
    const assignedNames = writtenNames([statement]);
    if (!assignedNames.some((name) => sliceNames.has(name))) continue;
    slice.add(statement);
    for (const name of [...assignedNames, ...readNames(statement)]) sliceNames.add(name);
  }
  return [body.filter((each) => slice.has(each)), body.filter((each) => !slice.has(each))];
}

/** True for stores and other calls with effects, which must not be reordered. */
const hasEffect = (statement: Statement): boolean =>
  statement.kind === "Expr" ? statement.value.kind !== "Constant" : childrenOf(statement).some(isEffect);
const isEffect = (node: object): boolean => ("kind" in node && node.kind === "Expr") || childrenOf(node).some(isEffect);

/** The text of an arm's return value. */
function returnedText(names: readonly string[], statement: If, context: Context): string {
  const values = names.map((name) => result(name, statement, context));
  const [value, ...others] = values;
  return value && others.length === 0 ? value.text : `${list(values).text} as const`;
}

function result(name: string, statement: If, { scope }: Context): Value {
  const value = scope.read(name);
  if (!value)
    throw new UnsupportedConstruct(
      `${pythonName(name)}, which one arm of a branch does not define`,
      "assign it before the branch",
      statement,
    );
  const { typed } = toStoredValue(value, undefined);
  if (typed.kind !== "traced")
    throw new UnsupportedConstruct(
      `${pythonName(name)}, which is ${value.kind === "none" ? "None" : `a ${value.kind}`} in one arm`,
      value.kind === "dtype" ? "cast to it in each arm" : "assign a tile or a number in each arm",
      statement,
    );
  return typed;
}
