/** Kernels whose indices are hard to follow: pairs at a distance, patches, triangles, groups of tiles. */
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";

/** One stage of an FFT in place: pairs at distance H. */
export const butterfly = kernel(
  "butterfly",
  {
    params: {
      re: tensor.inout(tl.float32, ["N"], { contiguous: true }),
      im: tensor.inout(tl.float32, ["N"], { contiguous: true }),
      wr: tensor(tl.float32, ["H"], { contiguous: true }),
      wi: tensor(tl.float32, ["H"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N.floorDiv(2), BLOCK)],
    config: { BLOCK: 256 },
    requires: ({ N, H }) => [N.le(2 ** 30), H.ge(1), N.mod(H.mul(2)).eq(0)],
    shapes: [{ N: 1024, H: 8 }],
  },
  ({ re, im, wr, wi, N, H, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const mask = i.lt(N.floorDiv(2));
    const k = i.mod(H);
    const a = i.floorDiv(H).mul(H.mul(2)).add(k);
    const b = a.add(H);
    const [ar, ai] = [
      tl.load(re.at(tl.inBounds(a)), { mask, other: 0 }),
      tl.load(im.at(tl.inBounds(a)), { mask, other: 0 }),
    ];
    const [br, bi] = [
      tl.load(re.at(tl.inBounds(b)), { mask, other: 0 }),
      tl.load(im.at(tl.inBounds(b)), { mask, other: 0 }),
    ];
    const [cr, ci] = [tl.load(wr.at(tl.inBounds(k))), tl.load(wi.at(tl.inBounds(k)))];
    const [tr, ti] = [br.mul(cr).sub(bi.mul(ci)), br.mul(ci).add(bi.mul(cr))];
    tl.store(re.at(tl.inBounds(a)), ar.add(tr), { mask });
    tl.store(im.at(tl.inBounds(a)), ai.add(ti), { mask });
    tl.store(re.at(tl.inBounds(b)), ar.sub(tr), { mask });
    tl.store(im.at(tl.inBounds(b)), ai.sub(ti), { mask });
  },
);

/** One step of a bitonic sort, at a distance that the caller gives. */
export const bitonic = kernel(
  "bitonic",
  {
    params: {
      x: tensor.inout(tl.float32, ["N"], { contiguous: true }),
      J: scalar(tl.int32, { default: 4 }),
      K: scalar(tl.int32, { default: 16 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N.floorDiv(2), BLOCK)],
    config: { BLOCK: 256 },
    requires: ({ N, J, K }) => [N.le(2 ** 28), J.le(2 ** 28), J.ge(1), K.mod(J.mul(2)).eq(0), K.ge(1), N.mod(K).eq(0)],
    shapes: [{ N: 1024 }],
  },
  ({ x, J, K, N, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const mask = i.lt(N.floorDiv(2));
    const a = i.floorDiv(J).mul(J.mul(2)).add(i.mod(J));
    const b = a.add(J);
    const [u, v] = [
      tl.load(x.at(tl.inBounds(a)), { mask, other: 0 }),
      tl.load(x.at(tl.inBounds(b)), { mask, other: 0 }),
    ];
    const up = a.floorDiv(K).mod(2).eq(0);
    tl.store(x.at(tl.inBounds(a)), tl.where(up, tl.minimum(u, v), tl.maximum(u, v)), { mask });
    tl.store(x.at(tl.inBounds(b)), tl.where(up, tl.maximum(u, v), tl.minimum(u, v)), { mask });
  },
);

/** Patches of an image as columns. */
export const im2col = kernel(
  "im2col",
  {
    params: {
      x: tensor(tl.float32, ["C", "H", "W"]),
      col: tensor.out(tl.float32, ["C", "KH", "KW", "OH", "OW"]),
      STRIDE: constexpr.int({ default: 1, range: [1, 16] }),
      PAD: constexpr.int({ default: 1, range: [0, 16] }),
      BLOCK: constexpr(),
    },
    grid: ({ C, KH, KW, OH, OW, BLOCK }) => [C.mul(KH).mul(KW), tl.cdiv(OH.mul(OW), BLOCK)],
    config: { BLOCK: 256 },
    requires: ({ KH, KW }) => [KH.le(2 ** 30), KW.le(2 ** 30)],
    shapes: [{ C: 3, H: 16, W: 16, KH: 3, KW: 3, OH: 16, OW: 16 }],
  },
  ({ x, col, KH, KW, OW, OH, STRIDE, PAD, BLOCK }) => {
    const row = tl.programId(0);
    const c = row.floorDiv(KH.mul(KW));
    const kh = row.floorDiv(KW).mod(KH);
    const kw = row.mod(KW);
    const p = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const oh = p.floorDiv(OW);
    const ow = p.mod(OW);
    const h = oh.mul(STRIDE).add(kh).sub(PAD);
    const w = ow.mul(STRIDE).add(kw).sub(PAD);
    const value = tl.load(x.gather(c, h, w), { other: 0 });
    tl.store(col.gather(c, kh, kw, oh, ow), value, { mask: p.lt(OH.mul(OW)) });
  },
);

/** The lower triangle of a matrix, row after row. */
export const packTriangle = kernel(
  "pack_triangle",
  {
    params: {
      x: tensor(tl.float32, ["N", "N"]),
      y: tensor.out(tl.float32, ["T"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [N, tl.cdiv(N, BLOCK)],
    config: { BLOCK: 128 },
    requires: ({ N, T }) => [T.le(2 ** 30), T.eq(N.mul(N.add(1)).floorDiv(2))],
    shapes: [{ N: 64, T: (64 * 65) / 2 }],
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0);
    const j = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const at = i.mul(i.add(1)).floorDiv(2).add(j);
    tl.store(y.at(at), tl.load(x.at(i, j)), { mask: j.le(i) });
  },
);

/** Tiles in groups of rows, as in Triton's tutorial. */
export const grouped = kernel(
  "grouped",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      y: tensor.out(tl.float32, ["M", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      GROUP_M: constexpr(),
    },
    grid: ({ M, N, BLOCK_M, BLOCK_N }) => [tl.cdiv(M, BLOCK_M).mul(tl.cdiv(N, BLOCK_N))],
    config: { BLOCK_M: 64, BLOCK_N: 64, GROUP_M: 8 },
    shapes: [{ M: 256, N: 256 }],
  },
  ({ x, y, M, N, BLOCK_M, BLOCK_N, GROUP_M }) => {
    const pid = tl.programId(0);
    const [rows, cols] = [tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)];
    const perGroup = cols.mul(GROUP_M);
    const first = pid.floorDiv(perGroup).mul(GROUP_M);
    const size = tl.minimum(rows.sub(first), GROUP_M);
    const m = first.add(pid.mod(perGroup).mod(size)).mul(BLOCK_M).add(tl.arange(0, BLOCK_M));
    const n = pid.mod(perGroup).floorDiv(size).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    tl.store(y.at(m, n), tl.load(x.at(m, n)));
  },
);
