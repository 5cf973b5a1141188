"""How long the GPU takes for a call: warm, with a flushed L2 cache, as the median of many calls with its spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def measure(function: Callable[[], Any], warmup: int, iterations: int) -> dict[str, float]:
    """Milliseconds: ``median``, and the 20th and 80th percentile as ``low`` and ``high``.

    The L2 cache is overwritten before each call, as ``triton.testing.do_bench`` does, which counts time where this
    counts calls.
    """
    from triton.runtime import driver

    for _ in range(max(warmup, 1)):
        function()
    torch.cuda.synchronize()
    cache = driver.active.get_empty_cache_for_benchmark()
    starts, ends = ([torch.cuda.Event(enable_timing=True) for _ in range(iterations)] for _ in range(2))
    for start, end in zip(starts, ends, strict=True):
        driver.active.clear_cache(cache)
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    times = torch.tensor([start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)])
    low, median, high = times.quantile(torch.tensor([0.2, 0.5, 0.8])).tolist()
    return {"median": median, "low": low, "high": high}
