"""Changes the order in which Triton's interpreter runs programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reversed_programs() -> Iterator[None]:
    """Inside a ``with``, the programs of a grid run in reverse, which reveals results that depend on the order."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    forwards = builder.set_grid_idx

    def backwards(*index: int) -> None:
        forwards(*(size - 1 - coordinate for size, coordinate in zip(builder.grid_dim, index, strict=True)))

    builder.set_grid_idx = backwards
    try:
        yield
    finally:
        del builder.set_grid_idx
