/** Accesses that no launch performs. Each property is true of them, so that a proof of it says nothing. */
import type { Obligation } from "../../compiled/compiled-kernel.js";
import { FALSE, termsIn, NEXT_POWER, product, sum, type Term } from "../../symbolic/term.js";
import { entails } from "../algebra/interpret.js";
import type { Access } from "../model/accesses.js";
import { type IndexedConfig, integersOf, Valuation } from "../launch-search.js";
import {
  type ProofContext,
  describeAccess,
  type ObligationGenerator,
  type ProofGap,
  describeUnknowns,
} from "./obligations.js";
import type { WhileStatement, OpStatement } from "../../ir/nodes.js";
import type { SymbolicModel, WhileLoop } from "../model/model.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { Precondition } from "../../analysis/preconditions.js";
import { atAxis } from "../../types/dims.js";

/** One entry for each access in the source that is shown to have no active lane in any launch of any config. */
export function unreachedAccesses(
  contexts: readonly ProofContext[],
  configs: readonly IndexedConfig[],
): readonly Obligation[] {
  // One valuation a config, because accesses share conditions.
  const valuations = configs.map(({ values }) => new Valuation(new Map(integersOf(values))));
  const accesses = contexts.flatMap((context) => context.model.accesses.map((access) => ({ access, context })));
  const reached = new Set(
    accesses.flatMap(({ access, context }) => (mayBeReached(access, context, valuations) ? [access.statement] : [])),
  );
  const unreached = new Map(
    accesses.flatMap(({ access }) => (reached.has(access.statement) ? [] : [[access.statement, access] as const])),
  );
  return [...unreached].map(([{ location }, access]) => ({
    property: "launch",
    of: describeAccess(access),
    at: location,
    verdict: { kind: "unreached" },
  }));
}

function mayBeReached(access: Access, { factScopes }: ProofContext, valuations: readonly Valuation[]): boolean {
  const conditions = [...access.path, access.mask];
  const isTaken = valuations.some((valuation) => conditions.every((condition) => valuation.truth(condition) !== false));
  return isTaken && !entails(factScopes.active(access), FALSE);
}

// Termination obligations: each `while` loop ends.

export const terminationObligations: ObligationGenerator = (models) => {
  const loops = new Set(models.flatMap(({ whileLoops }) => whileLoops.map(({ statement }) => statement)));
  return [...loops].map((statement: WhileStatement) => ({
    property: "termination",
    subject: "the loop",
    at: statement.location,
    prove: ({ model }) => {
      const open = model.whileLoops.find((loop) => loop.statement === statement && !loop.ends);
      return open && { refutation: undefined, missing: missingEnd(model, open) };
    },
  }));
};

function missingEnd({ environment: { unknowns } }: SymbolicModel, { condition }: WhileLoop): string {
  const reasons = new Set([...termsIn(condition)].flatMap(({ name }) => unknowns.get(name) ?? []));
  const reason =
    reasons.size > 0
      ? `its condition depends on ${[...reasons].join(" and ")}`
      : "no difference in its condition is shown to fall in each iteration";
  return `nothing shows that it ends: ${reason}, and no requirement would show it`;
}

// Obligations of `tl.assume`: the assumed condition is true.

const FINDING_CODES: readonly FindingCode[] = ["false-assume"];

export const claimObligations: ObligationGenerator = (models) => {
  const statements = new Set(models.flatMap(({ claims }) => claims.map(({ statement }) => statement)));
  return [...statements].map((statement) => ({
    property: "claim",
    subject: "tl.assume",
    at: statement.location,
    prove: (context) => proveClaim(context, statement),
  }));
};

function proveClaim({ model, factScopes: contexts }: ProofContext, statement: OpStatement): ProofGap | undefined {
  const claim = model.claims.find(
    (each) => each.statement === statement && !entails(contexts.onPath(each.path, each.scope), each.holds),
  );
  if (!claim) return undefined;
  const { holds, path, scope } = claim;
  const missing = `the condition of tl.assume is not proved${describeUnknowns(model, [holds], path)}`;
  return {
    refutation: {
      goal: holds,
      facts: path,
      variables: scope,
      locations: [statement.location],
      findingCodes: FINDING_CODES,
    },
    missing,
    remedies: [{ kind: "omit" }],
  };
}

// Upper limits on sizes that follow from the grid: the wrapper rejects a launch with more programs than CUDA allows.

/** Limits such as `H <= 65535`, for each axis that the wrapper checks. */
export function gridLimits({ launch: { grid } }: SymbolicModel, checked: readonly Precondition[]): readonly string[] {
  return checked.flatMap((each) => {
    if (each.kind !== "grid") return [];
    const { axis, most } = each;
    return [`${textOf(atAxis(grid, axis)) ?? `programs along axis ${axis}`} <= ${most}`];
  });
}

/** A short term as the author writes it on the host. Undefined for other terms. */
function textOf(term: Term): string | undefined {
  const { kind, operands, name, value } = term;
  const texts = operands.map(textOf);
  const [x, y] = texts;
  switch (kind) {
    case "number":
      return String(value);
    case "symbol":
      return name;
    case "sum":
      return joinTexts(texts, " + ", true);
    case "product":
      return joinTexts(texts, " * ", false);
    case "least":
      return joinTexts(texts, ", ", false) && `min(${x}, ${y})`;
    case "greatest":
      return joinTexts(texts, ", ", false) && `max(${x}, ${y})`;
    case "floorQuotient": {
      const covered = coveredBy(term);
      if (covered) return joinTexts([textOf(covered), y], ", ", false) && `cdiv(${textOf(covered)}, ${y})`;
      return joinTexts(texts, " // ", true);
    }
    case "call":
      return name === NEXT_POWER && x !== undefined ? `next_power_of_2(${x})` : undefined;
    case "all":
    case "atMost":
    case "choice":
    case "equal":
    case "false":
    case "floorRemainder":
    case "not":
    case "quotient":
    case "remainder":
    case "some":
    case "true":
      return undefined;
    default:
      return kind satisfies never;
  }
}

function joinTexts(
  texts: readonly (string | undefined)[],
  separator: string,
  isParenthesized: boolean,
): string | undefined {
  if (texts.includes(undefined)) return undefined;
  const text = texts.join(separator);
  return isParenthesized ? `(${text})` : text;
}

/** The `x` of `(x + y - 1) // y`. */
function coveredBy({ operands: [dividend, divisor] }: Term): Term | undefined {
  if (dividend?.kind !== "sum" || !divisor) return undefined;
  const { operands } = dividend;
  const isMinusOne = ({ kind, value }: Term) => kind === "number" && value === -1n;
  const [oneIndex, divisorIndex] = [operands.findIndex(isMinusOne), operands.indexOf(divisor)];
  if (oneIndex < 0 || divisorIndex < 0) return undefined;
  const remaining = operands.filter((_, i) => i !== oneIndex && i !== divisorIndex);
  return remaining.length > 0 ? sum(...remaining) : product();
}
