"""One case: run the kernel as often as asked, run the reference, compare."""

from __future__ import annotations

import itertools
import os
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from . import gradients, cache_misses
from .invoke import Arguments, GuardedMemory, are_placed, given, guard_operators, out_arguments, results
from .compare import compare, largest_difference
from .device import Device
from .failures import compiler_output, describe, is_misfit
from .inputs import Guarded, changed_elements, values_of
from .modules import load
from .order import reversed_programs
from .protocol import RequestError, number
from .specialized import specialized


def verify(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``verify`` request."""
    compiled = cache_misses.count()
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    guard_operators(module, device.torch)
    values = values_of(request, module)
    first = _run(module, values, request, device, reverse=False)
    has_reference = hasattr(module, "reference_fn")
    expected, own = _reference(module, values, first.results, request, device) if has_reference else ({}, None)
    device.synchronize()
    _check_shapes(first.results, expected)
    specs = [*request["inputs"], *request["outputs"]]
    _check_kinds(first.results, expected, {spec["python"]: spec["dtype"] for spec in specs})
    comparisons = _comparisons(first.results, expected, own, request)

    problems, corrupted = first.problems, first.corrupted
    for turn in range(1, request["repeats"]):
        if corrupted:
            break
        reverse = device.interpreted and request["reversible"] and turn % 2 == 1
        again = _run(module, values, request, device, reverse)
        corrupted = again.corrupted
        problems = problems or again.problems or _differences(first.results, again.results, request, reverse)
        if all(comparison["wrong"] == 0 for comparison in comparisons):
            comparisons = _comparisons(again.results, expected, own, request)
    taken = None
    if request["specialized"] is not None and not corrupted:
        own = _specialized(module, values, request, device, request["specialized"])
        taken, corrupted = own.taken, own.corrupted
        problems = problems or own.problems
        compared = _comparisons(own.results, expected, None, request)
        if any(comparison["wrong"] for comparison in compared):
            comparisons, problems = compared, problems or [f"{own.kernel} differs from the reference"]
    if has_reference and request["gradients"] and not corrupted:
        with GuardedMemory(len(first.inputs)) as memory:
            comparisons += gradients.compared(module, first.inputs, values, request, device)
        outside = _outside_writes(first.inputs, {}, memory)
        problems = problems or outside or _changed_inputs(request["inputs"], first.inputs)
        corrupted = bool(outside)
    return {
        "comparisons": comparisons,
        "problems": problems,
        "corrupted": corrupted,
        "specialized": taken,
        "compiled": cache_misses.count() - compiled,
        "unreliable": unreliable(request, device),
    }


@dataclass(frozen=True)
class _Run:
    inputs: dict[str, Guarded]
    results: dict[str, torch.Tensor]
    # Writes to memory that is not the kernel's, and changed inputs, as phrases.
    problems: list[str]
    # Something was written outside every tensor.
    corrupted: bool


def _run(
    module: ModuleType, values: dict[str, torch.Tensor], request: dict[str, Any], device: Device, reverse: bool
) -> _Run:
    """Calls the kernel once, on inputs of its own."""
    inputs, marks = request["inputs"], itertools.count()
    guarded = {spec["python"]: Guarded.of(spec, device.torch, values[spec["python"]], next(marks)) for spec in inputs}
    arguments: Arguments = {name: guard.tensor for name, guard in guarded.items()} | given(request)
    outputs = {spec["python"]: Guarded.of(spec, device.torch, mark=next(marks)) for spec in request["outputs"]}
    passed = out_arguments(module.kernel_fn, {name: guard.tensor for name, guard in outputs.items()})
    if are_placed(request["outputs"]) and passed is None:
        raise RequestError("python-error", "the wrapper takes no outputs, and the case says how one lies in memory")
    if passed is None or not (request["passOut"] or are_placed(request["outputs"])):
        outputs, passed = {}, {}

    compiles = not device.interpreted
    with (
        compiler_output(os.path.dirname(request["module"])) if compiles else nullcontext(),
        reversed_programs() if reverse else nullcontext(),
        GuardedMemory(next(marks)) as memory,
    ):
        got = results(module.kernel_fn, arguments, request["results"], passed)
    device.synchronize()
    outside = _outside_writes(guarded, outputs, memory)
    return _Run(guarded, got, outside or _changed_inputs(inputs, guarded), bool(outside))


@dataclass(frozen=True)
class _Specialized:
    # Its place among the configs that fit, and how many do; None where a launch cannot be specialized.
    taken: dict[str, Any] | None
    # None where it did not run.
    results: dict[str, torch.Tensor]
    problems: list[str]
    corrupted: bool
    # What it is, in words.
    kernel: str = ""


def _specialized(
    module: ModuleType, values: dict[str, torch.Tensor], request: dict[str, Any], device: Device, place: int
) -> _Specialized:
    """Runs the warp-specialized kernel twice at least, where the case suits it; both must agree to the bit."""
    runs = []
    try:
        with specialized(module, place) as launches:
            while len(runs) < max(2, request["repeats"]):
                runs.append(_run(module, values, request, device, reverse=False))
                if not launches or runs[-1].corrupted:
                    break
    except Exception as error:
        if not is_misfit(error):
            raise
        return _Specialized({"misfit": describe(error, None)["message"]}, {}, [], False)
    if not launches:
        return _Specialized(None, {}, [], False)
    first, *others = runs
    found = [problem for run in runs for problem in run.problems]
    found += [problem for run in others for problem in _differences(first.results, run.results, request, False)]
    problems = [f"{launches[0]}: {problem}" for problem in found[:1]]
    taken = {"config": launches[0].config, "of": launches[0].of}
    return _Specialized(taken, runs[-1].results, problems, any(run.corrupted for run in runs), str(launches[0]))


def _comparisons(
    got: dict[str, torch.Tensor],
    expected: dict[str, torch.Tensor],
    own: dict[str, torch.Tensor] | None,
    request: dict[str, Any],
) -> list[dict[str, Any]]:
    """Each result beside its reference; none without a reference."""
    comparisons = []
    for name, tensor in got.items() if expected else ():
        tolerance = request["tolerances"][name]
        comparison = compare(name, tensor, expected[name], tolerance)
        if own is not None:
            comparison["referenceDiff"] = number(largest_difference(own[name], expected[name]))
        comparisons.append(comparison)
    return comparisons


def _check_shapes(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Refuses a reference of other shapes than the kernel's results."""
    for name, right in expected.items():
        if (shape := list(got[name].shape)) != list(right.shape):
            problem = f"{name} has shape {shape}, its reference has {list(right.shape)}"
            raise RequestError("reference", f"{problem}; return one of {name}'s shape")


def _check_kinds(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], dtypes: dict[str, str]) -> None:
    """Refuses a reference of floats for integers and the like; a float of any width stands for one of another."""
    for name, right in expected.items():
        own, given = _kind(got[name].dtype), _kind(right.dtype)
        if own != given:
            problem = f"{name} holds {own} ({dtypes[name]}), its reference gives {given}"
            raise RequestError("reference", f"{problem}; convert what it returns, such as with .to(tl.{dtypes[name]})")


def _kind(dtype: torch.dtype) -> str:
    if dtype.is_complex:
        return "complex numbers"
    if dtype == torch.bool:
        return "truth values"
    return "floats" if dtype.is_floating_point else "integers"


def _differences(
    first: dict[str, torch.Tensor], again: dict[str, torch.Tensor], request: dict[str, Any], reverse: bool
) -> list[str]:
    """Results that depend on what the inputs do not say, as phrases."""
    if request["unordered"]:
        return []
    when = "when programs run in reverse" if reverse else "between two runs on the same inputs"
    found = []
    for name, tensor in first.items():
        if tensor.shape == again[name].shape and (differing := changed_elements(tensor, again[name])):
            found.append(f"{name} differs {when}, in {differing} of {tensor.numel()} elements: programs race")
    return found


def _reference(
    module: ModuleType,
    values: dict[str, torch.Tensor],
    got: dict[str, torch.Tensor],
    request: dict[str, Any],
    device: Device,
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor] | None]:
    """The expected results, in float64 where the reference allows it, and PyTorch's own in the dtype beside those.

    PyTorch refuses to pool empty tensors, and the like: then what is empty is as expected.
    """

    def run(dtype: torch.dtype | None) -> dict[str, torch.Tensor]:
        arguments: Arguments = {
            name: value.to(device.torch, dtype if dtype and value.dtype.is_floating_point else value.dtype, copy=True)
            for name, value in values.items()
        } | given(request)
        return results(module.reference_fn, arguments, request["results"])

    try:
        exact = run(torch.float64)
    except Exception:
        # The reference insists on its inputs' dtype (an explicit cast, an op without float64): use it as it is.
        try:
            return run(None), None
        except Exception:
            if any(result.numel() for result in got.values()):
                raise
            return got, None
    try:
        return exact, run(None)
    except Exception:
        # PyTorch lacks some ops for half precision on the CPU; float64 gave the verdict already.
        return exact, None


def _outside_writes(inputs: dict[str, Guarded], outputs: dict[str, Guarded], memory: GuardedMemory) -> list[str]:
    """Writes to places that belong to no tensor, as phrases."""
    found = [f"the kernel wrote outside {name}" for name, guard in inputs.items() if guard.damaged(inside=False)]
    for name, guard in outputs.items():
        if guard.damaged(inside=False):
            found.append(f"the kernel wrote outside an output that was passed to it: {name}")
    if memory.damaged:
        found.append("the kernel wrote outside a tensor that its wrapper allocated")
    return found


def _changed_inputs(specs: list[dict[str, Any]], inputs: dict[str, Guarded]) -> list[str]:
    """Inputs that do not hold what they held before."""
    return [
        f"the kernel changed an input: {spec['name']}"
        for spec in specs
        if spec["role"] == "in" and inputs[spec["python"]].damaged(inside=True)
    ]


def unreliable(request: dict[str, Any], device: Device) -> list[str]:
    """Why the numbers of this case mean nothing on this device."""
    if not device.interpreted:
        return []
    dtypes = {spec["dtype"] for spec in [*request["inputs"], *request["outputs"]]}
    if any(dtype.startswith("float8") for dtype in dtypes):
        return ["Triton's interpreter converts to and from float8 inexactly"]
    return []
