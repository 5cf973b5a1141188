/** The output of Mamba-2's state space duality: attention with decay inside a chunk, plus the incoming state's part. */
import { constexpr, kernel, main, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const chunkScan = kernel(
  "mamba_chunk_scan",
  {
    doc: "y_l = exp(decay_l) c_l · state + skip x_l + Σ_{s ≤ l} exp(decay_l - decay_s) (c_l · b_s) dt_s x_s, for each chunk and head.",
    params: {
      x: tensor(T, ["BATCH", "CHUNKS", "CHUNK", "HEADS", "HEAD_DIM"]),
      dt: tensor(tl.float32, ["BATCH", "CHUNKS", "CHUNK", "HEADS"], { range: [0, 0.1] }),
      // The sum of dt · A up to each position of the chunk.
      decay: tensor(tl.float32, ["BATCH", "CHUNKS", "CHUNK", "HEADS"], { range: [-1, 0] }),
      // All heads share B and C.
      b: tensor(T, ["BATCH", "CHUNKS", "CHUNK", "STATE"], { range: [-1, 1] }),
      c: tensor(T, ["BATCH", "CHUNKS", "CHUNK", "STATE"], { range: [-1, 1] }),
      state: tensor(T, ["BATCH", "CHUNKS", "HEADS", "STATE", "HEAD_DIM"]),
      skip: tensor(tl.float32, ["HEADS"]),
      y: tensor.out(T, ["BATCH", "CHUNKS", "CHUNK", "HEADS", "HEAD_DIM"]),
      STATE: constexpr(),
      BLOCK_L: constexpr(),
      BLOCK_S: constexpr(),
      BLOCK_D: constexpr(),
    },
    grid: ({ BATCH, CHUNKS, CHUNK, HEADS, HEAD_DIM, BLOCK_L, BLOCK_D }) => [
      tl.cdiv(CHUNK, BLOCK_L).mul(tl.cdiv(HEAD_DIM, BLOCK_D)),
      BATCH.mul(CHUNKS),
      HEADS,
    ],
    autotune: {
      key: ["CHUNK", "HEAD_DIM", "STATE"],
      configs: [
        { BLOCK_L: 128, BLOCK_S: 64, BLOCK_D: 64, numWarps: 4, numStages: 3 },
        { BLOCK_L: 64, BLOCK_S: 64, BLOCK_D: 64, numWarps: 4, numStages: 3 },
        { BLOCK_L: 128, BLOCK_S: 64, BLOCK_D: 64, numWarps: 8, numStages: 3 },
      ],
    },
    reference: ({ x, dt, decay, b, c, state, skip }, torch) => {
      const byHead = decay.transpose(2, 3);
      const passed = byHead.unsqueeze(-1).sub(byHead.unsqueeze(-2)).exp().tril();
      const inner = torch.einsum("zcln,zcsn,zchls,zcsh,zcshd->zclhd", c, b, passed, dt, x);
      const carried = torch.einsum("zclh,zcln,zchnd->zclhd", decay.exp(), c, state);
      return inner.add(carried).add(x.mul(skip.unsqueeze(1)));
    },
    shapes: [
      { BATCH: 2, CHUNKS: 8, CHUNK: 256, HEADS: 24, HEAD_DIM: 64, STATE: 128 },
      { BATCH: 1, CHUNKS: 2, CHUNK: 150, HEADS: 2, HEAD_DIM: 40, STATE: 128 },
    ],
  },
  ({ x, dt, decay, b, c, state, skip, y, CHUNKS, CHUNK, HEAD_DIM, STATE, BLOCK_L, BLOCK_S, BLOCK_D }) => {
    const blocksD = tl.cdiv(HEAD_DIM, BLOCK_D);
    const pidL = tl.programId(0).floorDiv(blocksD);
    const pidD = tl.programId(0).mod(blocksD);
    const batch = tl.inBounds(tl.programId(1).floorDiv(CHUNKS));
    const chunk = tl.inBounds(tl.programId(1).mod(CHUNKS));
    const head = tl.inBounds(tl.programId(2));
    const rl = pidL.mul(BLOCK_L).add(tl.arange(0, BLOCK_L));
    const rd = pidD.mul(BLOCK_D).add(tl.arange(0, BLOCK_D));
    const rn = tl.arange(0, STATE);
    const queries = tl.load(c.at(batch, chunk, rl, rn));
    const decayL = tl.load(decay.at(batch, chunk, rl, head));
    const entering = tl.load(state.at(batch, chunk, head, rn, rd));
    const lanes = tl.arange(0, BLOCK_S);
    const acc = tl.mut(tl.dot(queries, entering).mul(tl.exp(decayL).col));
    // A place sees those before it and itself: blocks to the right of the diagonal are left out.
    for (const start of tl.range(0, tl.minimum(pidL.add(1).mul(BLOCK_L), CHUNK), BLOCK_S)) {
      const rs = start.add(lanes);
      const keys = tl.load(b.at(batch, chunk, rs, rn));
      const decayS = tl.load(decay.at(batch, chunk, rs, head));
      const step = tl.load(dt.at(batch, chunk, rs, head));
      const gap = tl.where(rl.col.ge(rs.row), decayL.col.sub(decayS.row), -Infinity);
      const weights = tl.dot(queries, keys.T).mul(tl.exp(gap)).mul(step.row);
      acc.value = tl.dot(weights.to(T), tl.load(x.at(batch, chunk, rs, head, rd)), acc.value);
    }
    const own = tl.load(x.at(batch, chunk, rl, head, rd)).to(tl.float32);
    const out = acc.value.add(own.mul(tl.load(skip.at(head))));
    tl.store(y.at(batch, chunk, rl, head, rd), out.to(T));
  },
);

main(import.meta, chunkScan);
