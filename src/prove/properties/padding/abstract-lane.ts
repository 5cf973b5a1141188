/**
 * What a lane holds: kinds of numbers, apart by where they come from. `live` is what data makes of a lane that is on, `left`
 * what a lane holds that a mask left out, `plain` what no data is in: constants and indices.
 */
import {
  type Kinds,
  kindsIn,
  LEAST,
  MOST,
  NAN,
  NEGATIVE,
  NONE,
  NOTHING,
  ONE,
  POSITIVE,
  ZERO,
} from "../../../symbolic/number-class.js";
import { isUnsigned, members } from "../../../types/dtype.js";
import type { Type } from "../../../types/types.js";

export type Source = "live" | "left" | "plain";
/** Eight bits for each source. */
export type Held = number;

const SHIFT = { live: 0, left: 8, plain: 16 } as const;
const SOURCES: readonly Source[] = ["live", "left", "plain"];
const MASK = 0xff;

export const held = (source: Source, kinds: Kinds): Held => kinds << SHIFT[source];
export const kindsOf = (of: Held, source: Source): Kinds => (of >> SHIFT[source]) & MASK;
/** What lanes hold that no mask left out. */
export const givenKinds = (of: Held): Kinds => kindsOf(of, "live") | kindsOf(of, "plain");
export const isNothing = (of: Held): boolean => SOURCES.some((source) => (kindsOf(of, source) & NOTHING) !== 0);

/** Numbers in general: neither infinite nor 0, and no NaN. Data is taken to be like that. */
export function generic(type: Type): Kinds {
  if (type.kind !== "tile") return NEGATIVE | POSITIVE;
  const dtypes = members(type.dtype);
  if (dtypes.every((name) => name === "int1")) return ZERO | ONE;
  return dtypes.every((name) => name.startsWith("uint") && isUnsigned(name)) ? POSITIVE : NEGATIVE | POSITIVE;
}

/** One kind of number from one source. */
interface Part {
  readonly source: Source;
  readonly kind: Kinds;
}

function partsOf(of: Held): readonly Part[] {
  return SOURCES.flatMap((source) => kindsIn(kindsOf(of, source)).map((kind) => ({ source, kind })));
}

/** What an op makes of numbers, lane by lane. */
export interface LaneRule {
  /** Undefined where the op has no rule. */
  readonly kinds: ((kinds: readonly Kinds[]) => Kinds) | undefined;
  readonly neutral?: ((held: Kinds, beside: Kinds, isFirst: boolean) => boolean) | undefined;
  readonly generic: Kinds;
  /** Operands that are the same value, by the place of the first. */
  readonly same: readonly number[];
}

const ANY_LEFT: Kinds = NEGATIVE | ZERO | POSITIVE | LEAST | MOST | NAN;

/** What a lane of the result holds, given the same lane of each operand. */
export function combined(rule: LaneRule, operands: readonly Held[]): Held {
  let result = NONE;
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
  return withoutNaN(result, "live") | withoutNaN(result, "plain") | held("left", kindsOf(result, "left"));
}

/** Data and constants are taken to be where functions are defined, unless they certainly are not. */
function withoutNaN(of: Held, source: Source): Held {
  const kinds = kindsOf(of, source);
  return held(source, (kinds & ~NAN) === NONE ? kinds : kinds & ~NAN);
}

function ofParts({ kinds: rule, neutral, generic: numbers }: LaneRule, parts: readonly Part[]): Held {
  const has = (source: Source) => parts.some((part) => part.source === source);
  const source: Source = has("left") ? "left" : has("live") ? "live" : "plain";
  if (parts.some(({ kind }) => kind === NOTHING)) return held(source, NOTHING);
  const [x, y] = parts;
  if (neutral && x && y && parts.length === 2 && x.source !== y.source) {
    // A lane that was left out of one operand leaves the other's data as it is.
    if (x.source === "left" && y.source === "live" && neutral(x.kind, y.kind, true)) return held("live", y.kind);
    if (y.source === "left" && x.source === "live" && neutral(y.kind, x.kind, false)) return held("live", x.kind);
  }
  const kinds = rule?.(parts.map(({ kind }) => kind)) ?? (source === "left" ? ANY_LEFT : numbers);
  return held(source, source === "live" ? inGeneral(kinds, numbers) : kinds);
}

/** Data neither cancels to 0 nor gives NaN, unless nothing else can come out. */
function inGeneral(kinds: Kinds, numbers: Kinds): Kinds {
  const likely = kinds & ~NAN;
  if (likely === NONE) return numbers;
  const others = likely & ~ZERO;
  return others === NONE || numbers === (ZERO | ONE) ? likely : others;
}

/** What `where` gives of the side that it picks: a constant stands in for what the other side's lane was. */
export function picked(side: Held, other: Held): Held {
  const plain = kindsOf(side, "plain");
  if (plain === NONE) return side;
  const left = kindsOf(other, "left");
  const [rest, isOther] = [side & ~held("plain", MASK), other & ~held("left", MASK)];
  return (
    rest |
    (left === NONE ? NONE : held("left", plain)) |
    (isOther === NONE && left !== NONE ? NONE : held("plain", plain))
  );
}

/** Numbers of which it is known which kind they are; what has no value still has none. */
export function only(of: Held, kind: Kinds): Held {
  return SOURCES.reduce((all, source) => {
    const kinds = kindsOf(of, source);
    const known = (kinds & ~NOTHING) === NONE ? NONE : kind;
    return all | held(source, known | (kinds & NOTHING));
  }, NONE);
}

/** A lane that a mask leaves out. */
export function leftOut(of: Held): Held {
  return held(
    "left",
    SOURCES.reduce((kinds, source) => kinds | kindsOf(of, source), NONE),
  );
}

/** Lanes that were left out as data; those without a value stay without. */
export function trustedAs(of: Held, numbers: Kinds): Held {
  const left = kindsOf(of, "left");
  const rest = of & ~held("left", MASK);
  const known = (left & ~NOTHING) === NONE ? NONE : held("live", numbers);
  return rest | known | held("left", left & NOTHING);
}

/** How lanes are put together. */
export interface FoldRule {
  readonly kinds: ((x: Kinds, y: Kinds) => Kinds) | undefined;
  readonly neutral: (held: Kinds, beside: Kinds) => boolean;
  readonly generic: Kinds;
}

/** All that folding any number of these gives. */
export function closure(rule: FoldRule, kinds: Kinds): Kinds {
  if (!rule.kinds) return rule.generic;
  let all = kinds & ~NOTHING;
  for (let before = NONE; all !== before;) {
    before = all;
    for (const x of kindsIn(before)) for (const y of kindsIn(before)) all |= rule.kinds(x, y);
  }
  return all | (kinds & NOTHING);
}

/** What the lanes of a fold give together: lanes that are left out change nothing beside others. */
export function folded(rule: FoldRule, lanes: Held): Held {
  const [live, left, plain] = SOURCES.map((source) => kindsOf(lanes, source)) as [Kinds, Kinds, Kinds];
  const nothing = isNothing(lanes) ? NOTHING : NONE;
  const others = (live | plain) & ~NOTHING;
  if (others === NONE) return held("left", closure(rule, left) | nothing);
  const kinds = closure(rule, others);
  return live === NONE ? held("plain", kinds | nothing) : held("live", takingPart(rule, kinds) | nothing);
}

/** Some lane takes part: the largest of data and -Infinity is data, and a sum of data and 0 is not 0. */
function takingPart({ neutral, generic: numbers }: FoldRule, kinds: Kinds): Kinds {
  const idle = kindsIn(kinds).filter((kind) => kindsIn(numbers).every((beside) => neutral(kind, beside)));
  const others = idle.reduce((rest, kind) => rest & ~kind, kinds);
  return inGeneral(others === NONE ? kinds : others, numbers);
}

/** The kinds of left-out lanes that change what others give together; those without a value are no numbers. */
export function disturbing({ neutral }: FoldRule, lanes: Held): Kinds {
  const others = givenKinds(lanes) & ~NOTHING;
  if (others === NONE) return NONE;
  const beside = kindsIn(others);
  return kindsIn(kindsOf(lanes, "left") & ~NOTHING)
    .filter((kind) => !beside.every((each) => neutral(kind, each)))
    .reduce((kinds, kind) => kinds | kind, NONE);
}
