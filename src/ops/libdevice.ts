/** libdevice, made from its table: `libdevice.asin(x)`. Emitted modules import it where they use it. */
import { broadcastTo, sizeOf, type TileArray, tileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { libdeviceBitcasts, libdeviceOverload } from "../numerics/libdevice-functions.js";
import { subnormals } from "../numerics/libdevice-subnormals.js";
import { libdeviceTable, libdeviceTargets } from "../rules/libdevice-table.js";
import { allocate } from "../numerics/buffer-pool.js";
import { isBig } from "../numerics/numeric.js";
import type { Validate } from "../types/rule-error.js";
import type { Context, Constant } from "../values/runtime-values.js";
import {
  inferLibdevice,
  letterOf,
  type LibdeviceName,
  type LibdeviceOut,
  type WhyLibdevice,
} from "../rules/libdevice-rules.js";
import { defineOp, type OpFunction } from "./define.js";
import { tileOf, isTile } from "../values/operands.js";

type Libdevice<Name extends LibdeviceName> = <const A extends readonly [unknown, ...unknown[]]>(
  ...args: { readonly [K in keyof A]: Validate<A[K], WhyLibdevice<Name, A>> }
) => LibdeviceOut<Name, A>;

const NAMES = ["x", "y", "z", "w"] as const;

function define<Name extends LibdeviceName>(name: Name): OpFunction<Libdevice<Name>> {
  const rules = libdeviceTable[name];
  const names = NAMES.slice(0, rules.indexOf("->"));
  const python = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const evaluate = evaluator(name);
  return defineOp<Libdevice<Name>>()({
    name: `libdevice${name[0]!.toUpperCase()}${name.slice(1)}`,
    called: `libdevice.${name}`,
    operands: Object.fromEntries(names.map((operand) => [operand, "value" as const])),
    effect: "pure",
    spelling: { form: "call", name: `libdevice.${python}`, from: "triton.language.extra" },
    infer: (args) =>
      inferLibdevice(
        name,
        rules,
        Object.values(args).map(({ type }) => type),
      ),
    evaluate,
    facts: { lanewise: true },
    needs: { targets: libdeviceTargets[name] },
  });
}

type Args = Readonly<Record<string, TileArray | Constant>>;

/** Computes the overload that the operands' dtypes name. */
function evaluator(name: LibdeviceName) {
  if (libdeviceBitcasts.has(name))
    return ({ x }: Args, { result }: Context): TileArray =>
      cast(tileOf(x, result.dtype), result.dtype, { bitcast: true });
  const { operand: taken, result: given } = subnormals(name);
  return (args: Args, { result }: Context): TileArray => {
    const { dtype, shape } = result;
    const first = isTile(args.x) ? args.x.dtype : dtype;
    const tiles = Object.values(args).map((value) => broadcastTo(tileOf(value, first), shape));
    const compute = libdeviceOverload(name, tiles.map((tile) => letterOf(tile.dtype)).join(""));
    if (!compute) throw new Error(`libdevice.${name} is not modeled`);
    const lanes = tiles.map((tile) => (tile.dtype === "float32" ? (tile.data as Float32Array).map(taken) : tile.data));
    const data = allocate(dtype, sizeOf(shape));
    // Typed arrays wrap integers, but bigints into narrower ones they refuse.
    const settle = (value: number | bigint) =>
      isBig(dtype) ? BigInt(value) : typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value;
    for (let i = 0; i < data.length; i++) data[i] = settle(compute(...lanes.map((lane) => lane[i]!)));
    const poison = tiles.some((tile) => tile.poison) ? new Uint8Array(data.length) : undefined;
    poison?.forEach((_, i) => (poison[i] = tiles.some((tile) => tile.poison?.[i]) ? 1 : 0));
    return tileArray(dtype, shape, dtype === "float32" ? (data as Float32Array).map(given) : data, poison);
  };
}

/** Functions of CUDA's libdevice and of AMD's OCML, by Triton's names in camelCase. */
export const libdevice = Object.fromEntries<unknown>(
  (Object.keys(libdeviceTable) as LibdeviceName[]).map((name) => [name, define(name)]),
) as { readonly [Name in LibdeviceName]: OpFunction<Libdevice<Name>> };
