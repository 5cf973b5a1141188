"""What Triton's interpreter lacks: a call says so itself."""

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as library

from tilescript_worker import failures, patch_unsupported

patch_unsupported.install()


@triton.jit
def asin_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, library.asin(tl.load(x_ptr + at)))


@triton.jit
def waiting_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def clock_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(x_ptr + at) + tl.extra.hip.memrealtime())


@triton.jit
def next_of(x):
    return x + 1


@triton.jit
def mapped_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.map_elementwise(next_of, tl.load(x_ptr + at)))


CALLS = {
    "libdevice.asin": asin_kernel,
    "tl.extra.cuda.gdc_wait": waiting_kernel,
    "tl.extra.hip.memrealtime": clock_kernel,
    "tl.map_elementwise": mapped_kernel,
}


class LackingTest(unittest.TestCase):
    def test_a_call_is_refused_by_name(self):
        x = torch.zeros(16)
        for name, kernel in CALLS.items():
            with self.assertRaises(Exception) as caught:
                kernel[(1,)](x, torch.empty_like(x), 16)
            failure = failures.describe(caught.exception, None)
            self.assertEqual(failure["kind"], "unsupported")
            self.assertEqual(failure["message"], f"{name} is not supported in interpreter mode")


if __name__ == "__main__":
    unittest.main()
