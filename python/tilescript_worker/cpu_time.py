"""CPU seconds that an import spends in Triton's compiler, in the user's script, and in this package."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class CompileTime:
    """CPU seconds of a measured block. A block that raises counts too."""

    triton: float = 0.0
    script: float = 0.0
    worker: float = 0.0

    def json(self) -> dict[str, float]:
        return {"triton": self.triton, "script": self.script, "own": self.worker}


# The open measurements, the innermost last.
_active: list[CompileTime] = []


@contextmanager
def measure_cpu_time() -> Iterator[CompileTime]:
    """Measures a ``with`` block. Time outside of Triton and the script is the worker's."""
    compile_time = CompileTime()
    start = time.process_time()
    _active.append(compile_time)
    try:
        yield compile_time
    finally:
        _active.remove(compile_time)
        compile_time.worker = time.process_time() - start - compile_time.triton - compile_time.script


@contextmanager
def in_triton() -> Iterator[None]:
    start = time.process_time()
    try:
        yield
    finally:
        for compile_time in _active:
            compile_time.triton += time.process_time() - start


@contextmanager
def in_script() -> Iterator[None]:
    """Counts the script, including Triton within it."""
    start = time.process_time()
    try:
        yield
    finally:
        for compile_time in _active:
            compile_time.script += time.process_time() - start
