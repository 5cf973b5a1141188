/** The functions of libdevice, such as `libdevice.asin(x)`, generated from a table. */
import { broadcastTo, sizeOf, type TileArray, tileArray, cast } from "../numerics/array.js";
import { libdeviceBitcasts, libdeviceOverload, subnormals } from "../numerics/libdevice-functions.js";
import { libdeviceTable, libdeviceTargets } from "../rules/libdevice-table.js";
import { allocate } from "../numerics/buffer-pool.js";
import { isBig } from "../numerics/numeric-int.js";
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

/** Untyped inside: checking one record against the signature of each function costs 6 % of all instantiations. */
function defineLibdevice(name: LibdeviceName): unknown {
  const rules = libdeviceTable[name];
  const names = NAMES.slice(0, rules.indexOf("->"));
  const python = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const evaluate = evaluator(name);
  return defineOp<(...args: unknown[]) => unknown>()({
    name: `libdevice${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    calledAs: `libdevice.${name}`,
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

/** Evaluates the overload that matches the operands' dtypes. */
function evaluator(name: LibdeviceName) {
  if (libdeviceBitcasts.has(name))
    return ({ x }: Args, { result }: Context): TileArray =>
      cast(tileOf(x, result.dtype), result.dtype, { bitcast: true });
  const { operand: flushOperand, result: flushResult } = subnormals(name);
  return (args: Args, { result }: Context): TileArray => {
    const { dtype, shape } = result;
    const operandDType = isTile(args.x) ? args.x.dtype : dtype;
    const tiles = Object.values(args).map((value) => broadcastTo(tileOf(value, operandDType), shape));
    const compute = libdeviceOverload(name, tiles.map((tile) => letterOf(tile.dtype)).join(""));
    if (!compute) throw new Error(`libdevice.${name} is not modeled`);
    const lanes = tiles.map((tile) =>
      tile.dtype === "float32" ? (tile.data as Float32Array).map(flushOperand) : tile.data,
    );
    const data = allocate(dtype, sizeOf(shape));
    // Typed arrays wrap integers but reject a bigint for a narrower element type.
    const convert = (value: number | bigint) => {
      if (isBig(dtype)) return BigInt(value);
      return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value;
    };
    for (let i = 0; i < data.length; i++) data[i] = convert(compute(...lanes.map((lane) => lane[i]!)));
    const poison = tiles.some((tile) => tile.poison) ? new Uint8Array(data.length) : undefined;
    poison?.forEach((_, i) => (poison[i] = tiles.some((tile) => tile.poison?.[i]) ? 1 : 0));
    return tileArray(dtype, shape, dtype === "float32" ? (data as Float32Array).map(flushResult) : data, poison);
  };
}

/** The functions of CUDA's libdevice and AMD's OCML, with Triton's names in camelCase. */
export const libdevice: { readonly [Name in LibdeviceName]: OpFunction<Libdevice<Name>> } = Object.fromEntries<unknown>(
  (Object.keys(libdeviceTable) as LibdeviceName[]).map((name) => [name, defineLibdevice(name)]),
) as never;
