/** Integer helpers that exist on the host too. */
import type { Checked } from "../ir/problem.js";
import type { ConstLike } from "../ir/constexpr.js";
import {
  type CdivOut,
  inferCdiv,
  type NextPowerOut,
  type WhyCdiv,
  whyInts,
  type WhyInts,
} from "../ir/signatures-math.js";
import type { TileLike } from "../ir/tile.js";
import { defineOp } from "./define.js";
import { binary } from "./evaluate.js";
import { constexprType } from "../ir/types.js";

/** How many blocks of `y` cover `x`: `tl.cdiv(M, BLOCK_M)`. Neither may be negative. */
export const cdiv = defineOp<
  <const X, const Y>(x: Checked<X, WhyInts<"cdiv", X>>, y: Checked<Y, WhyCdiv<X, Y>>) => CdivOut<X, Y>
>({
  name: "cdiv",
  operands: { x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.cdiv" },
  host: { form: "call", name: "triton.cdiv" },
  infer: ({ x, y }) => inferCdiv(x!.type, y!.type),
  fold: (x, y) => Math.floor((Number(x) + Number(y) - 1) / Number(y)),
  evaluate: binary({
    int: (x, y) => (y === 0 ? 0 : Math.trunc((x + y - 1) / y)),
    big: (x, y) => (y === 0n ? 0n : (x + y - 1n) / y),
  }),
  nonNegative: (signs) => signs.every(Boolean),
});

type HostInt<X> = X extends TileLike | number | ConstLike<any, "int">
  ? WhyInts<"nextPowerOf2", X>
  : "nextPowerOf2: needs a size";

/** The smallest power of two that is not below `x`, on the host: `triton.next_power_of_2(N)`. */
export const nextPowerOf2 = defineOp<<const X>(x: Checked<X, HostInt<X>>) => NextPowerOut<X>>({
  name: "nextPowerOf2",
  operands: { x: "value" },
  effect: "pure",
  hostOnly: true,
  spelling: { form: "call", name: "triton.next_power_of_2" },
  host: { form: "call", name: "triton.next_power_of_2" },
  infer: ({ x }) => {
    const why = whyInts("nextPowerOf2", x!.type);
    const text = x!.type.kind === "constexpr" ? x!.type.text : "size";
    return why || constexprType("int", `next_power_of_2(${text})`);
  },
  fold: (x) => (Number(x) <= 0 ? 0 : 2 ** Math.ceil(Math.log2(Number(x)))),
  nonNegative: (signs) => signs.every(Boolean),
});
