"""Times any Python file that has ``kernel_fn``, ``reference_fn`` and ``get_inputs``: ``benchmark_kernel.py kernel.py``.

The kernel is compared with its reference first: a wrong kernel is not timed. Times are medians in milliseconds, beside
eager PyTorch and ``torch.compile`` of the reference. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tilescript_worker import script
from tilescript_worker.device import choose
from tilescript_worker.protocol import RequestError


def benchmark(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The times as the result, and the exit code."""
    device = choose("auto")
    if device.interpreted:
        raise RequestError("no-device", "a benchmark needs a GPU; times on Triton's interpreter mean nothing")
    import torch

    from tilescript_worker.file_case import FileCase
    from tilescript_worker.kernel_file import KernelFile
    from tilescript_worker.launches import Launches
    from tilescript_worker.timing import measure

    kernel = KernelFile.load(args.file, device.torch)
    unknown = [name for name in args.sizes if name not in kernel.numbers]
    if unknown:
        names = ", ".join(kernel.numbers) or "none"
        raise script.KernelFileError(f"get_inputs has no size {', '.join(unknown)}; its sizes are {names}")
    verdict = FileCase(kernel, device, args.sizes, args.seed, args.rtol, args.atol).judge(None, True, Launches())
    if not verdict.is_right:
        problems = [*verdict.problems, *(script.problem_text(each) for each in verdict.comparisons if each["wrong"])]
        raise script.KernelFileError(f"{problems[0]}; verify_kernel.py says more. A wrong kernel is not timed")
    inputs = kernel.inputs(args.sizes, args.seed)
    module = kernel.module
    if args.profile:
        return profile(module.kernel_fn, inputs, args), script.OK

    def time(function: Any) -> dict[str, float]:
        script.report_progress(f"the timing of {getattr(function, '__name__', 'the compiled reference')}")
        return measure(lambda: function(*inputs), args.warmup, args.iterations)

    kernel_times, reference_times = time(module.kernel_fn), time(module.reference_fn)
    result = {
        "kernel_time_ms": kernel_times["median"],
        "reference_time_ms": reference_times["median"],
        "speedup": reference_times["median"] / kernel_times["median"],
        "warmup_iters": args.warmup,
        "benchmark_iters": args.iterations,
        "kernel_spread_ms": [kernel_times["low"], kernel_times["high"]],
        "reference_spread_ms": [reference_times["low"], reference_times["high"]],
        "sizes": kernel.numbers | args.sizes,
        "device": torch.cuda.get_device_name(),
    }
    if args.compile:
        compiled = time(torch.compile(module.reference_fn))
        result |= {"compiled_time_ms": compiled["median"], "compiled_spread_ms": [compiled["low"], compiled["high"]]}
    return result, script.OK


def profile(function: Any, inputs: list[Any], args: argparse.Namespace) -> dict[str, Any]:
    """Calls once in an NVTX range, with profilers switched on only then: ``ncu --profile-from-start off``."""
    import torch

    script.report_progress("the warmup")
    for _ in range(max(args.warmup, 1)):
        function(*inputs)
    torch.cuda.synchronize()
    script.report_progress("the profiled call")
    torch.cuda.profiler.start()
    with torch.cuda.nvtx.range(function.__name__):
        function(*inputs)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    return {"profiled": function.__name__, "warmup_iters": args.warmup, "device": torch.cuda.get_device_name()}


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name.isidentifier() or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write M=4096")
    return name, int(value)


def main() -> int:
    parser = script.arguments("Times a Triton kernel beside its PyTorch reference.")
    parser.add_argument("--size", dest="sizes", action="append", type=_size, default=[], metavar="NAME=N")
    parser.add_argument(
        "--warmup", type=script.non_negative_int, default=25, help="calls before the first that counts (25)"
    )
    parser.add_argument("--iterations", type=script.positive_int, default=100, help="calls that are timed (100)")
    parser.add_argument("--profile", action="store_true", help="call once for a profiler, and time nothing")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    args = parser.parse_args()
    args.sizes = dict(args.sizes)
    # A profiler watches the process that it starts.
    return script.run(args, benchmark, lambda details: {"error": details}, in_subprocess=not args.profile)


if __name__ == "__main__":
    sys.exit(main())
