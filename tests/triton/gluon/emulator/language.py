"""Stand-ins for the names that emitted kernels use, with parameters that Triton's have; others raise `Unknown`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import triton.language as tl
from triton.experimental.gluon.language import _layouts as layouts
from triton.experimental.gluon.language.nvidia.hopper import mbarrier as hopper_mbarrier

from .barriers import Barrier
from .faults import Fault, Unknown
from .layouts import AUTO, Derived, meet
from .machine import Descriptor, Machine
from .memory import load, store
from .shared import Shared
from .tiles import (
    Pointer,
    Tile,
    binary,
    cast,
    expand,
    number,
    promoted,
    reduced,
    to_tile,
    together,
    torch_dtype,
)

DTYPES = "int1 int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64".split()
LAYOUTS = "BlockedLayout NVMMADistributedLayout DotOperandLayout SliceLayout NVMMASharedLayout AutoLayout".split()


class Names(SimpleNamespace):
    """Names of a module; others are refused."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unknown(f"the emulator has no {name}")


class Copies:
    """`tma`; which names it has depends on Triton's version, and kernels ask for that."""


def truth(value: Any) -> bool:
    return bool(value)


def full(shape: Any, value: Any, dtype: Any, layout: Any = None) -> Tile:
    sizes = [int(each) for each in shape]
    if not sizes:
        return number(value, dtype) if not isinstance(value, Tile) else cast(value, dtype)
    filler = float(value.data) if isinstance(value, Tile) else value
    return Tile(torch.full(sizes, filler, dtype=torch_dtype(dtype)), dtype, layout or AUTO)


def zeros(shape: Any, dtype: Any, layout: Any = None) -> Tile:
    return full(shape, 0, dtype, layout)


def arange(start: int, end: int, layout: Any = None) -> Tile:
    length = end - start
    if length < 1 or length & (length - 1):
        raise Fault(f"arange of {length} elements")
    return Tile(torch.arange(start, end, dtype=torch.int32), tl.int32, layout or AUTO)


def convert_layout(value: Tile, layout: Any, assert_trivial: bool = False) -> Tile:
    if assert_trivial:
        raise Unknown("assert_trivial")
    if value.is_number:
        raise Fault("convert_layout of a number")
    return Tile(value.data, value.dtype, layout)


def set_auto_layout(value: Tile, layout: Any) -> Tile:
    if value.layout is not AUTO:
        raise Fault(f"set_auto_layout of a tile of layout {value.layout}")
    return Tile(value.data, value.dtype, layout)


def cdiv(x: Any, div: Any) -> Any:
    if isinstance(x, int) and isinstance(div, int):
        return -(-x // div)
    return (x + (div - 1)) // div


def where(condition: Any, x: Any, y: Any) -> Tile:
    chosen = to_tile(condition)
    a, b = promoted(x, y)
    layout = together(cast(chosen, tl.int1), a, b)
    return Tile(torch.where(chosen.data.bool(), a.data, b.data), a.dtype, layout)


def _extreme(on_floats: Any, on_integers: Any) -> Any:
    def pick(x: Any, y: Any) -> Any:
        if all(isinstance(each, (int, float)) for each in (x, y)):
            raise Unknown("an extreme of two constants")
        a, b = promoted(x, y)
        layout = together(a, b)
        return Tile((on_floats if a.dtype.is_floating() else on_integers)(a.data, b.data), a.dtype, layout)

    return pick


# As IEEE's maxNum does: a number is more than NaN.
maximum = _extreme(torch.fmax, torch.maximum)
minimum = _extreme(torch.fmin, torch.minimum)


def sum_(input: Tile, axis: int) -> Tile:
    if not input.dtype.is_floating():
        raise Unknown(f"a sum of {input.dtype}")
    return reduced(input, axis, lambda data, along: data.sum(along))


def max_(input: Tile, axis: int) -> Tile:
    return reduced(input, axis, lambda data, along: _fold(data, along, float("-inf"), torch.amax))


def min_(input: Tile, axis: int) -> Tile:
    return reduced(input, axis, lambda data, along: _fold(data, along, float("inf"), torch.amin))


def _fold(data: torch.Tensor, axis: int, least: float, fold: Any) -> torch.Tensor:
    if not data.dtype.is_floating_point:
        return fold(data, axis)
    missing = data.isnan()
    if not bool(missing.any()):
        return fold(data, axis)
    found = fold(torch.where(missing, torch.full((), least, dtype=data.dtype), data), axis)
    return torch.where(missing.all(axis), torch.full((), float("nan"), dtype=data.dtype), found)


def _of_floats(function: Any) -> Any:
    def compute(x: Any) -> Tile:
        tile = to_tile(x)
        if tile.dtype not in (tl.float32, tl.float64):
            raise Fault(f"{function.__name__} of {tile.dtype}: Triton takes float32 and float64")
        return Tile(function(tile.data), tile.dtype, tile.layout)

    return compute


def abs_(x: Any) -> Tile:
    tile = to_tile(x)
    return Tile(tile.data.abs(), tile.dtype, tile.layout)


def fma(x: Any, y: Any, z: Any) -> Tile:
    a, b = promoted(x, y)
    product, c = promoted(Tile(a.data.double() * b.data.double(), tl.float64, together(a, b)), z)
    layout = together(product, c)
    return cast(Tile(product.data + c.data.double(), tl.float64, layout), a.dtype)


def div_rn(x: Any, y: Any) -> Tile:
    return binary("/", x, y)


def reshape(input: Tile, *shape: Any) -> Tile:
    return input.reshape(*shape)


def permute(input: Tile, *dims: Any) -> Tile:
    return input.permute(*dims)


def split(a: Tile) -> tuple[Tile, Tile]:
    return a.split()


def join(a: Tile, b: Tile) -> Tile:
    x, y = promoted(a, b)
    layout = Derived("join", meet(x.layout, y.layout))
    return Tile(torch.stack([x.data, y.data], -1), x.dtype, layout)


def broadcast(input: Any, other: Any) -> Any:
    a, b = to_tile(input), to_tile(other)
    layout = together(a, b)
    shape = torch.broadcast_shapes(a.data.shape, b.data.shape)
    return Tile(a.data.expand(shape), a.dtype, layout), Tile(b.data.expand(shape), b.dtype, layout)


def static_range(start: int, end: int | None = None, step: int = 1, /) -> range:
    return range(start, end, step) if end is not None else range(start)


def range_(start: Any, end: Any = None, step: Any = 1) -> Any:
    """`range` in a kernel: its number is one of the GPU's."""
    first, last = (0, start) if end is None else (start, end)
    for value in range(int(first), int(last), int(step)):
        yield number(value, tl.int32)


def as_pointer(pointer: Any) -> Pointer:
    if not isinstance(pointer, Pointer):
        raise Fault("an access by what is no pointer")
    return pointer


def names_for(machine: Machine, version: str) -> dict[str, Any]:
    """What the text of a module's kernels sees besides its own functions."""

    def program_id(axis: int) -> Tile:
        return number(machine.program[axis], tl.int32)

    def num_programs(axis: int) -> Tile:
        return number(machine.programs[axis], tl.int32)

    def allocate_shared_memory(element_ty: Any, shape: Any, layout: Any, value: Any = None) -> Any:
        if value is not None:
            raise Unknown("an allocation with a value")
        if isinstance(layout, hopper_mbarrier.MBarrierLayout):
            if element_ty != tl.int64:
                raise Fault(f"barriers of {element_ty}")
            return machine.allocate_barriers(shape)
        return machine.allocate(element_ty, shape, layout)

    def warp_specialize(functions_and_args: Any, worker_num_warps: Any, worker_num_regs: Any = None) -> None:
        if worker_num_regs is not None and len(worker_num_regs) != len(worker_num_warps):
            raise Fault("not each part has registers")
        machine.split(functions_and_args, worker_num_warps)

    def load_(pointer: Any, mask: Any = None, other: Any = None) -> Tile:
        machine.pause()
        return load(as_pointer(pointer), mask, other)

    def store_(pointer: Any, value: Any, mask: Any = None) -> None:
        machine.pause()
        store(as_pointer(pointer), to_tile(value), mask)

    def init(mbarrier: Barrier, count: int) -> None:
        mbarrier.start(count)

    # Triton's versions name the bytes differently.
    def expect(mbarrier: Barrier, count: int, /, pred: Any = True) -> None:
        if truth(pred):
            machine.expect(mbarrier, count)

    def wait(mbarrier: Barrier, phase: Any, pred: Any = True) -> None:
        if truth(pred):
            machine.wait(mbarrier, int(phase))

    def arrive(mbarrier: Barrier, *, pred: Any = True) -> None:
        if truth(pred):
            machine.arrive(mbarrier)

    def async_load(tensor_desc: Descriptor, coord: Any, barrier: Barrier, result: Shared, pred: Any = True) -> None:
        if truth(pred):
            machine.copy_in(tensor_desc, coord, barrier, result)

    def async_store(tensor_desc: Descriptor, coord: Any, src: Shared) -> None:
        machine.copy_out(tensor_desc, coord, src)

    def store_wait(pendings: int) -> None:
        machine.wait_for_writes(pendings)

    def fence_async_shared(cluster: bool = False) -> None:
        if cluster:
            raise Unknown("a fence across a cluster")
        machine.fence()

    def warpgroup_mma(a: Any, b: Any, acc: Tile, *, use_acc: Any = True, is_async: bool = False) -> Tile:
        if not is_async:
            raise Unknown("a product that is waited for where it begins")
        return machine.multiply(a, b, acc, truth(use_acc))

    def warpgroup_mma_wait(num_outstanding: int = 0, deps: Any = None) -> Any:
        if deps is None:
            raise Fault("warpgroup_mma_wait without deps")
        return machine.wait_for_products(num_outstanding, tuple(deps))

    gl = Names(
        **{name: getattr(tl, name) for name in DTYPES},
        **{name: getattr(layouts, name) for name in LAYOUTS},
        constexpr=tl.constexpr,
        abs=abs_,
        arange=arange,
        allocate_shared_memory=allocate_shared_memory,
        broadcast=broadcast,
        cast=lambda input, dtype: cast(to_tile(input), dtype),
        cdiv=cdiv,
        ceil=_of_floats(torch.ceil),
        convert_layout=convert_layout,
        cos=_of_floats(torch.cos),
        div_rn=div_rn,
        erf=_of_floats(torch.erf),
        exp=_of_floats(torch.exp),
        exp2=_of_floats(torch.exp2),
        expand_dims=lambda input, axis: expand(input, axis),
        fdiv=div_rn,
        floor=_of_floats(torch.floor),
        fma=fma,
        full=full,
        join=join,
        load=load_,
        log=_of_floats(torch.log),
        log2=_of_floats(torch.log2),
        max=max_,
        maximum=maximum,
        min=min_,
        minimum=minimum,
        num_programs=num_programs,
        permute=permute,
        program_id=program_id,
        reshape=reshape,
        rsqrt=_of_floats(torch.rsqrt),
        set_auto_layout=set_auto_layout,
        shared_memory_descriptor=Shared,
        sin=_of_floats(torch.sin),
        split=split,
        sqrt=_of_floats(torch.sqrt),
        sqrt_rn=_of_floats(torch.sqrt),
        static_range=static_range,
        store=store_,
        sum=sum_,
        tensor=Tile,
        tuple=list,
        warp_specialize=warp_specialize,
        where=where,
        zeros=zeros,
    )
    mbarrier = Names(MBarrierLayout=hopper_mbarrier.MBarrierLayout, init=init, expect=expect, wait=wait, arrive=arrive)
    tma = Copies()
    given = {"store_wait": store_wait, "tensor_descriptor": Descriptor}
    if version == "3.6":
        given |= {"async_copy_global_to_shared": async_load, "async_copy_shared_to_global": async_store}
    else:
        given |= {"async_load": async_load, "async_store": async_store}
    for name, function in given.items():
        setattr(tma, name, function)
    return {
        "gl": gl,
        "mbarrier": mbarrier,
        "tma": tma,
        "range": range_,
        "_carried": lambda value: number(value, tl.int32),
        "fence_async_shared": fence_async_shared,
        "warpgroup_mma": warpgroup_mma,
        "warpgroup_mma_wait": warpgroup_mma_wait,
    }
