/**
 * The largest element of each row and its column, written to every peer that is given: a tuple of tensors whose length
 * a call decides. A list of optional tensors is such a tuple; JavaScript's loop over it is unrolled, and Triton compiles
 * only the stores to those that are there.
 */
import { constexpr, kernel, type OptionalTensor, tensor, tl } from "tilescript";

const peer = () => tensor.inout(tl.float32, ["WORLD", "M"]).optional();

export const topPeers = kernel(
  "top_peers",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      peer0: peer(),
      peer1: peer(),
      peer2: peer(),
      peer3: peer(),
      columns: tensor.out(tl.int32, ["M"]),
      RANK: constexpr.int({ default: 0 }),
      BLOCK: constexpr(),
    },
    grid: ({ M, device }) => [tl.minimum(M, device.multiProcessorCount)],
    config: ({ N }) => ({
      BLOCK: tl.nextPowerOf2(N),
      numWarps: tl.minimum(tl.maximum(tl.nextPowerOf2(N).floorDiv(256), 1), 8),
    }),
    requires: ({ RANK, WORLD }) => [RANK.ge(0), RANK.lt(WORLD).or(WORLD.eq(0))],
    reference: ({ x, peer0, peer1, peer2, peer3, M, RANK }, torch) => {
      const best = x.amax(1);
      const row = torch.zeros([1, M]).long().add(RANK);
      const written = (each: typeof peer0) =>
        each.otherwise(torch.zeros([RANK.add(1), M])).scatter(0, row, best.unsqueeze(0));
      return {
        peer0: written(peer0),
        peer1: written(peer1),
        peer2: written(peer2),
        peer3: written(peer3),
        columns: x.argmax(1),
      };
    },
    shapes: [{ M: 7, N: 100, WORLD: 4, RANK: 2 }],
  },
  ({ x, peer0, peer1, peer2, peer3, columns, RANK, M, N, BLOCK }) => {
    const peers: readonly OptionalTensor<"float32", ["WORLD", "M"], "inout">[] = [peer0, peer1, peer2, peer3];
    const lanes = tl.arange(0, BLOCK);
    for (const row of tl.range(tl.programId(0), M, tl.numPrograms(0))) {
      const values = tl.load(x.at(row, lanes), { mask: lanes.lt(N), other: -Infinity });
      const [best, column] = tl.max(values, 0, { returnIndices: true });
      tl.store(columns.at(row), column);
      for (const each of peers) tl.when(each.given, () => tl.store(each.at(RANK, row), best));
    }
  },
);
