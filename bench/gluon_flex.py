"""Warp-specialized attention with changed scores beside flex attention, for gluon.py: first whether both agree."""

from __future__ import annotations

import random
import statistics
from typing import Any

from gluon_attention import busy, idle, inputs, loaded
from gluon_modules import say, tuner_of

ROUNDS = 12
WINDOW = 1024
CAP = 400
#: What is timed, with 4 x 32 heads of 4096 rows: the module, the elements of a head and the dtype.
TIMED = [
    ("sliding_window", 128, "float16"),
    ("soft_capped", 128, "float16"),
    ("sloped", 128, "float16"),
    ("relative_attention", 128, "float16"),
    ("relative_attention", 64, "float16"),
    ("sliding_window", 64, "float16"),
    ("soft_capped", 64, "float16"),
    ("sloped", 64, "float16"),
]
NAMES = tuple({name for name, *_ in TIMED})
#: Which of them leave keys out.
BESIDE_DIAGONAL = ("sliding_window", "sloped")


def scores_of(name: str, heads: int, rows: int, size: int, more: list[Any]) -> Any:
    """How flex attention changes scores, with what it loads: its function, or None."""
    import torch

    def capped(score: Any, _batch: Any, _head: Any, _row: Any, _key: Any) -> Any:
        cap = CAP / size**0.5
        return cap * torch.tanh(score / cap)

    def sloped(score: Any, _batch: Any, head: Any, row: Any, key: Any) -> Any:
        return score + (key - row) * torch.exp2(-8.0 * (head + 1) / heads) / size**0.5

    def biased(score: Any, _batch: Any, head: Any, row: Any, key: Any) -> Any:
        return score + more[0][head, row - key + rows - 1]

    return {"soft_capped": capped, "sloped": sloped, "relative_attention": biased}.get(name)


def mask_of(name: str, rows: int) -> Any:
    """The blocks of keys that rows see, for flex attention, or None."""
    from torch.nn.attention.flex_attention import create_block_mask

    def causal(_batch: Any, _head: Any, row: Any, key: Any) -> Any:
        return row >= key

    def near(_batch: Any, _head: Any, row: Any, key: Any) -> Any:
        return (row >= key) & (row - key < WINDOW)

    seen = near if name == "sliding_window" else causal
    return create_block_mask(seen, None, None, rows, rows) if name in BESIDE_DIAGONAL else None


def rivals_of(name: str, module: Any, given: list[Any], more: list[Any], out: Any) -> dict[str, Any]:
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    batched = [x[None] for x in given]
    heads, rows, size = given[0].shape
    change, mask = scores_of(name, heads, rows, size, more), mask_of(name, rows)
    is_specialized = module._is_specialized

    def specialized() -> Any:
        return module.kernel_fn(*given, *more, **{module_output(module): out})

    def plain() -> Any:
        module._is_specialized = lambda *_: False
        result = specialized()
        module._is_specialized = is_specialized
        return result

    rivals = {"specialized": specialized, "plain": plain}
    for way, mode in (("flex", None), ("flex, max-autotune", "max-autotune-no-cudagraphs")):
        fused = torch.compile(flex_attention, mode=mode, dynamic=False)
        rivals[way] = lambda fused=fused: fused(*batched, score_mod=change, block_mask=mask)[0]
    return rivals


def module_output(module: Any) -> str:
    """The name by which the wrapper takes where to write."""
    import inspect

    named = inspect.signature(module.kernel_fn).parameters.values()
    return next(each.name for each in named if each.kind is each.KEYWORD_ONLY)


def measure(name: str, module: Any, size: int, kind: str) -> None:
    import torch

    torch._dynamo.reset()
    heads, rows = 128, 4096
    given = inputs(heads, rows, size, getattr(torch, kind), is_strided=False)
    more = loaded(name, heads, rows, getattr(torch, kind))
    out = torch.empty_like(given[0])
    rivals: dict[str, Any] = {}
    results: dict[str, Any] = {}
    for rival, run in rivals_of(name, module, given, more, out).items():
        try:
            results[rival] = run().clone()
            rivals[rival] = run
        except Exception as error:  # noqa: BLE001
            say(note=f"{name}, heads of {size}: {rival}: {type(error).__name__}: {error}"[:400])
    # Scores of float16 products that functions change in float32: both are off by a step of the result.
    off = {rival: (result.float() - results["specialized"].float()).abs().max().item() for rival, result in results.items()}
    if max(off.values()) > 4e-3:
        say(note=f"{name}, heads of {size}: results differ by {off}")
        return
    torch.cuda.synchronize()
    flush = torch.empty(64 * 2**20, device="cuda", dtype=torch.int32)
    times: dict[str, dict[str, list[float]]] = {way: {rival: [] for rival in rivals} for way in ("idle", "busy")}
    order = random.Random(0)
    for way, timed in (("idle", lambda run: idle(run, flush)), ("busy", busy)):
        for _ in range(ROUNDS):
            for rival in order.sample(list(rivals), len(rivals)):
                times[way][rival].append(timed(rivals[rival]))
    medians = {way: {rival: statistics.median(each) for rival, each in ms.items()} for way, ms in times.items()}
    best = {way: min(each for rival, each in ms.items() if rival.startswith("flex")) for way, ms in medians.items()}
    tuner = tuner_of(module)
    say(
        timed=name, heads=heads, rows=rows, head_dim=size, dtype=kind, rounds=ROUNDS,
        ms={rival: round(ms, 4) for rival, ms in medians["idle"].items()},
        off=off,
        of_flex={way: round(best[way] / ms["specialized"], 3) for way, ms in medians.items()},
        of_plain={way: round(ms["plain"] / ms["specialized"], 3) for way, ms in medians.items()},
        config=getattr(tuner, "best_config", tuner.configs[0]).kwargs,
    )
