"""Calls a wrapper without running its kernels. A handler receives the arguments of each launch.

The arguments are tensors of zeros on the CPU. Triton specializes on the same properties as for a real launch with these
sizes. The wrapper and the heuristics compute the constexprs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from . import gradients
from .inputs import zeros_for
from .invoke import Arguments, argument_list, call, has_output_layout, out_arguments
from .modules import load
from .specialized import kernels_of, specialized


def call_on_zeros(request: dict[str, Any], launch: Callable[..., Any]) -> None:
    """Calls the wrapper, and its gradient if the request has one; ``launch`` gets the arguments of each kernel."""
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    tensors = {spec["python"]: zeros_for(spec) for spec in request["inputs"]}
    with ExitStack() as stack:
        stack.enter_context(without_device_check(module))
        form = request.get("specialized")
        if form is not None:
            stack.enter_context(specialized(module, form, compile_only=True))
        for jit in [*request["jits"], *([] if form is None else kernels_of(module))]:
            stack.enter_context(intercept_launches(getattr(module, jit), launch))
        names = [name for name in request.get("gradients", []) if name in tensors]
        if names:
            outputs, leaves = gradients.differentiable(module.kernel_fn, tensors, names, request)
            zeros = [torch.zeros_like(output) for output in outputs]
            # Both layouts that `verify` tries: Triton compiles another kernel for other strides.
            gradients.gradients(outputs, leaves, zeros, retain_graph=True)
            gradients.gradients(outputs, leaves, [gradients.strided_copy(zero) for zero in zeros])
        else:
            arguments: Arguments = tensors | argument_list(request)
            if has_output_layout(request["outputs"]):
                outputs = {spec["python"]: zeros_for(spec) for spec in request["outputs"]}
                arguments |= out_arguments(module.kernel_fn, outputs) or {}
            call(module.kernel_fn, arguments)


@contextmanager
def without_device_check(module: ModuleType) -> Iterator[None]:
    """Inside a ``with``, the wrapper accepts CPU tensors. Nothing is launched."""
    interpreted_before = vars(module).get("_INTERPRETED")
    triton = vars(vars(module)["triton"])
    is_corrected = "has_bfloat16" in triton
    vars(module)["_INTERPRETED"] = triton["has_bfloat16"] = True
    try:
        yield
    finally:
        vars(module)["_INTERPRETED"] = interpreted_before
        if not is_corrected:
            del triton["has_bfloat16"]


@contextmanager
def intercept_launches(kernel: Any, handler: Callable[..., Any]) -> Iterator[None]:
    """Inside a ``with``, ``handler`` replaces each launch of the kernel."""
    jit = kernel
    # The jit function below the autotuner and the heuristics.
    while hasattr(jit.fn, "run"):
        jit = jit.fn
    launch = jit.run

    def run(*arguments: Any, warmup: bool, **options: Any) -> Any:
        return handler(jit, launch, arguments, options)

    jit.run = run
    try:
        yield
    finally:
        del jit.run


def set_target(target: list[Any]) -> None:
    """Makes Triton compile for a GPU. No GPU is needed."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    driver.set_active(_TargetDriver(GPUTarget(*target)))


@dataclass(frozen=True)
class _TargetDriver:
    """The only driver methods that Triton's compiler needs."""

    target: Any

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> str:
        """The key of Triton's compiled kernels."""
        return f"{self.target.backend}:{self.target.arch}"

    def get_current_stream(self, device: str) -> int:
        return 0
