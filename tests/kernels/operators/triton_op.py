"""Modules that register a triton_op, on a machine that may have no GPU: Triton compiles nothing here."""

import importlib
import os
import pathlib
import sys
import unittest

import gemm
import moments
import softmax
import torch
from torch._functorch.aot_autograd import aot_export_module
from torch._library.triton import get_triton_kernels_for_op
from torch._subclasses import FakeTensorMode


sys.path.append(str(pathlib.Path(__file__).parents[3] / "python"))
from tilescript_worker.launching import set_target, without_device_check

# PyTorch has Triton's front end say which tensors a kernel changes, for the GPU that is there.
set_target(["cuda", 90, 32])
MODULES = {
    path.stem: importlib.import_module(path.stem) for path in pathlib.Path(os.environ["PYTHONPATH"]).glob("*.py")
}
# Of the operators that launch one kernel after another.
LAUNCHES = {
    "vector_sum": 2,
    "gemm_split_k": 2,
    "gemm_stream_k": 2,
    "decode_attention": 2,
    "linear_cross_entropy": 2,
}


def inputs_of(module):
    """Its inputs, drawn where there is no GPU: to be moved in name only."""
    with without_device_check(module):
        return module.get_inputs()


class Call(torch.nn.Module):
    """An operator of given arguments but for their tensors."""

    def __init__(self, operator, arguments):
        super().__init__()
        self.operator, self.arguments = operator, arguments

    def forward(self, *tensors):
        rest = iter(tensors)
        arguments = [next(rest) if isinstance(each, torch.Tensor) else each for each in self.arguments]
        result = self.operator(*arguments)
        return tensors if result is None else result if isinstance(result, tuple) else (result,)


class TritonOp(unittest.TestCase):
    def test_schemas(self):
        names = ("softmax", "moments")
        self.assertEqual(
            [str(getattr(torch.ops.traced, name).default._schema) for name in names],
            [
                "traced::softmax(Tensor x) -> Tensor",
                "traced::moments(Tensor x, Tensor(a1!) seen) -> (Tensor, Tensor)",
            ],
        )

    def test_shapes_without_a_gpu(self):
        with FakeTensorMode():
            x = torch.empty((5, 37), device="cuda")
            y = torch.ops.traced.softmax(x)
            seen = torch.empty(5, device="cuda", dtype=torch.int32)
            mean, centered = torch.ops.traced.moments(x, seen)
        self.assertEqual((y.shape, y.dtype, y.device.type), ((5, 37), torch.float32, "cuda"))
        self.assertEqual((mean.shape, centered.shape), ((5,), (5, 37)))

    def test_every_example_becomes_its_launches(self):
        for name, module in MODULES.items():
            inputs = inputs_of(module)
            with FakeTensorMode(allow_non_fake_inputs=True), self.subTest(name):
                tensors = [torch.empty_like(x, device="cuda") for x in inputs if isinstance(x, torch.Tensor)]
                call = Call(getattr(torch.ops.traced, name), inputs)
                graph, _ = aot_export_module(call, tensors, trace_joint=False)
                targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
                self.assertEqual(targets.count("triton_kernel_wrapper_functional"), LAUNCHES.get(name, 1), targets)
                self.assertFalse([target for target in targets if target.startswith("traced.")])

    def test_launches_in_a_graph(self):
        class Model(torch.nn.Module):
            def forward(self, x, y):
                seen = torch.ops.traced.softmax(x)
                return (torch.ops.traced.gemm(seen.half(), torch.ops.traced.softmax(y).half()),)

        with FakeTensorMode():
            args = [torch.empty(shape, device="cuda") for shape in ((5, 37), (37, 9))]
            graph, _ = aot_export_module(Model(), args, trace_joint=False)
        launches = [node for node in graph.graph.nodes if "triton_kernel_wrapper" in str(node.target)]
        self.assertEqual([launch.kwargs["kwargs"]["N"] for launch in launches], [37, 9, 9])
        configs = [len(kernel.configs) for kernel in (softmax.softmax_kernel, softmax.softmax_kernel, gemm.gemm_kernel)]
        self.assertEqual([len(launch.kwargs["grid"]) for launch in launches], configs)
        self.assertFalse([node for node in graph.graph.nodes if "traced" in str(node.target)])

    def test_a_gradient_becomes_launches(self):
        class Loss(torch.nn.Module):
            def __init__(self, operator):
                super().__init__()
                self.operator = operator

            def forward(self, *inputs):
                return (self.operator(*inputs).square().sum(),)

        shapes = ((5, 37), (37,), (37,))
        # Of affine: its forward kernel, and the gradient of x by the same kernel where that is asked for.
        cases = (("scale", 2, (0, 1), 2), ("affine", 3, (0, 1, 2), 2), ("affine", 3, (1, 2), 1))
        for name, count, wanted, launches in cases:
            # Autograd asks the GPU of a tensor for its context, so that these are the CPU's, in name only too.
            with without_device_check(MODULES[name]), FakeTensorMode(), self.subTest(name, wanted=wanted):
                inputs = [torch.empty(shape, requires_grad=i in wanted) for i, shape in enumerate(shapes[:count])]
                loss = Loss(getattr(torch.ops.traced, name))
                graph, _ = aot_export_module(loss, inputs, trace_joint=True, output_loss_index=0)
                targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
                self.assertEqual(targets.count("triton_kernel_wrapper_functional"), launches, targets)
                self.assertFalse([target for target in targets if target.startswith("traced.")])

    def test_temporaries_become_part_of_the_graph(self):
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.ops.traced.doubled(x)

        with FakeTensorMode():
            graph, _ = aot_export_module(Model(), [torch.empty(70, device="cuda")], trace_joint=False)
        targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
        self.assertEqual(targets.count("triton_kernel_wrapper_functional"), 1, targets)
        self.assertIn("aten.add.Tensor", targets)

    def test_pytorch_knows_the_kernels(self):
        # What its caches of compiled graphs look at.
        self.assertEqual(get_triton_kernels_for_op("traced::softmax"), [softmax.softmax_kernel])
        self.assertEqual(get_triton_kernels_for_op("traced::moments"), [moments.moments_kernel])

    def test_tensors_of_a_graph_have_no_addresses(self):
        with FakeTensorMode():
            x = torch.empty((5, 37), device="cuda")
            self.assertTrue(softmax._is_traced(x))
        self.assertFalse(softmax._is_traced(torch.nn.Parameter(torch.empty((5, 37)))))


if __name__ == "__main__":
    unittest.main()
