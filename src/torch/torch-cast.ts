/** Casts in references: a wider type changes nothing in float64, a narrower one rounds. */
import { cast } from "../numerics/array-cast.js";
import { tileArray } from "../numerics/array.js";
import { type DTypeName, dtypeTable, dtypeNames } from "../types/dtype.js";
import { torchArray, type TorchArray } from "./torch-array.js";
import { TorchRefuses } from "./not-evaluated.js";

/** Names as torch and as Triton have them; `torch.half` and its kin are not used by the recorder. */
const named: ReadonlyMap<string, DTypeName> = new Map(
  dtypeNames.flatMap((name) => [[name, name] as const, [dtypeTable[name].torch, name] as const]),
);

/** @throws TorchRefuses if there is no such dtype. */
export function castTo(x: TorchArray, name: string): TorchArray {
  const dtype = named.get(name.replace(/^(torch|tl)\./, ""));
  if (!dtype) throw new TorchRefuses(`${name} is no dtype`);
  if (dtype === "float32" || dtype === "float64") return x;
  const { data } = cast(tileArray("float64", x.shape, x.data), dtype);
  return torchArray(x.shape, Float64Array.from(data as ArrayLike<number | bigint>, Number));
}
