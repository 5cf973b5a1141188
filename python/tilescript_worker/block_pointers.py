"""Block pointers for Triton versions without them, lowered as Triton 3.6 does.

``tl.make_block_ptr`` returns an address, sizes, strides and offsets. An access through it has an int64 index per axis,
and a mask for each axis in ``boundary_check``. Old kernels therefore compile unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import triton.language as tl
from triton.language import core

# Triton 3.9 has removed them.
ARE_GONE = not hasattr(tl, "advance")


class BlockPointerType(core.base_type):
    def __init__(self, fields: Sequence[Any], block_shape: Sequence[int]) -> None:
        self.fields = tuple(fields)
        self.block_shape = tuple(block_shape)

    # As of Triton 3.6: the dtype of what it points to, `p.type.element_ty` and `p.dtype.element_ty`.
    @property
    def element_ty(self) -> Any:
        return self.fields[0].element_ty

    @property
    def scalar(self) -> Any:
        return self.fields[0]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BlockPointerType)
            and self.fields == other.fields
            and self.block_shape == other.block_shape
        )

    def __hash__(self) -> int:
        return hash(self.block_shape)

    def __str__(self) -> str:
        return f"a block pointer to {self.element_ty} of {list(self.block_shape)}"

    def mangle(self) -> str:
        return f"BP{'_'.join(field.mangle() for field in self.fields)}_{'_'.join(map(str, self.block_shape))}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for field in self.fields:
            field._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[BlockPointer, int]:
        values = []
        for field in self.fields:
            value, cursor = field._unflatten_ir(handles, cursor)
            values.append(value)
        return BlockPointer(values, self.block_shape), cursor


class BlockPointer(core.base_value):
    """The base, then a size, a stride and an offset for each axis."""

    def __init__(self, fields: Sequence[Any], block_shape: Sequence[int]) -> None:
        super().__init__()
        self.fields = tuple(fields)
        self.type = BlockPointerType([field.type for field in fields], block_shape)

    @property
    def dtype(self) -> Any:
        return self.fields[0].type

    @property
    def rank(self) -> int:
        return len(self.type.block_shape)

    def axis(self, axis: int) -> tuple[Any, Any, Any]:
        size, stride, offset = (self.fields[1 + axis + field * self.rank] for field in range(3))
        return size, stride, offset

    def axes(self, checked: Any) -> list[int]:
        """The axes of ``boundary_check``."""
        axes = [axis + self.rank if axis < 0 else axis for axis in _items(checked)]
        if any(not 0 <= axis < self.rank for axis in axes) or len(set(axes)) < len(axes):
            raise ValueError(f"boundary_check has to name each axis of {list(self.type.block_shape)} once at most")
        return axes

    def _flatten_ir(self, handles: list[Any]) -> None:
        for field in self.fields:
            field._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        return None

    def addresses(self, checked: Sequence[int], semantic: Any) -> tuple[Any, Any]:
        """The address of each element, and the mask of the checked axes; None without a check."""
        addresses, conditions = self.fields[0], []
        for axis, length in enumerate(self.type.block_shape):
            size, stride, offset = self.axis(axis)
            index = semantic.add(_wide(offset, semantic), _wide(semantic.arange(0, length), semantic), False)
            for other_axis in range(self.rank):
                index = index if other_axis == axis else semantic.expand_dims(index, other_axis)
            addresses = semantic.add(addresses, semantic.mul(index, stride, False), False)
            if axis in checked:
                conditions += [semantic.greater_equal(index, semantic.to_tensor(0)), semantic.less_than(index, size)]
        shape = list(self.type.block_shape)
        mask = None
        for condition in conditions:
            mask = condition if mask is None else semantic.and_(mask, condition)
        return (
            semantic.broadcast_impl_shape(addresses, shape),
            None if mask is None else semantic.broadcast_impl_shape(mask, shape),
        )


def _wide(value: Any, semantic: Any) -> Any:
    return semantic.cast(semantic.to_tensor(value), tl.int64)


def _plain(value: Any) -> Any:
    while isinstance(value, tl.constexpr):
        value = value.value
    return value


def _items(value: Any) -> list[Any]:
    value = _plain(value)
    return [_plain(each) for each in (value if hasattr(value, "__iter__") else [value])]


@core.builtin
def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any, _semantic: Any = None
) -> BlockPointer:
    sizes, steps, starts, block = (_items(value) for value in (shape, strides, offsets, block_shape))
    ranks = {len(each) for each in (sizes, steps, starts, block, _items(order))}
    if len(ranks) > 1 or isinstance(base, BlockPointer) or not base.type.is_ptr():
        raise ValueError(
            "make_block_ptr takes a pointer, and as many sizes as strides, offsets and lengths of the block"
        )
    narrow = [_semantic.cast(_semantic.to_tensor(each), tl.int32) for each in starts]
    wide = [_wide(each, _semantic) for each in (*sizes, *steps)]
    return BlockPointer([base, *wide, *narrow], block)


@core.builtin
def advance(base: BlockPointer, offsets: Any, _semantic: Any = None) -> BlockPointer:
    increments = [_semantic.cast(_semantic.to_tensor(each), tl.int32) for each in _items(offsets)]
    fixed_parts, offset_parts = base.fields[: -base.rank], base.fields[-base.rank :]
    new_offsets = [
        _semantic.add(offset, increment, False) for offset, increment in zip(offset_parts, increments, strict=True)
    ]
    return BlockPointer([*fixed_parts, *new_offsets], base.type.block_shape)


@core.builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
    _semantic: Any = None,
) -> Any:
    options = {"cache_modifier": cache_modifier, "eviction_policy": eviction_policy, "volatile": volatile}
    if not isinstance(pointer, BlockPointer):
        return PLAIN["load"](pointer, mask, other, **options, _semantic=_semantic)
    if mask is not None or other is not None:
        raise ValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    addresses, mask_in_bounds = pointer.addresses(pointer.axes(boundary_check), _semantic)
    padding = {"": None, "zero": 0, "nan": float("nan")}[_plain(padding_option) or ""]
    return PLAIN["load"](
        addresses, mask_in_bounds, padding if mask_in_bounds is not None else None, **options, _semantic=_semantic
    )


@core.builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    _semantic: Any = None,
) -> Any:
    options = {"cache_modifier": cache_modifier, "eviction_policy": eviction_policy}
    if not isinstance(pointer, BlockPointer):
        return PLAIN["store"](pointer, value, mask, **options, _semantic=_semantic)
    if mask is not None:
        raise ValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    addresses, mask_in_bounds = pointer.addresses(pointer.axes(boundary_check), _semantic)
    return PLAIN["store"](addresses, value, mask_in_bounds, **options, _semantic=_semantic)


PLAIN = {"load": tl.load, "store": tl.store}


@contextmanager
def block_pointers() -> Iterator[None]:
    """Inside a ``with``, adds block pointers to Triton's language."""
    if not ARE_GONE:
        yield
        return
    with mock.patch.multiple(tl, create=True, make_block_ptr=make_block_ptr, advance=advance, load=load, store=store):
        yield
