"""Each kernel beside its reference, and what PyTorch asks of an operator.

Without a GPU the kernels run on Triton's interpreter. Inputs are drawn from SEED.
"""

import os
import unittest

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# isort: split
import triton

{{imports}}

SEED = 0


class Kernels(unittest.TestCase):
{{tests}}

    def check(self, module, operator, sizes, tolerances, gradients):
        """Runs a kernel on fresh inputs; tolerances and gradients are (rtol, atol)."""
        single_config(module)
        torch.manual_seed(SEED)
        inputs = module.get_inputs(**sizes)
        got = tensors(module.kernel_fn(*copied(inputs)))
        if hasattr(module, "reference_fn"):
            expected = tensors(exact(module.reference_fn, inputs))
            self.assertEqual(len(got), len(expected))
            for value, right, (rtol, atol) in zip(got, expected, tolerances):
                value, right = value.double(), right.double()
                torch.testing.assert_close(value, right, rtol=rtol, atol=atol)
        if gradients:
            self.check_gradients(module, inputs, gradients)
        if operator is not None:
            self.check_operator(operator, inputs, bool(gradients))

    def check_gradients(self, module, inputs, gradients):
        """Compares with torch.autograd of the reference in float64."""
        leaves = copied(inputs, requires_grad=gradients)
        outputs = tensors(module.kernel_fn(*leaves))
        above = [torch.randn_like(output) for output in outputs]
        got = torch.autograd.grad(outputs, [leaves[i] for i in gradients], above)
        wide = copied(inputs, dtype=torch.float64, requires_grad=gradients)
        outputs = tensors(module.reference_fn(*wide))
        above = [grad.double() for grad in above]
        expected = torch.autograd.grad(outputs, [wide[i] for i in gradients], above)
        for value, right, (rtol, atol) in zip(got, expected, gradients.values()):
            torch.testing.assert_close(value.double(), right, rtol=rtol, atol=atol)

    def check_operator(self, operator, inputs, differentiable):
        """torch.compile must see what the operator does, and nothing else."""
        leaves = range(len(inputs)) if differentiable else ()
        torch.library.opcheck(operator, copied(inputs, requires_grad=leaves))

        def call(*args):
            return operator(*args)

        torch.compiler.reset()
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        mine, theirs = copied(inputs), copied(inputs)
        eager, traced = [call(*mine), *mine], [compiled(*theirs), *theirs]
        # Also what is updated in place; an operator may give nothing.
        for value, right in zip(traced, eager):
            if right is not None:
                torch.testing.assert_close(value, right, rtol=0, atol=0)


def single_config(module):
    """Leaves one config of each kernel: the interpreter has nothing to measure."""
    if torch.cuda.is_available():
        return
    for value in vars(module).values():
        if isinstance(value, triton.runtime.Autotuner):
            value.configs = value.configs[:1]


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
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


if __name__ == "__main__":
    unittest.main()
