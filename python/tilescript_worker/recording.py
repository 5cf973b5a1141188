"""Runs a user's script as on a GPU, with each launch of a Triton kernel noted instead of executed.

Tensors for ``cuda`` are made on the CPU, which keeps their dtypes, shapes and strides; what kernels would compute is
missing, so a script may stop where it looks at results. What was launched until then is known.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
import triton
import triton.language as tl
from torch.overrides import TorchFunctionMode
from triton._utils import canonicalize_dtype
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .call_sites import CallSite, call_site
from .descriptors import described
from .cpu_time import in_script
from .ttir import TARGET, Argument

# Of each kernel, which a script may launch thousands of times.
MOST_CALLS = 8
MOST_LAUNCHES = 32
# Options of a launch that a config has too.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

# Functions of torch.cuda that have nothing to do here.
IGNORED = (
    "synchronize",
    "empty_cache",
    "manual_seed",
    "manual_seed_all",
    "reset_peak_memory_stats",
    "set_device",
    "init",
    "_lazy_init",
)

GPU = SimpleNamespace(
    name="NVIDIA H200",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=141 << 30,
    shared_memory_per_block_optin=232448,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    gcnArchName="",
)


@dataclass
class Layout:
    """How a tensor lies in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Launched:
    """What the host decides at one launch."""

    # Numbers and truth values, by parameter.
    values: dict[str, Any]
    # None if the script's function for it fails.
    grid: tuple[int, ...] | None
    options: dict[str, int]
    # The shape and the strides of each tensor, by parameter.
    tensors: dict[str, Layout]


@dataclass
class Calls:
    """The launches of a kernel: those that differ in types and constants, and those that differ in numbers."""

    arguments: list[dict[str, Argument]] = field(default_factory=list)
    launched: list[Launched] = field(default_factory=list)
    site: CallSite | None = None

    def note(self, arguments: dict[str, Argument], launched: Launched) -> None:
        if arguments not in self.arguments and len(self.arguments) < MOST_CALLS:
            self.arguments.append(arguments)
        if launched not in self.launched and len(self.launched) < MOST_LAUNCHES:
            self.launched.append(launched)


@dataclass
class Launches:
    """The calls of each kernel, and why the script stopped, if it did not end."""

    calls: dict[JITFunction, Calls] = field(default_factory=dict)
    stopped: str | None = None


def record(script: str) -> Launches:
    """Runs the script as a program."""
    launches = Launches()
    module = ModuleType("__main__")
    module.__file__ = script
    before = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = module, [script]
    sys.path.insert(0, os.path.dirname(script))
    try:
        with tokenize.open(script) as file:
            code = compile(file.read(), script, "exec")
        with _noted(launches), _on_the_cpu(), in_script():
            exec(code, module.__dict__)
    except SystemExit as error:
        launches.stopped = None if error.code in (None, 0) else f"it ended with exit code {error.code}"
    except BaseException as error:
        launches.stopped = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before
    return launches


@contextmanager
def _noted(launches: Launches) -> Iterator[None]:
    """Inside a ``with``, a launch of a kernel is a note, and an autotuner takes its first config."""

    def run(self: JITFunction, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        names = {param.name for param in self.params}
        given = {name: value for name, value in kwargs.items() if name in names}
        bound = self.signature.bind(*args, **given)
        bound.apply_defaults()
        calls = launches.calls.get(self)
        if calls is None:
            calls = launches.calls[self] = Calls(site=call_site(sys._getframe(1), list(self.arg_names)))
        options = {name: kwargs[name] for name in OPTIONS if kwargs.get(name) is not None}
        numbers, tensors = _numbers(bound.arguments), _tensors(bound.arguments)
        launched = Launched(numbers, _programs(grid, bound.arguments), options, tensors)
        calls.note({param.name: _argument(param, bound.arguments[param.name]) for param in self.params}, launched)
        return mock.MagicMock(name="a compiled kernel")

    def first(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        # Scripts read it behind a launch.
        self.best_config = self.configs[0]
        fixed = {name: value for name, value in self.best_config.all_kwargs().items() if value is not None}
        if self.best_config.pre_hook is not None:
            # It sets the blocks of descriptors.
            self.best_config.pre_hook({**dict(zip(self.arg_names, args, strict=False)), **kwargs, **fixed})
        return self.fn.run(*args, **{**kwargs, **fixed})

    with (
        mock.patch.object(JITFunction, "run", run),
        mock.patch.object(Autotuner, "run", first),
        # An autotuner with a `run` of its own: its trials are no launches.
        mock.patch.object(Autotuner, "_bench", lambda *_, **__: [1.0, 1.0, 1.0]),
    ):
        yield


def _numbers(arguments: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value.value if isinstance(value, tl.constexpr) else value for name, value in arguments.items()}
    return {name: value for name, value in plain.items() if isinstance(value, bool | int | float)}


def _tensors(arguments: dict[str, Any]) -> dict[str, Layout]:
    return {
        name: Layout(tuple(value.shape), tuple(value.stride()))
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor) and value.layout is torch.strided
    }


def _programs(grid: Any, arguments: dict[str, Any]) -> tuple[int, ...] | None:
    try:
        given = grid(arguments) if callable(grid) else grid
        return tuple(int(each) for each in (given if isinstance(given, tuple | list) else [given]))
    except Exception:
        return None


def _argument(param: Any, value: Any) -> Argument:
    """What Triton would make of an argument."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if param.is_constexpr or value is None:
        return Argument("constant", value=tuple(value) if isinstance(value, list) else value)
    if isinstance(value, TensorDescriptor):
        return described(value)
    # Triton takes whatever has an address for a tensor.
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return Argument("pointer", canonicalize_dtype(value.dtype))
    if param.annotation_type:
        return Argument("scalar", param.annotation_type)
    if isinstance(value, bool):
        return Argument("scalar", "i1")
    if isinstance(value, int):
        return Argument("scalar", "i32" if -(2**31) <= value < 2**31 else "u64" if value >= 2**63 else "i64")
    if isinstance(value, float):
        return Argument("scalar", "fp32")
    return Argument("other", value=type(value).__name__)


class _Driver:
    """What Triton and scripts ask a driver of, for the GPU that is pretended."""

    utils = SimpleNamespace(
        get_device_properties=lambda _: {
            "multiprocessor_count": GPU.multi_processor_count,
            "max_num_regs": 65536,
            "max_shared_mem": GPU.shared_memory_per_block_optin,
            "warpSize": 32,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }
    )

    def get_current_target(self) -> Any:
        return TARGET

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int) -> int:
        return 0

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(1)

    def clear_cache(self, _: Any) -> None:
        return None

    def get_benchmarker(self) -> Any:
        return _benchmark


def _benchmark(function: Any, *_: Any, quantiles: Any = None, **__: Any) -> Any:
    """Calls what is measured once."""
    function()
    return 1.0 if quantiles is None else [1.0 for _ in quantiles]


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _ignored(name: str) -> Any:
    """A function of its own: PyTorch's compiler keeps a table of them."""

    def nothing(*_: Any, **__: Any) -> None:
        return None

    nothing.__name__ = name
    return nothing


class _CudaIsCpu(TorchFunctionMode):
    """Calls of PyTorch that name the device ``cuda`` get the CPU, and every tensor says that it is on a GPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0]
        if getattr(function, "__self__", None) is torch.Tensor.is_cuda:
            return True
        named.pop("pin_memory", None)
        if "device" in named:
            named["device"] = _cpu(named["device"])
        return function(*(_cpu(each) for each in args) if name == "to" else args, **named)


def _cpu(given: Any) -> Any:
    is_cuda = isinstance(given, int) and not isinstance(given, bool)
    is_cuda = is_cuda or (isinstance(given, torch.device) and given.type == "cuda")
    return "cpu" if is_cuda or (isinstance(given, str) and given.startswith("cuda")) else given


@contextmanager
def _on_the_cpu() -> Iterator[None]:
    """Inside a ``with``, PyTorch and Triton take this machine for one with the GPU that is pretended."""
    generator = SimpleNamespace(
        get_state=lambda: torch.zeros(16, dtype=torch.uint8), set_state=_nothing, initial_seed=lambda: 0
    )
    event = SimpleNamespace(record=_nothing, elapsed_time=lambda _: 1.0, synchronize=_nothing, wait=_nothing)
    stream = SimpleNamespace(cuda_stream=0, synchronize=_nothing, wait_stream=_nothing)
    pretended = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda *_: GPU,
        "get_device_capability": lambda *_: (GPU.major, GPU.minor),
        "get_device_name": lambda *_: GPU.name,
        "is_current_stream_capturing": lambda: False,
        "current_stream": lambda *_: stream,
        "default_generators": (generator,),
        "Event": lambda **_: event,
        "device": contextlib.nullcontext,
        "stream": contextlib.nullcontext,
        "device_of": contextlib.nullcontext,
        **{name: _ignored(name) for name in IGNORED},
    }
    threads = torch.get_num_threads()
    with contextlib.ExitStack() as stack:
        for name, instead in pretended.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, instead))
        stack.enter_context(mock.patch.object(triton.testing, "do_bench", _benchmark))
        stack.enter_context(_CudaIsCpu())
        driver.set_active(_Driver())
        torch.set_num_threads(1)
        stack.callback(torch.set_num_threads, threads)
        yield
