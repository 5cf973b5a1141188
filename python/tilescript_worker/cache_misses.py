"""Counts the kernels that Triton compiled because of a cache miss."""

from __future__ import annotations

from typing import Any

_count = 0


def install() -> None:
    """Starts counting. TRITON_INTERPRET must not be set."""
    from triton import knobs

    knobs.compilation.listener = _listen


def count() -> int:
    """Kernels that this process compiled."""
    return _count


def _listen(*, cache_hit: bool, **_: Any) -> None:
    global _count
    _count += not cache_hit
