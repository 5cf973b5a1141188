"""How long the GPU takes for a call: warm, with a flushed L2 cache, as the median of many calls with its spread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

# Overwriting the cache this often hides calls that take the CPU longer than any kernel's launch should.
MOST_FLUSHES = 20


def measure(function: Callable[[], Any], warmup: int, iterations: int) -> dict[str, float]:
    """Milliseconds of the GPU: ``median``, and the 20th and 80th percentile as ``low`` and ``high``.

    ``host`` is what a call takes the CPU, which works ahead of the GPU.

    The L2 cache is overwritten before each call, as ``triton.testing.do_bench`` does, which counts time where this
    counts calls. It is overwritten until the CPU has queued the call: a GPU that waited for it would be timed by it.
    """
    from triton.runtime import driver

    function()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(max(warmup, 1)):
        function()
    host = (time.perf_counter() - started) * 1e3 / max(warmup, 1)
    torch.cuda.synchronize()
    cache = driver.active.get_empty_cache_for_benchmark()

    def flush() -> None:
        driver.active.clear_cache(cache)

    flush()
    flushes = min(1 + math.ceil(host / _timed([flush])[0]), MOST_FLUSHES)
    times = torch.tensor(_timed([function] * iterations, before=lambda: [flush() for _ in range(flushes)]))
    low, median, high = times.quantile(torch.tensor([0.2, 0.5, 0.8])).tolist()
    return {"median": median, "low": low, "high": high, "host": host}


def _timed(functions: list[Callable[[], Any]], before: Callable[[], Any] = lambda: None) -> list[float]:
    """What the GPU spends on each, in milliseconds."""
    starts, ends = ([torch.cuda.Event(enable_timing=True) for _ in functions] for _ in range(2))
    for function, start, end in zip(functions, starts, ends, strict=True):
        before()
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]
