"""What wrappers of the host tests' kernels take, refuse and give, on Triton's interpreter."""

import inspect
import sys
import unittest
import unittest.mock

import cached
import choices
import even
import moments
import pruned
import ramp
import reflecting
import strided
import torch


def bench(call, quantiles):
    """A measurement that needs no GPU."""
    call()
    tried.append(True)
    return [1.0, 1.0, 1.0]


tried = []
even.even_kernel.do_bench = pruned.pruned_kernel.do_bench = bench


class Choices(unittest.TestCase):
    x = torch.randn(100)

    def test_values_reach_the_kernel(self):
        y = choices.kernel_fn(self.x, 3, SHIFT=1, NEGATE=True, ACTIVATION="relu", OUT=torch.float16)
        self.assertEqual(y.dtype, torch.float16)
        torch.testing.assert_close(y, torch.relu(-(self.x * 2 * 3 + 1)).half())

    def test_defaults(self):
        torch.testing.assert_close(choices.kernel_fn(self.x, 1), self.x * 2 + 0.5)

    def test_refusals(self):
        cases = [
            ({"TIMES": True}, TypeError, "TIMES must be of type int, got True"),
            ({"TIMES": 2.0}, TypeError, "TIMES must be of type int, got 2.0"),
            ({"SHIFT": "a"}, TypeError, "SHIFT must be of type float, got 'a'"),
            ({"SHIFT": True}, TypeError, "SHIFT must be of type float, got True"),
            ({"SHIFT": -0.0}, ValueError, "SHIFT must not be -0.0, which Triton takes for 0.0"),
            ({"NEGATE": 1}, TypeError, "NEGATE must be of type bool, got 1"),
            ({"ACTIVATION": "gelu"}, ValueError, "ACTIVATION must be 'none' or 'relu' or 'square', got 'gelu'"),
            ({"ACTIVATION": 3}, TypeError, "ACTIVATION must be 'none' or 'relu' or 'square', got 3"),
            ({"OUT": torch.int8}, ValueError, "OUT must be torch.float16 or torch.float32, got torch.int8"),
            ({"OUT": "float16"}, TypeError, "OUT must be torch.float16 or torch.float32, got 'float16'"),
        ]
        for given, error, message in cases:
            with self.subTest(message), self.assertRaises(error) as raised:
                choices.kernel_fn(**{"x": self.x, "TIMES": 1} | given)
            self.assertEqual(str(raised.exception), f"choices: {message}")

    def test_an_output_of_another_dtype(self):
        with self.assertRaisesRegex(TypeError, "choices: needs one dtype of .*float16.*, got {'out': torch.float32}"):
            choices.kernel_fn(self.x, 1, OUT=torch.float16, out=torch.empty(100))


class Exports(unittest.TestCase):
    def test_one_signature(self):
        for module in (choices, even, moments, pruned, ramp, reflecting):
            with self.subTest(module.__name__):
                kernel = inspect.signature(module.kernel_fn).parameters.values()
                reference = inspect.signature(module.reference_fn).parameters.values()
                positional = [(p.name, p.default) for p in kernel if p.kind is not p.KEYWORD_ONLY]
                same = [(p.name, p.default) for p in reference if p.kind is not p.KEYWORD_ONLY]
                self.assertEqual(positional, same)
                self.assertEqual(len(module.get_inputs()), len(positional))

    def test_inputs_are_accepted(self):
        for module in (choices, even, moments, ramp, reflecting):
            with self.subTest(module.__name__):
                got, expected = module.kernel_fn(*module.get_inputs()), module.reference_fn(*module.get_inputs())
                self.assertEqual(type(got), type(expected))


class Heuristics(unittest.TestCase):
    def test_each_config_gets_its_own(self):
        configs = even.even_kernel.configs
        for n in (64, 100, 128):
            for config in configs:
                even.even_kernel.configs = [config]
                torch.testing.assert_close(even.kernel_fn(torch.zeros(n)), torch.ones(n))
        even.even_kernel.configs = configs

    def test_every_trial_computes_it(self):
        tried.clear()
        even.even_kernel.cache.clear()
        torch.testing.assert_close(even.kernel_fn(torch.zeros(192)), torch.ones(192))
        self.assertEqual(len(tried), len(even.even_kernel.configs))


class Remembered(unittest.TestCase):
    """Launches that Triton chooses apart are remembered apart."""

    def key(self, *numbers):
        keys = []

        def launch(kernel, grid, tensors, numbers, /, *others, **options):
            keys.append((*others, *cached._launch_key(tensors, numbers, options)))

        with unittest.mock.patch.object(cached, "_launch", launch):
            cached.kernel_fn(torch.zeros(100), *numbers)
        return keys[0]

    def test_floats_that_a_heuristic_reads(self):
        self.assertNotEqual(self.key(0.5), self.key(-0.5))

    def test_floats_that_the_choice_of_a_config_reads(self):
        self.assertNotEqual(self.key(0.5, 1.0), self.key(0.5, 2.0))

    def test_other_floats_are_one_launch(self):
        self.assertEqual(self.key(0.5, 1.0, 3.0), self.key(0.5, 1.0, 4.0))


class Pruned(unittest.TestCase):
    def setUp(self):
        tried.clear()
        pruned.pruned_kernel.cache.clear()

    def test_small_rows_try_all(self):
        x = torch.randn(3, 50)
        torch.testing.assert_close(pruned.kernel_fn(x), x.sum(1) + 1)
        self.assertEqual(len(tried), 2)

    def test_configs_that_do_not_fit_are_left_out(self):
        x = torch.randn(3, 200)
        # What is added to starts at zero, whatever the tensor held and trials left.
        out = torch.full((3,), 7.0)
        self.assertIs(pruned.kernel_fn(x, out=out), out)
        torch.testing.assert_close(out, x.sum(1) + 1)
        self.assertEqual(pruned.pruned_kernel.best_config.kwargs, {"BLOCK_N": 256})

    def test_none_fits(self):
        with self.assertRaises(ValueError) as raised:
            pruned.kernel_fn(torch.randn(3, 300))
        self.assertEqual(str(raised.exception), "pruned: no config has BLOCK_N >= N with N=300; add one that does")

    def test_a_requirement_of_sizes_alone(self):
        with self.assertRaises(ValueError) as raised:
            pruned.kernel_fn(torch.randn(3, 0))
        self.assertEqual(str(raised.exception), "pruned: a requirement does not hold: N > 0 with N = 0")


class EqualStrides(unittest.TestCase):
    def test_strides_are_those_of_the_first(self):
        q, k = torch.randn(2, 9, 5).mT
        total, both = strided.kernel_fn(q, k, q.clone())
        torch.testing.assert_close(both, q + k)
        torch.testing.assert_close(total, q + q)

    def test_others_are_refused(self):
        q, k = torch.randn(2, 9, 5).mT
        said = r"strided: k must have the strides of q, \(1, 5\), got \(9, 1\)"
        with self.assertRaisesRegex(ValueError, said):
            strided.kernel_fn(q, k.contiguous(), q.clone())
        with self.assertRaisesRegex(ValueError, "strided: s must have the strides of q"):
            strided.kernel_fn(q, k, q.contiguous())


class Results(unittest.TestCase):
    def test_several_outputs_and_one_in_place(self):
        x, seen = torch.randn(4, 30), torch.arange(4, dtype=torch.int32)
        got_seen, mean, centered = moments.kernel_fn(x, seen)
        self.assertIs(got_seen, seen)
        self.assertEqual(seen.tolist(), [1, 2, 3, 4])
        torch.testing.assert_close(mean, x.mean(1))
        torch.testing.assert_close(centered, x - x.mean(1, keepdim=True))

    def test_one_output_given(self):
        x, seen, mean = torch.randn(4, 30), torch.zeros(4, dtype=torch.int32), torch.empty(4)
        self.assertIs(moments.kernel_fn(x, seen, 1.5, mean=mean)[1], mean)
        torch.testing.assert_close(mean, x.mean(1) + 1.5)

    def test_outputs_that_overlap(self):
        buffer = torch.empty(8)
        with self.assertRaisesRegex(ValueError, "shares memory with x"):
            moments.kernel_fn(buffer.view(4, 2), torch.zeros(4, dtype=torch.int32), mean=buffer[:4])

    def test_nothing_to_compute(self):
        seen, mean, centered = moments.kernel_fn(torch.randn(0, 30), torch.zeros(0, dtype=torch.int32))
        self.assertEqual([tuple(t.shape) for t in (seen, mean, centered)], [(0,), (0,), (0, 30)])
        self.assertEqual(tuple(reflecting.kernel_fn(torch.randn(0)).shape), (0,))
        self.assertEqual(tuple(ramp.kernel_fn(0, 5).shape), (0, 5))

    def test_no_inputs(self):
        expected = (torch.arange(70) * 0.5).expand(3, 70)
        torch.testing.assert_close(ramp.kernel_fn(3, 70), expected)
        torch.testing.assert_close(ramp.kernel_fn(3, 70, device="cpu"), expected)
        out = torch.empty(3, 70)
        self.assertIs(ramp.kernel_fn(3, 70, out=out), out)
        torch.testing.assert_close(ramp.reference_fn(3, 70), expected)
        with self.assertRaisesRegex(ValueError, r"out must have shape \[M=3, N=71\], got torch.Size\(\[3, 70\]\)"):
            ramp.kernel_fn(3, 71, out=out)
        with self.assertRaisesRegex(ValueError, "ramp: needs one GPU, or TRITON_INTERPRET=1, got out on meta"):
            ramp.kernel_fn(3, 70, device="meta")

    def test_long_grids(self):
        checked = [module for module in vars(sys.modules[__name__]).values() if hasattr(module, "_checked_grid")]
        self.assertNotEqual(checked, [])
        for module in checked:
            with self.assertRaisesRegex(ValueError, r"kernel: a GPU launches at most .*, got \(1, 65536\)"):
                module._checked_grid("kernel", (1, 65536))


if __name__ == "__main__":
    unittest.main()
