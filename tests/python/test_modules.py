"""Emitted modules that are loaded for one config after another."""

import os
import tempfile
import unittest
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch

from tilescript_worker.modules import autotuners, load
from tilescript_worker.protocol import RequestError

# Writes the block of the config that ran.
OPERATOR = """
import torch
import triton
import triton.language as tl

_LAUNCHES = {}


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (16, 32, 64)], key=[])
@triton.jit
def block_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, BLOCK)


@torch.library.custom_op("tilescript_tests::block", mutates_args=())
def block_op(like: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(like)
    block_kernel[(1,)](out)
    return out


@block_op.register_fake
def _(like):
    return torch.empty_like(like)


kernel_fn = block_op
"""


class Configs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "block.py"
        self.path.write_text(OPERATOR)

    def load(self, config):
        return load(str(self.path), ["block_kernel"], config)

    def ran(self, module) -> int:
        return int(module.kernel_fn(torch.zeros(1, dtype=torch.int32)))

    def test_an_operator_runs_the_config_that_was_asked_for_last(self) -> None:
        for config in (2, 0, 1, 1, 0, 2):
            self.assertEqual(self.ran(self.load(config)), (16, 32, 64)[config])

    def test_all_configs_come_back(self) -> None:
        self.load(1)
        (tuner,) = autotuners(self.load(None))
        self.assertEqual([config.kwargs["BLOCK"] for config in tuner.configs], [16, 32, 64])

    def test_what_was_remembered_goes_with_its_config(self) -> None:
        module = self.load(0)
        (tuner,) = autotuners(module)
        module._LAUNCHES["key"] = tuner.cache["key"] = "of the first config"
        self.load(0)
        self.assertIn("key", module._LAUNCHES)
        self.load(1)
        self.assertEqual((module._LAUNCHES, tuner.cache), ({}, {}))

    def test_a_config_that_is_not_there(self) -> None:
        for _ in range(2):
            with self.assertRaisesRegex(RequestError, "config 3 was asked for, the kernel has 3"):
                self.load(3)
        self.assertEqual(self.ran(self.load(2)), 64)

    def test_a_file_that_has_changed(self) -> None:
        self.assertEqual(self.ran(self.load(1)), 32)
        self.path.write_text(OPERATOR.replace("32", "128"))
        os.utime(self.path, ns=(0, 0))
        self.assertEqual(self.ran(self.load(1)), 128)


if __name__ == "__main__":
    unittest.main()
