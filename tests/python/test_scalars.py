"""The dtypes of the numbers that a kernel receives on the corrected interpreter are those of a compiled kernel."""

import math
import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

from tilescript_worker import patch_scalars

patch_scalars.install()


@triton.jit
def annotated_kernel(y_ptr, wide: tl.int64, small: "u8", double: tl.float64, half: "fp16", whole: tl.float32):  # noqa: F821
    tl.static_assert(wide.dtype == tl.int64)
    tl.static_assert(small.dtype == tl.uint8)
    tl.static_assert(half.dtype == tl.float16)
    tl.static_assert(whole.dtype == tl.float32)
    tl.store(y_ptr, double)
    tl.store(y_ptr + 1, (small - 7).to(tl.float64))
    tl.store(y_ptr + 2, (wide * 4).to(tl.float64))


@triton.jit
def plain_kernel(y_ptr, factor):
    tl.store(y_ptr, (factor * factor).to(tl.float64))


class Scalars(unittest.TestCase):
    def test_an_annotation_decides(self):
        y = torch.zeros(3, dtype=torch.float64)
        annotated_kernel[(1,)](y, 2**30, 3, 0.1, half=0.1, whole=10**30)
        self.assertEqual(y.tolist(), [0.1, 252.0, 2.0**32])

    def test_a_float_without_annotation_is_a_float32(self):
        y = torch.zeros(1, dtype=torch.float64)
        plain_kernel[(1,)](y, 0.1)
        single = torch.tensor(0.1)
        self.assertEqual(y.item(), (single * single).item())

    def test_a_hook_before_the_launch_sees_numbers(self):
        seen = []
        kernel = triton.runtime.interpreter.InterpretedFunction(plain_kernel.fn)
        kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append(args[1]))
        kernel[(1,)](torch.zeros(1, dtype=torch.float64), 0.5)
        self.assertEqual((seen, type(seen[0]).__mro__[-2]), ([0.5], float))
        self.assertTrue(math.isfinite(seen[0]))


if __name__ == "__main__":
    unittest.main()
