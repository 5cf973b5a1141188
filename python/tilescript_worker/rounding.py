"""How far rounding alone may move a gradient.

Some gradients are small differences of large terms: that of a layer norm over one element is 0, and what rounding
leaves of it is multiplied by 1/sqrt(eps). No fixed tolerance fits those, and no last bit of an input shows them. So the
reference is differentiated again in float64 with each operation off by up to a unit in the last place of the dtype that
kernels compute in, a few times, at random: Monte Carlo arithmetic (D. S. Parker, "Monte Carlo Arithmetic: exploiting
randomness in floating-point arithmetic", UCLA CSD-970002, 1997).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

RUNS = 8
# A kernel adds in another order and by other formulas than PyTorch.
MARGIN = 2
# Operations of PyTorch that round. What moves or chooses elements does not, nor does one that is unknown here.
ROUNDING = frozenset(
    """
    add addcdiv addcmul addmm baddbmm bmm convolution cos cumsum div erf exp exp2 expm1 log log1p log2 logsumexp mean mm
    mul native_group_norm native_layer_norm pow prod reciprocal rsqrt rsub sigmoid sin sqrt sub sum tanh var var_mean
    _log_softmax _softmax
    """.split()
)


def reach(
    gradients: Callable[[], list[torch.Tensor]], expected: list[torch.Tensor], dtype: torch.dtype, seed: int
) -> list[torch.Tensor]:
    """How far rounding to ``dtype`` moves each element of what ``gradients`` computes, from ``expected``: [0, inf)."""
    farthest = [torch.zeros_like(exact) for exact in expected]
    for run in range(RUNS):
        with _Rounded(dtype, seed + run):
            found = gradients()
        for far, exact, moved in zip(farthest, expected, found, strict=True):
            # Where it moves to an infinity or NaN, the error is unknown.
            distance = (moved - exact).abs().nan_to_num(nan=0.0, posinf=0.0)
            torch.maximum(far, distance, out=far)
    return [MARGIN * far for far in farthest]


class _Rounded(TorchDispatchMode):
    """Inside a ``with``, what operations give is off by up to a unit in the last place of ``dtype``."""

    def __init__(self, dtype: torch.dtype, seed: int) -> None:
        super().__init__()
        from torch._decomp import core_aten_decompositions

        self.steps = core_aten_decompositions()
        self.unit = torch.finfo(dtype).eps
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in self.steps:
            with self:
                return self.steps[function](*args, **kwargs)
        result = function(*args, **kwargs)
        rounds = function.overloadpacket.__name__ in ROUNDING
        return tree_map_only(torch.Tensor, self._moved, result) if rounds else result

    def _moved(self, exact: torch.Tensor) -> torch.Tensor:
        if not exact.is_floating_point():
            return exact
        noise = torch.rand(exact.shape, generator=self.generator, dtype=exact.dtype).to(exact.device)
        return exact * (1 + self.unit * (2 * noise - 1))
