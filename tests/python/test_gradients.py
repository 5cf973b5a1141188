"""Gradients of attention that rounds on the way, as kernels do: right ones pass, and mistakes do not.

Rows of a causal gradient differ in magnitude: all queries see the first key, and one sees the last. And where one
weight of a row is nearly 1, the row's gradient is a small difference of large terms.
"""

import itertools
import math
import unittest
from types import ModuleType
from typing import Any

import torch

from tilescript_worker.device import Device
from tilescript_worker.gradients import compare_gradients
from tilescript_worker.inputs import Guarded
from tilescript_worker.kernel_file import tolerance_of_sum
from tilescript_worker.tolerances import UNIT_ROUNDOFF, UNITS

NAMES = ("q", "k", "v")
DTYPES = (torch.float16, torch.bfloat16)
DEVICE = Device("interpreter", "cpu")


def hidden(rows: int) -> torch.Tensor:
    return ~torch.ones(rows, rows, dtype=torch.bool).tril()


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def kernel(mistake: str) -> Any:
    """Causal attention that computes in float32 and rounds weights, scores' gradients and results to its dtype."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            scores = (q.float() @ k.float().mT / math.sqrt(q.shape[-1])).masked_fill(hidden(q.shape[-2]), -math.inf)
            weights = torch.exp(scores - scores.amax(-1, keepdim=True))
            o = (weights.to(v.dtype).float() @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)
            ctx.save_for_backward(q, k, v, o, scores.logsumexp(-1, keepdim=True), scores)
            return o

        @staticmethod
        def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor, ...]:
            q, k, v, o, lse, scores = ctx.saved_tensors
            scale = 1.0 if mistake == "scale" else 1 / math.sqrt(q.shape[-1])
            weights = torch.exp(scores - lse)
            delta = (o.float() * above.float()).sum(-1, keepdim=True)
            change = above.float() @ (k if mistake == "operand" else v).float().mT
            ds = (weights * (change if mistake == "delta" else change - delta)).to(q.dtype).float()
            found = [
                (ds @ k.float()) * scale,
                (ds.mT @ q.float()) * scale,
                weights.to(q.dtype).float().mT @ above.float(),
            ]
            for grad in found:
                if mistake == "tenth":
                    grad += 0.1 * grad.square().mean().sqrt()
                if mistake == "row":
                    grad[:, grad.shape[1] // 2] = 0
            return tuple(grad.to(q.dtype) for grad in found)

    def kernel_fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return Attention.apply(q, k, v)

    return kernel_fn


def wrong(dtype: torch.dtype, rows: int, width: int, seed: int, mistake: str = "") -> dict[str, int]:
    generator = torch.Generator().manual_seed(seed)
    values = {name: torch.randn((2, rows, width), generator=generator).to(dtype) for name in NAMES}
    guarded = {
        name: Guarded.from_spec(
            {"shape": list(value.shape), "layout": "contiguous", "dtype": str(dtype)[6:]}, DEVICE.torch, value, place
        )
        for place, (name, value) in enumerate(values.items())
    }
    module = ModuleType("attention")
    module.kernel_fn, module.reference_fn = kernel(mistake), attention  # type: ignore[attr-defined]
    unit = UNIT_ROUNDOFF[dtype]
    tolerance = tolerance_of_sum(dtype, 2 * rows, UNITS * unit, None, None)
    request = {
        "gradients": list(NAMES),
        "arguments": {},
        "tolerances": {f"{name}.grad": tolerance for name in NAMES},
        "roundingUnit": unit,
        "seed": seed,
    }
    return {each["output"]: each["wrong"] for each in compare_gradients(module, guarded, values, request, DEVICE)}


SIZES = {(7, 16): 2, (60, 16): 3, (150, 32): 1}


class Gradients(unittest.TestCase):
    def test_right_ones_pass_whatever_the_magnitude_of_their_rows(self) -> None:
        for dtype, ((rows, width), seeds) in itertools.product(DTYPES, SIZES.items()):
            for seed in range(seeds):
                with self.subTest(dtype=dtype, rows=rows, seed=seed):
                    self.assertEqual(wrong(dtype, rows, width, seed), {"q.grad": 0, "k.grad": 0, "v.grad": 0})

    def test_mistakes_fail(self) -> None:
        of = {
            "tenth": {"q.grad", "k.grad", "v.grad"},
            "row": {"q.grad", "k.grad", "v.grad"},
            "scale": {"q.grad", "k.grad"},
            "operand": {"q.grad", "k.grad"},
            "delta": {"q.grad", "k.grad"},
        }
        for dtype, (mistake, gradients) in itertools.product(DTYPES, of.items()):
            with self.subTest(dtype=dtype, mistake=mistake):
                found = wrong(dtype, 60, 16, 1, mistake)
                self.assertEqual({name for name, count in found.items() if count}, gradients)


if __name__ == "__main__":
    unittest.main()
