"""States passed from chunk to chunk, written by hand: pointers that move on by a chunk in each turn."""

import triton
import triton.language as tl


@triton.jit
def state_passing_kernel(
    states_ptr,
    decay_ptr,
    initial_ptr,
    entering_ptr,
    last_ptr,
    CHUNKS,
    DIM,
    stride_states_batch,
    stride_states_chunks,
    stride_states_heads,
    stride_states_dim,
    stride_decay_batch,
    stride_decay_heads,
    stride_decay_chunks,
    stride_initial_batch,
    stride_initial_heads,
    stride_initial_dim,
    stride_entering_batch,
    stride_entering_chunks,
    stride_entering_heads,
    stride_entering_dim,
    stride_last_batch,
    stride_last_heads,
    stride_last_dim,
    BLOCK: tl.constexpr,
):
    batch = tl.program_id(1)
    head = tl.program_id(2)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < DIM
    states_ptr += batch * stride_states_batch + head * stride_states_heads
    decay_ptr += batch * stride_decay_batch + head * stride_decay_heads
    entering_ptr += batch * stride_entering_batch + head * stride_entering_heads
    last_ptr += batch * stride_last_batch + head * stride_last_heads
    states_ptrs = states_ptr + offsets * stride_states_dim
    entering_ptrs = entering_ptr + offsets * stride_entering_dim
    state = tl.zeros([BLOCK], dtype=tl.float32)
    if initial_ptr is not None:
        initial_ptr += batch * stride_initial_batch + head * stride_initial_heads
        initial_ptrs = initial_ptr + offsets * stride_initial_dim
        state = tl.load(initial_ptrs, mask=mask, other=0.0).to(tl.float32)
    for _ in range(CHUNKS):
        tl.store(entering_ptrs, state.to(entering_ptr.dtype.element_ty), mask=mask)
        own = tl.load(states_ptrs, mask=mask, other=0.0).to(tl.float32)
        scale = tl.exp(tl.load(decay_ptr))
        state = scale * state + own
        states_ptrs += stride_states_chunks
        decay_ptr += stride_decay_chunks
        entering_ptrs += stride_entering_chunks
    tl.store(last_ptr + offsets * stride_last_dim, state, mask=mask)
