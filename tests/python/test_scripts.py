"""verify_kernel.py and benchmark_kernel.py as a user runs them, on files that TileScript did not write."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch
from script_runs import PYTHON, run, start_forks, started, stop_forks

from tilescript_worker.kernel_file import CALL_OF_DOT, KernelFile, may_run_in_tf32, tolerance_of_file

setUpModule, tearDownModule = start_forks, stop_forks

SCALE = """
import torch
import triton
import triton.language as tl


def prune(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] >= named_args["n"] or config.kwargs["BLOCK"] > 32]


@triton.autotune(
    [triton.Config({"BLOCK": block}) for block in (32, 128)], key=["n"], prune_configs_by={"early_config_prune": prune}
)
@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = MASK
    tl.store(y_ptr + offsets, FACTOR * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def kernel_fn(x):
    y = torch.zeros_like(x)
    scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


def reference_fn(x):
    return 2 * x


def get_inputs(n=200):
    device = "cpu" if triton.knobs.runtime.interpret else "cuda"
    return [torch.randn(n, device=device)]
"""


class Verify(unittest.TestCase):
    def test_a_right_kernel(self):
        right = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2")
        code, result, errors = run("verify_kernel.py", right, start=started)
        self.assertEqual((code, errors), (0, ""))
        self.assertTrue(result["correct"])
        self.assertEqual(result["max_abs_diff"], 0.0)
        # The call that tunes, four sizes for the wide config, and the one that pruning leaves for the other.
        self.assertEqual(result["cases"], 6)

    def test_sizes_that_the_file_does_not_take(self):
        right = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2")
        for function, line in (
            ("get_inputs", '    device = "cpu"'),
            ("kernel_fn", "    y = torch.zeros_like(x)"),
            ("reference_fn", "    return 2 * x"),
        ):
            size = "n" if function == "get_inputs" else "x.numel()"
            refuses = f'    if {size} % 8:\n        raise ValueError("n is a multiple of 8")\n'
            code, result, _ = run("verify_kernel.py", right.replace(line, refuses + line))
            self.assertEqual((code, result["correct"], result["failures"]), (0, True, []))
            self.assertIn(f"{function} refuses them: n is a multiple of 8", result["refused"][0])
            # Multiples near the sizes that were refused are tried instead.
            self.assertGreater(result["cases"], 2)
        # Its own sizes it has to take.
        never = right.replace(
            '    device = "cpu"', '    if n == 200:\n        raise ValueError("no")\n    device = "cpu"'
        )
        code, result, _ = run("verify_kernel.py", never)
        self.assertEqual((code, result["correct"]), (1, False))

    def test_shapes_that_the_file_declares(self):
        right = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "scale")
        right = right.replace("def kernel_fn(x):", "def kernel_fn(x, scale):").replace(
            "x, y, x.numel())", "x, y, x.numel(), scale)"
        )
        right = right.replace("n, BLOCK", "n, scale, BLOCK").replace(
            "def reference_fn(x):", "def reference_fn(x, scale):"
        )
        right = right.replace("2 * x", "scale * x").replace("get_inputs(n=200)", "get_inputs(n=200, *, scale=2)")
        right = right.replace("device=device)]", "device=device), scale]")
        shapes = '\nSHAPES = [{"n": 300, "scale": 5}, {"n": 96, "scale": 3}, {"n": 10**9, "scale": 3}]\n'
        code, result, errors = run("verify_kernel.py", right + shapes, "--device", "interpreter")
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("2 of them declared", result["details"])
        self.assertEqual(result["not_run"], ["n=1000000000, scale=3: too large for the interpreter"])
        # Only what stands by position is a size.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shapes.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(right + shapes)
            self.assertEqual(KernelFile.load(path).sizes, {"n": 200})
        wrong = right.replace("scale * tl.load", "(scale - (scale == 5)) * tl.load")
        code, result, _ = run("verify_kernel.py", wrong + shapes)
        self.assertIn("n=300, scale=5", result["failures"][0])
        code, result, _ = run("verify_kernel.py", right + '\nSHAPES = [{"m": 3}]\n')
        self.assertIn("SHAPES has m, which get_inputs does not take", result["details"])

    def test_a_mask_that_drops_the_last_element(self):
        source = SCALE.replace("MASK", "offsets < n - 1").replace("FACTOR", "2")
        code, result, _ = run("verify_kernel.py", source, "--device", "interpreter")
        self.assertEqual(code, 1)
        self.assertFalse(result["correct"])
        self.assertIn("6 wrong, first n=200, autotuned", result["details"])
        self.assertIn("n=1, BLOCK=32, num_warps=4", result["failures"][1])
        self.assertIn("n=200, BLOCK=128, num_warps=4", result["failures"][2])
        self.assertIn("at [199]", result["failures"][2])

    def test_a_config_that_does_not_fit(self):
        for error in (
            'OutOfResources(300000, 232448, "shared memory")',
            'PTXASError("ptxas fatal   : (C7600) Register allocation failed with register count of 168")',
        ):
            with self.subTest(error):
                self.passes_over(f"raise triton.runtime.errors.{error}\n")

    def passes_over(self, raises):
        source = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2")
        unfit = f"def too_large(args):\n    if args['BLOCK'] >= LEAST:\n        {raises}\n\ndef prune"
        source = source.replace("def prune", unfit, 1).replace(
            '{"BLOCK": block})', '{"BLOCK": block}, pre_hook=too_large)'
        )
        code, result, _ = run("verify_kernel.py", source.replace("LEAST", "128"))
        # The call that tunes has one config at this size, as does the case of one element.
        self.assertEqual((code, result["correct"], result["cases"], len(result["unfit"])), (0, True, 1, 5))
        self.assertIn("5 do not fit this GPU, such as n=200, autotuned", result["details"])
        # Not if none does.
        code, result, _ = run("verify_kernel.py", source.replace("LEAST", "0"))
        self.assertEqual((code, result["correct"], result["cases"]), (1, False, 0))

    def test_a_tolerance_that_was_given(self):
        source = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2.001")
        self.assertEqual(run("verify_kernel.py", source)[0], 1)
        self.assertEqual(run("verify_kernel.py", source, "--rtol", "0.01")[0], 0)

    def tolerances(self, source, *inputs):
        """Those of a float32 output, and of one in the dtype of the first input, as parts of the root mean square."""
        dtypes = (torch.float32, inputs[0].dtype)
        return [tolerance_of_file(source, dtype, None, None, inputs)["rms"] for dtype in dtypes]

    def test_a_tolerance_grows_with_the_terms_of_a_product(self):
        inputs = torch.zeros(3, 6400), torch.zeros(4)
        for found in self.tolerances("tl.dot(a, b)", *inputs):
            self.assertAlmostEqual(found, 1e-4)
        self.assertEqual(self.tolerances("tl.sum(a)", *inputs), [1e-5, 1e-5])

    def test_a_product_rounds_its_operands_on_the_way(self):
        half = torch.zeros(3, 64, dtype=torch.float16)
        self.assertEqual(self.tolerances("tl.dot(a, b)", half), [4 * 2**-11, 4 * 2**-11])
        self.assertEqual(self.tolerances("tl.sum(a)", half), [1e-5, 1e-5])

    def test_tf32_is_expected_where_a_gpu_runs_a_product_of_float32_in_it(self):
        asked = 'tl.dot(f(a), b, input_precision="%s")'
        for source, runs in (
            ("tl.dot(f(a), b, acc)", True),
            (asked % "tf32", True),
            (asked % "tf32x3", False),
            (asked % "ieee", False),
            (asked % "ieee" + " + tl.dot(a, b)", True),
            ("tl.sum(a)", False),
        ):
            self.assertEqual(may_run_in_tf32(CALL_OF_DOT.findall(source)), runs, source)
        # These tensors are on no GPU.
        self.assertEqual(self.tolerances("tl.dot(f(a), b, acc)", torch.zeros(3, 64)), [1e-5, 1e-5])

    def test_a_file_without_a_reference(self):
        code, result, errors = run("verify_kernel.py", "def kernel_fn(): ...\ndef get_inputs(): return []\n")
        self.assertEqual(code, 1)
        self.assertIn("has no reference_fn", result["details"])
        self.assertEqual((result["correct"], result["max_abs_diff"], result["max_rel_diff"]), (False, None, None))
        self.assertNotIn("Traceback", errors)

    def test_an_error_in_the_file(self):
        source = "def kernel_fn(x): return undefined + x\nreference_fn = kernel_fn\ndef get_inputs(): return [1]\n"
        code, result, errors = run("verify_kernel.py", source)
        self.assertEqual(code, 1)
        self.assertIn("name 'undefined' is not defined (scale me.py:1", result["details"])
        self.assertNotIn("Traceback", errors)

    def test_inputs_that_are_no_list(self):
        source = "def kernel_fn(x): return x\nreference_fn = kernel_fn\ndef get_inputs(): return 5\n"
        code, result, _ = run("verify_kernel.py", source)
        self.assertEqual(code, 1)
        self.assertIn("get_inputs returns int; it must return a list", result["details"])

    def test_a_python_without_torch(self):
        with tempfile.NamedTemporaryFile(suffix=".py") as file:
            # Without site-packages, and so without torch.
            command = [sys.executable, "-S", os.path.join(PYTHON, "verify_kernel.py"), file.name]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 3)
        self.assertIn("has no torch; install torch and triton there", json.loads(ran.stdout)["details"])
        self.assertNotIn("Traceback", ran.stderr)

    def test_no_file(self):
        command = [sys.executable, os.path.join(PYTHON, "verify_kernel.py"), "missing.py"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, json.loads(ran.stdout)["correct"]), (2, False))
        self.assertEqual(ran.stderr, "error: there is no file missing.py; check the path\n")

    def test_functions_that_give_something_else(self):
        whole = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2")
        for old, new, says in (
            ("return 2 * x", "return None", "reference_fn must return a tensor or several; it returned None"),
            ("return y", "return None", "kernel_fn must return a tensor or several; it returned None"),
            ("return [torch", "return None and [torch", "get_inputs returns NoneType; it must return a list"),
            ("(n=200)", "(n)", "get_inputs needs n; give sizes defaults, as in get_inputs(n=512)"),
        ):
            code, result, errors = run("verify_kernel.py", whole.replace(old, new))
            self.assertEqual((code, result["correct"]), (1, False), says)
            self.assertIn(says, result["details"])
            self.assertNotIn("Traceback", errors)

    def test_what_ends_the_process(self):
        whole = SCALE.replace("MASK", "offsets < n").replace("FACTOR", "2")
        for line, says in (
            ("import sys; sys.exit(5)", "ends the process, with 5; leave that to other files"),
            ("import os; os._exit(7)", "the process ended with exit code 7 in reference_fn at n=200; does the kernel"),
            (
                "import os; os.abort()",
                "the process was ended by SIGABRT in reference_fn at n=200; does the kernel read or write outside",
            ),
        ):
            code, result, errors = run("verify_kernel.py", whole.replace("    return 2 * x", f"    {line}"))
            self.assertEqual((code, result["correct"], result["max_abs_diff"]), (1, False, None))
            self.assertIn(says, result["details"])
            self.assertNotIn("Traceback", errors)

    def test_options_that_are_none(self):
        verify, benchmark = "verify_kernel.py", "benchmark_kernel.py"
        for script, option, says in (
            (verify, ("--rtol", "-1"), "'-1' is not a number from 0 up"),
            (verify, ("--atol", "nan"), "'nan' is not a number from 0 up"),
            (verify, ("--seed", "9" * 20), "is not a whole number from 0 to 2^63 - 1"),
            (benchmark, ("--iterations", "0"), "0 is too few; give 1 or more"),
        ):
            code, result, errors = run(script, SCALE, *option)
            self.assertEqual((code, result), (2, None))
            self.assertIn(says, errors)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_that_nobody_takes(self):
        for target, code, errors in (
            ("/dev/full", 3, "error: standard output can't be written: No space"),
            (None, 2, ""),
        ):
            command = [sys.executable, os.path.join(PYTHON, "verify_kernel.py"), "missing.py"]
            reading, writing = os.pipe()
            os.close(reading)
            with open(target, "w") if target else os.fdopen(writing, "w") as output:
                ran = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(ran.returncode, code)
            self.assertIn(errors, ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)


class Benchmark(unittest.TestCase):
    @unittest.skipIf(torch.cuda.is_available(), "a GPU is there")
    def test_no_gpu(self):
        code, result, _ = run("benchmark_kernel.py", SCALE)
        self.assertEqual(code, 3)
        self.assertIn("needs a GPU", result["error"])

    def test_a_step_of_a_profile_has_a_deadline(self):
        program = """
import argparse, sys, time
from tilescript_worker import script

def action(args):
    script.report_progress("the profiled call")
    time.sleep(args.seconds)
    return {"profiled": "f"}, script.OK

args = argparse.Namespace(file=sys.argv[1], timeout=2, seconds=float(sys.argv[2]))
sys.exit(script.run(args, action, lambda details: {"error": details}, in_subprocess=False))
"""
        late = {"error": "the profiled call did not end within 2 s; --timeout gives it more"}
        for seconds, expected in ((0, (0, {"profiled": "f"})), (60, (1, late))):
            command = [sys.executable, "-c", program, os.path.abspath(__file__), str(seconds)]
            environment = {**os.environ, "PYTHONPATH": PYTHON}
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env=environment)
            self.assertEqual((ran.returncode, json.loads(ran.stdout)), expected)


if __name__ == "__main__":
    unittest.main()
