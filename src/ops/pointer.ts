/** Address arithmetic while a kernel is evaluated. */
import { broadcastShapes, broadcastTo, sizeOf, type TileArray } from "../ir/array.js";
import type { Addresses, Context, Runtime } from "../ir/runtime.js";
import { isAddresses, tileOf } from "./evaluate.js";

type Evaluate = (args: Readonly<Record<string, Runtime | undefined>>, context: Context) => Runtime;

/** `evaluate` of `+` and `-`: moves a pointer if `x` is one, else computes. */
export function offsetPointer(sign: 1 | -1, otherwise: Evaluate): Evaluate {
  return (args, context) => {
    const { x, y } = args;
    return isAddresses(x) ? moved(x, tileOf(y, "int64"), sign) : otherwise(args, context);
  };
}

function moved(pointer: Addresses, offset: TileArray, sign: 1 | -1): Addresses {
  const shape = broadcastShapes(pointer.shape, offset.shape);
  const steps = broadcastTo(offset, shape);
  const offsets = spread(pointer, shape);
  for (let i = 0; i < offsets.length; i++) offsets[i] = offsets[i]! + sign * Number(steps.data[i]);
  const poison = either(pointer.poison && spreadMask(pointer.poison, pointer.shape, shape), steps.poison);
  return { ...pointer, shape, offsets, ...(poison && { poison }) };
}

function spread(pointer: Addresses, shape: readonly number[]): Float64Array {
  const tile = { dtype: "float64", shape: pointer.shape, data: pointer.offsets } as const;
  return Float64Array.from(broadcastTo(tile, shape).data as Float64Array);
}

function spreadMask(mask: Uint8Array, from: readonly number[], to: readonly number[]): Uint8Array {
  return sizeOf(from) === sizeOf(to)
    ? mask
    : (broadcastTo({ dtype: "int1", shape: from, data: mask }, to).data as Uint8Array);
}

function either(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (!a || !b) return a ?? b;
  return a.map((flag, i) => flag | b[i]!);
}
