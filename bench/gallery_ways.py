"""What the parts of bench/gallery.py are made of: a case, and the ways to one result."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from tilescript_worker.modules import import_file

@dataclass(frozen=True)
class Case:
    """Ways take nothing and return a tensor or a tuple of them, as ``expected`` is; ``tilescript`` is one of them."""

    facts: dict[str, Any]
    ways: dict[str, Callable[[], Any]]
    expected: tuple[torch.Tensor, ...]
    bound: float
    # What must be read and written, for the limit; None where products decide.
    bytes: int | None = None
    flops: int | None = None


def normal(*shape, dtype):
    return torch.randn(shape, device="cuda", dtype=dtype)


def facts(kernel, dtype, **sizes):
    return {"kernel": kernel, "dtype": str(dtype).removeprefix("torch."), "sizes": sizes}


def compiled(function, autotuned=False):
    """PyTorch's compiler, for these shapes alone."""
    mode = {"mode": "max-autotune-no-cudagraphs"} if autotuned else {}
    return torch.compile(function, dynamic=False, **mode)


def module(folder, name):
    return import_file(str(folder / f"{name}.py"))


def chosen(folder, name, *inputs):
    """The module that times its warp-specialized kernel and its plain one, and launches the faster."""
    path = folder / "auto" / f"{name}.py"
    return {"auto": partial(import_file(str(path)).kernel_fn, *inputs)} if path.exists() else {}


def forward(emitted, eager, inputs, autotuned=False, **others):
    """Ours, PyTorch's and other ways, on these inputs."""
    ways = {"tilescript": emitted, "eager": eager, "compiled": compiled(eager)} | others
    if autotuned:
        ways["max-autotune"] = compiled(eager, autotuned=True)
    return {name: (lambda way=way: way(*inputs)) for name, way in ways.items()}


def gradients(emitted, eager, inputs, wanted, whole):
    """The gradients of ``wanted`` inputs, after a forward pass that is timed too if ``whole``."""

    def way(function):
        leaves = [each.detach().requires_grad_(at in wanted) for at, each in enumerate(inputs)]
        asked = [leaves[at] for at in wanted]
        results = function(*leaves)
        results = results if isinstance(results, tuple) else (results,)
        given = upstream[: len(results)]
        if not whole:
            return lambda: torch.autograd.grad(results, asked, given, retain_graph=True)

        def both():
            made = function(*leaves)
            return torch.autograd.grad(made if isinstance(made, tuple) else (made,), asked, given)

        return both

    with torch.no_grad():
        results = eager(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    upstream = [torch.randn_like(each) for each in results]
    ways = {"tilescript": way(emitted), "eager": way(eager), "compiled": way(compiled(eager))}
    return ways, upstream


def exact_gradients(eager, inputs, wanted, upstream, dtype=torch.float32):
    """Gradients of the same function in a wider dtype."""
    leaves = [each.to(dtype) if each.is_floating_point() else each for each in inputs]
    leaves = [each.detach().requires_grad_(at in wanted) for at, each in enumerate(leaves)]
    results = eager(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    given = [each.to(made.dtype) for each, made in zip(upstream, results, strict=True)]
    return torch.autograd.grad(results, [leaves[at] for at in wanted], given)
