"""Compares a kernel's output with its reference.

A float element is right if one of these conditions is true:

- ``|got - expected| <= atol + rtol * |expected| + rms * magnitude``, with ``expected`` in float64. ``magnitude`` is the
  root mean square of all elements, or of the elements along one axis.
- It is exactly ``expected`` rounded to the output's dtype. An overflow to infinity may therefore be right.
- Both are NaN.

An integer element is right if it is equal. If at most the fraction ``share`` of the elements differ, each may differ by
up to ``atol``. The request contains the tolerance, which ``src/compiled/tolerance.ts`` computes. Gradients get an
additional tolerance for rounding (``rounding.py``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from .protocol import number

# Elements shown on each side of the worst one, along the last two axes.
NEIGHBORS = 2
# Ratio from which a repeated largest value counts as a fill constant.
FILL_RATIO = 2**10


def compare(
    name: str,
    got: torch.Tensor,
    expected: torch.Tensor,
    tolerance: dict[str, float],
    extra: torch.Tensor | float = 0.0,
) -> dict[str, Any]:
    """Compares one output with its reference. ``extra`` is an additional absolute tolerance per element."""
    if tuple(got.shape) != tuple(expected.shape):
        return mismatch(name, f"has shape {list(got.shape)}, the reference has {list(expected.shape)}")
    if kind_of(got.dtype) != kind_of(expected.dtype):
        return mismatch(name, f"holds {kind_of(got.dtype)}, the reference gives {kind_of(expected.dtype)}")
    if got.is_complex():
        got, expected = torch.view_as_real(got.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    exact = expected.to(torch.float64)
    if got.dtype.is_floating_point:
        is_right, severity, absolute = _compare_floats(got, exact, tolerance, extra)
        got_values, expected_values = got.to(torch.float64), exact
    else:
        is_right, severity, absolute = _compare_integers(got, expected.to(got.dtype), tolerance)
        got_values, expected_values = got, expected
    result: dict[str, Any] = {
        "output": name,
        "wrong": int((~is_right).sum()),
        "total": got.numel(),
        "maxAbsDiff": number(severity.max().item() if got.numel() else 0.0),
        "maxRelDiff": number(_relative(severity, exact, absolute)),
    }
    if got.numel():
        # The worst wrong element, else the one that differs most.
        ranked = severity if is_right.all() else torch.where(is_right, -1.0, severity)
        result["worst"] = _describe_worst(int(ranked.argmax()), got_values, expected_values)
    return result


def _compare_floats(
    got: torch.Tensor, exact: torch.Tensor, tolerance: dict[str, float], extra: torch.Tensor | float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each element: is it right, its error, and the absolute part of its tolerance."""
    rounded, value = exact.to(got.dtype).to(torch.float64), got.to(torch.float64)
    difference = (value - exact).abs()
    rms = tolerance.get("rms", 0.0)
    absolute = tolerance["atol"] + (rms * magnitudes(exact) if rms > 0 else torch.zeros_like(exact))
    equal = (value == rounded) | (value == exact) | (value.isnan() & exact.isnan())
    # A NaN or infinite difference fails. An infinite expected value is excluded, as its limit would be infinite.
    allowed = absolute + tolerance["rtol"] * exact.abs() + extra
    is_right = equal | (exact.isfinite() & (difference <= allowed))
    difference = torch.where(equal & ~difference.isfinite(), torch.zeros_like(difference), difference)
    return is_right, torch.where(difference.isnan(), math.inf, difference), absolute


def _compare_integers(
    got: torch.Tensor, expected: torch.Tensor, tolerance: dict[str, float]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Same as ``_compare_floats`` for two integer tensors. Float64 does not represent every 64-bit integer."""
    difference = (got.to(torch.float64) - expected.to(torch.float64)).abs()
    if got.dtype.itemsize == 8:
        integer_difference = got.view(torch.int64) - expected.view(torch.int64)
        difference = torch.where(difference < 2**53, integer_difference.abs().to(torch.float64), difference)
    is_right = difference <= math.floor(tolerance["atol"])
    if int((difference > 0).sum()) > math.ceil(tolerance.get("share", 0.0) * got.numel()):
        is_right = difference == 0
    return is_right, difference, torch.zeros_like(difference)


def largest_difference(first: torch.Tensor, second: torch.Tensor) -> float:
    """The largest finite difference of two tensors of one shape."""
    difference = (first.to(torch.float64) - second.to(torch.float64)).abs()
    difference = difference[difference.isfinite()]
    return difference.max().item() if difference.numel() else 0.0


def magnitudes(exact: torch.Tensor) -> torch.Tensor:
    """The scale of each element's rounding errors; broadcasts to ``exact``. As in ``src/eval/compare-outputs.ts``.

    The largest root mean square of finite elements: over all, or over the elements along one axis. Rows may differ in
    magnitude, as in causal attention. A fill constant (-1e9 for masked elements) that is far larger than the root mean
    square of the others is ignored.
    """
    sizes = exact.abs()
    is_counted = sizes.isfinite() & (sizes <= largest_counted(exact))
    largest = sizes[is_counted].max() if is_counted.any() else sizes.new_zeros(())
    if largest == 0:
        return torch.zeros_like(exact)
    # Squares of float64's largest numbers overflow, so they are taken relative to the largest.
    squares = torch.where(is_counted, sizes / largest, 0.0).square()
    mean_square = squares.sum() / is_counted.sum()
    for axis in range(exact.dim()):
        if exact.dim() > 1 and exact.shape[axis] > 1:
            axis_mean_square = squares.sum(axis, keepdim=True) / is_counted.sum(axis, keepdim=True).clamp(min=1)
            mean_square = torch.maximum(mean_square, axis_mean_square)
    return largest * mean_square.sqrt()


def largest_counted(exact: torch.Tensor) -> float:
    """The largest finite magnitude that is not a fill constant; 0 if there is none."""
    sizes = exact.abs().flatten()
    sizes = sizes[sizes.isfinite()]
    while sizes.numel():
        largest = sizes.max().item()
        if largest == 0:
            return 0.0
        others = sizes[sizes < largest]
        others_rms = _root_mean_square(others, largest)
        if sizes.numel() - others.numel() < 2 or others_rms == 0 or largest <= FILL_RATIO * others_rms:
            return largest
        sizes = others
    return 0.0


def _root_mean_square(sizes: torch.Tensor, largest: float) -> float:
    """Squares of float64's largest numbers overflow, so they are taken relative to the largest."""
    return largest * (sizes / largest).square().mean().sqrt().item() if sizes.numel() else 0.0


def _relative(severity: torch.Tensor, exact: torch.Tensor, absolute: torch.Tensor) -> float:
    """Largest difference relative to the expected value, over elements above the absolute tolerance."""
    scale = exact.abs()
    is_counted = (scale > absolute) & scale.isfinite()
    return (severity[is_counted] / scale[is_counted]).max().item() if is_counted.any() else 0.0


def _describe_worst(flat: int, got: torch.Tensor, expected: torch.Tensor) -> dict[str, Any]:
    index = [int(i) for i in np.unravel_index(flat, got.shape)] if got.dim() else []
    window = tuple(
        slice(i, i + 1) if axis < got.dim() - 2 else slice(max(0, i - NEIGHBORS), i + NEIGHBORS + 1)
        for axis, i in enumerate(index)
    )
    return {
        "index": index,
        "expected": number(expected[tuple(index)].item()),
        "got": number(got[tuple(index)].item()),
        "around": {
            "start": [axis_slice.start for axis_slice in window],
            "expected": _rows(expected[window]),
            "got": _rows(got[window]),
        },
    }


def _rows(window: torch.Tensor) -> list[list[float | str]]:
    columns = window.shape[-1] if window.dim() else 1
    return [[number(item) for item in row] for row in window.reshape(-1, columns).tolist()]


def kind_of(dtype: torch.dtype) -> str:
    """What a tensor of the dtype holds."""
    if dtype.is_complex:
        return "complex numbers"
    if dtype == torch.bool:
        return "truth values"
    return "floats" if dtype.is_floating_point else "integers"


def mismatch(name: str, problem: str) -> dict[str, Any]:
    """The comparison of an output whose elements cannot be compared."""
    return {"output": name, "wrong": 1, "total": 1, "maxAbsDiff": "inf", "maxRelDiff": "inf", "problem": problem}
