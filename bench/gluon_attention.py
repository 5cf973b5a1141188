"""Warp-specialized attention on a Hopper GPU, for gluon.py: whether it is right, then how long it takes.

    python gluon_attention.py MODULE SHARE OF [SIZE]

compares every OF-th case of a module, from SHARE on, or of its cases with SIZE elements of a head. Cases are compared in several processes at a time, because
compiling takes longest; one that does not end in time hangs.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gluon_modules import fits, load, say, tuner_of

#: Those that load what changes their scores; they too are compared with their plain kernels, and not with PyTorch.
LOADING = ("relative_attention", "biased", "padded", "documents", "loaded_slopes", "lengths")
BESIDE_PLAIN = ("windowed", "unmasked", "sliding_window", "soft_capped", "sloped", *LOADING)
NAMES = ("attention", "in_two_loops", "in_one_loop", *BESIDE_PLAIN)
#: Those with a config for heads of 256 elements, also of their plain kernels.
LONG = ("attention", "in_two_loops", "relative_attention")
PROCESSES = 14
SECONDS = 240
ROUNDS = 12
#: Heads, rows and elements of a head: whole blocks, odd rows, fewer rows than a block, one row, none in the last block,
#: and more tiles than a GPU has multiprocessors.
SHAPES = [
    (3, 512, 128),
    (2, 1000, 64),
    (5, 77, 128),
    (2, 1, 64),
    (1, 2049, 128),
    (4, 640, 64),
    (2, 129, 128),
    (150, 300, 128),
    (150, 300, 64),
    (3, 512, 256),
    (2, 1000, 256),
    (5, 77, 256),
    (2, 1, 256),
    (150, 300, 256),
]
#: What is timed, with 4 x 32 heads of 4096 rows: the module, the elements of a head, the mask and the dtype.
TIMED = [
    ("attention", 128, "full", "float16"),
    ("attention", 128, "causal", "float16"),
    ("attention", 64, "full", "float16"),
    ("attention", 64, "causal", "float16"),
    ("in_two_loops", 128, "full", "float16"),
    ("in_two_loops", 128, "causal", "float16"),
    ("in_two_loops", 64, "full", "float16"),
    ("in_two_loops", 64, "causal", "float16"),
    ("attention", 128, "full", "bfloat16"),
    ("attention", 128, "causal", "bfloat16"),
    ("attention", 256, "full", "float16"),
    ("attention", 256, "causal", "float16"),
]


def reference(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """The output and, for each row, the base-2 logarithm of its sum of exponentials, in float32."""
    import torch

    scores = q.float() @ k.float().transpose(1, 2) / q.shape[-1] ** 0.5
    if causal:
        seen = torch.ones(scores.shape[1:], device="cuda", dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    return scores.softmax(-1) @ v.float(), scores.logsumexp(-1) * 1.4426950408889634


def inputs(heads: int, rows: int, size: int, dtype: Any, is_strided: bool) -> list[Any]:
    import torch

    torch.manual_seed(heads + rows + size)
    shape = (rows, heads, size) if is_strided else (heads, rows, size)
    made = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3)]
    return [x.transpose(0, 1) if is_strided else x for x in made]


def loaded(name: str, heads: int, rows: int, dtype: Any) -> list[Any]:
    """What the module loads besides queries, keys and values."""
    import torch

    made = {
        "relative_attention": lambda: torch.randn((heads, 2 * rows - 1), device="cuda", dtype=dtype),
        "biased": lambda: torch.randn((heads, rows, rows), device="cuda", dtype=dtype),
        "padded": lambda: (torch.rand((heads, rows), device="cuda") < 0.8).to(torch.int8),
        "documents": lambda: torch.arange(rows, device="cuda", dtype=torch.int32) // 100,
        "loaded_slopes": lambda: torch.rand(heads, device="cuda"),
        "lengths": lambda: torch.randint(1, rows + 1, (heads,), device="cuda", dtype=torch.int32),
    }
    return [made[name]()] if name in made else []


def compare_case(name: str, module: Any, shape: tuple[int, int, int], causal: bool, kind: str, is_strided: bool) -> list[Any]:
    """What is wrong with one case, if anything."""
    import torch

    heads, rows, size = shape
    dtype = getattr(torch, kind)
    # The example takes its tensors as they lie in memory.
    q, k, v = inputs(heads, rows, size, dtype, is_strided and name != "relative_attention")
    options = tuple(loaded(name, heads, rows, dtype)) if name in BESIDE_PLAIN else (causal,)
    outs = {"o" if name == "in_two_loops" else "out": torch.full((heads, rows, size), float("nan"), device="cuda", dtype=dtype)}
    if name == "in_two_loops":
        outs["lse"] = torch.full((heads, rows), float("nan"), device="cuda")
    if name in BESIDE_PLAIN:
        is_specialized, module._is_specialized = module._is_specialized, lambda *_: False
        exact, sums, own = module.kernel_fn(q, k, v, *options).float(), None, 0.0
        module._is_specialized = is_specialized
    else:
        exact, sums = reference(q, k, v, causal)
        sdpa = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        own = (sdpa.float() - exact).abs().max().item()
    assert module._is_specialized(q, k, v, *list(outs.values())[:1]), (shape, kind)
    module.kernel_fn(q, k, v, *options, **outs)
    first = [out.clone() for out in outs.values()]
    off = (first[0].float() - exact).abs().max().item()
    stable = True
    for _ in range(2):
        for out in outs.values():
            out.fill_(float("nan"))
        module.kernel_fn(q, k, v, *options, **outs)
        stable = stable and all(torch.equal(out, once) for out, once in zip(outs.values(), first))
    # Infinities stay in their head, though a program may compute tiles of others before and after.
    v[heads // 2] = float("inf")
    module.kernel_fn(q, k, v, *options, **outs)
    others = [place for place in range(heads) if place != heads // 2]
    stable = stable and all(torch.equal(out[others], once[others]) for out, once in zip(outs.values(), first))
    step = exact.abs().max().item() * 2.0 ** (-10 if kind == "float16" else -7)
    far = (first[1] - sums).abs().max().item() if len(first) > 1 else 0.0
    is_right = off <= max(3 * own, step) and far <= 2e-3 and stable
    return [] if is_right else [[shape, causal, kind, is_strided, off, own, far, stable]]


def cases_of(name: str, size: str) -> list[tuple[Any, ...]]:
    masks = (False,) if name in BESIDE_PLAIN else (False, True)
    every = [(shape, causal, kind) for shape in SHAPES for causal in masks for kind in ("float16", "bfloat16")]
    cases = [(*case, place % 3 == 0) for place, case in enumerate(every)]
    lengths = {shape[2] for shape in SHAPES} - ({256} if name not in LONG else set())
    return [case for case in cases if case[0][2] in lengths and size in ("", str(case[0][2]))]


def is_for(tuner: Any, config: Any, size: int) -> bool:
    """Whether the config is for heads of so many elements; those of long heads store their rows in pieces."""
    is_long = config.kwargs.get("PIECES", 1) > 1
    return is_long == (size == 256) and fits(tuner, config, HEAD_DIM=size, D=size)


def compare_share(path: Path, share: int, of: int, size: str = "") -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    module = load(path)
    tuner = tuner_of(module)
    for index, config in enumerate(list(tuner.configs)):
        tuner.configs = [config]
        tuner.cache.clear()
        for case in cases_of(path.stem, size)[share::of]:
            if not is_for(tuner, config, case[0][2]):
                continue
            wrong = compare_case(path.stem, module, *case)
            spills = {binary.n_spills for kept in tuner.fn.device_caches.values() for binary in kept[0].values()}
            say(config=index, constants=config.kwargs, wrong=wrong, spills=sorted(spills))


def compare(folder: Path, name: str, size: str = "") -> None:
    """Compares the cases of a module, and says for each config what is wrong."""
    began = time.time()
    command = [sys.executable, __file__, str(folder / f"{name}.py")]
    children = [
        subprocess.Popen([*command, str(share), str(PROCESSES), size], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for share in range(PROCESSES)
    ]
    rows, faults = [], []
    for share, child in enumerate(children):
        try:
            text, errors = child.communicate(timeout=max(1, began + SECONDS - time.time()))
        except subprocess.TimeoutExpired:
            child.kill()
            text, errors = child.communicate()
            faults.append(f"share {share} hangs")
        if child.returncode and f"share {share} hangs" not in faults:
            faults.append(f"share {share} ended with {child.returncode}: {errors[-600:]}")
        rows += [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for index in sorted({row["config"] for row in rows}):
        own = [row for row in rows if row["config"] == index]
        say(
            compared=name, config=index, constants=own[0]["constants"], cases=len(own),
            wrong=[each for row in own for each in row["wrong"]],
            spills=sorted({spill for row in own for spill in row["spills"]}),
            seconds=round(time.time() - began, 1),
        )
    if faults:
        say(compared=name, faults=faults)


def idle(run: Any, flush: Any, calls: int = 12) -> float:
    """Milliseconds of a call, the median of several, each with an empty L2 and the GPU idle before it."""
    import torch

    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(calls)]
    for start, end in marks:
        flush.zero_()
        torch.cuda._sleep(1_000_000)
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in marks)


def busy(run: Any, calls: int = 30) -> float:
    """Milliseconds of a call, of many back to back, after as many that bring the GPU to the clock that they allow."""
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(calls):
        run()
    start.record()
    for _ in range(calls):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / calls


def measure(name: str, module: Any, size: int, mask: str, kind: str) -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    causal = mask == "causal"
    dtype = getattr(torch, kind)
    batch, heads, rows = 4, 32, 4096
    q, k, v = inputs(batch * heads, rows, size, dtype, is_strided=False)
    outs = {"o" if name == "in_two_loops" else "out": torch.empty_like(q)}
    is_specialized = module._is_specialized
    given = [x.view(batch, heads, rows, size) for x in (q, k, v)]

    def plain() -> None:
        module._is_specialized = lambda *_: False
        module.kernel_fn(q, k, v, causal, **outs)
        module._is_specialized = is_specialized

    def cudnn() -> None:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            torch.nn.functional.scaled_dot_product_attention(*given, is_causal=causal)

    rivals = {
        "specialized": lambda: module.kernel_fn(q, k, v, causal, **outs),
        "plain": plain,
        "cudnn": cudnn,
        "sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(*given, is_causal=causal),
    }
    for run in rivals.values():
        run()
    torch.cuda.synchronize()
    flush = torch.empty(64 * 2**20, device="cuda", dtype=torch.int32)
    times: dict[str, dict[str, list[float]]] = {way: {rival: [] for rival in rivals} for way in ("idle", "busy")}
    # A rival's clock depends on who ran before it, so each round has another order.
    order = random.Random(0)
    for way, timed in (("idle", lambda run: idle(run, flush)), ("busy", busy)):
        for _ in range(ROUNDS):
            for rival in order.sample(list(rivals), len(rivals)):
                times[way][rival].append(timed(rivals[rival]))
    flops = 4 * batch * heads * rows * rows * size * (0.5 if causal else 1)
    medians = {way: {rival: statistics.median(each) for rival, each in ms.items()} for way, ms in times.items()}
    tuner = tuner_of(module)
    say(
        timed=name, heads=batch * heads, rows=rows, head_dim=size, mask=mask, dtype=kind, rounds=ROUNDS,
        ms={rival: round(ms, 4) for rival, ms in medians["idle"].items()},
        tflops={rival: round(flops / ms / 1e9, 1) for rival, ms in medians["idle"].items()},
        tflops_busy={rival: round(flops / ms / 1e9, 1) for rival, ms in medians["busy"].items()},
        of_cudnn={way: round(ms["cudnn"] / ms["specialized"], 3) for way, ms in medians.items()},
        of_plain={way: round(ms["plain"] / ms["specialized"], 3) for way, ms in medians.items()},
        config=getattr(tuner, "best_config", tuner.configs[0]).kwargs,
    )


if __name__ == "__main__":
    compare_share(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
