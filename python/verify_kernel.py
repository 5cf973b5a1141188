"""Verifies any Python file that has ``kernel_fn``, ``reference_fn`` and ``get_inputs``: ``verify_kernel.py kernel.py``.

Every autotune config runs at several sizes, and each output is compared with the reference in float64. On a machine
without a GPU kernels run on Triton's interpreter. Prints one JSON object; the exit code is 1 where the kernel is wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from tilescript_worker import script
from tilescript_worker.device import Device, choose

if TYPE_CHECKING:
    from tilescript_worker.kernel_file import KernelFile
    from tilescript_worker.launches import Launches

# Limit on the product of a shape's numbers. The interpreter takes minutes for larger shapes.
INTERPRETED_WORK = 2**24


def verify(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The verdict as the result and the exit code."""
    device = choose(args.device)

    from tilescript_worker.kernel_file import KernelFile, sample_sizes, size_text
    from tilescript_worker.protocol import number

    kernel = KernelFile.load(args.file, device.torch)
    shapes, skipped = _split_shapes(kernel.shapes, device.interpreted)
    default_sizes = {name: shapes[0][name] for name in kernel.sizes}
    tally = _Tally(kernel, device, args, len(shapes))
    # As a user calls it first: with the autotuner and nothing cached.
    tally.run(shapes[0], None, is_declared=True)
    config = 0
    while config < tally.configs and not tally.corrupted:
        for shape in shapes[tally.configs == 1 :]:
            tally.run(shape, config, is_declared=True)
        tally.try_sizes(shapes[0], default_sizes, sample_sizes(default_sizes), config)
        config += 1
    tally.finish()
    result = {
        "correct": tally.ran > 0 and not tally.wrong,
        "max_abs_diff": number(tally.largest),
        "max_rel_diff": number(tally.relative),
        "details": tally.details(),
        "cases": tally.ran,
        "failures": tally.wrong,
        "refused": tally.refused,
        "unfit": tally.unfit,
        "not_run": [f"{size_text(shape)}: too large for the interpreter" for shape in skipped],
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


class _Tally:
    """Accumulates the results of the cases."""

    def __init__(self, kernel: KernelFile, device: Device, args: argparse.Namespace, declared: int) -> None:
        self.kernel, self.device, self.args, self.declared = kernel, device, args, declared
        self.ran, self.configs, self.largest, self.relative = 0, 1, 0.0, 0.0
        self.corrupted = False
        self.refused: list[str] = []
        self.unfit: list[str] = []
        self.wrong: list[str] = []
        self.sizes: set[str] = set()
        self.tried_configs: set[int] = set()
        self.kernels: set[Any] = set()
        self.outputs: set[str] = set()
        self.shown: set[str] = set()

    def try_sizes(
        self, shape: dict[str, Any], default_sizes: dict[str, int], candidates: list[dict[str, int]], config: int
    ) -> None:
        """Runs sampled sizes. Rejected sizes are shrunk toward the file's defaults."""
        from tilescript_worker.kernel_file import shrink_sizes

        tried_sizes, queue = [default_sizes], list(candidates)
        while queue and not self.corrupted:
            sizes = queue.pop(0)
            if sizes in tried_sizes:
                continue
            tried_sizes.append(sizes)
            if not self.run({**shape, **sizes}, config, is_declared=False):
                queue += shrink_sizes(default_sizes, sizes)

    def run(self, sizes: dict[str, Any], config: int | None, is_declared: bool) -> bool:
        """Runs one case. False if the file rejects the sizes. Raises an error for declared sizes."""
        from tilescript_worker.failures import is_out_of_resources
        from tilescript_worker.file_case import FileCase
        from tilescript_worker.kernel_file import SizesRejected, size_text
        from tilescript_worker.launches import Excluded, Launches

        if self.corrupted:
            return True
        launches, case = Launches(), size_text(sizes)
        try:
            file_case = FileCase(self.kernel, self.device, sizes, self.args.seed, self.args.rtol, self.args.atol)
            verdict = file_case.judge(config, is_declared, launches)
            self.device.synchronize()
        except Excluded:
            return True
        except SizesRejected as rejection:
            if is_declared:
                raise rejection.error from None
            self.refused.append(f"{self._title(case, config, launches)}: {rejection}")
            return False
        except Exception as error:
            # Triton's autotuner also skips such a config if another one remains.
            if launches.config_count == 1 or not is_out_of_resources(error):
                raise
            self.unfit.append(f"{self._title(case, config, launches)}: {error}")
            return True
        finally:
            self.configs = max(self.configs, launches.config_count)
        title = self._title(case, config, launches)
        self.ran += 1
        self.sizes.add(case)
        self.tried_configs |= {config} if config is not None else set()
        self.kernels |= {*launches.kernels}
        self.outputs |= verdict.outputs
        self.shown |= verdict.shown
        self.corrupted = verdict.corrupted
        self.largest = max([self.largest, *(float(result["maxAbsDiff"]) for result in verdict.comparisons)])
        self.relative = max([self.relative, *(float(result["maxRelDiff"]) for result in verdict.comparisons)])
        self.wrong += [f"{title}: {problem}" for problem in verdict.problems]
        self.wrong += [f"{title}: {script.problem_text(result)}" for result in verdict.comparisons if result["wrong"]]
        return True

    def _title(self, case: str, config: int | None, launches: Launches) -> str:
        if launches.config_count == 1:
            return case
        return f"{case}, {'autotuned' if config is None else launches.config_text}"

    def finish(self) -> None:
        """Adds what only all cases show."""
        if self.ran and not self.wrong:
            if not self.kernels:
                self.wrong.append("kernel_fn launches no kernel of Triton")
            for name in sorted(self.outputs - self.shown):
                self.wrong.append(f"nothing shows that {name} is right: the reference gives no number at any size")

    def details(self) -> str:
        if self.ran == 0:
            return f"no case ran: {self.unfit[0] if self.unfit else 'every config was pruned at every size'}"
        configs, sizes = max(len(self.tried_configs), 1), len(self.sizes)
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


def main() -> int:
    parser = script.arguments("Verifies a Triton kernel against its PyTorch reference.")
    parser.add_argument("--device", choices=("auto", "cuda", "hip", "interpreter"), default="auto")
    return script.run(parser.parse_args(), verify, _unverified)


if __name__ == "__main__":
    sys.exit(main())
