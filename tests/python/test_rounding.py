"""What rounding alone may move a gradient by."""

import unittest

import torch

from tilescript_worker.rounding import MARGIN, rounding_reach, sample_seeds

FLOAT32 = torch.finfo(torch.float32).eps


def of_layer_norm(x: torch.Tensor, weight: torch.Tensor, above: torch.Tensor) -> list[torch.Tensor]:
    leaves = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    y = torch.nn.functional.layer_norm(leaves[0], [x.shape[1]], leaves[1], eps=1e-5)
    return list(torch.autograd.grad(y, leaves, above))


def reaches(m: int, n: int, dtype: torch.dtype = torch.float32) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    x, above = (torch.randn((m, n), generator=generator, dtype=torch.float64) for _ in "xy")
    weight = torch.randn(n, generator=generator, dtype=torch.float64)
    exact = of_layer_norm(x, weight, above)
    first, _ = sample_seeds(0)
    return exact, rounding_reach(lambda: of_layer_norm(x, weight, above), exact, torch.finfo(dtype).eps, first)


class Reach(unittest.TestCase):
    def test_what_cancels_keeps_the_rounding_of_its_terms(self) -> None:
        exact, moved = reaches(16, 1)
        self.assertLess(exact[0].abs().max().item(), 1e-10)
        self.assertGreater(moved[0].min().item(), 1e-6)
        self.assertLess(moved[0].max().item(), 1e-2)

    def test_what_does_not_cancel_moves_by_a_few_units(self) -> None:
        exact, moved = reaches(4, 100)
        scale = exact[0].abs().max().item()
        self.assertLess(moved[0].max().item(), 1e-5 * scale)
        self.assertGreater(moved[0].min().item(), 0)

    def test_more_samples_explain_what_the_first_ones_missed(self) -> None:
        generator = torch.Generator().manual_seed(2)
        sizes = [(4000, 8), (8,), (4000, 8)]
        x, weight, above = (torch.randn(each, generator=generator, dtype=torch.float64) for each in sizes)
        exact = of_layer_norm(x, weight, above)

        def reach(seeds: list[int]) -> torch.Tensor:
            return rounding_reach(lambda: of_layer_norm(x, weight, above), exact, FLOAT32, seeds)[0]

        error = reach([1_000]) / MARGIN
        first, more = map(reach, sample_seeds(0))
        self.assertGreater((error > first).sum().item(), 10)
        self.assertEqual((error > torch.maximum(first, more)).sum().item(), 0)

    def test_float64_moves_less(self) -> None:
        _, moved = reaches(4, 100, torch.float64)
        self.assertLess(moved[0].max().item(), 1e-12)

    def test_the_same_seed_gives_the_same(self) -> None:
        for first, second in zip(reaches(3, 5)[1], reaches(3, 5)[1], strict=True):
            self.assertTrue(torch.equal(first, second))

    def test_choosing_an_element_rounds_nothing(self) -> None:
        x = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)

        def gradients() -> list[torch.Tensor]:
            leaf = x.clone().requires_grad_()
            return list(torch.autograd.grad(leaf.amax(), [leaf]))

        # Else none would be the largest any more, and the gradient 0.
        self.assertLess(rounding_reach(gradients, gradients(), FLOAT32, range(8))[0].max().item(), 1e-5)

    def test_infinite_results_allow_nothing(self) -> None:
        x = torch.tensor([0.0, 1.0], dtype=torch.float64)

        def gradients() -> list[torch.Tensor]:
            leaf = x.clone().requires_grad_()
            return list(torch.autograd.grad(leaf.log().sum(), [leaf]))

        moved = rounding_reach(gradients, gradients(), FLOAT32, range(8))[0]
        self.assertEqual(moved[0].item(), 0.0)
        self.assertLess(moved[1].item(), 1e-5)


if __name__ == "__main__":
    unittest.main()
