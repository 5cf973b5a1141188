"""Verifies any Python file that has ``kernel_fn``, ``reference_fn`` and ``get_inputs``: ``verify_kernel.py kernel.py``.

Every autotune config runs at several sizes, and each output is compared with the reference in float64. On a machine
without a GPU kernels run on Triton's interpreter. Prints one JSON object; the exit code is 1 where the kernel is wrong.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tilescript_worker import script
from tilescript_worker.device import choose


def verify(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The verdict as the result and the exit code."""
    device = choose(args.device)
    from triton.runtime.errors import OutOfResources

    from tilescript_worker.kernel_file import Excluded, KernelFile, drawn_sizes
    from tilescript_worker.protocol import number

    first = KernelFile.load(args.file)
    cases = drawn_sizes(first.sizes)
    ran, refused, unfit, wrong, largest, relative = 0, [], [], [], 0.0, 0.0
    for config in range(first.config_count):
        kernel = KernelFile.load(args.file, config)
        for sizes in cases:
            where = ", ".join([f"{name}={size}" for name, size in sizes.items()] or ["get_inputs()"])
            if first.config_count > 1:
                where += f", {kernel.config_text()}"
            try:
                found = list(kernel.comparisons(sizes, args.seed, args.rtol, args.atol))
                device.synchronize()
            except Excluded:
                continue
            except OutOfResources as error:
                # Triton's autotuner passes over such a config, as long as another one is left.
                if first.config_count == 1:
                    raise
                unfit.append(f"{where}: {error}")
                continue
            except ValueError as error:
                if sizes == cases[0]:
                    raise
                refused.append(f"{where}: {error}")
                continue
            ran += 1
            largest = max(largest, *(float(result["maxAbsDiff"]) for result in found))
            relative = max(relative, *(float(result["maxRelDiff"]) for result in found))
            wrong += [f"{where}: {_problem(result)}" for result in found if result["wrong"]]
    result = {
        "correct": ran > 0 and not wrong,
        "max_abs_diff": number(largest),
        "max_rel_diff": number(relative),
        "details": _details(device.kind, ran, first.config_count, len(cases), refused, unfit, wrong),
        "cases": ran,
        "failures": wrong,
        "refused": refused,
        "unfit": unfit,
    }
    return result, script.OK if result["correct"] else script.FAILED


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


def _details(
    device: str, ran: int, configs: int, sizes: int, refused: list[str], unfit: list[str], wrong: list[str]
) -> str:
    if ran == 0:
        return f"no case ran: {unfit[0] if unfit else 'every config was pruned at every size'}"
    tried = f"{ran} cases on {device}: {configs} config{'s' * (configs > 1)} at {sizes} size{'s' * (sizes > 1)}"
    if sizes == 1:
        tried += "; give get_inputs sizes as parameters, as in get_inputs(M=512), to have other sizes tried"
    if refused:
        tried += f"; {len(refused)} were refused by kernel_fn"
    if unfit:
        tried += f"; {len(unfit)} do not fit this GPU, such as {unfit[0]}"
    return f"{tried}; {len(wrong)} wrong, first {wrong[0]}" if wrong else tried


def main() -> int:
    parser = script.arguments("Verifies a Triton kernel against its PyTorch reference.")
    parser.add_argument("--device", choices=("auto", "cuda", "hip", "interpreter"), default="auto")
    return script.run(parser.parse_args(), verify, _unverified, apart=True)


if __name__ == "__main__":
    sys.exit(main())
