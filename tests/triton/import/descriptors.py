"""Kernels that a script gives tensor descriptors, and what of that no declaration says."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(args):
    if not isinstance(args["a_desc"], TensorDescriptor):
        return
    args["a_desc"].block_shape = [args["BLOCK_M"], args["BLOCK_N"]]
    args["b_desc"].block_shape = [args["BLOCK_N"], args["BLOCK_M"]]


# The constants are alike in the first config alone.
SQUARE = triton.Config({"BLOCK_M": 32, "BLOCK_N": 32}, num_warps=2, pre_hook=set_blocks)
WIDE = triton.Config({"BLOCK_M": 32, "BLOCK_N": 64}, pre_hook=set_blocks)


@triton.autotune([SQUARE, WIDE], key=["n"])
@triton.jit
def tuned_transposition(a_desc, b_desc, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    for at in range(0, n, BLOCK_N):
        b_desc.store([at, row], a_desc.load([row, at]).T)


def set_half(args):
    args["a_desc"].block_shape = [args["BLOCK"] // 2]


@triton.autotune([triton.Config({"BLOCK": each}, pre_hook=set_half) for each in (64, 128)], key=["n"])
@triton.jit
def halved(a_desc, y, n, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK // 2), a_desc.load([n]))


@triton.jit
def padded(a_desc, y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), a_desc.load([8]))


@triton.jit
def asks_for_a_size(a_desc, y, BLOCK: tl.constexpr):
    n = a_desc.shape[0]
    tl.store(y + tl.arange(0, BLOCK), a_desc.load([n.to(tl.int32) - BLOCK]))


if __name__ == "__main__":
    x = torch.randn(128, 256, device="cuda", dtype=torch.float16)
    y = torch.empty(256, 128, device="cuda", dtype=torch.float16)
    line = torch.randn(100, device="cuda")
    blocks = TensorDescriptor.from_tensor(x, [1, 1]), TensorDescriptor.from_tensor(y, [1, 1])
    tuned_transposition[lambda meta: (triton.cdiv(128, meta["BLOCK_M"]),)](*blocks, 128, 256)
    halved[(1,)](TensorDescriptor.from_tensor(line, [1]), y, 0)
    padded[(1,)](TensorDescriptor.from_tensor(line, [64], "nan"), y, 64)
    asks_for_a_size[(1,)](TensorDescriptor.from_tensor(line, [64]), y, 64)
