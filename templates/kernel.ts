/** A kernel to start from: it does in one pass over memory what PyTorch would do in two. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

export const starter = kernel(
  "starter",
  {
    doc: "relu(x + y), element by element.",
    params: {
      x: tensor(T, ["N"]),
      y: tensor(T, ["N"]),
      z: tensor.out(T, ["N"]),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 1024, numWarps: 4 },
        { BLOCK: 4096, numWarps: 8 },
      ],
    },
    // The expected result. Every run compares with it.
    reference: ({ x, y }, torch) => torch.relu(x.add(y)),
    shapes: [{ N: 1_000_000 }],
  },
  ({ x, y, z, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.load(x.at(offsets)).add(tl.load(y.at(offsets)));
    tl.store(z.at(offsets), tl.maximum(sum, 0));
  },
);

main(import.meta, starter);
