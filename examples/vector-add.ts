/** The sum of two vectors: the smallest kernel. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

export const vectorAdd = kernel(
  "vector_add",
  {
    doc: "x + y, element by element.",
    params: {
      x: tensor(tl.float32, ["N"], { contiguous: true }),
      y: tensor(tl.float32, ["N"], { contiguous: true }),
      z: tensor.out(tl.float32, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 1024 },
    reference: ({ x, y }) => x.add(y),
    shapes: [{ N: 100_000 }, { N: 1 << 26 }],
  },
  ({ x, y, z, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(z.at(offsets), tl.load(x.at(offsets)).add(tl.load(y.at(offsets))));
  },
);

main(import.meta, vectorAdd);
