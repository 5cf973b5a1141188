/** `tl.choose`: a conditional expression over constexprs. */
import {
  type Chosen,
  type ConstBool,
  inferChosen,
  type TextOf,
  type WhyChosen,
  type WhyChosenToo,
} from "../types/constexpr.js";
import { asTruth, iteTerm } from "../symbolic/term.js";
import type { Validate } from "../types/rule-error.js";
import type { Constant } from "../values/runtime-values.js";
import { defineOp } from "./define.js";

/**
 * Selects one of two constexprs or numbers at compile time: `64 if FLAG else 32`. The result may be a dimension of a
 * tile. Also `FLAG.choose(64, 32)`.
 */
export const choose = defineOp<
  <Name extends string, const X, const Y>(
    condition: ConstBool<Name>,
    x: Validate<X, WhyChosen<X>>,
    y: Validate<Y, WhyChosenToo<X, Y>>,
  ) => Chosen<`choose(${Name}, ${TextOf<X>}, ${TextOf<Y>})`, X, Y>
>()({
  name: "choose",
  operands: { condition: "value", x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "conditional", host: { form: "conditional" } },
  infer: ({ condition, x, y }) => inferChosen(condition.type, x.type, y.type),
  fold: (condition: Constant, x: Constant, y: Constant) => (condition ? x : y),
  facts: { nonNegative: ([, x, y]) => x === true && y === true },
  proof: { term: ({ condition, x, y }) => iteTerm(asTruth(condition), x, y) },
});
