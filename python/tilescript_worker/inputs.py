"""Tensors for one case: values from a seed, the requested layout, and guards around each tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

from .failures import WrongResult

# Elements before and after each tensor's own. Wide enough to catch most accesses past the end, and a multiple of
# every alignment that Triton specializes on.
GUARD = 1024


def value_of(given: Any) -> Any:
    """What a request gives besides tensors, of which JSON holds some as text: `toWire` of the protocol writes it."""
    if not isinstance(given, dict):
        return given
    if "dtype" in given:
        return dtype_of(given["dtype"])
    return float(given["float"]) if "float" in given else int(given["int"])


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

    The bits of neighboring marks differ: what is read behind one tensor shows when it is written behind another.
    """
    dtype, mark = tensor.dtype, mark % MARKS
    if dtype.is_floating_point and dtype.itemsize == 1:
        # float8 can't be filled; these bits are NaN in the formats that Triton has.
        tensor.view(torch.uint8).fill_(0xFF if mark % 2 else 0x7F)
    elif dtype.is_floating_point:
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
        tensor.view(bits).fill_(int(torch.tensor(math.nan, dtype=dtype).view(bits)) + mark)
    elif dtype == torch.bool:
        tensor.fill_(mark % 2 == 0)
    else:
        tensor.fill_(torch.iinfo(dtype).max - mark)


# The number of poison values: few, so that those of int8 are large, too.
MARKS = 16


class Guarded:
    """A tensor inside a larger buffer of poison.

    A read past its end brings NaN into the result, and a write past its end changes the buffer, which
    :meth:`damaged` tells.
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
        self._before = self._buffer.clone()
        self._outside = torch.ones(self._buffer.shape, dtype=torch.bool, device=device)
        _distinct(self._outside.as_strided(shape, strides, start)).fill_(False)
        self.tensor = self._buffer.as_strided(shape, strides, start)

    @classmethod
    def of(cls, spec: dict[str, Any], device: str, values: torch.Tensor | None = None, mark: int = 0) -> Guarded:
        """A tensor of the request, with values or with poison."""
        layout = spec.get("layout", "contiguous")
        strides = strides_of(spec["shape"], layout)
        guarded = cls(spec["shape"], strides, dtype_of(spec["dtype"]), device, _offset(layout), mark)
        if values is not None:
            memory = _distinct(guarded.tensor)
            memory.copy_(values[tuple(slice(size) for size in memory.shape)].to(device))
            guarded._before.copy_(guarded._buffer)
        return guarded

    def damaged(self, inside: bool) -> bool:
        """Whether a byte changed outside the tensor, or (``inside``) anywhere."""
        changed = (_bytes(self._buffer) != _bytes(self._before)).any(dim=1)
        return bool((changed if inside else changed & self._outside).any())


def blank(spec: dict[str, Any]) -> torch.Tensor:
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
        _put_special(values, fill.get("special", []), generator)
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
    return values[:1].expand(shape).contiguous() if spec.get("layout") == "expanded" else values


# One in this many elements is special; with more, a reduction over a row would give nothing else.
RARE = 16


def _put_special(values: torch.Tensor, kinds: Sequence[str], generator: torch.Generator) -> None:
    """Overwrites some elements by special values, of either sign where the kind has two."""
    if not kinds or values.numel() == 0:
        return
    count = math.ceil(values.numel() / RARE)
    places = torch.randint(0, values.numel(), (count,), generator=generator)
    chosen = torch.randint(0, len(kinds), (count,), generator=generator)
    signs = torch.randint(0, 2, (count,), generator=generator) * 2 - 1
    numbers = torch.tensor([_special(kind, values.dtype) for kind in kinds], dtype=torch.float64)[chosen]
    signed = torch.tensor([kind in ("subnormal", "largest", "large") for kind in kinds])[chosen]
    values.view(-1)[places] = torch.where(signed, numbers * signs, numbers).to(values.dtype)


def _special(kind: str, dtype: torch.dtype) -> float:
    info = torch.finfo(dtype)
    known = {
        "nan": math.nan,
        "infinity": math.inf,
        "-infinity": -math.inf,
        "-0": -0.0,
        "largest": info.max,
        "large": 100.0,
    }
    # The smallest positive number: below the smallest normal one by the mantissa.
    return known[kind] if kind in known else info.smallest_normal * info.eps


def values_of(request: dict[str, Any], module: ModuleType) -> dict[str, torch.Tensor]:
    """The inputs of a request by Python name: drawn here, or by the module if its author describes them."""
    inputs, seed = request["inputs"], request["seed"]
    values = {spec["python"]: draw(spec, seed + place) for place, spec in enumerate(inputs)}
    described = request.get("drawn")
    if described:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            arguments = {name: value_of(value) for name, value in described["arguments"].items()}
            drawn = module.draw_inputs(**arguments, device="cpu")
        for name, value in zip(described["tensors"], drawn if isinstance(drawn, tuple) else [drawn], strict=True):
            # Tensors that this case omits are not inputs.
            if name not in values:
                continue
            if value.shape != values[name].shape:
                shapes = f"inputs give {name} the shape {[*value.shape]}; it is {[*values[name].shape]}"
                raise WrongResult(module.draw_inputs, shapes)
            values[name] = value.to(values[name].dtype)
    return values


def changed_elements(left: torch.Tensor, right: torch.Tensor) -> int:
    """How many elements of two tensors of one shape and dtype differ in their bits."""
    return int((_bytes(flat(left)) != _bytes(flat(right))).any(dim=1).sum())


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in row-major order, one after another in memory.

    A tensor of one element counts as contiguous whatever its strides are, and could not be viewed as bytes.
    """
    return tensor.contiguous().as_strided((tensor.numel(),), (1,))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8).view(tensor.numel(), tensor.element_size())
