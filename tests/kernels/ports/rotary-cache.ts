/**
 * Rotary embedding of queries and keys, fused with the write of keys and values into a paged cache. A flag decides
 * whether a token has one position or three (time, height and width of a picture), so whether positions are a row or a
 * matrix. The rotated keys and the caches are there only where the caller wants them.
 */
import { constexpr, kernel, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.bfloat16, tl.float32]);

export const rotaryCache = kernel(
  "rotary_cache",
  {
    params: {
      q: tensor(T, ["TOKENS", "Q_HEADS", "D"]),
      k: tensor(T, ["TOKENS", "K_HEADS", "D"]),
      v: tensor(T, ["TOKENS", "K_HEADS", "D"]),
      positions: tensor(tl.int64, ["AXES", "TOKENS"], { range: [0, "P"] }),
      cos: tensor(tl.float32, ["P", "HALF"]),
      sin: tensor(tl.float32, ["P", "HALF"]),
      slots: tensor(tl.int64, ["TOKENS"], { range: [0, "SLOTS"] }).optional(),
      keyCache: tensor.inout(T, ["SLOTS", "K_HEADS", "D"]).optional(),
      valueCache: tensor.inout(T, ["SLOTS", "K_HEADS", "D"]).optional(),
      qOut: tensor.out(T, ["TOKENS", "Q_HEADS", "D"]),
      kOut: tensor.out(T, ["TOKENS", "K_HEADS", "D"]).optional(),
      /** 1 where tokens have three positions. */
      PICTURES: constexpr.int({ default: 0 }),
      /** Where the lanes of heights and of widths begin. */
      HEIGHTS: constexpr.int({ default: 2 }),
      WIDTHS: constexpr.int({ default: 3 }),
      BLOCK: constexpr(),
    },
    dims: { AXES: ({ PICTURES }) => PICTURES.mul(2).add(1), D: ({ HALF }) => HALF.mul(2) },
    grid: ({ TOKENS, Q_HEADS, K_HEADS }) => [TOKENS, Q_HEADS.add(K_HEADS)],
    config: ({ HALF }) => ({ BLOCK: tl.nextPowerOf2(HALF), numWarps: 1 }),
    requires: ({ SLOTS, TOKENS, PICTURES }) => [SLOTS.ge(TOKENS).or(SLOTS.eq(0)), PICTURES.ge(0), PICTURES.le(1)],
    inputs: ({ TOKENS }, torch) => ({ slots: torch.arange(TOKENS).flip([0]) }),
    reference: (
      {
        q,
        k,
        v,
        positions,
        cos,
        sin,
        slots,
        keyCache,
        valueCache,
        TOKENS,
        K_HEADS,
        HALF,
        D,
        PICTURES,
        HEIGHTS,
        WIDTHS,
      },
      torch,
    ) => {
      const lanes = torch.arange(HALF);
      const axis = lanes.ge(HEIGHTS).long().add(lanes.ge(WIDTHS).long()).mul(PICTURES);
      const position = torch.gather(positions, 0, axis.unsqueeze(1).expand(HALF, TOKENS)).t();
      const [c, s] = [cos, sin].map((table) => torch.gather(table, 0, position).unsqueeze(1)) as [
        typeof cos,
        typeof sin,
      ];
      const rotated = (x: typeof q) => {
        const [left, right] = [x.narrow(2, 0, HALF), x.narrow(2, HALF, HALF)];
        return torch.cat([left.mul(c).sub(right.mul(s)), right.mul(c).add(left.mul(s))], 2);
      };
      const places = slots.otherwise(torch.arange(TOKENS)).unsqueeze(1).unsqueeze(2).expand(TOKENS, K_HEADS, D);
      return {
        keyCache: keyCache.otherwise(k).scatter(0, places, rotated(k).to(k.dtype)),
        valueCache: valueCache.otherwise(v).scatter(0, places, v),
        qOut: rotated(q),
        kOut: rotated(k),
      };
    },
    shapes: [{ TOKENS: 5, Q_HEADS: 4, K_HEADS: 2, HALF: 8, P: 32, SLOTS: 16, PICTURES: 1 }],
  },
  (args) => {
    const { q, k, v, positions, cos, sin, slots, keyCache, valueCache, qOut, kOut } = args;
    const { Q_HEADS, HALF, PICTURES, HEIGHTS, WIDTHS, BLOCK } = args;
    const token = tl.inBounds(tl.programId(0));
    const head = tl.programId(1);
    const lanes = tl.arange(0, BLOCK);
    const isLane = lanes.lt(HALF);
    const axis = lanes.ge(HEIGHTS).to(tl.int32).add(lanes.ge(WIDTHS).to(tl.int32)).mul(PICTURES);
    const position = tl.load(positions.gather(tl.inBounds(axis), token), { mask: isLane, other: 0 });
    const c = tl.load(cos.gather(position, lanes));
    const s = tl.load(sin.gather(position, lanes));

    tl.when(head.lt(Q_HEADS), () => {
      const left = tl.load(q.at(token, head, lanes), { mask: isLane }).to(tl.float32);
      const right = tl.load(q.at(token, head, lanes.add(HALF))).to(tl.float32);
      tl.store(qOut.at(token, head, lanes), left.mul(c).sub(right.mul(s)).to(T), { mask: isLane });
      tl.store(qOut.at(token, head, lanes.add(HALF)), right.mul(c).add(left.mul(s)).to(T));
    }).otherwise(() => {
      const own = head.sub(Q_HEADS);
      const left = tl.load(k.at(token, own, lanes), { mask: isLane }).to(tl.float32);
      const right = tl.load(k.at(token, own, lanes.add(HALF))).to(tl.float32);
      const low = left.mul(c).sub(right.mul(s)).to(T);
      const high = right.mul(c).add(left.mul(s)).to(T);
      tl.when(kOut.given, () => {
        tl.store(kOut.at(token, own, lanes), low, { mask: isLane });
        tl.store(kOut.at(token, own, lanes.add(HALF)), high);
      });
      tl.when(slots.given.and(keyCache.given), () => {
        const slot = tl.load(slots.at(token));
        tl.store(keyCache.at(slot, own, lanes), low, { mask: isLane });
        tl.store(keyCache.at(slot, own, lanes.add(HALF)), high);
      });
      tl.when(slots.given.and(valueCache.given), () => {
        const slot = tl.load(slots.at(token));
        tl.store(valueCache.at(slot, own, lanes), tl.load(v.at(token, own, lanes), { mask: isLane }), { mask: isLane });
        const rest = lanes.add(HALF);
        tl.store(valueCache.at(slot, own, rest), tl.load(v.at(token, own, rest)));
      });
    });
  },
);
