"""How tiles lie in registers, as far as Gluon checks it where a kernel is compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from triton.experimental.gluon.language._layouts import (
    AutoLayout,
    BlockedLayout,
    DistributedLayout,
    DotOperandLayout,
    NVMMADistributedLayout,
    SliceLayout,
)

from .faults import Fault, Unknown

AUTO = AutoLayout()


@dataclass(frozen=True)
class Derived(DistributedLayout):
    """What a reshape, a permutation or a split makes of a layout; the compiler knows it."""

    how: str
    of: Any


def meet(x: Any, y: Any) -> Any:
    """The layout of what combines tiles of two layouts."""
    if x is y:
        return x
    if isinstance(x, AutoLayout):
        return y
    if isinstance(y, AutoLayout) or x == y:
        return x
    raise Fault(f"tiles of two layouts are combined: {x} and {y}")


def sliced(layout: Any, axis: int) -> Any:
    """The layout of what has an axis less."""
    if isinstance(layout, AutoLayout):
        return layout
    return SliceLayout(axis, layout)


def expanded(layout: Any, axis: int) -> Any:
    """The layout of what has an axis more."""
    if isinstance(layout, AutoLayout):
        return layout
    if not isinstance(layout, SliceLayout):
        raise Fault(f"expand_dims needs a SliceLayout, not {layout}")
    if layout.dim != axis:
        raise Fault(f"expand_dims adds axis {axis} to a slice along axis {layout.dim}")
    return layout.parent


#: Layouts that were checked, by their identity, with so many axes and warps.
CHECKED: dict[tuple[int, int, int], Any] = {}


def check_layout(layout: Any, rank: int, warps: int) -> None:
    """Whether a part of so many warps may have a tile of this layout."""
    key = (id(layout), rank, warps)
    if CHECKED.get(key) is layout or isinstance(layout, (AutoLayout, Derived)):
        return
    if not isinstance(layout, DistributedLayout):
        raise Fault(f"{layout!r} is no layout of registers")
    if layout.rank != rank:
        raise Fault(f"a tile of {rank} axes has a layout of {layout.rank}: {layout}")
    base = layout
    while isinstance(base, (SliceLayout, DotOperandLayout)):
        base = base.parent
    if isinstance(base, Derived):
        return
    if not isinstance(base, (BlockedLayout, NVMMADistributedLayout)):
        raise Unknown(f"the layout {base}")
    if isinstance(base, BlockedLayout) and math.prod(base.threads_per_warp) != 32:
        raise Fault(f"a warp has 32 threads, not those of {base}")
    across = math.prod(base.warps_per_cta)
    if across != warps:
        raise Fault(f"a layout for {across} warps is used by {warps}: {base}")
    CHECKED[key] = layout
