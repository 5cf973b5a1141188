"""Emitted modules as operators of PyTorch, on Triton's interpreter."""

import unittest

import accumulate
import choices
import even
import moments
import torch
from torch._subclasses import FakeTensorMode
from torch.library import opcheck

even.even_kernel.configs = even.even_kernel.configs[:1]


class Operators(unittest.TestCase):
    def test_opcheck(self):
        opcheck(torch.ops.tests.even, (torch.randn(100),))
        opcheck(torch.ops.tests.moments, (torch.randn(4, 30), torch.zeros(4, dtype=torch.int32)))
        opcheck(torch.ops.tests.choices, (torch.randn(10), 3))
        opcheck(torch.ops.tests.choices, (torch.randn(10), 3, 1.0, 0.5, True, "relu", torch.float16))

    def test_compile_keeps_the_call(self):
        def twice(x):
            return torch.ops.tests.even(torch.ops.tests.even(x * 2))

        x = torch.randn(70)
        compiled = torch.compile(twice, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), x * 2 + 2)

    def test_updates_in_place(self):
        x, seen = torch.randn(4, 30), torch.zeros(4, dtype=torch.int32)

        def count(x, seen):
            mean, centered = torch.ops.tests.moments(x, seen)
            return mean + centered.sum(1)

        compiled = torch.compile(count, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x, seen), x.mean(1), rtol=1e-4, atol=1e-4)
        self.assertEqual(seen.tolist(), [1, 1, 1, 1])

    def test_what_is_written_takes_no_part_in_a_gradient(self):
        weight, total = torch.randn(20, requires_grad=True), torch.zeros(20)
        ops = torch.ops.tests

        def update(x, y):
            ops.accumulate(x, y)
            return y * 2

        compiled = torch.compile(update, fullgraph=True, backend="aot_eager")
        x, seen = weight.reshape(4, 5), torch.zeros(4, dtype=torch.int32)
        calls = (
            lambda: ops.accumulate(weight, total),
            lambda: ops.accumulate(total, weight * 1),
            lambda: compiled(weight, total),
        )
        for call in calls:
            with self.assertRaisesRegex(Exception, "accumulate: what is written to a given tensor has no gradient"):
                call()
        self.assertEqual(total.tolist(), [0.0] * 20)
        # What holds integers has none.
        self.assertTrue(ops.moments(x, seen)[0].requires_grad)
        version = total._version
        with torch.no_grad():
            torch.testing.assert_close(update(weight, total), weight * 2)
            torch.testing.assert_close(compiled(weight, total), weight * 4)
        self.assertGreater(total._version, version)

    def test_no_tangent_is_dropped(self):
        x = torch.ones(20)
        calls = (even.even, lambda x: accumulate.accumulate(x, torch.ones(20)))
        for call in calls:
            for forward in (lambda f: torch.func.jvp(f, (x,), (x,)), lambda f: torch.func.jacfwd(f)(x)):
                with self.assertRaisesRegex(RuntimeError, "has no gradient for x"):
                    forward(call)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, x)
            with self.assertRaisesRegex(RuntimeError, "even has no gradient for x"):
                torch.ops.tests.even(dual)

    def test_a_traced_call_is_refused_as_a_real_one(self):
        ops, x, seen = torch.ops.tests, torch.randn(4, 30), torch.zeros(4, dtype=torch.int32)
        wrong = (
            (ops.moments, (x[0], seen), ValueError),
            (ops.moments, (x, seen[1:]), ValueError),
            (ops.moments, (x, seen.float()), TypeError),
            (ops.moments, (x.double(), seen), TypeError),
            (ops.even, (x,), ValueError),
            (ops.even, (x[0].to_sparse(),), TypeError),
            (ops.accumulate, (x[0], x[1, 1:]), ValueError),
            (ops.accumulate, (x[0], x[1].half()), TypeError),
            (ops.choices, (x[0], 3, 1.0, 0.5, True, "tanh"), ValueError),
            (ops.choices, (x[0], 3, 1.0, 0.5, True, "relu", torch.int8), ValueError),
        )
        for operator, arguments, error in wrong:
            with self.assertRaises(error) as real:
                operator(*arguments)
            with self.assertRaises(error) as faked, FakeTensorMode() as mode:
                operator(*(mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments))
            with self.assertRaises(error) as on_meta:
                operator(*(each.to("meta") if isinstance(each, torch.Tensor) else each for each in arguments))
            self.assertEqual(str(faked.exception), str(real.exception))
            self.assertEqual(str(on_meta.exception), str(real.exception))

    def test_a_fake_is_laid_out_as_the_real_result(self):
        ops = torch.ops.tests
        for x in (torch.randn(4, 30), torch.randn(30, 4).T, torch.randn(4, 60)[:, ::2], torch.randn(4, 1).expand(4, 30)):
            seen = torch.zeros(4, dtype=torch.int32)
            for call in (lambda x, y: ops.moments(x, y), lambda x, _: (ops.even(x[:, 0].contiguous()), ops.choices(x[1], 3))):
                real = [(each.shape, each.stride(), each.dtype) for each in call(x, seen)]
                with FakeTensorMode() as mode:
                    faked = call(mode.from_tensor(x), mode.from_tensor(seen))
                self.assertEqual([(each.shape, each.stride(), each.dtype) for each in faked], real)

    def test_the_plain_way_stays(self):
        self.assertIs(choices.kernel_fn, choices.choices)
        self.assertIs(moments.kernel_fn, moments.moments)


if __name__ == "__main__":
    unittest.main()
