/** Tensors of a reference, as real expressions of an element's index. */
import { atAxis } from "../../types/axis.js";
import {
  above,
  atLeast,
  atMost,
  below,
  equal,
  not,
  number,
  product,
  quotient,
  remainder,
  sum,
  type Term,
} from "../../symbolic/term.js";
import type { NumberComparison } from "../../torch/node.js";
import { broadcastLane, broadcastShape } from "../model/symbolic-environment.js";
import { canonical } from "./integer-form.js";
import { INFINITE, integer, type Real, real } from "./real.js";
import { rational, rationalOf, noRule } from "./rational.js";

/** A tensor of floats, or of integers if it has `terms`, or of truth values if it has `pick`. */
export interface SymbolicTensor {
  readonly shape: readonly Term[];
  at(index: readonly Term[]): Real;
  readonly terms?: ((index: readonly Term[]) => Term) | undefined;
  /** One of two values, by the element's truth value. */
  readonly pick?: ((index: readonly Term[], then: Real, otherwise: Real) => Real) | undefined;
}

/** A value of a reference: a tensor, a size, a condition of sizes, a number, a text or a list. */
export type TorchSymbol =
  SymbolicTensor | { readonly term: Term } | number | boolean | string | null | undefined | readonly TorchSymbol[];

/** The arguments of a call by parameter; those that are absent or None are undefined. */
export type TorchArguments = Readonly<Record<string, TorchSymbol>>;
export type TorchRule = (args: TorchArguments) => TorchSymbol;

export const isTensor = (x: TorchSymbol): x is SymbolicTensor => typeof x === "object" && x !== null && "shape" in x;
export const isTerm = (x: TorchSymbol): x is { readonly term: Term } =>
  typeof x === "object" && x !== null && "term" in x;
export const isListOf = (x: TorchSymbol): x is readonly TorchSymbol[] => Array.isArray(x);

export function tensorOf(x: TorchSymbol): SymbolicTensor {
  if (isTensor(x)) return x;
  if (isTerm(x)) return { shape: [], at: () => integer(x.term), terms: () => x.term };
  if (typeof x === "boolean") return { shape: [], at: () => real(rational(Number(x))) };
  if (typeof x !== "number") return noRule("a value of the reference that is no tensor");
  if (x === -Infinity) return { shape: [], at: () => INFINITE };
  const value = Number.isFinite(x) ? real(rationalOf(x)) : noRule("a number that is not finite");
  return { shape: [], at: () => value, ...(Number.isInteger(x) && { terms: () => number(x) }) };
}

/** A float tensor: of integers only their real values are known to have no rounding or wrapping. */
export function floatsOf(x: TorchSymbol): SymbolicTensor {
  const { shape, at } = tensorOf(x);
  return { shape, at };
}

export function termOf(x: TorchSymbol): Term {
  if (isTerm(x)) return x.term;
  return typeof x === "number" && Number.isInteger(x) ? number(x) : noRule("a size of the reference");
}

export function axisOf(x: TorchSymbol, rank: number): number {
  if (typeof x !== "number") return noRule("an axis of the reference");
  return x < 0 ? x + rank : x;
}

export function lanewise(
  operands: readonly SymbolicTensor[],
  compute: (...values: readonly Real[]) => Real,
): SymbolicTensor {
  return {
    shape: broadcastShape(...operands.map(({ shape }) => shape)),
    at: (index) => compute(...operands.map((operand) => operand.at(broadcastLane(operand.shape, index)))),
  };
}

/** A tensor whose elements are those of another one, at another index. */
export function moved(
  x: SymbolicTensor,
  shape: readonly Term[],
  from: (index: readonly Term[]) => readonly Term[],
): SymbolicTensor {
  const { terms, pick } = x;
  return {
    shape,
    at: (index) => x.at(from(index)),
    ...(terms && { terms: (index: readonly Term[]) => terms(from(index)) }),
    ...(pick && {
      pick: (index: readonly Term[], then: Real, otherwise: Real) => pick(from(index), then, otherwise),
    }),
  };
}

export function transposed(x: SymbolicTensor, first: number, second: number): SymbolicTensor {
  const swap = (list: readonly Term[]) =>
    list.map((each, axis) => {
      if (axis === first) return atAxis(list, second);
      return axis === second ? atAxis(list, first) : each;
    });
  return moved(x, swap(x.shape), swap);
}

/** The same elements in another shape, in row-major order. */
export function reshaped(x: SymbolicTensor, shape: readonly Term[]): SymbolicTensor {
  return moved(x, shape, (index) => {
    let position: Term = number(0);
    index.forEach((each, axis) => (position = sum(product(position, atAxis(shape, axis)), each)));
    const result: Term[] = [];
    for (let axis = x.shape.length - 1; axis > 0; axis--) {
      const dim = atAxis(x.shape, axis);
      result.unshift(remainder(position, dim));
      position = quotient(position, dim);
    }
    return x.shape.length === 0 ? [] : [position, ...result];
  });
}

export const sizeOf = (shape: readonly Term[]): Term => canonical(product(...shape));

/** Comparisons of integers. */
export const termComparisons: Readonly<Record<NumberComparison, (x: Term, y: Term) => Term>> = {
  eq: equal,
  ne: (x, y) => not(equal(x, y)),
  lt: below,
  le: atMost,
  gt: above,
  ge: atLeast,
};
