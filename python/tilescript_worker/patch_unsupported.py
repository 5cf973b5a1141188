"""Refuses on Triton's interpreter what it lacks: libdevice, what only one vendor's GPUs have, and ``map_elementwise``.

A function of ``triton.language.extra.libdevice`` is there an empty one that returns None, and the others ask for a part
of the compiler: the interpreter would complain of something else. :func:`install` makes the call itself the error.
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
            setattr(libdevice, name, _refused(f"libdevice.{name}"))
    vendors: dict[str, ModuleType] = {"cuda": cuda, "hip": hip}
    for vendor, module in vendors.items():
        for name, function in vars(module).copy().items():
            if isinstance(function, FunctionType) and is_builtin(function):
                setattr(module, name, _refused(f"tl.extra.{vendor}.{name}"))
    if hasattr(tl, "map_elementwise"):
        tl.map_elementwise = _refused("tl.map_elementwise")


def _refused(name: str) -> Callable[..., NoReturn]:
    def refused(*_args: Any, **_options: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported in interpreter mode")

    return refused
