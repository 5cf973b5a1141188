/** How a function of torch is called here: its arguments, and what it may be given for them. */
import { scalarArray, type TorchArray } from "./torch-array.js";

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
  throw new TypeError(`${name} is no tensor`);
}

export function numbers(x: TorchValue): readonly number[] {
  if (x === undefined || x === null) return [];
  return (typeof x === "object" && !isArray(x) ? (x as readonly TorchValue[]).flat() : [x]).map(Number);
}

export const number = (x: TorchValue, otherwise: number): number => (typeof x === "number" ? x : otherwise);
