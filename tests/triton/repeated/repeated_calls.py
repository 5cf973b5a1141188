"""Repeated calls without a GPU: Triton compiles for one, and its own launcher calls a stand-in of the CUDA driver.

The wrappers refuse tensors of the CPU, so a function takes their place which launches what they launch. PyTorch needs a
driver to say which GPU and which stream are current; here it says GPU None, as CPU tensors do, and stream 7.
"""

import ctypes
import gc
import itertools
import unittest
import unittest.mock
import weakref

import torch
import triton

torch.cuda.is_available = lambda: True
torch.cuda.current_device = lambda: 0
torch.cuda.get_device_capability = lambda *_: (9, 0)
torch._C._cuda_getCurrentRawStream = lambda _: 7
torch._C._cuda_getDevice = lambda: None

import kept  # noqa: E402
import scaled  # noqa: E402
import summed  # noqa: E402

DRIVER = ctypes.CDLL("libcuda.so.1")
KEPT = {
    "launches": ctypes.c_long,
    "arguments": ctypes.c_uint64 * 32,
    "grid": ctypes.c_uint * 3,
    "threads": ctypes.c_uint,
    "shared": ctypes.c_uint,
    "attributes": ctypes.c_int,
    "stream": ctypes.c_void_p,
    "function": ctypes.c_void_p,
}


def last():
    """The last launch: the number of launches so far, and everything that the driver was told."""
    found = {name: kind.in_dll(DRIVER, name) for name, kind in KEPT.items()}
    read = {name: list(each) if hasattr(each, "__len__") else each.value for name, each in found.items()}
    return read.pop("launches"), read


def count(arguments):
    """Has the driver keep as many arguments of a kernel as it has."""
    ctypes.c_int.in_dll(DRIVER, "counted").value = arguments
    ctypes.memset(KEPT["arguments"].in_dll(DRIVER, "arguments"), 0, 32 * 8)


def launching(module, launch, calls):
    """Takes the place of the wrapper, and counts its calls."""

    def checked(*arguments, **outputs):
        calls.append(1)
        return launch(module, *arguments, **outputs)

    return checked


def launch_sum(module, x, y, *, out=None):
    z = torch.empty_like(x) if out is None else out

    def grid(meta):
        return (triton.cdiv(x.shape[0], meta["BLOCK"]),)

    module._launch(module.summed_kernel, grid, (x, y, z), (x.shape[0],), x.device, BLOCK=128)
    return z


def launch_copies(module, x, into, *, out=None):
    y = torch.empty_like(x) if out is None else out

    def grid(meta):
        return (triton.cdiv(x.shape[0], meta["BLOCK"]),)

    module._launch(module.kept_kernel, grid, (x, into, y), (x.shape[0],), x.device, BLOCK=128)
    return y


def launch_scale(module, x, factor, shift, *, out=None):
    y = x.new_empty(x.shape) if out is None else out
    m, n = x.shape

    def grid(meta):
        return (m, triton.cdiv(n, meta["BLOCK"]))

    numbers = (factor, shift, n, *x.stride(), *y.stride())
    module._launch(module.scaled_kernel, grid, (x, y), numbers, x.device, x.dtype, m, BLOCK=64)
    return y


class Repeated(unittest.TestCase):
    def setUp(self):
        self.calls = []
        # The stand-in of the driver has no graphs.
        torch.cuda.is_current_stream_capturing = lambda: False
        for module, launch in ((summed, launch_sum), (scaled, launch_scale), (kept, launch_copies)):
            module._LAUNCHES.clear()
            module._checked = launching(module, launch, self.calls)
        count(0)
        self.x, self.y, self.out = (torch.randn(1000) for _ in range(3))

    def checked(self, module, *arguments, **outputs):
        """How many calls of the wrapper a call needs; it launches once."""
        before, calls = last()[0], len(self.calls)
        module._cached(*arguments, **outputs)
        self.assertEqual(last()[0], before + 1)
        return len(self.calls) - calls

    def settle(self, *arguments, module=summed, **outputs):
        """The first call leaves a key, the second a plan."""
        self.assertEqual([self.checked(module, *arguments, **outputs) for _ in range(3)], [1, 1, 0])

    def test_launches_are_those_of_triton(self):
        for n in (1000, 1024, 127, 128):
            x, y, out = (torch.randn(n) for _ in range(3))
            count(4)
            launches = []
            for _ in range(4):
                summed._cached(x, y, out=out)
                launches.append(last()[1])
            self.assertEqual(launches, launches[:1] * 4)
            self.assertEqual(launches[0]["arguments"][:3], [x.data_ptr(), y.data_ptr(), out.data_ptr()])
            self.assertEqual(launches[0]["arguments"][3] % 2**32, n)
            self.assertEqual((launches[0]["grid"], launches[0]["stream"]), ([-(-n // 128), 1, 1], 7))
            result = summed._cached(x, y), summed._cached(x, y), summed._cached(x, y)
            self.assertEqual(last()[1]["arguments"][2], result[-1].data_ptr())

    def test_launches_with_numbers_and_strides(self):
        for dtype, transposed, factor, shift in itertools.product(
            (torch.float16, torch.float32), (False, True), (0.5, -0.0, 3.0), (2, -7)
        ):
            x = torch.randn(48, 80, dtype=dtype)
            x = x.T if transposed else x
            count(6)
            launches = []
            for _ in range(4):
                scaled._cached(x, factor, shift)
                launches.append({**last()[1], "arguments": [each % 2**32 for each in last()[1]["arguments"][2:6]]})
            self.assertEqual(launches, launches[:1] * 4)
            self.assertEqual(self.checked(scaled, x, factor, shift), 0)

    def test_addresses_are_those_of_the_call(self):
        count(4)
        self.settle(self.x, self.y, out=self.out)
        for x, y, out in itertools.permutations((self.x, self.y, self.out)):
            self.assertEqual(self.checked(summed, x, y, out=out), 0)
            self.assertEqual(last()[1]["arguments"][:3], [x.data_ptr(), y.data_ptr(), out.data_ptr()])

    def test_numbers_are_told_apart(self):
        x = torch.randn(16, 16)
        numbers = [(0.0, 1), (-0.0, 1), (1.0, 1), (1, 1), (float("nan"), 1), (0.0, 2)]
        for each in numbers:
            self.settle(x, *each, module=scaled)
        for each in numbers:
            self.assertEqual(self.checked(scaled, x, *each), 0)
        self.assertEqual(self.checked(scaled, x, 0.0, True), 1)

        class Named(float):
            def __repr__(self):
                return "0.0"

        self.assertEqual(self.checked(scaled, x, Named(7.0), 1), 1)
        self.assertEqual(self.checked(scaled, x, True, 1), 1)

    def test_what_the_checks_depend_on_is_compared(self):
        x = torch.randn(64, 64)
        self.settle(x, 1.0, 1, module=scaled)
        others = {
            "shape": torch.randn(64, 32),
            "strides": torch.randn(64, 64).T,
            "dtype": torch.randn(64, 64).half(),
            "requires_grad": torch.randn(64, 64, requires_grad=True),
            "negative": torch._neg_view(torch.randn(64, 64)),
            "type": torch.nn.Parameter(torch.randn(64, 64), requires_grad=False),
        }
        for name, other in others.items():
            with self.subTest(name):
                self.assertEqual(self.checked(scaled, other, 1.0, 1), 1)
        self.assertEqual(self.checked(scaled, torch.randn(64, 64), 1.0, 1), 0)

    def test_gradients_that_are_recorded(self):
        tracked = torch.randn(1000, requires_grad=True)
        with torch.no_grad():
            self.settle(tracked, self.y)
        self.assertEqual(self.checked(summed, tracked, self.y), 1)
        with torch.no_grad():
            self.assertEqual(self.checked(summed, tracked, self.y), 0)

    def test_a_call_within_a_call_keeps_its_own_plan_only(self):
        tracked, inner = torch.randn(1000, requires_grad=True), summed._checked

        def recording(x, y, *, out=None):
            if torch.is_grad_enabled() and x.requires_grad:
                with torch.no_grad():
                    return summed._cached(x, y, out=out)
            return inner(x, y, out=out)

        summed._checked = recording
        for _ in range(5):
            summed._cached(tracked, self.y)
        (plans,) = [kept for key, kept in summed._LAUNCHES.items() if isinstance(key[0], torch.Size)]
        self.assertEqual(
            [needs_no_grad for _, (*_, needs_no_grad), *_ in plans],
            [True],
            "only the call without gradients has a plan",
        )

    def test_a_call_while_a_graph_is_captured_leaves_no_plan(self):
        torch.cuda.is_current_stream_capturing = lambda: True
        for _ in range(4):
            self.assertEqual(self.checked(summed, self.x, self.y), 1)

    def test_a_call_that_launches_twice(self):
        def twice(*arguments, **outputs):
            self.calls.append(1)
            launch_sum(summed, *arguments, **outputs)
            return launch_sum(summed, *arguments, **outputs)

        summed._checked = twice
        for _ in range(4):
            summed._cached(self.x, self.y)
        self.assertEqual(len(self.calls), 4)

    def test_a_call_that_fails(self):
        def failing(*arguments, **outputs):
            launch_sum(summed, *arguments, **outputs)
            raise ValueError

        summed._checked = failing
        for _ in range(3):
            self.assertRaises(ValueError, summed._cached, self.x, self.y)
        self.assertIsNone(summed._RECORDING.launches)

    def test_modes_and_tangents(self):
        from torch.utils.flop_counter import FlopCounterMode

        self.settle(self.x, self.y)
        with FlopCounterMode(display=False):
            self.assertEqual(self.checked(summed, self.x, self.y), 1)
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            self.assertEqual(self.checked(summed, self.x, self.y, out=self.out), 1)
        with torch.autograd.forward_ad.dual_level():
            self.assertEqual(self.checked(summed, self.x, self.y), 1)
        with torch.inference_mode():
            self.assertEqual(self.checked(summed, self.x, self.y), 1)
        self.assertEqual(self.checked(summed, self.x, self.y), 0)

    def test_another_gpu(self):
        for gpus in (1, 2):
            summed._LAUNCHES.clear()
            with unittest.mock.patch.object(torch.cuda, "device_count", lambda count=gpus: count):
                self.settle(self.x, self.y)
            with unittest.mock.patch.object(torch._C, "_cuda_getDevice", lambda: 1):
                self.assertEqual(self.checked(summed, self.x, self.y), gpus - 1)

    def test_alignment(self):
        x = torch.randn(1004)
        self.settle(x[:1000], self.y, out=self.out)
        self.assertEqual(self.checked(summed, x[4:], self.y, out=self.out), 0)
        self.assertEqual(self.checked(summed, x[1:1001], self.y, out=self.out), 1)
        for _ in range(4):
            self.assertEqual(self.checked(summed, x[1:1001], self.y, out=torch.empty(1000)), 1)

    def test_overlap(self):
        buffer = torch.randn(3000)
        self.settle(buffer[:1000], self.y, out=buffer[1000:2000])
        for start in (1000, 1004, 2000):
            self.assertEqual(self.checked(summed, buffer[:1000], self.y, out=buffer[start : start + 1000]), 0)
        for start in (0, 4, 500, 996):
            self.assertEqual(self.checked(summed, buffer[:1000], self.y, out=buffer[start : start + 1000]), 1)
            self.assertEqual(self.checked(summed, self.y, buffer[start : start + 1000], out=buffer[:1000]), 1)

    def test_what_a_pointer_shares_is_checked(self):
        buffer = torch.randn(3000)
        self.settle(buffer[:1000], buffer[1000:2000], module=kept, out=self.out)
        for start, calls in ((2000, 0), (1000, 0), (996, 1), (0, 1)):
            into = buffer[start : start + 1000]
            self.assertEqual(self.checked(kept, buffer[:1000], into, out=self.out), calls)
        self.assertEqual(self.checked(kept, buffer[:1000], buffer[1000:2000], out=buffer[1500:2500]), 1)

    def test_versions_count_up(self):
        self.settle(self.x, self.y, out=self.out)
        before = self.out._version
        self.assertEqual(self.checked(summed, self.x, self.y, out=self.out), 0)
        self.assertEqual(self.out._version, before + 1)
        self.settle(self.x, self.y, module=kept)
        before = self.y._version
        self.assertEqual(self.checked(kept, self.x, self.y), 0)
        self.assertEqual(self.y._version, before + 1)

    def test_hooks_hear_of_launches(self):
        runtime = triton.knobs.runtime
        self.settle(self.x, self.y)
        for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            heard = []

            def hear(metadata, heard=heard):
                heard.append(metadata.get()["name"])

            hook.add(hear)
            self.assertEqual(self.checked(summed, self.x, self.y), 1)
            hook.remove(hear)
            self.assertEqual(self.checked(summed, self.x, self.y), 0)
            self.assertEqual(heard, ["summed_kernel"])
        with unittest.mock.patch.object(runtime, "launch_enter_hook", lambda metadata: heard.append(1)):
            self.assertEqual(self.checked(summed, self.x, self.y), 1)
        self.assertEqual(len(heard), 2)

    def test_a_replaced_kernel(self):
        self.settle(self.x, self.y)
        other = triton.JITFunction(summed.summed_kernel.fn)
        with unittest.mock.patch.object(summed, "summed_kernel", other):
            self.settle(self.x, self.y, out=torch.empty(1000))
            self.assertEqual(self.checked(summed, self.x, self.y), 1)

    def test_what_is_no_tensor_goes_to_the_checks(self):
        self.settle(self.x, self.y)
        self.settle(self.x, self.y, out=self.out)
        given = []
        summed._checked = lambda *arguments, **outputs: given.append((arguments, outputs))
        nested = torch.nested.nested_tensor([self.x])
        wrong = [(None, self.y), (5, self.y), (nested, self.y), (self.x, [1]), (self.x, nested)]
        wrong += [(self.x, other) for other in (self.y.to_sparse(), self.y.to_mkldnn(), self.y[:5], self.y[None])]
        for arguments in wrong:
            summed._cached(*arguments)
        for out in (5, nested, self.y.to_mkldnn()):
            summed._cached(self.x, self.y, out=out)
        self.assertEqual(len(given), len(wrong) + 3)
        self.assertNotIn(None, summed._LAUNCHES, "nothing is kept without a key")

    def test_memory_is_bounded_and_tensors_are_let_go(self):
        x = torch.randn(1000)
        self.settle(x, self.y, out=self.out)
        held = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(held())
        self.assertIsNone(summed._RECORDING.launches)
        for launch in (launch_sum, lambda *_, **__: None):
            summed._checked = launching(summed, launch, self.calls)
            for n in range(1, 5000):
                summed._cached(*2 * [torch.empty(n)])
                self.assertLessEqual(len(summed._LAUNCHES), 4096)

    def test_plans_of_a_key_are_bounded(self):
        for stride in range(1, 30):
            x = torch.empty(64 * 64 * stride)[::stride][: 64 * 64].view(64, 64)
            for _ in range(3):
                scaled._cached(x, 1.0, 1)
        (plans,) = [kept for key, kept in scaled._LAUNCHES.items() if isinstance(key[0], torch.Size)]
        self.assertEqual(len(plans), 8)

    def test_launchers_of_another_form_are_not_called(self):
        summed._cached(self.x, self.y)
        binary, grid, constants = next(each for each in summed._LAUNCHES.values() if each)
        make = lambda: summed._launcher(binary, grid, 3, (1000, *constants), 0)  # noqa: E731
        self.assertIsNotNone(make())
        launcher, kind = binary.run, type(binary.run)
        for name in ("global_scratch_size", "profile_scratch_size"):
            with unittest.mock.patch.object(launcher, name, 8):
                self.assertIsNone(make(), name)
        with unittest.mock.patch.object(launcher, "launch", lambda *given: None):
            self.assertIsNone(make(), "a launcher in Python")
        with unittest.mock.patch.object(kind, "__call__", lambda self, *given: self.launch(*given[:3], *given[4:])):
            self.assertIsNone(make(), "a launcher without a stream")
        with unittest.mock.patch.object(kind, "__call__", lambda self, *given: self.launch(*given, 1)):
            self.assertIsNone(make(), "a launcher with another last argument")

    def test_a_launch_that_is_never_repeated_is_not_asked_about_again(self):
        for answer in ({"return_value": None}, {"side_effect": AttributeError}):
            summed._LAUNCHES.clear()
            with unittest.mock.patch.object(summed, "_launcher", **answer) as asked:
                self.assertEqual([self.checked(summed, self.x, self.y) for _ in range(5)], [1] * 5)
            self.assertEqual(asked.call_count, 1)


if __name__ == "__main__":
    unittest.main()
