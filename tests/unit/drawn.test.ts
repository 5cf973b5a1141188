/** Of what a full run draws, all is tested: at once, or a part a day. */
import { afterEach, expect, test, vi } from "vitest";
import { daysFor, isToday } from "../support/drawn.js";

afterEach(() => void vi.unstubAllEnvs());

const cases = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
const today = (count: number, aDay: number, day: number) =>
  cases(count).filter((i) => isToday(i, daysFor(count, aDay), day));

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
