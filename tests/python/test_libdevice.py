"""libdevice on Triton's interpreter, which has none: a call says so itself."""

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as library

from tilescript_worker import failures, libdevice

libdevice.install()


@triton.jit
def asin_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, library.asin(tl.load(x_ptr + at)))


class LibdeviceTest(unittest.TestCase):
    def test_a_call_is_refused_by_name(self):
        x = torch.zeros(16)
        with self.assertRaises(Exception) as caught:
            asin_kernel[(1,)](x, torch.empty_like(x), 16)
        failure = failures.describe(caught.exception, None)
        self.assertEqual(failure["kind"], "unsupported")
        self.assertEqual(failure["message"], "libdevice.asin is not supported in interpreter mode")


if __name__ == "__main__":
    unittest.main()
