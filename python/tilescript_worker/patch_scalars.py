"""Gives the numbers that a kernel receives their dtypes on Triton's interpreter.

The interpreter passes a float as a number of Python: ``eps.to(...)`` fails, a division by zero raises, and
arithmetic of scalars is in float64. An integer has the width that its value needs. The compiler takes the dtype from
the annotation of the parameter, and without one, float32 for a float. :func:`install` does the same.
"""

from __future__ import annotations

import inspect
from typing import Any


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    executor = interpreter.GridExecutor
    original_call, original_cvt = executor.__call__, interpreter._implicit_cvt

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        dtypes = _annotated(self.fn)
        typed = [_typed(arg, dtypes.get(name)) for name, arg in zip(self.arg_names, args, strict=False)]
        return original_call(self, *typed, **{name: _typed(arg, dtypes.get(name)) for name, arg in kwargs.items()})

    def implicit_cvt(arg: Any) -> Any:
        if not isinstance(arg, float | _Integer):
            return original_cvt(arg)
        dtype = getattr(arg, "dtype", interpreter.tl.float32)
        return interpreter.interpreter_semantic.scalar_constant(arg, dtype)

    executor.__call__ = call
    interpreter._implicit_cvt = implicit_cvt


class _Integer(int):
    """An integer with a dtype. Hooks before the launch still see a number."""

    dtype: Any


class _Float(float):
    """A float with a dtype."""

    dtype: Any


def _typed(value: Any, dtype: Any) -> Any:
    if dtype is None or not isinstance(value, int | float):
        return value
    typed = _Float(value) if dtype.is_floating() else _Integer(value)
    typed.dtype = dtype
    return typed


def _annotated(function: Any) -> dict[str, Any]:
    """The dtypes of parameters that are annotated with one, or with its name, such as ``"i64"``."""
    from triton.language import str_to_ty
    from triton.runtime.jit import _normalize_ty, type_canonicalisation_dict

    # The interpreter compiles the function again, with its annotations as text: ``"i64"`` has quotes there.
    annotations = inspect.get_annotations(function).items()
    names = {name: _normalize_ty(each.strip("'\"") if isinstance(each, str) else each) for name, each in annotations}
    numbers = set(type_canonicalisation_dict.values()) - {"void"}
    return {name: str_to_ty(text, None) for name, text in names.items() if text in numbers}
