"""Operators made of kernels, on Triton's interpreter. Inputs are drawn from SEED."""

import unittest

import doubled
import layer_norm
import scale
import torch
from torch.library import opcheck

SEED = 3
layer_norm.layer_norm_forward_kernel.configs = layer_norm.layer_norm_forward_kernel.configs[:1]
layer_norm.layer_norm_gradients_kernel.configs = layer_norm.layer_norm_gradients_kernel.configs[:1]


def leaves(*shapes):
    torch.manual_seed(SEED)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


class Operators(unittest.TestCase):
    def test_opcheck(self):
        opcheck(torch.ops.tilescript.scale, leaves((5, 37), (37,)))
        opcheck(torch.ops.tilescript.doubled, (torch.randn(70),))
        opcheck(torch.ops.tilescript.layer_norm, leaves((5, 37), (37,), (37,)))

    def test_gradients(self):
        for module, shapes in ((scale, ((5, 37), (37,))), (layer_norm, ((300, 37), (37,), (37,)))):
            inputs = leaves(*shapes)
            # Transposed, as a linear layer may give it.
            above = torch.randn(shapes[0][::-1]).T
            got = torch.autograd.grad(module.kernel_fn(*inputs), inputs, above)
            wide = [x.detach().double().requires_grad_() for x in inputs]
            expected = torch.autograd.grad(module.reference_fn(*wide), wide, above.double())
            for value, right in zip(got, expected, strict=True):
                torch.testing.assert_close(value.double(), right, rtol=1e-5, atol=3e-5)

    def test_a_gradient_that_is_expanded(self):
        inputs = leaves((5, 37), (37,))
        got = torch.autograd.grad(scale.kernel_fn(*inputs).sum(), inputs)
        expected = torch.autograd.grad(scale.reference_fn(*inputs).sum(), inputs)
        torch.testing.assert_close(got, expected)

    def test_compiled_is_eager(self):
        def loss(x, weight, bias):
            return layer_norm.layer_norm(x * 2, weight, bias).square().sum()

        inputs = leaves((5, 37), (37,), (37,))
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        got = torch.autograd.grad(compiled(*inputs), inputs)
        for value, eager in zip(got, torch.autograd.grad(loss(*inputs), inputs), strict=True):
            self.assertTrue(torch.equal(value, eager))


if __name__ == "__main__":
    unittest.main()
