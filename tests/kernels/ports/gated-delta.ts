/**
 * The states of the chunked gated delta rule, of sequences of unequal lengths: one state for each 64 keys, as many as K
 * reaches. How many chunks a sequence has is in the data.
 */
import { constexpr, kernel, python, scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16]);

export const gatedDeltaH = kernel(
  "gated_delta_h",
  {
    doc: "The states of the chunked gated delta rule, and the values that it writes.",
    params: {
      k: tensor(T, ["TOTAL", "H", "K"], { contiguous: true }),
      v: tensor(T, ["TOTAL", "HV", "V"], { contiguous: true }),
      w: tensor(T, ["TOTAL", "HV", "K"], { contiguous: true }),
      g: tensor(tl.float32, ["TOTAL", "HV"], { contiguous: true }).optional(),
      h0: tensor(tl.float32, ["SEQS", "HV", "K", "V"], { contiguous: true }).optional(),
      cuSeqlens: tensor(tl.int32, ["EDGES"], { partition: "TOTAL" }),
      chunkOffsets: tensor(tl.int32, ["SEQS"], { range: [0, "NT"] }),
      h: tensor.out(T, ["NT", "HV", "K", "V"], { contiguous: true, zeroed: true }),
      vNew: tensor.out(T, ["TOTAL", "HV", "V"], { contiguous: true }).optional(),
      ht: tensor.out(tl.float32, ["SEQS", "HV", "K", "V"], { contiguous: true }).optional(),
      CHUNKS: scalar(tl.int32),
      K: constexpr.int({ range: [1, 257] }),
      V: constexpr.int(),
      BT: constexpr(),
      BV: constexpr(),
    },
    dims: { EDGES: ({ SEQS }) => SEQS.add(1), NT: ({ CHUNKS }) => CHUNKS },
    grid: ({ SEQS, HV, V, BV }) => [tl.cdiv(V, BV), SEQS.mul(HV)],
    requires: ({ H, HV, CHUNKS, TOTAL, SEQS }) => [
      H.ge(1),
      HV.mod(H).eq(0),
      SEQS.ge(1),
      CHUNKS.mul(64).ge(SEQS.mul(63).add(TOTAL)),
    ],
    config: { BT: 64, BV: 32, numWarps: 4, numStages: 2 },
    inputs: ({ TOTAL, H, HV, K, SEQS }, torch) => {
      const starts = torch.arange(SEQS.add(1)).mul(TOTAL).floor_divide(SEQS);
      const chunks = starts.diff().add(63).floor_divide(64);
      return {
        k: torch.rand([TOTAL, H, K]).sub(0.5).mul(0.3),
        w: torch.rand([TOTAL, HV, K]).sub(0.5).mul(0.3),
        g: torch.rand([TOTAL, HV]).neg(),
        cuSeqlens: starts,
        chunkOffsets: chunks.cumsum(0).sub(chunks),
      };
    },
    reference: python`
    total, H, K = k.shape
    HV, V = v.shape[1:]
    n = cu_seqlens.shape[0] - 1
    hs = torch.zeros(CHUNKS, HV, K, V, dtype=torch.float64, device=k.device)
    new = torch.zeros(total, HV, V, dtype=torch.float64, device=k.device)
    last = torch.zeros(n, HV, K, V, dtype=torch.float64, device=k.device)
    for i in range(n):
        bos, eos = int(cu_seqlens[i]), int(cu_seqlens[i + 1])
        s = torch.zeros(HV, K, V, dtype=torch.float64, device=k.device)
        if h0 is not None:
            s = h0[i].double()
        for t, lo in enumerate(range(bos, eos, 64)):
            hi = min(lo + 64, eos)
            hs[int(chunk_offsets[i]) + t] = s
            seen = torch.einsum("thk,hkv->thv", w[lo:hi].double(), s)
            fresh = v[lo:hi].double() - seen
            new[lo:hi] = fresh
            if g is not None:
                decay = torch.exp2(g[hi - 1].double() - g[lo:hi].double())
                fresh = fresh * decay[:, :, None]
                s = s * torch.exp2(g[hi - 1].double())[:, None, None]
            keys = k[lo:hi].double().repeat_interleave(HV // H, 1)
            s = s + torch.einsum("thk,thv->hkv", keys, fresh)
        last[i] = s
    return hs, new, last
`,
    shapes: [{ TOTAL: 130, H: 1, HV: 2, K: 96, V: 64, SEQS: 3, CHUNKS: 7 }],
  },
  ({ k, v, w, g, h0, cuSeqlens, chunkOffsets, h, vNew, ht, H, HV, K, BT, BV }) => {
    const iv = tl.programId(0);
    const n = tl.inBounds(tl.programId(1).floorDiv(HV));
    const head = tl.inBounds(tl.programId(1).mod(HV));
    const keyHead = tl.inBounds(head.floorDiv(HV.floorDiv(H)));
    const bos = tl.load(cuSeqlens.at(n));
    const eos = tl.load(cuSeqlens.at(tl.inBounds(n.add(1))));
    const boh = tl.load(chunkOffsets.at(n));
    const cols = iv.mul(BV).add(tl.arange(0, BV));
    // One state for each 64 keys; only those that K reaches exist.
    const lanes = tl.arange(0, 64);
    const parts = [0, 64, 128, 192].map((from) => ({
      exists: from === 0 ? undefined : K.gt(from),
      keys: from === 0 ? lanes : lanes.add(from),
      state: tl.mut(tl.zeros([64, BV], tl.float32)),
    }));
    const each = (f: (part: (typeof parts)[number]) => void) => {
      for (const part of parts) {
        if (part.exists === undefined) f(part);
        else tl.when(part.exists, () => f(part));
      }
    };
    tl.when(h0.given, () => {
      each(({ keys, state }) => {
        state.value = tl.load(h0.at(n, head, keys, cols));
      });
    });
    for (const t of tl.range(0, tl.cdiv(eos.sub(bos), BT))) {
      const at = t.mul(BT).add(tl.arange(0, BT));
      const inside = at.lt(eos.sub(bos));
      // A row inside its sequence is below TOTAL.
      const rows = tl.inBounds(bos.add(at));
      const chunk = tl.inBounds(boh.add(t));
      each(({ keys, state }) => tl.store(h.at(chunk, head, keys, cols), state.value.to(T)));
      const seen = tl.mut(tl.zeros([BT, BV], tl.float32));
      each(({ keys, state }) => {
        const ws = tl.load(w.at(rows, head, keys), { mask: inside.col, other: 0 });
        seen.value = tl.dot(ws, state.value.to(T), seen.value);
      });
      const fresh = tl
        .load(v.at(rows, head, cols), { mask: inside.col, other: 0 })
        .to(tl.float32)
        .sub(seen.value);
      tl.when(vNew.given, () => tl.store(vNew.at(rows, head, cols), fresh.to(T), { mask: inside.col }));
      const gated = tl
        .when(g.given, () => {
          const last = bos.add(tl.minimum(t.add(1).mul(BT), eos.sub(bos))).sub(1);
          const gLast = tl.load(g.at(tl.inBounds(last), head));
          const gs = tl.load(g.at(rows, head), { mask: inside, other: 0 });
          const decay = tl.exp2(gLast);
          each(({ state }) => {
            state.value = state.value.mul(decay);
          });
          return fresh.mul(tl.where(inside, tl.exp2(gLast.sub(gs)), 0).col);
        })
        .otherwise(() => fresh)
        .to(T);
      each(({ keys, state }) => {
        const ks = tl.load(k.at(rows, keyHead, keys), { mask: inside.col, other: 0 });
        state.value = tl.dot(ks.T, gated, state.value);
      });
    }
    tl.when(ht.given, () => {
      each(({ keys, state }) => tl.store(ht.at(n, head, keys, cols), state.value));
    });
  },
);
