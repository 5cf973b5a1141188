"""Which tensors share memory."""

from __future__ import annotations

from collections.abc import Mapping

import torch


def shared_pairs(outputs: Mapping[str, torch.Tensor], inputs: Mapping[str, torch.Tensor]) -> set[tuple[str, str]]:
    """Pairs of an output with another output or an input that has an element in common, and outputs that repeat one."""
    pairs = {(name, name) for name, tensor in outputs.items() if _repeats_elements(tensor)}
    names = list(outputs)
    for index, name in enumerate(names):
        others = {other: outputs[other] for other in names[index + 1 :]} | dict(inputs)
        pairs |= {(name, other) for other, tensor in others.items() if _overlap(outputs[name], tensor)}
    return pairs


def _repeats_elements(tensor: torch.Tensor) -> bool:
    return any(step == 0 and size > 1 for size, step in zip(tensor.shape, tensor.stride(), strict=True))


def _overlap(first: torch.Tensor, second: torch.Tensor) -> bool:
    if first.device != second.device or not first.numel() or not second.numel():
        return False
    (start, end), (other_start, other_end) = _range(first), _range(second)
    if end <= other_start or other_end <= start:
        return False
    if first.itemsize != second.itemsize or first.data_ptr() == second.data_ptr():
        return True
    if _is_dense(first) and _is_dense(second):
        return True
    # Tensors may lie between one another's elements.
    if _is_dense(first):
        return _has_element_in(second, start, end)
    if _is_dense(second):
        return _has_element_in(first, other_start, other_end)
    return bool(torch.isin(_addresses(first), _addresses(second)).any())


def _is_dense(tensor: torch.Tensor) -> bool:
    """True if the elements lie next to one another, in any order."""
    expected = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step != expected:
            return False
        expected *= size
    return True


def _has_element_in(tensor: torch.Tensor, start: int, end: int) -> bool:
    addresses = _addresses(tensor)
    return bool(((addresses >= start) & (addresses < end)).any())


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * step for size, step in steps)
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.itemsize


def _addresses(tensor: torch.Tensor) -> torch.Tensor:
    addresses = torch.full((), tensor.data_ptr(), dtype=torch.int64, device="cpu")
    for axis, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        offsets = torch.arange(size, device="cpu") * (step * tensor.itemsize)
        addresses = addresses + offsets.view(-1, *[1] * (tensor.dim() - axis - 1))
    return addresses.flatten()
