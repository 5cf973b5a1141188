"""Modules that people write: wrong ones that look right, odd ones that need a verdict, and right ones.

Each is named after what it does. It is :data:`MODULE` with other parts.
"""

import unittest

from script_runs import run, start_forks, stop_forks

setUpModule, tearDownModule = start_forks, stop_forks

PARTS = {
    "top": "",
    "decorator": "",
    "factor": "2",
    "size": "N",
    "kernel_fn": """
def kernel_fn(x):
    y = torch.empty_like(x)
    launch(x, y)
    return y
""",
    "reference_fn": """
def reference_fn(x):
    return x * 2
""",
    "get_inputs": """
def get_inputs():
    return [torch.randn(N)]
""",
    "end": "",
}

MODULE = """
import torch
import triton
import triton.language as tl

N = 100
{top}

{decorator}
@triton.jit
def double(x, y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < {size}) * {factor}, mask=i < {size})

def launch(x, y):
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)

{kernel_fn}
{reference_fn}
{get_inputs}
{end}
"""


def function(signature, *lines):
    return f"def {signature}:\n" + "".join(f"    {line}\n" for line in lines)


def kernel(*lines, result="y"):
    """``kernel_fn`` with lines after its launch."""
    return {
        "kernel_fn": function("kernel_fn(x)", "y = torch.empty_like(x)", "launch(x, y)", *lines, f"return {result}")
    }


def reference(result, *lines, parameters="x"):
    return {"reference_fn": function(f"reference_fn({parameters})", *lines, f"return {result}")}


def inputs(result, sizes=""):
    return {"get_inputs": function(f"get_inputs({sizes})", f"return {result}")}


def top(*lines):
    return {"top": "\n".join(lines)}


def end(*lines):
    return {"end": "\n".join(lines)}


TUNED = {
    "decorator": '@triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["N"])',
    "end": "launch = lambda x, y: double[lambda m: (triton.cdiv(x.numel(), m['BLOCK']),)](x, y, x.numel())",
}


def gradient(factor):
    """A differentiable ``kernel_fn``, whose gradient is this factor."""
    return (
        inputs("[torch.randn(N, requires_grad=True)]")
        | {"kernel_fn": function("kernel_fn(x)", "return Doubled.apply(x)")}
        | end(
            "class Doubled(torch.autograd.Function):",
            "    @staticmethod",
            "    def forward(ctx, x):",
            "        y = torch.empty_like(x)",
            "        launch(x, y)",
            "        return y",
            "    @staticmethod",
            "    def backward(ctx, dy):",
            f"        return dy * {factor}",
        )
    )


# The parts of each module, and what the verdict says.
WRONG = {
    "returns truth values": (kernel(result="y != 0"), "holds truth values, the reference gives floats"),
    "returns truncated integers": (kernel(result="y.to(torch.int32)"), "holds integers, the reference gives floats"),
    "returns float16 for float32": (kernel(result="y.half()"), "has dtype torch.float16, the reference torch.float32"),
    "returns complex numbers": (kernel(result="y + 0j"), "holds complex numbers, the reference gives floats"),
    "returns integers that wrapped": (
        kernel(result="y.to(torch.int8)") | inputs("[torch.full((N,), 100)]"),
        "is -56.0 and should be 200.0",
    ),
    "returns one element that broadcasts": (kernel(result="y[:1]") | inputs("[torch.ones(N)]"), "has shape [1]"),
    "returns another axis of length 1": (kernel(result="y[None]"), "has shape [1, 100], the reference has [100]"),
    "returns an axis for a scalar": (
        kernel(result="y") | inputs("[torch.randn(1)]") | reference("(x * 2).sum()"),
        "has shape [1], the reference has []",
    ),
    "returns nothing of what is nothing": (
        kernel(result="y[:0]") | reference("x[:0]"),
        "the reference gives no number",
    ),
    "returns NaN for NaN": (
        kernel(result="y * float('nan')") | reference("x / 0 * 0"),
        "the reference gives no number",
    ),
    "returns a tuple of one": (kernel(result="(y,)"), "kernel_fn returns (a tensor) and reference_fn a tensor"),
    "returns None in a tuple": (
        kernel(result="(y, None)") | reference("x * 2, x"),
        "kernel_fn returns (a tensor, None)",
    ),
    "returns nothing": (kernel(result="None"), "kernel_fn must return a tensor or several; it returned None"),
    "returns a number": (kernel(result="3.0"), "kernel_fn must return a tensor or several; it returned 3.0"),
    "returns a tensor of a subclass that equals all": (
        top(
            "class Equal(torch.Tensor):",
            "    @classmethod",
            "    def __torch_function__(cls, function, types, args=(), kwargs=None):",
            "        return args[0]",
        )
        | kernel(result="(y * 0).as_subclass(Equal)"),
        "is a Equal, the reference gives a Tensor",
    ),
    "returns a tensor of the device meta": (kernel(result="y.to('meta')"), "is on meta, that of the reference on cpu"),
    "returns a sparse tensor": (kernel(result="y.to_sparse()"), "has the layout torch.sparse_coo"),
    "returns a tensor with a gradient": (kernel(result="y.requires_grad_()"), "requires a gradient"),
    "loses the gradient": (
        inputs("[torch.randn(N, requires_grad=True)]") | kernel(result="y.detach()"),
        "has no gradient, that of the reference has one",
    ),
    "has a wrong gradient": (gradient("3"), "elements of x.grad are wrong"),
    "has a reference that reads what nothing wrote": (
        reference("y", "y = torch.empty_like(x)"),
        "should be nan",
    ),
    "returns its input": (
        {"factor": "1"} | kernel(result="x") | reference("x.clone()"),
        "shares memory with x, that of reference_fn does not",
    ),
    "returns a view of its input": (
        {"factor": "1"} | kernel(result="x.view(-1)[1:]") | reference("x[1:] + 0"),
        "shares memory with x",
    ),
    "returns one tensor twice": (kernel(result="(y, y)") | reference("x * 2, x + x"), "shares memory with output 1"),
    "returns an expanded element": (
        kernel(result="y[:1].expand(x.shape)") | inputs("[torch.ones(N)]"),
        "repeats elements, that of reference_fn does not",
    ),
    "works in place": (
        {"kernel_fn": function("kernel_fn(x)", "launch(x, x)", "return x")},
        "the kernel changed an input: x",
    ),
    "destroys an input": (kernel("x.zero_()"), "the kernel changed an input: x"),
    "destroys an input in a list": (
        inputs("[[torch.randn(N), torch.randn(N)]]")
        | {
            "kernel_fn": function(
                "kernel_fn(xs)", "y = torch.empty_like(xs[0])", "launch(xs[0], y)", "xs[1].zero_()", "return y"
            )
        }
        | reference("xs[0] * 2", parameters="xs"),
        "the kernel changed an input: xs[1]",
    ),
    "changes the shape of an input": (kernel("x.unsqueeze_(0)"), "the kernel changed an input: x"),
    "does not update what the reference updates": (
        reference("y", "y = x * 2", "x.zero_()"),
        "elements of x are wrong",
    ),
    "declares an update that nothing shows": (
        kernel("x.zero_()") | end('IN_PLACE = ["x"]'),
        "nothing shows what x must be",
    ),
    "takes a strided input for contiguous": (
        inputs("[torch.randn(2 * N)[::2]]")
        | kernel(result="y")
        | {"kernel_fn": function("kernel_fn(x)", "y = torch.empty(x.shape)", "launch(x, y)", "return y")},
        "are wrong",
    ),
    "takes an expanded input for contiguous": (
        inputs("[torch.randn(1).expand(N)]")
        | {"kernel_fn": function("kernel_fn(x)", "y = torch.empty(x.shape)", "launch(x, y)", "return y")},
        "are wrong",
    ),
    "takes inputs that share memory for separate ones": (
        inputs("[torch.ones(N)] * 2")
        | {
            "kernel_fn": function("kernel_fn(x, z)", "before = x.clone()", "launch(x, z)", "return before + z"),
            "reference_fn": function("reference_fn(x, z)", "z.copy_(x * 2)", "return x + z"),
        },
        "is 3.0 and should be 4.0",
    ),
    "reads elements that nothing wrote": ({"size": "N - 1"}, "is nan and should be"),
    "reads past its input": (
        {"decorator": "", "kernel_fn": function("kernel_fn(x)", "return wide(x)")}
        | end(
            "def wide(x):",
            "    y = torch.empty(x.numel() + 1)",
            "    double[(9,)](x, y, x.numel() + 1, BLOCK=64)",
            "    return y.sum()",
        )
        | reference("x.sum() * 2"),
        "is nan and should be",
    ),
    "writes past its output": ({"size": "N + 1"}, "the kernel wrote outside"),
    "keeps the first result": (
        top("import functools", "kept = {}")
        | {
            "kernel_fn": function(
                "kernel_fn(x)",
                "if x.shape not in kept:",
                "    y = torch.empty_like(x)",
                "    launch(x, y)",
                "    kept[x.shape] = y",
                "return kept[x.shape].clone()",
            )
        },
        "is that of earlier inputs in the same tensors",
    ),
    "keeps the first result of a file that always gives the same inputs": (
        top("kept = {}")
        | inputs("[torch.arange(N) * 1.0]")
        | {
            "kernel_fn": function(
                "kernel_fn(x)",
                "if x.data_ptr() not in kept:",
                "    y = torch.empty_like(x)",
                "    launch(x, y)",
                "    kept[x.data_ptr()] = y",
                "return kept[x.data_ptr()].clone()",
            )
        },
        "is that of earlier inputs in the same tensors",
    ),
    "returns one buffer for all inputs of a size": (
        top("kept = {}")
        | {
            "kernel_fn": function(
                "kernel_fn(x)", "y = kept.setdefault(x.shape, torch.empty_like(x))", "launch(x, y)", "return y"
            )
        },
        "changes after kernel_fn has returned it",
    ),
    "changes its result in a thread": (
        top("import threading, time")
        | kernel("threading.Thread(target=lambda: (time.sleep(0.01), y.zero_())).start()"),
        "changes after kernel_fn has returned it",
    ),
    "is wrong at each second call": (
        top("import itertools", "calls = itertools.count()") | kernel("y.add_(next(calls) % 2)"),
        "are wrong",
    ),
    "is never twice the same": (
        top("import itertools", "calls = itertools.count()") | kernel("y.mul_(1 + next(calls) % 2 * 1e-6)"),
        "programs race",
    ),
    "depends on the order of programs": (
        {
            "kernel_fn": function("kernel_fn(x)", "y = torch.zeros(1)", "last[(4,)](x, y)", "return y"),
            "reference_fn": function("reference_fn(x)", "return x[3:4]"),
            "get_inputs": function("get_inputs()", "return [torch.randn(4)]"),
        }
        | end(
            "@triton.jit",
            "def last(x, y):",
            "    tl.store(y, tl.load(x + tl.program_id(0)))",
        ),
        "differs when programs run in reverse",
    ),
    "seeds the random numbers": (kernel("torch.manual_seed(0)", "torch.rand(1)"), "kernel_fn changes PyTorch's random"),
    "takes random numbers of Python": (
        top("import random") | kernel("random.random()"),
        "kernel_fn changes Python's random state",
    ),
    "changes the default dtype": (
        kernel("torch.set_default_dtype(torch.float64)"),
        "kernel_fn changes the default dtype",
    ),
    "stops the recording of gradients": (kernel("torch.set_grad_enabled(False)"), "whether PyTorch records gradients"),
    "launches no kernel": ({"kernel_fn": function("kernel_fn(x)", "return x * 2")}, "launches no kernel of Triton"),
    "hides an error of its kernel": (
        {
            "factor": "undefined",
            "kernel_fn": function(
                "kernel_fn(x)",
                "y = torch.empty_like(x)",
                "try:",
                "    launch(x, y)",
                "except Exception:",
                "    y = x * 2",
                "return y",
            ),
        },
        "kernel_fn goes on after an error of double",
    ),
    "is its own reference": (end("reference_fn = kernel_fn"), "reference_fn launches double itself"),
    "tunes without restoring what it updates": (
        TUNED
        | {
            "kernel_fn": function("kernel_fn(x)", "launch(x, x)", "return x"),
            "reference_fn": function("reference_fn(x)", "return x.mul_(2)"),
        },
        "autotuned: ",
    ),
    "is wrong for one config": (TUNED | {"factor": "(2 + (BLOCK == 64))"}, "BLOCK=64"),
    "is wrong for other sizes than its own": (
        inputs("[torch.randn(N)]", "N=128") | {"size": "(N // 64 * 64)"},
        "N=41: ",
    ),
}

# How the process ends, or what it does beside its work; and what the verdict says.
ODD = {
    "exits at import": (end("import sys; sys.exit(0)"), "ends the process, with 0"),
    "exits in its kernel": (kernel("raise SystemExit(3)"), "ends the process, with 3"),
    "exits at once": (end("import os; os._exit(0)"), "the process ended with exit code 0 in the import"),
    "exits at once in its kernel": (top("import os") | kernel("os._exit(0)"), "exit code 0 in kernel_fn"),
    "exits in a thread": (
        end("import os, threading, time; threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(9)"),
        "the process ended with exit code 0",
    ),
    "interrupts itself": (end("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "interrupts itself by a signal": (
        end("import os, signal; os.kill(os.getpid(), signal.SIGINT)"),
        "KeyboardInterrupt",
    ),
    "terminates its group": (end("import os, signal; os.kill(0, signal.SIGTERM)"), "was ended by SIGTERM"),
    "kills itself": (kernel("import os; os.kill(os.getpid(), 9)"), "was ended by SIGKILL in kernel_fn"),
    "dies of a write to nothing": (kernel("import ctypes; ctypes.string_at(0)"), "was ended by SIGSEGV"),
    "sets an alarm": (end("import signal, time; signal.alarm(1); time.sleep(9)"), "was ended by SIGALRM"),
    "stops itself": (end("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"), "did not end within 5 s"),
    "never ends at import": (end("while True: pass"), "the import of scale me.py did not end within 5 s"),
    "never ends in its kernel": (kernel("while True: pass"), "kernel_fn did not end within 5 s"),
    "never ends and ignores signals": (
        end("import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"),
        "did not end within 5 s",
    ),
    "waits for input": (end("input()"), "EOFError"),
    "recurses for ever": (kernel("(lambda f: f(f))(lambda f: f(f))"), "RecursionError"),
    "raises what is no Exception": (end("class Odd(BaseException): pass", "raise Odd('odd')"), "Odd: odd"),
    "raises what cannot be shown": (
        end("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd"),
        "Odd",
    ),
    "is no Python": (end("def"), "SyntaxError"),
    "closes the files of the process": (end("import os; os.closerange(3, 256)"), "exit code 1"),
}

# Noise that leaves a right module right.
LOUD = {
    "prints to the file descriptor": end("import os; os.write(1, b'raw')"),
    "prints through C": end("import ctypes; ctypes.CDLL(None).puts(b'from C')"),
    "prints from a child": end("import os; os.system('echo child')"),
    "prints at exit": end("import atexit; atexit.register(print, 'late')"),
    "prints in its kernel": kernel("print('here')"),
    "writes to the real stdout": end("import sys; sys.__stdout__.write('real'); sys.__stdout__.flush()"),
    "closes stdout": end("import os, sys; sys.stdout.close(); os.close(1)"),
    "leaves a daemon": end("import os, time", "if os.fork() == 0:", "    os.setsid(); time.sleep(60); os._exit(0)"),
    "forks and goes on": end("import os; os.fork()"),
    "leaves a thread": end("import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()"),
    "changes the default device": end("torch.set_default_device('cpu')"),
    "changes the default dtype at import": end("torch.set_default_dtype(torch.float64)"),
}

RIGHT = {
    "is plain": {},
    "takes strides": inputs("[torch.randn(2 * N)[::2].contiguous()]"),
    "copies a strided input": inputs("[torch.randn(2 * N)[::2]]")
    | {
        "kernel_fn": function(
            "kernel_fn(x)", "x = x.contiguous()", "y = torch.empty_like(x)", "launch(x, y)", "return y"
        )
    },
    "copies an expanded input": inputs("[torch.randn(1).expand(N)]")
    | {
        "kernel_fn": function(
            "kernel_fn(x)", "x = x.contiguous()", "y = torch.empty_like(x)", "launch(x, y)", "return y"
        )
    },
    "takes a scalar": inputs("[torch.randn(())]"),
    "takes nothing among others": inputs("[torch.randn(N)]", "N=100")
    | end('SHAPES = [{"N": 0}, {"N": 70}]')
    | {
        "kernel_fn": function(
            "kernel_fn(x)", "y = torch.empty_like(x)", "if x.numel():", "    launch(x, y)", "return y"
        )
    },
    "returns a transposed view as the reference does": inputs("[torch.randn(N, 3)]")
    | kernel(result="y.t()")
    | reference("(x * 2).t()"),
    "returns a view of its input as the reference does": kernel(result="(y, x[1:])") | reference("(x * 2, x[1:])"),
    "updates in place as the reference does": {
        "kernel_fn": function("kernel_fn(x)", "launch(x, x)", "return x"),
        "reference_fn": function("reference_fn(x)", "return x.mul_(2)"),
    },
    "updates in place and returns nothing": {
        "kernel_fn": function("kernel_fn(x)", "launch(x, x)"),
        "reference_fn": function("reference_fn(x)", "x.mul_(2)"),
    },
    "updates in place as it declares": {"kernel_fn": function("kernel_fn(x)", "launch(x, x)", "return x")}
    | end('IN_PLACE = ["x"]'),
    "updates in place as it declares, and returns nothing": {"kernel_fn": function("kernel_fn(x)", "launch(x, x)")}
    | end('IN_PLACE = ["x"]'),
    "writes an output that is passed": {
        "kernel_fn": function("kernel_fn(x, out)", "launch(x, out)", "return out"),
        "reference_fn": function("reference_fn(x, out)", "return out.copy_(x * 2)"),
    }
    | inputs("[torch.randn(N), torch.empty(N)]"),
    "takes two views of one buffer": inputs("(lambda b: [b[::2], b[1::2]])(torch.randn(2 * N))")
    | {
        "kernel_fn": function(
            "kernel_fn(x, z)", "x = x.contiguous()", "y = torch.empty_like(x)", "launch(x, y)", "return y + z"
        ),
        "reference_fn": function("reference_fn(x, z)", "return x * 2 + z"),
    },
    "returns a tuple": kernel(result="(y, y + 1)") | reference("(x * 2, x * 2 + 1)"),
    "returns a list and a tuple": kernel(result="[y, y + 1]") | reference("(x * 2, x * 2 + 1)"),
    "returns None in a tuple as the reference does": kernel(result="(y, None)") | reference("(x * 2, None)"),
    "computes truth values": kernel(result="y > 0") | reference("x * 2 > 0"),
    "computes complex numbers": inputs("[torch.randn(N, dtype=torch.complex64)]")
    | {
        "kernel_fn": function(
            "kernel_fn(x)",
            "y = torch.empty_like(x)",
            "launch(torch.view_as_real(x), torch.view_as_real(y))",
            "return y",
        )
    },
    "computes int32 where PyTorch has int64": inputs("[torch.arange(N, dtype=torch.int32)]")
    | reference("x.long() * 2"),
    "computes float16 where the reference widens": inputs("[torch.randn(N, dtype=torch.float16)]")
    | reference("x.float() * 2"),
    "computes float16 as one input has it": inputs("[torch.randn(N).half(), torch.ones(N)]")
    | {"kernel_fn": function("kernel_fn(x, z)", "y = torch.empty_like(x)", "launch(x, y)", "return y")}
    | reference("x * 2 * z", parameters="x, z"),
    "computes float64": inputs("[torch.randn(N, dtype=torch.float64)]"),
    "returns NaN among numbers": inputs("[torch.randn(N).masked_fill(torch.arange(N) % 3 == 1, float('nan'))]"),
    "runs several kernels": kernel("z = torch.empty_like(y)", "launch(y, z)", result="z") | reference("x * 4"),
    "tunes": TUNED,
    "tunes with hooks": TUNED
    | {
        "decorator": """
@triton.autotune(
    [triton.Config({"BLOCK": b}, pre_hook=lambda args: args["y"].zero_()) for b in (32, 64)],
    key=["N"],
    pre_hook=lambda args, reset_only=False: None,
    post_hook=lambda args, exception: None,
)"""
    },
    "tunes and restores": {
        "decorator": TUNED["decorator"].replace("key", 'restore_value=["y"], key'),
        "end": TUNED["end"],
        "kernel_fn": function("kernel_fn(x)", "launch(x, x)", "return x"),
        "reference_fn": function("reference_fn(x)", "return x.mul_(2)"),
    },
    "adds by atomics": {
        "kernel_fn": function(
            "kernel_fn(x)", "y = torch.zeros(1)", "total[(triton.cdiv(x.numel(), 64),)](x, y, x.numel())", "return y"
        ),
        "reference_fn": function("reference_fn(x)", "return x.sum(0, keepdim=True)"),
    }
    | end(
        "@triton.jit",
        "def total(x, y, N):",
        "    i = tl.program_id(0) * 64 + tl.arange(0, 64)",
        "    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < N, other=0.0)))",
    ),
    "runs in inference mode": end("kernel_fn = torch.inference_mode()(kernel_fn)"),
    "changes the working directory": end("import os; os.chdir('/')"),
    "takes what is no tensor": inputs("[torch.randn(N), {'by': [2, None, 'text', torch.float32]}]")
    | {
        "kernel_fn": function("kernel_fn(x, options)", "y = torch.empty_like(x)", "launch(x, y)", "return y"),
        "reference_fn": function("reference_fn(x, options)", "return x * options['by'][0]"),
    },
    "has a gradient": gradient("2"),
    "takes a seed from PyTorch's random numbers": {
        "kernel_fn": function("kernel_fn(x)", "y = torch.empty_like(x)", "launch(x, y)", "return y + torch.rand(1)"),
        "reference_fn": function("reference_fn(x)", "return x * 2 + torch.rand(1, dtype=torch.float32)"),
    },
}


def module(parts):
    return MODULE.format(**PARTS | parts)


class Judge(unittest.TestCase):
    def judged(self, parts, *options, others=()):
        code, result, errors = run(
            "verify_kernel.py", module(parts), "--device", "interpreter", *options, others=others
        )
        self.assertIsNotNone(result, errors)
        return code, result

    def test_what_looks_right_and_is_wrong(self):
        for name, (parts, says) in WRONG.items():
            with self.subTest(name):
                code, result = self.judged(parts)
                self.assertEqual((code, result["correct"]), (1, False))
                self.assertIn(says, f"{result['details']} {result.get('failures')}")

    def test_each_end_has_a_verdict(self):
        for name, (parts, says) in ODD.items():
            with self.subTest(name):
                code, result = self.judged(parts, "--timeout", "5")
                self.assertEqual((code, result["correct"]), (1, False))
                self.assertIn(says, result["details"])

    def test_the_verdict_alone_is_on_stdout(self):
        for name, parts in LOUD.items():
            with self.subTest(name):
                code, result = self.judged(parts)
                self.assertEqual((code, result["correct"]), (0, True), result["details"])

    def test_what_is_right(self):
        for name, parts in RIGHT.items():
            with self.subTest(name):
                code, result = self.judged(parts)
                self.assertEqual((code, result["correct"]), (0, True), f"{result['details']} {result.get('failures')}")

    def test_each_config_of_a_kernel_from_elsewhere_runs(self):
        source = module(TUNED | {"factor": "(2 + (BLOCK == 64))"})
        uses = "from {} import double, launch, kernel_fn, reference_fn, get_inputs\n"
        for name, file, others, line in (
            ("another file", "kernel.py", {"helper.py": source}, uses.format("helper")),
            (
                "its package",
                "pack/kernel.py",
                {"pack/__init__.py": "", "pack/helper.py": source},
                uses.format(".helper"),
            ),
            (
                "a file that is imported late",
                "kernel.py",
                {"helper.py": source},
                "def kernel_fn(x):\n    import helper\n    return helper.kernel_fn(x)\n"
                "def reference_fn(x): return x * 2\ndef get_inputs(): import torch; return [torch.randn(100)]\n",
            ),
        ):
            with self.subTest(name):
                code, result, errors = run(
                    "verify_kernel.py", line, "--device", "interpreter", file=file, others=others
                )
                self.assertEqual((code, result["correct"]), (1, False), errors)
                self.assertIn("2 configs", result["details"])
                wrong = [failure for failure in result["failures"] if "autotuned" not in failure]
                self.assertEqual(["BLOCK=64" in failure for failure in wrong], [True])


if __name__ == "__main__":
    unittest.main()
