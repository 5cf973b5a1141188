/**
 * One-shot all-reduce over the GPUs of one host: each GPU reads the buffers of all, adds them up and has the sum. For
 * short vectors this is faster than passing parts around, because it takes one step; for long ones the links between
 * the GPUs carry more than they must.
 *
 * The buffers are PyTorch's symmetric memory, which each GPU can address: to the kernel they are tensors like others.
 * What belongs to several GPUs stands around the kernel, in `all_reduce_ranks.py`: who has which buffer, and the
 * barriers that keep a buffer from being read before it is written, or written while it is read. All ranks add in the
 * same order, so all get the same bits.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.bfloat16, tl.float16, tl.float32]);

/** The buffer of a rank. Those beyond the number of GPUs are left out, and Triton compiles no load for them. */
const buffer = tensor(T, ["N"], { contiguous: true });
const peer = () => buffer.optional();

export const allReduce = kernel(
  "all_reduce",
  {
    doc: "The sum of the vectors of up to eight ranks, in float32, in the order of the ranks.",
    params: {
      rank0: buffer,
      rank1: peer(),
      rank2: peer(),
      rank3: peer(),
      rank4: peer(),
      rank5: peer(),
      rank6: peer(),
      rank7: peer(),
      y: tensor.out(T, ["N"], { contiguous: true }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: {
      key: ["N"],
      configs: [
        { BLOCK: 512, numWarps: 2 },
        { BLOCK: 1024, numWarps: 4 },
        { BLOCK: 4096, numWarps: 8 },
      ],
    },
    reference: ({ rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, N }, torch) =>
      [rank1, rank2, rank3, rank4, rank5, rank6, rank7]
        .reduce((sum, each) => sum.add(each.otherwise(torch.zeros([N])).float()), rank0.float())
        .to(rank0.dtype),
    shapes: [{ N: 100_003 }, { N: 1 << 20 }],
  },
  ({ rank0, rank1, rank2, rank3, rank4, rank5, rank6, rank7, y, BLOCK }) => {
    const peers = [rank1, rank2, rank3, rank4, rank5, rank6, rank7];
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const total = tl.mut(tl.load(rank0.at(places)).to(tl.float32));
    for (const each of peers)
      tl.when(each.given, () => {
        total.value = total.value.add(tl.load(each.at(places)).to(tl.float32));
      });
    tl.store(y.at(places), total.value.to(T));
  },
);

main(import.meta, allReduce);
