/** Assertions, printing and barriers. All are side effects, so they are not reordered. */
import { operandKind, wrongCondition } from "../diagnostics/catalog/rule-codes.js";
import type { ConstLike } from "../types/constexpr.js";
import { failedAssert } from "../diagnostics/catalog/finding-codes.js";
import type { Validate } from "../types/rule-error.js";
import { whyCond, type WhyCond } from "../rules/math-rules.js";
import type { TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { reportFalse } from "./hints.js";

const noResult = { kind: "none" } as const;

type Printable = TileLike | ConstLike | number | boolean | string;
/** Strings can be printed only at compile time. */
type RunTimePrintable = TileLike | ConstLike<any, "int" | "float" | "bool"> | number | boolean;

/**
 * Ends the program with a message if a condition is false: `tl.device_assert(x >= 0, "negative")`. The evaluator always
 * checks the condition. Triton checks it only in debug builds (`TRITON_DEBUG=1`).
 */
export const deviceAssert = defineOp<
  <C>(
    condition: Validate<C, WhyCond<"deviceAssert", C>>,
    message?: string,
    options?: { mask?: TileLike<"int1", any> },
  ) => void
>()({
  name: "deviceAssert",
  operands: { condition: "value", message: "constant?" },
  options: { mask: "value?" },
  effect: "write",
  spelling: { form: "call", name: "tl.device_assert" },
  infer: ({ condition, message, mask }) =>
    whyCond("deviceAssert", condition.type) ||
    (mask && whyCond("deviceAssert", mask.type)) ||
    (message && typeof message.literal !== "string" ? operandKind("deviceAssert: the message is a string") : noResult),
  evaluate: ({ condition, message, mask }, context) => {
    reportFalse(failedAssert(message ? String(message) : undefined), condition, mask, context);
    return [];
  },
});

/**
 * Prints values from the GPU, one line per element: `tl.device_print("x", x)`. The evaluator prints them too, with the
 * program and the lane of each.
 */
export const devicePrint = defineOp<
  (prefix: string, ...values: readonly (RunTimePrintable | { hex?: boolean })[]) => void
>()({
  name: "devicePrint",
  operands: { prefix: "constant", values: "values" },
  options: { hex: "constant?" },
  hasRestOperand: true,
  effect: "write",
  spelling: { form: "call", name: "tl.device_print" },
  infer: ({ prefix, values }) => {
    const text = prefix.literal;
    if (typeof text !== "string" || /[^\t-\r -~]/.test(text))
      return operandKind("devicePrint: the prefix is a string of ASCII characters", 'write tl.devicePrint("x", x)');
    // Triton copies the prefix into a printf format without escaping it.
    if (text.includes("%"))
      return operandKind("devicePrint: a GPU's printf takes % in the prefix for a value's place", "leave it out");
    const isPrintable = values.items.every(
      ({ type }) =>
        type.kind === "tile" || type.kind === "pointer" || (type.kind === "constexpr" && type.of !== "string"),
    );
    return isPrintable ? noResult : operandKind("devicePrint: prints tiles, scalars and numbers");
  },
  evaluate: ({ prefix, values, hex }, context) => {
    context.print(String(prefix), values, hex === true);
    return [];
  },
});

/** Fails compilation if a constexpr condition is false: `tl.static_assert(BLOCK >= 16, "too small")`. */
export const staticAssert = defineOp<(condition: ConstLike<any, "bool"> | boolean, message?: string) => void>()({
  name: "staticAssert",
  operands: { condition: "value", message: "constant?" },
  effect: "write",
  spelling: { form: "call", name: "tl.static_assert" },
  infer: ({ condition, message }) => {
    const { type } = condition;
    if (type.kind !== "constexpr" || type.of !== "bool")
      return wrongCondition(
        "staticAssert: the condition must be known when Triton compiles",
        "use deviceAssert for tiles",
      );
    return message && typeof message.literal !== "string"
      ? operandKind("staticAssert: the message is a string")
      : noResult;
  },
  evaluate: ({ condition, message }, context) => {
    reportFalse(failedAssert(message ? String(message) : undefined), condition, undefined, context);
    return [];
  },
});

/** Prints at compile time: `tl.static_print("BLOCK", BLOCK)`. The evaluator prints nothing. */
export const staticPrint = defineOp<(...values: readonly Printable[]) => void>()({
  name: "staticPrint",
  operands: { values: "values" },
  hasRestOperand: true,
  effect: "write",
  spelling: { form: "call", name: "tl.static_print" },
  infer: () => noResult,
  evaluate: () => [],
});

/**
 * Waits until every thread of the program arrives: `tl.debug_barrier()`. Stores before the barrier are visible to loads
 * after it.
 */
export const debugBarrier = defineOp<() => void>()({
  name: "debugBarrier",
  operands: {},
  effect: "write",
  spelling: { form: "call", name: "tl.debug_barrier" },
  infer: () => noResult,
  evaluate: (_, context) => {
    context.barrier();
    return [];
  },
  facts: { preventsPipelining: true, isBarrier: true },
});
