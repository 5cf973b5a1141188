/** Of what a full run draws, all is tested: at once, or a part a day. */
import { afterEach, expect, test, vi } from "vitest";
import { daysFor, isSelectedToday, dayIndexOf } from "../support/sampled-tests.js";

afterEach(() => void vi.unstubAllEnvs());

const cases = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
const today = (count: number, aDay: number, day: number) =>
  cases(count).filter((i) => isSelectedToday(i, daysFor(count, aDay), day));

test.each([1, 10, 802])("a list of %i that is not costly is tested whole, on any day", (count) => {
  vi.stubEnv("TILESCRIPT_DAYS", undefined);
  for (const day of [20261127, 20261128]) expect(today(count, Infinity, day)).toEqual(cases(count));
});

test("a costly list is tested whole in as many days as it takes", () => {
  vi.stubEnv("TILESCRIPT_DAYS", undefined);
  const parts = [0, 1, 2, 3].map((day) => today(10, 3, 20261127 + day));
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(3);
  expect(parts.flat().toSorted((a, b) => a - b)).toEqual(cases(10));
  expect(today(2, 3, 20261127)).toEqual(cases(2));
});

test.each([
  [2, 4, 1],
  [3, 9, 3],
  [3, 10, 2],
])("so is one within a test that is made each %i days: %i cases, %i a day", (days, count, aDay) => {
  vi.stubEnv("TILESCRIPT_DAYS", undefined);
  for (const place of cases(days)) {
    const ofTest = cases(days * daysFor(count, aDay)).filter((day) => isSelectedToday(place, days, 20261101 + day));
    const parts = ofTest.map((day) => today(count, aDay, dayIndexOf(20261101 + day, days)));
    expect(parts.flat().toSorted((a, b) => a - b)).toEqual(cases(count));
  }
});

test("a list of one case takes the days that it is given", () => {
  expect(daysFor(1, 1 / 3)).toBe(3);
});
