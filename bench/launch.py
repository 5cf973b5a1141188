"""Times what calls cost the host: emitted wrappers, PyTorch's operators, and launches as written by hand.

``python bench/launch.py FOLDER --out RESULT.json``: bench/launch.ts writes FOLDER, with the modules in ``fast`` and
``plain``. All ways to one result are called in turn, round after round, forwards and backwards. The tensors are so
small that the GPU waits for the host, and a round ends before the launch queue is full.
"""

import argparse
import datetime
import gc
import importlib.util
import json
import platform
import statistics
import sys
import time
from pathlib import Path

ROUNDS, CALLS, WARMUP_SECONDS = 40, 400, 5
# The fast form's time, as a part of that of PyTorch's operator.
FAST_BARS = {"vector_add": 1.15, "gemm": 0.75}
# What the checks of the plain form may add to 1.1 times the hand-written wrapper, in µs.
PLAIN_BARS = {"vector_add": 9, "softmax": 12, "gemm": 12}


def arguments():
    parser = argparse.ArgumentParser(description="Times what calls cost the host.")
    parser.add_argument("folder", type=Path, help="with the modules, as bench/launch.ts writes it")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()


def modules(folder, name):
    """The module with and without the block for repeated calls."""
    return [imported(folder / form / f"{name}.py", f"{name}_{form}") for form in ("fast", "plain")]


def imported(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def vector_add(folder):
    import torch
    import triton

    fast, plain = modules(folder, "vector_add")
    x, y = (torch.randn(4096, device="cuda") for _ in "xy")
    out = torch.empty_like(x)
    kernel, grid = plain.vector_add_kernel, (triton.cdiv(4096, 1024),)
    yield (
        "out",
        out,
        lambda: x + y,
        {
            "fast": lambda: fast.kernel_fn(x, y, out=out),
            "plain": lambda: plain.kernel_fn(x, y, out=out),
            "torch": lambda: torch.add(x, y, out=out),
            "bare launch": lambda: kernel[grid](x, y, out, 4096, BLOCK=1024),
        },
    )

    def by_hand(x, y):
        assert x.shape == y.shape and x.is_contiguous() and y.is_contiguous()
        z = torch.empty_like(x)
        N = x.numel()
        kernel[(triton.cdiv(N, 1024),)](x, y, z, N, BLOCK=1024)
        return z

    yield (
        "no out",
        None,
        lambda: x + y,
        {
            "fast": lambda: fast.kernel_fn(x, y),
            "plain": lambda: plain.kernel_fn(x, y),
            "torch": lambda: x + y,
            "by hand": lambda: by_hand(x, y),
        },
    )


def softmax(folder):
    import torch
    import triton

    fast, plain = modules(folder, "softmax")
    x = torch.randn(128, 256, device="cuda")
    out = torch.empty_like(x)
    yield (
        "out",
        out,
        lambda: torch.softmax(x, -1),
        {
            "fast": lambda: fast.kernel_fn(x, out=out),
            "plain": lambda: plain.kernel_fn(x, out=out),
            "torch": lambda: torch.softmax(x, -1, out=out),
        },
    )

    def by_hand(x):
        assert x.ndim == 2
        y = torch.empty_like(x)
        M, N = x.shape
        plain.softmax_kernel[(M,)](x, y, N, *x.stride(), *y.stride(), BLOCK_N=triton.next_power_of_2(N))
        return y

    yield (
        "no out",
        None,
        lambda: torch.softmax(x, -1),
        {
            "fast": lambda: fast.kernel_fn(x),
            "plain": lambda: plain.kernel_fn(x),
            "torch": lambda: torch.softmax(x, -1),
            "by hand": lambda: by_hand(x),
        },
    )


def gemm(folder):
    import torch
    import triton

    fast, plain = modules(folder, "gemm")
    a, b = (torch.randn(128, 128, device="cuda", dtype=torch.float16) for _ in "ab")
    out = torch.empty_like(a)

    def grid(meta):
        return (triton.cdiv(128, meta["BLOCK_M"]) * triton.cdiv(128, meta["BLOCK_N"]),)

    numbers = 128, 128, 128, 128, 1, 128, 1, 128, 1

    def by_hand(a, b):
        assert a.shape[1] == b.shape[0]
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty((M, N), device=a.device, dtype=a.dtype)

        def grid(meta):
            return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

        plain.gemm_kernel[grid](a, b, c, M, K, N, *a.stride(), *b.stride(), *c.stride())
        return c

    yield (
        "out",
        out,
        lambda: a @ b,
        {
            "fast": lambda: fast.kernel_fn(a, b, out=out),
            "plain": lambda: plain.kernel_fn(a, b, out=out),
            "torch": lambda: torch.mm(a, b, out=out),
            "bare launch": lambda: plain.gemm_kernel[grid](a, b, out, *numbers),
        },
    )
    yield (
        "no out",
        None,
        lambda: a @ b,
        {
            "fast": lambda: fast.kernel_fn(a, b),
            "plain": lambda: plain.kernel_fn(a, b),
            "torch": lambda: torch.mm(a, b),
            "by hand": lambda: by_hand(a, b),
        },
    )


def microseconds(call):
    """The host's time for a call, the mean over those of a round."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    took = time.perf_counter_ns() - start
    torch.cuda.synchronize()
    return took / CALLS / 1000


def timed(calls, rounds):
    """A row for each way, and how many times as long as PyTorch's operator it takes."""
    times = {name: [] for name in calls}
    # A core reaches its full clock only under load.
    deadline = time.perf_counter() + WARMUP_SECONDS
    while time.perf_counter() < deadline:
        for call in calls.values():
            microseconds(call)
    gc.collect()
    gc.disable()
    for turn in range(rounds):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            times[name].append(microseconds(calls[name]))
    gc.enable()
    for name, each in times.items():
        low, *_, high = statistics.quantiles(each, n=5)
        ratios = [mine / theirs for mine, theirs in zip(each, times["torch"], strict=True)]
        of_torch = statistics.median(each) / statistics.median(times["torch"])
        yield {
            "provider": name,
            "us": statistics.median(each),
            "low": low,
            "high": high,
            "best": min(each),
            "of_torch": of_torch,
            "of_torch_by_round": statistics.median(ratios),
        }


def missed_bars(kernel, form, rows):
    """What is slower than it may be, in words."""
    fast, bar = rows["fast"]["of_torch"], FAST_BARS.get(kernel)
    if form == "out" and bar and fast > bar:
        yield f"{kernel}, fast: {fast:.2f} of PyTorch's time, at most {bar}"
    if "by hand" in rows:
        plain, limit = rows["plain"]["us"], 1.1 * rows["by hand"]["us"] + PLAIN_BARS[kernel]
        if plain > limit:
            yield f"{kernel}, plain: {plain:.1f} µs, at most {limit:.1f}"


def main():
    args = arguments()
    import torch
    import triton

    torch.manual_seed(0)
    result = {
        "device": torch.cuda.get_device_name(),
        "host": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.date.today().isoformat(),
        "rounds": args.rounds,
        "calls": CALLS,
        "rows": [],
    }
    missed = []
    for case in (vector_add, softmax, gemm):
        for form, out, expected, calls in case(args.folder):
            for name, call in calls.items():
                for _ in range(20):
                    got = call()
                got = got if out is None else out
                torch.testing.assert_close(got, expected(), rtol=1e-2, atol=1e-2, msg=f"{name} is wrong")
            rows = {row["provider"]: {"kernel": case.__name__, "form": form} | row for row in timed(calls, args.rounds)}
            for row in rows.values():
                result["rows"].append(row)
                print(
                    *(f"{key}={value:.3g}" if type(value) is float else f"{key}={value}" for key, value in row.items())
                )
            missed += missed_bars(case.__name__, form, rows)
            args.out.write_text(json.dumps(result, indent=2) + "\n")
    return "\n".join(missed) if missed else 0


if __name__ == "__main__":
    sys.exit(main())
