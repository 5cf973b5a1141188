"""Converts loop indices to tensors on Triton's interpreter.

The interpreter runs ``for k in range(n)`` in Python, so ``k`` is an int. Then ``k.to(...)`` and
``tl.broadcast_to(k, ...)`` fail, and arithmetic never wraps around. The compiler creates a scalar tensor with the
promoted dtype of the loop's bounds. :func:`install` does the same. ``tl.static_range`` keeps ints, because its indices
are constexprs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang
    launch: Any = None

    def patch_lang(fn: Any) -> Any:
        nonlocal launch
        scope = original(fn)
        # A helper function patches too, and only the launch around it restores.
        if launch is None or not launch._changes:
            launch = scope
        for space in (interpreter.tl, _Names(fn.__globals__)):
            launch.set_attr(space, "range", _range)
        return scope

    interpreter._patch_lang = patch_lang


class _Names:
    """The names of a module as attributes, which the interpreter can set for the time of a launch."""

    def __init__(self, names: dict[str, Any]) -> None:
        object.__setattr__(self, "names", names)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.names[name] = value

    def __delattr__(self, name: str) -> None:
        del self.names[name]


def _range(first: Any, second: Any = None, step: Any = 1, **_options: Any) -> Iterator[Any]:
    """``range`` and ``tl.range``, whose indices are tensors."""
    from triton.runtime import interpreter

    start, end = (0, first) if second is None else (first, second)
    step = 1 if step is None else step
    dtype = _index_dtype(start, end, step)
    numpy_dtype = interpreter._get_np_dtype(dtype)
    for index in range(start, end, step):
        handle = interpreter.TensorHandle(np.array([index], dtype=numpy_dtype), dtype)
        yield interpreter.tl.tensor(handle, dtype)


def _index_dtype(*bounds: Any) -> Any:
    """The dtype that the compiler gives an index of these bounds."""
    from triton.runtime import interpreter

    semantic = interpreter.interpreter_semantic
    first, *others = (semantic.to_tensor(bound).dtype for bound in bounds)
    for other in others:
        first = semantic.integer_promote_impl(first, other)
    return first
