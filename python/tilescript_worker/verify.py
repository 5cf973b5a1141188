"""Verifies one test case: runs the kernel and the reference, and compares the results."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from . import cache_misses, gradients
from .compare import compare, kind_of, largest_difference
from .device import Device
from .failures import describe, is_out_of_resources
from .inputs import Guarded, values_of
from .invoke import Arguments, GuardedMemory, argument_list, guard_operators, has_output_layout, out_arguments, results
from .judge import Results, Run, changed_inputs, differences, exact_and_own, guarded_run, outside_writes
from .modules import autotuners, forget_choices, load
from .protocol import RequestError, number
from .specialized import Launch, specialized


def verify(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``verify`` request."""
    compiled = cache_misses.count()
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    guard_operators(module, device.torch)
    values = values_of(request, module)
    starts_cold = request.get("startsCold", False)
    if starts_cold:
        forget_choices(module, device.interpreted)
    inputs, first = _run(module, values, request, device, reverse=False)
    has_reference = hasattr(module, "reference_fn")
    expected, specialized_run = (
        _reference(module, values, first.results, request, device) if has_reference else ({}, None)
    )
    device.synchronize()
    _check_shapes(first.results, expected)
    specs = [*request["inputs"], *request["outputs"]]
    _check_kinds(first.results, expected, {spec["python"]: spec["dtype"] for spec in specs})
    comparisons = _comparisons(first.results, expected, specialized_run, request)

    problems, corrupted = first.problems, first.corrupted
    for repetition in range(1, max(request["repeats"], 2 if starts_cold else 1)):
        if corrupted:
            break
        reverse = device.interpreted and request["reversible"] and repetition % 2 == 1 and not starts_cold
        _, rerun = _run(module, values, request, device, reverse)
        corrupted = rerun.corrupted
        problems = problems or rerun.problems
        if not problems and starts_cold and repetition == 1:
            problems = _first_call_differences(first.results, rerun.results, request, module)
        problems = problems or _differences(first.results, rerun.results, request, reverse)
        if all(comparison["wrong"] == 0 for comparison in comparisons):
            comparisons = _comparisons(rerun.results, expected, specialized_run, request)
    selection = None
    if request["specialized"] is not None and not corrupted:
        specialized_run = _specialized(module, values, request, device, request["specialized"])
        selection, corrupted = specialized_run.selection, specialized_run.corrupted
        problems = problems or specialized_run.problems
        compared = _comparisons(specialized_run.results, expected, None, request)
        if any(comparison["wrong"] for comparison in compared):
            comparisons, problems = compared, problems or [f"{specialized_run.kernel} differs from the reference"]
    if has_reference and request["gradients"] and not corrupted:
        with GuardedMemory(len(inputs)) as memory:
            compared, selection = _compare_gradients(module, inputs, values, request, device, selection)
            comparisons += compared
        outside = outside_writes(inputs, {}, memory)
        problems = problems or outside or changed_inputs(_read_only(request["inputs"]), inputs)
        corrupted = bool(outside)
    return {
        "comparisons": comparisons,
        "problems": problems,
        "corrupted": corrupted,
        "specialized": selection,
        "compiled": cache_misses.count() - compiled,
        "unreliable": unreliable_reasons(request, device),
    }


def _compare_gradients(
    module: ModuleType,
    inputs: dict[str, Guarded],
    values: dict[str, torch.Tensor],
    request: dict[str, Any],
    device: Device,
    selection: dict[str, Any] | None,
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Compares gradients, and if they are right, those with the warp-specialized kernels where the case allows them.

    The second result is ``selection``, or that of the backward pass if it has more configs or does not fit the GPU.
    """
    compared = gradients.compare_gradients(module, inputs, values, request, device)
    is_misfit = selection is not None and "misfit" in selection
    if request["specialized"] is None or is_misfit or any(comparison["wrong"] for comparison in compared):
        return compared, selection
    try:
        with specialized(module, request["specialized"]) as launches:
            again = gradients.compare_gradients(module, inputs, values, request, device)
    except Exception as error:
        return compared, _misfit(error)
    return again, _selection(launches)


def _selection(launches: list[Launch]) -> dict[str, Any] | None:
    """The config of the kernel that has most, as the kernels of an operator have different numbers of them."""
    if not launches:
        return None
    longest = max(launches, key=lambda launch: launch.config_count)
    return {"config": longest.config, "of": longest.config_count}


def _misfit(error: Exception) -> dict[str, Any]:
    """Says that the GPU has no room for a config.

    Raises:
        Exception: The error, if it has another cause.
    """
    if not is_out_of_resources(error):
        raise error
    return {"misfit": describe(error, None)["message"]}


def _run(
    module: ModuleType, values: dict[str, torch.Tensor], request: dict[str, Any], device: Device, reverse: bool
) -> tuple[dict[str, Guarded], Run]:
    """Calls the kernel once on fresh inputs, and returns them too."""
    inputs, marks = request["inputs"], itertools.count()
    guarded = {
        spec["python"]: Guarded.from_spec(spec, device.torch, values[spec["python"]], next(marks)) for spec in inputs
    }
    arguments: Arguments = {name: guard.tensor for name, guard in guarded.items()} | argument_list(request)
    outputs = {spec["python"]: Guarded.from_spec(spec, device.torch, mark=next(marks)) for spec in request["outputs"]}
    passed = out_arguments(module.kernel_fn, {name: guard.tensor for name, guard in outputs.items()})
    if has_output_layout(request["outputs"]) and passed is None:
        raise RequestError("python-error", "the wrapper takes no outputs, and the case says how one lies in memory")
    if passed is None or not (request["passOut"] or has_output_layout(request["outputs"])):
        outputs, passed = {}, {}

    def call() -> Results:
        return results(module.kernel_fn, arguments, request["results"], passed)

    folder = os.path.dirname(request["module"])
    return guarded, guarded_run(call, guarded, outputs, _read_only(inputs), device, folder, reverse)


def _read_only(inputs: list[dict[str, Any]]) -> dict[str, str]:
    return {spec["python"]: spec["name"] for spec in inputs if spec["role"] == "in"}


@dataclass(frozen=True)
class _Specialized:
    # The index of the config among the valid ones, and their count; None if the launch is not specializable.
    selection: dict[str, Any] | None
    # Empty if the kernel did not run.
    results: dict[str, torch.Tensor]
    problems: list[str]
    corrupted: bool
    # A description of the kernel and its config.
    kernel: str = ""


def _specialized(
    module: ModuleType, values: dict[str, torch.Tensor], request: dict[str, Any], device: Device, config_index: int
) -> _Specialized:
    """Runs the warp-specialized kernel at least twice, if the case allows it. Results must be bitwise equal."""
    runs = []
    try:
        with specialized(module, config_index) as launches:
            while len(runs) < max(2, request["repeats"]):
                runs.append(_run(module, values, request, device, reverse=False)[1])
                if not launches or runs[-1].corrupted:
                    break
    except Exception as error:
        return _Specialized(_misfit(error), {}, [], False)
    if not launches:
        return _Specialized(None, {}, [], False)
    first, *others = runs
    problems_found = [problem for run in runs for problem in run.problems]
    problems_found += [
        problem for run in others for problem in _differences(first.results, run.results, request, False)
    ]
    problems = [f"{launches[0]}: {problem}" for problem in problems_found[:1]]
    return _Specialized(
        _selection(launches), runs[-1].results, problems, any(run.corrupted for run in runs), str(launches[0])
    )


def _comparisons(
    got: dict[str, torch.Tensor],
    expected: dict[str, torch.Tensor],
    native: dict[str, torch.Tensor] | None,
    request: dict[str, Any],
) -> list[dict[str, Any]]:
    """Compares each result with its reference; empty without a reference."""
    comparisons = []
    for name, tensor in got.items() if expected else ():
        tolerance = request["tolerances"][name]
        comparison = compare(name, tensor, expected[name], tolerance)
        if native is not None:
            comparison["referenceDiff"] = number(largest_difference(native[name], expected[name]))
        comparisons.append(comparison)
    return comparisons


def _check_shapes(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Rejects a reference whose shapes differ from the kernel's results."""
    for name, reference in expected.items():
        if (shape := list(got[name].shape)) != list(reference.shape):
            problem = f"{name} has shape {shape}, its reference has {list(reference.shape)}"
            raise RequestError("reference", f"{problem}; return one of {name}'s shape")


def _check_kinds(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], dtypes: dict[str, str]) -> None:
    """Rejects a reference whose dtype has another kind than the result, such as floats for integers."""
    for name, reference in expected.items():
        kind, reference_kind = kind_of(got[name].dtype), kind_of(reference.dtype)
        if kind != reference_kind:
            problem = f"{name} holds {kind} ({dtypes[name]}), its reference gives {reference_kind}"
            raise RequestError("reference", f"{problem}; convert its result, such as with .to(tl.{dtypes[name]})")


def _first_call_differences(
    first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], request: dict[str, Any], module: ModuleType
) -> list[str]:
    """Descriptions of results of the first call, in which the autotuner ran every config, that the second lacks."""
    if not autotuners(module):
        return []
    problems = []
    for name, tensor in first.items():
        tolerance = request["tolerances"][name]
        if tensor.shape == second[name].shape and compare(name, tensor, second[name], tolerance)["wrong"]:
            problems.append(
                f"{name} differs between the first call, in which the autotuner ran every config, and the second: "
                "each run must start with the caller's values; name it in restoreValue"
            )
    return problems


def _differences(first: Results, rerun: Results, request: dict[str, Any], reverse: bool) -> list[str]:
    return [] if request["unordered"] else differences(first, rerun, reverse)


def _reference(
    module: ModuleType,
    values: dict[str, torch.Tensor],
    got: dict[str, torch.Tensor],
    request: dict[str, Any],
    device: Device,
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor] | None]:
    """The expected results, in float64 if possible, and PyTorch's own results in the inputs' dtypes.

    PyTorch raises an error for some empty tensors, such as in pooling. Empty results then count as expected.
    """

    def run(dtype: torch.dtype | None) -> dict[str, torch.Tensor]:
        arguments: Arguments = {
            name: value.to(device.torch, dtype if dtype and value.dtype.is_floating_point else value.dtype, copy=True)
            for name, value in values.items()
        } | argument_list(request)
        return results(module.reference_fn, arguments, request["results"])

    try:
        exact, own = exact_and_own(run)
        return exact, None if own is exact else own
    except Exception:
        if any(result.numel() for result in got.values()):
            raise
        return got, None


def unreliable_reasons(request: dict[str, Any], device: Device) -> list[str]:
    """Reasons why this device cannot compute the case reliably."""
    if not device.interpreted:
        return []
    dtypes = {spec["dtype"] for spec in [*request["inputs"], *request["outputs"]]}
    if any(dtype.startswith("float8") for dtype in dtypes):
        return ["Triton's interpreter converts to and from float8 inexactly"]
    return []
