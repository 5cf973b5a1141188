"""The warp-specialized kernel of a module, beside the plain one. Kernels that Triton interprets stand for both."""

import os
import tempfile
import unittest
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch

from tilescript_worker.device import Device
from tilescript_worker.modules import autotuner, autotuners, load
from tilescript_worker.specialized import specialized
from tilescript_worker.verify import verify

# The specialized kernel adds FAULT where its block is 32, and NOISE times the number of its launches.
MODULE = """
import itertools

import torch
import triton
import triton.language as tl

_LAUNCHES = {}
_count = itertools.count()


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (16, 32)], key=[])
@triton.jit
def twice_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < N) * 2, mask=i < N)


def _fitting_configs(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= named_args["N"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}) for block in (16, 32, 64)],
    key=[],
    prune_configs_by={"early_config_prune": _fitting_configs},
)
@triton.jit
def twice_specialized_kernel(x_ptr, y_ptr, N, noise, FAULT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + i, mask=i < N) * 2 + noise
    if BLOCK == 32:
        y += FAULT
    tl.store(y_ptr + i, y, mask=i < N)


def _is_specialized(*tensors):
    return all(x.shape[0] % 16 == 0 for x in tensors)


def _is_faster(label, key, specialized, plain):
    return False


def twice(x, *, out=None):
    y = x.new_empty(x.shape) if out is None else out
    N = x.shape[0]

    def grid(meta):
        return (triton.cdiv(N, meta["BLOCK"]),)

    def plain():
        assert not _LAUNCHES
        twice_kernel[grid](x, y, N)

    def specialized():
        twice_specialized_kernel[grid](x, y, N, NOISE * next(_count), FAULT=FAULT)

    if _is_specialized(x, y) and _is_faster("twice", (N,), specialized, plain):
        specialized()
    else:
        plain()
    return y


def reference_fn(x):
    return x * 2


kernel_fn = twice
"""

# An operator: its gradient has a specialized kernel, too, which adds GRADIENT_FAULT.
OPERATOR = """
@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (16, 32, 64, 128)], key=[])
@triton.jit
def gradient_specialized_kernel(dy_ptr, dx_ptr, N, FAULT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dx_ptr + i, tl.load(dy_ptr + i, mask=i < N) * 2 + FAULT, mask=i < N)


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return twice(x.detach()) if IS_FORWARD_SPECIALIZED else x.detach() * 2

    @staticmethod
    def backward(ctx, dy):
        dx = dy.new_empty(dy.shape)
        if not _is_specialized(dy, dx):
            return twice(dy.contiguous())
        grid = lambda meta: (triton.cdiv(dy.shape[0], meta["BLOCK"]),)
        gradient_specialized_kernel[grid](dy.contiguous(), dx, dy.shape[0], FAULT=GRADIENT_FAULT)
        return dx


def kernel_fn(x):
    return _Twice.apply(x)
"""


class Specialized(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "twice.py"

    def write(self, fault: str = "0.0", noise: str = "0.0") -> None:
        self.path.write_text(f"FAULT, NOISE = {fault}, {noise}\n{MODULE}")

    def write_operator(self, fault: str = "0.0", is_forward_specialized: bool = True) -> None:
        constants = (
            f"FAULT, NOISE = 0.0, 0.0\nGRADIENT_FAULT, IS_FORWARD_SPECIALIZED = {fault}, {is_forward_specialized}"
        )
        self.path.write_text(f"{constants}\n{MODULE}{OPERATOR}")

    def verify(self, config: "int | None", n: int = 64, gradients: "tuple[str, ...]" = ()) -> dict:
        def vector(name, role):
            tensor = {"name": name, "python": name, "role": role, "dtype": "float32", "shape": [n]}
            return tensor | {"layout": "contiguous", "fill": {"kind": "normal"}}

        request = {
            "module": str(self.path),
            "jits": ["twice_kernel"],
            "config": 1,
            "inputs": [vector("x", "in")],
            "outputs": [vector("y", "out")],
            "results": ["y"],
            "arguments": {},
            "seed": 3,
            "gradients": list(gradients),
            "tolerances": {name: {"rtol": 1e-5, "atol": 1e-5} for name in ("y", "x.grad")},
            "roundingUnit": 2**-24,
            "passOut": False,
            "repeats": 1,
            "reversible": True,
            "unordered": False,
            "specialized": config,
        }
        return verify(request, Device("interpreter", "cpu"))

    def test_each_config_that_fits_runs_and_is_compared(self) -> None:
        self.write()
        for n, of in ((64, 3), (32, 2)):
            for config in range(4):
                found = self.verify(config, n)
                self.assertEqual(found["specialized"], {"config": config % of, "of": of})
                self.assertEqual((found["problems"], [each["wrong"] for each in found["comparisons"]]), ([], [0]))

    def test_a_wrong_one_fails_the_case_and_is_named(self) -> None:
        self.write(fault="0.5")
        self.assertEqual(self.verify(0)["problems"], [])
        found = self.verify(1)
        named = r"the warp-specialized kernel, with its config 1 of 3 .*32.* differs from"
        self.assertRegex(found["problems"][0], named)
        self.assertEqual(found["comparisons"][0]["wrong"], 64)

    def test_two_runs_have_the_same_bits(self) -> None:
        self.write(noise="1e-6")
        (problem,) = self.verify(0)["problems"]
        self.assertRegex(problem, r"^the warp-specialized kernel, with .*: y differs between two runs")

    def test_none_is_run_that_nobody_asks_for_or_that_the_case_does_not_suit(self) -> None:
        self.write(fault="0.5")
        self.assertIsNone(self.verify(None)["specialized"])
        found = self.verify(1, n=40)
        self.assertEqual((found["specialized"], found["problems"]), (None, []))

    def test_gradients_are_compared_with_the_specialized_kernels_too(self) -> None:
        for fault, wrong, is_forward_specialized in (("0.0", 0, True), ("0.5", 64, True), ("0.5", 64, False)):
            self.write_operator(fault, is_forward_specialized)
            found = self.verify(3, gradients=("x",))
            self.assertEqual(found["specialized"], {"config": 3, "of": 4})
            compared = [(each["output"], each["wrong"]) for each in found["comparisons"]]
            self.assertEqual(compared, [("y", 0), ("x.grad", wrong)])
            plain = self.verify(None, gradients=("x",))
            self.assertEqual([each["wrong"] for each in plain["comparisons"]], [0, 0])

    def test_an_error_of_its_launch_names_it(self) -> None:
        self.write(fault="print")
        with self.assertRaises(Exception) as caught:
            self.verify(1)
        self.assertRegex(caught.exception.launched, "the warp-specialized kernel, with its config 1 of 3")

    def refuse(self, kernel: str) -> None:
        """Makes launches of a kernel fail as on a GPU that has no room for it."""

        class OutOfResources(Exception):
            """As Triton's."""

        def refuse(*_arguments, **_options):
            raise OutOfResources("shared memory")

        autotuner(getattr(load(str(self.path), ["twice_kernel"], 1), kernel)).fn.run = refuse

    def test_what_a_gpu_has_no_room_for_is_told_and_fails_nothing(self) -> None:
        self.write()
        self.refuse("twice_specialized_kernel")
        found = self.verify(2)
        self.assertRegex(found["specialized"]["misfit"], "config 2 of 3 .*: shared memory")
        self.assertEqual((found["problems"], [each["wrong"] for each in found["comparisons"]]), ([], [0]))

    def test_a_backward_pass_that_a_gpu_has_no_room_for_fails_nothing(self) -> None:
        self.write_operator()
        self.refuse("gradient_specialized_kernel")
        found = self.verify(2, gradients=("x",))
        self.assertRegex(found["specialized"]["misfit"], "config 2 of 4 .*: shared memory")
        self.assertEqual((found["problems"], [each["wrong"] for each in found["comparisons"]]), ([], [0, 0]))

    def test_the_plain_kernel_is_back_afterwards(self) -> None:
        self.write()
        module = load(str(self.path), ["twice_kernel"], 1)
        module._LAUNCHES["key"] = "a plan"
        with specialized(module, 2) as launches:
            module.kernel_fn(torch.ones(64))
        self.assertEqual(len(launches), 1)
        self.assertEqual(module._LAUNCHES, {})
        with specialized(module, 2) as others:
            pass
        module.kernel_fn(torch.ones(64))
        self.assertEqual((len(launches), others), (1, []))
        self.assertEqual([len(tuner.configs) for tuner in autotuners(module)], [1, 3])
        module = load(str(self.path), ["twice_kernel"], None)
        self.assertTrue(module._is_specialized(torch.ones(64)))

    def test_a_module_without_one(self) -> None:
        self.write()
        self.path.write_text(self.path.read_text().replace("_is_specialized", "_suits"))
        self.assertIsNone(self.verify(1)["specialized"])


if __name__ == "__main__":
    unittest.main()
