"""What is measured beside a kernel, as far as that needs no GPU."""

import types
import unittest

import torch

from tilescript_worker.bench import baseline, count_flops
from tilescript_worker.device import Device
from tilescript_worker.prewarm import prewarm
from tilescript_worker.protocol import RequestError


def reference_fn(a, b):
    return torch.matmul(a, b)


def provider_right(a, b):
    return torch.nn.functional.linear(a, b.T)


def provider_wrong(a, b):
    return torch.matmul(a, b) + 1


MODULE = types.SimpleNamespace(reference_fn=reference_fn, provider_right=provider_right, provider_wrong=provider_wrong)
REQUEST = {"results": ["c"], "tolerances": {"c": {"rtol": 1e-4, "atol": 1e-4}}}


class Ways(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.arguments = {"a": torch.randn(7, 5), "b": torch.randn(5, 3)}

    def test_names(self) -> None:
        self.assertIs(baseline("eager", MODULE, REQUEST, self.arguments), reference_fn)
        self.assertIs(baseline("right", MODULE, REQUEST, self.arguments), provider_right)

    def test_a_wrong_result_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "21 of 21 elements of c are not the reference's"):
            baseline("wrong", MODULE, REQUEST, self.arguments)

    def test_operations_of_the_reference(self) -> None:
        self.assertEqual(count_flops(MODULE, self.arguments), 2 * 7 * 5 * 3)
        softmax = types.SimpleNamespace(reference_fn=lambda a: torch.softmax(a, -1))
        self.assertEqual(count_flops(softmax, self.arguments), 0)


class Prewarm(unittest.TestCase):
    def test_the_interpreter_is_refused(self) -> None:
        with self.assertRaisesRegex(RequestError, "needs the GPU that will run the kernel"):
            prewarm({}, Device("interpreter", "cpu"))


if __name__ == "__main__":
    unittest.main()
