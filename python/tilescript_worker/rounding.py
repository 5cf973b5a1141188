"""How far rounding alone may move a gradient.

Some gradients are small differences of large terms: that of a layer norm over one element is 0, and what rounding
leaves of it is multiplied by 1/sqrt(eps). No fixed tolerance fits those, and no last bit of an input shows them. So the
reference is differentiated again in float64 with each operation off by up to a unit in the last place of the dtype that
kernels compute in, or by as much as the kernel's own roundings on the way, a few times, at random: Monte Carlo
arithmetic (D. S. Parker, "Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic", UCLA CSD-970002,
1997).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

RUNS = 8
# The largest of eight such moves is about 1.6 standard deviations. Three times that is beyond what a few million
# elements show, and leaves room for the other order and the other formulas of a kernel.
MARGIN = 3
# Operations of PyTorch that round. What moves or chooses elements does not, nor does one that is unknown here.
ROUNDING = frozenset(
    """
    add addcdiv addcmul addmm baddbmm bmm convolution cos cumsum div erf exp exp2 expm1 log log1p log2 logsumexp mean mm
    mul native_group_norm native_layer_norm pow prod reciprocal rsqrt rsub sigmoid sin sqrt sub sum tanh var var_mean
    _log_softmax _softmax
    """.split()
)
# These are off by a part of their terms, which may cancel: kernels round the operands, and add in another order.
PRODUCTS = frozenset("addmm baddbmm bmm convolution mm".split())


def reach(
    gradients: Callable[[], list[torch.Tensor]], expected: list[torch.Tensor], unit: float, seed: int
) -> list[torch.Tensor]:
    """How far each element of what ``gradients`` computes moves from ``expected``: [0, inf).

    Each operation is off by up to ``unit``, relative to what it gives. Attention takes its steps one by one: fused,
    they would count as one that does not round.
    """
    farthest = [torch.zeros_like(exact) for exact in expected]
    for run in range(RUNS):
        with sdpa_kernel(SDPBackend.MATH), _Rounded(unit, seed + run):
            found = gradients()
        for far, exact, moved in zip(farthest, expected, found, strict=True):
            # Where it moves to an infinity or NaN, the error is unknown.
            distance = (moved - exact).abs().nan_to_num(nan=0.0, posinf=0.0)
            torch.maximum(far, distance, out=far)
    return [MARGIN * far for far in farthest]


def reach_of_dtype(
    gradients: Callable[[dict[str, torch.Tensor], torch.dtype | None], list[torch.Tensor]],
    values: dict[str, torch.Tensor],
    expected: list[torch.Tensor],
    seed: int,
) -> list[torch.Tensor]:
    """How far PyTorch itself is off in the dtypes of ``values``: [0, inf), 0 where it has no such operation.

    Its kernels have formulas that the reference in float64 lacks: those of attention take the sum of a row of gradients
    from the rounded output. Inputs that differ in their last bits round in other ways.
    """
    generator = torch.Generator().manual_seed(seed)
    farthest = [torch.zeros_like(exact) for exact in expected]
    for _ in range(RUNS):
        near = {name: _near(value, generator) for name, value in values.items()}
        try:
            found = gradients(near, None)
        except Exception:
            return farthest
        exact = gradients(near, torch.float64)
        for far, own, right in zip(farthest, found, exact, strict=True):
            distance = (own.to(torch.float64) - right).abs().nan_to_num(nan=0.0, posinf=0.0)
            torch.maximum(far, distance, out=far)
    return [MARGIN * far for far in farthest]


def _near(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The value with its floats changed by up to a unit in the last place."""
    if not value.dtype.is_floating_point:
        return value
    unit = torch.finfo(value.dtype).eps
    noise = torch.rand(value.shape, generator=generator, dtype=torch.float64).to(value.device)
    return (value.to(torch.float64) * (1 + unit * (2 * noise - 1))).to(value.dtype)


@cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's operations as others that are simpler; it makes the table anew at each call."""
    from torch._decomp import core_aten_decompositions

    return dict(core_aten_decompositions())


class _Rounded(TorchDispatchMode):
    """Inside a ``with``, what operations give is off by up to ``unit``, relative to it."""

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
            args = tree_map_only(torch.Tensor, self._moved, args)
        result = function(*args, **kwargs)
        rounds = name in ROUNDING
        return tree_map_only(torch.Tensor, self._moved, result) if rounds else result

    def _moved(self, exact: torch.Tensor) -> torch.Tensor:
        if not exact.is_floating_point():
            return exact
        # On the device of the numbers: the CPU takes minutes to draw as many as a GPU computes in a second.
        generator = self.generators.get(exact.device)
        if generator is None:
            generator = self.generators[exact.device] = torch.Generator(exact.device).manual_seed(self.seed)
        noise = torch.rand(exact.shape, generator=generator, dtype=exact.dtype, device=exact.device)
        return exact * (1 + self.unit * (2 * noise - 1))
