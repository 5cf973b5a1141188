"""Limits of a launch that wrappers check; on Triton's interpreter."""

import unittest
import warnings

import columnSums
import copiedBlocks
import copiedRows
import copiedThroughPointers
import positiveCounts
import torch
import tunedRows


def rows(count):
    """Ones with many rows in the memory of one."""
    return torch.ones(1).expand(count)


class Grids(unittest.TestCase):
    def test_a_grid_within_the_limits_is_launched(self):
        for module in (copiedRows, tunedRows):
            torch.testing.assert_close(module.kernel_fn(rows(3)), torch.ones(3))

    def test_a_long_axis_is_refused_by_name(self):
        with self.assertRaises(ValueError) as raised:
            copiedRows.kernel_fn(rows(65536))
        self.assertEqual(
            str(raised.exception),
            "copied_rows: a GPU launches at most (2147483647, 65535, 65535) programs, got (1, 65536)",
        )

    def test_the_config_decides_the_grid(self):
        with self.assertRaisesRegex(ValueError, r"a GPU launches at most .*, got \(1, 70000\)"):
            tunedRows.kernel_fn(rows(140000))

    def test_the_limits_themselves_are_allowed(self):
        grid = (2**31 - 1, 65535, 65535)
        self.assertIs(copiedRows._checked_grid("k", grid), grid)
        for axis in range(3):
            longer = tuple(size + (i == axis) for i, size in enumerate(grid))
            with self.assertRaisesRegex(ValueError, "k: a GPU launches at most"):
                copiedRows._checked_grid("k", longer)


class Determinism(unittest.TestCase):
    x = torch.ones(4, 20)

    def tearDown(self):
        torch.use_deterministic_algorithms(False)

    def test_sums_of_floats_are_refused(self):
        torch.use_deterministic_algorithms(True)
        with self.assertRaises(RuntimeError) as raised:
            columnSums.kernel_fn(self.x)
        self.assertEqual(
            str(raised.exception),
            "column_sums has float atomics, whose order differs from run to run, but "
            "torch.use_deterministic_algorithms(True) is set; set it to False for this "
            "call, or pass warn_only=True",
        )

    def test_sums_of_floats_only_warn_on_request(self):
        torch.use_deterministic_algorithms(True, warn_only=True)
        with self.assertWarnsRegex(UserWarning, "column_sums has float atomics") as warned:
            total = columnSums.kernel_fn(self.x)
        self.assertEqual(warned.filename, __file__)
        torch.testing.assert_close(total, torch.full((20,), 4.0))

    def test_other_calls_are_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            columnSums.kernel_fn(self.x)
            torch.use_deterministic_algorithms(True)
            positiveCounts.kernel_fn(self.x)


class Descriptors(unittest.TestCase):
    def test_a_store_does_not_reach_behind_a_row(self):
        padded = torch.zeros(32, 480, dtype=torch.int8)
        x = torch.ones(32, 480, dtype=torch.int8)
        copiedBlocks.kernel_fn(x[:, :464], out=padded[:, :464])
        self.assertEqual(padded.sum(), 32 * 464)
        with self.assertRaisesRegex(
            ValueError, "out must have rows and strides of a multiple of 16 bytes, got 466 elements"
        ):
            copiedBlocks.kernel_fn(x[:, :466], out=padded[:, :466])

    def test_descriptors_of_pointers_need_whole_rows_and_aligned_memory(self):
        x, y = torch.ones(16, 16), torch.zeros(16, 16)
        call = copiedThroughPointers.kernel_fn
        call(x, y, M=16, N=12, stride=16)
        self.assertEqual(y.sum(), 16 * 12)
        for numbers in ({"N": 12, "stride": 15}, {"N": 13, "stride": 16}):
            with self.assertRaisesRegex(ValueError, r"got 1[35] elements of 4 bytes"):
                call(x, y, M=16, **numbers)
        with self.assertRaisesRegex(ValueError, "must start at a multiple of 16 bytes"):
            call(x.flatten()[1:], y, M=15, N=12, stride=16)


if __name__ == "__main__":
    unittest.main()
