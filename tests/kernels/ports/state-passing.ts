/** The states that enter the chunks of Mamba-2's state space duality: each decays over its chunk and takes in the chunk's own. */
import { constexpr, kernel, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const statePassing = kernel(
  "state_passing",
  {
    doc: "entering[c] = state before chunk c, with state = state * exp(decay[c]) + states[c] after it, for each head.",
    params: {
      states: tensor(T, ["BATCH", "CHUNKS", "HEADS", "DIM"]),
      decay: tensor(tl.float32, ["BATCH", "HEADS", "CHUNKS"], { range: [-1, 0] }),
      initial: tensor(T, ["BATCH", "HEADS", "DIM"]).optional(),
      entering: tensor.out(T, ["BATCH", "CHUNKS", "HEADS", "DIM"]),
      last: tensor.out(tl.float32, ["BATCH", "HEADS", "DIM"]),
      BLOCK: constexpr(),
    },
    grid: ({ BATCH, HEADS, DIM, BLOCK }) => [tl.cdiv(DIM, BLOCK), BATCH, HEADS],
    autotune: {
      key: ["DIM"],
      configs: [
        { BLOCK: 256, numWarps: 4 },
        { BLOCK: 1024, numWarps: 4 },
      ],
    },
    reference: ({ states, decay, initial, BATCH, CHUNKS, HEADS, DIM }, torch) => {
      const first = initial
        .otherwise(torch.zeros([BATCH, HEADS, DIM]))
        .float()
        .unsqueeze(1);
      // The state before chunk c has the first one and those of chunks before c, each decayed by the chunks in between.
      const all = torch.cat([first, states.float()], 1);
      const sums = torch.cat([torch.zeros([BATCH, HEADS, 1]), decay], 2).cumsum(2);
      const passed = sums.unsqueeze(-1).sub(sums.unsqueeze(-2)).exp().tril();
      const after = torch.einsum("bhcs,bshd->bchd", passed, all);
      return [after.narrow(1, 0, CHUNKS), after.narrow(1, CHUNKS, 1).squeeze(1)];
    },
    shapes: [
      { BATCH: 2, CHUNKS: 3, HEADS: 2, DIM: 40 },
      { BATCH: 2, CHUNKS: 16, HEADS: 24, DIM: 8192 },
    ],
  },
  ({ states, decay, initial, entering, last, CHUNKS, BLOCK }) => {
    const batch = tl.inBounds(tl.programId(1));
    const head = tl.inBounds(tl.programId(2));
    const rd = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const state = tl.mut(tl.zeros([BLOCK], tl.float32));
    tl.when(initial.given, () => {
      state.value = tl.load(initial.at(batch, head, rd)).to(tl.float32);
    });
    for (const chunk of tl.range(CHUNKS)) {
      tl.store(entering.at(batch, chunk, head, rd), state.value.to(T));
      const own = tl.load(states.at(batch, chunk, head, rd)).to(tl.float32);
      const scale = tl.exp(tl.load(decay.at(batch, head, chunk)));
      state.value = state.value.mul(scale).add(own);
    }
    tl.store(last.at(batch, head, rd), state.value);
  },
);
