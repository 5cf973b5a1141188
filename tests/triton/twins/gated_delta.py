"""The chunked gated delta rule written by hand: one state for each 64 keys, carried over the chunks of a sequence."""

import triton
import triton.language as tl


@triton.jit
def gated_delta_h_kernel(
    k_ptr,
    v_ptr,
    w_ptr,
    g_ptr,
    h0_ptr,
    cu_seqlens_ptr,
    chunk_offsets_ptr,
    h_ptr,
    v_new_ptr,
    ht_ptr,
    TOTAL,
    H,
    HV,
    stride_cu_seqlens_edges,
    stride_chunk_offsets_seqs,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BV: tl.constexpr,
):
    pid_v = tl.program_id(0)
    pid_nh = tl.program_id(1)
    n = pid_nh // HV
    head = pid_nh % HV
    bos = tl.load(cu_seqlens_ptr + n * stride_cu_seqlens_edges)
    eos = tl.load(cu_seqlens_ptr + (n + 1) * stride_cu_seqlens_edges)
    boh = tl.load(chunk_offsets_ptr + n * stride_chunk_offsets_seqs)
    T = eos - bos

    k_ptr += (bos * H + head // (HV // H)) * K
    w_ptr += (bos * HV + head) * K
    v_ptr += (bos * HV + head) * V
    h_ptr += (boh * HV + head) * K * V
    if g_ptr is not None:
        g_ptr += bos * HV + head
    if v_new_ptr is not None:
        v_new_ptr += (bos * HV + head) * V

    cols = pid_v * BV + tl.arange(0, BV)
    mask_v = cols[None, :] < V
    keys1 = tl.arange(0, 64)
    keys2 = keys1 + 64
    keys3 = keys1 + 128
    keys4 = keys1 + 192
    at1 = keys1[:, None] * V + cols[None, :]
    at2 = keys2[:, None] * V + cols[None, :]
    at3 = keys3[:, None] * V + cols[None, :]
    at4 = keys4[:, None] * V + cols[None, :]
    mask1 = (keys1[:, None] < K) & mask_v
    mask2 = (keys2[:, None] < K) & mask_v
    mask3 = (keys3[:, None] < K) & mask_v
    mask4 = (keys4[:, None] < K) & mask_v

    state1 = tl.zeros([64, BV], dtype=tl.float32)
    if K > 64:
        state2 = tl.zeros([64, BV], dtype=tl.float32)
    if K > 128:
        state3 = tl.zeros([64, BV], dtype=tl.float32)
    if K > 192:
        state4 = tl.zeros([64, BV], dtype=tl.float32)
    if h0_ptr is not None:
        h0_ptr += pid_nh * K * V
        state1 = tl.load(h0_ptr + at1, mask=mask1, other=0.0)
        if K > 64:
            state2 = tl.load(h0_ptr + at2, mask=mask2, other=0.0)
        if K > 128:
            state3 = tl.load(h0_ptr + at3, mask=mask3, other=0.0)
        if K > 192:
            state4 = tl.load(h0_ptr + at4, mask=mask4, other=0.0)

    dtype = k_ptr.dtype.element_ty
    for t in range(tl.cdiv(T, BT)):
        steps = t * BT + tl.arange(0, BT)
        inside = steps < T
        h_chunk = h_ptr + t * HV * K * V
        tl.store(h_chunk + at1, state1.to(dtype), mask=mask1)
        if K > 64:
            tl.store(h_chunk + at2, state2.to(dtype), mask=mask2)
        if K > 128:
            tl.store(h_chunk + at3, state3.to(dtype), mask=mask3)
        if K > 192:
            tl.store(h_chunk + at4, state4.to(dtype), mask=mask4)

        w_rows = w_ptr + steps[:, None] * (HV * K)
        w = tl.load(
            w_rows + keys1[None, :],
            mask=inside[:, None] & (keys1[None, :] < K),
            other=0.0,
        )
        seen = tl.dot(w, state1.to(dtype))
        if K > 64:
            w = tl.load(
                w_rows + keys2[None, :],
                mask=inside[:, None] & (keys2[None, :] < K),
                other=0.0,
            )
            seen = tl.dot(w, state2.to(dtype), seen)
        if K > 128:
            w = tl.load(
                w_rows + keys3[None, :],
                mask=inside[:, None] & (keys3[None, :] < K),
                other=0.0,
            )
            seen = tl.dot(w, state3.to(dtype), seen)
        if K > 192:
            w = tl.load(
                w_rows + keys4[None, :],
                mask=inside[:, None] & (keys4[None, :] < K),
                other=0.0,
            )
            seen = tl.dot(w, state4.to(dtype), seen)

        v_at = steps[:, None] * (HV * V) + cols[None, :]
        v_mask = inside[:, None] & mask_v
        fresh = tl.load(v_ptr + v_at, mask=v_mask, other=0.0).to(tl.float32) - seen
        if v_new_ptr is not None:
            tl.store(v_new_ptr + v_at, fresh.to(dtype), mask=v_mask)
        if g_ptr is not None:
            last = tl.minimum((t + 1) * BT, T) - 1
            g_last = tl.load(g_ptr + last * HV)
            g = tl.load(g_ptr + steps * HV, mask=inside, other=0.0)
            fresh *= tl.where(inside, tl.exp2(g_last - g), 0.0)[:, None]
            decay = tl.exp2(g_last)
            state1 *= decay
            if K > 64:
                state2 *= decay
            if K > 128:
                state3 *= decay
            if K > 192:
                state4 *= decay
        fresh = fresh.to(dtype)

        k_cols = k_ptr + steps[None, :] * (H * K)
        k = tl.load(
            k_cols + keys1[:, None],
            mask=(keys1[:, None] < K) & inside[None, :],
            other=0.0,
        )
        state1 = tl.dot(k, fresh, state1)
        if K > 64:
            k = tl.load(
                k_cols + keys2[:, None],
                mask=(keys2[:, None] < K) & inside[None, :],
                other=0.0,
            )
            state2 = tl.dot(k, fresh, state2)
        if K > 128:
            k = tl.load(
                k_cols + keys3[:, None],
                mask=(keys3[:, None] < K) & inside[None, :],
                other=0.0,
            )
            state3 = tl.dot(k, fresh, state3)
        if K > 192:
            k = tl.load(
                k_cols + keys4[:, None],
                mask=(keys4[:, None] < K) & inside[None, :],
                other=0.0,
            )
            state4 = tl.dot(k, fresh, state4)

    if ht_ptr is not None:
        ht_ptr += pid_nh * K * V
        tl.store(ht_ptr + at1, state1, mask=mask1)
        if K > 64:
            tl.store(ht_ptr + at2, state2, mask=mask2)
        if K > 128:
            tl.store(ht_ptr + at3, state3, mask=mask3)
        if K > 192:
            tl.store(ht_ptr + at4, state4, mask=mask4)
