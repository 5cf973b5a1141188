"""Emitted wrappers on Triton's interpreter: what they compute and what they refuse.

Runs in a folder that holds emitted modules and nothing else of TileScript.
"""

import itertools
import os
import random
import tempfile
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import add_in_place as in_place  # noqa: E402
import attention  # noqa: E402
import cross_entropy as losses  # noqa: E402
import gemm as matmul  # noqa: E402
import gemm_tma as described  # noqa: E402
import scaled_rows as rows  # noqa: E402
import softmax as rowwise  # noqa: E402
import torch  # noqa: E402
import triton.language as tl  # noqa: E402
import vector_add as vectors  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler.compiler import make_backend  # noqa: E402
from triton.runtime.jit import JITFunction, create_function_from_signature  # noqa: E402

# The interpreter has no driver that a tuner could measure with: its first config.
for module in (matmul, rowwise):
    tuned = next(v for k, v in vars(module).items() if k.endswith("_kernel"))
    tuned.configs = [tuned.configs[-1 if module is matmul else 0]]


def half(*shape):
    return torch.randn(shape, dtype=torch.float16)


def long(size):
    """A vector that takes no memory: nothing touches the pages of its sparse file."""
    with tempfile.NamedTemporaryFile() as file:
        return torch.from_file(file.name, shared=True, size=size, dtype=torch.float16)


class Refusals(unittest.TestCase):
    def refuses(self, error, message, call, *args, **kwargs):
        with self.assertRaisesRegex(error, message):
            call(*args, **kwargs)

    def test_rank(self):
        shapes = r"gemm: a and b must have shapes \[M, K\] and \[K, N\], got "
        message = shapes + r"torch.Size\(\[4\]\) and torch.Size\(\[4, 4\]\)"
        self.refuses(ValueError, message, matmul.gemm, half(4), half(4, 4))
        message = shapes + r"torch.Size\(\[4, 4\]\) and torch.Size\(\[4, 4, 1\]\)"
        self.refuses(ValueError, message, matmul.gemm, half(4, 4), half(4, 4, 1))

    def test_mismatch(self):
        message = r"gemm: a and b must have shapes \[M, K\] and \[K, N\], got torch.Size\(\[4, 5\]\) and torch.Size\(\[6, 7\]\)"
        self.refuses(ValueError, message, matmul.gemm, half(4, 5), half(6, 7))

    def test_dtype(self):
        wide = torch.zeros(4, 4)
        message = "gemm: needs one dtype of .* got {'a': torch.float32"
        self.refuses(TypeError, message, matmul.gemm, wide, wide)
        message = "gemm: needs one dtype of .* got {'a': torch.float16, 'b': torch.bfloat16"
        self.refuses(TypeError, message, matmul.gemm, half(4, 4), wide.bfloat16())

    def test_device(self):
        there = torch.zeros(4, device="meta")
        message = "vector_add: needs one GPU, or TRITON_INTERPRET=1, got x on meta"
        self.refuses(ValueError, message, vectors.vector_add, there, there)
        message = "vector_add: needs one GPU, or TRITON_INTERPRET=1, got y on meta"
        self.refuses(ValueError, message, vectors.vector_add, torch.zeros(4), there)

    def test_contiguity(self):
        every = torch.zeros(8)[::2]
        message = r"vector_add: x must be contiguous; call \.contiguous\(\)"
        self.refuses(ValueError, message, vectors.vector_add, every, every)

    def test_derived_size(self):
        x, y = torch.zeros(6), torch.zeros(2, 3)
        message = r"add_in_place: z must have shape \[MK=6\], got torch.Size\(\[5\]\)"
        self.refuses(ValueError, message, in_place.kernel_fn, x, y, torch.zeros(5))

    def test_requirement(self):
        message = "block_n >= n_cols with block_n = 64, n_cols = 65"
        self.refuses(ValueError, message, rows.kernel_fn, torch.zeros(2, 65))

    def test_extent(self):
        message = "gemm: b spans more than int32 offsets reach"
        limit = 2**31 - 2**20
        near, far = (long(limit + 1).as_strided((2, 2), (reach - 1, 1)) for reach in (limit - 1, limit))
        self.assertEqual(matmul.gemm(half(1, 2), near).shape, (1, 2))
        self.refuses(ValueError, message, matmul.gemm, half(1, 2), far)

    def test_counts(self):
        # Of tensors with int64 offsets, and of those behind descriptors, int32 counts the axes.
        labels = torch.zeros(2, dtype=torch.int64)
        count = 2**31 - 2**20
        message = f"cross_entropy_forward: N is {count}, and the kernel counts up to it in int32"
        self.refuses(ValueError, message, losses.cross_entropy, torch.zeros(2, 1).expand(2, count), labels)
        message = f"gemm_tma: K is {count}, and tensor descriptors count in int32"
        self.refuses(ValueError, message, described.gemm_tma, long(count)[None], half(1, 8).expand(count, 8))

    def test_wide_row(self):
        wide = torch.empty(1, 1).expand(1, 2**20 + 1)
        message = f"softmax: BLOCK_N must be at most .* got {2**21}"
        self.refuses(ValueError, message, rowwise.softmax, wide)

    def test_tile_sizes(self):
        for size in (1, 8, 48):
            q, k, v = torch.zeros(3, 2, 4, size, dtype=torch.float16)
            with self.assertRaisesRegex(ValueError, f"HEAD_DIM must be a power of two from 16 up, got {size}"):
                attention.kernel_fn(q, k, v)


class Outputs(unittest.TestCase):
    def setUp(self):
        self.x, self.y = torch.randn(40), torch.randn(40)

    def refuses(self, error, message, out, x=None):
        with self.assertRaisesRegex(error, message):
            vectors.vector_add(self.x if x is None else x, self.y, out=out)

    def test_given(self):
        out = torch.empty(40)
        self.assertIs(vectors.vector_add(self.x, self.y, out=out), out)
        torch.testing.assert_close(out, self.x + self.y)

    def test_shape_dtype_device(self):
        message = r"vector_add: out must have shape \[N=40\], got torch.Size\(\[41\]\)"
        self.refuses(ValueError, message, torch.empty(41))
        message = "vector_add: needs one dtype of .* got .*'out': torch.float64"
        self.refuses(TypeError, message, torch.empty(40, dtype=torch.float64))
        message = "vector_add: needs one GPU, or TRITON_INTERPRET=1, got out on meta"
        self.refuses(ValueError, message, torch.empty(40, device="meta"))

    def test_shares_with_an_input(self):
        self.refuses(ValueError, "out shares memory with x", self.x)
        buffer = torch.randn(60)
        self.refuses(ValueError, "out shares memory with x", buffer[20:], buffer[:40])

    def test_folds_onto_itself(self):
        a, b = half(4, 4), half(4, 4)
        message = "gemm: out has elements that share memory"
        with self.assertRaisesRegex(ValueError, message):
            matmul.gemm(a, b, out=half(1, 4).expand(4, 4))

    def test_slices_of_one_buffer(self):
        packed = half(16, 48)
        a, b, out = packed.split(16, 1)
        expected = matmul.reference_fn(a, b)
        matmul.gemm(a, b, out=out)
        torch.testing.assert_close(out, expected, rtol=1e-2, atol=1e-2)

    def test_outputs_that_share(self):
        buffer = torch.empty(12)
        with self.assertRaisesRegex(ValueError, "sums shares memory with scaled"):
            rows.kernel_fn(torch.ones(3, 4), scaled=buffer.view(3, 4), sums=buffer[:3])

    def test_in_place(self):
        x, y, z = torch.ones(6), torch.zeros(2, 3), torch.arange(6.0)
        self.assertIs(in_place.kernel_fn(x, y, z), x)
        torch.testing.assert_close(x, 1 + torch.arange(6.0))
        with self.assertRaisesRegex(ValueError, "x shares memory with z"):
            in_place.kernel_fn(z, y, z)


class Launches(unittest.TestCase):
    """What a launch is remembered by, beside what Triton compiles for."""

    def test_equal_keys_have_one_binary(self):
        def kernel(x_ptr, y_ptr, n, alpha, BLOCK: tl.constexpr):
            pass

        jit = JITFunction(kernel)
        backend = make_backend(GPUTarget("cuda", 90, 32))
        binder = create_function_from_signature(jit.signature, jit.params, backend)
        buffer = torch.zeros(64)
        tensors = [None, buffer, buffer[1:], buffer[4:], buffer.half(), buffer.half()[4:], buffer.int()]
        integers = [-16, -1, 0, 1, 2, 16, 17, 2**31 - 1, 2**31, 2**32, 2**63]
        floats = [0.0, 1.0, 16.0, 0.5, float("inf")]
        # Products take no floats, so that keys of theirs need not tell them from integers.
        for module, numbers, least in ((rows, integers + floats, 500), (matmul, integers, 300)):
            binaries = {}
            for x, y in itertools.product(tensors, tensors[:3]):
                for n, alpha in itertools.product(numbers, numbers):
                    for block in (16, 32):
                        dtypes = [tensor is not None and tensor.dtype for tensor in (x, y)]
                        key = *dtypes, *module._launch_key((x, y), (n, alpha), {"BLOCK": block})
                        _, compiled, _ = binder(x, y, n, alpha, BLOCK=block)
                        self.assertEqual(binaries.setdefault(key, compiled), compiled, key)
            self.assertGreater(len({str(compiled) for compiled in binaries.values()}), least)


class Results(unittest.TestCase):
    def check(self, a, b):
        found = matmul.kernel_fn(a, b)
        expected = (a.float() @ b.float()).half()
        torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)

    def test_odd_sizes(self):
        self.check(half(33, 17), half(17, 65))

    def test_transposed_and_sliced(self):
        self.check(half(17, 33).T, half(65, 17).T)
        self.check(half(33, 34)[:, ::2], half(18, 65)[1:])

    def test_expanded(self):
        self.check(half(1, 17).expand(33, 17), half(17, 1).expand(17, 20))

    def test_empty(self):
        for m, k, n in [(0, 4, 5), (3, 4, 0), (0, 0, 0)]:
            found = matmul.kernel_fn(half(m, k), half(k, n))
            self.assertEqual(found.shape, (m, n))
        found = matmul.kernel_fn(half(3, 0), half(0, 5))
        torch.testing.assert_close(found, torch.zeros(3, 5, dtype=torch.float16))
        self.assertEqual(rowwise.softmax(torch.empty(3, 0)).shape, (3, 0))
        self.assertEqual(vectors.vector_add(torch.empty(0), torch.empty(0)).numel(), 0)
        in_place.kernel_fn(torch.empty(0), torch.empty(0, 3), torch.empty(0))

    def test_numbers_and_choices(self):
        x = torch.randn(5, 7)
        for args in [(), (3.0,), (1.0,), (3.0, True)]:
            torch.testing.assert_close(rows.kernel_fn(x, *args), rows.reference_fn(x, *args))

    def test_own_inputs(self):
        for module in (vectors, rows):
            inputs = module.get_inputs()
            if module is rows:
                inputs[0] = inputs[0][:20, :60]
            torch.testing.assert_close(module.kernel_fn(*inputs), module.reference_fn(*inputs))


class Overlaps(unittest.TestCase):
    """`_check_strided` beside all addresses, over small shapes and strides."""

    def addresses(self, tensor):
        reach = itertools.product(*map(range, tensor.shape))
        start = tensor.storage_offset()
        steps = tensor.stride()
        return [start + sum(i * s for i, s in zip(index, steps)) for index in reach]

    def drawn(self, random, buffer, strides=None):
        rank = len(strides) if strides else random.randint(1, 3)
        shape = [random.randint(0 if random.random() < 0.1 else 1, 4) for _ in range(rank)]
        strides = strides or [random.randint(0, 9) for _ in range(rank)]
        return buffer.as_strided(shape, strides, random.randint(0, 30))

    def overlap(self, x, y):
        try:
            matmul._check_strided("x", x, y=y)
        except ValueError:
            return True
        return False

    def test_never_misses_one(self):
        seeded, buffer = random.Random(7), torch.empty(200)
        for _ in range(20_000):
            x, y = self.drawn(seeded, buffer), self.drawn(seeded, buffer)
            shares = bool(set(self.addresses(x)) & set(self.addresses(y)))
            if shares:
                self.assertTrue(self.overlap(x, y), (x.shape, x.stride(), y.shape))
            own = self.addresses(x)
            if len(set(own)) < len(own):
                self.assertTrue(self.overlap(x, torch.empty(1)), (x.shape, x.stride()))

    def test_counts_bytes_of_any_dtype(self):
        seeded, buffer = random.Random(7), torch.zeros(1024, dtype=torch.uint8)
        dtypes = [torch.uint8, torch.float16, torch.float32, torch.float64, torch.complex128]
        for first, second in itertools.product(dtypes, dtypes):
            for _ in range(200):
                x, y = (self.drawn(seeded, buffer.view(dtype), [1]) for dtype in (first, second))
                used = [
                    {8 * (z.element_size() * each + i) for each in self.addresses(z) for i in range(z.element_size())}
                    for z in (x, y)
                ]
                self.assertEqual(self.overlap(x, y), bool(used[0] & used[1]), (first, second))

    def test_is_exact_for_slices(self):
        seeded, buffer = random.Random(7), torch.empty(800)
        seen = {True: 0, False: 0}
        for _ in range(20_000):
            inner, outer = seeded.randint(1, 3), seeded.randint(4, 9)
            strides = [outer * inner * 4, outer * inner, inner][-seeded.randint(1, 3) :]
            x, y = (self.drawn(seeded, buffer, strides) for _ in range(2))
            shares = bool(set(self.addresses(x)) & set(self.addresses(y)))
            self.assertEqual(self.overlap(x, y), shares)
            seen[shares] += 1
        self.assertGreater(min(seen.values()), 500)


if __name__ == "__main__":
    unittest.main()
