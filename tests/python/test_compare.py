"""The verdict on one output."""

import math
import unittest

import torch

from tilescript_worker.compare import compare, magnitudes

TIGHT = {"rtol": 1e-5, "atol": 1e-5}


def scale(values: torch.Tensor) -> float:
    """The scale of all elements, where they have one axis."""
    return magnitudes(values).expand(values.shape)[0].item()


class Compare(unittest.TestCase):
    def test_equal_with_nan_and_infinities(self) -> None:
        values = torch.tensor([1.0, math.nan, math.inf, -math.inf])
        result = compare("out", values, values.double(), TIGHT)
        self.assertEqual((result["wrong"], result["maxAbsDiff"]), (0, 0.0))

    def test_nan_where_the_reference_has_none(self) -> None:
        result = compare("out", torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]).double(), TIGHT)
        self.assertEqual(result["wrong"], 1)
        self.assertEqual(result["worst"]["index"], [1])
        self.assertEqual(result["worst"]["got"], "nan")

    def test_number_where_the_reference_has_nan(self) -> None:
        self.assertEqual(compare("out", torch.tensor([1.0]), torch.tensor([math.nan]).double(), TIGHT)["wrong"], 1)

    def test_infinity_of_the_other_sign(self) -> None:
        self.assertEqual(
            compare("out", torch.tensor([-math.inf]), torch.tensor([math.inf]).double(), TIGHT)["wrong"], 1
        )

    def test_overflow_of_the_output_dtype_is_right(self) -> None:
        got = torch.tensor([math.inf], dtype=torch.float16)
        self.assertEqual(compare("out", got, torch.tensor([1e6]).double(), TIGHT)["wrong"], 0)

    def test_finite_where_infinity_is_due(self) -> None:
        self.assertEqual(compare("out", torch.tensor([3.0]), torch.tensor([math.inf]).double(), TIGHT)["wrong"], 1)

    def test_integers_of_64_bits(self) -> None:
        large = 2**60
        for dtype in (torch.int64, torch.uint64):
            expected = torch.tensor([large, 3], dtype=dtype)
            got = torch.tensor([large + 1, 3], dtype=dtype)
            self.assertEqual(compare("out", expected, expected, TIGHT)["wrong"], 0)
            result = compare("out", got, expected, TIGHT)
            self.assertEqual((result["wrong"], result["maxAbsDiff"]), (1, 1.0))
            self.assertEqual((result["worst"]["got"], result["worst"]["expected"]), (str(large + 1), str(large)))
        ends = torch.tensor([-(2**63), 2**63 - 1])
        self.assertEqual(compare("out", ends.flip(0), ends, TIGHT)["wrong"], 2)

    def test_few_integers_may_be_steps_off(self) -> None:
        step = {"rtol": 0.0, "atol": 1.0, "share": 0.01}
        expected = torch.zeros(1000, dtype=torch.int8)
        for off, differing, wrong in [(1, 10, 0), (1, 11, 11), (2, 1, 1), (-1, 1, 0)]:
            got = expected.clone()
            got[:differing] = off
            self.assertEqual(compare("out", got, expected, step)["wrong"], wrong, (off, differing))

    def test_integers_wrap_to_the_dtype_of_the_output(self) -> None:
        got = torch.tensor([-56], dtype=torch.int8)
        self.assertEqual(compare("out", got, torch.tensor([200]), TIGHT)["wrong"], 0)

    def test_tolerance_is_relative_and_absolute(self) -> None:
        expected = torch.tensor([1000.0, 0.0]).double()
        self.assertEqual(compare("out", torch.tensor([1000.009, 0.9e-5]), expected, TIGHT)["wrong"], 0)
        self.assertEqual(compare("out", torch.tensor([1000.02, 1.1e-5]), expected, TIGHT)["wrong"], 2)

    def test_tolerance_as_a_part_of_the_root_mean_square(self) -> None:
        expected = torch.tensor([30.0, 0.0, -40.0, 0.0]).double()
        within = {"rtol": 0.0, "atol": 0.0, "rms": 0.01}
        self.assertEqual(compare("out", torch.tensor([30.2, 0.2, -40.2, 0.2]), expected, within)["wrong"], 0)
        self.assertEqual(compare("out", torch.tensor([30.3, 0.3, -40.3, 0.3]), expected, within)["wrong"], 4)

    def test_magnitude_leaves_out_a_constant_that_fills(self) -> None:
        values = torch.tensor([3.0, -4.0, 0.0, math.inf, math.nan]).double()
        plain = math.sqrt(25 / 3)
        self.assertAlmostEqual(scale(values), plain)
        fill = torch.full((5,), -1e9).double()
        self.assertAlmostEqual(scale(torch.cat([values, fill])), plain)
        # One large element is a value like the others.
        self.assertGreater(scale(torch.cat([values, fill[:1]])), 1e8)
        self.assertAlmostEqual(scale(fill), 1e9)
        self.assertEqual(magnitudes(torch.zeros(0)).numel(), 0)

    def test_rows_and_columns_have_scales_of_their_own(self) -> None:
        rows = torch.tensor([[30.0, -40.0], [0.3, 0.4], [math.inf, 0.5]]).double()
        found = magnitudes(rows).expand(3, 2)
        whole = math.sqrt((2500 + 0.25 + 0.25) / 5)
        column = math.sqrt((1600 + 0.16 + 0.25) / 3)
        for place, value in {(0, 0): 50 / math.sqrt(2), (0, 1): 50 / math.sqrt(2), (1, 1): column}.items():
            self.assertAlmostEqual(found[place].item(), value)
        self.assertGreater(column, whole)
        self.assertTrue(torch.allclose(magnitudes(rows.T).expand(2, 3), found.T))

    def test_a_large_row_keeps_the_error_of_its_terms_and_a_small_one_does_not(self) -> None:
        expected = torch.tensor([[30.0, 0.0, -40.0]] + 99 * [[0.3, 0.0, -0.4]]).double()
        within = {"rtol": 0, "atol": 0, "rms": 0.01}
        moved = expected.float().clone()
        moved[0, 1] += 0.2
        self.assertEqual(compare("out", moved, expected, within)["wrong"], 0)
        moved[5, 1] += 0.2
        self.assertEqual(compare("out", moved, expected, within)["wrong"], 1)

    def test_integers_are_exact(self) -> None:
        got, expected = torch.tensor([7, 8]), torch.tensor([7, 9])
        result = compare("out", got, expected, {"rtol": 1.0, "atol": 1.0})
        self.assertEqual((result["wrong"], result["worst"]["index"]), (1, [1]))

    def test_worst_is_a_wrong_element_and_shows_its_neighbors(self) -> None:
        expected = torch.arange(30.0).reshape(5, 6).double()
        got = expected.float().clone()
        got[3, 4] += 1
        worst = compare("out", got, expected, TIGHT)["worst"]
        self.assertEqual(worst["index"], [3, 4])
        self.assertEqual(worst["around"]["start"], [1, 2])
        self.assertEqual(worst["around"]["got"][2], [20.0, 21.0, 23.0, 23.0])

    def test_shapes_that_differ(self) -> None:
        result = compare("out", torch.zeros(2), torch.zeros(3).double(), TIGHT)
        self.assertIn("has shape [2]", result["problem"])

    def test_empty_and_scalar_outputs(self) -> None:
        self.assertEqual(compare("out", torch.zeros(0, 3), torch.zeros(0, 3).double(), TIGHT)["wrong"], 0)
        self.assertEqual(compare("out", torch.tensor(1.0), torch.tensor(2.0).double(), TIGHT)["worst"]["index"], [])


if __name__ == "__main__":
    unittest.main()
