"""Each kernel beside its reference, and what PyTorch asks of an operator.

Without a GPU the kernels run on Triton's interpreter. Inputs are drawn from SEED.
"""

import inspect
import math
import os
import unittest

import torch

ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

# isort: split
import triton

{{imports}}

SEED = 0
BACKEND = "inductor" if ON_GPU else "aot_eager"


class Kernels(unittest.TestCase):
{{tests}}

    def check(self, module, sizes, tolerances, gradients=None):
        """Compares with the reference; tolerances are as assert_near has them."""
        inputs = fresh_inputs(module, sizes)
        got = tensors(module.kernel_fn(*copied(inputs)))
        if hasattr(module, "reference_fn"):
            expected = tensors(exact(module.reference_fn, inputs))
            for value, right, tolerance in zip(got, expected, tolerances, strict=True):
                assert_near(value, right, tolerance)
        if gradients:
            self.check_gradients(module, inputs, gradients)

    def check_gradients(self, module, inputs, gradients):
        """Compares with torch.autograd of the reference in float64."""
        wanted = places(module, gradients)
        got = gradients_of(module.kernel_fn, inputs, wanted)
        wide = copied(inputs, dtype=torch.float64)
        expected = gradients_of(module.reference_fn, wide, wanted)
        for i, tolerance in zip(wanted, gradients.values(), strict=True):
            try:
                assert_near(got[i], expected[i], tolerance)
            except AssertionError:
                # A result that is rounded before it is used again, such as a sum, costs
                # PyTorch as much: at most twice its own error in these dtypes is right.
                own = gradients_of(module.reference_fn, inputs, wanted)[i].double()
                lost = (got[i].double() - expected[i].double()).abs().max()
                assert lost <= 2 * (own - expected[i].double()).abs().max()
            # The same where it is the only one that is asked for.
            alone = gradients_of(module.kernel_fn, inputs, [i])
            torch.testing.assert_close(alone[i], got[i], rtol=0, atol=0)

    def check_operator(
        self, module, operator, sizes, gradients=(), tolerance=(0, 0, 0)
    ):
        """opcheck, and torch.compile beside eager: bit for bit without a tolerance."""
        inputs, wanted = fresh_inputs(module, sizes), places(module, gradients)
        torch.library.opcheck(operator, copied(inputs, requires_grad=wanted))

        def call(*args):
            # What is updated in place counts, too.
            results = [*tensors(operator(*args)), *args]
            return [value for value in results if isinstance(value, torch.Tensor)]

        self.check_compiled(call, inputs, tolerance)
        if wanted:
            compiled = compile_whole(module.kernel_fn)
            got = gradients_of(compiled, inputs, wanted)
            expected = gradients_of(module.kernel_fn, inputs, wanted)
            torch.testing.assert_close(got, expected, rtol=0, atol=0)

    def check_compiled(self, call, inputs, tolerance):
        eager = call(*copied(inputs))
        traced = compile_whole(call)(*copied(inputs))
        for value, right in zip(traced, eager, strict=True):
            assert_near(value, right, tolerance)


def assert_near(value, right, tolerance):
    """Floats within rtol of themselves, atol, and rms of the output's root mean square.

    Integers within `steps`, and no more than the part `share` of them off at all.
    """
    rtol, atol, rms, steps, share = (*tolerance, 0, 0)[:5]
    if not value.is_floating_point():
        right = right.to(value.dtype)
        differing = (value != right).sum().item()
        allowed = steps if differing <= math.ceil(share * value.numel()) else 0
        torch.testing.assert_close(value, right, rtol=0, atol=allowed)
        return
    value, right = value.double(), right.double()
    finite = right[right.isfinite()]
    scale = finite.square().mean().sqrt().item() if rms and finite.numel() else 0
    torch.testing.assert_close(value, right, rtol=rtol, atol=atol + rms * scale)


def fresh_inputs(module, sizes):
    if not ON_GPU:
        # The interpreter has nothing to measure: one config of each kernel is enough.
        for value in vars(inspect.getmodule(module.kernel_fn)).values():
            if isinstance(value, triton.runtime.Autotuner):
                value.configs = value.configs[:1]
    torch.manual_seed(SEED)
    return module.get_inputs(**sizes)


def places(module, names):
    """Where these arguments stand."""
    parameters = list(inspect.signature(module.kernel_fn).parameters)
    return [parameters.index(name) for name in names]


def compile_whole(call):
    """One graph, compiled anew."""
    torch.compiler.reset()
    return torch.compile(call, fullgraph=True, backend=BACKEND)


def gradients_of(call, inputs, wanted):
    """Gradients of the inputs at these places, for the same random one of outputs."""
    leaves = copied(inputs, requires_grad=wanted)
    outputs = tensors(call(*leaves))
    torch.manual_seed(SEED)
    # Small integers, which are the same in every dtype.
    above = [torch.randint(-3, 4, output.shape).to(output) for output in outputs]
    found = torch.autograd.grad(outputs, [leaves[i] for i in wanted], above)
    return dict(zip(wanted, found, strict=True))


def copied(inputs, dtype=None, requires_grad=()):
    """The inputs as new tensors, floats in another dtype where one is given."""
    made = []
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            value = value.clone()
            if value.is_floating_point():
                value = value.to(dtype or value.dtype)
                value.requires_grad_(i in requires_grad)
        made.append(value)
    return made


def exact(reference, inputs):
    """The reference in float64, or in the inputs' dtypes where it insists on them."""
    try:
        return reference(*copied(inputs, dtype=torch.float64))
    except (RuntimeError, NotImplementedError):
        return reference(*copied(inputs))


def tensors(returned):
    if returned is None:
        return []
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


if __name__ == "__main__":
    unittest.main()
