"""Kernels and their launches: what the launches say of grids and sizes."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, stride, count, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < count, other=0.0)
    tl.store(y_ptr + row * stride + cols, x, mask=cols < count)


@triton.jit
def blocks(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def per_head(x_ptr, y_ptr, batch_stride, head_stride, heads, D: tl.constexpr):
    batch = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    at = tl.arange(0, D)
    x = tl.load(x_ptr + batch * batch_stride + head * head_stride + at)
    tl.store(y_ptr + batch * batch_stride + head * head_stride + at, x)


@triton.jit
def backwards(x_ptr, y_ptr, stride, STEPS: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, D)
    for i in range(STEPS - 1, -1, -1):
        x = tl.load(x_ptr + i * stride + at)
        tl.store(y_ptr + i * stride + at, x)


@triton.jit
def clamped(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = tl.where(at < count, at, 0)
    tl.store(y_ptr + at, tl.load(x_ptr + inside), mask=at < count)


@triton.jit
def first_row(x_ptr, y_ptr, stride, count, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + 1 * stride + cols, mask=cols < count)
    tl.store(y_ptr + 1 * stride + cols, x, mask=cols < count)


@triton.jit
def squares(x_ptr, y_ptr):
    row = tl.program_id(0)
    tl.store(y_ptr + row, tl.load(x_ptr + row * row))


def launch(number):
    x, y = torch.rand(number, 100), torch.empty(number, 100)
    rows[(number,)](x, y, x.stride(0), 100, BLOCK=128)
    flat = torch.rand(64 * number)
    size = number
    blocks[(size,)](flat, torch.empty_like(flat), BLOCK=64)
    q = torch.rand(number - 1, number, 16)
    programs = q[:, :, 0].numel()
    per_head[(programs,)](q, torch.empty_like(q), q.stride(0), q.stride(1), number, D=16)
    backwards[(1,)](x, y, x.stride(0), STEPS=number, D=64)
    clamped[(len(range(0, number, 16)),)](torch.rand(number), torch.empty(number), number, BLOCK=16)
    first_row[(2,)](x, y, x.stride(0), 100, BLOCK=64)
    # Most of the squares lie outside.
    squares[(number,)](torch.rand(number), torch.empty(number))


if __name__ == "__main__":
    launch(3)
    launch(7)
