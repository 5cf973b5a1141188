"""Emitted modules as operators of PyTorch, on Triton's interpreter."""

import unittest

import accumulate
import choices
import even
import moments
import torch
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
        x, seen, mean, centered = weight.reshape(4, 5), torch.zeros(4, dtype=torch.int32), torch.empty(4), torch.empty(4, 5)
        calls = (
            ("accumulate", lambda: ops.accumulate(weight, total)),
            ("accumulate", lambda: ops.accumulate(total, weight * 1)),
            ("accumulate", lambda: compiled(weight, total)),
            ("even_out", lambda: ops.even_out(weight, total)),
            ("moments_out", lambda: ops.moments_out(x, seen, mean, centered)),
        )
        for name, call in calls:
            with self.assertRaisesRegex(Exception, f"{name}: what is written to a given tensor has no gradient"):
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
        x, ops = torch.ones(20), torch.ops.tests
        calls = (ops.even, lambda x: ops.even_out(x, torch.empty(20)), lambda x: ops.accumulate(x, torch.ones(20)))
        for call in calls:
            for forward in (lambda f: torch.func.jvp(f, (x,), (x,)), lambda f: torch.func.jacfwd(f)(x)):
                with self.assertRaisesRegex(NotImplementedError, "has no forward-mode gradient"):
                    forward(call)

    def test_the_plain_way_stays(self):
        self.assertIs(choices.kernel_fn, choices.choices)
        self.assertIs(moments.kernel_fn, moments.moments)


if __name__ == "__main__":
    unittest.main()
