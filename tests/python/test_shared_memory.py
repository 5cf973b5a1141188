"""The overlap of tensors, beside a comparison of all addresses."""

import random
import unittest

import torch

from tilescript_worker.shared_memory import _addresses, shared_pairs

MEMORY = torch.zeros(400)


def view(draw: random.Random) -> torch.Tensor:
    rank = draw.randint(1, 3)
    shape = [draw.randint(1, 4) for _ in range(rank)]
    strides = [draw.choice([0, 1, 2, 3, 4, 5, 8, 12, 16]) for _ in range(rank)]
    return MEMORY.as_strided(shape, strides, draw.randint(0, 60))


class Overlap(unittest.TestCase):
    def test_agrees_with_all_addresses(self) -> None:
        draw, overlapping = random.Random(1), 0
        for _ in range(4000):
            x, y = view(draw), view(draw)
            expected = bool(torch.isin(_addresses(x), _addresses(y)).any())
            with self.subTest(x=(x.shape, x.stride(), x.storage_offset()), y=(y.shape, y.stride(), y.storage_offset())):
                self.assertEqual(("x", "y") in shared_pairs({"x": x}, {"y": y}), expected)
            overlapping += expected
        self.assertGreater(overlapping, 400)


if __name__ == "__main__":
    unittest.main()
