"""Values that pass to and from the functions of a Python file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import torch

from .inputs import GuardedView, changed_elements
from .judge import Results
from .shared_memory import shared_pairs


@dataclass
class Arguments:
    """Copies of the inputs: the list to pass, and its guarded tensors by name."""

    values: list[Any]
    guards: dict[str, GuardedView]


@dataclass
class Returned:
    """What a call returned and changed."""

    structure: str
    outputs: dict[str, torch.Tensor]
    # The inputs after the call.
    inputs: dict[str, GuardedView]
    changed_state: set[str]

    @property
    def changed(self) -> dict[str, torch.Tensor]:
        """The inputs that the call changed."""
        return {name: guard.tensor for name, guard in self.inputs.items() if guard.is_damaged(include_inside=True)}

    @cached_property
    def shared(self) -> set[tuple[str, str]]:
        """The names of tensors that share memory."""
        outputs = {name: plain(output) for name, output in self.outputs.items() if is_dense(output)}
        return shared_pairs(outputs, {name: guard.tensor for name, guard in self.inputs.items()})


def is_dense(value: Any) -> bool:
    """True for a tensor whose elements lie in memory at strides."""
    with torch._C.DisableTorchFunctionSubclass():
        return (
            isinstance(value, torch.Tensor)
            and value.layout == torch.strided
            and not (value.is_meta or value.is_nested or value.is_quantized)
            and type(value).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        )


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without a graph, and without what a subclass does with it."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.detach().as_subclass(torch.Tensor).resolve_conj().resolve_neg()


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def is_narrower_integer(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """True if ``got`` has integers that may have wrapped."""
    kinds = (got.dtype, expected.dtype)
    is_integer = all(not (each.is_floating_point or each.is_complex or each == torch.bool) for each in kinds)
    return is_integer and got.itemsize < expected.itemsize


def epsilon(dtype: torch.dtype) -> float:
    """The distance of 1 to the next number; 0 for integers, which round nothing."""
    return torch.finfo(dtype.to_real()).eps if dtype.is_floating_point or dtype.is_complex else 0.0


def name_at(path: Sequence[Any], parameters: Sequence[str]) -> str:
    """The name of an input: the parameter that takes it, and its place in that."""
    keys: list[Any] = [getattr(key, "idx", getattr(key, "key", None)) for key in path]
    first, *rest = keys
    name: str = parameters[int(first)] if first < len(parameters) else f"argument {first}"
    return name + "".join(f"[{key!r}]" for key in rest)


def flatten(returned: Any) -> tuple[list[Any], str]:
    """The values that a function returned, and how they are nested."""
    if isinstance(returned, list | tuple):
        parts = [flatten(value) for value in returned]
        return [leaf for leaves, _ in parts for leaf in leaves], f"({', '.join(text for _, text in parts)})"
    if isinstance(returned, dict):
        leaves, text = flatten(list(returned.values()))
        return leaves, f"{{{', '.join(map(str, returned))}}} of {text}"
    return [returned], "a tensor" if isinstance(returned, torch.Tensor) else repr(returned)[:200]


def request_all_outputs(function: Callable[..., Any]) -> dict[str, bool]:
    """Keyword arguments that request every optional output."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: True for p in parameters if p.kind is p.KEYWORD_ONLY and bool in get_args(p.annotation)}


def late_changes(copies: Results, returned: Returned) -> list[str]:
    """Descriptions of results that changed after they were returned."""
    return [
        f"{name} changes after kernel_fn has returned it: a later call or a thread writes to it"
        for name, copy in copies.items()
        if plain(returned.outputs[name]).shape != copy.shape or changed_elements(plain(returned.outputs[name]), copy)
    ]
