"""The rules for one call of a kernel, for the runner's cases and for Python files that others wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from .device import Device
from .failures import compiler_output
from .inputs import changed_elements
from .invoke import GuardedMemory
from .order import reversed_programs

Results = dict[str, torch.Tensor]
T = TypeVar("T")


class GuardedTensor(Protocol):
    """A tensor in memory that shows writes."""

    tensor: torch.Tensor

    def is_damaged(self, include_inside: bool) -> bool:
        """True if a byte changed outside the tensor, or anywhere with ``include_inside``."""
        ...


@dataclass(frozen=True)
class Run:
    """One call of a kernel on fresh inputs."""

    results: Results
    # Descriptions of out-of-bounds writes and changed inputs.
    problems: list[str]
    # True after a write outside every tensor.
    corrupted: bool


def guarded_run(
    call: Callable[[], Results],
    inputs: Mapping[str, GuardedTensor],
    outputs: Mapping[str, GuardedTensor],
    read_only: Mapping[str, str],
    device: Device,
    folder: str | None,
    reverse: bool = False,
) -> Run:
    """Calls the kernel once. ``read_only`` are the inputs that it must not change, with their names for people.

    What compilers print goes through a temporary file in ``folder``.
    """
    compiles = not device.interpreted
    with (
        compiler_output(folder) if compiles else nullcontext(),
        reversed_programs() if reverse else nullcontext(),
        GuardedMemory(len(inputs) + len(outputs)) as memory,
    ):
        results = call()
    device.synchronize()
    outside = outside_writes(inputs, outputs, memory)
    return Run(results, outside or changed_inputs(read_only, inputs), bool(outside))


def outside_writes(
    inputs: Mapping[str, GuardedTensor], outputs: Mapping[str, GuardedTensor], memory: GuardedMemory
) -> list[str]:
    """Descriptions of writes outside every tensor."""
    problems = [
        f"the kernel wrote outside {name}" for name, guard in inputs.items() if guard.is_damaged(include_inside=False)
    ]
    for name, guard in outputs.items():
        if guard.is_damaged(include_inside=False):
            problems.append(f"the kernel wrote outside an output that was passed to it: {name}")
    if memory.is_damaged:
        problems.append("the kernel wrote outside a tensor that its wrapper allocated")
    return problems


def changed_inputs(read_only: Mapping[str, str], inputs: Mapping[str, GuardedTensor]) -> list[str]:
    """Descriptions of inputs that the kernel changed."""
    return [
        f"the kernel changed an input: {title}"
        for name, title in read_only.items()
        if inputs[name].is_damaged(include_inside=True)
    ]


def differences(first: Results, rerun: Results, reverse: bool) -> list[str]:
    """Descriptions of results that differ between runs on equal inputs."""
    when = "when programs run in reverse" if reverse else "between two runs on the same inputs"
    problems = []
    for name, tensor in first.items():
        if tensor.shape == rerun[name].shape and (differing := changed_elements(tensor, rerun[name])):
            problems.append(f"{name} differs {when}, in {differing} of {tensor.numel()} elements: programs race")
    return problems


def exact_and_own(run: Callable[[torch.dtype | None], T]) -> tuple[T, T | None]:
    """What the reference gives for inputs in float64 if possible, and for those in their own dtypes.

    Raises what the reference raises for inputs in their own dtypes.
    """
    try:
        exact = run(torch.float64)
    except Exception:
        # The reference requires its inputs' dtypes, because of a cast or an op without float64.
        own = run(None)
        return own, own
    try:
        return exact, run(None)
    except Exception:
        # PyTorch lacks some half-precision ops on the CPU. The float64 result suffices.
        return exact, None
