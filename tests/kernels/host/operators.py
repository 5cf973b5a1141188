"""Emitted modules as operators of PyTorch, on Triton's interpreter."""

import unittest

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
            mean, centred = torch.ops.tests.moments(x, seen)
            return mean + centred.sum(1)

        compiled = torch.compile(count, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x, seen), x.mean(1), rtol=1e-4, atol=1e-4)
        self.assertEqual(seen.tolist(), [1, 1, 1, 1])

    def test_the_plain_way_stays(self):
        self.assertIs(choices.kernel_fn, choices.choices)
        self.assertIs(moments.kernel_fn, moments.moments)


if __name__ == "__main__":
    unittest.main()
