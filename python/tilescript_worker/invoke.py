"""Calling ``kernel_fn`` and ``reference_fn``, and giving names to what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef
from torch.overrides import TorchFunctionMode

from .failures import WrongResult
from .inputs import Guarded, value_of

Arguments = dict[str, Any]


def given(request: dict[str, Any]) -> Arguments:
    """What a request gives besides tensors: numbers, strings, truth values, and dtypes by their names."""
    return {name: value_of(value) for name, value in request["arguments"].items()}


def call(function: Callable[..., Any], arguments: Arguments) -> Any:
    """Calls by keyword, with those arguments that the function has."""
    accepted = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in accepted})


def out_arguments(function: Callable[..., Any], outputs: dict[str, torch.Tensor]) -> Arguments | None:
    """Outputs the way a wrapper takes them: a single one as ``out``, several by name; None if it takes none."""
    accepted = inspect.signature(function).parameters
    if len(outputs) == 1 and "out" in accepted:
        return {"out": next(iter(outputs.values()))}
    return dict(outputs) if outputs and all(name in accepted for name in outputs) else None


def are_placed(outputs: list[dict[str, Any]]) -> bool:
    """Whether a request says how an output lies in memory: then it has to be passed to the wrapper."""
    return any(spec.get("layout", "contiguous") != "contiguous" for spec in outputs)


def results(
    function: Callable[..., Any], arguments: Arguments, names: list[str | None], passed: Arguments | None = None
) -> dict[str, torch.Tensor]:
    """Calls a function; its results by name: what it returns, in the order of the signature, else what it updates.

    A name that is None stands for a result that the call leaves out, whatever the function gives for it.
    """
    returned = call(function, arguments | (passed or {}))
    present = [name for name in names if name is not None]
    wanted = f"it must give {', '.join(present)}"
    if returned is None:
        if any(name not in arguments for name in present):
            raise WrongResult(function, f"it returns None; {wanted}")
        return {name: arguments[name] for name in present}
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(values) != len(names):
        raise WrongResult(function, f"it returns {len(values)} value{'s' * (len(values) != 1)}; {wanted}")
    found = {name: value for name, value in zip(names, values, strict=True) if name is not None}
    for value in found.values():
        if not isinstance(value, torch.Tensor):
            raise WrongResult(function, f"it returns a value of type {type(value).__name__}, no tensor; {wanted}")
    return found


class GuardedMemory(TorchFunctionMode):
    """Inside a ``with``, ``torch.empty`` and its kin give poison between guards.

    Elements never written show in the result, and a write past the end shows in :attr:`damaged` instead of
    corrupting what lies behind.
    """

    _current: GuardedMemory | None = None

    def __init__(self, mark: int = 0) -> None:
        super().__init__()
        # Of the poison around the first tensor; each has the next one.
        self._mark = mark
        self._made: list[Guarded] = []
        self._around: list[GuardedMemory | None] = []

    def __enter__(self) -> GuardedMemory:
        # Entered again inside an operator, so that what was outside is kept for each time.
        self._around.append(GuardedMemory._current)
        GuardedMemory._current = self
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        GuardedMemory._current = self._around.pop()
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func not in _UNINITIALISED or result.numel() == 0:
            return result
        mark = self._mark + len(self._made)
        guarded = Guarded(result.shape, result.stride(), result.dtype, str(result.device), mark=mark)
        self._made.append(guarded)
        return guarded.tensor

    @property
    def damaged(self) -> bool:
        """Whether something was written outside a tensor that was allocated."""
        return any(guarded.damaged(inside=False) for guarded in self._made)


def guard_operators(module: ModuleType, device: str) -> None:
    """Lets :class:`GuardedMemory` see what a module's operators allocate: PyTorch runs those outside such a mode."""
    for operator in list(vars(module).values()):
        if isinstance(operator, CustomOpDef):
            operator.register_kernel(device)(_guarded(operator._init_fn))


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*args: Any, **kwargs: Any) -> Any:
        memory = GuardedMemory._current
        if memory is None:
            return function(*args, **kwargs)
        with memory:
            return function(*args, **kwargs)

    return guarded


_UNINITIALISED = {
    torch.empty,
    torch.empty_like,
    torch.empty_strided,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}
