/** Max pooling over volumes, with the index of each maximum, like torch.nn.functional.max_pool3d. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float32, tl.float16, tl.bfloat16]);

export const maxPool3d = kernel(
  "max_pool3d",
  {
    doc: "The maximum of each KERNEL^3 window of x, STRIDE apart, and its place in the volume D x H x W.",
    params: {
      x: tensor(T, ["N", "C", "D", "H", "W"]),
      y: tensor.out(T, ["N", "C", "OD", "OH", "OW"]),
      indices: tensor.out(tl.int64, ["N", "C", "OD", "OH", "OW"]),
      KERNEL: constexpr.int({ default: 3 }),
      STRIDE: constexpr.int({ default: 2, range: [1, 2 ** 10] }),
      PADDING: constexpr.int({ default: 1, range: [0, 2 ** 10] }),
      BLOCK: constexpr(),
    },
    dims: {
      OD: ({ D, KERNEL, STRIDE, PADDING }) => D.add(PADDING.mul(2)).sub(KERNEL).floorDiv(STRIDE).add(1),
      OH: ({ H, KERNEL, STRIDE, PADDING }) => H.add(PADDING.mul(2)).sub(KERNEL).floorDiv(STRIDE).add(1),
      OW: ({ W, KERNEL, STRIDE, PADDING }) => W.add(PADDING.mul(2)).sub(KERNEL).floorDiv(STRIDE).add(1),
    },
    grid: ({ N, C, OD, OH, OW, BLOCK }) => [N.mul(C), tl.cdiv(OD.mul(OH).mul(OW), BLOCK)],
    // Each window overlaps the volume.
    requires: ({ D, H, W, KERNEL, PADDING }) => [
      PADDING.mul(2).le(KERNEL),
      D.add(PADDING.mul(2)).ge(KERNEL),
      H.add(PADDING.mul(2)).ge(KERNEL),
      W.add(PADDING.mul(2)).ge(KERNEL),
    ],
    autotune: {
      key: ["OD", "OH", "OW", "KERNEL"],
      configs: [
        { BLOCK: 128, numWarps: 4 },
        { BLOCK: 256, numWarps: 4 },
        { BLOCK: 512, numWarps: 8 },
      ],
    },
    reference: ({ x, KERNEL, STRIDE, PADDING }, torch) =>
      torch.nn.functional.max_pool3d(x, KERNEL, STRIDE, PADDING, { return_indices: true }),
    shapes: [
      { N: 2, C: 3, D: 9, H: 14, W: 13 },
      { N: 2, C: 3, D: 8, H: 10, W: 12, KERNEL: 2, STRIDE: 2, PADDING: 0 },
      { N: 16, C: 64, D: 16, H: 56, W: 56 },
    ],
  },
  ({ x, y, indices, C, H, W, OH, OW, KERNEL, STRIDE, PADDING, BLOCK }) => {
    const volume = tl.programId(0);
    const n = tl.inBounds(volume.floorDiv(C));
    const c = tl.inBounds(volume.mod(C));
    const offsets = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
    const od = offsets.floorDiv(OW.mul(OH));
    const oh = tl.inBounds(offsets.floorDiv(OW).mod(OH));
    const ow = tl.inBounds(offsets.mod(OW));
    const firstD = od.mul(STRIDE).sub(PADDING);
    const firstH = oh.mul(STRIDE).sub(PADDING);
    const firstW = ow.mul(STRIDE).sub(PADDING);
    const best = tl.mut(tl.full([BLOCK], -Infinity, tl.float32));
    // The first element of the window in the volume: the maximum if all are -inf.
    const [d0, h0, w0] = [tl.maximum(firstD, 0), tl.maximum(firstH, 0), tl.maximum(firstW, 0)];
    const place = tl.mut(d0.mul(H).add(h0).mul(W).add(w0));
    for (const kd of tl.staticRange(KERNEL)) {
      for (const kh of tl.staticRange(KERNEL)) {
        for (const kw of tl.staticRange(KERNEL)) {
          const d = firstD.add(kd);
          const h = firstH.add(kh);
          const w = firstW.add(kw);
          const value = tl.load(x.gather(n, c, d, h, w), { other: -Infinity }).to(tl.float32);
          // NaN is the maximum of a window that has one, as in PyTorch.
          const better = value.gt(best.value).or(value.ne(value));
          best.value = tl.where(better, value, best.value);
          place.value = tl.where(better, d.mul(H).add(h).mul(W).add(w), place.value);
        }
      }
    }
    tl.store(y.gather(n, c, od, oh, ow), best.value.to(T));
    tl.store(indices.gather(n, c, od, oh, ow), place.value.to(tl.int64));
  },
);

main(import.meta, maxPool3d);
