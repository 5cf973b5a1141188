"""What the worker compares, as far as that needs no kernel."""

import types
import unittest

import torch

from tilescript_worker.device import Device
from tilescript_worker.verify import _reference

REQUEST = {"results": ["y"], "arguments": {}}


def pooled(x):
    return torch.nn.functional.max_pool3d(x, 2)


class References(unittest.TestCase):
    def reference(self, x, y):
        module = types.SimpleNamespace(reference_fn=pooled)
        return _reference(module, {"x": x}, {"y": y}, REQUEST, Device("interpreter", "cpu"))

    def test_what_pytorch_refuses_of_an_empty_tensor_is_as_the_kernel_has_it(self) -> None:
        x, y = torch.empty(0, 0, 4, 4, 4), torch.empty(0, 0, 2, 2, 2)
        with self.assertRaisesRegex(RuntimeError, "non-batch dimension"):
            pooled(x)
        self.assertIs(self.reference(x, y)[0]["y"], y)

    def test_what_it_refuses_of_another_is_an_error(self) -> None:
        with self.assertRaises(RuntimeError):
            self.reference(torch.ones(1, 1, 1, 1, 1), torch.ones(1))


if __name__ == "__main__":
    unittest.main()
