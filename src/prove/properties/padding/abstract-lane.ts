/**
 * What a lane holds: kinds of numbers, apart by where they come from. `live` is what data makes of a lane that is on, `left`
 * what a lane holds that a mask left out, `plain` what no data is in: constants and indices.
 */
import {
  type NumberClasses,
  classesIn,
  LOWEST,
  HIGHEST,
  NAN,
  NEGATIVE,
  EMPTY,
  POISON,
  ONE,
  POSITIVE,
  ZERO,
} from "../../../symbolic/number-class.js";
import { isUnsigned, members } from "../../../types/dtype.js";
import type { Type } from "../../../types/types.js";

export type Provenance = "live" | "left" | "plain";
/** Eight bits for each source. */
export type AbstractLane = number;

const SHIFT = { live: 0, left: 8, plain: 16 } as const;
const SOURCES: readonly Provenance[] = ["live", "left", "plain"];
const MASK = 0xff;

export const abstractLane = (source: Provenance, kinds: NumberClasses): AbstractLane => kinds << SHIFT[source];
export const classesFrom = (of: AbstractLane, source: Provenance): NumberClasses => (of >> SHIFT[source]) & MASK;
/** What lanes hold that no mask left out. */
export const activeClasses = (of: AbstractLane): NumberClasses => classesFrom(of, "live") | classesFrom(of, "plain");
export const mayBePoison = (of: AbstractLane): boolean =>
  SOURCES.some((source) => (classesFrom(of, source) & POISON) !== 0);

/** Numbers in general: neither infinite nor 0, and no NaN. Data is taken to be like that. */
export function genericClasses(type: Type): NumberClasses {
  if (type.kind !== "tile") return NEGATIVE | POSITIVE;
  const dtypes = members(type.dtype);
  if (dtypes.every((name) => name === "int1")) return ZERO | ONE;
  return dtypes.every((name) => name.startsWith("uint") && isUnsigned(name)) ? POSITIVE : NEGATIVE | POSITIVE;
}

/** One kind of number from one source. */
interface Part {
  readonly source: Provenance;
  readonly kind: NumberClasses;
}

function partsOf(of: AbstractLane): readonly Part[] {
  return SOURCES.flatMap((source) => classesIn(classesFrom(of, source)).map((kind) => ({ source, kind })));
}

/** What an op makes of numbers, lane by lane. */
export interface ElementwiseRule {
  /** Undefined where the op has no rule. */
  readonly kinds: ((kinds: readonly NumberClasses[]) => NumberClasses) | undefined;
  readonly neutral?: ((held: NumberClasses, beside: NumberClasses, isFirst: boolean) => boolean) | undefined;
  readonly generic: NumberClasses;
  /** Operands that are the same value, by the place of the first. */
  readonly same: readonly number[];
}

const ANY_LEFT: NumberClasses = NEGATIVE | ZERO | POSITIVE | LOWEST | HIGHEST | NAN;

/** What a lane of the result holds, given the same lane of each operand. */
export function applyElementwise(rule: ElementwiseRule, operands: readonly AbstractLane[]): AbstractLane {
  let result = EMPTY;
  const chosen: Part[] = [];
  const visit = (place: number): void => {
    const operand = operands[place];
    if (operand === undefined) {
      result |= ofParts(rule, chosen);
      return;
    }
    const first = rule.same[place]!;
    const parts = first < place ? [chosen[first]!] : partsOf(operand);
    for (const part of parts) {
      chosen[place] = part;
      visit(place + 1);
    }
    chosen.length = place;
  };
  visit(0);
  return withoutNaN(result, "live") | withoutNaN(result, "plain") | abstractLane("left", classesFrom(result, "left"));
}

/** Data and constants are taken to be where functions are defined, unless they certainly are not. */
function withoutNaN(of: AbstractLane, source: Provenance): AbstractLane {
  const kinds = classesFrom(of, source);
  return abstractLane(source, (kinds & ~NAN) === EMPTY ? kinds : kinds & ~NAN);
}

function ofParts({ kinds: rule, neutral, generic: numbers }: ElementwiseRule, parts: readonly Part[]): AbstractLane {
  const has = (source: Provenance) => parts.some((part) => part.source === source);
  const source: Provenance = has("left") ? "left" : has("live") ? "live" : "plain";
  if (parts.some(({ kind }) => kind === POISON)) return abstractLane(source, POISON);
  const [x, y] = parts;
  if (neutral && x && y && parts.length === 2 && x.source !== y.source) {
    // A lane that was left out of one operand leaves the other's data as it is.
    if (x.source === "left" && y.source === "live" && neutral(x.kind, y.kind, true))
      return abstractLane("live", y.kind);
    if (y.source === "left" && x.source === "live" && neutral(y.kind, x.kind, false))
      return abstractLane("live", x.kind);
  }
  const kinds = rule?.(parts.map(({ kind }) => kind)) ?? (source === "left" ? ANY_LEFT : numbers);
  return abstractLane(source, source === "live" ? inGeneral(kinds, numbers) : kinds);
}

/** Data neither cancels to 0 nor gives NaN, unless nothing else can come out. */
function inGeneral(kinds: NumberClasses, numbers: NumberClasses): NumberClasses {
  const likely = kinds & ~NAN;
  if (likely === EMPTY) return numbers;
  const others = likely & ~ZERO;
  return others === EMPTY || numbers === (ZERO | ONE) ? likely : others;
}

/** What `where` gives of the side that it picks: a constant stands in for what the other side's lane was. */
export function selectedLane(side: AbstractLane, other: AbstractLane): AbstractLane {
  const plain = classesFrom(side, "plain");
  if (plain === EMPTY) return side;
  const left = classesFrom(other, "left");
  const [rest, isOther] = [side & ~abstractLane("plain", MASK), other & ~abstractLane("left", MASK)];
  return (
    rest |
    (left === EMPTY ? EMPTY : abstractLane("left", plain)) |
    (isOther === EMPTY && left !== EMPTY ? EMPTY : abstractLane("plain", plain))
  );
}

/** Numbers of which it is known which kind they are; what has no value still has none. */
export function refineTo(of: AbstractLane, kind: NumberClasses): AbstractLane {
  return SOURCES.reduce((all, source) => {
    const kinds = classesFrom(of, source);
    const known = (kinds & ~POISON) === EMPTY ? EMPTY : kind;
    return all | abstractLane(source, known | (kinds & POISON));
  }, EMPTY);
}

/** A lane that a mask leaves out. */
export function maskedOff(of: AbstractLane): AbstractLane {
  return abstractLane(
    "left",
    SOURCES.reduce((kinds, source) => kinds | classesFrom(of, source), EMPTY),
  );
}

/** Lanes that were left out as data; those without a value stay without. */
export function trustedLane(of: AbstractLane, numbers: NumberClasses): AbstractLane {
  const left = classesFrom(of, "left");
  const rest = of & ~abstractLane("left", MASK);
  const known = (left & ~POISON) === EMPTY ? EMPTY : abstractLane("live", numbers);
  return rest | known | abstractLane("left", left & POISON);
}

/** How lanes are put together. */
export interface FoldRule {
  readonly kinds: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined;
  readonly neutral: (held: NumberClasses, beside: NumberClasses) => boolean;
  readonly generic: NumberClasses;
}

/** All that folding any number of these gives. */
export function combineFixpoint(rule: FoldRule, kinds: NumberClasses): NumberClasses {
  if (!rule.kinds) return rule.generic;
  let all = kinds & ~POISON;
  for (let before = EMPTY; all !== before;) {
    before = all;
    for (const x of classesIn(before)) for (const y of classesIn(before)) all |= rule.kinds(x, y);
  }
  return all | (kinds & POISON);
}

/** What the lanes of a fold give together: lanes that are left out change nothing beside others. */
export function foldResult(rule: FoldRule, lanes: AbstractLane): AbstractLane {
  const [live, left, plain] = SOURCES.map((source) => classesFrom(lanes, source)) as [
    NumberClasses,
    NumberClasses,
    NumberClasses,
  ];
  const nothing = mayBePoison(lanes) ? POISON : EMPTY;
  const others = (live | plain) & ~POISON;
  if (others === EMPTY) return abstractLane("left", combineFixpoint(rule, left) | nothing);
  const kinds = combineFixpoint(rule, others);
  return live === EMPTY
    ? abstractLane("plain", kinds | nothing)
    : abstractLane("live", takingPart(rule, kinds) | nothing);
}

/** Some lane takes part: the largest of data and -Infinity is data, and a sum of data and 0 is not 0. */
function takingPart({ neutral, generic: numbers }: FoldRule, kinds: NumberClasses): NumberClasses {
  const idle = classesIn(kinds).filter((kind) => classesIn(numbers).every((beside) => neutral(kind, beside)));
  const others = idle.reduce((rest, kind) => rest & ~kind, kinds);
  return inGeneral(others === EMPTY ? kinds : others, numbers);
}

/** The kinds of left-out lanes that change what others give together; those without a value are no numbers. */
export function nonNeutralPadding({ neutral }: FoldRule, lanes: AbstractLane): NumberClasses {
  const others = activeClasses(lanes) & ~POISON;
  if (others === EMPTY) return EMPTY;
  const beside = classesIn(others);
  return classesIn(classesFrom(lanes, "left") & ~POISON)
    .filter((kind) => !beside.every((each) => neutral(kind, each)))
    .reduce((kinds, kind) => kinds | kind, EMPTY);
}
