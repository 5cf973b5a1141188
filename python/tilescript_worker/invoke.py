"""Calls ``kernel_fn`` and ``reference_fn``, and names their results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef
from torch.overrides import TorchFunctionMode

from .failures import WrongResult
from .inputs import Guarded, decode_value

Arguments = dict[str, Any]


def argument_list(request: dict[str, Any]) -> Arguments:
    """The non-tensor arguments of a request: numbers, strings, booleans and dtypes."""
    return {name: decode_value(value) for name, value in request["arguments"].items()}


def call(function: Callable[..., Any], arguments: Arguments) -> Any:
    """Calls a function by keyword, with the arguments that it accepts."""
    accepted = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in accepted})


def out_arguments(function: Callable[..., Any], outputs: dict[str, torch.Tensor]) -> Arguments | None:
    """Output tensors as a wrapper accepts them: one as ``out``, several by name; None if it accepts none."""
    accepted = inspect.signature(function).parameters
    if len(outputs) == 1 and "out" in accepted:
        return {"out": next(iter(outputs.values()))}
    return dict(outputs) if outputs and all(name in accepted for name in outputs) else None


def has_output_layout(outputs: list[dict[str, Any]]) -> bool:
    """True if the request sets the layout of an output. The wrapper must then receive that output."""
    return any(spec.get("layout", "contiguous") != "contiguous" for spec in outputs)


def results(
    function: Callable[..., Any], arguments: Arguments, names: list[str | None], out_tensors: Arguments | None = None
) -> dict[str, torch.Tensor]:
    """Calls a function. Returns its results by name, or the arguments that it updates if it returns None.

    A name of None marks an omitted result, whose value is ignored.
    """
    returned = call(function, arguments | (out_tensors or {}))
    present = [name for name in names if name is not None]
    requirement = f"it must give {', '.join(present)}"
    if returned is None:
        if any(name not in arguments for name in present):
            raise WrongResult(function, f"it returns None; {requirement}")
        return {name: arguments[name] for name in present}
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(values) != len(names):
        raise WrongResult(function, f"it returns {len(values)} value{'s' * (len(values) != 1)}; {requirement}")
    tensors = {name: value for name, value in zip(names, values, strict=True) if name is not None}
    for value in tensors.values():
        if not isinstance(value, torch.Tensor):
            raise WrongResult(function, f"it returns a value of type {type(value).__name__}, no tensor; {requirement}")
    return tensors


class GuardedMemory(TorchFunctionMode):
    """Inside a ``with``, ``torch.empty`` and similar functions return poison between guards.

    Unwritten elements appear in the result. A write past the end sets :attr:`is_damaged` instead of corrupting other
    memory.
    """

    _current: GuardedMemory | None = None

    def __init__(self, mark: int = 0) -> None:
        super().__init__()
        # The mark of the first tensor. Each further tensor has the next mark.
        self._mark = mark
        self._tensors: list[Guarded] = []
        self._outer: list[GuardedMemory | None] = []

    def __enter__(self) -> GuardedMemory:
        # An operator may enter the mode again, so this is a stack.
        self._outer.append(GuardedMemory._current)
        GuardedMemory._current = self
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        GuardedMemory._current = self._outer.pop()
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        is_plain = isinstance(result, torch.Tensor) and result.layout == torch.strided and not result.is_meta
        if (
            func not in _UNINITIALIZED
            or torch.compiler.is_dynamo_compiling()
            or "out" in (kwargs or {})
            or not is_plain
            or result.numel() == 0
        ):
            return result
        mark = self._mark + len(self._tensors)
        guarded = Guarded(result.shape, result.stride(), result.dtype, str(result.device), mark=mark)
        self._tensors.append(guarded)
        return guarded.tensor.requires_grad_(result.requires_grad)

    @property
    def is_damaged(self) -> bool:
        """True if a write outside an allocated tensor was detected."""
        return any(guarded.is_damaged(include_inside=False) for guarded in self._tensors)


def guard_operators(module: ModuleType, device: str) -> None:
    """Applies :class:`GuardedMemory` to a module's operators, which PyTorch runs outside of function modes."""
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


_UNINITIALIZED = {
    torch.empty,
    torch.empty_like,
    torch.empty_permuted,
    torch.empty_strided,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}
