"""Shared memory: blocks, who may touch them when, and by which way.

A block remembers its last write and its reads. An act is in order only if barriers say so, whatever order was drawn:
each part has a clock that arrivals hand on and waits take over. What registers read or write goes another way than what
the copy engine and the tensor cores do, and only a fence orders the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from .barriers import Barrier, Clock
from .faults import Fault, Unknown

#: What a program of Hopper may have.
MOST_BYTES = 232_448


@dataclass
class Access:
    """A read or a write of one part."""

    part: int
    #: The number of the part's act after which others may know of it; None while it runs.
    act: int | None
    #: Whether registers did it, and no fence came since.
    unfenced: bool
    what: str


class Block:
    """One buffer of an allocation."""

    def __init__(self, name: str, data: torch.Tensor):
        self.name = name
        self.data = data
        self.reads: list[Access] = []
        self.write: Access | None = None
        #: Copies that were begun; the number of a copy is its act.
        self.copies = 0

    @property
    def lane(self) -> tuple[str, str]:
        """Who its copies are, on clocks."""
        return ("copy", self.name)

    def begin_copy(self, clock: Clock) -> int:
        """A copy is about to overwrite the block: everything before must be over."""
        self._check_over(clock, "a copy overwrites", is_async=True)
        self.copies += 1
        poison(self.data)
        return self.copies

    def begin_store(self, clock: Clock) -> None:
        self._check_over(clock, "registers overwrite", is_async=False)

    def check_read(self, clock: Clock, is_async: bool, what: str) -> None:
        """Whether the block holds something that the part may know of."""
        if self.write is not None:
            self._check_known(self.write, clock, f"{what} reads", is_async)
        elif self.copies == 0:
            raise Fault(f"{what} reads {self.name}, which nobody has written")
        elif clock.get(self.lane, 0) < self.copies:
            raise Fault(f"{what} reads {self.name} and has not waited for the copy that fills it")

    def _check_over(self, clock: Clock, what: str, is_async: bool) -> None:
        for access in self.reads:
            self._check_known(access, clock, what, is_async)
        if self.write is not None:
            self._check_known(self.write, clock, what, is_async)
        if clock.get(self.lane, 0) < self.copies:
            raise Fault(f"{what} {self.name} while a copy fills it")
        self.reads, self.write = [], None

    def _check_known(self, access: Access, clock: Clock, what: str, is_async: bool) -> None:
        if access.act is None:
            raise Fault(f"{what} {self.name} while {access.what} reads it")
        if clock.get(access.part, 0) < access.act:
            raise Fault(f"{what} {self.name} and no barrier says that {access.what} is done with it")
        if is_async and access.unfenced:
            raise Fault(f"{what} {self.name} without a fence after {access.what}")


def poison(data: torch.Tensor) -> None:
    data.fill_(math.nan if data.dtype.is_floating_point else torch.iinfo(data.dtype).min)


class Shared:
    """`shared_memory_descriptor`: an allocation, or one of its blocks, seen in a shape."""

    def __init__(self, machine: Any, name: str, dtype: Any, data: torch.Tensor, layout: Any, block: Block | None):
        self.machine = machine
        self.name = name
        self.dtype = dtype
        self.data = data
        self.layout = layout
        self.block = block
        self.blocks: dict[int, Block] = {}

    @property
    def shape(self) -> list[int]:
        return list(self.data.shape)

    @property
    def count(self) -> int:
        """Of blocks."""
        return len(self.data)

    @property
    def nbytes(self) -> int:
        return self.data.numel() * self.data.element_size()

    def index(self, index: Any) -> Shared:
        if self.block is not None:
            raise Unknown("index of a part of a block")
        place = int(index)
        if not 0 <= place < len(self.data):
            raise Fault(f"{self.name} has no block {place}: it has {len(self.data)}")
        if place not in self.blocks:
            self.blocks[place] = Block(f"{self.name}[{place}]", self.data[place])
        block = self.blocks[place]
        return Shared(self.machine, block.name, self.dtype, block.data, self.layout, block)

    def reshape(self, shape: list[int]) -> Shared:
        wanted = [int(each) for each in shape]
        if math.prod(wanted) != self.data.numel():
            raise Fault(f"{self.name} of shape {self.shape} does not reshape to {wanted}")
        if not self.data.is_contiguous():
            raise Unknown("reshape of a permuted block")
        return self._seen(self.data.view(wanted))

    def permute(self, order: Any, *more: int) -> Shared:
        axes = [*order] if isinstance(order, (list, tuple)) else [order, *more]
        if sorted(axes) != list(range(len(self.shape))):
            raise Fault(f"{self.name} of shape {self.shape} has no axes {axes}")
        return self._seen(self.data.permute(axes))

    def slice(self, start: Any, length: Any, dim: int = 0) -> Shared:
        first, count = int(start), int(length)
        if not 0 <= first <= first + count <= self.shape[dim]:
            raise Fault(f"{self.name} of shape {self.shape} has no {count} from {first} on along axis {dim}")
        return self._seen(self.data.narrow(dim, first, count))

    def load(self, layout: Any) -> Any:
        return self.machine.load_shared(self, layout)

    def store(self, value: Any) -> None:
        self.machine.store_shared(self, value)

    def whole(self) -> Block:
        """The block that it shows."""
        if self.block is None:
            raise Unknown(f"{self.name} as a whole")
        return self.block

    def _seen(self, data: torch.Tensor) -> Shared:
        return Shared(self.machine, self.name, self.dtype, data, self.layout, self.whole())


class SharedBarriers:
    """An allocation of barriers, one a row."""

    def __init__(self, name: str, count: int):
        self.barriers = [Barrier(f"{name}[{i}]") for i in range(count)]
        self.name = name
        self.count = count

    def index(self, index: Any) -> Barrier:
        place = int(index)
        if not 0 <= place < len(self.barriers):
            raise Fault(f"{self.name} has no barrier {place}: it has {len(self.barriers)}")
        return self.barriers[place]
