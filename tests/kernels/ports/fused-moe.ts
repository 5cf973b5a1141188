/**
 * A mixture of experts in one launch, as inference servers write it: bfloat16, fp8 and int8 arms in one kernel, with
 * scales, a bias and routing weights that the caller may leave out.
 */
import {
  constexpr,
  kernel,
  type MutOf,
  type OptionalTensor,
  type Scalar,
  type ScalarOf,
  tensor,
  type TileOf,
  tl,
} from "tilescript";

/** What tokens and weights are stored in. */
const Q = tl.dtype("Q", [tl.bfloat16, tl.float8e4nv, tl.int8]);
type Products = TileOf<typeof tl.float32, ["BLOCK_M", "BLOCK_N"]>;

/** Which block of tokens and of columns a program computes; neighbors share an expert's matrix in L2. */
function blockOf(pid: Scalar<"int32">, numPidM: Scalar<"int32">, numPidN: Scalar<"int32">, group: number) {
  const inGroup = numPidN.mul(group);
  const first = pid.floorDiv(inGroup).mul(group);
  const size = tl.minimum(numPidM.sub(first), group);
  return [first.add(pid.mod(inGroup).mod(size)), pid.mod(inGroup).floorDiv(size)] as const;
}

/** One step along K: int8 adds up exactly in integers, floats in float32. */
function multiply(
  a: TileOf<typeof Q, ["BLOCK_M", "BLOCK_K"]>,
  b: TileOf<typeof Q, ["BLOCK_K", "BLOCK_N"]>,
  floats: MutOf<typeof tl.float32, ["BLOCK_M", "BLOCK_N"]>,
  integers: MutOf<typeof tl.int32, ["BLOCK_M", "BLOCK_N"]>,
): void {
  tl.when(Q.is(tl.int8), () => {
    integers.value = tl.dot(a.as(tl.int8), b.as(tl.int8), integers.value);
  }).otherwise(() => {
    const F = Q.only(tl.bfloat16, tl.float8e4nv);
    floats.value = tl.dot(a.as(F), b.as(F), floats.value);
  });
}

/** A product times the scale of each token and of each column of its expert, as far as they are given. */
function scaled(
  x: Products,
  ofTokens: OptionalTensor<"float32", ["M"], "in">,
  ofColumns: OptionalTensor<"float32", ["E", "N"], "in">,
  tokens: TileOf<typeof tl.int32, ["BLOCK_M"]>,
  expert: ScalarOf<typeof tl.int32>,
  columns: TileOf<typeof tl.int32, ["BLOCK_N"]>,
): Products {
  const rows = tl.when(ofTokens.given, () => x.mul(tl.load(ofTokens.at(tokens)).col)).otherwise(() => x);
  return tl.when(ofColumns.given, () => rows.mul(tl.load(ofColumns.at(expert, columns)).row)).otherwise(() => rows);
}

export const fusedMoe = kernel(
  "fused_moe",
  {
    doc: "out[t, k] = x[t] @ w[expert of t's choice k]^T, with scales, bias and routing weights where they are given.",
    params: {
      x: tensor(Q, ["M", "K"]),
      w: tensor(Q, ["E", "N", "K"], { offsets: tl.int64 }),
      xScale: tensor(tl.float32, ["M"]).optional(),
      wScale: tensor(tl.float32, ["E", "N"]).optional(),
      bias: tensor(tl.bfloat16, ["E", "N"]).optional(),
      topkWeights: tensor(tl.float32, ["M", "TOP_K"]).optional(),
      // Choices t * TOP_K + k, sorted by expert. Each block has one expert and is padded with M * TOP_K.
      sortedTokenIds: tensor(tl.int32, ["BLOCKS", "BLOCK_M"], { contiguous: true, range: [0, 2 ** 31] }),
      expertIds: tensor(tl.int32, ["BLOCKS"], { range: [0, "E"] }),
      numTokensPostPadded: tensor(tl.int32, [1]),
      out: tensor.out(tl.bfloat16, ["M", "TOP_K", "N"]),
      BLOCK_M: constexpr(),
      BLOCK_N: constexpr(),
      BLOCK_K: constexpr(),
    },
    dims: { BLOCKS: ({ M, TOP_K, E, BLOCK_M }) => tl.cdiv(M.mul(TOP_K).add(E.mul(BLOCK_M.sub(1))), BLOCK_M) },
    grid: ({ N, BLOCKS, BLOCK_N }) => [BLOCKS.mul(tl.cdiv(N, BLOCK_N))],
    config: { BLOCK_N: 64, BLOCK_K: 32 },
    inputs: ({ M, E, TOP_K, BLOCKS, BLOCK_M }, torch) => {
      const choices = M.mul(TOP_K);
      const expert = torch.randint(0, E, [choices]);
      const counts = torch.bincount(expert, { minlength: E });
      const padded = counts.add(BLOCK_M.sub(1)).div(BLOCK_M, { rounding_mode: "floor" }).mul(BLOCK_M);
      const ends = padded.cumsum(0);
      const gaps = ends.sub(padded).sub(counts.cumsum(0).sub(counts));
      const order = torch.argsort(expert, { stable: true });
      const places = torch.arange(choices).add(gaps.index_select(0, expert.index_select(0, order)));
      return {
        sortedTokenIds: torch
          .full([BLOCKS.mul(BLOCK_M)], choices)
          .scatter(0, places, order)
          .view(BLOCKS, BLOCK_M),
        expertIds: torch.searchsorted(ends, torch.arange(BLOCKS).mul(BLOCK_M), { right: true }).clamp(0, E.sub(1)),
        numTokensPostPadded: padded.sum(0, true),
        topkWeights: torch.rand([M, TOP_K]),
      };
    },
    reference: (
      { x, w, xScale, wScale, bias, topkWeights, sortedTokenIds, expertIds, M, N, E, TOP_K, BLOCK_M },
      torch,
    ) => {
      const experts = torch
        .zeros([M.mul(TOP_K).add(1)], { dtype: tl.int64 })
        .scatter(0, sortedTokenIds.flatten().long(), expertIds.long().repeat_interleave(BLOCK_M, 0))
        .narrow(0, 0, M.mul(TOP_K));
      // Multiplies every token with every expert, then picks the choices.
      const tokens = x.to(tl.float32).mul(xScale.otherwise(torch.ones([M])).unsqueeze(-1));
      const columns = w.to(tl.float32).mul(wScale.otherwise(torch.ones([E, N])).unsqueeze(-1));
      const products = torch.matmul(tokens, columns.mT).add(
        bias
          .otherwise(torch.zeros([E, N]))
          .to(tl.float32)
          .unsqueeze(1),
      );
      const picked = products.transpose(0, 1).gather(1, experts.view(M, TOP_K, 1).expand(M, TOP_K, N));
      return picked.mul(topkWeights.otherwise(torch.ones([M, TOP_K])).unsqueeze(-1));
    },
    shapes: [{ M: 19, N: 33, K: 70, E: 4, TOP_K: 2, BLOCK_M: 16 }],
  },
  ({
    x,
    w,
    xScale,
    wScale,
    bias,
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
  }) => {
    const [pidM, pidN] = blockOf(tl.programId(0), BLOCKS, tl.cdiv(N, BLOCK_N), 8);
    tl.when(pidM.mul(BLOCK_M).ge(tl.load(numTokensPostPadded.at(0))), () => tl.exit());

    const block = tl.inBounds(pidM);
    const choices = tl.load(sortedTokenIds.at(block, tl.arange(0, BLOCK_M)));
    // What a block is filled up with is of token M, which the masks leave out.
    const tokens = choices.floorDiv(TOP_K);
    const slots = tl.inBounds(choices.mod(TOP_K));
    const expert = tl.inBounds(tl.load(expertIds.at(block)));
    const rn = pidN.mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
    const bn = tl.inBounds(rn.mod(N));

    const floats = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32));
    const integers = tl.when(Q.is(tl.int8), () => tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.int32))).value;
    for (const k of tl.range(0, K, BLOCK_K)) {
      const rk = k.add(tl.arange(0, BLOCK_K));
      multiply(tl.load(x.at(tokens, rk)), tl.load(w.at(expert, bn, rk).T), floats, integers);
    }
    tl.when(Q.is(tl.int8), () => {
      floats.value = integers.value.to(tl.float32);
    });

    const products = scaled(floats.value, xScale, wScale, tokens, expert, rn);
    const biased = tl
      .when(bias.given, () => products.add(tl.load(bias.at(expert, rn)).to(tl.float32).row))
      .otherwise(() => products);
    const routed = tl
      .when(topkWeights.given, () => biased.mul(tl.load(topkWeights.gather(tokens, slots)).col))
      .otherwise(() => biased);
    tl.store(out.gather(tokens.col, slots.col, rn.row), routed.to(tl.bfloat16));
  },
);
