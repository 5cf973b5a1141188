"""Times emitted kernels on a GPU beside PyTorch and a hand-written twin.

``python bench/gpu.py FOLDER --out RESULT.json``: FOLDER holds the emitted ``gemm.py``, ``softmax.py`` and
``vector_add.py``; bench/gpu.ts writes it. All ways to one result are measured in turn, round after round, forwards and
backwards: heat and clocks then favor none, and a ratio is that of times which lie close together. The products run
with the configs that their own tuning chose, and with each other's. RESULT.json is written after every line printed.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import torch
import triton

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from tilescript_worker.modules import import_file  # noqa: E402
from tilescript_worker.timing import measure  # noqa: E402

ROUNDS = 20
# Calls of a round: before the first that counts, and that are timed.
WARMUP, ITERATIONS = 3, 25

VECTOR_SIZES = [1 << 26]
SOFTMAX_SIZES = [(4096, 12672), (8192, 1024)]
GEMM_SIZES = [(4096, 4096, 4096), (8192, 8192, 8192), (4095, 4097, 4099), (1000, 777, 333)]


def alternated(functions, inputs, rounds=ROUNDS):
    """The times of each function, one for each round."""
    times = {name: [] for name in functions}
    for turn in range(rounds):
        for name in list(functions)[:: -1 if turn % 2 else 1]:
            times[name].append(measure(partial(functions[name], *inputs), WARMUP, ITERATIONS))
    return times


def summary(rounds):
    """Milliseconds of the GPU: medians over the rounds of their medians, 20th and 80th percentiles."""
    names = {"ms": "median", "low": "low", "high": "high"}
    return {name: statistics.median(each[key] for each in rounds) for name, key in names.items()}


def ratio(times, of, to):
    """How many times as long ``of`` takes: the median, 20th and 80th percentile over rounds."""
    ratios = [mine["median"] / other["median"] for mine, other in zip(times[of], times[to], strict=True)]
    low, _, _, high = statistics.quantiles(ratios, n=5)
    return {"of": of, "to": to, "ratio": statistics.median(ratios), "low": low, "high": high, "rounds": len(ratios)}


def error(got, expected):
    """Relative error in the Frobenius norm, against float64."""
    return ((got.double() - expected).norm() / expected.norm()).item()


def rows_of(case, functions, inputs, expected, work):
    """A row for each function, with a rate by ``work``, and the times of all rounds."""
    errors = {name: error(function(*inputs), expected) for name, function in functions.items()}
    times = alternated(functions, inputs)
    rows = []
    for name in functions:
        row = case | {"provider": name, "error": errors[name]} | summary(times[name])
        rows.append(row | {unit: amount / row["ms"] / 1e6 for unit, amount in work.items()})
    return rows, times


def vector_add_rows(emitted):
    for n in VECTOR_SIZES:
        x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
        case = {"kernel": "vector_add", "dtype": str(x.dtype), "sizes": [n]}
        functions = {"emitted": emitted.kernel_fn, "torch": torch.add}
        yield from rows_of(case, functions, (x, y), x.double() + y.double(), {"gbps": 3 * x.nbytes})[0]


def softmax_rows(emitted):
    for m, n in SOFTMAX_SIZES:
        x = torch.randn((m, n), device="cuda")
        case = {"kernel": "softmax", "dtype": str(x.dtype), "sizes": [m, n]}
        functions = {"emitted": emitted.kernel_fn, "torch": partial(torch.softmax, dim=-1)}
        yield from rows_of(case, functions, (x,), torch.softmax(x.double(), -1), {"gbps": 2 * x.nbytes})[0]


def by_hand(kernel):
    """The twin's kernel launched as tutorials do, autotuned or with the constexprs and options of a config."""

    def gemm(a, b, **config):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)

        def grid(meta):
            return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

        kernel[grid](a, b, c, m, k, n, *a.stride(), *b.stride(), *c.stride(), **config)
        return c

    return gemm


def tuned_twin(emitted, twin):
    """The twin with the emitted kernel's configs."""
    return triton.autotune(configs=emitted.gemm_kernel.configs, key=["M", "N", "K"])(twin.gemm_kernel)


def with_config(path, index):
    """The emitted module with one config left."""
    module = import_file(path)
    module.gemm_kernel.configs = [module.gemm_kernel.configs[index]]
    return module


def gemm_rows(path, twin):
    emitted = import_file(path)
    tuned = tuned_twin(emitted, twin)
    written, fixed = by_hand(tuned), by_hand(twin.gemm_kernel)
    configs = emitted.gemm_kernel.configs
    for dtype in (torch.float16, torch.bfloat16):
        for m, n, k in GEMM_SIZES:
            a = torch.randn((m, k), device="cuda", dtype=dtype)
            b = torch.randn((k, n), device="cuda", dtype=dtype)
            case = {"kernel": "gemm", "dtype": str(dtype), "sizes": [m, n, k]}
            emitted.kernel_fn(a, b)
            written(a, b)
            best = {"emitted": emitted.gemm_kernel.best_config, "hand-written": tuned.best_config}
            functions = {"emitted": emitted.kernel_fn, "hand-written": written, "torch.matmul": torch.matmul}
            tried = sorted({configs.index(config) for config in best.values()})
            for index in tried:
                functions[f"emitted, config {index}"] = with_config(path, index).kernel_fn
                functions[f"hand-written, config {index}"] = partial(fixed, **configs[index].all_kwargs())
            work = {"tflops": 2 * m * n * k / 1e3}
            rows, times = rows_of(case, functions, (a, b), a.double() @ b.double(), work)
            for row in rows:
                if row["provider"] in best:
                    yield row | {"config": configs.index(best[row["provider"]])}
                elif row["provider"] == "torch.matmul":
                    yield row
            yield case | ratio(times, "emitted", "hand-written")
            for index in tried:
                yield case | ratio(times, f"emitted, config {index}", f"hand-written, config {index}")
            # Times one binary twice, to show how far from 1 a ratio is by chance.
            yield case | ratio(times, "emitted", f"emitted, config {configs.index(best['emitted'])}")


def host_microseconds(function):
    """CPU time of a call, without waiting for the GPU."""
    for _ in range(200):
        function()
    torch.cuda.synchronize()
    samples = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(100):
            function()
        samples.append((time.perf_counter() - start) / 100 * 1e6)
        torch.cuda.synchronize()
    return statistics.median(samples)


def vector_add_calls(emitted):
    """Launches of vector addition, from the barest to the registered operator."""
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    out = torch.empty_like(x)
    kernel = emitted.vector_add_kernel
    return {
        "bare launch": lambda: kernel[(1,)](x, y, out, 1000, BLOCK=1024),
        "bare launch, allocated": lambda: kernel[(1,)](x, y, torch.empty_like(x), 1000, BLOCK=1024),
        "kernel_fn, out given": lambda: emitted.kernel_fn(x, y, out=out),
        "kernel_fn": lambda: emitted.kernel_fn(x, y),
        "registered op": lambda: torch.ops.bench.vector_add(x, y),
        "torch": lambda: torch.add(x, y),
    }


def gemm_calls(emitted, twin):
    """Launches of a small product, from the barest to the registered operator."""
    a, b = (torch.randn((256, 256), device="cuda", dtype=torch.float16) for _ in "ab")
    out = torch.empty_like(a)
    written = by_hand(tuned_twin(emitted, twin))
    emitted.kernel_fn(a, b)
    tuned = emitted.gemm_kernel
    config = tuned.best_config.all_kwargs()
    grid = (triton.cdiv(256, config["BLOCK_M"]) * triton.cdiv(256, config["BLOCK_N"]),)
    args = (a, b, out, 256, 256, 256, 256, 1, 256, 1, 256, 1)
    return {
        "bare launch": lambda: tuned.fn[grid](*args, **config),
        "hand-written, autotuned": lambda: written(a, b),
        "kernel_fn, out given": lambda: emitted.kernel_fn(a, b, out=out),
        "kernel_fn": lambda: emitted.kernel_fn(a, b),
        "registered op": lambda: torch.ops.bench.gemm(a, b),
        "torch": lambda: torch.matmul(a, b),
    }


def host_rows(kernel, calls):
    """CPU time of each way to launch."""
    for name, function in calls.items():
        yield {"kernel": kernel, "provider": name, "host_us": host_microseconds(function)}


def main():
    parser = argparse.ArgumentParser(
        description="Times emitted kernels on a GPU beside PyTorch and a hand-written twin."
    )
    parser.add_argument(
        "folder", type=Path, help="with gemm.py, softmax.py and vector_add.py as bench/gpu.ts emits them"
    )
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    args = parser.parse_args()
    torch.manual_seed(0)
    paths = {name: str(args.folder / f"{name}.py") for name in ("gemm", "softmax", "vector_add")}
    twin = import_file(str(ROOT / "tests" / "triton" / "twins" / "gemm.py"))
    # torch.ops.bench belongs to the module that was imported last.
    sections = {
        "vector_add": lambda: vector_add_rows(import_file(paths["vector_add"])),
        "softmax": lambda: softmax_rows(import_file(paths["softmax"])),
        "gemm": lambda: gemm_rows(paths["gemm"], twin),
        "calls of vector_add": lambda: host_rows("vector_add", vector_add_calls(import_file(paths["vector_add"]))),
        "calls of gemm": lambda: host_rows("gemm", gemm_calls(import_file(paths["gemm"]), twin)),
    }
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.date.today().isoformat(),
        "rows": [],
        "ratios": [],
    }
    started, failed = time.perf_counter(), []
    for name, section in sections.items():
        try:
            for row in section():
                result["ratios" if "ratio" in row else "rows"].append(row)
                write(args.out, result)
                values = (
                    f"{key}={value:.4g}" if type(value) is float else f"{key}={value}" for key, value in row.items()
                )
                print(f"{time.perf_counter() - started:.0f} s", *values, flush=True)
        except Exception:
            # Keep the times of the others.
            traceback.print_exc()
            failed.append(name)
    return f"failed: {', '.join(failed)}" if failed else 0


def write(path, result):
    """Replaces the file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main())
