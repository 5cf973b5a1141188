/**
 * What the evaluator computes for libdevice: against mathematics (mpmath, fractions), to the last place or nearly; and
 * against what an H200 gave for every overload (`libdevice_gpu.py`), as far as CUDA's guide promises.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tileArray, type TileArray } from "../../src/ir/array.js";
import type { DTypeName } from "../../src/ir/dtype.js";
import { libdeviceTable } from "../../src/ir/libdevice-table.js";
import { isFloat } from "../../src/ir/numeric.js";
import { fromBytes } from "../../src/ir/numeric-bits.js";
import { dtypeOfLetter } from "../../src/ir/signatures-libdevice.js";
import { opOf } from "../../src/ops/define.js";
import { libdevice } from "../../src/ops/libdevice.js";
import { tileType } from "../../src/ir/types.js";
import { requirePython } from "../runtime/helpers.js";
import { runPython } from "./python.js";

/** Operands and result of each overload, as hexadecimal bytes. */
type Results = Readonly<Record<string, readonly string[]>>;

const tileOf = (dtype: DTypeName, hex: string): TileArray => {
  const data = fromBytes(dtype, Uint8Array.from(Buffer.from(hex, "hex")));
  return tileArray(dtype, [data.length], data);
};

/** What the evaluator gives for the operands. */
function evaluated(name: string, given: readonly TileArray[], result: DTypeName): TileArray {
  const args = Object.fromEntries(["x", "y", "z", "w"].slice(0, given.length).map((key, i) => [key, given[i]]));
  const context = { results: [tileType(result, given[0]!.shape)] };
  return opOf(libdevice[name as "sin"])!.evaluate!(args, context as never) as TileArray;
}

/** The distance to the next float away from zero. */
function ulp(dtype: DTypeName, x: number): number {
  const [digits, least] = dtype === "float32" ? [23, -126] : [52, -1022];
  const exponent = x === 0 ? least : Math.floor(Math.log2(Math.abs(x)));
  return 2 ** (Math.max(exponent, least) - digits);
}

interface Difference {
  /** The largest, in units of the last place of the true value. */
  readonly ulps: number;
  readonly where: string;
}

/** Compares one overload; lanes that `isKnown` leaves out have no true value. */
function compare(
  key: string,
  hex: readonly string[],
  isKnown: (wanted: number, given: readonly number[]) => boolean,
  wantedIn: DTypeName,
): Difference {
  const [name, signature] = key.split(" ") as [string, string];
  const [letters, out] = signature.split("->") as [string, string];
  const dtype = dtypeOfLetter(out);
  const given = [...letters].map((letter, i) => tileOf(dtypeOfLetter(letter), hex[i]!));
  const ours = evaluated(name, given, dtype);
  const wanted = tileOf(wantedIn, hex.at(-1)!);
  let worst: Difference = { ulps: 0, where: "" };
  for (let i = 0; i < wanted.data.length; i++) {
    const [a, b] = [Number(ours.data[i]), Number(wanted.data[i])];
    const operands = given.map(({ data }) => Number(data[i]));
    if (!isKnown(b, operands) || Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const ulps = isFloat(dtype) ? (Math.abs(a - b) || (a === b ? 1 : Infinity)) / ulp(dtype, b) : Infinity;
    const distance = Number.isNaN(ulps) ? Infinity : a === b ? 0 : ulps;
    if (distance > worst.ulps) worst = { ulps: distance, where: `${name}(${operands.join(", ")}) is ${a}, not ${b}` };
  }
  return worst;
}

test("every overload is modelled", () => {
  const wrong = Object.entries(libdeviceTable).flatMap(([name, rules]) =>
    rules.split(" ").filter((rule) => {
      const [letters, out] = rule.split("->") as [string, string];
      const zeros = [...letters].map((letter) => {
        const bytes = /[dlv]/.test(letter) ? 8 : 4;
        return tileOf(dtypeOfLetter(letter), "00".repeat(bytes));
      });
      return evaluated(name, zeros, dtypeOfLetter(out)).data.length !== 1;
    }),
  );
  expect(wrong).toEqual([]);
});

describe("mathematics", () => {
  test("float64 to a few places, float32 rounded correctly or nearly", { timeout: 120_000 }, async () => {
    const { results } = JSON.parse(await runPython(await requirePython(), "libdevice_truth.py", [])) as {
      results: Results;
    };
    const table = Object.entries(results).map(([key, hex]) => {
      const isDouble = key.endsWith("d");
      const isNormal = (wanted: number, given: readonly number[]) =>
        Number.isFinite(wanted) &&
        Math.abs(wanted) >= (isDouble ? 2 ** -1022 : 2 ** -126) &&
        Math.abs(wanted) < (isDouble ? Infinity : 2 ** 128 * (1 - 2 ** -25)) &&
        (isDouble || given.every((x) => x === 0 || Math.abs(x) >= 2 ** -126));
      return { key, ...compare(key, hex, isNormal, "float64") };
    });
    table.sort((a, b) => b.ulps - a.ulps);
    console.log(
      `${table.length} overloads; worst: ${table
        .slice(0, 6)
        .map(({ key, ulps }) => `${key} ${ulps.toFixed(1)}`)
        .join(", ")} ulp`,
    );
    // Near the zeros of Bessel's second functions the error is small beside their amplitude only.
    const limit = (key: string) => (/R[nzdu] /.test(key) ? 0 : key.endsWith("f") ? 0.51 : key.startsWith("y") ? 32 : 8);
    expect(table.filter(({ key, ulps }) => ulps > limit(key))).toEqual([]);
  });
});

/** Largest errors in ulp by CUDA's programming guide, float32 and float64; where none is named the results are exact. */
// prettier-ignore
const GUIDE: Readonly<Record<string, readonly [number, number]>> = {
  acos: [2, 2], acosh: [4, 3], asin: [2, 2], asinh: [3, 3], atan: [2, 2], atan2: [3, 2], atanh: [3, 2], cbrt: [1, 1],
  cos: [2, 2], cosh: [2, 1], cospi: [1, 2], cylBesselI0: [6, 6], cylBesselI1: [6, 6], erf: [2, 2], erfc: [4, 5],
  erfcinv: [4, 6], erfcx: [4, 4], erfinv: [2, 5], exp: [2, 1], exp10: [2, 1], exp2: [2, 1], expm1: [1, 1],
  hypot: [3, 2], j0: [9, 7], j1: [9, 7], jn: [9, 7], lgamma: [6, 4], log: [1, 1], log10: [2, 1], log1p: [1, 1],
  log2: [1, 1], norm3d: [3, 2], norm4d: [3, 2], normcdf: [5, 5], normcdfinv: [5, 8], pow: [4, 2], rcbrt: [1, 1],
  rhypot: [2, 1], rnorm3d: [2, 1], rnorm4d: [2, 1], rsqrt: [2, 1], rsqrtRn: [1, 1], sin: [2, 2], sinh: [3, 2],
  sinpi: [1, 2], sqrt: [1, 0], tan: [4, 2], tanh: [2, 1], tgamma: [5, 10], y0: [9, 7], y1: [9, 7], yn: [9, 7],
  // Single instructions: about 22 good bits where the guide gives an absolute error or one that grows.
  fastDividef: [2, 0], fastExpf: [32, 0], fastExp10f: [32, 0], fastPowf: [64, 0], fastCosf: [64, 0], fastSinf: [64, 0],
  fastTanf: [64, 0], fastLogf: [16, 0], fastLog2f: [16, 0], fastLog10f: [16, 0], rcp64h: [0, 2 ** 33],
};

const onH200 = join(import.meta.dirname, "libdevice-h200.json");
test.skipIf(!existsSync(onH200))("an H200 gives the same, within the errors that CUDA's guide allows", () => {
  const { results } = JSON.parse(readFileSync(onH200, "utf8")) as { results: Results };
  const table = Object.entries(results).map(([key, hex]) => {
    const out = dtypeOfLetter(key.at(-1)!);
    return { key, ...compare(key, hex, () => true, out) };
  });
  const limit = (key: string) => (GUIDE[key.split(" ")[0]!] ?? [0, 0])[key.split(" ")[1]!.includes("d") ? 1 : 0];
  console.log(`${table.length} overloads, ${table.filter(({ ulps }) => ulps === 0).length} the same to the last bit`);
  expect(table.filter(({ key, ulps }) => ulps > limit(key))).toEqual([]);
});
