"""Compares the PyTorch gradients of a module's ``kernel_fn`` with those of its reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any

import torch

from .compare import compare
from .device import Device
from .inputs import Guarded
from .invoke import Arguments, argument_list, call
from .rounding import dtype_rounding_reach, rounding_reach, sample_seeds


def compare_gradients(
    module: ModuleType,
    guarded: dict[str, Guarded],
    values: dict[str, torch.Tensor],
    request: dict[str, Any],
    device: Device,
) -> list[dict[str, Any]]:
    """One comparison for each gradient: torch.autograd of the operator, and of the reference in float64."""
    names = [name for name in request["gradients"] if name in values]
    tensors = {name: guard.tensor for name, guard in guarded.items()}
    outputs, leaves = differentiable(module.kernel_fn, tensors, names, request)
    generator = torch.Generator().manual_seed(request["seed"] + len(values))
    output_gradients = [torch.randn(out.shape, generator=generator).to(out.device, out.dtype) for out in outputs]
    got = gradients(outputs, leaves, output_gradients, retain_graph=True)
    # A sum or a transposition passes output gradients that are not in row-major order.
    strided = gradients(outputs, leaves, [strided_copy(grad) for grad in output_gradients])

    def of_reference(
        inputs: dict[str, torch.Tensor],
        dtype: torch.dtype | None = torch.float64,
        place: torch.device | str = device.torch,
    ) -> list[torch.Tensor]:
        """The gradients of the reference with all floats in ``dtype``, or in their own."""
        converted = {
            name: value.to(place, (dtype if value.dtype.is_floating_point else None) or value.dtype)
            for name, value in inputs.items()
        }
        outputs, leaves = differentiable(module.reference_fn, converted, names, request)
        return gradients(
            outputs, leaves, [grad.to(place, out.dtype) for grad, out in zip(output_gradients, outputs, strict=True)]
        )

    expected = of_reference(values)
    device.synchronize()

    def comparisons(extra: Sequence[torch.Tensor | float]) -> list[dict[str, Any]]:
        """For each input, the worse of the results for row-major and for strided output gradients."""
        by_layout = [
            [
                compare(f"{name}.grad", actual, reference, request["tolerances"][f"{name}.grad"], more_tolerance)
                for name, actual, reference, more_tolerance in zip(names, values, expected, extra, strict=True)
            ]
            for values in (got, strided)
        ]
        return [max(pair, key=lambda comparison: comparison["wrong"]) for pair in zip(*by_layout, strict=True)]

    def reaches() -> Iterator[list[torch.Tensor]]:
        """What rounding explains, as ever more samples show."""
        # Kernels compute in float32 or float64, for tensors of any dtype. Some round intermediates to a narrower dtype.
        is_double = any(values[name].dtype == torch.float64 for name in names)
        unit = max(torch.finfo(torch.float64 if is_double else torch.float32).eps, request["roundingUnit"])
        reach = [torch.zeros_like(gradient) for gradient in expected]
        for seeds in sample_seeds(request["seed"]):
            rounding = rounding_reach(lambda: of_reference(values), expected, unit, seeds)
            tensors = dtype_rounding_reach(of_reference, values, expected, seeds)
            reach = [torch.stack(bounds).amax(0) for bounds in zip(reach, rounding, tensors, strict=True)]
            yield reach
        if device.interpreted:
            return
        # PyTorch's fused attention takes tensors of three axes on the CPU only.
        exact = [gradient.cpu() for gradient in expected]
        for seeds in sample_seeds(request["seed"]):
            on_cpu = dtype_rounding_reach(partial(of_reference, place="cpu"), values, exact, seeds)
            reach = [torch.maximum(left, right.to(left.device)) for left, right in zip(reach, on_cpu, strict=True)]
            yield reach

    return first_without_wrong(map(comparisons, chain([[0.0] * len(names)], reaches())))


def first_without_wrong(attempts: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The first comparisons in which no element is wrong, or the last ones."""
    comparisons: list[dict[str, Any]] = []
    for comparisons in attempts:
        if not any(comparison["wrong"] for comparison in comparisons):
            break
    return comparisons


def differentiable(
    function: Callable[..., Any], tensors: dict[str, torch.Tensor], names: list[str], request: dict[str, Any]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The results that require a gradient, and the leaf tensors."""
    leaves = {name: tensor.detach().requires_grad_(name in names) for name, tensor in tensors.items()}
    arguments: Arguments = leaves | argument_list(request)
    returned = call(function, arguments)
    results = list(returned) if isinstance(returned, tuple | list) else [returned]
    return [result for result in results if result.requires_grad], [leaves[name] for name in names]


def gradients(
    outputs: list[torch.Tensor],
    leaves: list[torch.Tensor],
    output_gradients: list[torch.Tensor],
    retain_graph: bool = False,
) -> list[torch.Tensor]:
    """Gradients, with zeros for tensors that the outputs do not depend on."""
    computed = torch.autograd.grad(outputs, leaves, output_gradients, allow_unused=True, retain_graph=retain_graph)
    return [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(computed, leaves, strict=True)]


def strided_copy(tensor: torch.Tensor) -> torch.Tensor:
    """A non-contiguous tensor with the same values. Unused elements between them are NaN."""
    return torch.stack([tensor, torch.full_like(tensor, torch.nan)], -1)[..., 0]
