/** The arc sine of each element, from the GPU's own library: libdevice adds functions that `tl` lacks. */
import { constexpr, kernel, libdevice, main, tensor, tl } from "tilescript";

export const asin = kernel(
  "asin",
  {
    doc: "The arc sine of each element, in radians; NaN outside [-1, 1].",
    params: {
      x: tensor(tl.float32, ["N"], { contiguous: true, range: [-1, 1] }),
      y: tensor.out(tl.float32, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x }, torch) => torch.asin(x),
    shapes: [{ N: 98_432 }, { N: 1 << 26 }],
  },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    // CUDA's or HIP's, whichever Triton compiles for.
    tl.store(y.at(offsets), libdevice.asin(tl.load(x.at(offsets))));
  },
);

main(import.meta, asin);
