/** How a function of torch is called here: its arguments, and what it may be given for them. */
import { axisOf, map, mapLanes, reduceAxes, scalarArray, type TorchArray, zip } from "./torch-array.js";
import { TorchRefuses } from "./not-evaluated.js";

export type TorchValue = TorchArray | number | boolean | string | null | undefined | readonly TorchValue[];
export type Args = Readonly<Record<string, TorchValue>>;

/** `params` are torch's parameter names in order; `rest` takes all further positional arguments in one list. */
export interface TorchFunction {
  readonly params: readonly string[];
  readonly rest?: string;
  /** `random` gives uniform numbers in [0, 1); `isTruth` says which of `params` are given truth values. */
  run(
    args: Args,
    random: () => number,
    isTruth: (param: string) => boolean,
  ): TorchArray | number | readonly TorchArray[];
}

export const isArray = (x: TorchValue): x is TorchArray => typeof x === "object" && x !== null && "data" in x;

export function array(x: TorchValue, name = "this argument"): TorchArray {
  if (isArray(x)) return x;
  if (typeof x === "number" || typeof x === "boolean") return scalarArray(Number(x));
  throw new TorchRefuses(`${name} is no tensor`);
}

export function numbers(x: TorchValue): readonly number[] {
  if (x === undefined || x === null) return [];
  return (typeof x === "object" && !isArray(x) ? (x as readonly TorchValue[]).flat() : [x]).map(Number);
}

export const number = (x: TorchValue, otherwise: number): number => (typeof x === "number" ? x : otherwise);

/** The tensors of a list. */
export function arrays(x: TorchValue): readonly TorchArray[] {
  if (!Array.isArray(x)) throw new TorchRefuses("a list of tensors is needed");
  return x.map((item) => array(item as TorchValue));
}

/** An axis that is given or has a default, counted from the front. */
export const axisGiven = (x: TorchValue, otherwise: number, { shape }: TorchArray): number =>
  axisOf(number(x, otherwise), shape.length);

export const elementwise = (f: (x: number) => number): TorchFunction => ({
  params: ["input"],
  run: ({ input }) => map(array(input), f),
});
export const pairwise = (f: (x: number, y: number) => number): TorchFunction => ({
  params: ["input", "other"],
  run: ({ input, other }) => zip([array(input), array(other)], f as (...values: number[]) => number),
});
export const reduction = (fold: (lane: Float64Array) => number): TorchFunction => ({
  params: ["input", "dim", "keepdim", "dtype"],
  run: ({ input, dim, keepdim }) => reduceAxes(array(input), numbers(dim), keepdim === true, fold),
});
export const alongAxis = (f: (lane: Float64Array) => Float64Array): TorchFunction => ({
  params: ["input", "dim", "dtype"],
  run: ({ input, dim }) => mapLanes(array(input), number(dim, -1), f),
});
export const truth = (f: (x: number, y: number) => boolean) => pairwise((x, y) => Number(f(x, y)));
