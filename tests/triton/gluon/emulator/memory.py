"""Tensors in global memory: what lies where, and which elements of outputs are written how often."""

from __future__ import annotations

from typing import Any

import torch

from .faults import Fault
from .tiles import TRITON, Pointer, Tile, cast, to_tile, together


class GlobalTensor:
    """A tensor's storage, from its first element on."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor
        self.dtype = TRITON[tensor.dtype]
        reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride())) + 1
        #: One axis over all that the tensor spans.
        self.flat = tensor.as_strided((reach if tensor.numel() else 0,), (1,))
        self.written = torch.zeros(self.flat.shape, dtype=torch.int16)
        self.is_read = False

    def written_as(self) -> torch.Tensor:
        """How often each element was written, in the tensor's shape."""
        return self.written.as_strided(self.tensor.shape, self.tensor.stride())

    def note_write(self, counts: torch.Tensor) -> None:
        counts += 1
        if bool((counts > 1).any()):
            raise Fault("an element of an output is written twice")


class Memory:
    """The tensors of a launch."""

    def __init__(self) -> None:
        self.tensors: dict[int, GlobalTensor] = {}

    def of(self, tensor: torch.Tensor) -> GlobalTensor:
        key = tensor.data_ptr()
        found = self.tensors.get(key)
        if found is None:
            found = self.tensors[key] = GlobalTensor(tensor)
        return found


def load(pointer: Pointer, mask: Any, other: Any) -> Tile:
    """What lies at the addresses; where the mask is off and nothing else is given, nobody knows."""
    offsets, given = _lanes(pointer, mask)
    dtype = pointer.tensor.dtype
    tensor = pointer.tensor
    if bool((tensor.written > 0).any()):
        raise Fault("a load reads a tensor that the kernel writes")
    tensor.is_read = True
    safe = offsets.data.clamp(0, max(len(tensor.flat) - 1, 0))
    values = tensor.flat[safe] if len(tensor.flat) else torch.zeros(safe.shape, dtype=tensor.flat.dtype)
    layout = offsets.layout
    if given is None:
        return Tile(values, dtype, layout)
    if other is None:
        rest = torch.full((), float("nan") if dtype.is_floating() else -99, dtype=values.dtype)
    else:
        filler = cast(to_tile(other), dtype)
        layout = together(offsets, filler)
        rest = filler.data
    return Tile(torch.where(given, values, rest), dtype, layout)


def store(pointer: Pointer, value: Tile, mask: Any) -> None:
    offsets, given = _lanes(pointer, mask)
    together(offsets, value)
    shape = torch.broadcast_shapes(offsets.data.shape, value.data.shape)
    places = offsets.data.expand(shape)
    values = cast(value, pointer.tensor.dtype).data.expand(shape)
    if given is not None:
        chosen = given.expand(shape)
        places, values = places[chosen], values[chosen]
    places, values = places.reshape(-1), values.reshape(-1)
    if len(places) != len(places.unique()):
        raise Fault("two lanes of a store write one element")
    counts = pointer.tensor.written[places]
    pointer.tensor.note_write(counts)
    pointer.tensor.written[places] = counts
    if pointer.tensor.is_read:
        raise Fault("a store writes a tensor that the kernel loads")
    pointer.tensor.flat[places] = values


def _lanes(pointer: Pointer, mask: Any) -> tuple[Tile, torch.Tensor | None]:
    """Offsets and the mask, of one shape; no lane that is on lies outside of the tensor."""
    offsets = pointer.offsets
    given = None
    if mask is not None:
        tile = to_tile(mask)
        layout = together(offsets, tile)
        shape = torch.broadcast_shapes(offsets.data.shape, tile.data.shape)
        offsets = Tile(offsets.data.expand(shape), offsets.dtype, layout)
        given = tile.data.expand(shape)
    outside = (offsets.data < 0) | (offsets.data >= len(pointer.tensor.flat))
    if given is not None:
        outside = outside & given
    if bool(outside.any()):
        raise Fault("an access lies outside of its tensor")
    return offsets, given
