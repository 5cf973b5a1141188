"""Operators made of kernels, on Triton's interpreter. Inputs are drawn from SEED."""

import unittest

import affine
import doubled
import layer_norm
import rectified
import rms_norm
import scale
import torch
import triton
from torch.library import opcheck

SEED = 3
for module in (layer_norm, rms_norm):
    for value in vars(module).values():
        if isinstance(value, triton.runtime.Autotuner):
            value.configs = value.configs[:1]

DIFFERENTIABLE = (
    (scale, ((5, 37), (37,))),
    (affine, ((5, 37), (37,), (37,))),
    (layer_norm, ((300, 37), (37,), (37,))),
    (rms_norm, ((300, 37), (37,))),
)


class raising:
    """Has a function of a module refuse to be called."""

    def __init__(self, module, name):
        self.module, self.name, self.function = module, name, getattr(module, name)

    def __enter__(self):
        setattr(self.module, self.name, self)

    def __exit__(self, *_):
        setattr(self.module, self.name, self.function)

    def __call__(self, *_):
        raise AssertionError(f"{self.name} was called")


def leaves(*shapes):
    torch.manual_seed(SEED)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


class Operators(unittest.TestCase):
    def test_opcheck(self):
        opcheck(torch.ops.tilescript.scale, leaves((5, 37), (37,)))
        opcheck(torch.ops.tilescript.doubled, (torch.randn(70),))
        opcheck(torch.ops.tilescript.affine, leaves((5, 37), (37,), (37,)))
        opcheck(torch.ops.tilescript.layer_norm, leaves((5, 37), (37,), (37,)))
        opcheck(torch.ops.tilescript.rms_norm, leaves((5, 37), (37,)))

    def test_opcheck_of_what_writes_given_tensors(self):
        x, weight, bias = (leaf.detach() for leaf in leaves((5, 37), (37,), (37,)))
        made = torch.ops.tilescript
        opcheck(made.scale_out, (x, weight, torch.empty(5, 37)))
        opcheck(made.affine_out, (x, weight, torch.empty(5, 37), bias))
        opcheck(made.doubled_out, (x[0], torch.empty(37), torch.empty(37)))
        opcheck(made.layer_norm_out, (x, weight, bias, torch.empty(5, 37)))
        opcheck(made.rms_norm_out, (x, weight, torch.empty(37, 5).T))

    def test_schemas(self):
        schemas = [
            str(getattr(torch.ops.tilescript, name).default._schema)
            for name in ("affine_out", "doubled_out", "affine_backward")
        ]
        self.assertEqual(
            schemas,
            [
                "tilescript::affine_out(Tensor x, Tensor weight, Tensor(a2!) out, Tensor? bias=None) -> ()",
                "tilescript::doubled_out(Tensor x, Tensor(a1!) before, Tensor(a2!) after) -> ()",
                "tilescript::affine_backward(Tensor grad_y, Tensor? x, Tensor? weight, bool needs_x, "
                "bool needs_weight, bool needs_bias) -> (Tensor, Tensor, Tensor)",
            ],
        )

    def test_out(self):
        for module, shapes in ((*DIFFERENTIABLE, (doubled, ((70,),)))):
            inputs = [leaf.detach() for leaf in leaves(*shapes)]
            expected = module.kernel_fn(*inputs)
            results = expected if isinstance(expected, tuple) else (expected,)
            # Every second element of what is given.
            given = [torch.full((*each.shape, 2), -1.0)[..., 0] for each in results]
            names = ["out"] if len(results) == 1 else ["before", "after"]
            got = module.kernel_fn(*inputs, **dict(zip(names, given, strict=True)))
            got = got if isinstance(got, tuple) else (got,)
            for value, out, right in zip(got, given, results, strict=True):
                self.assertIs(value, out)
                self.assertTrue(torch.equal(out, right), module.__name__)
        x = torch.randn(70)
        before, after = doubled.doubled(x, after=(out := torch.empty(70)))
        self.assertIs(after, out)
        self.assertTrue(torch.equal(before, x + 1) and torch.equal(after, x * 2))

    def test_what_cannot_be_written(self):
        x, weight, bias = leaves((5, 37), (37,), (37,))
        with self.assertRaisesRegex(RuntimeError, "layer_norm: a result that is written to a given tensor has no"):
            layer_norm.layer_norm(x, weight, bias, out=torch.empty(5, 37))
        with torch.no_grad():
            layer_norm.layer_norm(x, weight, bias, out=torch.empty(5, 37))
            wrong = (
                (torch.empty(5, 36), ValueError, r"layer_norm: out must have shape \[5, 37\], got \[5, 36\]"),
                (torch.empty(5, 37).half(), TypeError, "layer_norm: out must be torch.float32, got torch.float16"),
                (x.detach(), ValueError, "layer_norm: out shares memory with x; give a tensor of its own"),
            )
            for out, error, message in wrong:
                with self.assertRaisesRegex(error, message):
                    layer_norm.layer_norm(x, weight, bias, out=out)
                with self.assertRaisesRegex(error, message):
                    torch.ops.tilescript.layer_norm_out(x, weight, bias, out)
            with self.assertRaisesRegex(ValueError, r"layer_norm: weight must have shape \[N=37\], got \[5\]"):
                layer_norm.layer_norm(x, torch.ones(5), bias, out=torch.empty(5, 37))
            y = torch.empty(37)
            with self.assertRaisesRegex(ValueError, "doubled: after shares memory with before"):
                doubled.doubled(torch.randn(37), before=y, after=y)

    def test_out_under_compile(self):
        def call(x, weight, bias):
            y = torch.empty_like(x)
            layer_norm.layer_norm(x * 2, weight, bias, out=y)
            return y + 1

        inputs = [leaf.detach() for leaf in leaves((5, 37), (37,), (37,))]
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        self.assertTrue(torch.equal(compiled(*inputs), call(*inputs)))

    def test_only_what_is_needed_is_kept(self):
        def kept(call, *inputs):
            seen = []
            with torch.autograd.graph.saved_tensors_hooks(lambda x: seen.append(x.data_ptr()) or x, lambda x: x):
                call(*inputs)
            return [i for i, each in enumerate(inputs) if each.data_ptr() in seen]

        x, weight, bias = leaves((5, 37), (37,), (37,))
        self.assertEqual(kept(affine.affine, x, weight, bias), [0, 1])
        self.assertEqual(kept(affine.affine, x, weight.detach(), bias.detach()), [1])
        self.assertEqual(kept(affine.affine, x.detach(), weight, bias.detach()), [0])
        self.assertEqual(kept(scale.scale, x, weight.detach()), [1])
        self.assertEqual(kept(scale.scale, x.detach(), weight), [0])
        # One kernel makes all its gradients.
        self.assertEqual(kept(layer_norm.layer_norm, x, weight.detach(), bias.detach()), [0, 1])

    def test_some_gradients_alone_under_compile(self):
        for module in (affine, scale):
            count = 3 if module is affine else 2
            for chosen in range(1, 2**count):
                torch.compiler.reset()
                shapes = ((5, 37), (37,), (37,))[:count]
                some = [x.detach().requires_grad_(bool(chosen >> i & 1)) for i, x in enumerate(leaves(*shapes))]
                wanted = [x for x in some if x.requires_grad]

                def loss(*inputs, module=module):
                    return module.kernel_fn(*inputs).square().sum()

                compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
                got = torch.autograd.grad(compiled(*some), wanted)
                for value, right in zip(got, torch.autograd.grad(loss(*some), wanted), strict=True):
                    self.assertTrue(torch.equal(value, right), (module.__name__, chosen))

    def test_gradients(self):
        for module, shapes in DIFFERENTIABLE:
            inputs = leaves(*shapes)
            # Transposed, as a linear layer may give it.
            above = torch.randn(shapes[0][::-1]).T
            got = torch.autograd.grad(module.kernel_fn(*inputs), inputs, above)
            wide = [x.detach().double().requires_grad_() for x in inputs]
            expected = torch.autograd.grad(module.reference_fn(*wide), wide, above.double())
            for value, right in zip(got, expected, strict=True):
                torch.testing.assert_close(value.double(), right, rtol=1e-5, atol=3e-5)

    def test_some_gradients_alone(self):
        for module, (_, *others) in DIFFERENTIABLE:
            inputs = leaves((5, 37), *others)
            above = torch.randn(5, 37)
            every = torch.autograd.grad(module.kernel_fn(*inputs), inputs, above)
            for chosen in range(1, 2 ** len(inputs) - 1):
                wanted = [i for i in range(len(inputs)) if chosen >> i & 1]
                some = [x.detach().requires_grad_(i in wanted) for i, x in enumerate(inputs)]
                got = torch.autograd.grad(module.kernel_fn(*some), [some[i] for i in wanted], above)
                for i, value in zip(wanted, got, strict=True):
                    self.assertTrue(torch.equal(value, every[i]), (module.__name__, wanted))

    def test_what_nobody_asks_for_is_left_out(self):
        x, weight, bias = leaves((5, 37), (37,), (37,))
        with raising(layer_norm, "column_sums"):
            y = layer_norm.layer_norm(x, weight.detach(), bias.detach())
            torch.autograd.grad(y.sum(), x)
            with self.assertRaisesRegex(AssertionError, "column_sums was called"):
                torch.autograd.grad(layer_norm.layer_norm(x, weight.detach(), bias).sum(), x)
        y = affine.affine(x.detach(), weight, bias.detach())
        with raising(affine, "scaled"):
            torch.autograd.grad(y.sum(), weight)
        grad_x, grad_weight = torch.ops.tilescript.rms_norm_backward(
            torch.randn(5, 37), x.detach(), weight.detach(), torch.ones(5), False
        )
        self.assertEqual((grad_x.shape, grad_weight.numel()), ((5, 37), 0))

    def test_an_input_that_is_left_out(self):
        x, weight, bias = leaves((5, 37), (37,), (37,))
        got = torch.autograd.grad(affine.affine(x, weight).sum(), (x, weight))
        expected = torch.autograd.grad((x * weight).sum(), (x, weight))
        torch.testing.assert_close(got, expected)
        opcheck(torch.ops.tilescript.affine, (x, weight))
        (got,) = torch.autograd.grad(affine.affine(x, weight, bias).sum(), bias)
        torch.testing.assert_close(got, torch.full((37,), 5.0))

    def test_a_frozen_weight_under_compile(self):
        def loss(x, weight):
            return rms_norm.rms_norm(x * 2, weight).square().sum()

        x, weight = leaves((5, 37), (37,))
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        (got,) = torch.autograd.grad(compiled(x, weight.detach()), x)
        (eager,) = torch.autograd.grad(loss(x, weight), x)
        self.assertTrue(torch.equal(got, eager))

    def test_a_gradient_that_is_expanded(self):
        inputs = leaves((5, 37), (37,))
        got = torch.autograd.grad(scale.kernel_fn(*inputs).sum(), inputs)
        expected = torch.autograd.grad(scale.reference_fn(*inputs).sum(), inputs)
        torch.testing.assert_close(got, expected)

    def test_a_gradient_that_nobody_wrote(self):
        x, weight = leaves((5, 37), (37,))
        for inputs in ((x, weight), (x.detach(), weight)):
            with self.assertRaisesRegex(RuntimeError, r"rectified has no gradient of weight; call it with weight\.detach"):
                rectified.rectified(*inputs).sum().backward()
        self.assertIsNone(weight.grad)
        rectified.rectified(x, weight.detach()).sum().backward()
        torch.testing.assert_close(x.grad, ((x * weight) > 0) * weight)

    def test_inputs_may_lie_as_they_like(self):
        (x,), weight = leaves((37, 5)), torch.randn(37)
        for by in (torch.randn(37, 5).T, torch.randn(5, 1).expand(5, 37), torch.randn(5, 74)[:, ::2]):
            x.grad = None
            rectified.rectified(x.T, weight).backward(by)
            torch.testing.assert_close(x.grad, (((x.T * weight) > 0) * weight * by).T)

    def test_no_tangent_is_dropped(self):
        x, weight = (leaf.detach() for leaf in leaves((5, 37), (37,)))
        for module in (scale, rectified):
            with self.assertRaisesRegex(NotImplementedError, f"{module.__name__} has no forward-mode gradient"):
                torch.func.jvp(lambda x, m=module: m.kernel_fn(x, weight), (x,), (x,))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, x)
            with self.assertRaisesRegex(NotImplementedError, "scale has no forward-mode gradient"):
                scale.scale(dual, weight)
            self.assertEqual(scale.scale(x, weight).shape, (5, 37))

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
