import { describe, expect, test } from "vitest";
import { maxElement, sumElement, whyBitcast, whyCast } from "../../src/types/casts.js";
import { dtypeNames, dtypes, dtype, isFp8, type Elem } from "../../src/types/dtype.js";
import { divide, modulo, promote, whyCompare, whyDivide, whyFloorDivide, whyPromote } from "../../src/types/promote.js";
import type { RuleError } from "../../src/types/rule-error.js";
import { disagreements, elemText, type Question } from "./type-oracle.js";

const variables: Elem[] = [
  { name: "T", members: ["float16", "bfloat16", "float32"] },
  { name: "I", members: ["int32", "int64"] },
];
const elements: Elem[] = [...dtypeNames, ...variables];
const pairs = elements.flatMap((a) => elements.map((b) => [a, b] as const));

/** One question for a sentence, and one for the result where there is no sentence. */
function ask(why: [string, RuleError | undefined], out?: [string, Elem | undefined]): Question[] {
  const [type, error] = why;
  const questions = [{ type, answer: JSON.stringify(error?.text ?? "") }];
  if (out && !error && out[1] !== undefined) questions.push({ type: out[0], answer: elemText(out[1]) });
  return questions;
}

describe("promotion", () => {
  test("the type table agrees with the rule on every pair", () => {
    const questions = pairs.flatMap(([a, b]) => {
      const args = `${elemText(a)}, ${elemText(b)}`;
      return [
        ...ask([`WhyPromote<"add", ${args}>`, whyPromote("add", a, b)], [`Promote<${args}>`, promote(a, b)]),
        ...ask([`WhyCompare<"lt", ${args}>`, whyCompare("lt", a, b)]),
        ...ask([`WhyDivide<"div", ${args}>`, whyDivide("div", a, b)], [`Divide<${args}>`, divide(a, b)]),
        ...ask([`WhyDivide<"mod", ${args}>`, whyDivide("mod", a, b)], [`Modulo<${args}>`, modulo(a, b)]),
        ...ask([`WhyFloorDivide<"floorDiv", ${args}>`, whyFloorDivide("floorDiv", a, b)]),
        ...ask([`WhyCast<${args}>`, whyCast(a, b)]),
        ...ask([`WhyBitcast<${args}>`, whyBitcast(a, b)]),
      ];
    });
    expect(disagreements("promote", questions)).toEqual([]);
  }, 30_000);

  test("reductions give the same dtype at both levels", () => {
    const questions = elements.flatMap((elem) =>
      [["SumElement", sumElement(elem)] as const, ["MaxElement", maxElement(elem)] as const].map(([name, out]) => ({
        type: `${name}<${elemText(elem)}>`,
        answer: out === undefined ? "any" : elemText(out),
      })),
    );
    expect(disagreements("reduce-elements", questions)).toEqual([]);
  }, 30_000);

  test("it is symmetric, and has a result exactly where there is no sentence", () => {
    for (const [a, b] of pairs) {
      expect(promote(a, b)).toEqual(promote(b, a));
      const mask = a === "int1" && b === "int1";
      const fp8 = a === b && typeof a === "string" && isFp8(a);
      if (!mask && !fp8) expect(promote(a, b) !== undefined).toBe(whyPromote("add", a, b) === undefined);
    }
  });

  test.each([
    ["int8", "uint8", "uint8"],
    ["uint32", "int64", "int64"],
    ["int32", "uint32", "uint32"],
    ["float16", "bfloat16", "float16"],
    ["bfloat16", "int8", "float32"],
    ["float16", "int64", "float16"],
    ["int1", "int32", "int32"],
  ] as const)("%s and %s give %s", (a, b, result) => {
    expect(promote(a, b)).toBe(result);
  });
});

describe("dtype values", () => {
  test("tell their properties", () => {
    expect(dtypes.float16.bits).toBe(16);
    expect(dtypes.uint8.isSigned).toBe(false);
    expect(dtype("T", [dtypes.float16, dtypes.float32]).isFloating).toBe(true);
  });

  test("a variable refuses a property that its members do not share", () => {
    const T = dtype("T", [dtypes.float16, dtypes.float32]);
    expect(() => T.bits).toThrow("T: its members differ in bits");
    expect(() => dtype("T", [])).toThrow("T has no members");
    expect(() => dtype("T", [dtypes.int8, dtypes.int8])).toThrow("names a member twice");
  });
});
