"""Calls each example in a way that its stub refuses, with the code of the error that mypy has for it."""

from torch import Tensor

import examples
from examples import nothing  # attr-defined
from examples.kernels import gemm as gemm_module


def calls(x: Tensor, ids: Tensor) -> None:
    examples.adamw_stochastic(x, x, x)  # call-arg
    examples.asin("x")  # arg-type
    examples.attention(x, x, x, True, x)  # call-arg
    examples.attention_with_gradients(x, x)  # call-arg
    examples.bitonic_topk(x, K=2.5)  # arg-type
    examples.dependent_add(x)  # call-arg
    examples.dropout(x, p="half")  # arg-type
    examples.gemm(x, "x")  # arg-type
    examples.gemm_block_scaled(x, ids, x)  # call-arg
    examples.gemm_persistent(x, x, PROGRAMS=2.5)  # arg-type
    examples.gemm_tma(x, x, out=1)  # arg-type
    examples.grouped_gemm(x, x, None)  # arg-type
    examples.int4_gemm(x, ids, x, ids, group_size=64)  # call-arg
    examples.jagged_softmax(x)  # call-arg
    examples.layer_norm(x, x, None)  # arg-type
    examples.layer_norm(x, x, x, y=x)  # call-arg
    examples.mamba_chunk_scan(x, x, x, x, x, x, [x])  # arg-type
    pooled: Tensor = examples.max_pool3d(x)  # assignment
    examples.moe_gemm(x, x, ids, ids, ids)  # call-arg
    examples.paged_attention(x, x, x, ids, ids)[0].no_such_method()  # attr-defined
    examples.rms_norm(x, x, eps="small")  # arg-type
    text: str = examples.softmax(x)  # assignment
    examples.add_rms_norm(x, x)  # call-arg
    examples.cross_entropy(x)  # call-arg
    examples.cross_entropy_with_gradient(x, ids, scale="half")  # arg-type
    examples.gemm_persistent_tma(x, None)  # arg-type
    examples.linear_gelu(x, x)  # call-arg
    examples.relative_attention(x, x, x)  # call-arg
    examples.silu_mul(x, "x")  # arg-type
    both: Tensor = examples.add_rms_norm(x, x, x)  # assignment
    examples.softmax_long(x, x)  # call-arg
    examples.all_reduce([x, x])  # arg-type
    examples.vector_add(x, x, x)  # call-arg
    examples.add_layer_norm(x, x, x)  # call-arg
    examples.fp8_gemm(x, x, x, x)  # call-arg
    examples.gelu_dropout(x, p="half")  # arg-type
    examples.gemm_split_k(x, "x")  # arg-type
    examples.gemm_stream_k(x, "x")  # arg-type
    examples.histogram(ids, 2.5)  # arg-type
    examples.int8_gemm(ids, ids, x, x, "float16")  # arg-type
    examples.rotary(x, x)  # call-arg
    examples.vector_sum(None)  # arg-type
    examples.bias_gelu(x)  # call-arg
    examples.gemm_float32(x, "x")  # arg-type
    examples.softmax_rows(x, x)  # call-arg
    gemm_module.gemm(x)  # call-arg
    gemm_module.gemm_kernel  # attr-defined
