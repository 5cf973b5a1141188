"""How npm run bench -- gallery goes on: what it keeps of what was measured before, and what is left."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from gallery_merge import begin, left, replace

FACTS = {"device": "NVIDIA H200", "torch": "2.11.0", "triton": "3.6.0"}
KERNELS = {"softmax": {"softmax": "aa", "softmax_long": "bb"}, "gemm": {"gemm": "cc"}}


def row(part, ms):
    return {"part": part, "provider": "tilescript", "ms": ms}


def ratio(part, of):
    return {"part": part, "of": "eager", "ratio": of}


def recorded():
    result = begin(None, FACTS, KERNELS)
    for part, ms in (("softmax", 1.0), ("gemm", 2.0)):
        replace(result, part, {"kernels": KERNELS[part], "date": "2026-11-24"}, [row(part, ms), ratio(part, ms)])
    return result


class Merge(unittest.TestCase):
    def test_a_call_goes_on_where_the_last_one_ended(self) -> None:
        result = begin(None, FACTS, KERNELS)
        self.assertEqual(left(result, KERNELS), ["softmax", "gemm"])
        replace(result, "softmax", {"kernels": KERNELS["softmax"]}, [row("softmax", 1.0)])
        self.assertEqual(left(begin(result, FACTS, KERNELS), KERNELS), ["gemm"])
        self.assertEqual(left(recorded(), KERNELS), [])

    def test_a_part_of_other_kernels_is_measured_again(self) -> None:
        other = KERNELS | {"softmax": {"softmax": "aa", "softmax_long": "dd"}}
        result = begin(recorded(), FACTS, other)
        self.assertEqual(left(result, other), ["softmax"])
        self.assertEqual(result["rows"], [row("gemm", 2.0)])
        self.assertEqual(result["ratios"], [ratio("gemm", 2.0)])

    def test_a_part_that_no_longer_is_goes(self) -> None:
        result = begin(recorded(), FACTS, {"gemm": KERNELS["gemm"]})
        self.assertEqual(list(result["parts"]), ["gemm"])

    def test_other_devices_and_versions_are_refused(self) -> None:
        for key in FACTS:
            with self.assertRaisesRegex(ValueError, f"is of {key} .*, and this is another: write another file"):
                begin(recorded(), FACTS | {key: "another"}, KERNELS)

    def test_a_part_takes_the_place_of_its_earlier_figures_alone(self) -> None:
        result = recorded()
        about = {"kernels": KERNELS["gemm"], "date": "2026-11-25"}
        replace(result, "gemm", about, [row("gemm", 1.5), ratio("gemm", 1.1)])
        self.assertEqual(result["rows"], [row("softmax", 1.0), row("gemm", 1.5)])
        self.assertEqual(result["ratios"], [ratio("softmax", 1.0), ratio("gemm", 1.1)])
        self.assertEqual(result["parts"]["gemm"]["date"], "2026-11-25")
        self.assertEqual(result["parts"]["softmax"]["date"], "2026-11-24")


if __name__ == "__main__":
    unittest.main()
