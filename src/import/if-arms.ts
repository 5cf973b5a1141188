/** The arms of a Python `if`, and what is known of their conditions. */
import { isDeadCode, NOT_GIVEN, usesOmittedParam } from "./dead-code.js";
import type { Context } from "./context.js";
import { writes } from "./liveness.js";
import { translateAnd, negated } from "./operators.js";
import { translateCondition } from "./translate-expressions.js";
import type { If, Statement } from "./tree.js";
import { isKnown, truth, type Value } from "./value.js";

export interface Arm {
  /** Undefined for the last arm, `else`. */
  readonly asked: Value | undefined;
  /** What holds in the last arm, if Triton compiles the kernel at all. */
  readonly holds?: Value;
  readonly body: readonly Statement[];
}

export interface Arms {
  readonly arms: readonly Arm[];
  /** Whether Triton knows the conditions. */
  readonly isKnown: boolean;
}

/** The arms that may run: conditions that are known while the text is written are decided. */
export function armsOf(statement: If, context: Context): Arms {
  const { arms, isKnown: isDecided } = chainOf(statement, context);
  return { arms: isDecided ? possible(arms, context) : arms, isKnown: isDecided };
}

function chainOf(statement: If, context: Context): Arms {
  const arms: Arm[] = [];
  let kind: boolean | undefined;
  for (let node: If | undefined = statement; node;) {
    const asked = translateCondition(node.test, context);
    if (asked.kind === "truth") {
      if (asked.value) return { arms: [...arms, { asked: undefined, body: node.body }], isKnown: kind ?? true };
    } else {
      const own = isKnown(asked, node.test);
      // Triton knows some conditions when it compiles; a chain has one kind.
      if (own !== (kind ?? own)) return { arms: [...arms, { asked: undefined, body: [node] }], isKnown: !own };
      kind = own;
      arms.push({ asked, body: node.body });
    }
    const [only, ...more]: readonly Statement[] = node.orelse;
    if (only?.kind === "If" && more.length === 0) node = only;
    else {
      if (node.orelse.length > 0) arms.push({ asked: undefined, body: node.orelse });
      node = undefined;
    }
  }
  return { arms, isKnown: kind ?? true };
}

/** The arms without those that need what no call gives: their conditions must not hold. */
function possible(arms: readonly Arm[], context: Context): readonly Arm[] {
  const { scope, kernel } = context;
  const conditions = conditionsOf(arms);
  const left = arms.filter(({ body }, i) => {
    const condition = conditions[i]!;
    if (condition.kind !== "traced") return true;
    const isAbsent = usesOmittedParam(body, context);
    const isUnknown = !isAbsent && kernel.compiledOnly && isDeadCode(body);
    if (isUnknown)
      kernel.todo(
        `what runs if ${condition.text} is left out: Triton did not compile it for these calls`,
        body[0]!.line,
      );
    if (isAbsent || isUnknown)
      scope.refute({ condition, names: writes(body), why: isAbsent ? NOT_GIVEN : "no imported code is for this" });
    return !isAbsent && !isUnknown;
  });
  const isClosed = arms.at(-1)?.asked === undefined && left.at(-1)?.asked !== undefined;
  return isClosed ? left.map((arm, i) => (i === left.length - 1 ? { ...arm, asked: undefined } : arm)) : left;
}

/** For each arm, what holds in it: its own condition, and none of those before it. */
export function conditionsOf(arms: readonly Arm[]): readonly Value[] {
  let before: Value = truth(true);
  return arms.map(({ asked }) => {
    const own = asked ? translateAnd(before, asked) : before;
    if (asked) before = translateAnd(before, negated(asked));
    return own;
  });
}

/** The line that opens an arm. */
export const branchHeader = (index: number, asked: Value | undefined, before: string): string =>
  index === 0
    ? `${before}tl.when(${asked?.text ?? ""}, () => {`
    : asked
      ? `}).elseWhen(${asked.text}, () => {`
      : "}).otherwise(() => {";
