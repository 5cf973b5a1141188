"""Calls each example as its stub says: a type checker finds nothing wrong here."""

import torch
from torch import Tensor

import examples
from examples.kernels import gemm as gemm_module


def calls(x: Tensor, ids: Tensor, mask: Tensor | None) -> list[Tensor]:
    updated: tuple[Tensor, Tensor, Tensor] = examples.adamw_stochastic(x, x, x, x, lr=1e-3, seed=7)
    values, indices = examples.bitonic_topk(x, 8, values=x)
    pooled, places = examples.max_pool3d(x, KERNEL=2, STRIDE=2, PADDING=0)
    both: tuple[Tensor, Tensor] = examples.cross_entropy_with_gradient(x, ids, scale=0.5)
    normal, total = examples.add_rms_norm(x, x, x, eps=1e-6)
    experts = examples.moe_gemm(x, x, ids, ids, ids, 2, topk_weights=mask)
    return [
        *updated,
        values,
        indices,
        pooled,
        places,
        experts,
        *both,
        normal,
        total,
        examples.add_layer_norm(x, x, x, x, eps=1e-6)[0],
        examples.all_reduce(x, x, out=x),
        examples.asin(x),
        examples.attention(x, x, x, CAUSAL=True),
        examples.attention_with_gradients(x, x, x, CAUSAL=True),
        examples.bias_gelu(x, x),
        examples.cross_entropy(x, ids),
        examples.dependent_add(x, x),
        examples.dropout(x, p=0.1, seed=7),
        examples.fp8_gemm(x, x, x, x, torch.float16),
        examples.gelu_dropout(x, p=0.1, seed=7),
        examples.gemm(x, x, out=x),
        examples.gemm_block_scaled(x, ids, x, ids),
        examples.gemm_float32(x, x, EXACT=True),
        examples.gemm_persistent(x, x, PROGRAMS=64),
        examples.gemm_persistent_tma(x, x),
        examples.gemm_split_k(x, x),
        examples.gemm_stream_k(x, x),
        examples.gemm_tma(x, x),
        examples.grouped_gemm(x, x, ids),
        examples.histogram(ids, 100),
        examples.int4_gemm(x, ids, x, ids, GROUP_SIZE=64),
        examples.int8_gemm(ids, ids, x, x, torch.float16),
        examples.jagged_softmax(x, ids),
        examples.layer_norm(x, x, x, eps=1e-6),
        examples.layer_norm(x, x, x),
        examples.linear_gelu(x, x, x),
        examples.mamba_chunk_scan(x, x, x, x, x, x, x),
        examples.paged_attention(x, x, x, ids, ids, out=None),
        examples.relative_attention(x, x, x, x),
        examples.rms_norm(x, x, 1e-6),
        examples.rotary(x, x, x),
        examples.silu_mul(x, x),
        examples.softmax(x),
        examples.softmax_long(x),
        examples.softmax_rows(x, out=x),
        examples.vector_add(x, x),
        examples.vector_sum(x),
    ]


def module(x: Tensor) -> Tensor:
    return gemm_module.gemm(x, x)
