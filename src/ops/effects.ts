/**
 * Python source, inline assembly, values of one vendor's GPUs, prints and assertions. The evaluator models none of
 * them, except assertions and prints.
 */
import { type Typed, constexprType, none, tileType } from "../types/types.js";
import { fail } from "../diagnostics/diagnostic.js";
import { unknownEffect } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { DType, Element } from "../types/dtype.js";
import type { DimsOf, ShapeArg, Constexpr, ConstLike } from "../types/constexpr.js";
import type { Validate } from "../types/rule-error.js";
import { type AsmOut, inferAsm, inferRaw, type WhyAsmArgs } from "../rules/hint-rules.js";
import type { Tile, Scalar, TileLike } from "../types/tile.js";
import { defineOp, type OpFunction, withRecord } from "./define.js";
import { operandKind, wrongCondition } from "../diagnostics/catalog/rule-codes.js";
import { failedAssert } from "../diagnostics/catalog/finding-codes.js";
import { whyCond, type WhyCond } from "../rules/math-rules.js";
import { reportFalse } from "./hints.js";

type Effects = "pure" | "read" | "write";
type Call = (...args: unknown[]) => unknown;
const itemTypes = (list: Typed | undefined) => list?.items?.map(({ type }) => type) ?? [];

// ---- Python ---------------------------------------------------------------------------------------------------------

function rawOp(effect: Effects): OpFunction<Call> {
  return defineOp<Call>()({
    name: "raw",
    operands: { code: "constant", args: "values" },
    options: { dtype: "dtype?", shape: "shape?" },
    effect,
    spelling: { form: "raw" },
    infer: ({ code, args, dtype, shape }) =>
      inferRaw(String(code.literal), itemTypes(args).length, dtype?.dtype, shape && itemTypes(shape)),
  });
}
const raws = { pure: rawOp("pure"), read: rawOp("read"), write: rawOp("write") };

/**
 * Emits Python source: `tl.raw("tl.math.erf({0})", [x], { dtype: tl.float32, shape: x.shape })`. The first operand
 * replaces `{0}`. The options `dtype` and `shape` declare the result; without `dtype`, the call has no result. The
 * option `effect` is "pure", "read" or "write". Its default is "pure" for a call with a result, and "write" otherwise.
 * The evaluator cannot run a kernel that contains the call.
 */
export const raw = withRecord(raws.pure, ((
  code: unknown,
  args: unknown = [],
  options?: Record<string, unknown> | null,
) => {
  // A call without a result is useful only for its effect.
  const { effect = options?.["dtype"] ? "pure" : "write", ...opOptions } = options ?? {};
  const op = raws[effect as Effects];
  if (!op) fail(unknownEffect.raw(effect), captureLocation());
  return op(code, args, opOptions);
}) as unknown as <const Sh extends readonly unknown[] = [], E extends Element = never>(
  code: string,
  args?: readonly unknown[],
  options?: { dtype?: DType<E>; shape?: ShapeArg<"raw", Sh>; effect?: Effects },
) => [E] extends [never] ? void : Tile<E, DimsOf<Sh>>);

// ---- inline assembly ------------------------------------------------------------------------------------------------

function asmOp(effect: "pure" | "write"): OpFunction<Call> {
  return defineOp<Call>()({
    name: "inlineAsmElementwise",
    operands: {
      asm: "constant",
      constraints: "constant",
      args: "values",
      dtype: "dtype",
      isPure: "constant",
      pack: "constant",
    },
    effect,
    spelling: { form: "call", name: "tl.inline_asm_elementwise", keywords: ["isPure", "pack"] },
    infer: ({ args, dtype }) =>
      inferAsm(
        itemTypes(args),
        (dtype.items ?? [dtype]).map((item) => item.dtype),
      ),
  });
}
const asms = { pure: asmOp("pure"), write: asmOp("write") };

/**
 * Runs assembly for every element: `tl.inlineAsmElementwise("add.f32 $0, $1, $2;", "=f,f,f", [x, y], tl.float32)`.
 * Operands are broadcast. A list of dtypes returns several tiles. Each run of the assembly processes `pack` elements.
 * `isPure: false` prevents reordering.
 */
export const inlineAsmElementwise = withRecord(asms.pure, ((
  asm: unknown,
  constraints: unknown,
  args: unknown,
  dtype: unknown,
  options?: Record<string, unknown> | null,
) => {
  const { isPure = true, pack = 1, ...opOptions } = options ?? {};
  return (isPure ? asms.pure : asms.write)(asm, constraints, args, dtype, isPure, pack, opOptions);
}) as unknown as <const A extends readonly unknown[], const D extends DType<any> | readonly DType<any>[]>(
  asm: string,
  constraints: string,
  args: Validate<A, WhyAsmArgs<A>>,
  dtype: D,
  options?: { isPure?: boolean; pack?: number },
) => AsmOut<A, D>);

// Ops for the GPUs of one vendor.

function gridControl(name: string, python: string) {
  return defineOp<() => void>()({
    name,
    operands: {},
    effect: "write",
    spelling: { form: "call", name: python },
    infer: () => none,
    // The evaluator runs kernels sequentially.
    evaluate: () => [],
  });
}

/** Waits for the previous kernel, in a launch with `launchPdl`: `tl.extra.cuda.gdc_wait()`. */
export const gdcWait = gridControl("gdcWait", "tl.extra.cuda.gdc_wait");
/** Lets the next kernel start: `tl.extra.cuda.gdc_launch_dependents()`. */
export const gdcLaunchDependents = gridControl("gdcLaunchDependents", "tl.extra.cuda.gdc_launch_dependents");

// ---- clocks and unit ids ------------------------------------------------------------------------------------------------

function clock(name: string, python: string) {
  return defineOp<() => Scalar<"int64">>()({
    name,
    operands: {},
    // Prevents reordering and CSE.
    effect: "write",
    spelling: { form: "call", name: python },
    infer: () => tileType("int64", []),
  });
}

/** Nanoseconds of an NVIDIA GPU's global clock: `tl.extra.cuda.globaltimer()`. */
export const globaltimer = clock("globaltimer", "tl.extra.cuda.globaltimer");
/** Ticks of an AMD GPU's global clock: `tl.extra.hip.memrealtime()`. */
export const memrealtime = clock("memrealtime", "tl.extra.hip.memrealtime");

function unitId(name: string, python: string, since39 = false) {
  return defineOp<() => Scalar<"int32">>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => tileType("int32", []),
    facts: { nonNegative: () => true },
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** The multiprocessor of an NVIDIA GPU that runs this program: `tl.extra.cuda.smid()`. */
export const smid = unitId("smid", "tl.extra.cuda.smid");
/** The compute unit of an AMD GPU that runs this wave: `tl.extra.hip.smid()`. Needs Triton 3.9. */
export const hipSmid = unitId("hipSmid", "tl.extra.hip.smid", true);

function count<Name extends string>(name: Name, python: string, since39 = false) {
  return defineOp<() => Constexpr<`${Name}()`>>()({
    name,
    operands: {},
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: () => constexprType("int", `${name}()`),
    facts: { nonNegative: () => true },
    needs: { needsTriton39: since39 ? () => true : undefined },
  });
}

/** The number of warps of a program, on NVIDIA GPUs: `tl.extra.cuda.num_warps()`. */
export const numWarps = count("numWarps", "tl.extra.cuda.num_warps");
/** The number of threads of a program, on NVIDIA GPUs: `tl.extra.cuda.num_threads()`. */
export const numThreads = count("numThreads", "tl.extra.cuda.num_threads");
/** The number of waves of a program, on AMD GPUs: `tl.extra.hip.num_warps()`. Needs Triton 3.9. */
export const hipNumWarps = count("hipNumWarps", "tl.extra.hip.num_warps", true);
/** The number of threads of a program, on AMD GPUs: `tl.extra.hip.num_threads()`. Needs Triton 3.9. */
export const hipNumThreads = count("hipNumThreads", "tl.extra.hip.num_threads", true);

// Assertions, printing and barriers. All are side effects, so they are not reordered.

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
