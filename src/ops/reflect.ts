/** Properties of a dtype variable whose members differ: `T.bits`, `T.isFloating` and so on, as constexprs. */
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { ConstBool, Constexpr } from "../types/constexpr.js";
import { hiddenCoercion } from "../diagnostics/catalog/source-codes.js";
import { activeBuilder } from "../ir/builder.js";
import {
  dtypeDisplayName,
  type DType,
  type DTypeName,
  onReflection,
  reflect,
  type Reflection,
} from "../types/dtype.js";
import type { Spelling } from "../ir/op.js";
import { constexprType } from "../types/types.js";
import { defineOp } from "./define.js";

type Member = Omit<Extract<Spelling, { form: "reflect" }>, "form">;

function reflectionOp<Result>(name: Reflection, member: Member) {
  return defineOp<(dtype: DType<any>) => Result>()({
    name,
    operands: { dtype: "dtype" },
    effect: "pure",
    spelling: { form: "reflect", ...member },
    infer: ({ dtype }) =>
      dtype?.dtype
        ? constexprType(name === "bits" ? "int" : "bool", `${dtypeDisplayName(dtype.dtype)}.${name}`)
        : operandKind(`${name}: needs a dtype, such as tl.float32`),
    fold: (dtype) => reflect(dtype as DTypeName, name),
    facts: { nonNegative: () => true },
  });
}

const reflectionOps = {
  bits: reflectionOp<Constexpr<string>>("bits", { member: "primitive_bitwidth" }),
  isFloating: reflectionOp<ConstBool<string>>("isFloating", { member: "is_floating", called: true }),
  isInteger: reflectionOp<ConstBool<string>>("isInteger", { member: "is_int", called: true }),
  // is_int_unsigned is false for floats, which count as signed.
  isSigned: reflectionOp<ConstBool<string>>("isSigned", { member: "is_int_unsigned", called: true, negated: true }),
};

onReflection((dtype, property) => {
  const builder = activeBuilder();
  builder?.rejectComparison((how) => hiddenCoercion.reflection(how, `${dtype.name}.${property}`));
  return builder ? reflectionOps[property](dtype) : undefined;
});
