"""Functions on the GPU, which the partitions of warp-specialized kernels call."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

# Copies of blocks from and to global memory, which Triton 3.6 names differently.
_load_block = (
    tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
)
_store_block = (
    tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
)


@gluon.jit
def _write_block(
    tile: gl.tensor,
    desc: tma.tensor_descriptor,
    start: gl.tuple,
    block: gl.shared_memory_descriptor,
):
    """Writes a tile [M, N] to desc's tensor, by way of a block of shared memory.

    start is the index of the tile's first element in the tensor. The block has the
    tile's shape, with axes of size 1 if the tensor has more. It is free once the
    previous write has read it.
    """
    tma.store_wait(0)
    block.reshape(tile.shape).store(tile)
    fence_async_shared()
    _store_block(desc, start, block)


@gluon.jit
def _write_pieces(
    tile: gl.tensor,
    desc: tma.tensor_descriptor,
    start: gl.tuple,
    blocks: gl.shared_memory_descriptor,
    part: gl.constexpr,
    count: gl.constexpr,
    depth: gl.constexpr,
):
    """Writes a tile [M, N] to desc's tensor, in pieces of N / count columns.

    start is the index of the tile's first element in the tensor. Consumer part has
    depth blocks of shared memory, each for a piece: it fills one while the copy engine
    reads the others.
    """
    pieces = _pieces_of(tile, count)
    for i in gl.static_range(count):
        block = blocks.index(part * depth + i % depth)
        tma.store_wait(depth - 1)
        block.reshape(pieces[i].shape).store(pieces[i])
        fence_async_shared()
        columns = start[-1] + i * (tile.shape[1] // count)
        _store_block(desc, start[:-1] + [columns], block)


@gluon.jit
def _pieces_of(tile: gl.tensor, count: gl.constexpr) -> gl.tuple:
    """Splits a tile [M, N] into count tiles [M, N / count], from left to right.

    It halves tiles, as Gluon splits in two only. So count must be a power of two.
    """
    if count == 1:
        return (tile,)
    else:
        halves = tile.reshape([tile.shape[0], 2, tile.shape[1] // 2])
        left, right = halves.permute(0, 2, 1).split()
        return _pieces_of(left, count // 2) + _pieces_of(right, count // 2)


@gluon.jit
def _split_sum(total: gl.tensor, count: gl.constexpr, layout: gl.constexpr) -> gl.tuple:
    """Splits a sum [M, N] into count sums [M, N / count] of the products' layout."""
    sums = ()
    pieces = _pieces_of(total, count)
    for i in gl.static_range(count):
        sums += (gl.convert_layout(pieces[i], layout),)
    return sums


@gluon.jit
def _add_product(
    sums: gl.tuple,
    a: gl.shared_memory_descriptor,
    b: gl.shared_memory_descriptor,
    factors: gl.tuple,
    layout: gl.constexpr,
) -> gl.tuple:
    """Adds the product of a [M, K] and b [K, N], times factors, to sums [M, N / count].

    The tensor cores of Hopper GPUs keep some 14 bits of a sum of 8-bit floats. So they
    sum one product only, and registers add it to the sum in float32.
    """
    count: gl.constexpr = len(sums)
    rows: gl.constexpr = a.shape[0]
    columns: gl.constexpr = b.shape[1] // count
    added = ()
    for i in gl.static_range(count):
        zeros = gl.zeros([rows, columns], gl.float32, layout)
        right = b.slice(i * columns, columns, dim=1)
        product = warpgroup_mma(a, right, zeros, use_acc=False, is_async=True)
        product = warpgroup_mma_wait(0, deps=(product,))
        for j in gl.static_range(len(factors)):
            product = product * factors[j]
        added += (sums[i] + product,)
    return added


@gluon.jit
def _join_sum(sums: gl.tuple, layout: gl.constexpr) -> gl.tensor:
    """Joins sums [M, N], from left to right, to one of the layout. See _split_sum."""
    return gl.convert_layout(_whole_of(sums), layout)


@gluon.jit
def _whole_of(pieces: gl.tuple) -> gl.tensor:
    """Joins tiles [M, N] from left to right, the reverse of _pieces_of."""
    if len(pieces) == 1:
        return pieces[0]
    else:
        half: gl.constexpr = len(pieces) // 2
        left = _whole_of(pieces[:half])
        pair = gl.join(left, _whole_of(pieces[half:]))
        return pair.permute(0, 2, 1).reshape([left.shape[0], 2 * left.shape[1]])


@gluon.jit
def _swizzle2d(i, j, size_i, size_j, size_g):
    """The i and j of a tile in grouped order, as triton.language.swizzle2d has them."""
    tile = i * size_j + j
    tiles_in_group = size_g * size_j
    first = tile // tiles_in_group * size_g
    rows = gl.minimum(size_i - first, size_g)
    return first + tile % tiles_in_group % rows, tile % tiles_in_group // rows
