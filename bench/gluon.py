"""Warp-specialized kernels on a Hopper GPU: first whether they are right, then how long they take.

    python gluon.py FOLDER --out FILE [--seconds 240] [--only NAME,NAME:SIZE] [--into FILE]

FOLDER has the modules that bench/gluon.ts writes. Random kernels, in the folder random, are compared with
their plain kernels, several at a time. Each config of each kernel is compared with PyTorch at
several sizes, odd ones too, on outputs that were NaN before, and must give the same bits in each of three
runs. Then the specialized kernel, the plain one and PyTorch take turns, and the medians count. All of it
happens in a child process: where a kernel hangs, the child is ended after a deadline, and the result says so.
A SIZE of attention is the elements of a head: attention:256. With --into, the rows of an earlier result stay that this run has no row of its own for.
"""

from __future__ import annotations

import argparse
import json
import queue
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gluon_attention as attention
import gluon_flex as flex
import gluon_float8 as float8
import gluon_int4 as int4
import gluon_random
from gluon_modules import load, say, tuner_of

ROUNDS = 12
#: Seconds after which a kernel hangs; attention's cases end earlier, or are ended.
SILENCE = attention.SECONDS + 30
#: Sizes M, N, K: whole tiles, odd rows, odd everything that the copy engine takes, fewer rows than a tile, short sums.
SHAPES = [
    (512, 512, 512),
    (1000, 776, 328),
    (129, 1032, 72),
    (77, 264, 8),
    (1, 8, 64),
    (4096, 512, 1024),
    (300, 2056, 4104),
]
#: What is timed: the module, M = N = K, and the dtype.
TIMED = [
    ("gemm", 8192, "float16"),
    ("gemm", 8192, "bfloat16"),
    ("gemm", 4096, "float16"),
    ("gemm", 4096, "bfloat16"),
    ("gemm_tma", 8192, "float16"),
    ("gemm_persistent_tma", 8192, "float16"),
    ("gemm_persistent_tma", 4096, "float16"),
    ("linear_gelu", 4096, "bfloat16"),
]


DTYPES = ("float16", "bfloat16")


def kind_of(name: str) -> Any:
    """The module with the sizes, the dtypes and the problems of a product."""
    return next((each for each in (float8, int4) if name in each.NAMES), sys.modules[__name__])


def problem_of(name: str, shape: tuple[int, int, int], dtype: str) -> Any:
    return kind_of(name).Problem(name, shape, dtype)


class Problem:
    """Inputs for one size, and what PyTorch computes of them."""

    def __init__(self, name: str, shape: tuple[int, int, int], dtype: str) -> None:
        import torch

        (m, n, k), self.kind = shape, getattr(torch, dtype)
        torch.manual_seed(m + n + k)

        def make(*size: int) -> Any:
            return torch.randn(*size, device="cuda", dtype=self.kind)

        self.is_linear = name == "linear_gelu"
        self.options: dict[str, Any] = {}
        self.shape = (m, n)
        if self.is_linear:
            self.inputs = (make(m, k), make(n, k) / k**0.5, make(n))
        else:
            self.inputs = (make(m, k), make(k, n))
        self.copied = self.inputs[:2]

    def reference(self, wide: bool) -> Any:
        import torch

        inputs = [x.float() for x in self.inputs] if wide else self.inputs
        if self.is_linear:
            return torch.nn.functional.gelu(torch.nn.functional.linear(*inputs))
        return torch.matmul(*inputs)

    def rivals(self) -> dict[str, Any]:
        if not self.is_linear:
            return {}
        import torch

        fused = torch.compile(
            lambda *given: torch.nn.functional.gelu(torch.nn.functional.linear(*given)),
            mode="max-autotune-no-cudagraphs",
        )
        try:
            fused(*self.inputs)
        except Exception as error:  # noqa: BLE001
            say(note=f"max-autotune: {type(error).__name__}")
            return {}
        return {"max-autotune": lambda: fused(*self.inputs)}


def compare(name: str, module: Any) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    tuner = tuner_of(module)
    configs = list(tuner.configs)
    shapes, dtypes = kind_of(name).SHAPES, kind_of(name).DTYPES
    for index, config in enumerate(configs):
        tuner.configs = [config]
        tuner.cache.clear()
        wrong: list[Any] = []
        began = time.time()
        for shape in shapes:
            for dtype in dtypes:
                problem = problem_of(name, shape, dtype)
                exact = problem.reference(wide=True)
                own = (problem.reference(wide=False).float() - exact).abs().max().item()
                out = torch.full(problem.shape, float("nan"), device="cuda", dtype=problem.kind)
                assert module._is_specialized(*problem.copied, out), (shape, dtype)
                module.kernel_fn(*problem.inputs, **problem.options, out=out)
                off = (out.float() - exact).abs().max().item()
                first = out.clone()
                stable = True
                for _ in range(2):
                    out.fill_(float("nan"))
                    module.kernel_fn(*problem.inputs, **problem.options, out=out)
                    stable = stable and torch.equal(out, first)
                step = exact.abs().max().item() * 2.0 ** (-10 if dtype == "float16" else -7)
                if not (off <= max(2 * own, step)) or not stable:
                    wrong.append([shape, dtype, off, own, stable])
        spills = sorted({binary.n_spills for kept in tuner.fn.device_caches.values() for binary in kept[0].values()})
        say(compared=name, config=index, constants=config.kwargs, cases=len(dtypes) * len(shapes), wrong=wrong, spills=spills, seconds=round(time.time() - began, 1))
    tuner.configs = configs
    tuner.cache.clear()


def timed(run: Any, flush: Any, calls: int = 12) -> float:
    """Milliseconds of a call on the GPU, the median of several, each with an empty L2.

    The GPU waits before each call until Python has queued it, so that the time has no launch in it.
    """
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


def in_turns(ways: dict[str, Any], rounds: int, calls: int) -> dict[str, float]:
    """Milliseconds of each way: the median of rounds in which the ways take turns, after a first call of each."""
    import torch

    for run in ways.values():
        run()
    flush = torch.empty(64 * 2**20, device="cuda", dtype=torch.int32)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            times[way].append(timed(run, flush, calls))
    return {way: statistics.median(each) for way, each in times.items()}


def measure(name: str, module: Any, size: int, dtype: str) -> None:
    import torch
    problem = problem_of(name, (size, size, size), dtype)
    out = torch.empty(problem.shape, device="cuda", dtype=problem.kind)
    is_specialized = module._is_specialized

    def call() -> None:
        module.kernel_fn(*problem.inputs, **problem.options, out=out)

    def plain() -> None:
        module._is_specialized = lambda *_: False
        call()
        module._is_specialized = is_specialized

    tuner = tuner_of(module)
    configs = list(tuner.configs)

    def with_config(config: Any) -> None:
        tuner.configs = [config]
        call()
        tuner.configs = configs

    rivals = {
        **{f"config {i}": lambda config=config: with_config(config) for i, config in enumerate(configs)},
        "specialized": call,
        "plain": plain,
        "torch": lambda: problem.reference(wide=False),
        **problem.rivals(),
    }
    for run in rivals.values():
        run()
    torch.cuda.synchronize()
    flush = torch.empty(64 * 2**20, device="cuda", dtype=torch.int32)
    times: dict[str, list[float]] = {rival: [] for rival in rivals}
    for _ in range(ROUNDS):
        for rival, run in rivals.items():
            times[rival].append(timed(run, flush))
    medians = {rival: statistics.median(each) for rival, each in times.items()}
    flops = 2 * size**3
    call()
    best = tuner.best_config
    say(
        timed=name, size=size, dtype=dtype, rounds=ROUNDS,
        ms={rival: round(ms, 4) for rival, ms in medians.items()},
        tflops={rival: round(flops / ms / 1e9, 1) for rival, ms in medians.items()},
        of_torch=round(medians["torch"] / medians["specialized"], 3),
        of_plain=round(medians["plain"] / medians["specialized"], 3),
        config=best.kwargs,
    )


def steps(folder: Path, only: str) -> list[tuple[str, ...]]:
    names = sorted(path.stem for path in folder.glob("*.py"))
    every = [("compare", name) for name in names]
    every += [("measure", *map(str, each)) for each in [*TIMED, *float8.TIMED, *int4.TIMED, *attention.TIMED, *flex.TIMED] if each[0] in names]
    return [step for step in every if only == "" or any(is_wanted(step, each) for each in only.split(","))]


def is_wanted(step: tuple[str, ...], only: str) -> bool:
    name, _, size = only.partition(":")
    return step[1] == name and (size == "" or step[0] == "compare" or step[2] == size)


def size_of(name: str, only: str) -> str:
    """The elements of a head that alone are wanted of a module."""
    return next((each.partition(":")[2] for each in only.split(",") if each.partition(":")[0] == name), "")


def work(folder: Path, only: str, start: int, deadline: float) -> None:
    modules: dict[str, Any] = {}
    for index, step in enumerate(steps(folder, only)):
        if index < start:
            continue
        if time.time() > deadline:
            say(skipped=step)
            continue
        print(f"#{index}", flush=True)
        name = step[1]
        try:
            modules[name] = modules.get(name) or load(folder / f"{name}.py")
            if name in attention.NAMES:
                if step[0] == "compare":
                    attention.compare(folder, name, size_of(name, only))
                elif name in flex.NAMES:
                    flex.measure(name, modules[name], int(step[2]), step[3])
                else:
                    attention.measure(name, modules[name], int(step[2]), step[3], step[4])
            elif step[0] == "compare":
                compare(name, modules[name])
            else:
                measure(name, modules[name], int(step[2]), step[3])
        except Exception as error:  # noqa: BLE001
            say(failed=step, error=f"{type(error).__name__}: {error}"[-1500:])
            sys.exit(3)


def merged(earlier: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, and those of an earlier run about what they do not speak of, in its order."""

    def about(row: dict[str, Any]) -> tuple[Any, ...]:
        if "constants" in row:
            return row["compared"], json.dumps(row["constants"])
        if "timed" in row:
            return tuple(row.get(key) for key in ("timed", "size", "head_dim", "mask", "dtype"))
        return (json.dumps(row),)

    own = {about(row): row for row in rows if "skipped" not in row}
    kept = [own.pop(about(row), row) for row in earlier]
    return [*kept, *own.values()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--only", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--work", nargs=2, type=float)
    given = parser.parse_args()
    if given.work:
        return work(given.folder, given.only, int(given.work[0]), given.work[1])
    deadline = time.time() + given.seconds
    start, rows = 0, []
    if given.only == "" and (given.folder / "random").exists():
        rows.append(gluon_random.compare(given.folder / "random", given.seconds / 2))
        print(json.dumps(rows[-1]), flush=True)
    total = len(steps(given.folder, given.only))
    while start < total and time.time() < deadline:
        child = subprocess.Popen(
            [sys.executable, __file__, str(given.folder), "--only", given.only, "--work", str(start), str(deadline)],
            stdout=subprocess.PIPE,
            text=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()

        def read(child: Any = child, lines: Any = lines) -> None:
            for line in child.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        at = start
        fault = None
        while True:
            try:
                line = lines.get(timeout=SILENCE)
            except queue.Empty:
                child.kill()
                fault = f"no answer in {SILENCE} s"
                break
            if line is None:
                code = child.wait()
                fault = f"ended with {code}" if code else None
                break
            if line.startswith("#"):
                at = int(line[1:])
            elif line.startswith("{"):
                print(line, end="", flush=True)
                rows.append(json.loads(line))
        if fault is None:
            break
        rows.append({"step": steps(given.folder, given.only)[at], "fault": fault})
        print(json.dumps(rows[-1]), flush=True)
        start = at + 1
    if given.out:
        import torch
        import triton

        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
        earlier = json.loads(given.into.read_text())["rows"] if given.into else []
        given.out.write_text(json.dumps({**about, "rows": merged(earlier, rows)}, indent=2) + "\n")


if __name__ == "__main__":
    main()
