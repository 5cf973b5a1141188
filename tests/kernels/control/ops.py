"""Functions that kernels of TypeScript call."""

import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LIMIT = tl.constexpr(30.0)
SLOPE = tl.constexpr(0.25)
DEPTH: tl.constexpr = 2
COUNT = 3


@triton.jit
def _bounded(values, limit):
    return tl.minimum(tl.maximum(values, -limit), limit)


# Scaled so that a bound comes smoothly.
@triton.jit
def capped(values, scale, NAME: tl.constexpr = "none"):
    """Bounds values, (and "this" is no code)."""
    limit = LIMIT  # at most
    if NAME == "leaky":
        values = tl.where(values > 0, values, SLOPE * values)
    return _bounded(values * scale, limit=limit)


@triton.jit
def pick(values, offsets, out_ptr, n_elements):
    for i in range(0, 2):
        values += i
    tl.store(out_ptr + offsets, values, mask=offsets < n_elements)


@triton.jit
def tangent(values):
    return libdevice.tanh(values)


@triton.jit
def counted(values):
    return values * COUNT


@triton.jit
def deep(values):
    return values * DEPTH


@triton.jit
def rooted(values):
    return values * math.pi


def plain(values):
    return values


@triton.autotune(configs=[], key=[])
@triton.jit
def tuned(values):
    return values


class Wrapper(torch.nn.Module):
    pass
