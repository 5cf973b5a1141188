/** What an author reads when hovering over control flow: each line compiles only where the type is exactly that. */
import { constexpr, kernel, pointer, tensor, tl, type Dim, type Scalar, type Tile, type When } from "tilescript";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(...mismatch: Equal<A, B> extends true ? [] : ["these types differ"]): void {
  void mismatch;
}

const total = tl.fn(<N extends Dim>(x: Tile<"float32", [N]>) => tl.sum(x, 0));
const moved = tl.fn(
  "moved",
  <N extends Dim>(x: Tile<"float32", [N]>, by: Scalar<"float32">) => [x.add(by), by] as const,
  {
    noinline: false,
  },
);

export const probe = kernel(
  "probe",
  {
    params: { a: tensor(tl.float32, ["N"]), p: pointer(tl.float32), FLAG: constexpr.bool(), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64, FLAG: true },
  },
  ({ a, p, N, FLAG, BLOCK }) => {
    const x = tl.load(a.at(tl.arange(0, BLOCK)));
    const i = tl.arange(0, BLOCK);
    const sum = total(x);
    same<typeof sum, Scalar<"float32">>();
    const pair = moved(x, sum);
    same<typeof pair, readonly [Tile<"float32", ["BLOCK"]>, Scalar<"float32">]>();
    const held = tl.when(FLAG, () => x);
    same<typeof held, When<Tile<"float32", ["BLOCK"]>>>();
    same<typeof held.value, Tile<"float32", ["BLOCK"]>>();
    for (const k of tl.range(N, -1, -1)) same<typeof k, Scalar<"int32">>();
    const most = tl.reduce(x, 0, (p, q) => tl.maximum(p, q));
    same<typeof most, Scalar<"float32">>();
    const both = tl.reduce([x, i], 0, ([p, j], [q, k]) => [p.add(q), tl.minimum(j, k)]);
    same<typeof both, [Scalar<"float32">, Scalar<"int32">]>();
    const fixed = tl.reduce([x, i], 0, ([p, j], [q, k]) => [p.add(q), tl.minimum(j, k)] as const);
    same<typeof fixed, [Scalar<"float32">, Scalar<"int32">]>();
    const unknown: any = x;
    const least = tl.minimum(2, unknown);
    same<typeof least, any>();
    const chosen = tl.where(i.gt(3), unknown, 0);
    same<typeof chosen, any>();
    tl.load(p.add(i), { mask: unknown, other: 0 });
    const scanned = tl.associativeScan(i, 0, (p, q) => p.add(q), { reverse: true });
    same<typeof scanned, Tile<"int32", ["BLOCK"]>>();
    const mapped = tl.mapElementwise((p, q) => p.mul(q), x.col, i.row);
    same<typeof mapped, Tile<"float32", ["BLOCK", "BLOCK"]>>();
    const raw = tl.raw("f({0})", [x], { dtype: tl.int8, shape: [BLOCK, 2] });
    same<typeof raw, Tile<"int8", ["BLOCK", 2]>>();
    const bits = tl.inlineAsmElementwise("mov.b32 $0, $1;", "=r,r", [x], tl.int32);
    same<typeof bits, Tile<"int32", ["BLOCK"]>>();
    const two = tl.inlineAsmElementwise("", "=r,=r,r,r", [x.col, i], [tl.int32, tl.float32]);
    same<typeof two, [Tile<"int32", ["BLOCK", "BLOCK"]>, Tile<"float32", ["BLOCK", "BLOCK"]>]>();
  },
);
