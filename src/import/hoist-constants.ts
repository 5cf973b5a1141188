/** Constants that the arms of a compile-time branch declare: `STEP: tl.constexpr = 2`. */
import type { Context } from "./context.js";
import type { Arm } from "./if-arms.js";
import { readNames, writtenNames } from "./liveness.js";
import { translateExpression } from "./translate-expressions.js";
import type { Expression, Statement } from "./tree.js";
import { constantKind, isConstant, traced, translateNot, type Value } from "./value.js";

/**
 * Declares these constants in front of the branch, because the result of a branch is no constant. Returns the arms
 * without the declarations, and no arms if they contain nothing else.
 */
export function hoistConstants(arms: readonly Arm[], live: ReadonlySet<string>, context: Context): readonly Arm[] {
  if (arms[0]?.condition === undefined) return arms;
  const statements = arms.flatMap(({ body }) => body);
  const hoisted = new Set<string>();
  for (const name of writtenNames(statements).filter((each) => live.has(each))) {
    const constants = constantsOf(name, arms, context);
    if (!constants) continue;
    const text = context.scope.fresh(name);
    context.scope.emit(`const ${text} = ${chosenText(constants)};`);
    context.scope.bind(name, traced(text, true));
    hoisted.add(name);
  }
  if (hoisted.size === 0) return arms;
  const isHoisted = (statement: Statement): boolean => writtenNames([statement]).some((name) => hoisted.has(name));
  return withoutEmpty(arms.map((arm) => ({ ...arm, body: arm.body.filter((statement) => !isHoisted(statement)) })));
}

/** Drops empty arms at the end, and an empty arm in front of `else`. */
function withoutEmpty(arms: readonly Arm[]): readonly Arm[] {
  const last = arms.findLastIndex(({ body }) => body.length > 0);
  const [first, second, ...more] = arms.slice(0, last + 1);
  if (first?.condition && first.body.length === 0 && second && !second.condition)
    return [{ ...second, condition: translateNot(first.condition) }];
  return [first, second, ...more].flatMap((arm) => arm ?? []);
}

/** A number and the condition under which a name has it. The condition of the last one does not matter. */
interface Choice {
  readonly condition: Value | undefined;
  readonly value: Value;
}

const chosenText = ([first, ...others]: readonly Choice[]): string =>
  !first?.condition || others.length === 0
    ? (first?.value.text ?? "")
    : `tl.choose(${first.condition.text}, ${first.value.text}, ${chosenText(others)})`;

/**
 * The numbers that a name has after the branch, if each arm that writes it declares it as a constant. Triton refuses a
 * second declaration, so that no other arm has a value for it.
 */
function constantsOf(name: string, arms: readonly Arm[], context: Context): readonly Choice[] | undefined {
  const choices: Choice[] = [];
  for (const { condition, body } of arms) {
    const [declaration, ...others] = body.filter((statement) => writtenNames([statement]).includes(name));
    const node = declaration && declaredConstant(declaration);
    if (
      declaration &&
      (!node || others.length > 0 || [...readNames(node)].some((each) => writtenNames(body).includes(each)))
    )
      return undefined;
    const value = node && translateExpression(node, context);
    if (value && !isConstantNumber(value, node)) return undefined;
    if (value) choices.push({ condition, value });
  }
  return choices;
}

/** The value of `name: tl.constexpr = value`. */
export function declaredConstant(statement: Statement): Expression | undefined {
  if (statement.kind !== "AnnAssign" || statement.target.kind !== "Name") return undefined;
  const { annotation, value } = statement;
  return annotation.kind === "Attribute" && annotation.attr === "constexpr" ? (value ?? undefined) : undefined;
}

function isConstantNumber(value: Value, node: Expression): boolean {
  if (value.kind !== "traced") return value.kind === "number";
  const kind = node.types.length > 0 ? constantKind(node) : value.typeTag;
  return kind === undefined ? isConstant(value) : kind === "int" || kind === "float";
}
