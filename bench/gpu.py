"""Times emitted kernels on a GPU beside PyTorch and a hand-written twin.

Called by bench/gpu.ts with the emitted modules; prints a table and writes JSON.
"""

import argparse
import datetime
import importlib.util
import json
import os
import statistics
import time

import torch
import triton
from triton.testing import do_bench


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(fn):
    """Median, 20th and 80th percentile of the device time, in milliseconds; the L2 is flushed between runs."""
    fn()
    median, low, high = do_bench(fn, warmup=100, rep=400, quantiles=[0.5, 0.2, 0.8])
    return {"ms": median, "low": low, "high": high}


def error(got, expected):
    """Relative error in the Frobenius norm, against float64."""
    return ((got.double() - expected).norm() / expected.norm()).item()


def host_microseconds(fn):
    """Time that the CPU spends in a call, the GPU not waited for."""
    for _ in range(200):
        fn()
    torch.cuda.synchronize()
    samples = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(100):
            fn()
        samples.append((time.perf_counter() - start) / 100 * 1e6)
        torch.cuda.synchronize()
    return statistics.median(samples)


def hand_written(emitted, twin):
    """The twin kernel with the emitted one's configs, launched as tutorials do."""
    kernel = triton.autotune(configs=emitted.gemm_kernel.configs, key=["M", "N", "K"])(twin.gemm_kernel)

    def gemm(a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)

        def grid(meta):
            return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

        sizes = {"M": m, "N": n, "K": k}
        strides = dict(
            zip(
                ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn"),
                (*a.stride(), *b.stride(), *c.stride()),
            )
        )
        kernel[grid](a, b, c, **sizes, **strides)
        return c

    return gemm


def gemm_rows(emitted, twin):
    by_hand = hand_written(emitted, twin)
    for dtype in (torch.float16, torch.bfloat16):
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (4095, 4097, 4099), (1000, 777, 333)):
            a = torch.randn((m, k), device="cuda", dtype=dtype)
            b = torch.randn((k, n), device="cuda", dtype=dtype)
            expected = a.double() @ b.double()
            flop = 2 * m * n * k
            for name, fn in (("emitted", emitted.kernel_fn), ("hand-written", by_hand), ("torch.matmul", torch.matmul)):
                row = {"kernel": "gemm", "provider": name, "dtype": str(dtype), "sizes": [m, n, k]}
                row["error"] = error(fn(a, b), expected)
                row.update(measure(lambda fn=fn: fn(a, b)))
                row["tflops"] = flop / row["ms"] / 1e9
                yield row


def softmax_rows(emitted):
    for m, n in ((4096, 12672), (8192, 1024)):
        x = torch.randn((m, n), device="cuda")
        expected = torch.softmax(x.double(), -1)
        for name, fn in (("emitted", emitted.kernel_fn), ("torch", lambda x: torch.softmax(x, -1))):
            row = {"kernel": "softmax", "provider": name, "dtype": "torch.float32", "sizes": [m, n]}
            row["error"] = error(fn(x), expected)
            row.update(measure(lambda fn=fn: fn(x)))
            row["gbps"] = 2 * x.numel() * 4 / row["ms"] / 1e6
            yield row


def vector_add_rows(emitted):
    n = 1 << 26
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    expected = x.double() + y.double()
    for name, fn in (("emitted", emitted.kernel_fn), ("torch", torch.add)):
        row = {"kernel": "vector_add", "provider": name, "dtype": "torch.float32", "sizes": [n]}
        row["error"] = error(fn(x, y), expected)
        row.update(measure(lambda fn=fn: fn(x, y)))
        row["gbps"] = 3 * n * 4 / row["ms"] / 1e6
        yield row


def vector_add_calls(emitted):
    """Launches of vector addition, from the barest to the wrapper."""
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    out = torch.empty_like(x)
    kernel = emitted.vector_add_kernel
    return {
        "bare launch": lambda: kernel[(1,)](x, y, out, 1000, BLOCK=1024),
        "bare launch, allocated": lambda: kernel[(1,)](x, y, torch.empty_like(x), 1000, BLOCK=1024),
        "kernel_fn, out given": lambda: emitted.kernel_fn(x, y, out=out),
        "kernel_fn": lambda: emitted.kernel_fn(x, y),
        "torch": lambda: torch.add(x, y),
    }


def gemm_calls(emitted, twin):
    """Launches of a small product, from the barest to the wrapper."""
    a, b = (torch.randn((256, 256), device="cuda", dtype=torch.float16) for _ in "ab")
    out = torch.empty_like(a)
    by_hand = hand_written(emitted, twin)
    emitted.kernel_fn(a, b)
    tuned = emitted.gemm_kernel
    config = tuned.best_config.all_kwargs()
    args = (a, b, out, 256, 256, 256, 256, 1, 256, 1, 256, 1)
    return {
        "bare launch": lambda: tuned.fn[(16,)](*args, **config),
        "hand-written, autotuned": lambda: by_hand(a, b),
        "kernel_fn, out given": lambda: emitted.kernel_fn(a, b, out=out),
        "kernel_fn": lambda: emitted.kernel_fn(a, b),
        "torch": lambda: torch.matmul(a, b),
    }


def host_rows(**calls):
    """What each way to launch costs on the CPU."""
    for kernel, providers in calls.items():
        for name, fn in providers.items():
            yield {"kernel": kernel, "provider": name, "host_us": host_microseconds(fn)}


def main():
    parser = argparse.ArgumentParser()
    for name in ("gemm", "softmax", "vector_add", "twin", "out"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    add = load("vector_add_module", args.vector_add)
    gemm, twin = load("gemm_module", args.gemm), load("twin_module", args.twin)
    rows = []
    for row in (
        *vector_add_rows(add),
        *softmax_rows(load("softmax_module", args.softmax)),
        *gemm_rows(gemm, twin),
        *host_rows(vector_add=vector_add_calls(add), gemm=gemm_calls(gemm, twin)),
    ):
        rows.append(row)
        print(" ".join(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items()))
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    os.makedirs(os.path.dirname(args.out), exist_ok=True)
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
