/** Types of what a kernel's callbacks get: checked by tsc, never run. */
import {
  constexpr,
  kernel,
  tensor,
  tl,
  type ConstBool,
  type Constexpr,
  type DType,
  type OneOf,
  type Tile,
} from "tilescript";

/** Compiles where both types are one. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(holds: Same<A, B>): void;

const T = tl.dtype("T", [tl.float16, tl.float32]);
const I = tl.dtype("I", [tl.int32, tl.uint32]);

export const typed = kernel(
  "typed",
  {
    params: {
      x: tensor(T, ["N"]),
      y: tensor.out(T, ["N"]),
      OUT: constexpr.dtype([tl.float16, tl.bfloat16]),
      CHOSEN: constexpr.dtype(T, { default: tl.float16 }),
      EVEN: constexpr.launch.bool(({ N }) => N.mod(16).eq(0)),
      FLAG: constexpr.bool(),
      HALF: constexpr(),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    heuristics: { FLAG: ({ N, BLOCK }) => N.mod(BLOCK).eq(0), HALF: ({ BLOCK }) => BLOCK.floorDiv(2) },
    config: { BLOCK: 64 },
  },
  ({ OUT, CHOSEN, EVEN, FLAG, HALF, BLOCK }) => {
    same<typeof OUT, DType<OneOf<"OUT", ["float16", "bfloat16"]>>>(true);
    same<typeof CHOSEN, DType<OneOf<"T", ["float16", "float32"]>>>(true);
    same<typeof EVEN, ConstBool<"EVEN">>(true);
    same<typeof FLAG, ConstBool<"FLAG">>(true);
    same<typeof HALF, Constexpr<"HALF">>(true);
    const zeros = tl.zeros([BLOCK], OUT);
    same<typeof zeros, Tile<OneOf<"OUT", ["float16", "bfloat16"]>, ["BLOCK"]>>(true);
    same<typeof OUT.bits, 16>(true);
    same<typeof T.bits, Constexpr<"T.bits">>(true);
    same<typeof T.isFloating, true>(true);
    same<typeof I.isSigned, ConstBool<"I.isSigned">>(true);
  },
);
