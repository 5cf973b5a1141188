/** What an access reaches: for each lane the index of an element of a tensor, and whether the lane is active. */
import type { BoundsChecks, ViewAxis } from "../../analysis/view-bounds.js";
import {
  type Argument,
  isList,
  isValue,
  type OpStatement,
  type PointerParam,
  type TensorParam,
  operandOf,
} from "../../ir/nodes.js";
import {
  andTerm,
  asTruth,
  atLeast,
  below,
  iteTerm,
  number,
  product,
  sum,
  symbol,
  symbolsIn,
  type Term,
} from "../../symbolic/term.js";
import type { Environment } from "./symbolic-environment.js";
import { strideName } from "./launch.js";
import { inputElement } from "./input-elements.js";
import { at, broadcastLane, broadcastShape, isOne, namesOf, type Symbolic, type TermTile, tile } from "./symbolic.js";

export type ViewMasks = (place: ViewAxis) => BoundsChecks;

/** One axis of a tensor, as an access indexes it. */
export interface AccessedAxis {
  readonly index: Term;
  readonly size: Term;
  /** The bounds that the emitted code compares, so that they hold of every active lane. */
  readonly masks: BoundsChecks;
  /** The author says that the index is in bounds. */
  readonly claimed: boolean;
}

export interface Access {
  readonly statement: OpStatement;
  /** `load`, `store` or `atomic`. */
  readonly does: "load" | "store" | "atomic";
  /** Undefined where it is not known which argument the address belongs to. */
  readonly tensor: TensorParam | PointerParam | undefined;
  readonly axes: readonly AccessedAxis[];
  /** Whether a lane is active. */
  readonly mask: Term;
  readonly path: readonly Term[];
  /** Programs and turns, outer ones first. */
  readonly scope: readonly string[];
  readonly lanes: readonly string[];
  /** The lane that `axes` and `mask` speak of, one index an axis. */
  readonly lane: readonly Term[];
  /** The lanes that what is written may depend on. */
  readonly valueLanes: readonly string[];
  /** It may be left out though the conditions on the path hold: nothing says how many turns a loop around it takes. */
  readonly mayBeSkipped: boolean;
  /** Why nothing can be said. */
  readonly missing?: string;
  /** Its offset takes the strides of a dense tensor for granted, which are the caller's. */
  readonly unstrided?: boolean;
  /** Why the author says that it is right. */
  readonly trusted?: string;
}

const EFFECTS = { read: "load", write: "store", atomic: "atomic", pure: "load" } as const;

/** An access's address: axes of a lane, its shape, and what the address itself masks. */
interface Place {
  readonly tensor: TensorParam | PointerParam | undefined;
  readonly shape: readonly Term[];
  readonly axes: (lane: readonly Term[]) => readonly AccessedAxis[];
  readonly missing?: string;
  readonly unstrided?: boolean;
  readonly trusted?: string | undefined;
}

/** Notes an access, and sets its results. */
export function recordSymbolicAccess(environment: Environment, statement: OpStatement, mayBeSkipped: boolean): Access {
  const { op, options } = statement;
  const place = placeOf(environment, statement);
  const explicit = options["mask"] === undefined ? undefined : environment.value(options["mask"]);
  const isUnknown = explicit !== undefined && explicit.kind !== "terms";
  const maskTile = explicit?.kind === "terms" ? explicit : undefined;
  const shape = broadcastShape(place.shape, maskTile?.shape ?? []);
  const maskAt = (lane: readonly Term[]): Term =>
    andTerm(
      inBoundsCondition(place.axes(lane.slice(lane.length - place.shape.length))),
      ...(maskTile ? [asTruth(at(maskTile, lane))] : []),
      ...(isUnknown ? [environment.unknownTruth(`mask ${environment.nameOf(statement)}`)] : []),
    );
  const lane = environment.lanes(`lane ${environment.nameOf(statement)}${environment.calls}`, shape);
  setResults(environment, statement, place, maskAt);
  return {
    statement,
    does: EFFECTS[op.effect],
    tensor: place.tensor,
    axes: place.axes(lane.slice(lane.length - place.shape.length)),
    mask: maskAt(lane),
    path: environment.path,
    scope: environment.scope.map(({ name }) => name),
    lane,
    lanes: namesOf(lane),
    valueLanes:
      place.missing !== undefined ? [] : lanesOfValue(environment, operandOf(statement, op.proof.reaches!.value), lane),
    mayBeSkipped,
    ...(place.missing !== undefined && { missing: place.missing, unstrided: place.unstrided === true }),
    ...(place.trusted !== undefined && { trusted: place.trusted }),
  };
}

/** Where lanes lie in what an address masks. */
export function inBoundsCondition(axes: readonly AccessedAxis[]): Term {
  return andTerm(
    ...axes.flatMap(({ index, size, masks }) => [
      ...(masks.lower ? [atLeast(index, number(0))] : []),
      ...(masks.upper ? [below(index, size)] : []),
    ]),
  );
}

/** The lanes that a written value may depend on: none along an axis that it is broadcast to. */
function lanesOfValue(environment: Environment, value: Argument | undefined, lane: readonly Term[]): readonly string[] {
  const known = environment.terms(value);
  if (known) return [...symbolsIn(at(known, lane))];
  if (!isValue(value) || value.type.kind !== "tile") return [];
  const shape = environment.shape(value.type);
  return [...symbolsIn(...broadcastLane(shape, lane))];
}

function placeOf(environment: Environment, statement: OpStatement): Place {
  const address = environment.value(operandOf(statement, statement.op.proof.reaches!.address));
  if (address.kind === "view")
    return {
      tensor: address.param,
      shape: address.shape,
      axes: (lane) => axesOf(environment, address.param, address.index(lane), (axis) => address.masks[axis]!),
      trusted: address.trusted,
    };
  if (address.kind === "descriptor") return blockOf(environment, statement, address);
  if (address.kind === "pointer") return pointedTo(environment, address);
  return nowhere("the address is loaded or computed, and no proof follows it");
}

const nowhere = (missing: string, tensor?: TensorParam): Place => ({ tensor, shape: [], axes: () => [], missing });

type MasksOf = (axis: number) => AccessedAxis["masks"] & { readonly claimed?: boolean };

function axesOf(
  environment: Environment,
  param: TensorParam,
  index: readonly Term[],
  masksOf: MasksOf,
): readonly AccessedAxis[] {
  return environment.launch.tensorDims(param).map((size, axis) => {
    const { lower, upper, claimed = false } = masksOf(axis);
    return { index: index[axis]!, size, masks: { lower, upper }, claimed };
  });
}

const MASKED: MasksOf = () => ({ lower: true, upper: true });
const UNMASKED: MasksOf = () => ({ lower: false, upper: false });

/** The block of a descriptor; lanes outside the tensor are turned off. */
function blockOf(
  environment: Environment,
  statement: OpStatement,
  { param, order, block }: Extract<Symbolic, { kind: "descriptor" }>,
): Place {
  const { offsets, rows, column } = statement.op.proof.reaches!;
  const place = (shape: readonly Term[], starts: readonly TermTile[], isGathered: boolean): Place => ({
    tensor: param,
    shape,
    axes: (lane) => {
      const index: Term[] = [];
      starts.forEach((start, i) => {
        const own = lane[i]!;
        index[order[i]!] = isGathered && i === 0 ? start.at([own]) : sum(start.at([]), own);
      });
      return axesOf(environment, param, index, MASKED);
    },
  });
  if (rows !== undefined) {
    const starts = [rows, column].map((name) => environment.terms(operandOf(statement, name)));
    const [first, second] = starts;
    if (!first || !second) return nowhere("the rows of a descriptor come from values that proofs do not follow", param);
    return place([first.shape[0]!, block.at(-1)!], [first, second], true);
  }
  const given = operandOf(statement, offsets);
  const starts = isList(given) ? given.map((each) => environment.terms(each)) : [undefined];
  if (starts.some((start) => start === undefined))
    return nowhere("a descriptor's offsets come from values that proofs do not follow", param);
  return place(block, starts as TermTile[], false);
}

/** A pointer into a tensor: its offset is taken apart by the strides. */
function pointedTo(environment: Environment, { base, offsets }: Extract<Symbolic, { kind: "pointer" }>): Place {
  const { shape } = offsets;
  if (base.kind === "pointer") return elementsOf(environment, base, offsets);
  const probe = takenApart(environment, base, offsets.at(shape.map((_, axis) => symbol(`probe ${axis}`))));
  if ("missing" in probe) return { ...nowhere(probe.missing, base), unstrided: probe.unstrided };
  return {
    tensor: base,
    shape,
    axes: (lane) => {
      const index = takenApart(environment, base, offsets.at(inTile(offsets, lane)));
      return axesOf(environment, base, "missing" in index ? [] : index, UNMASKED);
    },
  };
}

/** The elements that are declared to lie behind a pointer. */
function elementsOf({ launch }: Environment, base: PointerParam, offsets: TermTile): Place {
  const { name, numel } = base;
  const size = typeof numel === "number" ? number(numel) : numel && launch.term(numel);
  if (size === undefined) return nowhere(`${name} is a pointer without a declared extent; declare its numel`);
  const axis = (index: Term) => ({ index, size, masks: { lower: false, upper: false }, claimed: false });
  return { tensor: base, shape: offsets.shape, axes: (lane) => [axis(offsets.at(inTile(offsets, lane)))] };
}

/** A lane's index on an axis of size 1 is 0. */
const inTile = ({ shape }: TermTile, lane: readonly Term[]): readonly Term[] =>
  lane.map((each, i) => (isOne(shape[i]!) ? number(0) : each));

interface Unfollowed {
  readonly missing: string;
  readonly unstrided: boolean;
}

/** The index on each axis of an offset that is a sum of index · stride; else why it is not. */
function takenApart({ launch }: Environment, param: TensorParam, offset: Term): readonly Term[] | Unfollowed {
  const strides = param.strides.map((stride) => launch.term(stride));
  const names = new Map<string, number>();
  strides.forEach((stride, axis) => {
    if (stride?.kind === "symbol" && stride.name === strideName(param, axis)) names.set(stride.name, axis);
  });
  const index: Term[] = param.dims.map(() => number(0));
  let rest: Term = number(0);
  const mentions = (term: Term) => [...symbolsIn(term)].some((name) => names.has(name));
  const take = (term: Term, by: Term): boolean => {
    if (term.kind === "sum") return term.parts.every((part) => take(part, by));
    if (!mentions(term)) {
      rest = sum(rest, product(term, by));
      return true;
    }
    if (term.kind === "symbol") {
      const axis = names.get(term.name)!;
      index[axis] = sum(index[axis]!, by);
      return true;
    }
    const [strided, ...more] = term.kind === "product" ? term.parts.filter(mentions) : [];
    if (!strided || more.length > 0) return false;
    return take(strided, product(by, ...term.parts.filter((part) => part !== strided)));
  };
  const bad = { missing: `an offset into ${param.name} that is no sum of index times stride`, unstrided: false };
  if (!take(offset, number(1))) return bad;
  if (rest === number(0)) return index;
  const unstrided = strides.flatMap((stride, axis) => (stride?.kind === "number" ? [axis] : []));
  const [axis, ...others] = unstrided;
  if (axis === undefined)
    return { missing: `an offset into ${param.name} without its strides, which are the caller's`, unstrided: true };
  if (others.length > 0 || strides[axis]!.value !== 1n) return bad;
  index[axis] = rest;
  return index;
}

/** What a load gives: what the tensor holds there, or `other` where the lane is off. */
function setResults(
  environment: Environment,
  statement: OpStatement,
  { tensor, axes, missing, shape }: Place,
  maskAt: (lane: readonly Term[]) => Term,
): void {
  for (const result of statement.results) {
    const { type } = result;
    const isInput =
      tensor?.kind === "tensor" && tensor.role === "in" && statement.op.effect === "read" && missing === undefined;
    const words = tensor ? `what ${tensor.name} holds` : "a loaded value";
    const unknown = environment.unknown(result, `loaded ${result.id}`, words);
    if (!isInput || type.kind !== "tile" || unknown.kind !== "terms") {
      environment.set(result, unknown);
      continue;
    }
    const contents = inputElement(environment, tensor);
    const other = environment.terms(statement.options["other"]);
    const masked = statement.options["mask"] === undefined && statement.op.lowering?.maskedLanes !== undefined;
    const isTruth = type.dtype === "int1";
    const held = tile(environment.shape(type), (lane) => {
      const value = contents(axes(lane.slice(lane.length - shape.length)).map(({ index }) => index));
      const off = other ? at(other, lane) : masked ? number(0) : unknown.at(lane);
      return iteTerm(maskAt(lane), isTruth ? asTruth(value) : value, isTruth ? asTruth(off) : off);
    });
    environment.set(result, held);
  }
}
