"""Corrects scalar conditions on Triton's interpreter.

A comparison's handle has its operands' dtype with booleans inside. Spreading one over a tile, as
``tile_mask & (i < n)`` does, makes numbers of them, which loads and stores refuse as masks.
:func:`install` keeps what is inside.
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
        spread = original(self, target, value)
        held = value.data.reshape(-1)[0]
        return interpreter.TensorHandle(np.full(spread.data.shape, held, value.data.dtype), spread.dtype)

    builder.create_splat = create_splat
