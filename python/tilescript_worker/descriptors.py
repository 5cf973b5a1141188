"""Tensor descriptors of a launch: their types, and the constexprs that give their block shapes."""

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


def descriptor_argument(value: TensorDescriptor) -> Argument:
    """The argument of Triton's signature for a descriptor."""
    padding = getattr(value, "padding", "zero")
    return Argument("descriptor", canonicalize_dtype(value.base.dtype), Block(tuple(value.block_shape), padding))


def resolve_blocks(signature: dict[str, Argument], config: Mapping[str, Any]) -> dict[str, Argument]:
    """Replaces the constexprs in block shapes by their values."""
    constants = {**config, **{name: each.value for name, each in signature.items() if each.kind == "constant"}}

    def size(name: str, dim: Any) -> int:
        if isinstance(dim, int):
            return dim
        if isinstance(constants.get(dim), int):
            return int(constants[dim])
        remedy = f"add {dim}=64, or write a number"
        raise RequestError("unsupported", f"--types: the block of {name} names {dim}; {remedy}")

    return {
        name: Argument("descriptor", each.dtype, Block(tuple(size(name, dim) for dim in each.value.sizes)))
        if each.kind == "descriptor"
        else each
        for name, each in signature.items()
    }


def descriptor_hint(message: str) -> str:
    """A hint for a kernel that calls a descriptor's method on a pointer or a number."""
    is_descriptor_method = any(
        f"has no attribute '{method}'" in message for method in ("load", "store", "gather", "scatter")
    )
    hint = "; a tensor descriptor is given with its block, such as a_desc:tensordesc<fp16[BLOCK_M,64]>"
    return hint if is_descriptor_method else ""


def apply_named_blocks(blocks: Mapping[str, list[Any]], types: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The blocks, with the constexprs that ``--types`` declares for them."""
    declared_blocks = {
        name: each["block"] for name, each in types.items() if each["kind"] == "descriptor" and name in blocks
    }
    named_dims = {
        name: [[dim] if isinstance(dim, str) else dims for dim, dims in zip(declared, blocks[name], strict=True)]
        for name, declared in declared_blocks.items()
    }
    return {**blocks, **named_dims}


def blocks_of(kernel: Any, signatures: Sequence[Mapping[str, Argument]]) -> dict[str, list[Any]]:
    """For each axis of each descriptor's block, the constexprs that always equal its size.

    Samples are the recorded calls, and the configs whose autotuner hooks set the block. A constant size that equals no
    constexpr is a number.
    """
    first = signatures[0]
    described_params = [name for name, each in first.items() if each.kind == "descriptor"]
    if not described_params:
        return {}
    samples = [*(_sample_of(each) for each in signatures), *_hook_samples(kernel, first)]
    return {
        name: [_dim(name, axis, samples) for axis in range(len(first[name].value.sizes))] for name in described_params
    }


def _dim(name: str, axis: int, samples: Sequence[Sample]) -> Any:
    sizes = [blocks[name][axis] for blocks, _ in samples]
    constant_names = [
        constant
        for constant, value in samples[0][1].items()
        if _is_size(value)
        and all(constants.get(constant) == size for size, (_, constants) in zip(sizes, samples, strict=True))
    ]
    if constant_names:
        return constant_names
    return [sizes[0]] if len(set(sizes)) == 1 else []


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _sample_of(signature: Mapping[str, Argument]) -> Sample:
    blocks = {name: each.value.sizes for name, each in signature.items() if each.kind == "descriptor"}
    return blocks, {name: each.value for name, each in signature.items() if each.kind == "constant"}


def _hook_samples(kernel: Any, first: Mapping[str, Argument]) -> list[Sample]:
    """Block shapes that hooks set for their configs, and for distinct values of all constexprs."""
    samples = []
    for tuner in (each for each in decorators_of(kernel) if isinstance(each, Autotuner)):
        for config in tuner.configs:
            hook = config.pre_hook
            if hook is None:
                continue
            sizes = [name for name, value in config.kwargs.items() if _is_size(value)]
            # No product or quotient of two of these equals a third one.
            distinct_sizes = {name: 10 ** (i + 2) + 2 * i + 1 for i, name in enumerate(sizes)}
            for values in (config.kwargs, {**config.kwargs, **distinct_sizes}):
                samples.append(_call_hook(hook, first, values))
    return samples


class _RecordingDescriptor(TensorDescriptor):
    """A descriptor that only records the block shape set by a hook. It passes ``isinstance`` checks."""

    def __init__(self, argument: Argument) -> None:
        self.block_shape = list(argument.value.sizes)


def _call_hook(hook: Any, first: Mapping[str, Argument], values: Mapping[str, Any]) -> Sample:
    blocks, constants = _sample_of(first)
    all_constants = {**constants, **values}
    descriptors = {name: _RecordingDescriptor(first[name]) for name in blocks}
    try:
        hook({**dict.fromkeys(first), **all_constants, **descriptors})
        return {
            name: tuple(int(each) for each in descriptor.block_shape) for name, descriptor in descriptors.items()
        }, all_constants
    except Exception as error:
        problem = f"a pre_hook of its configs does not say the blocks of {', '.join(blocks)} by constants alone"
        remedy = "let a hook of its own do what else it does"
        raise RequestError("unsupported", f"{problem} ({type(error).__name__}: {error}); {remedy}") from error
