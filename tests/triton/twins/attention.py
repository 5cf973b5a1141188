"""Flash attention and its gradients written by hand, for heads that lie one after another without gaps.

Every block of keys that all rows see runs in a loop without masks; the blocks
on the diagonal, or those behind the last key, have a loop of their own. Rows
behind the end are masked where they are loaded and stored, or lie outside a
descriptor.
"""

import triton
import triton.language as tl


@triton.jit
def _visit(
    acc,
    total,
    best,
    q,
    k_ptr,
    v_ptr,
    offs_m,
    start,
    end,
    S,
    scale,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr,
):
    """The keys from start to end, for one block of queries."""
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    first = start + offs_n
    k_ptrs = k_ptr + first[None, :] * HEAD_DIM + offs_d[:, None]
    v_ptrs = v_ptr + first[:, None] * HEAD_DIM + offs_d[None, :]
    for n in range(start, end, BLOCK_N):
        if MASKED:
            k = tl.load(k_ptrs, mask=offs_n[None, :] < S - n, other=0.0)
        else:
            k = tl.load(k_ptrs)
        qk = tl.dot(q, k)
        if MASKED:
            if CAUSAL:
                qk = tl.where(offs_m[:, None] >= n + offs_n[None, :], qk, -float("inf"))
            else:
                qk = tl.where(n + offs_n[None, :] < S, qk, -float("inf"))
        m = tl.maximum(best, tl.max(qk, 1) * scale)
        p = tl.exp2(qk * scale - m[:, None])
        alpha = tl.exp2(best - m)
        total = total * alpha + tl.sum(p, 1)
        if MASKED:
            v = tl.load(v_ptrs, mask=offs_n[:, None] < S - n, other=0.0)
        else:
            v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        best = m
        k_ptrs += BLOCK_N * HEAD_DIM
        v_ptrs += BLOCK_N * HEAD_DIM
    return acc, total, best


@triton.jit
def attention_forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    base = head * S * HEAD_DIM
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    block = base + offs_m[:, None] * HEAD_DIM + offs_d[None, :]
    q = tl.load(q_ptr + block, mask=offs_m[:, None] < S, other=0.0)
    scale = 1.4426950408889634 * tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    best = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    if CAUSAL:
        whole = start_m // BLOCK_N * BLOCK_N
        end = min(start_m + BLOCK_M, S)
    else:
        whole = S // BLOCK_N * BLOCK_N
        end = S
    k_ptr += base
    v_ptr += base
    acc, total, best = _visit(
        acc, total, best, q, k_ptr, v_ptr, offs_m, 0, whole, S, scale,
        HEAD_DIM, CAUSAL, BLOCK_N, False,
    )  # fmt: skip
    acc, total, best = _visit(
        acc, total, best, q, k_ptr, v_ptr, offs_m, whole, end, S, scale,
        HEAD_DIM, CAUSAL, BLOCK_N, True,
    )  # fmt: skip
    o = acc / total[:, None]
    tl.store(o_ptr + block, o.to(o_ptr.dtype.element_ty), mask=offs_m[:, None] < S)
    tl.store(lse_ptr + head * S + offs_m, best + tl.log2(total), mask=offs_m < S)


@triton.jit
def attention_delta_kernel(
    o_ptr, d_out_ptr, delta_ptr, S, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr
):
    head = tl.program_id(1)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    block = head * S * HEAD_DIM + offs_m[:, None] * HEAD_DIM + offs_d[None, :]
    mask = offs_m[:, None] < S
    o = tl.load(o_ptr + block, mask=mask, other=0.0).to(tl.float32)
    do = tl.load(d_out_ptr + block, mask=mask, other=0.0).to(tl.float32)
    tl.store(delta_ptr + head * S + offs_m, tl.sum(o * do, axis=1), mask=offs_m < S)


@triton.jit
def _visit_queries(
    dk,
    dv,
    k,
    v,
    q_desc,
    do_desc,
    lse_ptr,
    delta_ptr,
    head,
    offs_n,
    start,
    end,
    S,
    scale,
    HEAD_DIM: tl.constexpr,
    STEP: tl.constexpr,
    MASKED: tl.constexpr,
):
    """The queries from start to end, for one block of keys."""
    rows = tl.arange(0, STEP)
    lse_ptrs = lse_ptr + start + rows
    delta_ptrs = delta_ptr + start + rows
    for m in range(start, end, STEP):
        q = q_desc.load([head, m, 0]).reshape(STEP, HEAD_DIM)
        do = do_desc.load([head, m, 0]).reshape(STEP, HEAD_DIM)
        inside = rows < S - m
        lse = tl.load(lse_ptrs, mask=inside, other=float("inf"))
        p = tl.exp2(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        if MASKED:
            p = tl.where((m + rows)[None, :] >= offs_n[:, None], p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv)
        delta = tl.load(delta_ptrs, mask=inside, other=0.0)
        ds = p * (tl.dot(v, tl.trans(do)) - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
        lse_ptrs += STEP
        delta_ptrs += STEP
    return dk, dv


@triton.jit
def attention_key_gradients_kernel(
    q_desc,
    k_ptr,
    v_ptr,
    d_out_desc,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    start = tl.program_id(0) * BLOCK
    head = tl.program_id(1)
    base = head * S * HEAD_DIM
    k_ptr += base
    v_ptr += base
    dk_ptr += base
    dv_ptr += base
    lse_ptr += head * S
    delta_ptr += head * S
    offs = start + tl.arange(0, BLOCK)
    offs_d = tl.arange(0, HEAD_DIM)
    block = offs[:, None] * HEAD_DIM + offs_d[None, :]
    inside = offs[:, None] < S
    sm_scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    scale = sm_scale * 1.4426950408889634

    k = tl.load(k_ptr + block, mask=inside, other=0.0)
    v = tl.load(v_ptr + block, mask=inside, other=0.0)
    dk = tl.zeros((BLOCK, HEAD_DIM), dtype=tl.float32)
    dv = tl.zeros((BLOCK, HEAD_DIM), dtype=tl.float32)
    if CAUSAL:
        dk, dv = _visit_queries(
            dk, dv, k, v, q_desc, d_out_desc, lse_ptr, delta_ptr, head, offs,
            start, start + BLOCK, S, scale, HEAD_DIM, STEP, True,
        )  # fmt: skip
        below = start + BLOCK
    else:
        below = 0
    dk, dv = _visit_queries(
        dk, dv, k, v, q_desc, d_out_desc, lse_ptr, delta_ptr, head, offs,
        below, S, S, scale, HEAD_DIM, STEP, False,
    )  # fmt: skip
    dk *= sm_scale
    tl.store(dk_ptr + block, dk.to(dk_ptr.dtype.element_ty), mask=inside)
    tl.store(dv_ptr + block, dv.to(dv_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _visit_keys(
    dq,
    q,
    do,
    lse,
    delta,
    k_desc,
    v_desc,
    head,
    offs_m,
    start,
    end,
    S,
    scale,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    STEP: tl.constexpr,
    MASKED: tl.constexpr,
):
    """The keys from start to end, for one block of queries."""
    cols = tl.arange(0, STEP)
    for n in range(start, end, STEP):
        k = k_desc.load([head, n, 0]).reshape(STEP, HEAD_DIM)
        v = v_desc.load([head, n, 0]).reshape(STEP, HEAD_DIM)
        p = tl.exp2(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        if MASKED:
            if CAUSAL:
                p = tl.where(offs_m[:, None] >= n + cols[None, :], p, 0.0)
            else:
                p = tl.where(n + cols[None, :] < S, p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    return dq


@triton.jit
def attention_query_gradients_kernel(
    q_ptr,
    k_desc,
    v_desc,
    d_out_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    S,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    # Under a causal mask the last rows see most keys.
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK
    head = tl.program_id(1)
    base = head * S * HEAD_DIM
    q_ptr += base
    d_out_ptr += base
    dq_ptr += base
    lse_ptr += head * S
    delta_ptr += head * S
    offs = start + tl.arange(0, BLOCK)
    offs_d = tl.arange(0, HEAD_DIM)
    block = offs[:, None] * HEAD_DIM + offs_d[None, :]
    inside = offs[:, None] < S
    sm_scale = tl.rsqrt(tl.full([], HEAD_DIM, tl.float32))
    scale = sm_scale * 1.4426950408889634

    q = tl.load(q_ptr + block, mask=inside, other=0.0)
    do = tl.load(d_out_ptr + block, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + offs, mask=offs < S, other=float("inf"))
    delta = tl.load(delta_ptr + offs, mask=offs < S, other=0.0)
    dq = tl.zeros((BLOCK, HEAD_DIM), dtype=tl.float32)
    if CAUSAL:
        whole = start // STEP * STEP
        end = min(start + BLOCK, S)
    else:
        whole = S // STEP * STEP
        end = S
    dq = _visit_keys(
        dq, q, do, lse, delta, k_desc, v_desc, head, offs, 0, whole, S, scale,
        HEAD_DIM, CAUSAL, STEP, False,
    )  # fmt: skip
    dq = _visit_keys(
        dq, q, do, lse, delta, k_desc, v_desc, head, offs, whole, end, S, scale,
        HEAD_DIM, CAUSAL, STEP, True,
    )  # fmt: skip
    dq *= sm_scale
    tl.store(dq_ptr + block, dq.to(dq_ptr.dtype.element_ty), mask=inside)
