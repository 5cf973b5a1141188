/** Python source and inline assembly, which TileScript does not model. */
import type { Typed } from "../types/types.js";
import { fail } from "../diagnostics/diagnostic.js";
import { unknownEffect } from "../diagnostics/catalog/operand-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { DType, Element } from "../types/dtype.js";
import type { DimsOf, ShapeArg } from "../types/constexpr.js";
import type { Validate } from "../types/rule-error.js";
import { type AsmOut, inferAsm, inferRaw, type WhyAsmArgs } from "../rules/escape-rules.js";
import type { Tile } from "../types/tile.js";
import { defineOp, type OpFunction, withRecord } from "./define.js";

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
