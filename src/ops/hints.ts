/** Compiler hints. A false hint causes incorrect results on the GPU, so the evaluator checks hints. */
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { falseAssume, falseHint } from "../diagnostics/catalog/finding-codes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Typed } from "../types/types.js";
import { slice, type TileArray } from "../numerics/array.js";
import { atAxis } from "../types/dims.js";
import type { ConstLike } from "../types/constexpr.js";
import type { Validate } from "../types/rule-error.js";
import type { Context, Runtime } from "../values/runtime-values.js";
import {
  assumedTile,
  inferHint,
  inferTrusted,
  type WhyReason,
  type WhyTrusted,
  type WhyAssumed,
  type WhyZeroed,
  type WhyHint,
  type WhyHintOf,
} from "../rules/hint-rules.js";
import { type Plain, whyCond, whyTile, type WhyTile } from "../rules/math-rules.js";
import { showShape, whyBroadcast } from "../types/shape.js";
import { whyWhole } from "../types/promote.js";
import type { TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { isTile, listOf } from "../values/operands.js";
import { Message } from "../diagnostics/message.js";

type Value = number | ConstLike<any, "int">;
type Values = Value | readonly Value[];
type HintCall<Name extends string> = <X, const V extends Values>(
  x: Validate<X, WhyHintOf<Name, X>>,
  values: Validate<V, WhyHint<Name, X, V>>,
) => X extends TileLike ? Plain<X> : X;

const numbers = (operand: Typed | undefined) =>
  operand?.items?.map((item) => Number(item.literal)) ?? [Number(operand?.literal)];

function hint<Name extends string>(
  name: Name,
  python: string,
  isSatisfied: (x: TileArray, values: readonly number[]) => boolean,
  describe: (values: readonly number[]) => string,
) {
  return defineOp<HintCall<Name>>()({
    name,
    operands: { x: "valueOrPointer", values: "constants" },
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: ({ x, values }) => {
      const whole = typeof values.literal === "number" ? whyWhole(name, String(values.literal)) : undefined;
      const isKnown = (values.items ?? [values]).every(({ type }) => type.kind === "constexpr" && type.of === "int");
      if (!whole && !isKnown) return operandKind(`${name}: the values are integers or constexprs`);
      const type = inferHint(name, x.type, numbers(values));
      return type instanceof Message ? type : whole || type;
    },
    evaluate: ({ x, values }, context) => {
      const expected = listOf(values).map(Number);
      if (isTile(x) && !x.poison && !isSatisfied(x, expected)) {
        const lanes = new Uint8Array(x.data.length);
        lanes[0] = 1;
        context.report(falseHint.lanes(name, describe(expected)), x.shape, lanes);
      }
      return x;
    },
    facts: { needsTensor: ["x"], nonNegative: ([x]) => x === true, isIdentity: true },
    proof: { term: ({ x }) => x, anyWidth: true, classTransfer: ({ x }) => x },
  });
}

/** True if every line of the tile passes the test, along every axis with the axis's value. */
function everyLine(
  x: TileArray,
  values: readonly number[],
  test: (line: readonly number[], value: number) => boolean,
): boolean {
  return x.shape.every((size, axis) => {
    const slices = Array.from({ length: size }, (_, position) => slice(x, axis, position).data);
    const [first] = slices;
    return Array.from(first as ArrayLike<number | bigint>).every((_, i) =>
      test(
        slices.map((data) => Number(data[i])),
        atAxis(values, axis),
      ),
    );
  });
}

const chunks = (line: readonly number[], size: number) =>
  Array.from({ length: Math.ceil(line.length / size) }, (_, i) => line.slice(i * size, i * size + size));

/**
 * Hints that the first element of each contiguous group is a multiple of the value: `tl.multiple_of(x, 16)`. There is
 * one value per axis.
 */
export const multipleOf = hint(
  "multipleOf",
  "tl.multiple_of",
  (x, values) =>
    x.shape.length === 0
      ? values.every((divisor) => Number(x.data[0]) % divisor === 0)
      : everyLine(x, values, (line, divisor) =>
          line.every((element, i) => element - 1 === line[i - 1] || element % divisor === 0),
        ),
  (values) => `it is a multiple of ${values.join(", ")}`,
);

/**
 * Hints that elements increase by 1 in groups of this size: `tl.max_contiguous(x, BLOCK)`. There is one size per axis.
 */
export const maxContiguous = hint(
  "maxContiguous",
  "tl.max_contiguous",
  (x, values) =>
    everyLine(x, values, (line, length) =>
      chunks(line, length).every((group) => group.every((element, i) => element - i === group[0])),
    ),
  (values) => `${values.join(", ")} elements in a row count up`,
);

/** Hints that elements are equal in groups of this size: `tl.max_constancy(x, 4)`. There is one size per axis. */
export const maxConstancy = hint(
  "maxConstancy",
  "tl.max_constancy",
  (x, values) =>
    everyLine(x, values, (line, length) =>
      chunks(line, length).every((group) => group.every((value) => value === group[0])),
    ),
  (values) => `${values.join(", ")} elements in a row are equal`,
);

/** Allows the compiler to assume a condition: `tl.assume(stride > 0)`. */
export const assume = defineOp<<const C>(condition: Validate<C, WhyAssumed<C>>) => void>()({
  name: "assume",
  operands: { condition: "value" },
  effect: "write",
  spelling: { form: "call", name: "tl.assume" },
  infer: ({ condition }) => {
    const { type } = condition;
    if (type.kind === "tile" && type.shape.length > 0) return assumedTile(showShape(type.shape));
    return whyCond("assume", type) || { kind: "none" };
  },
  evaluate: (args, context) => {
    reportFalse(falseAssume(), args.condition, undefined, context);
    return [];
  },
  proof: { claims: "condition" },
});

/** Reports the active lanes in which a condition is false. */
export function reportFalse(
  message: Message<FindingCode>,
  condition: Runtime | undefined,
  mask: Runtime | undefined,
  context: Context,
): void {
  if (!isTile(condition)) {
    if (condition === false) context.report(message, [], Uint8Array.of(1));
    return;
  }
  const isMasked = (i: number) => isTile(mask) && !mask.data[mask.data.length === 1 ? 0 : i];
  const lanes = Uint8Array.from(condition.data as Uint8Array, (value, i) =>
    value === 0 && !condition.poison?.[i] && !isMasked(i) ? 1 : 0,
  );
  context.report(message, condition.shape, lanes);
}

/**
 * Returns `x`, and lets `check` accept what it cannot prove, for the stated reason: `tl.trusted(y.at(slots), "each slot
 * occurs once")`. For a view, `check` accepts that the output is fully written and that accesses do not conflict. For a
 * value, it accepts that padding changes no result. The evaluator still checks these properties. The emitted Python
 * does not contain the call.
 */
export const trusted = defineOp<
  <X, const R extends string>(
    x: Validate<X, WhyTrusted<X>>,
    reason: Validate<R, WhyReason<R>>,
  ) => X extends TileLike ? Plain<X> : X
>()({
  name: "trusted",
  operands: { x: "tileOrPointer", reason: "constant" },
  effect: "pure",
  spelling: { form: "same" },
  lowering: { permutes: (_, rank) => Array.from({ length: rank }, (_each, axis) => axis) },
  infer: ({ x, reason }) => inferTrusted(x.type, reason),
  evaluate: ({ x }) => x,
  facts: { lanewise: true, rounds: false, nonNegative: ([x]) => x === true, keepsClaims: true, isIdentity: true },
  proof: { term: ({ x }) => x, anyWidth: true, classTransfer: ({ x }) => x, trustedOperand: "reason" },
});

/**
 * Returns `x`, with a hint that it has underflowed to 0 in the lanes in which the mask is true: `tl.expect_zero(x,
 * mask)`. Needs Triton 3.9.
 */
export const expectZero = defineOp<
  <X, M>(x: Validate<X, WhyTile<"expectZero", X>>, mask: Validate<M, WhyZeroed<X, M>>) => Plain<X>
>()({
  name: "expectZero",
  operands: { x: "value", mask: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.expect_zero" },
  infer: ({ x, mask }) => {
    const why = whyTile("expectZero", x.type) || whyCond("expectZero", mask.type);
    if (why || x.type.kind !== "tile" || mask.type.kind !== "tile") return why || x.type;
    return whyBroadcast("expectZero", x.type.shape, mask.type.shape) || x.type;
  },
  evaluate: ({ x }) => x,
  facts: { nonNegative: ([x]) => x === true },
  proof: { term: ({ x }) => x, anyWidth: true, classTransfer: ({ x }) => x },
  needs: { needsTriton39: () => true },
});
