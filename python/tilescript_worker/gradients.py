"""The gradients that a module's ``kernel_fn`` has in PyTorch, beside those of its reference."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from .invoke import Arguments, call, given
from .compare import compare
from .device import Device
from .inputs import Guarded
from .rounding import reach, reach_of_dtype


def compared(
    module: ModuleType,
    guarded: dict[str, Guarded],
    values: dict[str, torch.Tensor],
    request: dict[str, Any],
    device: Device,
) -> list[dict[str, Any]]:
    """One comparison for each gradient: torch.autograd of the operator, and of the reference in float64."""
    names = [name for name in request["gradients"] if name in values]
    own = {name: guard.tensor for name, guard in guarded.items()}
    outputs, leaves = differentiable(module.kernel_fn, own, names, request)
    generator = torch.Generator().manual_seed(request["seed"] + len(values))
    above = [torch.randn(out.shape, generator=generator).to(out.device, out.dtype) for out in outputs]
    got = gradients(outputs, leaves, above)
    # A sum or a transposition gives gradients that are not in row-major order.
    again, others = differentiable(module.kernel_fn, own, names, request)
    strided = gradients(again, others, [apart(grad) for grad in above])

    def of_reference(inputs: dict[str, torch.Tensor], dtype: torch.dtype | None = torch.float64) -> list[torch.Tensor]:
        """The gradients of the reference with all floats in ``dtype``, or in their own."""
        placed = {
            name: value.to(device.torch, (dtype if value.dtype.is_floating_point else None) or value.dtype)
            for name, value in inputs.items()
        }
        outputs, leaves = differentiable(module.reference_fn, placed, names, request)
        return gradients(outputs, leaves, [grad.to(out.dtype) for grad, out in zip(above, outputs, strict=True)])

    expected = of_reference(values)
    device.synchronize()
    besides: list[torch.Tensor | float] = [0.0] * len(names)

    def comparisons() -> list[dict[str, Any]]:
        """Of the outputs' gradients in row-major order, and of the other layout where that one is worse."""
        every = [
            [
                compare(f"{name}.grad", mine, right, request["tolerances"][f"{name}.grad"], more)
                for name, mine, right, more in zip(names, values, expected, besides, strict=True)
            ]
            for values in (got, strided)
        ]
        return [max(pair, key=lambda comparison: comparison["wrong"]) for pair in zip(*every, strict=True)]

    found = comparisons()
    if all(comparison["wrong"] == 0 for comparison in found):
        return found
    # Kernels compute in float32, whatever the dtype of their tensors, or in float64. Some round to less on the way.
    is_double = any(values[name].dtype == torch.float64 for name in names)
    unit = max(torch.finfo(torch.float64 if is_double else torch.float32).eps, request["roundingUnit"])
    moved = reach(lambda: of_reference(values), expected, unit, request["seed"])
    own = reach_of_dtype(of_reference, values, expected, request["seed"])
    besides = [torch.maximum(one, other) for one, other in zip(moved, own, strict=True)]
    return comparisons()


def differentiable(
    function: Callable[..., Any], tensors: dict[str, torch.Tensor], names: list[str], request: dict[str, Any]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The results that have a gradient, and the tensors to differentiate by."""
    leaves = {name: tensor.detach().requires_grad_(name in names) for name, tensor in tensors.items()}
    arguments: Arguments = leaves | given(request)
    returned = call(function, arguments)
    results = list(returned) if isinstance(returned, tuple | list) else [returned]
    return [result for result in results if result.requires_grad], [leaves[name] for name in names]


def gradients(
    outputs: list[torch.Tensor], leaves: list[torch.Tensor], above: list[torch.Tensor], keep: bool = False
) -> list[torch.Tensor]:
    """Zeros are the gradient of tensors that the outputs do not depend on; ``keep`` lets them be asked for again."""
    found = torch.autograd.grad(outputs, leaves, above, allow_unused=True, retain_graph=keep)
    return [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(found, leaves, strict=True)]


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, with an unused element behind each of them."""
    return torch.stack([tensor, torch.full_like(tensor, torch.nan)], -1)[..., 0]
