"""Refuses libdevice on Triton's interpreter, which has none.

A function of ``triton.language.extra.libdevice`` is there an empty one that returns None: the interpreter would
complain of that None wherever it is used. :func:`install` makes the call itself the error.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn


def install() -> None:
    """Changes the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.language.extra import libdevice

    for name, function in vars(libdevice).copy().items():
        if isinstance(function, FunctionType):
            setattr(libdevice, name, _refused(name))


def _refused(name: str) -> Callable[..., NoReturn]:
    def refused(*_args: Any, **_options: Any) -> NoReturn:
        raise NotImplementedError(f"libdevice.{name} is not supported in interpreter mode")

    return refused
