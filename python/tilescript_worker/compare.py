"""Comparing a kernel's output with what it should be.

An element is right when ``|got - expected| <= atol + rtol * |expected| + rms * magnitude`` with ``expected`` in float64
and ``magnitude`` the root mean square of all elements or of those beside it on one axis, when it is exactly what
rounding ``expected`` to the output's dtype gives (so an overflow to infinity counts as right where it is due), or when
both are NaN. The request brings the tolerance, which ``src/contract/tolerance.ts`` decides. Gradients may also differ
by what rounding leaves of them (``rounding.py``).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .protocol import number

# Elements shown on each side of the worst one, along the last two axes.
NEIGHBOURS = 2
# A constant that fills elements is this much larger than what stands beside it.
FILL = 2**10


def compare(
    name: str,
    got: torch.Tensor,
    expected: torch.Tensor,
    tolerance: dict[str, float],
    besides: torch.Tensor | float = 0.0,
) -> dict[str, Any]:
    """How one output differs from its reference; ``besides`` is what each element may differ beside the tolerance."""
    if tuple(got.shape) != tuple(expected.shape):
        return _mismatch(name, f"has shape {list(got.shape)}, the reference has {list(expected.shape)}")
    rounded = expected.to(got.dtype).to(torch.float64)
    exact, value = expected.to(torch.float64), got.to(torch.float64)
    difference = (value - exact).abs()
    rms = tolerance.get("rms", 0.0)
    least = tolerance["atol"] + (rms * magnitudes(exact) if rms > 0 else torch.zeros_like(exact))
    equal = (value == rounded) | (value == exact) | (value.isnan() & exact.isnan())
    if got.dtype.is_floating_point:
        # A NaN or infinite difference fails the comparison; only the infinite limit of an infinite value would not.
        allowed = least + tolerance["rtol"] * exact.abs() + besides
        right = equal | (exact.isfinite() & (difference <= allowed))
    else:
        right = equal
    difference = torch.where(equal & ~difference.isfinite(), torch.zeros_like(difference), difference)
    severity = torch.where(difference.isnan(), math.inf, difference)
    result: dict[str, Any] = {
        "output": name,
        "wrong": int((~right).sum()),
        "total": got.numel(),
        "maxAbsDiff": number(severity.max().item() if got.numel() else 0.0),
        "maxRelDiff": number(_relative(severity, exact, least)),
    }
    if got.numel():
        # The worst wrong element, else the one that differs most.
        ranked = severity if right.all() else torch.where(right, -1.0, severity)
        result["worst"] = _worst(int(ranked.argmax()), value, exact)
    return result


def largest_difference(left: torch.Tensor, right: torch.Tensor) -> float:
    """The largest finite difference of two tensors of one shape."""
    difference = (left.to(torch.float64) - right.to(torch.float64)).abs()
    difference = difference[difference.isfinite()]
    return difference.max().item() if difference.numel() else 0.0


def magnitudes(exact: torch.Tensor) -> torch.Tensor:
    """The scale of each element's rounding errors, as ``src/eval/magnitude.ts`` has it; broadcasts to ``exact``.

    The largest root mean square of finite elements: of all, or of those that share every index with it but one. Rows
    may differ in magnitude, as those of causal attention do. A constant that fills elements (-1e9 for masked ones)
    tells nothing of the others, so if it is far larger than their root mean square, it is left out.
    """
    sizes = exact.abs()
    counted = sizes.isfinite() & (sizes <= largest_counted(exact))
    largest = sizes[counted].max() if counted.any() else sizes.new_zeros(())
    if largest == 0:
        return torch.zeros_like(exact)
    # Squares of float64's largest numbers overflow, so they are taken relative to the largest.
    squares = torch.where(counted, sizes / largest, 0.0).square()
    found = squares.sum() / counted.sum()
    for axis in range(exact.dim()):
        if exact.dim() > 1 and exact.shape[axis] > 1:
            beside = squares.sum(axis, keepdim=True) / counted.sum(axis, keepdim=True).clamp(min=1)
            found = torch.maximum(found, beside)
    return largest * found.sqrt()


def largest_counted(exact: torch.Tensor) -> float:
    """The largest element in size that is finite and fills no others; 0 if there is none."""
    sizes = exact.abs().flatten()
    sizes = sizes[sizes.isfinite()]
    while sizes.numel():
        largest = sizes.max().item()
        if largest == 0:
            return 0.0
        others = sizes[sizes < largest]
        rest = _root_mean_square(others, largest)
        if sizes.numel() - others.numel() < 2 or rest == 0 or largest <= FILL * rest:
            return largest
        sizes = others
    return 0.0


def _root_mean_square(sizes: torch.Tensor, largest: float) -> float:
    """Squares of float64's largest numbers overflow, so they are taken relative to the largest."""
    return largest * (sizes / largest).square().mean().sqrt().item() if sizes.numel() else 0.0


def _relative(severity: torch.Tensor, exact: torch.Tensor, least: torch.Tensor) -> float:
    """Largest difference relative to the expected value, over elements that are not lost in ``least``."""
    scale = exact.abs()
    counted = (scale > least) & scale.isfinite()
    return (severity[counted] / scale[counted]).max().item() if counted.any() else 0.0


def _worst(flat: int, value: torch.Tensor, exact: torch.Tensor) -> dict[str, Any]:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), value.shape)] if value.dim() else []
    window = tuple(
        slice(i, i + 1) if axis < value.dim() - 2 else slice(max(0, i - NEIGHBOURS), i + NEIGHBOURS + 1)
        for axis, i in enumerate(index)
    )
    return {
        "index": index,
        "expected": number(exact[tuple(index)].item()),
        "got": number(value[tuple(index)].item()),
        "around": {
            "start": [part.start for part in window],
            "expected": _rows(exact[window]),
            "got": _rows(value[window]),
        },
    }


def _rows(window: torch.Tensor) -> list[list[float | str]]:
    columns = window.shape[-1] if window.dim() else 1
    return [[number(item) for item in row] for row in window.reshape(-1, columns).tolist()]


def _mismatch(name: str, problem: str) -> dict[str, Any]:
    return {"output": name, "wrong": 1, "total": 1, "maxAbsDiff": "inf", "maxRelDiff": "inf", "problem": problem}
