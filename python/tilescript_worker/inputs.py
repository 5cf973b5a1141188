"""Tensors of one test case: seeded values, the requested layout, and guards around each tensor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

from .failures import WrongResult

# Guard elements before and after each tensor. Wide enough to catch most out-of-bounds accesses, and a multiple of
# every alignment that Triton specializes on.
GUARD = 1024


def decode_value(value: Any) -> Any:
    """Decodes a scalar argument. ``toWire`` in the protocol encodes those that JSON cannot represent."""
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return dtype_of(value["dtype"])
    return float(value["float"]) if "float" in value else int(value["int"])


def dtype_of(name: str) -> torch.dtype:
    """The torch dtype of a Triton name."""
    aliases = {
        "int1": "bool",
        "float8e4nv": "float8_e4m3fn",
        "float8e5": "float8_e5m2",
        "float8e4b8": "float8_e4m3fnuz",
        "float8e5b16": "float8_e5m2fnuz",
        # No torch dtype holds e4m3b15; its bits travel as uint8.
        "float8e4b15": "uint8",
    }
    return getattr(torch, aliases.get(name, name))


def poison(tensor: torch.Tensor, mark: int = 0) -> None:
    """Fills with a value that no correct result contains: NaN, or one of the largest integers.

    The bits of neighboring marks differ, so that a copy from one guard to another is detected.
    """
    dtype, mark = tensor.dtype, mark % POISON_COUNT
    if dtype.is_floating_point and dtype.itemsize == 1:
        # float8 can't be filled; these bits are NaN in the formats that Triton has.
        tensor.view(torch.uint8).fill_(0xFF if mark % 2 else 0x7F)
    elif dtype.is_complex:
        poison(torch.view_as_real(tensor), mark)
    elif dtype.is_floating_point:
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
        tensor.view(bits).fill_(int(torch.tensor(math.nan, dtype=dtype, device="cpu").view(bits)) + mark)
    elif dtype == torch.bool:
        tensor.fill_(mark % 2 == 0)
    else:
        tensor.fill_(torch.iinfo(dtype).max - mark)


# The number of poison values. It is small, so that those of int8 are also large.
POISON_COUNT = 16


class Guarded:
    """A tensor inside a larger buffer of poison.

    A read past its end brings NaN into the result, and a write past its end changes the buffer, which
    :meth:`is_damaged` detects.
    """

    def __init__(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: torch.dtype,
        device: str,
        offset: int = 0,
        mark: int = 0,
    ) -> None:
        start = GUARD + offset
        self._buffer = torch.empty(start + _extent(shape, strides) + GUARD, dtype=dtype, device=device)
        poison(self._buffer, mark)
        self._initial = self._buffer.clone()
        self._outside = torch.ones(self._buffer.shape, dtype=torch.bool, device=device)
        _distinct(self._outside.as_strided(shape, strides, start)).fill_(False)
        self.tensor = self._buffer.as_strided(shape, strides, start)

    @classmethod
    def from_spec(cls, spec: dict[str, Any], device: str, values: torch.Tensor | None = None, mark: int = 0) -> Guarded:
        """A tensor of the request, with values or with poison."""
        layout = spec.get("layout", "contiguous")
        strides = strides_of(spec["shape"], layout)
        guarded = cls(spec["shape"], strides, dtype_of(spec["dtype"]), device, _offset(layout), mark)
        if values is not None:
            memory = _distinct(guarded.tensor)
            memory.copy_(values[tuple(slice(size) for size in memory.shape)].to(device))
            guarded._initial.copy_(guarded._buffer)
        return guarded

    def hold(self, tensors: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
        """Writes values to tensors in this memory. From now on, these alone are its inside."""
        self._outside.fill_(True)
        for tensor, value in zip(tensors, values, strict=True):
            _distinct(tensor).copy_(_distinct(value))
            # Elements of the buffer for each element of the tensor.
            unit = tensor.itemsize // self._buffer.itemsize
            strides = [step * unit for step in tensor.stride()]
            inside = self._outside.as_strided((*tensor.shape, unit), (*strides, 1), tensor.storage_offset() * unit)
            _distinct(inside).fill_(False)
        self.renew()

    def renew(self) -> None:
        """Takes what is there now as unchanged."""
        self._initial.copy_(self._buffer)

    def is_damaged(self, include_inside: bool) -> bool:
        """True if a byte changed outside the tensor, or anywhere with ``include_inside``."""
        changed = (_bytes(self._buffer) != _bytes(self._initial)).any(dim=1)
        return bool((changed if include_inside else changed & self._outside).any())


class GuardedView:
    """One of the tensors that share the memory of a :class:`Guarded`."""

    def __init__(self, memory: Guarded, tensor: torch.Tensor) -> None:
        self._memory, self.tensor = memory, tensor
        self._traits = _traits(tensor)
        self._initial = tensor.detach().clone()

    def is_damaged(self, include_inside: bool) -> bool:
        """True if a byte changed outside the tensors, or of this one with ``include_inside``."""
        if not include_inside:
            return self._memory.is_damaged(include_inside=False)
        return _traits(self.tensor) != self._traits or changed_elements(self.tensor.detach(), self._initial) > 0

    def renew(self) -> None:
        """Takes what is there now as unchanged."""
        self._memory.renew()
        self._initial = self.tensor.detach().clone()


def refill(views: Sequence[GuardedView], values: Sequence[torch.Tensor]) -> None:
    """Replaces the elements of tensors that stay where they are."""
    for view, value in zip(views, values, strict=True):
        _distinct(view.tensor.detach()).copy_(_distinct(value.detach()))
    for view in views:
        view.renew()


def _traits(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What a tensor is, apart from its elements."""
    return (tensor.shape, tensor.stride(), tensor.data_ptr(), tensor.dtype, tensor.requires_grad)


# The addresses of copies are those of the originals modulo this number of bytes, to which PyTorch aligns memory.
ALIGNMENT = 64


def place(tensors: Sequence[torch.Tensor], dtype: torch.dtype | None = None) -> list[GuardedView]:
    """Guarded copies that have the strides, the alignment and the shared memory of the given tensors.

    With a ``dtype``, floats are converted to it.
    """
    placed: dict[int, GuardedView] = {}
    for mark, group in enumerate(_sharing(tensors)):
        members = [tensors[index].detach() for index in group]
        dtypes = {member.dtype for member in members}
        # Tensors of several dtypes share bytes.
        stored = members[0].dtype if len(dtypes) == 1 else torch.uint8
        first = min(member.data_ptr() for member in members)
        end = max(member.data_ptr() + _extent(member.shape, member.stride()) * member.itemsize for member in members)
        memory = Guarded(
            [(end - first) // stored.itemsize],
            [1],
            dtype if dtype is not None and stored.is_floating_point else stored,
            str(members[0].device),
            first % ALIGNMENT // stored.itemsize,
            mark,
        )
        copies = []
        for member in members:
            whole = memory.tensor.view(member.dtype) if len(dtypes) > 1 else memory.tensor
            start = whole.storage_offset() + (member.data_ptr() - first) // member.itemsize
            copies.append(whole.as_strided(member.shape, member.stride(), start))
        memory.hold(copies, members)
        for index, copy in zip(group, copies, strict=True):
            placed[index] = GuardedView(memory, copy.requires_grad_(tensors[index].requires_grad))
    return [placed[index] for index in range(len(tensors))]


def _sharing(tensors: Sequence[torch.Tensor]) -> list[list[int]]:
    """The indices of tensors, those of one storage together."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, tensor in enumerate(tensors):
        # An empty storage has no address.
        alone = () if tensor.numel() else (index,)
        groups.setdefault((tensor.device, tensor.untyped_storage().data_ptr(), *alone), []).append(index)
    return list(groups.values())


def zeros_for(spec: dict[str, Any]) -> torch.Tensor:
    """Zeros on the CPU with the layout of the requested tensor and the same alignment to 16 bytes."""
    shape, dtype, layout = spec["shape"], dtype_of(spec["dtype"]), spec["layout"]
    strides, start = strides_of(shape, layout), _offset(layout)
    memory = torch.zeros((start + _extent(shape, strides)) * dtype.itemsize, dtype=torch.uint8)
    return memory.view(dtype).as_strided(shape, strides, start)


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from a tensor's first to its last."""
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def _offset(layout: str | Sequence[int]) -> int:
    """The offset of a tensor in its memory, in elements."""
    return 1 if layout == "offset" else 0


def strides_of(shape: Sequence[int], layout: str | Sequence[int]) -> list[int]:
    """Strides of a layout.

    ``transposed`` stores the last two axes the other way, ``sliced`` skips every second element, and ``expanded``
    has one row, repeated. A layout of numbers is the strides themselves.
    """
    if not isinstance(layout, str):
        return list(layout)
    stored = list(shape)
    swap = layout == "transposed" and len(stored) >= 2
    if swap:
        stored[-2:] = reversed(stored[-2:])
    strides, step = [], 2 if layout == "sliced" else 1
    for size in reversed(stored):
        strides.insert(0, step)
        step *= max(size, 1)
    if swap:
        strides[-2:] = reversed(strides[-2:])
    return [0, *strides[1:]] if layout == "expanded" else strides


def _distinct(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor in which no two elements share memory."""
    return tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]


def draw(spec: dict[str, Any], seed: int) -> torch.Tensor:
    """Draws values on the CPU, so that a seed gives the same numbers on every device."""
    generator = torch.Generator().manual_seed(seed)
    shape, dtype, fill = spec["shape"], dtype_of(spec["dtype"]), spec["fill"]
    if fill["kind"] == "normal":
        values = torch.randn(shape, generator=generator).to(dtype)
        special = fill.get("special", [])
        _insert_special(values, [kind for kind in special if kind not in LINE_AXES], generator)
    elif fill["kind"] == "uniform":
        values = torch.empty(shape).uniform_(fill["low"], fill["high"], generator=generator).to(dtype)
    elif fill["kind"] == "integers":
        values = torch.randint(fill["low"], fill["high"], shape, generator=generator).to(dtype)
    elif fill["kind"] == "partition":
        values = torch.randint(0, fill["total"] + 1, shape, generator=generator).sort().values.to(dtype)
        if len(values) > 0:
            if fill["holds"] == "offsets":
                values[0] = 0
            values[-1] = fill["total"]
    elif fill["kind"] == "file":
        raw = np.fromfile(fill["path"], dtype=np.uint8)
        # No bytes have no stride to view them by.
        values = torch.from_numpy(raw).view(dtype).reshape(shape) if raw.size else torch.empty(shape, dtype=dtype)
    else:
        raise ValueError(f"unknown fill {fill['kind']!r}")
    for kind in fill.get("special", []):
        if kind in LINE_AXES:
            _make_special_lines(values, kind, seed)
    return values[:1].expand(shape).contiguous() if spec.get("layout") == "expanded" else values


# One in this many elements is special. With more, every reduction over a row would be special.
SPECIAL_PERIOD = 16


def _insert_special(values: torch.Tensor, kinds: Sequence[str], generator: torch.Generator) -> None:
    """Overwrites some elements by special values, of either sign where the kind has two."""
    if not kinds or values.numel() == 0:
        return
    count = math.ceil(values.numel() / SPECIAL_PERIOD)
    indices = torch.randint(0, values.numel(), (count,), generator=generator)
    chosen = torch.randint(0, len(kinds), (count,), generator=generator)
    signs = torch.randint(0, 2, (count,), generator=generator) * 2 - 1
    numbers = torch.tensor([_special(kind, values.dtype) for kind in kinds], dtype=torch.float64)[chosen]
    signed = torch.tensor([kind in ("subnormal", "largest", "large") for kind in kinds])[chosen]
    values.view(-1)[indices] = torch.where(signed, numbers * signs, numbers).to(values.dtype)


# The mean of a line whose deviations are around 1. Its square costs their squares ten bits in float32.
OFFSET = 32.0

# The axis of each kind of lines.
LINE_AXES = {
    "rows": -1,
    "columns": -2,
    "offset rows": -1,
    "offset columns": -2,
    "-infinity rows": -1,
    "cancelling rows": -1,
    "cancelling columns": -2,
}
# The sum of large elements hides the digits of tiny ones in float32, and fits a float16.
LARGE, TINY = 2.0**13, 2.0**-10


def _make_special_lines(values: torch.Tensor, kind: str, seed: int) -> None:
    """Makes the lines along an axis special, one kind after another, as the evaluator does."""
    axis, is_float = LINE_AXES[kind], values.is_floating_point()
    # A float8 has no arithmetic.
    if values.ndim < -axis or values.shape[axis] < 2 or (values.itemsize == 1 and is_float):
        return
    subnormal = _special("subnormal", values.dtype) if is_float else 0
    lines = values.movedim(axis, -1)
    for number, index in enumerate(itertools.product(*map(range, lines.shape[:-1]))):
        elements = lines[index]
        if kind == "-infinity rows":
            if is_float and (number + seed) % 2 == 0:
                elements.fill_(-math.inf)
        elif kind.startswith("offset"):
            if is_float and (number + seed) % 2 == 0:
                elements += OFFSET
        elif kind.startswith("cancelling"):
            if is_float:
                half = math.ceil(len(elements) / 2)
                elements.copy_(1 + elements.abs())
                is_first_large = (number + seed) % 2 == 0
                elements[:half] *= LARGE if is_first_large else TINY
                elements[half:] *= TINY if is_first_large else LARGE
        elif not is_float:
            kind_index = (number + seed) % 3
            if kind_index == 0:
                elements.fill_(1)
            elif kind_index == 1:
                elements.copy_(-1 - elements.abs())
        else:
            kind_index = (number + seed) % 4
            if kind_index == 0:
                elements.fill_(1.5)
            elif kind_index == 1:
                elements[number % len(elements)] = 100.0
            elif kind_index == 2:
                elements.copy_(-0.5 - elements.abs())
            elif kind_index == 3:
                elements[1::2] = subnormal


def _special(kind: str, dtype: torch.dtype) -> float:
    info = torch.finfo(dtype)
    special_values = {
        "nan": math.nan,
        "infinity": math.inf,
        "-infinity": -math.inf,
        "-0": -0.0,
        "largest": info.max,
        "large": 100.0,
    }
    # The smallest positive number: below the smallest normal one by the mantissa.
    return special_values[kind] if kind in special_values else info.smallest_normal * info.eps


def values_of(request: dict[str, Any], module: ModuleType) -> dict[str, torch.Tensor]:
    """The inputs of a request by Python name: drawn here, or by the module if its author describes them."""
    inputs, seed = request["inputs"], request["seed"]
    values = {spec["python"]: draw(spec, seed + index) for index, spec in enumerate(inputs)}
    draw_spec = request.get("drawn")
    if draw_spec:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            arguments = {name: decode_value(value) for name, value in draw_spec["arguments"].items()}
            tensors = module.draw_inputs(**arguments, device="cpu")
        for name, value in zip(draw_spec["tensors"], tensors if isinstance(tensors, tuple) else [tensors], strict=True):
            # Tensors that this case omits are not inputs.
            if name not in values:
                continue
            if value.shape != values[name].shape:
                shapes = f"inputs give {name} the shape {[*value.shape]}; it is {[*values[name].shape]}"
                raise WrongResult(module.draw_inputs, shapes)
            values[name] = value.to(values[name].dtype)
    return values


def changed_elements(first: torch.Tensor, second: torch.Tensor) -> int:
    """The number of elements whose bits differ, for two tensors of one shape and dtype."""
    return int((_bytes(flat(first)) != _bytes(flat(second))).any(dim=1).sum())


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in row-major order, contiguous in memory.

    A tensor of one element counts as contiguous with any strides, and then could not be viewed as bytes.
    """
    return tensor.contiguous().as_strided((tensor.numel(),), (1,))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8).view(tensor.numel(), tensor.element_size())
