"""Verifies any Python file that has ``kernel_fn``, ``reference_fn`` and ``get_inputs``: ``verify_kernel.py kernel.py``.

Every autotune config runs at several sizes, and each output is compared with the reference in float64. On a machine
without a GPU kernels run on Triton's interpreter. Prints one JSON object; the exit code is 1 where the kernel is wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from tilescript_worker import script
from tilescript_worker.device import choose

# Limit on the product of a shape's numbers. The interpreter takes minutes for larger shapes.
INTERPRETED_WORK = 2**24


def verify(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The verdict as the result and the exit code."""
    device = choose(args.device)

    from tilescript_worker.kernel_file import KernelFile, sample_sizes
    from tilescript_worker.protocol import number

    kernel_file = KernelFile.load(args.file)
    shapes, skipped = _split_shapes(kernel_file.shapes, device.interpreted)
    default_sizes = {name: shapes[0][name] for name in kernel_file.sizes}
    tally = _Tally(device, args, kernel_file.config_count, len(shapes))
    for config in range(kernel_file.config_count):
        kernel = KernelFile.load(args.file, config)
        for shape in shapes:
            tally.run(kernel, shape, is_declared=True)
        tally.try_sizes(kernel, shapes[0], default_sizes, sample_sizes(default_sizes))
    result = {
        "correct": tally.ran > 0 and not tally.wrong,
        "max_abs_diff": number(tally.largest),
        "max_rel_diff": number(tally.relative),
        "details": tally.details(),
        "cases": tally.ran,
        "failures": tally.wrong,
        "refused": tally.refused,
        "unfit": tally.unfit,
        "not_run": [f"{_text(shape)}: too large for the interpreter" for shape in skipped],
    }
    return result, script.OK if result["correct"] else script.FAILED


def _split_shapes(shapes: list[dict[str, Any]], interpreted: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The file's shapes to run, smallest first, and the skipped ones. The smallest shape always runs."""
    ordered = sorted(shapes, key=_work)
    limit = INTERPRETED_WORK if interpreted else math.inf
    included = [shape for i, shape in enumerate(ordered) if i == 0 or _work(shape) <= limit]
    return included, ordered[len(included) :]


def _work(shape: dict[str, Any]) -> int:
    return math.prod(max(value, 1) for value in shape.values() if type(value) is int)


def _text(sizes: dict[str, Any]) -> str:
    return ", ".join([f"{name}={size}" for name, size in sizes.items()] or ["get_inputs()"])


class _Tally:
    """Accumulates the results of the cases."""

    def __init__(self, device: Any, args: argparse.Namespace, configs: int, declared: int) -> None:
        self.device, self.args, self.configs, self.declared = device, args, configs, declared
        self.ran, self.largest, self.relative = 0, 0.0, 0.0
        self.refused: list[str] = []
        self.unfit: list[str] = []
        self.wrong: list[str] = []
        self.sizes: set[str] = set()

    def try_sizes(
        self, kernel: Any, shape: dict[str, Any], default_sizes: dict[str, int], candidates: list[dict[str, int]]
    ) -> None:
        """Runs sampled sizes. Rejected sizes are shrunk toward the file's defaults."""
        from tilescript_worker.kernel_file import shrink_sizes

        tried_sizes, queue = [default_sizes], list(candidates)
        while queue:
            sizes = queue.pop(0)
            if sizes in tried_sizes:
                continue
            tried_sizes.append(sizes)
            if not self.run(kernel, {**shape, **sizes}, is_declared=False):
                queue += shrink_sizes(default_sizes, sizes)

    def run(self, kernel: Any, sizes: dict[str, Any], is_declared: bool) -> bool:
        """Runs one case. False if the file rejects the sizes. Raises an error for declared sizes."""
        from tilescript_worker.failures import is_out_of_resources
        from tilescript_worker.kernel_file import Excluded, SizesRejected

        case = _text(sizes) + (f", {kernel.config_text()}" if self.configs > 1 else "")
        args = self.args
        try:
            comparisons = list(kernel.comparisons(sizes, args.seed, args.rtol, args.atol))
            self.device.synchronize()
        except Excluded:
            return True
        except SizesRejected as rejection:
            if is_declared:
                raise rejection.error from None
            self.refused.append(f"{case}: {rejection}")
            return False
        except Exception as error:
            # Triton's autotuner also skips such a config if another one remains.
            if self.configs == 1 or not is_out_of_resources(error):
                raise
            self.unfit.append(f"{case}: {error}")
            return True
        self.ran += 1
        self.sizes.add(_text(sizes))
        self.largest = max(self.largest, *(float(result["maxAbsDiff"]) for result in comparisons))
        self.relative = max(self.relative, *(float(result["maxRelDiff"]) for result in comparisons))
        self.wrong += [f"{case}: {_problem(result)}" for result in comparisons if result["wrong"]]
        return True

    def details(self) -> str:
        if self.ran == 0:
            return f"no case ran: {self.unfit[0] if self.unfit else 'every config was pruned at every size'}"
        configs, sizes = self.configs, len(self.sizes)
        text = f"{self.ran} cases on {self.device.kind}: {configs} config{'s' * (configs > 1)}"
        text += f" at {sizes} size{'s' * (sizes > 1)}"
        if self.declared > 1:
            text += f", {self.declared} of them declared"
        if "get_inputs()" in self.sizes:
            text += "; give get_inputs sizes as parameters, as in get_inputs(M=512), to have other sizes tried"
        if self.refused:
            text += f"; {len(self.refused)} draws were refused"
        if self.unfit:
            text += f"; {len(self.unfit)} do not fit this GPU, such as {self.unfit[0]}"
        return f"{text}; {len(self.wrong)} wrong, first {self.wrong[0]}" if self.wrong else text


def _unverified(details: str) -> dict[str, Any]:
    return {"correct": False, "max_abs_diff": None, "max_rel_diff": None, "details": details}


def _problem(result: dict[str, Any]) -> str:
    if "problem" in result:
        return f"{result['output']} {result['problem']}"
    worst = result["worst"]
    return (
        f"{result['wrong']} of {result['total']} elements of {result['output']} are wrong; the worst, at "
        f"{worst['index']}, is {worst['got']} and should be {worst['expected']}; around it {worst['around']['got']} "
        f"instead of {worst['around']['expected']}"
    )


def main() -> int:
    parser = script.arguments("Verifies a Triton kernel against its PyTorch reference.")
    parser.add_argument("--device", choices=("auto", "cuda", "hip", "interpreter"), default="auto")
    return script.run(parser.parse_args(), verify, _unverified, in_subprocess=True)


if __name__ == "__main__":
    sys.exit(main())
