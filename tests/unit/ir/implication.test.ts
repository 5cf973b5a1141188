/** What follows from conditions that Triton knows when it compiles. */
import { expect, it } from "vitest";
import { implies } from "../../../src/ir/builder.js";

it.each([
  [["A"], ["A"]],
  [["A"], ["and(A, B)"]],
  [["A", "B"], ["and(A, B)"]],
  [["and(A, B)"], ["B", "A"]],
  [["or(A, B)"], ["A"]],
  [["not A"], ["or(not A, B)", "not B"]],
  [["A"], ["not or(not A, B)"]],
  [["MODE == 1"], ["not MODE != 1"]],
  [["MODE != 2"], ["MODE == 1"]],
  [["or(A, and(B, C))"], ["B", "C"]],
  [["A"], ["B", "not B"]],
])("%j should follow from %j", (conditions, known) => {
  expect(implies(conditions, known)).toBe(true);
});

it.each([
  [["A"], []],
  [["A"], ["not A"]],
  [["A"], ["or(A, B)"]],
  [["and(A, B)"], ["A"]],
  [["MODE == 1"], ["MODE != 2"]],
  // Two constexprs may be equal.
  [["not MODE == A"], ["MODE == B"]],
  [["B"], ["WORD == and(A, B)"]],
  [["A"], ["and(WORD == a, b, A)"]],
])("%j should not follow from %j", (conditions, known) => {
  expect(implies(conditions, known)).toBe(false);
});

it("should say no where it would take too long to find out", () => {
  const all = Array.from({ length: 24 }, (_, i) => `A${i}`);
  expect(implies(["or(A0, A1)"], all)).toBe(false);
  expect(implies(["A0"], all)).toBe(true);
});
