/** Casts in references: a wider type changes nothing in float64, a narrower one rounds. */
import { cast } from "../numerics/array-cast.js";
import { tileArray } from "../numerics/array.js";
import { type DTypeName, dtypeTable, dtypeNames } from "../types/dtype.js";
import { TorchError } from "./errors.js";
import { torchArray, type TorchArray } from "./array.js";
import { array } from "./call.js";
import { method, type TorchFunction } from "./record.js";
import type { TorchDType, TorchTensor } from "./values.js";

/** Dtypes by torch's and by Triton's names. The recorder does not use aliases such as `torch.half`. */
const named: ReadonlyMap<string, DTypeName> = new Map(
  dtypeNames.flatMap((name) => [[name, name] as const, [dtypeTable[name].torch, name] as const]),
);

/** Beyond its largest value PyTorch clamps this dtype alone; the other floats become infinity, or NaN without one. */
const CLAMPED: ReadonlySet<DTypeName> = new Set(["float8e4nv"]);

/** @throws TorchRefuses if there is no such dtype. */
export function castTo(x: TorchArray, name: string): TorchArray {
  const dtype = named.get(name.replace(/^(torch|tl)\./, ""));
  if (!dtype) throw new TorchError(`${name} is no dtype`);
  if (dtype === "float32" || dtype === "float64") return x;
  const { data } = cast(tileArray("float64", x.shape, x.data), dtype, CLAMPED.has(dtype) ? {} : { saturate: false });
  return torchArray(x.shape, Float64Array.from(data as ArrayLike<number | bigint>, Number));
}

/** Casts of floats round, unless the reference is evaluated unrounded. */
const casting = (dtype: DTypeName, truth?: "always"): TorchFunction => ({
  params: ["input"],
  casts: dtype,
  run: ({ input }) => castTo(array(input), dtype),
  ...(truth && { truth }),
});

type Cast = () => TorchTensor;

export const casts = {
  float: method<Cast>(casting("float32")),
  double: method<Cast>(casting("float64")),
  half: method<Cast>(casting("float16")),
  bfloat16: method<Cast>(casting("bfloat16")),
  int: method<Cast>(casting("int32")),
  long: method<Cast>(casting("int64")),
  bool: method<Cast>(casting("int1", "always")),
  to: method<(dtype: TorchDType) => TorchTensor>({
    params: ["input", "dtype"],
    castsTo: "dtype",
    run: ({ input, dtype }) => castTo(array(input), String(dtype)),
  }),
};
