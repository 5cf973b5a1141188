"""Tensor descriptors that a launch passes: their types, and which constants of the kernel their blocks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triton._utils import canonicalize_dtype
from triton.runtime.autotuner import Autotuner
from triton.tools.tensor_descriptor import TensorDescriptor

from .host import decorators_of
from .protocol import RequestError
from .ttir import Argument, Block

# The values of a launch: blocks by descriptor, and constants.
Sample = tuple[Mapping[str, tuple[int, ...]], Mapping[str, Any]]


def described(value: TensorDescriptor) -> Argument:
    """What Triton would make of a descriptor."""
    padding = getattr(value, "padding", "zero")
    return Argument("descriptor", canonicalize_dtype(value.base.dtype), Block(tuple(value.block_shape), padding))


def with_blocks(given: dict[str, Argument], config: Mapping[str, Any]) -> dict[str, Argument]:
    """The arguments with the values of constants that blocks name."""
    known = {**config, **{name: each.value for name, each in given.items() if each.kind == "constant"}}

    def size(name: str, dim: Any) -> int:
        if isinstance(dim, int):
            return dim
        if isinstance(known.get(dim), int):
            return int(known[dim])
        instead = f"add {dim}=64, or write a number"
        raise RequestError("unsupported", f"--types: the block of {name} names {dim}; {instead}")

    return {
        name: Argument("descriptor", each.dtype, Block(tuple(size(name, dim) for dim in each.value.sizes)))
        if each.kind == "descriptor"
        else each
        for name, each in given.items()
    }


def instead_of_pointer(said: str) -> str:
    """What to give where a kernel asks a pointer or a number for a method of a descriptor."""
    is_asked = any(f"has no attribute '{method}'" in said for method in ("load", "store", "gather", "scatter"))
    instead = "; a tensor descriptor is given with its block, such as a_desc:tensordesc<fp16[BLOCK_M,64]>"
    return instead if is_asked else ""


def named_blocks(found: Mapping[str, list[Any]], types: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The blocks, with the constants that ``--types`` names."""
    said = {name: each["block"] for name, each in types.items() if each["kind"] == "descriptor" and name in found}
    named = {
        name: [[dim] if isinstance(dim, str) else known for dim, known in zip(block, found[name], strict=True)]
        for name, block in said.items()
    }
    return {**found, **named}


def blocks_of(kernel: Any, signatures: Sequence[Mapping[str, Argument]]) -> dict[str, list[Any]]:
    """For each axis of each descriptor's block, the constants that it always is.

    That is in every noted call, and in the configs that hooks of the autotuner set it for. A number stands where it is
    the same one everywhere, and no constant's.
    """
    first = signatures[0]
    described_params = [name for name, each in first.items() if each.kind == "descriptor"]
    if not described_params:
        return {}
    samples = [*(_noted(each) for each in signatures), *_hooked(kernel, first)]
    return {
        name: [_dim(name, axis, samples) for axis in range(len(first[name].value.sizes))] for name in described_params
    }


def _dim(name: str, axis: int, samples: Sequence[Sample]) -> Any:
    sizes = [blocks[name][axis] for blocks, _ in samples]
    named = [
        constant
        for constant, value in samples[0][1].items()
        if _is_size(value) and all(known.get(constant) == size for size, (_, known) in zip(sizes, samples, strict=True))
    ]
    if named:
        return named
    return [sizes[0]] if len(set(sizes)) == 1 else []


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _noted(signature: Mapping[str, Argument]) -> Sample:
    blocks = {name: each.value.sizes for name, each in signature.items() if each.kind == "descriptor"}
    return blocks, {name: each.value for name, each in signature.items() if each.kind == "constant"}


def _hooked(kernel: Any, first: Mapping[str, Argument]) -> list[Sample]:
    """The blocks that hooks set for their configs, and for values that no two constants of a config share."""
    samples = []
    for tuner in (each for each in decorators_of(kernel) if isinstance(each, Autotuner)):
        for config in tuner.configs:
            hook = config.pre_hook
            if hook is None:
                continue
            sizes = [name for name, value in config.kwargs.items() if _is_size(value)]
            # Neither a quotient nor a product of two of these is another one.
            apart = {name: 10 ** (i + 2) + 2 * i + 1 for i, name in enumerate(sizes)}
            for values in (config.kwargs, {**config.kwargs, **apart}):
                samples.append(_set(hook, first, values))
    return samples


class _Described(TensorDescriptor):
    """What a hook sets the block of; it may ask whether that is a descriptor."""

    def __init__(self, argument: Argument) -> None:
        self.block_shape = list(argument.value.sizes)


def _set(hook: Any, first: Mapping[str, Argument], values: Mapping[str, Any]) -> Sample:
    blocks, constants = _noted(first)
    known = {**constants, **values}
    stands = {name: _Described(first[name]) for name in blocks}
    try:
        hook({**dict.fromkeys(first), **known, **stands})
        return {name: tuple(int(each) for each in stand.block_shape) for name, stand in stands.items()}, known
    except Exception as error:
        why = f"a pre_hook of its configs does not say the blocks of {', '.join(blocks)} by constants alone"
        instead = "let a hook of its own do what else it does"
        raise RequestError("unsupported", f"{why} ({type(error).__name__}: {error}); {instead}") from error
