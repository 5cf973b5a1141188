/**
 * Matrix products of a mixture of experts: each token times the matrices of its experts, in one launch.
 *
 * Who sorts the tokens by expert chooses BLOCK_M: 128 where experts have hundreds of tokens, so that what is loaded is
 * multiplied more often, and 16 for a few, so that little is filled up.
 */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const moeGemm = kernel(
  "moe_gemm",
  {
    doc: "out[t, k] = x[t] @ w[expert of t's choice k]^T, times the choice's routing weight where weights are given.",
    params: {
      x: tensor(T, ["M", "K"]),
      w: tensor(T, ["E", "N", "K"], { offsets: tl.int64 }),
      topkWeights: tensor(tl.float32, ["M", "TOP_K"]).optional(),
      // Choices t * TOP_K + k, sorted by expert. Each block has one expert and is padded with M * TOP_K.
      sortedTokenIds: tensor(tl.int32, ["BLOCKS", "BLOCK_M"], { contiguous: true, range: [0, 2 ** 31] }),
      expertIds: tensor(tl.int32, ["BLOCKS"], { range: [0, "E"] }),
      numTokensPostPadded: tensor(tl.int32, [1]),
      out: tensor.out(T, ["M", "TOP_K", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
      GROUP_M: constexpr(),
    },
    dims: {
      // The largest possible number of blocks: each expert may leave one partly filled.
      BLOCKS: ({ M, TOP_K, E, BLOCK_M }) => tl.cdiv(M.mul(TOP_K).add(E.mul(BLOCK_M.sub(1))), BLOCK_M),
    },
    grid: ({ N, BLOCKS, BLOCK_N }) => [BLOCKS.mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N", "K", "BLOCK_M"],
      configs: [
        { BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_N: 256, BLOCK_K: 64, GROUP_M: 8, numWarps: 8, numStages: 3 },
        { BLOCK_N: 128, BLOCK_K: 64, GROUP_M: 1, numWarps: 4, numStages: 3 },
        { BLOCK_N: 64, BLOCK_K: 128, GROUP_M: 8, numWarps: 4, numStages: 3 },
        { BLOCK_N: 64, BLOCK_K: 32, GROUP_M: 8, numWarps: 4, numStages: 4 },
      ],
    },
    inputs: ({ M, E, TOP_K, BLOCKS, BLOCK_M }, torch) => {
      const choices = M.mul(TOP_K);
      const expert = torch.randint(0, E, [choices]);
      const order = torch.argsort(expert, { stable: true });
      const counts = torch.bincount(expert, { minlength: E });
      const padded = counts.add(BLOCK_M.sub(1)).div(BLOCK_M, { rounding_mode: "floor" }).mul(BLOCK_M);
      const ends = padded.cumsum(0);
      // The index of a choice among all, plus the padding of the experts before its own.
      const gaps = ends.sub(padded).sub(counts.cumsum(0).sub(counts));
      const places = torch.arange(choices).add(gaps.index_select(0, expert.index_select(0, order)));
      const ids = torch.full([BLOCKS.mul(BLOCK_M)], choices).scatter(0, places, order);
      return {
        sortedTokenIds: ids.view(BLOCKS, BLOCK_M),
        expertIds: torch.searchsorted(ends, torch.arange(BLOCKS).mul(BLOCK_M), { right: true }).clamp(0, E.sub(1)),
        numTokensPostPadded: padded.sum(0, { keepdim: true }),
        topkWeights: torch.rand([M, TOP_K]),
      };
    },
    reference: ({ x, w, topkWeights, sortedTokenIds, expertIds, M, N, TOP_K, BLOCK_M }, torch) => {
      const choices = sortedTokenIds.flatten().long();
      const experts = torch.zeros([M.mul(TOP_K).add(1)], { dtype: tl.int64 });
      const chosen = experts
        .scatter(0, choices, expertIds.long().repeat_interleave(BLOCK_M, 0))
        .narrow(0, 0, M.mul(TOP_K));
      // Multiplies every token with every expert, then picks the choices.
      const products = torch.matmul(x, w.mT).transpose(0, 1);
      const picked = products.gather(1, chosen.view(M, TOP_K, 1).expand(M, TOP_K, N));
      return picked.mul(topkWeights.otherwise(torch.ones([M, TOP_K])).unsqueeze(-1));
    },
    shapes: [
      { M: 19, N: 33, K: 40, E: 4, TOP_K: 2, BLOCK_M: 16 },
      { M: 4096, N: 4096, K: 2048, E: 8, TOP_K: 2, BLOCK_M: 128 },
    ],
  },
  ({
    x,
    w,
    topkWeights,
    sortedTokenIds,
    expertIds,
    numTokensPostPadded,
    out,
    N,
    K,
    TOP_K,
    BLOCKS,
    BLOCK_M,
    BLOCK_N,
    BLOCK_K,
    GROUP_M,
  }) => {
    // Grouped order: neighboring programs share a block of tokens, and an expert's matrix, in L2.
    const pid = tl.programId(0);
    const numPidN = tl.cdiv(N, BLOCK_N);
    const numPidInGroup = numPidN.mul(GROUP_M);
    const firstPidM = pid.floorDiv(numPidInGroup).mul(GROUP_M);
    const groupSizeM = tl.minimum(BLOCKS.sub(firstPidM), GROUP_M);
    const pidM = firstPidM.add(pid.mod(numPidInGroup).mod(groupSizeM));
    const pidN = pid.mod(numPidInGroup).floorDiv(groupSizeM);
    tl.when(pidM.mul(BLOCK_M).ge(tl.load(numTokensPostPadded.at(0))), () => tl.exit());

    const block = tl.inBounds(pidM);
    const choices = tl.load(sortedTokenIds.at(block, tl.arange(0, BLOCK_M)));
    // What a block is filled up with is of token M, which the masks leave out.
    const tokens = choices.floorDiv(TOP_K);
    const slots = tl.inBounds(choices.mod(TOP_K));
    const expert = tl.inBounds(tl.load(expertIds.at(block)));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const bn = tl.inBounds(rn.mod(N));
    const acc = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      const a = tl.load(x.at(tokens, rk));
      const b = tl.load(w.at(expert, bn, rk).T);
      acc.value = tl.dot(a, b, acc.value);
    }
    tl.when(topkWeights.given, () => {
      acc.value = acc.value.mul(tl.load(topkWeights.gather(tokens, slots)).col);
    });
    const place = tl.trusted(out.gather(tokens.col, slots.col, rn.row), "sortedTokenIds holds each choice once");
    tl.store(place, acc.value.to(T));
  },
);

main(import.meta, moeGemm);
