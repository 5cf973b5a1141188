/**
 * Whether padding changes nothing: a lane that a mask left out is neutral where it meets others in a reduction, a scan or a
 * product, and a lane without a value is never stored, and decides no access.
 */
import type { FindingCode } from "../../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../../ir/nodes.js";
import { typeOfArgument } from "../../../ir/typed.js";
import {
  type Kinds,
  kindsIn,
  LEAST,
  MOST,
  NAN,
  NEGATIVE,
  NONE,
  ONE,
  POSITIVE,
  ZERO,
} from "../../../symbolic/number-class.js";
import { FALSE } from "../../../symbolic/term.js";
import { Budget } from "../../algebra/budget.js";
import { Contexts } from "../../model/fact-scopes.js";
import { generic } from "./abstract-lane.js";
import type { Model } from "../../model/model.js";
import type { Duties, Duty, Open } from "../obligations.js";
import { foldRuleOf } from "./folds.js";
import { type Meeting, PaddingLanes } from "./analysis.js";
import { isFloatType } from "./literals.js";
import { accessInWords } from "../describe.js";

const UNSET: readonly FindingCode[] = ["uninitialized"];
/** For each question whether lanes exist. */
const STEPS = 4_000;

/** One duty for each fold and access that lanes reach which a mask left out. */
export const paddingDuties: Duties = (models) => {
  const statements = new Map<OpStatement, string>();
  const waived = new Map<OpStatement, string>();
  for (const model of models) {
    const { meets, waived: reasons } = paddingOf(model);
    for (const [statement, reason] of reasons) waived.set(statement, reason);
    for (const statement of meets) statements.set(statement, nameOf(model, statement));
  }
  const trusted = [...waived].map(([statement, reason]): Duty => ({
    property: "padding",
    of: `padding in tl.${statement.op.name}`,
    at: statement.at,
    waived: reason,
    asks: () => ({ question: undefined, missing: "" }),
  }));
  const shown = [...statements].map(([statement, of]): Duty => ({
    property: "padding",
    of,
    at: statement.at,
    asks: ({ model }) => {
      const meeting = paddingOf(model).meetings.get(statement);
      return meeting && openOf(meeting);
    },
  }));
  return [...trusted, ...shown];
};

const known = new WeakMap<Model, PaddingLanes>();

function paddingOf(model: Model): PaddingLanes {
  let padding = known.get(model);
  if (!padding) known.set(model, (padding = new PaddingLanes(model, new Contexts(model, new Budget(STEPS)))));
  return padding;
}

function nameOf(model: Model, statement: OpStatement): string {
  const access = model.accesses.find((each) => each.statement === statement);
  return access ? `padding in ${accessInWords(access)}` : `padding in tl.${statement.op.name}`;
}

function openOf({ statement, holds, given, variables }: Meeting): Open {
  if (!statement.op.proof.folds) {
    const question = { holds: FALSE, given, variables, places: [statement.at], finds: UNSET };
    return {
      question,
      missing: "a lane that no load gave a value may be on; give the load other, or mask this access",
    };
  }
  const wanted = neutralOf(statement);
  const remedy = wanted === undefined ? UNKNOWN : remedyOf(wanted);
  const changes =
    wanted === undefined
      ? `and nothing shows that tl.${statement.op.name} leaves them out`
      : "which changes the result";
  const missing = `lanes that a mask left out hold ${inWords(holds)} here, ${changes}; ${remedy}`;
  return { question: undefined, missing };
}

const remedyOf = (wanted: string) =>
  `give the load other: ${wanted}, put tl.where(mask, x, ${wanted}) before, or say with tl.trusted why it is right`;

const UNKNOWN = "let the loads that it rests on cover whole tiles, or say with tl.trusted why it is right";

/** What leaves the other lanes as they are. */
function neutralOf(statement: OpStatement): string | undefined {
  const type = typeOfArgument(statement.operands[0]!);
  const numbers = kindsIn(generic(type) | NEGATIVE | POSITIVE);
  const { neutral } = foldRuleOf(statement);
  const found = [ZERO, ONE, LEAST, MOST].find((kind) => numbers.every((beside) => neutral(kind, beside)));
  if (found === undefined) return undefined;
  if (found === LEAST || found === MOST) {
    const isLeast = found === LEAST;
    return isFloatType(type) ? (isLeast ? "-Infinity" : "Infinity") : `the ${isLeast ? "lowest" : "highest"} integer`;
  }
  return found === ZERO ? "0" : "1";
}

const WORDS: ReadonlyMap<Kinds, string> = new Map([
  [LEAST, "-Infinity"],
  [NEGATIVE, "negative numbers"],
  [ZERO, "0"],
  [ONE, "1"],
  [POSITIVE, "positive numbers"],
  [MOST, "Infinity"],
  [NAN, "NaN"],
]);

function inWords(kinds: Kinds): string {
  if ((kinds & NEGATIVE) !== NONE && (kinds & POSITIVE) !== NONE) return "numbers";
  return kindsIn(kinds)
    .map((kind) => WORDS.get(kind) ?? "nothing")
    .join(" or ");
}
