"""Seconds of this processor that an import spends in Triton's compiler and in the user's script, beside its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass


@dataclass
class Spent:
    """Whatever ends in a ``with`` counts, also where it raises."""

    triton: float = 0.0
    script: float = 0.0
    own: float = 0.0

    def json(self) -> dict[str, float]:
        return asdict(self)


# Those that are measured now, the innermost last.
_open: list[Spent] = []


@contextmanager
def measured() -> Iterator[Spent]:
    """Inside a ``with``, seconds are summed up; what is neither Triton's nor the script's is its own."""
    spent = Spent()
    before = time.process_time()
    _open.append(spent)
    try:
        yield spent
    finally:
        _open.remove(spent)
        spent.own = time.process_time() - before - spent.triton - spent.script


@contextmanager
def in_triton() -> Iterator[None]:
    before = time.process_time()
    try:
        yield
    finally:
        for spent in _open:
            spent.triton += time.process_time() - before


@contextmanager
def in_script() -> Iterator[None]:
    """The script, and Triton within it."""
    before = time.process_time()
    try:
        yield
    finally:
        for spent in _open:
            spent.script += time.process_time() - before
