"""Quantization by groups of columns written by hand: the scale of a group, and its values as 8-bit floats."""

import triton
import triton.language as tl


@triton.jit
def group_quant_kernel(
    x_ptr,
    q_ptr,
    s_ptr,
    eps,
    G,
    stride_xm,
    stride_xn,
    stride_qm,
    stride_qn,
    stride_sm,
    stride_sg,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    row = pid // G
    group = pid % G
    x_ptr += row * stride_xm + group * GROUP * stride_xn
    q_ptr += row * stride_qm + group * GROUP * stride_qn
    lanes = tl.arange(0, BLOCK)
    mask = lanes < GROUP
    x = tl.load(x_ptr + lanes * stride_xn, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), eps) / 448.0
    q = tl.clamp(x / scale, -448.0, 448.0).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + lanes * stride_qn, q, mask=mask)
    tl.store(s_ptr + row * stride_sm + group * stride_sg, scale)
