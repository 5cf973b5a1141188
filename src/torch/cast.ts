/** Casts in references. In float64, a cast to a wider type has no effect; a cast to a narrower type rounds. */
import { cast } from "../numerics/array-cast.js";
import { tileArray } from "../numerics/array.js";
import { type DTypeName, dtypeTable, dtypeNames } from "../types/dtype.js";
import { TorchError } from "./errors.js";
import { torchArray, type TorchArray } from "./array.js";
import { array } from "./call.js";
import { method, type TorchFunction } from "./record.js";
import type { TorchDType, TorchTensor } from "./values.js";

/** Dtypes by their torch and Triton names. The recorder does not use aliases such as `torch.half`. */
const dtypesByName: ReadonlyMap<string, DTypeName> = new Map(
  dtypeNames.flatMap((name) => [[name, name] as const, [dtypeTable[name].torch, name] as const]),
);

/**
 * PyTorch saturates only casts to this dtype. In other float dtypes overflow gives infinity, or NaN if the dtype has no
 * infinity.
 */
const CLAMPED: ReadonlySet<DTypeName> = new Set(["float8e4nv"]);

/** @throws TorchError if there is no such dtype. */
export function castTo(x: TorchArray, name: string): TorchArray {
  const dtype = dtypesByName.get(name.replace(/^(torch|tl)\./, ""));
  if (!dtype) throw new TorchError(`${name} is no dtype`);
  if (dtype === "float32" || dtype === "float64") return x;
  const { data } = cast(tileArray("float64", x.shape, x.data), dtype, CLAMPED.has(dtype) ? {} : { saturate: false });
  return torchArray(x.shape, Float64Array.from(data as ArrayLike<number | bigint>, Number));
}

/** Casts to floats round, unless the reference is evaluated unrounded. */
const castFunction = (dtype: DTypeName, truth?: "always"): TorchFunction => ({
  params: ["input"],
  castDType: dtype,
  run: ({ input }) => castTo(array(input), dtype),
  ...(truth && { truth }),
});

type Cast = () => TorchTensor;

export const casts = {
  float: method<Cast>(castFunction("float32")),
  double: method<Cast>(castFunction("float64")),
  half: method<Cast>(castFunction("float16")),
  bfloat16: method<Cast>(castFunction("bfloat16")),
  int: method<Cast>(castFunction("int32")),
  long: method<Cast>(castFunction("int64")),
  bool: method<Cast>(castFunction("int1", "always")),
  to: method<(dtype: TorchDType) => TorchTensor>({
    params: ["input", "dtype"],
    dtypeParam: "dtype",
    run: ({ input, dtype }) => castTo(array(input), String(dtype)),
  }),
};
