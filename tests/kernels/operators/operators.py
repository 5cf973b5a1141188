"""Operators made of kernels, on Triton's interpreter. Inputs are drawn from SEED."""

import unittest
import warnings

import affine
import doubled
import layer_norm
import rectified
import rms_norm
import scale
import torch
import triton
from torch._subclasses import FakeTensorMode
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

    def test_opcheck_of_gradients(self):
        x, weight, above = torch.randn(5, 37), torch.randn(37), torch.randn(5, 37)
        made = torch.ops.tilescript
        opcheck(made.scale_backward, (above, x, weight, True, True))
        opcheck(made.affine_backward, (above, x, weight, True, False, True))
        opcheck(made.rectified_backward, (above.T.contiguous().T, x, weight))
        mean, rstd = x.mean(1), torch.ones(5)
        opcheck(made.layer_norm_backward, (above, x.T.contiguous().T, weight, mean, rstd, True, False))
        opcheck(made.rms_norm_backward, (above, x[:, :1].expand(5, 37), weight, rstd, True))

    def test_a_traced_call_is_refused_as_a_real_one(self):
        x, weight, above = torch.randn(5, 37), torch.randn(37), torch.randn(5, 37)
        made = torch.ops.tilescript
        wrong = (
            (made.scale, (x, weight[1:]), ValueError, r"x and weight must have shapes .* got .*\(\[5, 37\]\) and .*\(\[36\]\)"),
            (made.scale, (x[0], weight), ValueError, r"x and weight must have shapes .* got .*\(\[37\]\) and .*\(\[37\]\)"),
            (made.scale, (x, weight.half()), TypeError, "needs one dtype of .* got {'x': .*'weight': torch.float16}"),
            (made.scale, (x.double(), weight.double()), TypeError, "needs one dtype of .*'x': torch.float64"),
            (made.affine, (x, weight[1:], weight), ValueError, "x and weight must have shapes"),
            (made.doubled, (x,), ValueError, r"x and total must have shape \[N\]"),
            (made.doubled, (weight.half(),), TypeError, "needs one dtype of .* got .*torch.float16"),
            (made.rms_norm, (x, weight.half()), TypeError, "needs one dtype of .*'weight': torch.float16"),
            (made.scale_backward, (above[1:], x, weight[1:], True, True), ValueError, "x and weight must have shapes"),
            (made.scale_backward, (above.half(), x, weight, True, True), TypeError, "needs one dtype of .*'weight': torch.float32"),
            (made.rectified_backward, (above, x[1:], weight), ValueError, "x and by must have shape|must have shape"),
        )
        for operator, arguments, error, message in wrong:
            with self.assertRaisesRegex(error, message) as real:
                operator(*arguments)
            with self.assertRaises(error) as faked, FakeTensorMode() as mode:
                operator(*(mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments))
            with self.assertRaises(error) as on_meta:
                operator(*(each.to("meta") if isinstance(each, torch.Tensor) else each for each in arguments))
            self.assertEqual(str(faked.exception), str(real.exception))
            self.assertEqual(str(on_meta.exception), str(real.exception))

    def test_a_fake_is_laid_out_as_the_real_result(self):
        def described(results):
            results = results if isinstance(results, tuple) else (results,)
            return [(each.shape, each.stride(), each.dtype) for each in results]

        made, weight = torch.ops.tilescript, torch.randn(37)
        layouts = (
            torch.randn(5, 37),
            torch.randn(37, 5).T,
            torch.randn(5, 74)[:, ::2],
            torch.randn(5, 1).expand(5, 37),
            torch.randn(0, 37),
        )
        for x in layouts:
            calls = (
                (made.scale, (x, weight)),
                (made.affine, (x, weight, weight)),
                (made.rectified, (x, weight)),
                (made.doubled, (x[:, 3],)),
                (made.scale_backward, (x, x, weight, True, True)),
                (made.affine_backward, (x, x, weight, True, False, True)),
                (made.rectified_backward, (x, x, weight)),
            )
            for operator, arguments in calls:
                with self.subTest(str(operator), shape=x.shape, strides=x.stride()):
                    real = described(operator(*arguments))
                    with FakeTensorMode() as mode:
                        tensors = [mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments]
                        self.assertEqual(described(operator(*tensors)), real)

    def test_schemas(self):
        schemas = [str(getattr(torch.ops.tilescript, name).default._schema) for name in ("affine", "affine_backward")]
        self.assertEqual(
            schemas,
            [
                "tilescript::affine(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
                "tilescript::affine_backward(Tensor grad_y, Tensor? x, Tensor? weight, bool needs_x, "
                "bool needs_weight, bool needs_bias) -> (Tensor, Tensor, Tensor)",
            ],
        )

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
        with raising(layer_norm, "_column_sums"):
            y = layer_norm.layer_norm(x, weight.detach(), bias.detach())
            torch.autograd.grad(y.sum(), x)
            with self.assertRaisesRegex(AssertionError, "_column_sums was called"):
                torch.autograd.grad(layer_norm.layer_norm(x, weight.detach(), bias).sum(), x)
        y = affine.affine(x.detach(), weight, bias.detach())
        with raising(affine, "_scaled"):
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

    def test_derivatives_of_a_gradient(self):
        inputs = leaves((5, 37), (37,))
        got = torch.autograd.grad(scale.scale(*inputs).sum(), inputs, create_graph=True)
        # The gradient has none of its own, and says so rather than give zeros.
        with self.assertRaisesRegex(RuntimeError, "tilescript.scale_backward.* no autograd formula was registered"):
            got[0].sum().backward()

    def test_transforms(self):
        x, weight = (leaf.detach() for leaf in leaves((4, 5, 37), (37,)))
        with warnings.catch_warnings():
            # PyTorch calls the operator for each part of the batch, and says that this is slow.
            warnings.filterwarnings("ignore", "There is a performance drop")
            got = torch.vmap(lambda x: scale.scale(x, weight))(x)
        self.assertTrue(torch.equal(got, torch.stack([scale.scale(each, weight) for each in x])))
        # PyTorch takes no operator with a gradient here, and says so rather than give zeros.
        for transform in (torch.func.grad, torch.func.jacrev):
            with self.assertRaisesRegex(RuntimeError, "autograd.Function with functorch transforms"):
                transform(lambda x: scale.scale(x, weight).sum())(x[0])

    def test_export(self):
        class Model(torch.nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            def forward(self, x, weight):
                return self.module.kernel_fn(x * 2, weight) + 1

        rows = torch.export.Dim("rows", min=2)
        for module in (scale, rms_norm):
            x, weight = (leaf.detach() for leaf in leaves((5, 37), (37,)))
            model = Model(module)
            exported = torch.export.export(model, (x, weight), dynamic_shapes=({0: rows}, None))
            targets = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
            self.assertIn(f"tilescript.{module.__name__}.default", targets)
            for count in (5, 8):
                x = torch.randn(count, 37)
                self.assertTrue(torch.equal(exported.module()(x, weight), model(x, weight)))
            with self.assertRaisesRegex(Exception, "must have shapes"):
                torch.export.export(model, (x, weight[1:]))

    def test_compiled_for_any_size(self):
        for module in (scale, affine, rms_norm, layer_norm):
            count = 3 if module in (affine, layer_norm) else 2

            def loss(x, *others, module=module):
                return module.kernel_fn(x * 2, *others).square().sum()

            for dynamic in (True, False):
                torch.compiler.reset()
                compiled = torch.compile(loss, fullgraph=True, dynamic=dynamic, backend="aot_eager")
                for rows, columns in ((5, 37), (6, 20)):
                    inputs = leaves((rows, columns), (columns,), (columns,))[:count]
                    got = torch.autograd.grad(compiled(*inputs), inputs)
                    for value, eager in zip(got, torch.autograd.grad(loss(*inputs), inputs), strict=True):
                        self.assertTrue(torch.equal(value, eager), (module.__name__, dynamic))

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
