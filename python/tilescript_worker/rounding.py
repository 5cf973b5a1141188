"""Error bounds of gradients that follow from rounding alone.

Some gradients are small differences of large terms. The gradient of a layer norm over one element is 0, and its
rounding error is multiplied by 1/sqrt(eps). No fixed tolerance fits such gradients, and perturbing the inputs does not
show the error. So the reference is differentiated again in float64, several times, with a random error in each
operation: up to one unit in the last place of the compute dtype, or up to the kernel's intermediate roundings. This is
Monte Carlo arithmetic (D. S. Parker, "Monte Carlo Arithmetic: exploiting randomness in
floating-point arithmetic", UCLA CSD-970002, 1997).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

# Eight samples suffice for most gradients. Of those that still differ, one element in a thousand is farther from the
# reference than three times its largest sample, because all eight happen to be small. With 32 samples, one element in
# two million is (for normally distributed errors).
SAMPLES = range(8), range(8, 32)
MARGIN = 3
# PyTorch operations that round. Data movement does not round, nor do operations that are not listed.
ROUNDING = frozenset(
    """
    add addcdiv addcmul addmm baddbmm bmm convolution cos cumsum div erf exp exp2 expm1 log log1p log2 logsumexp mean mm
    mul native_group_norm native_layer_norm pow prod reciprocal rsqrt rsub sigmoid sin sqrt sub sum tanh var var_mean
    _log_softmax _softmax
    """.split()
)
# Perturb the operands of these: kernels round the operands and sum in another order, so terms may cancel.
PRODUCTS = frozenset("addmm baddbmm bmm convolution mm".split())


def sample_seeds(seed: int) -> Iterator[list[int]]:
    """The seeds of the first samples, then those of more samples for the elements that still differ."""
    for samples in SAMPLES:
        yield [seed + sample for sample in samples]


def rounding_reach(
    gradients: Callable[[], list[torch.Tensor]], expected: list[torch.Tensor], unit: float, seeds: Iterable[int]
) -> list[torch.Tensor]:
    """The largest distance of each element of ``gradients()`` from ``expected`` under random rounding: [0, inf).

    Each operation has a relative error of up to ``unit``. Each of ``seeds`` gives a sample. Attention runs unfused,
    because a fused operation would count as one without rounding.
    """
    farthest = [torch.zeros_like(exact) for exact in expected]
    for seed in seeds:
        with sdpa_kernel(SDPBackend.MATH), _Rounded(unit, seed):
            perturbed = gradients()
        for distance_so_far, exact, perturbed_gradient in zip(farthest, expected, perturbed, strict=True):
            # An infinity or NaN gives no estimate of the error.
            distance = (perturbed_gradient - exact).abs().nan_to_num(nan=0.0, posinf=0.0)
            torch.maximum(distance_so_far, distance, out=distance_so_far)
    return [MARGIN * distance_so_far for distance_so_far in farthest]


def dtype_rounding_reach(
    gradients: Callable[[dict[str, torch.Tensor], torch.dtype | None], list[torch.Tensor]],
    values: dict[str, torch.Tensor],
    expected: list[torch.Tensor],
    seeds: Iterable[int],
) -> list[torch.Tensor]:
    """PyTorch's own error in the dtypes of ``values``: [0, inf), 0 if it lacks an operation.

    PyTorch's kernels use formulas that the float64 reference lacks: attention computes a row sum of gradients from the
    rounded output. Inputs are perturbed in their last bits, because they then round differently.
    """
    farthest = [torch.zeros_like(exact) for exact in expected]
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        perturbed = {name: _near(value, generator) for name, value in values.items()}
        try:
            computed = gradients(perturbed, None)
        except Exception:
            return farthest
        exact = gradients(perturbed, torch.float64)
        for distance_so_far, native, reference in zip(farthest, computed, exact, strict=True):
            distance = (native.to(torch.float64) - reference).abs().nan_to_num(nan=0.0, posinf=0.0)
            torch.maximum(distance_so_far, distance, out=distance_so_far)
    return [MARGIN * distance_so_far for distance_so_far in farthest]


def _near(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Perturbs floats by up to one unit in the last place."""
    if not value.dtype.is_floating_point:
        return value
    unit = torch.finfo(value.dtype).eps
    noise = torch.rand(value.shape, generator=generator, dtype=torch.float64).to(value.device)
    return (value.to(torch.float64) * (1 + unit * (2 * noise - 1))).to(value.dtype)


@cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's decompositions into core operations, cached because PyTorch rebuilds the table at each call."""
    from torch._decomp import core_aten_decompositions

    return dict(core_aten_decompositions())


class _Rounded(TorchDispatchMode):
    """Inside a ``with``, perturbs results of operations by a relative error of up to ``unit``."""

    def __init__(self, unit: float, seed: int) -> None:
        super().__init__()
        self.steps = _decompositions()
        self.unit = unit
        self.seed = seed
        self.generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in self.steps:
            with self:
                return self.steps[function](*args, **kwargs)
        name = function.overloadpacket.__name__
        if name in PRODUCTS:
            args = tree_map_only(torch.Tensor, self._perturb, args)
        result = function(*args, **kwargs)
        rounds = name in ROUNDING
        return tree_map_only(torch.Tensor, self._perturb, result) if rounds else result

    def _perturb(self, exact: torch.Tensor) -> torch.Tensor:
        if not exact.is_floating_point():
            return exact
        # Generated on the tensor's device: the CPU would take minutes for a GPU-sized tensor.
        generator = self.generators.get(exact.device)
        if generator is None:
            generator = self.generators[exact.device] = torch.Generator(exact.device).manual_seed(self.seed)
        noise = torch.rand(exact.shape, generator=generator, dtype=exact.dtype, device=exact.device)
        return exact * (1 + self.unit * (2 * noise - 1))
