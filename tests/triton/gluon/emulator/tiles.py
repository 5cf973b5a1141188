"""Values in registers: numbers, tiles and pointers, with Triton's dtypes, promotion and layouts, computed by torch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import triton.language as tl
from triton.language.semantic import TritonSemantic

from .faults import Fault, Unknown
from .layouts import AUTO, Derived, check_layout, expanded, meet, sliced

#: Triton's own rules; nothing is emitted.
SEMANTIC: Any = TritonSemantic(None)

TORCH = {
    tl.int1: torch.bool,
    tl.int8: torch.int8,
    tl.int16: torch.int16,
    tl.int32: torch.int32,
    tl.int64: torch.int64,
    tl.uint8: torch.uint8,
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5: torch.float8_e5m2,
    tl.float16: torch.float16,
    tl.bfloat16: torch.bfloat16,
    tl.float32: torch.float32,
    tl.float64: torch.float64,
}
TRITON = {each: dtype for dtype, each in TORCH.items()}


def torch_dtype(dtype: Any) -> torch.dtype:
    if dtype not in TORCH:
        raise Unknown(f"the dtype {dtype}")
    return TORCH[dtype]


class Tile:
    """A tile, or a number if it has no axes. `running` says which product still writes it."""

    __slots__ = ("dtype", "layout", "running", "values")
    #: How many warps the part has that makes a tile; set where parts are switched.
    warps: Callable[[], int] = staticmethod(lambda: 4)

    def __init__(self, values: torch.Tensor | None, dtype: Any, layout: Any = None, running: Any = None):
        self.values = values
        self.dtype = dtype
        self.layout = layout
        self.running = running
        if layout is not None and layout is not AUTO:
            shape = running.shape if running is not None else values.shape  # type: ignore[union-attr]
            check_layout(layout, len(shape), Tile.warps())

    @property
    def data(self) -> torch.Tensor:
        """The values, which nobody may be writing."""
        if self.running is not None:
            raise Fault("a product is read before warpgroup_mma_wait has given it back")
        assert self.values is not None
        return self.values

    @property
    def shape(self) -> list[int]:
        return list(self.running.shape if self.running is not None else self.data.shape)

    @property
    def is_number(self) -> bool:
        return self.running is None and self.values.dim() == 0  # type: ignore[union-attr]

    def __bool__(self) -> bool:
        if not self.is_number:
            raise Fault("a tile decides a branch")
        return bool(self.data)

    def __index__(self) -> int:
        if not self.is_number or not self.dtype.is_int():
            raise Fault("a place is no integer")
        return int(self.data)

    __int__ = __index__

    def to(self, dtype: Any, bitcast: bool = False) -> Tile:
        if not bitcast:
            return cast(self, dtype)
        if self.data.element_size() != torch.empty(0, dtype=torch_dtype(dtype)).element_size():
            raise Fault(f"a bitcast of {self.dtype} to {dtype}")
        return Tile(self.data.view(torch_dtype(dtype)), dtype, self.layout)

    def reshape(self, *shape: Any) -> Tile:
        sizes = [*shape[0]] if isinstance(shape[0], (list, tuple)) else [*shape]
        if sizes == self.shape:
            return self
        return Tile(self.data.reshape(sizes), self.dtype, Derived(f"reshape to {sizes}", self.layout))

    def permute(self, *axes: Any) -> Tile:
        order = [*axes[0]] if isinstance(axes[0], (list, tuple)) else [*axes]
        return Tile(self.data.permute(order), self.dtype, Derived(f"permute {order}", self.layout))

    def split(self) -> tuple[Tile, Tile]:
        if self.shape[-1] != 2:
            raise Fault(f"split of {self.shape}")
        layout = Derived("split", self.layout)
        return Tile(self.data[..., 0], self.dtype, layout), Tile(self.data[..., 1], self.dtype, layout)

    def __getitem__(self, key: Any) -> Tile:
        result = self
        for axis, each in enumerate(key):
            if each is None:
                result = expand(result, axis)
            elif each != slice(None):
                raise Unknown(f"the subscript {key}")
        return result

    def __add__(self, other: Any) -> Any:
        return binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return binary("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary("%", other, self)

    def __and__(self, other: Any) -> Any:
        return binary("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return binary("&", other, self)

    def __or__(self, other: Any) -> Any:
        return binary("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return binary("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return binary("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary("^", other, self)

    def __lshift__(self, other: Any) -> Any:
        return binary("<<", self, other)

    def __rshift__(self, other: Any) -> Any:
        return binary(">>", self, other)

    def __lt__(self, other: Any) -> Any:
        return binary("<", self, other)

    def __le__(self, other: Any) -> Any:
        return binary("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return binary(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return binary(">=", self, other)

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        return binary("!=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Tile:
        if self.dtype == tl.int1:
            raise Unknown("the negative of a truth value")
        return Tile(-self.data, self.dtype, self.layout)

    def __invert__(self) -> Tile:
        return Tile(~self.data, self.dtype, self.layout)


class Element:
    """What a pointer points to: `c_ptr.dtype.element_ty`."""

    def __init__(self, element_ty: Any):
        self.element_ty = element_ty


class Pointer:
    """An address in a tensor, or a tile of them; offsets count elements of its storage from its first one."""

    def __init__(self, tensor: Any, offsets: Tile):
        self.tensor = tensor
        self.offsets = offsets
        self.dtype = Element(tensor.dtype)

    def __add__(self, other: Any) -> Pointer:
        given = to_tile(other)
        if not given.dtype.is_int():
            raise Fault("an offset is no integer")
        return Pointer(self.tensor, binary("+", self.offsets, cast(given, tl.int64)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pointer:
        return self + -to_tile(other)


def number(value: Any, dtype: Any) -> Tile:
    return Tile(torch.tensor(value, dtype=torch_dtype(dtype)), dtype)


def to_tile(value: Any) -> Tile:
    if isinstance(value, Tile):
        return value
    if isinstance(value, (bool, int, float)):
        return number(value, SEMANTIC.to_tensor_type(value))
    raise Unknown(f"a value of type {type(value).__name__}")


def cast(tile: Tile, dtype: Any) -> Tile:
    if tile.dtype == dtype:
        return tile
    if dtype == tl.int1:
        return Tile(tile.data != 0, dtype, tile.layout)
    return Tile(tile.data.to(torch_dtype(dtype)), dtype, tile.layout)


def expand(tile: Tile, axis: int) -> Tile:
    if tile.is_number:
        raise Fault("expand_dims of a number")
    return Tile(tile.data.unsqueeze(axis), tile.dtype, expanded(tile.layout, axis))


def together(*tiles: Tile) -> Any:
    """The layout of what combines tiles, whose axes must be as many, and alike or 1."""
    layout = None
    shape: list[int] | None = None
    for tile in tiles:
        if tile.is_number:
            continue
        if shape is None:
            shape, layout = tile.shape, tile.layout
            continue
        if len(tile.shape) != len(shape):
            raise Fault(f"tiles of {shape} and {tile.shape} are combined")
        layout = meet(layout, tile.layout)
        for mine, other in zip(shape, tile.shape):
            if mine != other and 1 not in (mine, other):
                raise Fault(f"tiles of {shape} and {tile.shape} are combined")
        shape = [max(pair) for pair in zip(shape, tile.shape)]
    return layout


def promoted(x: Any, y: Any, divides: bool = False) -> tuple[Tile, Tile]:
    """Both in the dtype in which Triton computes."""
    is_literal = [isinstance(each, (bool, int, float)) for each in (x, y)]
    tiles = [to_tile(each) for each in (x, y)]
    dtype = SEMANTIC.computation_type_impl(tiles[0].dtype, is_literal[0], tiles[1].dtype, is_literal[1], divides)
    return cast(tiles[0], dtype), cast(tiles[1], dtype)


COMPARED = {"<": torch.lt, "<=": torch.le, ">": torch.gt, ">=": torch.ge, "==": torch.eq, "!=": torch.ne}
BITWISE = {"&": torch.bitwise_and, "|": torch.bitwise_or, "^": torch.bitwise_xor}
# As C does: towards 0.
DIVIDES = {"//": functools.partial(torch.div, rounding_mode="trunc"), "%": torch.fmod}
ARITHMETIC = {"+": torch.add, "-": torch.sub, "*": torch.mul}


def binary(name: str, x: Any, y: Any) -> Any:
    if isinstance(x, Pointer) and name == "+":
        return x + y
    if isinstance(y, Pointer) and name == "+":
        return y + x
    if isinstance(x, Pointer) or isinstance(y, Pointer):
        raise Unknown(f"{name} of a pointer")
    found = plainly(name, x, y)
    if found is not None:
        return found
    a, b = promoted(x, y, name in ("/", "//", "%"))
    layout = together(a, b)
    dtype = a.dtype
    if name in COMPARED:
        return Tile(COMPARED[name](a.data, b.data), tl.int1, layout)
    if name in BITWISE:
        if not dtype.is_int():
            raise Fault(f"{name} of {dtype}")
        return Tile(BITWISE[name](a.data, b.data), dtype, layout)
    if dtype == tl.int1:
        raise Unknown(f"{name} of truth values")
    if name in ARITHMETIC:
        return Tile(ARITHMETIC[name](a.data, b.data), dtype, layout)
    if name == "/":
        if dtype.is_int():
            return Tile(a.data.to(torch.float32) / b.data.to(torch.float32), tl.float32, layout)
        return Tile(a.data / b.data, dtype, layout)
    if not dtype.is_int():
        raise Unknown(f"{name} of {dtype}")
    if name in ("//", "%"):
        if bool((b.data == 0).any()):
            raise Fault(f"{name} by 0")
        return Tile(DIVIDES[name](a.data, b.data), dtype, layout)
    if name in ("<<", ">>"):
        shift = torch.bitwise_left_shift if name == "<<" else torch.bitwise_right_shift
        return Tile(shift(a.data, b.data), dtype, layout)
    raise Unknown(name)


def plainly(name: str, x: Any, y: Any) -> Tile | None:
    """What needs no promotion, as nearly all of a kernel does: int32 or float32 with the same, or with a literal."""
    one, other = (x, y) if isinstance(x, Tile) else (y, x)
    dtype = one.dtype
    if dtype is not tl.int32 and dtype is not tl.float32:
        return None
    if isinstance(other, Tile):
        if other.dtype is not dtype:
            return None
        layout = together(x, y)
        a, b = x.data, y.data
    else:
        if type(other) is not int and not (type(other) is float and dtype is tl.float32):
            return None
        if type(other) is int and not -(2**31) <= other < 2**31:
            return None
        layout = one.layout
        a, b = (one.data, other) if one is x else (other, one.data)
    if name in COMPARED and isinstance(a, torch.Tensor):
        return Tile(COMPARED[name](a, b), tl.int1, layout)
    if name in ARITHMETIC and isinstance(a, torch.Tensor):
        return Tile(ARITHMETIC[name](a, b), dtype, layout)
    if name in DIVIDES and dtype is tl.int32 and type(b) is int and b > 0 and isinstance(a, torch.Tensor):
        return Tile(DIVIDES[name](a, b), dtype, layout)
    return None


def reduced(tile: Tile, axis: int, fold: Callable[[torch.Tensor, int], torch.Tensor]) -> Tile:
    if tile.is_number or not 0 <= axis < len(tile.shape):
        raise Fault(f"a fold along axis {axis} of {tile.shape}")
    layout = None if len(tile.shape) == 1 else sliced(tile.layout, axis)
    return Tile(fold(tile.data, axis), tile.dtype, layout)
