/** Values of a kernel as proofs see them: for each lane a term. */
import type { PointerParam, TensorParam } from "../../ir/nodes.js";
import { number, substitute, symbol, type Term } from "../../symbolic/term.js";

/** A tile, or a scalar, of integers or truth values. */
export interface TermTile {
  readonly kind: "terms";
  readonly shape: readonly Term[];
  /** How many tiles may be asked one after the other for a lane. */
  readonly depth: number;
  at(lane: readonly Term[]): Term;
}

/** A deeper tile is computed at once, for any lane: JavaScript's stack is as deep as the tiles that ask one another. */
const MOST_ASKED = 200;

/** Offsets from the first element of an argument. */
export interface PointerTile {
  readonly kind: "pointer";
  readonly base: TensorParam | PointerParam;
  readonly offsets: TermTile;
}

export interface SymbolicTensor {
  readonly kind: "tensor";
  readonly param: TensorParam;
  /** The tensor's axis of each axis as permuted. */
  readonly order: readonly number[];
}

export interface SymbolicView {
  readonly kind: "view";
  readonly param: TensorParam;
  readonly shape: readonly Term[];
  /** For each axis of the tensor, the index of a lane. */
  index(lane: readonly Term[]): readonly Term[];
  /** Why the author says that it is right. */
  readonly trusted?: string;
  /** For each axis of the tensor, which bounds the view masks. */
  readonly masks: readonly { readonly lower: boolean; readonly upper: boolean; readonly claimed: boolean }[];
}

export interface SymbolicDescriptor {
  readonly kind: "descriptor";
  readonly param: TensorParam;
  readonly order: readonly number[];
  readonly block: readonly Term[];
}

/** `none` is a value that proofs do not follow, such as a float. */
export type Symbolic =
  TermTile | PointerTile | SymbolicTensor | SymbolicView | SymbolicDescriptor | { readonly kind: "none" };

export const UNKNOWN: Symbolic = { kind: "none" };
const ZERO_OF = () => number(0);

/** A tile whose lanes are computed once each. */
export function tile(shape: readonly Term[], at: (lane: readonly Term[]) => Term): TermTile {
  const known = new Map<string, Term>();
  return {
    kind: "terms",
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let term = known.get(key);
      if (term === undefined) known.set(key, (term = at(lane)));
      return term;
    },
  };
}

/** A tile that asks these for its lanes. */
export function tileOf(shape: readonly Term[], of: readonly TermTile[], lane: TermTile["at"]): TermTile {
  const depth = 1 + Math.max(0, ...of.map((each) => each.depth));
  if (depth < MOST_ASKED) return { ...tile(shape, lane), depth };
  const any = shape.map((_, axis) => symbol(`any lane ${axis}`));
  const made = lane(any);
  return tile(shape, (at) => substitute(made, new Map(any.map(({ name }, axis) => [name, at[axis]!]))));
}

export const scalar = (term: Term): TermTile => ({ kind: "terms", shape: [], depth: 0, at: () => term });

export const isOne = (dim: Term): boolean => dim.kind === "number" && dim.value === 1n;

/** The names of the lanes that are symbols. */
export const namesOf = (lane: readonly Term[]): readonly string[] =>
  lane.flatMap(({ kind, name }) => (kind === "symbol" ? [name] : []));

/** The lane of an operand of this shape that a lane of a broadcast result has. */
export function broadcastLane(shape: readonly Term[], lane: readonly Term[]): readonly Term[] {
  const more = lane.length - shape.length;
  return shape.map((dim, axis) => (isOne(dim) ? ZERO_OF() : lane[axis + more]!));
}

/** The shape that shapes broadcast to. */
export function broadcastShape(...shapes: readonly (readonly Term[])[]): readonly Term[] {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => {
    const dims = shapes.flatMap((shape) => shape[axis - (rank - shape.length)] ?? []);
    return dims.find((dim) => !isOne(dim)) ?? dims[0]!;
  });
}

export const at = (x: TermTile, lane: readonly Term[]): Term => x.at(broadcastLane(x.shape, lane));
