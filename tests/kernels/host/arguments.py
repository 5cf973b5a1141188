"""What wrappers say of single arguments: tensors of every kind, numbers, gradients; on Triton's interpreter."""

import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import accumulate
import copied
import doubled
import kept
import numbers_ as numbers
import numpy
import places
import rounded
import torch
import torch.autograd.forward_ad as forward_ad
from torch._subclasses import FakeTensor, FakeTensorMode


class Wrapping(torch.Tensor):
    """A tensor whose values are in another one, as those of torchao and of DTensor are."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError(function)


class Named(torch.Tensor):
    """A subclass with memory of its own."""


class Tensors(unittest.TestCase):
    x = torch.randn(20)

    def refuses(self, error, message, call, *args, **kwargs):
        with self.assertRaises(error) as raised:
            call(*args, **kwargs)
        self.assertEqual(str(raised.exception), message)

    def test_views_whose_signs_are_flipped_lazily(self):
        flipped = torch.complex(self.x, self.x).conj().imag
        self.assertTrue(flipped.is_neg())
        for lazy in (flipped, torch._neg_view(self.x)):
            message = "numbers: x is lazily negated; call .resolve_neg()"
            self.refuses(ValueError, message, numbers.kernel_fn, lazy)
            torch.testing.assert_close(numbers.kernel_fn(lazy.resolve_neg()), lazy)
            message = "doubled: bias is lazily negated; call .resolve_neg()"
            self.refuses(ValueError, message, doubled.kernel_fn, self.x, lazy)
            message = "numbers: out is lazily negated; call .resolve_neg()"
            self.refuses(ValueError, message, numbers.kernel_fn, self.x, out=lazy)
            message = "accumulate: y is lazily negated; call .resolve_neg()"
            self.refuses(ValueError, message, accumulate.kernel_fn, self.x, lazy)
            message = "copied: from_ is lazily negated; call .resolve_neg()"
            self.refuses(ValueError, message, copied.kernel_fn, lazy, self.x)

    def test_what_is_no_dense_tensor(self):
        square = torch.eye(20)
        cases = [
            # PyTorch's own words.
            (None, "no attribute 'ndim'"),
            ([1.0, 2.0], "no attribute '(ndim|shape)'"),
            (2.0, "no attribute '(ndim|shape)'"),
            (numpy.zeros(20, numpy.float32), r"no attribute|got .*dtype\('float32'\)"),
            (self.x.to_sparse(), "must be a dense tensor|[Ss]parse|storage|share memory"),
            (square.to_sparse_csr(), "must have shape|must be a dense tensor|sparse"),
            (square.to_mkldnn(), "must have shape"),
            (Wrapping(self.x), f"aten.new_empty|: (x|bias|out) must be a plain tensor, got {Wrapping}"),
            (FakeTensorMode().from_tensor(self.x), f": (x|bias|out) must be a plain tensor, got {FakeTensor}"),
        ]
        errors = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)
        for given, message in cases:
            calls = [lambda given=given: numbers.kernel_fn(given)]
            if given is not None:
                calls.append(lambda given=given: doubled.kernel_fn(self.x, given))
                calls.append(lambda given=given: numbers.kernel_fn(self.x, out=given))
            for call in calls:
                with self.subTest(message), self.assertRaisesRegex(errors, message):
                    call()

    def test_where_results_cannot_be_written(self):
        message = "numbers: needs one GPU, or TRITON_INTERPRET=1, got out on meta"
        self.refuses(ValueError, message, numbers.kernel_fn, self.x, out=torch.empty(20, device="meta"))
        message = "numbers: out has elements that share memory"
        self.refuses(ValueError, message, numbers.kernel_fn, self.x, out=torch.empty(1).expand(20))
        found = {"out": torch.float16}
        message = f"numbers: needs one dtype of (torch.float32,), got {found}"
        self.refuses(TypeError, message, numbers.kernel_fn, self.x, out=torch.empty(20).half())

    def test_sparse_tensors(self):
        message = "numbers: x must be a dense tensor, got torch.sparse_coo"
        self.refuses(TypeError, message, numbers.kernel_fn, self.x.to_sparse())

    def test_what_no_gpu_can_read(self):
        message = "numbers: needs one GPU, or TRITON_INTERPRET=1, got x on meta"
        self.refuses(ValueError, message, numbers.kernel_fn, torch.empty(20, device="meta"))

    def test_offsets_that_do_not_fit_int32(self):
        limit = 2**31 - 2**20
        with tempfile.NamedTemporaryFile() as file:
            # Pages of a sparse file that nothing touches take no memory.
            memory = torch.from_file(file.name, shared=True, size=limit + 1)
            numbers.kernel_fn(memory[:: limit - 1])
            message = "numbers: x spans more than int32 offsets reach"
            self.refuses(ValueError, message, numbers.kernel_fn, memory[::limit])

    def test_what_no_check_of_dtypes_passes(self):
        quantized = torch.quantize_per_tensor(self.x, 0.1, 0, torch.quint8)
        for given in (quantized, torch.complex(self.x, self.x).conj()):
            with self.assertRaisesRegex(TypeError, "numbers: needs one dtype of"):
                numbers.kernel_fn(given)

    def test_transforms_of_functions_are_refused(self):
        for transform in (torch.vmap, lambda f: torch.func.jacfwd(f), lambda f: torch.func.grad(f)):
            with self.assertRaises((RuntimeError, NotImplementedError)):
                transform(lambda x: numbers.kernel_fn(x.view(-1)).sum())(torch.randn(20, 1))

    def test_subclasses_and_parameters_with_memory_pass(self):
        for given in (Named(self.x), torch.nn.Parameter(self.x), torch.nn.Buffer(self.x), self.x.flip(0)[::2]):
            with torch.no_grad():
                torch.testing.assert_close(numbers.kernel_fn(given).as_subclass(torch.Tensor), given.data + 0)

    def test_inference_tensors_pass(self):
        with torch.inference_mode():
            x, y = torch.randn(20), torch.zeros(20)
            accumulate.kernel_fn(x, y)
        accumulate.kernel_fn(x, y)
        torch.testing.assert_close(y, 2 * x)
        torch.testing.assert_close(doubled.kernel_fn(torch.ones(20), x)[0], 2 + x)


class Numbers(unittest.TestCase):
    x = torch.zeros(3)

    def sum(self, **given):
        return numbers.kernel_fn(self.x, **given).tolist()

    def test_what_fits(self):
        for name, values in {
            "i8": [-128, 127],
            "u8": [0, 255],
            "i32": [-(2**31), 2**31 - 1],
            "i64": [-(2**63), 2**63 - 1],
            "u64": [0, 2**62],
            "f16": [65504.0, -0.5, 1, float("inf")],
            "f32": [3.4028234663852886e38, numpy.float64(1.5), -2],
            "f64": [1e30, numpy.float64(2.5)],
            "flag": [True, False],
        }.items():
            for value in values:
                with self.subTest(name, value=value):
                    expected = torch.tensor([float(value)] * 3).tolist()
                    self.assertEqual(self.sum(**{name: value}), expected)
        for name in ("f16", "f32", "f64"):
            self.assertTrue(torch.tensor(self.sum(**{name: float("nan")})).isnan().all())

    def test_what_does_not_fit(self):
        for name, value, least, most in [
            ("i8", 128, -128, 127),
            ("i8", -129, -128, 127),
            ("u8", -1, 0, 255),
            ("u8", 256, 0, 255),
            ("i32", 2**40, -(2**31), 2**31 - 1),
            ("i64", 2**63, -(2**63), 2**63 - 1),
            ("u64", -1, 0, 2**64 - 1),
        ]:
            with self.subTest(name, value=value), self.assertRaises(ValueError) as raised:
                self.sum(**{name: value})
            self.assertEqual(str(raised.exception), f"numbers: {name} must be from {least} to {most}, got {value}")
        for name, value, dtype in [
            ("f16", 65520.0, "float16"),
            ("f16", -70000, "float16"),
            ("f32", 1e39, "float32"),
            ("f32", 3.4028235677973366e38, "float32"),
        ]:
            with self.subTest(name, value=value), self.assertRaises(ValueError) as raised:
                self.sum(**{name: value})
            self.assertEqual(str(raised.exception), f"numbers: {name} must fit torch.{dtype}, got {value}")

    def test_other_types(self):
        odd = [None, "1", [1], torch.tensor(1), torch.ones(3), 1 + 0j]
        for name, kind, values in [
            ("i32", "int", [2.5, 2.0, True, numpy.int64(3), numpy.float32(1), float("nan"), *odd]),
            ("f32", "float", [True, numpy.int64(3), numpy.float32(1), *odd]),
            ("flag", "bool", [0, 1, 1.0, numpy.bool_(True), *odd]),
        ]:
            for value in values:
                with self.subTest(name, value=value), self.assertRaises(TypeError) as raised:
                    self.sum(**{name: value})
                message = f"numbers: {name} must be of type {kind}, got {value!r:.80}"
                self.assertEqual(str(raised.exception), message)


class Gradients(unittest.TestCase):
    def weight(self):
        return torch.randn(20, requires_grad=True)

    def refuses(self, name, key, call, *args, **kwargs):
        with self.assertRaises(RuntimeError) as raised:
            call(*args, **kwargs)
        remedy = "use torch.no_grad()"
        self.assertEqual(str(raised.exception), f"{name} has no gradient for {key}; {remedy}")

    def test_a_gradient_that_would_be_dropped_is_an_error(self):
        self.refuses("doubled", "x", doubled.kernel_fn, self.weight())
        self.refuses("doubled", "bias", doubled.kernel_fn, torch.randn(20), self.weight())
        self.refuses("doubled", "x", doubled.kernel_fn, torch.nn.Parameter(torch.randn(20)))

    def test_a_model_cannot_train_without_it(self):
        layer = torch.nn.Linear(20, 20)
        self.refuses("doubled", "x", doubled.kernel_fn, layer(torch.randn(20)))

    def test_no_gradient_is_asked_for(self):
        w = self.weight()
        for mode in (torch.no_grad(), torch.inference_mode()):
            with mode:
                self.assertFalse(doubled.kernel_fn(w)[0].requires_grad)
        self.assertFalse(doubled.kernel_fn(w.detach())[0].requires_grad)
        self.assertFalse(places.kernel_fn(w[:16]).requires_grad)

    def test_inside_a_function_with_a_backward(self):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return doubled.kernel_fn(x)[0]

            @staticmethod
            def backward(ctx, gradient):
                return 2 * gradient

        w = self.weight()
        Doubled.apply(w).sum().backward()
        torch.testing.assert_close(w.grad, torch.full((20,), 2.0))

    def test_given_outputs(self):
        for key, x, out in (("x", self.weight(), torch.empty(20)), ("out", torch.randn(20), self.weight())):
            self.refuses("numbers", key, numbers.kernel_fn, x, out=out)
            with torch.no_grad():
                self.assertIs(numbers.kernel_fn(x, out=out), out)

    def test_updates_in_place(self):
        w = self.weight()
        self.refuses("accumulate", "x", accumulate.kernel_fn, w, torch.zeros(20))
        before = w.detach().clone()
        self.refuses("accumulate", "y", accumulate.kernel_fn, torch.ones(20), w)
        torch.testing.assert_close(w.detach(), before)
        with torch.no_grad():
            accumulate.kernel_fn(torch.ones(20), w)
        torch.testing.assert_close(w.detach(), before + 1)

    def test_autograd_sees_the_writes(self):
        for write in (
            lambda y: accumulate.kernel_fn(torch.ones(20), y),
            lambda y: numbers.kernel_fn(torch.ones(20), out=y),
            lambda y: copied.kernel_fn(torch.ones(20), y),
            lambda y: kept.kernel_fn(torch.ones(16), y),
        ):
            w, y = self.weight(), torch.ones(20)
            product = w * y
            write(y)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                product.sum().backward()

    def test_raw_pointers(self):
        x, y = torch.randn(16), torch.zeros(16)
        copied.kernel_fn(x, y)
        torch.testing.assert_close(y, x)
        self.refuses("copied", "from_", copied.kernel_fn, x.requires_grad_(), y)
        self.refuses("kept", "x", kept.kernel_fn, x, y)
        self.refuses("kept", "into", kept.kernel_fn, x.detach(), torch.zeros(16, requires_grad=True))
        x = x.detach()
        with self.assertRaisesRegex(ValueError, "kept: into shares memory with x; give one of its own"):
            kept.kernel_fn(x, x)
        memory = torch.zeros(16, dtype=torch.int32)
        with self.assertRaisesRegex(ValueError, "kept: out shares memory with into; give one of its own"):
            kept.kernel_fn(x, memory.view(torch.float32), out=memory)
        # Pointers without a declared extent may be one: the kernel reads where it writes.
        copied.kernel_fn(y, y)
        torch.testing.assert_close(y, x)

    def test_transforms_of_functions(self):
        with self.assertRaisesRegex(RuntimeError, "doubled has no gradient for x"):
            torch.func.grad(lambda x: doubled.kernel_fn(x)[0].sum())(torch.randn(20))

    def test_forward_mode(self):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.randn(20), torch.ones(20))
            with torch.no_grad():
                self.refuses("doubled", "x", doubled.kernel_fn, dual)
            self.assertEqual(doubled.kernel_fn(torch.ones(20))[0].tolist(), [2.0] * 20)


class Interpreted(unittest.TestCase):
    def test_the_first_config_that_fits_runs(self):
        for n, block in ((100, 64), (20, 16), (8, 8)):
            y, longest = doubled.kernel_fn(torch.ones(n))
            self.assertEqual((y.tolist(), longest.tolist()), ([2.0] * n, [block] * n))

    def test_bfloat16_needs_a_corrected_interpreter(self):
        sys.path.append(str(Path(__file__).parents[3] / "python"))
        from tilescript_worker import patch_bf16

        x = torch.randn(20)
        message = "Triton's interpreter computes bfloat16 wrongly"
        for call in (lambda: doubled.kernel_fn(x.bfloat16()), lambda: rounded.kernel_fn(x)):
            with self.assertRaisesRegex(TypeError, message):
                call()
        torch.testing.assert_close(doubled.kernel_fn(x.half())[0], x.half() * 2)
        patch_bf16.install()
        torch.testing.assert_close(doubled.kernel_fn(x.bfloat16())[0], x.bfloat16() * 2)
        torch.testing.assert_close(rounded.kernel_fn(x), x.bfloat16().float())


if __name__ == "__main__":
    unittest.main()
