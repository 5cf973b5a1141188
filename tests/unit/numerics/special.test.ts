/** Functions that Math lacks, against values that mpmath computed with 300 bits. */
import { expect, test } from "vitest";
import { erf, erfc } from "../../../src/numerics/special.js";

/** x, erf(x), erfc(x). */
const values: readonly (readonly [number, number, number])[] = [
  [1e-300, 1.1283791670955126e-300, 1.0],
  [3e-9, 3.3851375012865378e-9, 0.9999999966148625],
  [0.1, 0.1124629160182849, 0.887537083981715],
  [0.3, 0.3286267594591274, 0.6713732405408726],
  [0.7, 0.6778011938374184, 0.32219880616258156],
  [0.84375, 0.7672256612323416, 0.23277433876765838],
  [0.9, 0.7969082124228322, 0.20309178757716786],
  [1.1, 0.8802050695740817, 0.11979493042591827],
  [1.2499, 0.922876473187532, 0.07712352681246806],
  [1.3, 0.9340079449406524, 0.06599205505934755],
  [2, 0.9953222650189527, 0.004677734981047266],
  [2.85, 0.9999443437200386, 5.5656279961398957e-5],
  [3.1, 0.9999883513426328, 1.1648657367199589e-5],
  [4.75, 0.9999999999815149, 1.8485047721485312e-11],
  [5.9, 0.9999999999999999, 7.190409783550478e-17],
  [6.5, 1.0, 3.8421483271206475e-20],
  [-0.3, -0.3286267594591274, 1.3286267594591274],
  [-1, -0.8427007929497149, 1.8427007929497148],
  [-2.5, -0.999593047982555, 1.999593047982555],
  [20, 1.0, 5.395865611607901e-176],
  [26.5, 1.0, 2.2109076642637343e-307],
];

/** The distance to the next float64, for normal numbers. */
const lastPlace = (x: number): number => 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);

test.each(values)("erf and erfc of %s", (x, ofErf, ofErfc) => {
  expect(Math.abs(erf(x) - ofErf)).toBeLessThanOrEqual(lastPlace(ofErf));
  expect(Math.abs(erfc(x) - ofErfc)).toBeLessThanOrEqual(3 * lastPlace(ofErfc));
});

test("erf and erfc at the ends", () => {
  expect([-Infinity, -0, 0, Infinity, NaN].map(erf)).toEqual([-1, -0, 0, 1, NaN]);
  expect([-Infinity, -0, 0, Infinity, NaN].map(erfc)).toEqual([2, 1, 1, 0, NaN]);
});
