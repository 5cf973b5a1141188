"""Corrects scalar conditions on Triton's interpreter.

The handle of a comparison has its operands' dtype, but contains booleans. Broadcasting it over a tile, as
``tile_mask & (i < n)`` does, converts them to numbers, which loads and stores reject as masks. :func:`install` keeps
the booleans.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    original = builder.create_splat

    def create_splat(self: Any, target: Any, value: Any) -> Any:
        splat = original(self, target, value)
        condition = value.data.reshape(-1)[0]
        return interpreter.TensorHandle(np.full(splat.data.shape, condition, value.data.dtype), splat.dtype)

    builder.create_splat = create_splat
