/**
 * The abstract value of a tile's lane in the padding analysis: a set of number classes for each provenance.
 *
 * This is an abstract domain in the sense of abstract interpretation. `|` is its join, `EMPTY` its bottom, and the
 * functions below are its transfer functions. `docs/proofs.md` explains the property that is proved with it.
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
  classify,
} from "../../../symbolic/number-class.js";
import { isUnsigned, members, dtypeTable, isInt } from "../../../types/dtype.js";
import type { Type } from "../../../types/types.js";
import type { OpStatement } from "../../../ir/nodes.js";

/**
 * The origin of a lane's value. `data`: an active lane that depends on an input. `masked`: a lane that a mask turned
 * off. `constant`: a value that depends on no input, such as a literal or an index.
 */
export type Provenance = "data" | "masked" | "constant";
/** A bit set: eight bits of {@link NumberClasses} for each provenance. */
export type AbstractLane = number;

const SHIFT = { data: 0, masked: 8, constant: 16 } as const;
export const PROVENANCES: readonly Provenance[] = ["data", "masked", "constant"];
const CLASS_BITS = 0xff;

export const abstractLane = (provenance: Provenance, classes: NumberClasses): AbstractLane =>
  classes << SHIFT[provenance];
export const classesFrom = (lane: AbstractLane, provenance: Provenance): NumberClasses =>
  (lane >> SHIFT[provenance]) & CLASS_BITS;
/** The classes of an active lane. */
export const activeClasses = (lane: AbstractLane): NumberClasses =>
  classesFrom(lane, "data") | classesFrom(lane, "constant");
export const mayBePoison = (lane: AbstractLane): boolean =>
  PROVENANCES.some((provenance) => (classesFrom(lane, provenance) & POISON) !== 0);

/**
 * The classes that the analysis assumes of data of this type: finite and nonzero. `docs/proofs.md` states this
 * assumption.
 */
export function genericClasses(type: Type): NumberClasses {
  if (type.kind !== "tile") return NEGATIVE | POSITIVE;
  const dtypes = members(type.dtype);
  if (dtypes.every((name) => name === "int1")) return ZERO | ONE;
  return dtypes.every((name) => name.startsWith("uint") && isUnsigned(name)) ? POSITIVE : NEGATIVE | POSITIVE;
}

/** An {@link AbstractLane} with exactly one class from one provenance. */
interface Atom {
  readonly provenance: Provenance;
  readonly numberClass: NumberClasses;
}

function atomsOf(lane: AbstractLane): readonly Atom[] {
  return PROVENANCES.flatMap((provenance) =>
    classesIn(classesFrom(lane, provenance)).map((numberClass) => ({ provenance, numberClass })),
  );
}

/** The transfer function of an elementwise op, on one class for each operand. */
export interface ElementwiseRule {
  /** The classes of the result. Undefined if the op has no rule. */
  readonly transfer: ((...classes: NumberClasses[]) => NumberClasses) | undefined;
  readonly isNeutral?: ((masked: NumberClasses, active: NumberClasses, isMaskedFirst: boolean) => boolean) | undefined;
  readonly generic: NumberClasses;
  /** For each operand, the index of the first operand that is the same value. */
  readonly firstOccurrence: readonly number[];
}

const ANY_MASKED: NumberClasses = NEGATIVE | ZERO | POSITIVE | LOWEST | HIGHEST | NAN;

/** Applies an elementwise op: the join over all combinations of its operands' atoms. */
export function applyElementwise(rule: ElementwiseRule, operands: readonly AbstractLane[]): AbstractLane {
  let result = EMPTY;
  const chosen: Atom[] = [];
  const visit = (index: number): void => {
    const operand = operands[index];
    if (operand === undefined) {
      result |= applyToAtoms(rule, chosen);
      return;
    }
    const repeated = chosen[rule.firstOccurrence[index] ?? index];
    const atoms = repeated ? [repeated] : atomsOf(operand);
    for (const currentAtom of atoms) {
      chosen[index] = currentAtom;
      visit(index + 1);
    }
    chosen.length = index;
  };
  visit(0);
  return (
    assumeNotNaN(result, "data") |
    assumeNotNaN(result, "constant") |
    abstractLane("masked", classesFrom(result, "masked"))
  );
}

/** Assumes that active lanes stay in the domain of each function. NaN remains only if it is the only class. */
function assumeNotNaN(lane: AbstractLane, provenance: Provenance): AbstractLane {
  const classes = classesFrom(lane, provenance);
  return abstractLane(provenance, (classes & ~NAN) === EMPTY ? classes : classes & ~NAN);
}

/** The provenance of a value that is computed from these atoms. */
function jointProvenance(atoms: readonly Atom[]): Provenance {
  if (atoms.some((atom) => atom.provenance === "masked")) return "masked";
  return atoms.some((atom) => atom.provenance === "data") ? "data" : "constant";
}

function applyToAtoms(
  { transfer: rule, isNeutral, generic: numbers }: ElementwiseRule,
  atoms: readonly Atom[],
): AbstractLane {
  const provenance = jointProvenance(atoms);
  if (atoms.some(({ numberClass }) => numberClass === POISON)) return abstractLane(provenance, POISON);
  const [x, y] = atoms;
  if (isNeutral && x && y && atoms.length === 2 && x.provenance !== y.provenance) {
    // A neutral masked lane leaves the data of the other operand unchanged.
    if (x.provenance === "masked" && y.provenance === "data" && isNeutral(x.numberClass, y.numberClass, true))
      return abstractLane("data", y.numberClass);
    if (y.provenance === "masked" && x.provenance === "data" && isNeutral(y.numberClass, x.numberClass, false))
      return abstractLane("data", x.numberClass);
  }
  const classes =
    rule?.(...atoms.map(({ numberClass }) => numberClass)) ?? (provenance === "masked" ? ANY_MASKED : numbers);
  return abstractLane(provenance, provenance === "data" ? assumeGeneric(classes, numbers) : classes);
}

/** Assumes that data neither cancels to 0 nor becomes NaN, unless no other result is possible. */
function assumeGeneric(classes: NumberClasses, generic: NumberClasses): NumberClasses {
  const withoutNaN = classes & ~NAN;
  if (withoutNaN === EMPTY) return generic;
  const nonzero = withoutNaN & ~ZERO;
  return nonzero === EMPTY || generic === (ZERO | ONE) ? withoutNaN : nonzero;
}

/**
 * The operand that `tl.where` selects. A constant in a lane where the unselected operand is masked becomes that lane's
 * padding.
 */
export function selectedLane(selected: AbstractLane, unselected: AbstractLane): AbstractLane {
  const constant = classesFrom(selected, "constant");
  if (constant === EMPTY) return selected;
  const unselectedMasked = classesFrom(unselected, "masked");
  const [withoutConstant, unselectedActive] = [
    selected & ~abstractLane("constant", CLASS_BITS),
    unselected & ~abstractLane("masked", CLASS_BITS),
  ];
  return (
    withoutConstant |
    (unselectedMasked === EMPTY ? EMPTY : abstractLane("masked", constant)) |
    (unselectedActive === EMPTY && unselectedMasked !== EMPTY ? EMPTY : abstractLane("constant", constant))
  );
}

/** Replaces the classes of every provenance by a known class. Poison stays poison. */
export function refineTo(lane: AbstractLane, numberClass: NumberClasses): AbstractLane {
  return PROVENANCES.reduce((result, provenance) => {
    const classes = classesFrom(lane, provenance);
    const refined = (classes & ~POISON) === EMPTY ? EMPTY : numberClass;
    return result | abstractLane(provenance, refined | (classes & POISON));
  }, EMPTY);
}

/** The lane after a mask turned it off. */
export function maskedOff(lane: AbstractLane): AbstractLane {
  return abstractLane(
    "masked",
    PROVENANCES.reduce((classes, provenance) => classes | classesFrom(lane, provenance), EMPTY),
  );
}

/** The lane after `tl.trusted`: its padding counts as data. Poison stays masked. */
export function trustedLane(lane: AbstractLane, generic: NumberClasses): AbstractLane {
  const masked = classesFrom(lane, "masked");
  const active = lane & ~abstractLane("masked", CLASS_BITS);
  const trusted = (masked & ~POISON) === EMPTY ? EMPTY : abstractLane("data", generic);
  return active | trusted | abstractLane("masked", masked & POISON);
}

/** The combine function of a reduction or a scan. */
export interface FoldRule {
  readonly combine: ((x: NumberClasses, y: NumberClasses) => NumberClasses) | undefined;
  readonly isNeutral: (masked: NumberClasses, active: NumberClasses) => boolean;
  readonly generic: NumberClasses;
}

/** The least fixed point of `combine`: every class that folding any number of lanes can give. */
export function combineFixpoint(rule: FoldRule, classes: NumberClasses): NumberClasses {
  if (!rule.combine) return rule.generic;
  let result = classes & ~POISON;
  for (let previous = EMPTY; result !== previous;) {
    previous = result;
    for (const x of classesIn(previous)) for (const y of classesIn(previous)) result |= rule.combine(x, y);
  }
  return result | (classes & POISON);
}

/**
 * The result of a reduction. Masked lanes are assumed to be neutral; {@link nonNeutralPadding} finds those that are
 * not.
 */
export function foldResult(rule: FoldRule, lanes: AbstractLane): AbstractLane {
  const [data, masked] = [classesFrom(lanes, "data"), classesFrom(lanes, "masked")];
  const constant = classesFrom(lanes, "constant");
  const poison = mayBePoison(lanes) ? POISON : EMPTY;
  const active = (data | constant) & ~POISON;
  if (active === EMPTY) return abstractLane("masked", combineFixpoint(rule, masked) | poison);
  const classes = combineFixpoint(rule, active);
  return data === EMPTY
    ? abstractLane("constant", classes | poison)
    : abstractLane("data", withoutNeutral(rule, classes) | poison);
}

/** Assumes that at least one active lane takes part: max(data, -Infinity) is data, and a sum of data and 0 is not 0. */
function withoutNeutral({ isNeutral, generic: numbers }: FoldRule, classes: NumberClasses): NumberClasses {
  const neutral = classesIn(classes).filter((candidate) =>
    classesIn(numbers).every((active) => isNeutral(candidate, active)),
  );
  const remaining = neutral.reduce((result, neutralClass) => result & ~neutralClass, classes);
  return assumeGeneric(remaining === EMPTY ? classes : remaining, numbers);
}

/**
 * The classes of masked lanes that change the result of a fold over the active lanes. Poison is reported separately.
 */
export function nonNeutralPadding({ isNeutral }: FoldRule, lanes: AbstractLane): NumberClasses {
  const active = activeClasses(lanes) & ~POISON;
  if (active === EMPTY) return EMPTY;
  const activeList = classesIn(active);
  return classesIn(classesFrom(lanes, "masked") & ~POISON)
    .filter((masked) => !activeList.every((activeClass) => isNeutral(masked, activeClass)))
    .reduce((result, masked) => result | masked, EMPTY);
}

// Types as the padding analysis distinguishes them, and the number classes of their literals.

/** The type of a statement's first result. */
export const typeOfResult = ({ results: [result] }: OpStatement): Type => result?.type ?? { kind: "none" };

export function isFloatType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => !isInt(name));
}

export function isIntegerType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).every(isInt);
}

export function isTruthType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).every((name) => name === "int1");
}

/** The class of a literal of a dtype: the ends of an integer dtype are its lowest and highest number. */
export const classifyLiteral = (value: number | bigint | boolean | string, type: Type): NumberClasses =>
  classify(typeof value === "string" ? NaN : Number(value), ...endsOf(type));

/** The lowest and the highest number of a type; the infinities for floats, and where the dtype is not known. */
export function endsOf(type: Type): readonly [number, number] {
  const [dtype, ...others] = type.kind === "tile" && !isFloatType(type) ? members(type.dtype) : [];
  if (!dtype || others.length > 0 || dtype === "int1") return [-Infinity, Infinity];
  const { bits } = dtypeTable[dtype];
  return isUnsigned(dtype) ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}
