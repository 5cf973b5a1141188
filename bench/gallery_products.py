"""Parts of bench/gallery.py: products of matrices."""

from functools import partial

import torch
import torch.nn.functional as F
from gallery_rivals import ways as rivals
from gallery_ways import Case, chosen, compiled, facts, forward, module, normal


def quantized_gemm(folder):
    fp8, int8 = module(folder, "fp8_gemm").fp8_gemm, module(folder, "int8_gemm").int8_gemm
    size = 8192
    sizes = {"M": size, "N": size, "K": size}
    scales = torch.rand(size, device="cuda") + 0.5, torch.rand(size, device="cuda") + 0.5
    columns = scales[0][:, None], scales[1][None]
    out = torch.bfloat16
    a, b = (normal(size, size, dtype=out).to(torch.float8_e4m3fn) for _ in "ab")
    ways = {
        "tilescript": lambda a=a, b=b: fp8(a, b, *scales, out),
        "fast": lambda a=a, b=b: fp8(a, b, *scales, out, FAST_ACCUM=True),
        "eager": lambda a=a, b=b: torch._scaled_mm(a, b.T, scale_a=columns[0], scale_b=columns[1], out_dtype=out),
    }
    ways |= chosen(folder, "fp8_gemm", a, b, *scales, out)
    expected = ((a.float() @ b.float().T) * columns[0] * columns[1],)
    yield Case(facts("fp8_gemm", a.dtype, **sizes), ways, expected, 1.6e-2, flops=2 * size**3)
    a, b = (torch.randint(-127, 128, (size, size), device="cuda", dtype=torch.int8) for _ in "ab")
    eager = lambda a, b: (torch._int_mm(a, b.T) * columns[0] * columns[1]).to(out)  # noqa: E731
    ways = forward(lambda a, b: int8(a, b, *scales, out), eager, (a, b), autotuned=True)
    expected = (torch._int_mm(a, b.T).double() * columns[0] * columns[1],)
    yield Case(facts("int8_gemm", a.dtype, **sizes), ways, expected, 1.6e-2, flops=2 * size**3)


def gemm_split_k(folder):
    ours = module(folder, "gemm_split_k").gemm_split_k
    m, n, k, dtype = 256, 256, 65536, torch.float16
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    ways = {"tilescript": lambda: ours(a, b), "eager": lambda: a @ b}
    expected = (a.float() @ b.float(),)
    yield Case(facts("gemm_split_k", dtype, M=m, N=n, K=k), ways, expected, 2e-3, flops=2 * m * n * k)


def gemm_stream_k(folder):
    ours, tiled = module(folder, "gemm_stream_k").gemm_stream_k, module(folder, "gemm").gemm
    m, n, k, dtype = 1536, 1536, 8192, torch.float16
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    ways = {"tilescript": lambda: ours(a, b), "tiled": lambda: tiled(a, b), "eager": lambda: a @ b}
    expected = (a.float() @ b.float(),)
    yield Case(facts("gemm_stream_k", dtype, M=m, N=n, K=k), ways, expected, 2e-3, flops=2 * m * n * k)


def gemm(folder):
    tiled, persistent = module(folder, "gemm").gemm, module(folder, "gemm_persistent_tma").gemm_persistent_tma
    for size in (4096, 8192):
        a, b = normal(size, size, dtype=torch.float16), normal(size, size, dtype=torch.float16)
        ways = {
            "tilescript": lambda a=a, b=b: persistent(a, b),
            "tiled": lambda a=a, b=b: tiled(a, b),
            "eager": lambda a=a, b=b: a @ b,
            "max-autotune": lambda a=a, b=b, way=compiled(torch.matmul, autotuned=True): way(a, b),
        }
        ways |= chosen(folder, "gemm", a, b) | rivals("gemm", (a, b))
        expected = ((a.float() @ b.float()),)
        yield Case(facts("gemm", a.dtype, M=size, N=size, K=size), ways, expected, 2e-3, flops=2 * size**3)


def linear_gelu(folder):
    ours = module(folder, "linear_gelu").linear_gelu
    eager = lambda x, w, b: F.gelu(F.linear(x, w, b))  # noqa: E731
    size, dtype = 4096, torch.bfloat16
    x, w, b = normal(size, size, dtype=dtype), normal(size, size, dtype=dtype) / 64, normal(size, dtype=dtype)
    ways = forward(ours, eager, (x, w, b), autotuned=True) | chosen(folder, "linear_gelu", x, w, b)
    expected = (eager(x.float(), w.float(), b.float()),)
    yield Case(facts("linear_gelu", dtype, M=size, N=size, K=size), ways, expected, 1.6e-2, flops=2 * size**3)


def gemm_tma(folder):
    yield from whole_products(folder, "gemm_tma", module(folder, "gemm_tma").gemm_tma)


def gemm_persistent(folder):
    yield from whole_products(folder, "gemm_persistent", module(folder, "gemm_persistent").gemm_persistent)


def whole_products(folder, name, ours):
    size = 8192
    a, b = normal(size, size, dtype=torch.float16), normal(size, size, dtype=torch.float16)
    ways = {"tilescript": lambda: ours(a, b), "eager": lambda: a @ b} | chosen(folder, name, a, b)
    expected = (a.float() @ b.float(),)
    yield Case(facts(name, a.dtype, M=size, N=size, K=size), ways, expected, 2e-3, flops=2 * size**3)


def gemm_float32(folder):
    ours = module(folder, "gemm_float32").gemm_float32
    size = 4096
    a, b = normal(size, size, dtype=torch.float32), normal(size, size, dtype=torch.float32)
    sizes, expected = {"M": size, "N": size, "K": size}, (a.double() @ b.double().T,)
    allowed = torch.backends.cuda.matmul.allow_tf32
    try:
        for exact, bound in ((False, 2e-3), (True, 2e-6)):
            torch.backends.cuda.matmul.allow_tf32 = not exact
            ways = {"tilescript": lambda exact=exact: ours(a, b, EXACT=exact), "eager": lambda: a @ b.T}
            name = facts("gemm_float32", a.dtype, **sizes, EXACT=exact)
            yield Case(name, ways, expected, bound, flops=2 * size**3)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


def gemm_block_scaled(folder):
    ours = module(folder, "gemm_block_scaled")
    sizes = {"M": 8192, "N": 8192, "GROUPS": 256}
    inputs = ours.get_inputs(**sizes)

    def widened(x, scale):
        """Hopper has no products of scaled 8-bit floats: PyTorch widens them first, as Triton does."""
        return x.half() * torch.exp2(scale.float() - 127).half().repeat_interleave(32, 1)

    eager = lambda a, a_scale, b, b_scale: widened(a, a_scale) @ widened(b, b_scale).T  # noqa: E731
    expected = (ours.reference_fn(*inputs),)
    flops = 2 * sizes["M"] * sizes["N"] * 32 * sizes["GROUPS"]
    ways = forward(ours.gemm_block_scaled, eager, inputs)
    yield Case(facts("gemm_block_scaled", inputs[0].dtype, **sizes), ways, expected, 2e-3, flops=flops)


def grouped_gemm(folder):
    ours = module(folder, "grouped_gemm")
    total, k, n = 8192, 4096, 4096
    for lengths, groups in (("ragged", 16), ("equal", 16), ("equal", 1)):
        a, b, ends = ours.get_inputs(TOTAL=total, GROUPS=groups, K=k, N=n)
        a, b = a.bfloat16(), b.bfloat16()
        if lengths == "equal":
            ends = torch.arange(1, groups + 1, device=a.device, dtype=torch.int32) * (total // groups)
        starts = [0, *ends.tolist()]
        products = [a[x:y].float() @ b[i].float() for i, (x, y) in enumerate(zip(starts, starts[1:], strict=False))]
        ways = {
            "tilescript": partial(ours.grouped_gemm, a, b, ends),
            "eager": partial(torch._grouped_mm, a, b, offs=ends),
        }
        sizes = {"TOTAL": total, "GROUPS": groups, "K": k, "N": n, "LENGTHS": lengths}
        flops = 2 * total * k * n
        yield Case(facts("grouped_gemm", a.dtype, **sizes), ways, (torch.cat(products),), 1.6e-2, flops=flops)


PRODUCTS = {
    "gemm": gemm,
    "gemm_tma": gemm_tma,
    "gemm_persistent": gemm_persistent,
    "gemm_float32": gemm_float32,
    "gemm_block_scaled": gemm_block_scaled,
    "gemm_split_k": gemm_split_k,
    "gemm_stream_k": gemm_stream_k,
    "grouped_gemm": grouped_gemm,
    "quantized_gemm": quantized_gemm,
    "linear_gelu": linear_gelu,
}
