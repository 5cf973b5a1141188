/** libdevice, made from its table: `libdevice.asin(x)`. Emitted modules import it where they use it. */
import { broadcastTo, type TileArray, tileArray } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import { libdeviceBitcasts, libdeviceFunctions } from "../ir/libdevice-functions.js";
import { libdeviceTable } from "../ir/libdevice-table.js";
import { isBig } from "../ir/numeric.js";
import type { Checked } from "../ir/problem.js";
import type { Context, Runtime } from "../ir/runtime.js";
import {
  inferLibdevice,
  type LibdeviceName,
  type LibdeviceOut,
  type WhyLibdevice,
} from "../ir/signatures-libdevice.js";
import { defineOp, type OpFunction } from "./define.js";
import { isTile, tileOf } from "./evaluate.js";

type Libdevice<Name extends LibdeviceName> = <const A extends readonly [unknown, ...unknown[]]>(
  ...args: { readonly [K in keyof A]: Checked<A[K], WhyLibdevice<Name, A>> }
) => LibdeviceOut<Name, A>;

type Args = Readonly<Record<string, Runtime | undefined>>;
const NAMES = ["x", "y", "z", "w"] as const;

function define<Name extends LibdeviceName>(name: Name): OpFunction<Libdevice<Name>> {
  const rules = libdeviceTable[name];
  const names = NAMES.slice(0, rules.indexOf("->"));
  const python = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const evaluate = evaluator(name);
  return defineOp<Libdevice<Name>>({
    name: `libdevice${name[0]!.toUpperCase()}${name.slice(1)}`,
    operands: Object.fromEntries(names.map((operand) => [operand, "value"])),
    lanewise: true,
    effect: "pure",
    spelling: { form: "call", name: `libdevice.${python}`, from: "triton.language.extra" },
    infer: (args) =>
      inferLibdevice(
        name,
        rules,
        names.map((operand) => args[operand]!.type),
      ),
    ...(evaluate && { evaluate }),
  });
}

/** Undefined where the function is not modelled. */
function evaluator(name: LibdeviceName) {
  if (libdeviceBitcasts.has(name))
    return ({ x }: Args, { results: [result] }: Context): TileArray =>
      cast(x as TileArray, result!.dtype, { bitcast: true });
  const compute = libdeviceFunctions[name];
  if (!compute) return undefined;
  return (args: Args, { results: [result] }: Context): TileArray => {
    const { dtype, shape } = result!;
    const first = args.x as TileArray;
    const tiles = NAMES.flatMap((operand) => {
      const value = args[operand];
      return value === undefined ? [] : [broadcastTo(tileOf(value, first.dtype), shape)];
    });
    if (isBig(dtype) || tiles.some((tile) => isBig(tile.dtype)))
      throw new Error(`libdevice.${name} of 64-bit integers cannot be evaluated here`);
    const lanes = tiles.map((tile) => tile.data as Float64Array);
    const [x, y = x, z = x, w = x] = lanes as [Float64Array, Float64Array?, Float64Array?, Float64Array?];
    const data = Float64Array.from(x, (value, i) => compute(value, y[i]!, z[i]!, w[i]!));
    const poison = tiles.find((tile) => isTile(tile) && tile.poison)?.poison;
    return cast(tileArray("float64", shape, data, poison), dtype);
  };
}

/** Functions of CUDA's libdevice and of AMD's OCML, by Triton's names in camelCase. */
export const libdevice = Object.fromEntries(
  (Object.keys(libdeviceTable) as LibdeviceName[]).map((name) => [name, define(name)]),
) as { readonly [Name in LibdeviceName]: OpFunction<Libdevice<Name>> };
