/**
 * What the evaluator computes for libdevice: against mathematics (mpmath, fractions), to the last place or nearly; and
 * against what an H200 gave for every overload (`libdevice_gpu.py`), within the errors of CUDA's guide.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tileArray, type TileArray } from "../../../src/numerics/array.js";
import type { DTypeName } from "../../../src/types/dtype.js";
import { libdeviceTable } from "../../../src/rules/libdevice-table.js";
import { isFloat } from "../../../src/numerics/numeric-int.js";
import { fromBytes } from "../../../src/numerics/numeric-bits.js";
import { dtypeOfLetter } from "../../../src/rules/libdevice-rules.js";
import { opOf } from "../../../src/ops/define.js";
import { libdevice } from "../../../src/ops/libdevice.js";
import { tileType } from "../../../src/types/types.js";
import { requirePython, runScript } from "../../support/python.js";
import { boundOf, type Bound } from "./libdevice-bounds.js";

/** Operands and result of each overload, as hexadecimal bytes. */
type Results = Readonly<Record<string, readonly string[]>>;

const tileOf = (dtype: DTypeName, hex: string): TileArray => {
  const data = fromBytes(dtype, Uint8Array.from(Buffer.from(hex, "hex")));
  return tileArray(dtype, [data.length], data);
};

/** What the evaluator gives for the operands. */
function evaluated(name: string, given: readonly TileArray[], result: DTypeName): TileArray {
  const args = Object.fromEntries(["x", "y", "z", "w"].slice(0, given.length).map((key, i) => [key, given[i]]));
  const type = tileType(result, given[0]!.shape);
  const context = { result: type, results: [type] };
  return opOf(libdevice[name as "sin"])!.evaluate!(args, context as never) as TileArray;
}

/** An overload's operands, what the evaluator gives for them, and what was written. */
function lanesOf(key: string, hex: readonly string[], writtenIn?: DTypeName) {
  const [name, signature] = key.split(" ") as [string, string];
  const [letters, out] = signature.split("->") as [string, string];
  const dtype = dtypeOfLetter(out);
  const given = [...letters].map((letter, i) => tileOf(dtypeOfLetter(letter), hex[i]!));
  return { name, dtype, given, ours: evaluated(name, given, dtype), theirs: tileOf(writtenIn ?? dtype, hex.at(-1)!) };
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
  const { name, dtype, given, ours, theirs: wanted } = lanesOf(key, hex, wantedIn);
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

/** The floats between two of a dtype. */
function steps(dtype: DTypeName, a: number, b: number): number {
  const code = (x: number) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    if (dtype === "float64") return { sign: Math.sign(x), magnitude: view.getBigUint64(0) & (2n ** 63n - 1n) };
    view.setFloat32(0, x);
    return { sign: Math.sign(x), magnitude: BigInt(view.getUint32(0) & 0x7fffffff) };
  };
  const [from, to] = [code(a), code(b)];
  const difference = from.sign * to.sign < 0 ? from.magnitude + to.magnitude : from.magnitude - to.magnitude;
  return Math.abs(Number(difference));
}

/** Why a value of the device's is not compared. */
function whyNot(name: string, bound: Bound, operands: readonly number[], theirs: number): string | undefined {
  const [n, x] = operands as [number, number];
  if (name === "jn" && n > 1 && Number.isNaN(theirs) && Math.abs(x) < 1e-37)
    return "CUDA's recurrence overflows to NaN, where the function is 0";
  return bound || !Number.isFinite(theirs) ? undefined : "the guide names no error";
}

/** Compares one overload with the device: whether all is the same, what is beyond the bounds and what is left out. */
function onDevice(key: string, hex: readonly string[]) {
  const { name, dtype, given, ours, theirs } = lanesOf(key, hex);
  const beyond: string[] = [];
  const out = new Map<string, number>();
  let same = true;
  for (let i = 0; i < theirs.data.length; i++) {
    const [a, b] = [Number(ours.data[i]), Number(theirs.data[i])];
    const operands = given.map(({ data }) => Number(data[i]));
    if (Object.is(ours.data[i], theirs.data[i])) continue;
    same = false;
    const bound = isFloat(dtype) ? boundOf(name, dtype === "float64", operands, b) : { steps: 0 };
    const why = whyNot(name, bound, operands, b);
    if (why) out.set(why, (out.get(why) ?? 0) + 1);
    else if (!bound || !isWithin(bound, dtype, a, b))
      beyond.push(`${key}: (${operands.join(", ")}) is ${text(a)}, not ${text(b)}: ${steps(dtype, a, b)} steps`);
  }
  return { same, beyond, out };
}
const text = (x: number) => (Object.is(x, -0) ? "-0" : String(x));
/** Zeros of two signs are apart in steps, and nothing is near NaN. */
const isWithin = (bound: NonNullable<Bound>, dtype: DTypeName, a: number, b: number) =>
  "absolute" in bound
    ? Math.abs(a - b) <= bound.absolute
    : a !== b && !Number.isNaN(a) && !Number.isNaN(b) && steps(dtype, a, b) <= bound.steps;

test("every overload is modeled", () => {
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
    const { results } = await runScript<{ results: Results }>(
      await requirePython(),
      new URL("libdevice_truth.py", import.meta.url),
      [],
    );
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

describe("an H200", () => {
  const written = gunzipSync(readFileSync(join(import.meta.dirname, "libdevice-h200.json.gz"))).toString();
  const { results } = JSON.parse(written) as { results: Results };

  test("gives the same, within the errors that CUDA's guide allows", () => {
    const table = Object.entries(results).map(([key, hex]) => ({ key, ...onDevice(key, hex) }));
    const counted = (isOne: (row: (typeof table)[number]) => boolean) => table.filter(isOne).length;
    const leftOut = [...new Set(table.flatMap(({ out }) => [...out.keys()]))].map((why) => {
      const lanes = table.filter(({ out }) => out.has(why)).map(({ key, out }) => `${key} (${out.get(why)})`);
      return `  ${why}: ${lanes.join(", ")}`;
    });
    console.log(
      [
        `${table.length} overloads: ${counted(({ same }) => same)} the same to the last bit,`,
        `${counted(({ same, beyond, out }) => !same && beyond.length === 0 && out.size === 0)} within the guide's errors,`,
        `${counted(({ beyond, out }) => beyond.length === 0 && out.size > 0)} so but for values left out,`,
        `${counted(({ beyond }) => beyond.length > 0)} beyond`,
      ].join(" "),
      ["", ...leftOut].join("\n"),
    );
    expect(table.flatMap(({ beyond }) => beyond)).toEqual([]);
  });
});
