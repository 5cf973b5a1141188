/**
 * Casts of every code of the 8-bit and 16-bit dtypes, and of 65,536 of float32, give what ml_dtypes and torch give.
 * float8e4b15 has no witness there.
 */
import { expect, test } from "vitest";
import { tileArray, cast } from "../../../src/numerics/array.js";
import { isSigned, type DTypeName } from "../../../src/types/dtype.js";
import { bitsOf, isFloat } from "../../../src/numerics/numeric-int.js";
import { fromBytes } from "../../../src/numerics/numeric-bits.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { requirePython, mlDtypes, runScript } from "../../support/python.js";

sampledTests("casts of every code", "src/numerics");

const decoded = (dtype: DTypeName, text: string) => fromBytes(dtype, Uint8Array.from(Buffer.from(text, "base64")));

/** Whether a float has a value of the integer dtype when it is truncated; all others are undefined there. */
function fits(x: number, dtype: DTypeName): boolean {
  const bits = bitsOf(dtype);
  const whole = Math.trunc(x);
  return isSigned(dtype) ? whole >= -(2 ** (bits - 1)) && whole < 2 ** (bits - 1) : whole >= 0 && whole < 2 ** bits;
}

test("casts", { timeout: 120_000 }, async () => {
  const python = await requirePython();
  const { results, torn } = await runScript<{
    results: Record<string, [string, string]>;
    torn: string[];
  }>(python, new URL("cast_truth.py", import.meta.url), [], await mlDtypes(python));
  expect(torn).toEqual([]);
  let compared = 0;
  const wrong = Object.entries(results).flatMap(([pair, [given, wanted]]) => {
    const [from, to] = pair.split(" ") as [DTypeName, DTypeName];
    const values = decoded(from, given);
    const ours = cast(tileArray(from, [values.length], values), to).data;
    const theirs = decoded(to, wanted);
    const differing = [...values.keys()].filter((i) => {
      if (isFloat(from) && !isFloat(to) && !fits(Number(values[i]), to)) return false;
      compared++;
      return !Object.is(ours[i], theirs[i]);
    });
    const [first] = differing;
    return first === undefined
      ? []
      : [`${pair}: ${differing.length} differ; ${values[first]} gives ${ours[first]}, theirs is ${theirs[first]}`];
  });
  console.log(`${Object.keys(results).length} pairs of dtypes, ${compared} values compared`);
  expect(wrong).toEqual([]);
});
