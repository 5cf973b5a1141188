"""Repeated calls on a GPU: each must do what the wrapper with all its checks does, and skip them where it may.

Runs in a folder that holds emitted modules and nothing else of TileScript.
"""

import contextlib
import gc
import itertools
import threading
import unittest
import unittest.mock
import weakref

import dropout
import gemm
import softmax
import torch
import triton
import vector_add

MODULES = (vector_add, softmax, gemm, dropout)


@contextlib.contextmanager
def checked_calls(module):
    """The calls that go through the checks, as a list that grows."""
    calls, checked = [], module._checked

    def counted(*args, **options):
        calls.append(1)
        return checked(*args, **options)

    module._checked = counted
    try:
        yield calls
    finally:
        module._checked = checked


def floats(*shape, **options):
    return torch.randn(*shape, device="cuda", **options)


def settle(function, *args, **options):
    """Calls twice: the first call leaves a key, the second a plan."""
    for _ in range(2):
        function(*args, **options)


class Repeated(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        for module in MODULES:
            module._LAUNCHES.clear()

    def fast(self, module, *args, **options):
        """The result of a call that must skip the checks."""
        with checked_calls(module) as calls:
            result = module.kernel_fn(*args, **options)
        self.assertEqual(len(calls), 0, "the call went through the checks")
        return result

    def slow(self, module, *args, **options):
        """The result of a call that must go through the checks."""
        with checked_calls(module) as calls:
            result = module.kernel_fn(*args, **options)
        self.assertEqual(len(calls), 1, "the call skipped the checks")
        return result

    def equal(self, got, expected):
        self.assertTrue(torch.equal(got, expected), f"{got} is not {expected}")

    def test_is_installed(self):
        for module in MODULES:
            self.assertTrue(hasattr(module.kernel_fn, "__wrapped__"), module.__name__)
            self.assertIs(module.kernel_fn, getattr(module, module.__name__))

    def test_sizes(self):
        sizes = (1, 5, 1023, 1024, 1025, 100_000, 3 * 2**20 + 7)
        for turn, n in itertools.product(range(4), sizes):
            x, y, out = floats(n), floats(n), floats(n)
            call = self.fast if turn > 1 else lambda module, *args, **options: module.kernel_fn(*args, **options)
            self.equal(call(vector_add, x, y), x + y)
            self.assertIs(call(vector_add, x, y, out=out), out)
            self.equal(out, x + y)
        self.assertEqual(vector_add.kernel_fn(floats(0), floats(0)).shape, (0,))

    def test_a_tensor_twice(self):
        x = floats(4096)
        for _ in range(4):
            self.equal(vector_add.kernel_fn(x, x), x + x)

    def test_arguments_by_name(self):
        x, y = floats(640), floats(640)
        settle(vector_add.kernel_fn, x, y)
        self.equal(self.fast(vector_add, y=y, x=x), x + y)

    def test_alignments(self):
        base = floats(3, 5000).view(-1)
        for i, j, k in itertools.product(range(5), repeat=3):
            x, y, z = base[i : i + 1500], base[5000 + j : 6500 + j], torch.zeros(5000, device="cuda")[k : k + 1500]
            for _ in range(3):
                z.zero_()
                vector_add.kernel_fn(x, y, out=z)
                self.equal(z, x + y)
        x, y = floats(1504), floats(1504)
        settle(vector_add.kernel_fn, x[:1500], y[:1500])
        self.fast(vector_add, x[4:], y[4:])
        self.equal(self.slow(vector_add, x[1:1501], y[4:]), x[1:1501] + y[4:])

    def test_products_by_dtype_layout_and_offset(self):
        tuner, sizes = gemm.gemm_kernel, [(64, 64, 64), (64, 1, 64), (65, 63, 61)]
        cases = list(itertools.product(sizes, (torch.float16, torch.bfloat16), (0, 1), (False, True), (False, True)))
        with unittest.mock.patch.object(tuner, "configs", tuner.configs[-1:]):
            for (m, n, k), dtype, offset, first, second in 3 * cases:
                a = floats(m * k + offset, dtype=dtype)[offset:]
                a = a.view(k, m).T if first else a.view(m, k)
                b = floats(n, k, dtype=dtype).T if second else floats(k, n, dtype=dtype)
                out = torch.empty(n, m, device="cuda", dtype=dtype).T
                expected = a.double() @ b.double()
                tolerance = 1e-2 if dtype == torch.float16 else 8e-2
                for got in (gemm.kernel_fn(a, b), gemm.kernel_fn(a, b, out=out)):
                    torch.testing.assert_close(got.double(), expected, rtol=tolerance, atol=tolerance)
            a, b = floats(64, 64, dtype=torch.float16), floats(64, 64, dtype=torch.float16)
            self.fast(gemm, a, b)
        gemm._LAUNCHES.clear()

    def test_rows(self):
        for _ in range(4):
            for m, n in ((7, 33), (128, 1024), (3, 5000)):
                x, out = floats(m, n), floats(m, n)
                torch.testing.assert_close(softmax.kernel_fn(x), torch.softmax(x, -1))
                softmax.kernel_fn(x, out=out)
                torch.testing.assert_close(out, torch.softmax(x, -1))
        self.fast(softmax, floats(128, 1024))

    def test_numbers(self):
        x = torch.ones(4096, device="cuda")
        for p, seed in ((0.5, 1), (0.5, 2), (0.25, 1), (0, 1), (0.0, True)):
            if seed is True:
                self.assertRaises(TypeError, dropout.kernel_fn, x, p, seed)
                continue
            expected = dropout.kernel_fn.__wrapped__(x, p, seed)
            for _ in range(4):
                self.equal(dropout.kernel_fn(x, p, seed), expected)
        self.equal(self.fast(dropout, x, 0.25, 1), dropout.kernel_fn.__wrapped__(x, 0.25, 1))
        self.assertRaises(ValueError, dropout.kernel_fn, x, float("nan"), 1)

    def test_streams(self):
        n = 1 << 20
        y = torch.ones(n, device="cuda")
        settle(vector_add.kernel_fn, y.clone(), y)
        side = torch.cuda.Stream()
        for _ in range(5):
            x = torch.zeros(n, device="cuda")
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                x.fill_(3)
                z = self.fast(vector_add, x, y)
            side.synchronize()
            self.assertTrue(z.eq(4).all().item(), "the launch did not wait for its stream")

    def test_graphs(self):
        x, y = floats(4096), floats(4096)
        z = torch.zeros_like(x)
        settle(vector_add.kernel_fn, x, y, out=z)
        settle(vector_add.kernel_fn, x, y)
        fresh = floats(7776)
        torch.cuda.synchronize()
        z.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.fast(vector_add, x, y, out=z)
            w = self.fast(vector_add, z, y)
            for _ in range(3):
                v = vector_add.kernel_fn(fresh, fresh)
        torch.cuda.synchronize()
        self.assertTrue(z.eq(0).all().item(), "the launch is no part of the graph")
        for _ in range(3):
            for each in (x, y, fresh):
                each.normal_()
            graph.replay()
            torch.cuda.synchronize()
            self.equal(z, x + y)
            self.equal(w, x + y + y)
            self.equal(v, fresh + fresh)

    def test_graph_of_an_autotuned_kernel(self):
        a, b = floats(256, 256, dtype=torch.float16), floats(256, 256, dtype=torch.float16)
        out = torch.empty_like(a)
        settle(gemm.kernel_fn, a, b, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.fast(gemm, a, b, out=out)
        a.normal_()
        out.zero_()
        graph.replay()
        torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-1)

    def test_gradients(self):
        x, y = floats(4096), floats(4096)
        settle(vector_add.kernel_fn, x, y)
        self.fast(vector_add, x, y)
        tracked = floats(4096, requires_grad=True)

        def refuses(*args, **options):
            self.assertRaisesRegex(RuntimeError, "has no gradient for x", vector_add.kernel_fn, *args, **options)

        for _ in range(3):
            refuses(tracked, y)
            refuses(tracked, y, out=floats(4096))
        for mode in (torch.no_grad(), torch.inference_mode()):
            with mode:
                settle(vector_add.kernel_fn, tracked, y)
                self.assertFalse(self.fast(vector_add, tracked, y).requires_grad)
            # The plan of this mode serves no call that autograd records.
            refuses(tracked, y)
        x.requires_grad_()
        refuses(x, y)

    def test_tangents(self):
        x, y = floats(512), floats(512)
        settle(vector_add.kernel_fn, x, y)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
            self.assertRaisesRegex(RuntimeError, "has no gradient for x", vector_add.kernel_fn, dual, y)
        self.fast(vector_add, x, y)

    def test_versions(self):
        x, y, out = floats(512), floats(512), floats(512)
        settle(vector_add.kernel_fn, x, y, out=out)
        before = out._version
        self.fast(vector_add, x, y, out=out)
        self.assertGreater(out._version, before)
        weight = floats(512, requires_grad=True)
        product = (weight * out).sum()
        self.fast(vector_add, x, y, out=out)
        self.assertRaisesRegex(RuntimeError, "modified by an inplace operation", product.backward)

    def test_overlap(self):
        buffer = floats(8192)
        x, y = buffer[:4096], floats(4096)
        settle(vector_add.kernel_fn, x, y, out=buffer[4096:])
        self.fast(vector_add, x, y, out=buffer[4096:])
        self.fast(vector_add, y, x, out=floats(4096))
        for out in (x, buffer[4:4100], buffer[2048:6144], buffer[4092:8188]):
            self.assertRaisesRegex(ValueError, "shares memory with x", vector_add.kernel_fn, x, y, out=out)
            self.assertRaisesRegex(ValueError, "shares memory with y", vector_add.kernel_fn, y, x, out=out)
        a, b = floats(64, 64, dtype=torch.float16), floats(64, 64, dtype=torch.float16)
        wide = floats(64, 256, dtype=torch.float16)
        for _ in range(3):
            gemm.kernel_fn(a, b, out=wide[:, :64])
            self.assertRaisesRegex(
                ValueError, "elements that share", gemm.kernel_fn, a, b, out=wide[:1, :64].expand(64, 64)
            )
            # Interleaved columns have no element in common.
            left, right = wide[:, :64], wide[:, 64:128]
            expected = left.double() @ b.double()
            torch.testing.assert_close(gemm.kernel_fn(left, b, out=right).double(), expected, rtol=1e-2, atol=1e-1)
            self.assertRaisesRegex(ValueError, "shares memory with a", gemm.kernel_fn, left, b, out=wide[:, 32:96])

    def test_refusals(self):
        x, y = floats(4096), floats(4096)
        settle(vector_add.kernel_fn, x, y)
        settle(vector_add.kernel_fn, x, y, out=torch.empty_like(x))
        cases = [
            lambda f: f(x, x[:100]),
            lambda f: f(x, x.double()),
            lambda f: f(x.double(), x),
            lambda f: f(x.view(64, 64), x),
            lambda f: f(floats(8192)[::2], x),
            lambda f: f(x, x.cpu()),
            lambda f: f(x.cpu(), x.cpu()),
            lambda f: f(x, y, out=x.double()),
            lambda f: f(x, y, out=torch.empty(100, device="cuda")),
            lambda f: f(x, y, out=torch.empty(4096)),
            lambda f: f(x, y, out=floats(8192)[::2]),
            lambda f: f(x, None),
            lambda f: f(5, x),
            lambda f: f(x, y, out=5),
            lambda f: f(x, [x]),
            lambda f: f(torch._neg_view(x), x),
            lambda f: f(x, y, out=torch._neg_view(floats(4096))),
            lambda f: f(x, x.to_sparse()),
            lambda f: f(x, torch.empty(4096, device="meta")),
            lambda f: f(x, torch.nested.nested_tensor([x])),
            lambda f: f(x, y, out=torch.nested.nested_tensor([x])),
        ]
        for place, case in enumerate(cases):
            errors = []
            for function in (vector_add.kernel_fn.__wrapped__, vector_add.kernel_fn, vector_add.kernel_fn):
                with self.assertRaises((RuntimeError, TypeError, ValueError), msg=place) as raised:
                    case(function)
                errors.append((type(raised.exception), str(raised.exception)))
            self.assertEqual(len(set(errors)), 1, (place, errors))
        self.fast(vector_add, x, y)

    def test_subclasses(self):
        class Named(torch.Tensor):
            pass

        x = floats(4096)
        settle(vector_add.kernel_fn, x.clone(), x)
        for each in (torch.nn.Parameter(x, requires_grad=False), x.as_subclass(Named)):
            expected = vector_add.kernel_fn.__wrapped__(each, x)
            for _ in range(3):
                got = vector_add.kernel_fn(each, x)
                self.assertIs(type(got), type(expected))
                self.equal(got.as_subclass(torch.Tensor), x + x)

    def test_modes(self):
        from torch.utils.flop_counter import FlopCounterMode

        x, y = floats(4096), floats(4096)
        settle(vector_add.kernel_fn, x, y)
        with FlopCounterMode(display=False):
            self.equal(self.slow(vector_add, x, y), x + y)
        with torch.autocast("cuda"):
            settle(vector_add.kernel_fn, x, y)
            self.equal(self.fast(vector_add, x, y), x + y)
        with torch.device("cpu"):
            self.equal(self.fast(vector_add, x, y), x + y)
        for function in (vector_add.kernel_fn.__wrapped__, vector_add.kernel_fn, vector_add.kernel_fn):
            self.assertRaises((RuntimeError, TypeError), torch.vmap(function), floats(3, 4096), floats(3, 4096))

    def test_hooks(self):
        runtime = triton.knobs.runtime
        x, y = floats(4096), floats(4096)
        settle(vector_add.kernel_fn, x, y)
        for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            heard = []

            def hear(metadata, heard=heard):
                heard.append(metadata.get()["name"])

            hook.add(hear)
            try:
                self.equal(self.slow(vector_add, x, y), x + y)
            finally:
                hook.remove(hear)
            self.assertEqual(heard, ["vector_add_kernel"])
            self.fast(vector_add, x, y)
            self.assertEqual(len(heard), 1)
        enter = runtime.launch_enter_hook
        try:
            runtime.launch_enter_hook = lambda metadata: heard.append(1)
            self.slow(vector_add, x, y)
        finally:
            runtime.launch_enter_hook = enter
        self.assertEqual(len(heard), 2)

    def test_threads(self):
        wrong = []

        def work(seed):
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for i in range(200):
                        n = 1000 + (seed + i) % 7 * 512
                        x, y = torch.full((n,), float(seed), device="cuda"), torch.full((n,), float(i), device="cuda")
                        if not vector_add.kernel_fn(x, y).eq(seed + i).all().item():
                            wrong.append((seed, i))
            except Exception as error:
                wrong.append(repr(error))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    def test_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one GPU")
        for n, index, current in itertools.product((4096, 5000), (0, 1, 0, 1), (0, 1)):
            x, y = (torch.randn(n, device=f"cuda:{index}") for _ in "xy")
            with torch.cuda.device(current):
                for _ in range(3):
                    got = vector_add.kernel_fn(x, y), vector_add.kernel_fn(x, y, out=torch.empty_like(x))
            torch.cuda.synchronize(index)
            for each in got:
                self.equal(each, x + y)

    def test_compiled(self):
        x, y = floats(4096), floats(4096)
        settle(vector_add.kernel_fn, x, y)
        for backend in ("eager", "inductor"):
            torch._dynamo.reset()
            compiled = torch.compile(lambda a, b: vector_add.kernel_fn(a, b) * 2, backend=backend, fullgraph=True)
            self.equal(compiled(x, y), (x + y) * 2)
        a, b = floats(128, 128, dtype=torch.float16), floats(128, 128, dtype=torch.float16)
        settle(gemm.kernel_fn, a, b)
        compiled = torch.compile(lambda a, b: gemm.kernel_fn(a, b) + 1, fullgraph=True)
        torch.testing.assert_close(compiled(a, b), gemm.kernel_fn(a, b) + 1, rtol=1e-2, atol=1e-2)

    def test_memory(self):
        for n in range(1, 6000):
            vector_add.kernel_fn(*2 * [torch.empty(n, device="cuda")])
            self.assertLessEqual(len(vector_add._LAUNCHES), 4096)
        x = floats(4096)
        settle(vector_add.kernel_fn, x, floats(4096), out=floats(4096))
        self.assertIsNone(vector_add._RECORDING.launches)
        held = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(held(), "a plan keeps a tensor")

    def test_scratch_memory(self):
        """A launcher that needs scratch memory is never called in C."""
        x = floats(2048)
        kernel = vector_add.vector_add_kernel
        binary = kernel[(2,)](x, x, torch.empty_like(x), 2048, BLOCK=1024)
        launcher = binary.run
        launcher.profile_scratch_size = 8
        try:
            self.assertIsNone(vector_add._launcher(binary, (2, 1, 1), 3, (2048, 1024), 0))
        finally:
            launcher.profile_scratch_size = 0
        self.assertIsNotNone(vector_add._launcher(binary, (2, 1, 1), 3, (2048, 1024), 0))


if __name__ == "__main__":
    unittest.main()
