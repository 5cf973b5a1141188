"""The checks of emitted wrappers. Those of memory are compared with the bytes of each element."""

import itertools
import os
import random
import subprocess
import sys
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from runtime import checks

SEED = int(os.environ.get("TILESCRIPT_SEED", "0"))
DTYPES = [
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.int16,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.float32,
    torch.int64,
    torch.float64,
]
PAIRS = list(itertools.product(DTYPES, repeat=2))
#: Draws for each pair of dtypes.
DRAWS = 20


def bytes_of_elements(x: torch.Tensor) -> list[int]:
    """The bytes of each element, as bits that stand for addresses."""
    element = (1 << x.itemsize) - 1
    places = itertools.product(*map(range, x.shape))
    return [element << (x.storage_offset() + sum(map(int.__mul__, at, x.stride()))) * x.itemsize for at in places]


def bytes_of(x: torch.Tensor) -> int:
    addresses = 0
    for element in bytes_of_elements(x):
        addresses |= element
    return addresses


def share(x: torch.Tensor, y: torch.Tensor) -> bool:
    return bytes_of(x) & bytes_of(y) != 0


def repeats(x: torch.Tensor) -> bool:
    """True if elements of x share memory."""
    return bytes_of(x).bit_count() < x.numel() * x.itemsize


def described(*tensors: torch.Tensor) -> str:
    views = [f"{x.dtype} {list(x.shape)} {list(x.stride())} at {x.storage_offset()}" for x in tensors]
    return f"seed {SEED}: {'; '.join(views)}"


def refuses(check: Callable[..., None], *args: Any, **tensors: Any) -> bool:
    try:
        check(*args, **tensors)
    except ValueError:
        return True
    return False


def drawn_strided(draw: random.Random, buffer: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Any view of the buffer's bytes, with up to 3 axes."""
    rank = draw.randint(0, 3)
    shape = [0 if draw.random() < 0.04 else draw.randint(1, 4) for _ in range(rank)]
    strides = [draw.choice([0, 1, 2, 3, 4, 5, 6, 8, 12, 16]) for _ in range(rank)]
    return buffer.view(dtype).as_strided(shape, strides, draw.randint(0, 30))


def drawn_slice(draw: random.Random, base: torch.Tensor) -> torch.Tensor:
    """A range or an index of each axis. The axes that are left, and one of size 1, are in any order."""
    index: list[int | slice] = []
    for size in base.shape:
        first = draw.randrange(size)
        index.append(first if draw.random() < 0.3 else slice(first, draw.randint(first, size)))
    part = base[tuple(index)]
    # Strides of such an axis do not matter.
    part = part.as_strided([*part.shape, 1], [*part.stride(), draw.randint(0, 9)], part.storage_offset())
    return part.permute(draw.sample(range(part.ndim), part.ndim))


def drawn_base(draw: random.Random) -> torch.Tensor:
    """A contiguous buffer of bytes, whose rows hold any dtype."""
    return torch.zeros([*(draw.randint(1, 4) for _ in range(draw.randint(0, 2))), 8 * draw.randint(1, 4)]).byte()


class Overlap(unittest.TestCase):
    def setUp(self) -> None:
        self.draw = random.Random(SEED)
        self.buffer = torch.zeros(1600, dtype=torch.uint8)

    def test_no_shared_byte_is_missed_in_any_two_views(self) -> None:
        found = {True: 0, False: 0}
        for (of_x, of_y), _ in itertools.product(PAIRS, range(DRAWS)):
            x, y = drawn_strided(self.draw, self.buffer, of_x), drawn_strided(self.draw, self.buffer, of_y)
            if share(x, y):
                self.assertTrue(checks._may_overlap(x, y), described(x, y))
            found[checks._may_overlap(x, y)] += 1
        # Else the views would show nothing.
        self.assertGreater(min(found.values()), len(PAIRS) * DRAWS // 10)

    def test_slices_of_a_buffer_overlap_only_if_they_share_a_byte(self) -> None:
        found = {True: 0, False: 0}
        for (of_x, of_y), _ in itertools.product(PAIRS, range(DRAWS)):
            base = drawn_base(self.draw)
            x, y = drawn_slice(self.draw, base.view(of_x)), drawn_slice(self.draw, base.view(of_y))
            self.assertEqual(checks._may_overlap(x, y), share(x, y), described(x, y))
            found[share(x, y)] += 1
        self.assertGreater(min(found.values()), len(PAIRS) * DRAWS // 10)

    def test_columns_that_interleave_are_apart(self) -> None:
        x = torch.zeros(5, 6)
        self.assertFalse(checks._may_overlap(x[:, 0::2], x[:, 1::2]))
        self.assertTrue(checks._may_overlap(x[:, 0::2], x[:, 2::2]))
        z = torch.zeros(7, dtype=torch.complex64)
        self.assertFalse(checks._may_overlap(z.real, z.imag))


class Written(unittest.TestCase):
    def setUp(self) -> None:
        self.draw = random.Random(SEED)
        self.buffer = torch.zeros(1600, dtype=torch.uint8)

    def test_no_elements_that_share_memory_are_written(self) -> None:
        found = {True: 0, False: 0}
        for dtype, _ in itertools.product(DTYPES, range(10 * DRAWS)):
            x = drawn_strided(self.draw, self.buffer, dtype)
            if repeats(x):
                self.assertTrue(refuses(checks._check_strided, "f: out", x), described(x))
            found[repeats(x)] += 1
        self.assertGreater(min(found.values()), DRAWS)

    def test_slices_are_written(self) -> None:
        for dtype, _ in itertools.product(DTYPES, range(DRAWS)):
            x = drawn_slice(self.draw, drawn_base(self.draw).view(dtype))
            self.assertFalse(refuses(checks._check_strided, "f: out", x), described(x))

    def test_contiguous_tensors_are_written_where_no_other_lies(self) -> None:
        found = {True: 0, False: 0}
        for (of_x, of_y), _ in itertools.product(PAIRS, range(DRAWS)):
            x, y = (self.buffer[:96].view(dtype) for dtype in (of_x, of_y))
            x, y = drawn_slice(self.draw, x), drawn_slice(self.draw, y)
            for check in (checks._check_written, checks._check_strided):
                self.assertEqual(refuses(check, "f: out", x, y=y), share(x, y), described(x, y))
            found[share(x, y)] += 1
        self.assertGreater(min(found.values()), len(PAIRS) * DRAWS // 10)

    def test_messages_name_both_arguments(self) -> None:
        x = torch.zeros(4, 4)
        for check in (checks._check_written, checks._check_strided):
            with self.assertRaises(ValueError) as raised:
                check("f: out", x, apart=torch.zeros(4), absent=None, b=x[2:])
            self.assertEqual(str(raised.exception), "f: out shares memory with b; give one of its own")
        with self.assertRaises(ValueError) as raised:
            checks._check_strided("f: out", x[:, :1].expand(4, 3))
        self.assertEqual(str(raised.exception), "f: out has elements that share memory")

    def test_autograd_hears_of_writes_alone(self) -> None:
        for check in (checks._check_written, checks._check_strided):
            x, y = torch.zeros(4), torch.zeros(4)
            check("f: out", None, y=y)
            check("f: out", x, y=y)
            self.assertEqual((x._version, y._version), (1, 0))
            self.assertTrue(refuses(check, "f: out", x, y=x))
            self.assertEqual(x._version, 1)


class Tagged(torch.Tensor):
    """A subclass that only adds a name."""


class Wrapping(torch.Tensor):
    """A subclass whose operations are its own."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError


class Tensors(unittest.TestCase):
    def setUp(self) -> None:
        interpreted = unittest.mock.patch.object(checks, "_INTERPRETED", True)
        interpreted.start()
        self.addCleanup(interpreted.stop)
        self.x = torch.zeros(3)

    def assert_refused(self, error: type[Exception], message: str, y: Any) -> None:
        with self.assertRaises(error) as raised:
            checks._check_tensors("f", x=self.x, none=None, y=y)
        self.assertEqual(str(raised.exception), message)

    def test_plain_tensors_pass(self) -> None:
        parameter = torch.nn.Parameter(torch.zeros(3))
        tagged = torch.zeros(3).as_subclass(Tagged)
        with torch.no_grad():
            checks._check_tensors("f", x=self.x, y=parameter, out=None, z=tagged)
        checks._check_tensors("f", x=self.x, y=parameter.detach(), z=self.x[::2], out=torch.zeros(()))

    def test_what_is_no_tensor(self) -> None:
        self.assert_refused(TypeError, "f: y must be a plain tensor, got <class 'int'>", 3)
        self.assert_refused(TypeError, "f: y must be a plain tensor, got <class 'list'>", [0] * 99)

    def test_tensors_that_a_launch_would_misread(self) -> None:
        wrapping = torch.zeros(3).as_subclass(Wrapping)
        self.assert_refused(TypeError, f"f: y must be a plain tensor, got {Wrapping}", wrapping)
        negated = torch.zeros(3, dtype=torch.complex64).conj().imag
        message = "f: y is lazily negated; call .resolve_neg()"
        self.assert_refused(ValueError, message, negated)
        checks._check_tensors("f", y=negated.resolve_neg())

    def test_devices(self) -> None:
        meta = torch.zeros(3, device="meta")
        message = "f: needs one GPU, or TRITON_INTERPRET=1, got {} on {}"
        self.assert_refused(ValueError, message.format("y", "meta"), meta)
        for check in (checks._check_tensors, checks._check_operands):
            with self.assertRaises(ValueError) as raised:
                check("f", none=None, x=self.x, y=meta)
            self.assertEqual(str(raised.exception), message.format("y", "meta"))
            with unittest.mock.patch.object(checks, "_INTERPRETED", False), self.assertRaises(ValueError) as raised:
                check("f", x=self.x)
            self.assertEqual(str(raised.exception), message.format("x", "cpu"))

    def test_gradients_that_would_be_dropped(self) -> None:
        message = "f has no gradient for y; use torch.no_grad()"
        self.assert_refused(RuntimeError, message, torch.zeros(3, requires_grad=True))
        with forward_ad.dual_level(), torch.no_grad():
            self.assert_refused(RuntimeError, message, forward_ad.make_dual(torch.zeros(3), torch.ones(3)))


class DTypes(unittest.TestCase):
    def test_all_must_be_of_one_of_the_expected(self) -> None:
        expected = (torch.float16, torch.bfloat16)
        for of_x, of_y in PAIRS:
            x, y = torch.zeros(2).to(of_x), torch.zeros(2).to(of_y)
            with self.subTest(x=of_x, y=of_y), unittest.mock.patch.object(checks, "_INTERPRETED", False):
                if of_x == of_y and of_x in expected:
                    checks._check_dtypes("f", expected, x=x, y=y)
                    continue
                with self.assertRaises(TypeError) as raised:
                    checks._check_dtypes("f", expected, x=x, y=y)
                message = f"f: needs one dtype of {expected}, got {dict(x=of_x, y=of_y)}"
                self.assertEqual(str(raised.exception), message)


class Layouts(unittest.TestCase):
    def test_contiguous(self) -> None:
        x = torch.zeros(3, 4)
        checks._check_contiguous("f", x=x, row=x[1], rows=x[1:], one=x[:1, :1].t(), none=x[:, :0])
        with self.assertRaises(ValueError) as raised:
            checks._check_contiguous("f", x=x, y=x.t())
        self.assertEqual(str(raised.exception), "f: y must be contiguous; call .contiguous()")

    def test_the_largest_offset_must_fit_int32_with_a_tile_behind_it(self) -> None:
        draw = random.Random(SEED)
        limit = 2**31 - 2**20
        for last in (limit - 1, limit):
            # The axes' shares of the offset of the last element, which is drawn.
            for _ in range(200):
                shares = [draw.randrange(last // 3) for _ in range(draw.randint(0, 2))]
                shares.append(last - sum(shares))
                sizes = [draw.choice([n for n in range(2, 40) if share % (n - 1) == 0]) for share in shares]
                strides = [share // (size - 1) for share, size in zip(shares, sizes, strict=True)]
                x = torch.empty_strided([*sizes, 1], [*strides, 2**40], device="meta")
                self.assertEqual(refuses(checks._check_reach, "f", y=torch.zeros(2), x=x), last == limit, described(x))

    def test_the_message_says_what_to_write(self) -> None:
        with self.assertRaises(ValueError) as raised:
            checks._check_reach("f", x=torch.empty(2**31, device="meta"))
        self.assertEqual(str(raised.exception), "f: x spans more than int32 offsets reach")


class Promises(unittest.TestCase):
    def message(self, check: Callable[..., None], *args: Any) -> str:
        with self.assertRaises(ValueError) as raised:
            check("f: ids", *args)
        return str(raised.exception)

    def test_ranges_of_all_dtypes(self) -> None:
        unsigned = [torch.uint16, torch.uint32, torch.uint64]
        for dtype in [*DTYPES, *unsigned]:
            is_float = dtype.is_floating_point
            x = torch.zeros(2, 3).to(dtype)
            checks._check_range("f: ids", x, 0, 0 if is_float else 1)
            checks._check_range("f: ids", x[:0], 5, 6)
            y = x.clone()
            y[1, 2] = 1
            checks._check_range("f: ids", y.t(), 0, 1 if is_float else 2)
            found, end = ("1.0", "0.5]") if is_float else ("1", "1)")
            refused = self.message(checks._check_range, y, 0, 0.5 if is_float else 1)
            self.assertEqual(refused, f"f: ids must hold numbers in [0, {end}, got {found} at [1, 2]", str(dtype))
            with self.subTest(dtype=dtype):
                self.assertIn("got 1", self.message(checks._check_range, y[1:, 2:], 2, 9))

    def test_the_ends_of_ranges(self) -> None:
        last = torch.tensor([2**31 - 1], dtype=torch.int32)
        checks._check_range("f: ids", last, -(2**31), 2**31)
        self.assertIn("got 2147483647 at [0]", self.message(checks._check_range, last, 0, 2**31 - 1))
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            x = torch.tensor([0.7, 0.9]).to(dtype)
            # The bounds are rounded as the numbers are.
            checks._check_range("f: ids", x, 0.7, 0.9)
        checks._check_range("f: ids", torch.tensor([float("nan"), 1]), 0, 1)
        self.assertIn("got inf", self.message(checks._check_range, torch.tensor([float("inf")]), 0, 1))
        checks._check_range("f: ids", None, 0, 1)

    def test_partitions(self) -> None:
        for dtype in (torch.int32, torch.int64, torch.uint8):
            x = torch.tensor([0, 2, 2, 7], dtype=dtype)
            checks._check_partition("f: ids", x, 7, True)
            checks._check_partition("f: ids", x[1:], 7, False)
            for wrong, has_start, problem in [
                (x, True, "to 8, got 7 last"),
                (x[1:], True, "from 0 to 7, got 2 first"),
                (x[[0, 2, 3, 1]], True, "from 0 to 7, got 2 after 7 at [3]"),
                (x[:3], False, "rise to 7, got 2 last"),
            ]:
                total = 8 if "to 8" in problem else 7
                self.assertIn(problem, self.message(checks._check_partition, wrong, total, has_start))
        negative = torch.tensor([-1, 7])
        self.assertIn("rise to 7, got -1 first", self.message(checks._check_partition, negative, 7, False))
        checks._check_partition("f: ids", negative[:0], 7, True)
        checks._check_partition("f: ids", None, 7, True)


BFLOAT16 = """
import torch
from runtime.checks import _check_dtypes

def check(dtype):
    try:
        _check_dtypes("f", (torch.float16, torch.bfloat16), x=torch.zeros(1, dtype=dtype))
    except TypeError as error:
        return str(error)

print(check(torch.float16))
print(check(torch.bfloat16))
from tilescript_worker import patch_bf16
patch_bf16.install()
print(check(torch.bfloat16))
"""


class BFloat16(unittest.TestCase):
    def test_the_interpreter_takes_it_only_as_the_worker_corrects_it(self) -> None:
        refused = "f: Triton's interpreter computes bfloat16 wrongly"
        # A process of its own, as the correction cannot be taken back.
        env = os.environ | {"TRITON_INTERPRET": "1"}
        result = subprocess.run([sys.executable, "-c", BFLOAT16], env=env, capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout.splitlines(), ["None", refused, "None"])

    def test_a_gpu_takes_it(self) -> None:
        with unittest.mock.patch.object(checks, "_INTERPRETED", False):
            checks._check_dtypes("f", (torch.bfloat16,), x=torch.zeros(1, dtype=torch.bfloat16))


if __name__ == "__main__":
    unittest.main()
