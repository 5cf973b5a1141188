"""Converts float arguments to tensors on Triton's interpreter.

The interpreter passes a Python float to the kernel: ``eps.to(...)`` fails, a division by zero raises, and scalar
arithmetic is in float64. The compiler creates a scalar tensor of float32. :func:`install` does the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    original = interpreter._implicit_cvt

    def implicit_cvt(arg: Any) -> Any:
        if not isinstance(arg, float):
            return original(arg)
        dtype = interpreter.tl.float32
        return interpreter.tl.tensor(interpreter.TensorHandle(np.array([arg], np.float32), dtype), dtype)

    interpreter._implicit_cvt = implicit_cvt
