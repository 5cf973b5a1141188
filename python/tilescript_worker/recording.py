"""Runs a user's script with a simulated GPU, and records each launch of a Triton kernel instead of executing it.

Tensors for ``cuda`` are created on the CPU with the same dtypes, shapes and strides. Outputs of kernels are undefined,
so a script may fail when it reads them. Launches recorded before that point are kept.
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
from .cpu_time import in_script
from .descriptors import descriptor_argument
from .ttir import TARGET, Argument

# Limits per kernel. A script may launch a kernel thousands of times.
MAX_CALLS = 8
MAX_LAUNCHES = 32
# Launch options that a config may also set.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

# Functions of torch.cuda that do nothing here.
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
    """The shape and the strides of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class RecordedLaunch:
    """The arguments, grid and options of one launch."""

    # Numbers and booleans, by parameter.
    values: dict[str, Any]
    # None if the script's grid function fails.
    grid: tuple[int, ...] | None
    options: dict[str, int]
    # The shape and the strides of each tensor, by parameter.
    tensors: dict[str, Layout]


@dataclass
class RecordedCalls:
    """The distinct launches of a kernel: ``arguments`` by types and constants, ``launches`` by numbers."""

    arguments: list[dict[str, Argument]] = field(default_factory=list)
    launches: list[RecordedLaunch] = field(default_factory=list)
    site: CallSite | None = None

    def record(self, arguments: dict[str, Argument], launched: RecordedLaunch) -> None:
        if arguments not in self.arguments and len(self.arguments) < MAX_CALLS:
            self.arguments.append(arguments)
        if launched not in self.launches and len(self.launches) < MAX_LAUNCHES:
            self.launches.append(launched)


@dataclass
class Recording:
    """The calls of each kernel, and the reason if the script stopped early."""

    calls: dict[JITFunction, RecordedCalls] = field(default_factory=dict)
    stopped: str | None = None


def record(script: str) -> Recording:
    """Runs the script as ``__main__``."""
    recording = Recording()
    module = ModuleType("__main__")
    module.__file__ = script
    saved_state = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = module, [script]
    sys.path.insert(0, os.path.dirname(script))
    try:
        with tokenize.open(script) as file:
            code = compile(file.read(), script, "exec")
        with simulated_gpu(recording), in_script():
            exec(code, module.__dict__)
    except SystemExit as error:
        recording.stopped = None if error.code in (None, 0) else f"it ended with exit code {error.code}"
    except BaseException as error:
        recording.stopped = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = saved_state
    return recording


@contextmanager
def simulated_gpu(recording: Recording) -> Iterator[None]:
    """Inside a ``with``, launches are recorded, and PyTorch and Triton see the simulated GPU."""
    with _record_launches(recording), _pretend_gpu():
        yield


@contextmanager
def _record_launches(recording: Recording) -> Iterator[None]:
    """Inside a ``with``, records launches instead of running them. Autotuners use their first config."""

    def run(self: JITFunction, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        names = {param.name for param in self.params}
        parameters = {name: value for name, value in kwargs.items() if name in names}
        bound = self.signature.bind(*args, **parameters)
        bound.apply_defaults()
        calls = recording.calls.get(self)
        if calls is None:
            calls = recording.calls[self] = RecordedCalls(site=call_site(sys._getframe(1), list(self.arg_names)))
        options = {name: kwargs[name] for name in OPTIONS if kwargs.get(name) is not None}
        numbers, tensors = _numbers(bound.arguments), _tensors(bound.arguments)
        launch = RecordedLaunch(numbers, _evaluate_grid(grid, bound.arguments), options, tensors)
        calls.record({param.name: _argument(param, bound.arguments[param.name]) for param in self.params}, launch)
        return mock.MagicMock(name="a compiled kernel")

    def first(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        # Scripts read it after a launch.
        self.best_config = self.configs[0]
        fixed = {name: value for name, value in self.best_config.all_kwargs().items() if value is not None}
        if self.best_config.pre_hook is not None:
            # The hook sets the block shapes of descriptors.
            self.best_config.pre_hook({**dict(zip(self.arg_names, args, strict=False)), **kwargs, **fixed})
        return self.fn.run(*args, **{**kwargs, **fixed})

    with (
        mock.patch.object(JITFunction, "run", run),
        mock.patch.object(Autotuner, "run", first),
        # Subclasses may override `run`; their benchmark runs are not launches.
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


def _evaluate_grid(grid: Any, arguments: dict[str, Any]) -> tuple[int, ...] | None:
    try:
        value: Any = grid(arguments) if callable(grid) else grid
        return tuple(int(each) for each in (value if isinstance(value, tuple | list) else [value]))
    except Exception:
        return None


def _argument(param: Any, value: Any) -> Argument:
    """The argument of Triton's signature for a value."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if param.is_constexpr or value is None:
        return Argument("constant", value=tuple(value) if isinstance(value, list) else value)
    if isinstance(value, TensorDescriptor):
        return descriptor_argument(value)
    # Triton treats every object with a data pointer as a tensor.
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
    """A driver for the simulated GPU, with the methods that Triton and scripts use."""

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
    """Calls the function once instead of timing it."""
    function()
    return 1.0 if quantiles is None else [1.0 for _ in quantiles]


def _no_op(*_: Any, **__: Any) -> None:
    return None


def _make_no_op(name: str) -> Any:
    """A distinct function for each name, because PyTorch's compiler keeps a table of functions."""

    def no_op(*_: Any, **__: Any) -> None:
        return None

    no_op.__name__ = name
    return no_op


class _CudaIsCpu(TorchFunctionMode):
    """Replaces the device ``cuda`` by the CPU in calls of PyTorch. Every tensor claims to be on a GPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named_arguments = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0]
        if getattr(function, "__self__", None) is torch.Tensor.is_cuda:
            return True
        named_arguments.pop("pin_memory", None)
        if "device" in named_arguments:
            named_arguments["device"] = _to_cpu(named_arguments["device"])
        return function(*(_to_cpu(each) for each in args) if name == "to" else args, **named_arguments)


def _to_cpu(value: Any) -> Any:
    if isinstance(value, torch.device):
        return "cpu" if value.type == "cuda" else value
    if isinstance(value, str):
        return "cpu" if value.startswith("cuda") else value
    is_index = isinstance(value, int) and not isinstance(value, bool)
    return "cpu" if is_index else value


@contextmanager
def _pretend_gpu() -> Iterator[None]:
    """Inside a ``with``, PyTorch and Triton see the simulated GPU."""
    generator = SimpleNamespace(
        get_state=lambda: torch.zeros(16, dtype=torch.uint8), set_state=_no_op, initial_seed=lambda: 0
    )
    event = SimpleNamespace(record=_no_op, elapsed_time=lambda _: 1.0, synchronize=_no_op, wait=_no_op)
    stream = SimpleNamespace(cuda_stream=0, synchronize=_no_op, wait_stream=_no_op)
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
        **{name: _make_no_op(name) for name in IGNORED},
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
