/** Symbolic values: a term for each lane of a kernel's values. */
import { atAxis } from "../../types/axis.js";
import type { PointerParam, TensorParam } from "../../ir/nodes.js";
import { number, substitute, symbol, type Term } from "../../symbolic/term.js";

/** A tile, or a scalar, of integers or truth values. */
export interface TermTile {
  readonly kind: "terms";
  readonly shape: readonly Term[];
  /** The length of the chain of tiles that evaluating a lane may recurse through. */
  readonly depth: number;
  at(lane: readonly Term[]): Term;
}

/**
 * The limit on {@link TermTile.depth}. A deeper tile is evaluated eagerly, for a symbolic lane, because lazy evaluation
 * recurses on JavaScript's stack.
 */
const MAX_LAZY_DEPTH = 200;

/** Offsets from the first element of an argument. */
export interface PointerTile {
  readonly kind: "pointer";
  readonly base: TensorParam | PointerParam;
  readonly offsets: TermTile;
}

export interface SymbolicTensor {
  readonly kind: "tensor";
  readonly param: TensorParam;
  /** The tensor's axis for each axis after permutations. */
  readonly order: readonly number[];
}

export interface SymbolicView {
  readonly kind: "view";
  readonly param: TensorParam;
  readonly shape: readonly Term[];
  /** The index of a lane on each axis of the tensor. */
  index(lane: readonly Term[]): readonly Term[];
  /** The author's reason, from `tl.trusted`. */
  readonly trusted?: string;
  /** The bounds that the view masks, for each axis of the tensor. */
  readonly masks: readonly { readonly lower: boolean; readonly upper: boolean; readonly claimed: boolean }[];
}

export interface SymbolicDescriptor {
  readonly kind: "descriptor";
  readonly param: TensorParam;
  readonly order: readonly number[];
  readonly block: readonly Term[];
}

/** `none` is a value that proofs do not model, such as a float. */
export type Symbolic =
  TermTile | PointerTile | SymbolicTensor | SymbolicView | SymbolicDescriptor | { readonly kind: "none" };

export const UNKNOWN: Symbolic = { kind: "none" };

/** A tile that memoizes its lanes. */
export function tile(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Term): TermTile {
  const cache = new Map<string, Term>();
  return {
    kind: "terms",
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let term = cache.get(key);
      if (term === undefined) cache.set(key, (term = laneAt(lane)));
      return term;
    },
  };
}

/** A tile that evaluates its operands' lanes. */
export function tileOf(shape: readonly Term[], operands: readonly TermTile[], laneAt: TermTile["at"]): TermTile {
  const depth = 1 + Math.max(0, ...operands.map((operand) => operand.depth));
  if (depth < MAX_LAZY_DEPTH) return { ...tile(shape, laneAt), depth };
  const symbolicLane = shape.map((_, axis) => symbol(`any lane ${axis}`));
  const term = laneAt(symbolicLane);
  return tile(shape, (lane) => substitute(term, laneReplacements(symbolicLane, lane)));
}

export const scalar = (term: Term): TermTile => ({ kind: "terms", shape: [], depth: 0, at: () => term });

export const isOne = (dim: Term): boolean => dim.kind === "number" && dim.value === 1n;

/** The replacements that make a symbolic lane another lane. */
export const laneReplacements = (symbolicLane: readonly Term[], lane: readonly Term[]): ReadonlyMap<string, Term> =>
  new Map(
    symbolicLane.flatMap(({ kind, name }, axis) => (kind === "symbol" ? [[name, atAxis(lane, axis)] as const] : [])),
  );

/** The names of the lanes that are symbols. */
export const namesOf = (lane: readonly Term[]): readonly string[] =>
  lane.flatMap(({ kind, name }) => (kind === "symbol" ? [name] : []));

/** The lane of an operand of this shape, for a lane of the broadcast result. */
export function broadcastLane(shape: readonly Term[], lane: readonly Term[]): readonly Term[] {
  return shape.map((dim, axis) => (isOne(dim) ? number(0) : atAxis(lane, lane.length - shape.length + axis)));
}

/** The parts of a lane that belong to each of these shapes, one after the other. */
export function splitLane(shapes: readonly (readonly Term[])[], lane: readonly Term[]): readonly (readonly Term[])[] {
  let end = 0;
  return shapes.map(({ length }) => lane.slice(end, (end += length)));
}

/** The shape that shapes broadcast to. */
export function broadcastShape(...shapes: readonly (readonly Term[])[]): readonly Term[] {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => {
    const dims = shapes.flatMap((shape) => shape[axis - (rank - shape.length)] ?? []);
    return dims.find((dim) => !isOne(dim)) ?? atAxis(dims, 0);
  });
}

export const at = (x: TermTile, lane: readonly Term[]): Term => x.at(broadcastLane(x.shape, lane));
