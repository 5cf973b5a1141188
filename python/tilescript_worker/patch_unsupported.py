"""Rejects functions that Triton's interpreter does not support: libdevice, vendor ops and ``map_elementwise``.

The interpreter would fail with a misleading error: a function of ``triton.language.extra.libdevice`` returns None, and
the others access the compiler. :func:`install` makes the call itself raise an error.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NoReturn


def install() -> None:
    """Changes the Triton that is installed. TRITON_INTERPRET must be set."""
    import triton.language as tl
    from triton.language.core import is_builtin
    from triton.language.extra import cuda, hip, libdevice

    for name, function in vars(libdevice).copy().items():
        if isinstance(function, FunctionType):
            setattr(libdevice, name, _unsupported(f"libdevice.{name}"))
    vendors: dict[str, ModuleType] = {"cuda": cuda, "hip": hip}
    for vendor, module in vendors.items():
        for name, function in vars(module).copy().items():
            if isinstance(function, FunctionType) and is_builtin(function):
                setattr(module, name, _unsupported(f"tl.extra.{vendor}.{name}"))
    if hasattr(tl, "map_elementwise"):
        tl.map_elementwise = _unsupported("tl.map_elementwise")


def _unsupported(name: str) -> Callable[..., NoReturn]:
    def refused(*_args: Any, **_options: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported in interpreter mode")

    return refused
