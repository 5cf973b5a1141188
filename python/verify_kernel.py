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

# The interpreter takes minutes for shapes whose numbers multiply to more than this.
INTERPRETED_WORK = 2**24


def verify(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The verdict as the result and the exit code."""
    device = choose(args.device)

    from tilescript_worker.kernel_file import KernelFile, drawn_sizes
    from tilescript_worker.protocol import number

    first = KernelFile.load(args.file)
    declared, left = _declared(first.shapes, device.interpreted)
    own = {name: declared[0][name] for name in first.sizes}
    tally = _Tally(device, args, first.config_count, len(declared))
    for config in range(first.config_count):
        kernel = KernelFile.load(args.file, config)
        for shape in declared:
            tally.run(kernel, shape, is_declared=True)
        tally.near(kernel, declared[0], own, drawn_sizes(own))
    result = {
        "correct": tally.ran > 0 and not tally.wrong,
        "max_abs_diff": number(tally.largest),
        "max_rel_diff": number(tally.relative),
        "details": tally.details(),
        "cases": tally.ran,
        "failures": tally.wrong,
        "refused": tally.refused,
        "unfit": tally.unfit,
        "not_run": [f"{_text(shape)}: too large for the interpreter" for shape in left],
    }
    return result, script.OK if result["correct"] else script.FAILED


def _declared(shapes: list[dict[str, Any]], interpreted: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The file's shapes to run, the smallest first, and those to leave; the smallest always runs."""
    ordered = sorted(shapes, key=_work)
    limit = INTERPRETED_WORK if interpreted else math.inf
    ran = [shape for place, shape in enumerate(ordered) if place == 0 or _work(shape) <= limit]
    return ran, ordered[len(ran) :]


def _work(shape: dict[str, Any]) -> int:
    return math.prod(max(value, 1) for value in shape.values() if type(value) is int)


def _text(sizes: dict[str, Any]) -> str:
    return ", ".join([f"{name}={size}" for name, size in sizes.items()] or ["get_inputs()"])


class _Tally:
    """What the cases gave."""

    def __init__(self, device: Any, args: argparse.Namespace, configs: int, declared: int) -> None:
        self.device, self.args, self.configs, self.declared = device, args, configs, declared
        self.ran, self.largest, self.relative = 0, 0.0, 0.0
        self.refused: list[str] = []
        self.unfit: list[str] = []
        self.wrong: list[str] = []
        self.sizes: set[str] = set()

    def near(self, kernel: Any, shape: dict[str, Any], own: dict[str, int], wanted: list[dict[str, int]]) -> None:
        """Runs drawn sizes; instead of sizes that are refused, those nearer to the file's own."""
        from tilescript_worker.kernel_file import nearer_sizes

        tried, queue = [own], list(wanted)
        while queue:
            sizes = queue.pop(0)
            if sizes in tried:
                continue
            tried.append(sizes)
            if not self.run(kernel, {**shape, **sizes}, is_declared=False):
                queue += nearer_sizes(own, sizes)

    def run(self, kernel: Any, sizes: dict[str, Any], is_declared: bool) -> bool:
        """Runs one case. False where the file does not take the sizes, which is an error for its own."""
        from tilescript_worker.failures import is_misfit
        from tilescript_worker.kernel_file import Excluded, Refused

        where = _text(sizes) + (f", {kernel.config_text()}" if self.configs > 1 else "")
        args = self.args
        try:
            found = list(kernel.comparisons(sizes, args.seed, args.rtol, args.atol))
            self.device.synchronize()
        except Excluded:
            return True
        except Refused as refusal:
            if is_declared:
                raise refusal.error from None
            self.refused.append(f"{where}: {refusal}")
            return False
        except Exception as error:
            # Triton's autotuner passes over such a config, as long as another one is left.
            if self.configs == 1 or not is_misfit(error):
                raise
            self.unfit.append(f"{where}: {error}")
            return True
        self.ran += 1
        self.sizes.add(_text(sizes))
        self.largest = max(self.largest, *(float(result["maxAbsDiff"]) for result in found))
        self.relative = max(self.relative, *(float(result["maxRelDiff"]) for result in found))
        self.wrong += [f"{where}: {_problem(result)}" for result in found if result["wrong"]]
        return True

    def details(self) -> str:
        if self.ran == 0:
            return f"no case ran: {self.unfit[0] if self.unfit else 'every config was pruned at every size'}"
        configs, sizes = self.configs, len(self.sizes)
        tried = f"{self.ran} cases on {self.device.kind}: {configs} config{'s' * (configs > 1)}"
        tried += f" at {sizes} size{'s' * (sizes > 1)}"
        if self.declared > 1:
            tried += f", {self.declared} of them declared"
        if "get_inputs()" in self.sizes:
            tried += "; give get_inputs sizes as parameters, as in get_inputs(M=512), to have other sizes tried"
        if self.refused:
            tried += f"; {len(self.refused)} draws were refused"
        if self.unfit:
            tried += f"; {len(self.unfit)} do not fit this GPU, such as {self.unfit[0]}"
        return f"{tried}; {len(self.wrong)} wrong, first {self.wrong[0]}" if self.wrong else tried


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
    return script.run(parser.parse_args(), verify, _unverified, apart=True)


if __name__ == "__main__":
    sys.exit(main())
