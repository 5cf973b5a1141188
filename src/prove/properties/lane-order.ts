/**
 * Order obligations: within an epoch, accesses of one program to an element that one of them writes are of one lane.
 * Lanes of equal index in tiles of equal shape are one lane.
 */
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import type { OpStatement } from "../../ir/nodes.js";
import { andTerm, atLeast, equal, FALSE, number, sum, symbol, type Term, TRUE } from "../../symbolic/term.js";
import { zip } from "../algebra/zip.js";
import { entails } from "../algebra/interpret.js";
import type { RefutationQuery } from "../counterexample.js";
import type { Access } from "../model/accesses.js";
import { type EpochPair, epochPairs, isBarrier } from "../model/epochs.js";
import type { SymbolicModel } from "../model/model.js";
import { areApart, pairFacts, primed, sameElementFacts, variablesOf } from "../model/written-elements.js";
import { firstUnprovedBound } from "./bounds.js";
import {
  type ObligationGenerator,
  type ProofContext,
  type ProofGap,
  describeAccess,
  inLineOf,
  missingBounds,
} from "./obligations.js";
import { inverseOf, provesRoundTrip } from "./races.js";

const FINDING_CODES: readonly FindingCode[] = ["unordered-lanes"];

/** One obligation for each access that another lane's earlier access in the same epoch may conflict with. */
export const orderObligations: ObligationGenerator = (models) => {
  const pairs = new Map<OpStatement, EpochPair[]>();
  for (const model of models)
    for (const [{ statement }, found] of epochPairs(model, (event) => isBarrier(event, ({ mask }) => mask === TRUE)))
      pairs.set(statement, [...(pairs.get(statement) ?? []), ...found]);
  return [...pairs].map(([statement, found]) => {
    const accesses = found.flatMap(({ earlier, later }) => [later, earlier]);
    return {
      property: "order",
      subject: accesses.map(describeAccess)[0] ?? "",
      at: statement.location,
      restsOn: accesses.map((access) => access.statement),
      waiver: accesses.find(({ trusted }) => trusted !== undefined)?.trusted,
      prove: (context) => proveOrder(context, statement),
    };
  });
};

type Pairs = ReturnType<typeof epochPairs>;
const pairsOfModel = new WeakMap<SymbolicModel, Pairs>();

/** The pairs of all epochs. An atomic whose mask is proved is a barrier. */
function pairsIn({ model, factScopes }: ProofContext): Pairs {
  let pairs = pairsOfModel.get(model);
  if (!pairs) {
    const isActive = ({ path, scope, mask }: Access) => entails(factScopes.onPath(path, scope), mask);
    pairs = epochPairs(model, (event) => isBarrier(event, isActive));
    pairsOfModel.set(model, pairs);
  }
  return pairs;
}

function proveOrder(context: ProofContext, statement: OpStatement): ProofGap | undefined {
  for (const [access, pairs] of pairsIn(context)) {
    if (access.statement !== statement) continue;
    for (const pair of pairs) {
      const gap = gapOf(context, pair);
      if (gap) return gap;
    }
  }
  return undefined;
}

function gapOf(context: ProofContext, pair: EpochPair): ProofGap | undefined {
  const { earlier, later } = pair;
  const missing = later.missing ?? earlier.missing;
  if (missing !== undefined) return { refutation: undefined, missing, isLemma: true };
  const outOfBounds = [later, earlier].find((access) => firstUnprovedBound(context.factScopes, access));
  if (outOfBounds) return { refutation: refutationOf(pair), missing: missingBounds(outOfBounds), isLemma: true };
  if (provesSameLane(context, pair)) return undefined;
  return { refutation: refutationOf(pair), missing: missingOrder(pair), remedies: [{ kind: "barrier" }] };
}

/** Proves that one lane performs both accesses, if they are of one element. */
function provesSameLane(context: ProofContext, pair: EpochPair): boolean {
  // A loop moves through a tensor, which the inverse of the index shows; without one, both indices are mostly alike.
  return pair.loop
    ? provesByInverse(context, pair) || provesByTwoPoints(context, pair)
    : provesByTwoPoints(context, pair) || provesByInverse(context, pair);
}

const haveOneShape = ({ earlier, later }: EpochPair): boolean =>
  earlier.shape.length === later.shape.length && zip(earlier.shape, later.shape).every(([x, y]) => x === y);

/** Proves that the element determines the lane, or the iteration of a loop in which both accesses differ. */
function provesByInverse(context: ProofContext, pair: EpochPair): boolean {
  const { earlier, later, loop } = pair;
  const inverse = inverseOf(context, later, variablesOf(later));
  // Lanes of tiles of other shapes have no pairs; an iteration may be determined all the same.
  const lanes = haveOneShape(pair) ? zip(later.lane, earlier.lane) : [];
  const earlierLanes = new Map(lanes.map(([{ name }, lane]) => [name, lane]));
  const variableOf = (name: string): Term => earlierLanes.get(name) ?? symbol(name);
  const isDetermined = (name: string): boolean =>
    provesRoundTrip(context, later, inverse, name) &&
    (earlier === later || provesRoundTrip(context, earlier, inverse, name, variableOf));
  return (
    (haveOneShape(pair) && later.lanes.every(isDetermined)) || (loop !== undefined && isDetermined(loop.iteration.name))
  );
}

function provesByTwoPoints({ factScopes }: ProofContext, pair: EpochPair): boolean {
  const { earlier, later, loop, isNext } = pair;
  const shared = sharedScope(pair);
  const second = primed(variablesOf(later).filter((name) => !shared.includes(name)));
  const laterTerm = ({ name }: Term): Term => second.get(name) ?? symbol(name);
  const next = loop && sum(loop.iteration, number(1));
  const order = loop && next ? [(isNext ? equal : atLeast)(laterTerm(loop.iteration), next)] : [];
  if (areApart(pairFacts(factScopes, earlier, later, second, order), earlier, later, second)) return true;
  if (!haveOneShape(pair)) return entails(sameElementFacts(factScopes, earlier, later, second, order), FALSE);
  const lanes = zip(earlier.lane, later.lane).filter(([lane]) => lane.kind === "symbol");
  const isSameLane = andTerm(...lanes.map(([lane, other]) => equal(lane, laterTerm(other))));
  return entails(sameElementFacts(factScopes, earlier, later, second, order), isSameLane);
}

/** The programs and iterations that are the same for both accesses. */
function sharedScope({ earlier, later, loop }: EpochPair): readonly string[] {
  const common = later.scope.filter((name) => earlier.scope.includes(name));
  return loop ? common.slice(0, common.indexOf(loop.iteration.name)) : common;
}

/** The search for two lanes of one program that access one element. */
function refutationOf(pair: EpochPair): RefutationQuery {
  const accesses = [...new Set([pair.earlier, pair.later])];
  const shared = sharedScope(pair);
  const conflict = accesses.map((access) => ({
    index: [...access.axes.map(({ index }) => index), ...shared.map(symbol)],
    facts: [...access.path, access.mask],
    variables: variablesOf(access),
    identity: access.lane.map(({ name }) => name),
  }));
  return {
    goal: TRUE,
    facts: [],
    variables: [...new Set(accesses.flatMap(variablesOf))],
    locations: [pair.later.statement.location],
    findingCodes: FINDING_CODES,
    conflict: haveOneShape(pair) ? conflict : [],
  };
}

function missingOrder({ earlier, later, loop }: EpochPair): string {
  const otherPlace =
    earlier === later
      ? "in an earlier iteration"
      : `${inLineOf(earlier).trim()}${loop ? " in an earlier iteration" : ""}`;
  return `nothing shows that an element of ${later.tensor?.name} that is accessed here and ${otherPlace} is so by one lane only`;
}
