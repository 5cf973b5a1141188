"""Lets rows of NaN have an index of their extreme on Triton's interpreter.

The interpreter asks NumPy for ``tl.argmax`` and its kin, which raises where a row has nothing but NaN. A GPU gives some
index, and such a row is often one that a mask leaves out. :func:`install` gives the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    original = interpreter.ReduceOps.min_max

    def min_max(self: Any, input: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        return original(self, input, val_reduce_op, _INSTEAD.get(idx_reduce_op, idx_reduce_op))

    interpreter.ReduceOps.min_max = min_max


def _of_numbers(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """The reduction, which takes a row of NaN for one of zeros."""

    def of_numbers(data: Any, axis: int | None, keepdims: bool) -> Any:
        nothing = np.isnan(data).all(axis=axis, keepdims=True)
        return reduce(np.where(nothing, data.dtype.type(0), data), axis=axis, keepdims=keepdims)

    return of_numbers


_INSTEAD = {reduce: _of_numbers(reduce) for reduce in (np.nanargmin, np.nanargmax)}
