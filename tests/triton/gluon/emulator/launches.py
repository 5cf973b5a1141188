"""Launches of emitted modules: their own wrapper, checks, grid, descriptors and configs, and an emulated GPU."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sys
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch
import triton
import triton.language as tl
from kernel_text import kernel_text, with_carried
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from .faults import Fault, Unknown
from .language import names_for
from .machine import Descriptor, Machine
from .memory import Memory
from .scheduler import Order
from .tiles import Pointer, Tile, number


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


class Launch:
    """What a launch may be: a config, so many multiprocessors, an order, a version of Triton."""

    def __init__(self, config: int, multiprocessors: int, order: str, version: str = "3.9"):
        self.config = config
        self.multiprocessors = multiprocessors
        self.order = order
        self.version = version


class EmulatedKernel:
    """Stands where the module has its autotuned kernel, and runs its text."""

    def __init__(self, path: Path, tuner: Any, launch: Launch, text: ast.Module, names: dict[str, Any]):
        self.tuner = tuner
        self.name = tuner.fn.fn.__name__
        # Annotations are to be values: `from __future__ import annotations` holds for this file alone.
        self.code = compile(with_carried(text), str(path), "exec", dont_inherit=True)
        self.names = names
        self.how = launch
        self.memory = Memory()
        self.config: dict[str, Any] | None = None
        self.programs: tuple[int, ...] = ()

    def __getitem__(self, grid: Callable[[dict[str, Any]], tuple[int, ...]]) -> Callable[..., None]:
        return lambda *args, **kwargs: self._launch(grid, args, kwargs)

    def _launch(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tuner = self.tuner
        tuner.nargs = dict(zip(tuner.arg_names, args))
        configs = tuner.prune_configs(kwargs)
        config = configs[self.how.config % len(configs)]
        self.config = config.kwargs
        meta = {**tuner.nargs, **kwargs, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(meta)
        self.programs = (*grid(meta), 1, 1)[:3]
        order = Order(self.how.order)
        for program in itertools.product(*map(range, self.programs)):
            self._run(program, meta, config.num_warps, order)

    def _run(self, program: tuple[int, ...], meta: dict[str, Any], warps: int, order: Order) -> None:
        machine = Machine(order, program, self.programs, warps)
        Tile.warps = staticmethod(lambda: machine.state.warps)
        space = {**names_for(machine, self.how.version), **self.names}
        exec(self.code, space)
        kernel = space[self.name]
        constants = {name for name, kind in kernel.__annotations__.items() if kind is tl.constexpr}
        names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
        given = {name: meta[name] if name in constants else self._argument(name, meta[name]) for name in names}
        kernel(**given)
        machine.end()

    def _argument(self, name: str, value: Any) -> Any:
        if isinstance(value, TensorDescriptor):
            if value.padding != "zero":
                raise Unknown(f"{name}, a descriptor with other padding than zeros")
            return Descriptor(self.memory.of(value.base), list(value.block_shape), value.layout)
        if isinstance(value, torch.Tensor):
            return Pointer(self.memory.of(value), number(0, tl.int64))
        if isinstance(value, bool):
            return number(value, tl.int1)
        if isinstance(value, int):
            return number(value, tl.int32 if -(2**31) <= value < 2**31 else tl.int64)
        if isinstance(value, float):
            return number(value, tl.float32)
        raise Unknown(f"{name}, an argument of type {type(value).__name__}")


def on_hopper(module: ModuleType) -> Callable[..., bool]:
    """The module's own answer to whether tensors suit its specialized kernel, on a Hopper GPU."""
    hopper = SimpleNamespace(
        compiler=torch.compiler,
        version=SimpleNamespace(hip=None),
        cuda=SimpleNamespace(get_device_capability=lambda: (9, 0)),
    )
    function = module._is_specialized
    names = {**vars(module), "_INTERPRETED": False, "torch": hopper}
    return FunctionType(function.__code__, names, function.__name__)


def emulate(
    module: ModuleType,
    path: Path,
    launch: Launch,
    args: dict[str, Any],
    outputs: dict[str, torch.Tensor],
    text: ast.Module | None = None,
    names: dict[str, Any] | None = None,
) -> EmulatedKernel:
    """Calls the wrapper so that its specialized kernel runs in the emulator; gives that kernel.

    Another `text` in place of the module's, with `names` of its own, is a mutant.

    @raise Fault where it does what it must not, or writes an element of an output never or twice.
    """
    name, tuner = next((name, value) for name, value in vars(module).items() if name.endswith("_specialized_kernel"))
    if isinstance(tuner, EmulatedKernel):
        tuner = tuner.tuner
    kernel = EmulatedKernel(path, tuner, launch, text or kernel_text(path.read_text()), names or {})
    emulated = {
        name: kernel,
        "_is_specialized": on_hopper(module),
        "_gpu_property": lambda *_: launch.multiprocessors,
        "_INTERPRETED": True,
    }
    real = {each: getattr(module, each, None) for each in emulated}
    vars(module).update(emulated)
    try:
        # The emulator computes bfloat16, which Triton's interpreter does not.
        with unittest.mock.patch.object(triton, "has_bfloat16", True, create=True):
            module.kernel_fn(**args, **outputs)
    finally:
        for each, value in real.items():
            if value is not None:
                setattr(module, each, value)
    if kernel.config is None:
        raise Unknown("the wrapper did not launch the specialized kernel")
    for label, tensor in outputs.items():
        if bool((kernel.memory.of(tensor).written_as() != 1).any()):
            raise Fault(f"elements of {label} are not written")
    return kernel
