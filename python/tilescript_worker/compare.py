"""Comparing a kernel's output with what it should be.

An element is right when ``|got - expected| <= atol + rtol * |expected| + rms * magnitude`` with ``expected`` in float64
and ``magnitude`` the root mean square of all elements or of those beside it on one axis, when it is exactly what
rounding ``expected`` to the output's dtype gives (so an overflow to infinity counts as right where it is due), or when
both are NaN. An integer is right when it is the expected one, or up to ``atol`` from it in no more than the part
``share`` of the elements. The request brings the tolerance, which ``src/compiled/tolerance.ts`` decides. Gradients may
also differ by what rounding leaves of them (``rounding.py``).
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
    exact = expected.to(torch.float64)
    if got.dtype.is_floating_point:
        right, severity, least = _floats(got, exact, tolerance, besides)
        shown, due = got.to(torch.float64), exact
    else:
        right, severity, least = _integers(got, expected.to(got.dtype), tolerance)
        shown, due = got, expected
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
        result["worst"] = _worst(int(ranked.argmax()), shown, due)
    return result


def _floats(
    got: torch.Tensor, exact: torch.Tensor, tolerance: dict[str, float], besides: torch.Tensor | float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which elements are right, how far each is off, and what each may be off where nothing is expected of it."""
    rounded, value = exact.to(got.dtype).to(torch.float64), got.to(torch.float64)
    difference = (value - exact).abs()
    rms = tolerance.get("rms", 0.0)
    least = tolerance["atol"] + (rms * magnitudes(exact) if rms > 0 else torch.zeros_like(exact))
    equal = (value == rounded) | (value == exact) | (value.isnan() & exact.isnan())
    # A NaN or infinite difference fails the comparison; only the infinite limit of an infinite value would not.
    allowed = least + tolerance["rtol"] * exact.abs() + besides
    right = equal | (exact.isfinite() & (difference <= allowed))
    difference = torch.where(equal & ~difference.isfinite(), torch.zeros_like(difference), difference)
    return right, torch.where(difference.isnan(), math.inf, difference), least


def _integers(
    got: torch.Tensor, expected: torch.Tensor, tolerance: dict[str, float]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As ``_floats``, of two tensors of one integer dtype. Float64 does not hold every integer of 64 bits."""
    difference = (got.to(torch.float64) - expected.to(torch.float64)).abs()
    if got.dtype.itemsize == 8:
        apart = got.view(torch.int64) - expected.view(torch.int64)
        difference = torch.where(difference < 2**53, apart.abs().to(torch.float64), difference)
    right = difference <= math.floor(tolerance["atol"])
    if int((difference > 0).sum()) > math.ceil(tolerance.get("share", 0.0) * got.numel()):
        right = difference == 0
    return right, difference, torch.zeros_like(difference)


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


def _worst(flat: int, value: torch.Tensor, due: torch.Tensor) -> dict[str, Any]:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), value.shape)] if value.dim() else []
    window = tuple(
        slice(i, i + 1) if axis < value.dim() - 2 else slice(max(0, i - NEIGHBOURS), i + NEIGHBOURS + 1)
        for axis, i in enumerate(index)
    )
    return {
        "index": index,
        "expected": number(due[tuple(index)].item()),
        "got": number(value[tuple(index)].item()),
        "around": {
            "start": [part.start for part in window],
            "expected": _rows(due[window]),
            "got": _rows(value[window]),
        },
    }


def _rows(window: torch.Tensor) -> list[list[float | str]]:
    columns = window.shape[-1] if window.dim() else 1
    return [[number(item) for item in row] for row in window.reshape(-1, columns).tolist()]


def _mismatch(name: str, problem: str) -> dict[str, Any]:
    return {"output": name, "wrong": 1, "total": 1, "maxAbsDiff": "inf", "maxRelDiff": "inf", "problem": problem}
