"""A persistent matrix product through tensor descriptors written by hand, whose result leaves in two halves."""

import triton
import triton.language as tl


@triton.jit
def gemm_persistent_tma_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    K,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HALF_N: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    num_tiles = num_pid_m * num_pid_n
    for tile_id in tl.range(tl.program_id(axis=0), num_tiles, tl.num_programs(axis=0), flatten=True):
        group_id = tile_id // num_pid_in_group
        first_pid_m = group_id * GROUP_M
        group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + ((tile_id % num_pid_in_group) % group_size_m)
        pid_n = (tile_id % num_pid_in_group) // group_size_m
        offs_m = pid_m * BLOCK_M
        offs_n = pid_n * BLOCK_N

        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([offs_m, k * BLOCK_K])
            b = b_desc.load([k * BLOCK_K, offs_n])
            accumulator = tl.dot(a, b, accumulator)
        halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, HALF_N)), (0, 2, 1))
        first, second = tl.split(halves)
        c_desc.store([offs_m, offs_n], first.to(c_desc.dtype))
        c_desc.store([offs_m, offs_n + HALF_N], second.to(c_desc.dtype))
