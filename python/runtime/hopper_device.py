"""Functions on the GPU, which the partitions of warp-specialized kernels call."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma

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
