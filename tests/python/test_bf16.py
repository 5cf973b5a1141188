"""bfloat16 on Triton's interpreter, as the worker corrects it, against torch."""

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

from tilescript_worker import patch_bf16

patch_bf16.install()

N = 64


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if OP == "add":
        r = x + y
    elif OP == "sub":
        r = x - y
    elif OP == "mul":
        r = x * y
    elif OP == "div":
        r = (x / y).to(tl.bfloat16)
    elif OP == "neg":
        r = -x
    elif OP == "abs":
        r = tl.abs(x)
    elif OP == "literal":
        r = x * 2.5 + 1.0
    elif OP == "min":
        r = tl.minimum(x, y)
    elif OP == "max":
        r = tl.maximum(x, y)
    elif OP == "clamp":
        r = tl.clamp(x, tl.full((N,), -0.5, tl.bfloat16), tl.full((N,), 0.5, tl.bfloat16))
    elif OP == "where":
        r = tl.where(x > y, x, y * 2)
    elif OP == "positive":
        r = tl.where(x > 0, x, 0.0)
    elif OP == "fma":
        r = tl.fma(x, y, x)
    tl.store(out_ptr + at, r)


@triton.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.fma(tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)))


@triton.jit
def compare_kernel(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if OP == "lt":
        r = x < y
    elif OP == "le":
        r = x <= y
    elif OP == "gt":
        r = x > y
    elif OP == "ge":
        r = x >= y
    elif OP == "eq":
        r = x == y
    elif OP == "ne":
        r = x != y
    elif OP == "between":
        r = (x < y) & (x > -1.0)
    tl.store(out_ptr + at, r.to(tl.int32))


@triton.jit
def cast_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(out_ptr.dtype.element_ty))


@triton.jit
def implicit_cast_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def toward_zero_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.bfloat16, fp_downcast_rounding="rtz"))


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def reduce_kernel(x_ptr, out_ptr, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "sum":
        tl.store(out_ptr + rows, tl.sum(x, 1))
    elif OP == "keep":
        tl.store(out_ptr + rows[:, None], tl.sum(x, 1, keep_dims=True))
    elif OP == "max":
        tl.store(out_ptr + rows, tl.max(x, 1))
    elif OP == "min":
        tl.store(out_ptr + rows, tl.min(x, 1))
    elif OP == "argmax":
        tl.store(out_ptr + rows, tl.argmax(x, 1))
    elif OP == "argmin":
        tl.store(out_ptr + rows, tl.argmin(x, 1))
    elif OP == "custom":
        tl.store(out_ptr + rows, tl.reduce(x, 1, multiply))


@triton.jit
def total_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N))))


@triton.jit
def scan_kernel(x_ptr, out_ptr, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    if OP == "cumsum":
        r = tl.cumsum(x, 1)
    elif OP == "cumprod":
        r = tl.cumprod(x, 0)
    elif OP == "sort":
        r = tl.sort(x, 1)
    elif OP == "transposed":
        r = tl.trans(tl.trans(x) + 1.0)
    tl.store(out_ptr + at, r)


@triton.jit
def dot_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


@triton.jit
def atomic_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_add(out_ptr + at % 4, tl.load(x_ptr + at), mask=at < N - 1)


def bfloat(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


ROUNDED = [1.00390625, 1.01171875, 1.005859, -1.00390625, 1 / 3, -2 / 3, 65536.0]
EXTREME = [3.4e38, 1e-40, 9.2e-41, 1e-38, 0.0, -0.0, float("inf"), float("-inf"), float("nan")]
ROUNDED = [1.00390625, 1.01171875, 1.005859, -1.00390625, 1 / 3, -2 / 3, 65536.0]
EXTREME = [3.4e38, 1e-40, 9.2e-41, 1e-38, 0.0, -0.0, float("inf"), float("-inf"), float("nan")]
SPECIAL = torch.tensor([*ROUNDED, *EXTREME], dtype=torch.float32)


class Bf16(unittest.TestCase):
    def same(self, got: torch.Tensor, expected: torch.Tensor) -> None:
        """Equal bit for bit, NaN and NaN included."""
        torch.testing.assert_close(got, expected.to(got.dtype), rtol=0, atol=0, equal_nan=True)

    def test_elementwise(self) -> None:
        x, y = bfloat(N, seed=1), bfloat(N, seed=2)
        expected = {
            "add": x + y,
            "sub": x - y,
            "mul": x * y,
            "div": (x.float() / y.float()).bfloat16(),
            "neg": -x,
            "abs": x.abs(),
            "literal": x * 2.5 + 1.0,
            "min": torch.minimum(x, y),
            "max": torch.maximum(x, y),
            "clamp": x.clamp(-0.5, 0.5),
            "where": torch.where(x > y, x, y * 2),
            "positive": x.clamp(min=0),
            "fma": (x.double() * y.double() + x.double()).float().bfloat16(),
        }
        for op, result in expected.items():
            with self.subTest(op):
                out = torch.empty(N, dtype=torch.bfloat16)
                binary_kernel[(1,)](x, y, out, OP=op, N=N)
                self.same(out, result)

    def test_fma_rounds_once(self) -> None:
        # 3 * 174 lies halfway between two bfloat16 numbers; what is added says which is nearer.
        x = torch.full((N,), 174.0 * 2**50, dtype=torch.bfloat16)
        y = torch.full((N,), 3.0, dtype=torch.bfloat16)
        z = torch.tensor([1.0, -1.0], dtype=torch.bfloat16).repeat(N // 2)
        out = torch.empty(N, dtype=torch.bfloat16)
        fma_kernel[(1,)](x, y, z, out, N=N)
        self.same(out, torch.tensor([524.0, 520.0]).repeat(N // 2) * 2**50)

    def test_comparisons(self) -> None:
        x, y = bfloat(N, seed=3), bfloat(N, seed=4)
        x[:8] = y[:8]
        x[8] = float("nan")
        expected = {
            "lt": x < y,
            "le": x <= y,
            "gt": x > y,
            "ge": x >= y,
            "eq": x == y,
            "ne": x != y,
            "between": (x < y) & (x > -1),
        }
        for op, result in expected.items():
            with self.subTest(op):
                out = torch.empty(N, dtype=torch.int32)
                compare_kernel[(1,)](x, y, out, OP=op, N=N)
                self.same(out, result)

    def test_rounding_to_nearest_even(self) -> None:
        values = torch.cat([SPECIAL, torch.randn(4096 - len(SPECIAL)) * 1e3])
        for kernel in (cast_kernel, implicit_cast_kernel):
            out = torch.empty(4096, dtype=torch.bfloat16)
            kernel[(1,)](values, out, N=4096)
            self.same(out, values)

    def test_every_bit_pattern_round_trips(self) -> None:
        every = torch.arange(0, 65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
        wide, back = torch.empty(65536), torch.empty(65536, dtype=torch.bfloat16)
        cast_kernel[(1,)](every, wide, N=65536)
        self.same(wide, every.float())
        cast_kernel[(1,)](wide, back, N=65536)
        self.same(back, every)

    def test_casts(self) -> None:
        x = bfloat(N, seed=5) * 50
        for dtype in (torch.float16, torch.float64, torch.int32, torch.int8, torch.int64):
            with self.subTest(str(dtype)):
                out, back = torch.empty(N, dtype=dtype), torch.empty(N, dtype=torch.bfloat16)
                cast_kernel[(1,)](x, out, N=N)
                self.same(out, x.float().to(dtype))
                cast_kernel[(1,)](out, back, N=N)
                self.same(back, out.float())

    def test_float16_that_is_not_finite(self) -> None:
        x = torch.tensor([float("inf"), float("-inf"), float("nan"), 6e-8] * (N // 4), dtype=torch.float16)
        out = torch.empty(N, dtype=torch.bfloat16)
        cast_kernel[(1,)](x, out, N=N)
        self.same(out, x.float())

    def test_rounding_toward_zero(self) -> None:
        x, out = torch.randn(N), torch.empty(N, dtype=torch.bfloat16)
        toward_zero_kernel[(1,)](x, out, N=N)
        cut = (x.view(torch.int32) & -65536).view(torch.float32)
        self.same(out, cut)

    def test_reductions(self) -> None:
        x = bfloat(4, N, seed=6)
        exact = x.double()
        for op, expected in {"max": x.amax(1), "min": x.amin(1), "argmax": x.argmax(1), "argmin": x.argmin(1)}.items():
            with self.subTest(op):
                dtype = torch.int32 if op.startswith("arg") else torch.bfloat16
                out = torch.empty(4, dtype=dtype)
                reduce_kernel[(1,)](x, out, OP=op, M=4, N=N)
                self.same(out, expected)
        for op, expected in {"sum": exact.sum(1), "keep": exact.sum(1), "custom": exact.prod(1)}.items():
            with self.subTest(op):
                out = torch.empty(4, dtype=torch.bfloat16)
                reduce_kernel[(1,)](x, out, OP=op, M=4, N=N)
                # Each of the steps rounds: six in a sum of halves, 63 in a chain of products.
                steps = N - 1 if op == "custom" else 6
                scale = exact.abs().sum(1) if op != "custom" else expected.abs()
                self.assertTrue(bool(((out.double() - expected).abs() <= steps * 2.0**-8 * scale).all()))

    def test_sum_rounds_as_it_goes(self) -> None:
        # 256 + 1 is 256 in bfloat16, so a sum that never rounds would give 257.
        x, out = torch.tensor([256.0, 1.0], dtype=torch.bfloat16), torch.empty(1, dtype=torch.bfloat16)
        total_kernel[(1,)](x, out, N=2)
        self.assertEqual(out.item(), 256.0)

    def test_scans_and_sort(self) -> None:
        x = bfloat(4, 8, seed=7)
        # Triton 3.6 promotes scans to float32, so that only their result rounds.
        dtype = torch.float32 if triton.__version__.startswith("3.6") else torch.bfloat16
        x = x.to(dtype)
        cumulative = torch.zeros_like(x)
        products = torch.zeros_like(x)
        for i in range(8):
            cumulative[:, i] = x[:, i] if i == 0 else cumulative[:, i - 1] + x[:, i]
        for i in range(4):
            products[i] = x[i] if i == 0 else products[i - 1] * x[i]
        expected = {
            "cumsum": cumulative,
            "cumprod": products,
            "sort": x.sort(1).values,
            "transposed": x + 1.0,
        }
        x = x.to(torch.bfloat16)
        for op, result in expected.items():
            with self.subTest(op):
                out = torch.empty(4, 8, dtype=torch.bfloat16)
                scan_kernel[(1,)](x, out, OP=op, M=4, N=8)
                self.same(out, result)

    def test_dot(self) -> None:
        a, b = bfloat(32, 32, seed=8), bfloat(32, 32, seed=9)
        out = torch.empty(32, 32)
        dot_kernel[(1,)](a, b, out, N=32)
        exact = a.double() @ b.double()
        bound = a.double().abs() @ b.double().abs() * 32 * 2.0**-24
        self.assertTrue(bool(((out.double() - exact).abs() <= bound).all()))

    def test_atomic_add(self) -> None:
        x, out = bfloat(16, seed=10), torch.zeros(4, dtype=torch.bfloat16)
        atomic_kernel[(1,)](x, out, N=16)
        expected = torch.zeros(4, dtype=torch.bfloat16)
        for i in range(15):
            expected[i % 4] += x[i]
        self.same(out, expected)


if __name__ == "__main__":
    unittest.main()
