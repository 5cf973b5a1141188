"""GPU time of a call: warm, with a flushed L2 cache, as the median of many calls with its spread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

# Limit of flushes per call. More would hide calls with an excessive CPU time.
MAX_FLUSHES = 20


def measure(function: Callable[[], Any], warmup: int, iterations: int) -> dict[str, float]:
    """Milliseconds of the GPU: ``median``, and the 20th and 80th percentile as ``low`` and ``high``.

    ``host`` is the CPU time of a call. The CPU works ahead of the GPU.

    The L2 cache is overwritten before each call, as in ``triton.testing.do_bench``. The flushes repeat until the CPU
    has queued the call, because an idle GPU would add its waiting time.
    """
    from triton.runtime import driver

    function()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(max(warmup, 1)):
        function()
    host = (time.perf_counter() - start) * 1e3 / max(warmup, 1)
    torch.cuda.synchronize()
    cache = driver.active.get_empty_cache_for_benchmark()

    def flush() -> None:
        driver.active.clear_cache(cache)

    flush()
    flushes = min(1 + math.ceil(host / _time_calls([flush])[0]), MAX_FLUSHES)
    times = torch.tensor(_time_calls([function] * iterations, prepare=lambda: [flush() for _ in range(flushes)]))
    low, median, high = times.quantile(torch.tensor([0.2, 0.5, 0.8])).tolist()
    return {"median": median, "low": low, "high": high, "host": host}


def _time_calls(functions: list[Callable[[], Any]], prepare: Callable[[], Any] = lambda: None) -> list[float]:
    """GPU time of each function, in milliseconds."""
    starts, ends = ([torch.cuda.Event(enable_timing=True) for _ in functions] for _ in range(2))
    for function, start, end in zip(functions, starts, ends, strict=True):
        prepare()
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]
