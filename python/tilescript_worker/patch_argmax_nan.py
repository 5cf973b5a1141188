"""Returns an index for rows of NaN on Triton's interpreter.

The interpreter calls NumPy for ``tl.argmax`` and ``tl.argmin``, which raises if all elements of a row are NaN. A GPU
returns some index, and often the row is masked. :func:`install` returns the first index.
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
        return original(self, input, val_reduce_op, _REPLACEMENTS.get(idx_reduce_op, idx_reduce_op))

    interpreter.ReduceOps.min_max = min_max


def _accept_nan_rows(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """The reduction, which takes a row of NaN for one of zeros."""

    def reduce_rows(data: Any, axis: int | None, keepdims: bool) -> Any:
        is_nan_row = np.isnan(data).all(axis=axis, keepdims=True)
        return reduce(np.where(is_nan_row, data.dtype.type(0), data), axis=axis, keepdims=keepdims)

    return reduce_rows


_REPLACEMENTS = {reduce: _accept_nan_rows(reduce) for reduce in (np.nanargmin, np.nanargmax)}
