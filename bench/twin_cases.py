"""What bench/twins.py runs: for each kernel its inputs, both ways to call it, and what PyTorch computes."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton
from tilescript_worker.modules import import_file
from triton.tools.tensor_descriptor import TensorDescriptor

TWINS = Path(__file__).resolve().parent.parent / "tests" / "triton" / "twins"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = triton.knobs.runtime.interpret

# The largest relative error in the Frobenius norm: some units in the last place of the result.
BOUNDS = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@dataclass(frozen=True)
class Case:
    """Both functions take nothing and return a tuple of tensors, as ``expected`` is."""

    facts: dict[str, Any]
    emitted: Callable[[], tuple[torch.Tensor, ...]]
    written: Callable[[], tuple[torch.Tensor, ...]]
    expected: tuple[torch.Tensor, ...]
    bound: float


@dataclass(frozen=True)
class Pair:
    """An emitted function with one config left, and the twin's kernel with that config's options."""

    name: str
    emitted: Callable[..., Any]
    kernel: Any
    options: dict[str, Any]
    constants: dict[str, Any]

    def case(self, sizes, inputs, written, expected, dtype=torch.float16, **facts):
        """``inputs`` are the emitted function's arguments."""
        return Case(
            facts={"kernel": self.name, "dtype": str(dtype), "sizes": list(sizes)} | facts,
            emitted=lambda: as_tuple(self.emitted(*inputs)),
            written=lambda: as_tuple(written()),
            expected=expected,
            bound=BOUNDS[dtype],
        )


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def unsupported(kernel):
    """Why this machine cannot run a kernel, or None."""
    if INTERPRETED and kernel == "asin":
        return "Triton's interpreter has no libdevice"
    if INTERPRETED and kernel == "dependent_add":
        return "Triton's interpreter has no dependent launch"
    return None


def cases(folder, pair, small):
    """The cases of one entry of pairs.json."""
    name = pair["kernel"]
    module = import_file(str(folder / pair["module"]))
    kernel = getattr(module, f"{name}_kernel")
    options = {}
    if hasattr(kernel, "configs"):
        kernel.configs = [kernel.configs[pair["config"]]]
        options = kernel.configs[0].all_kwargs()
    twin = getattr(import_file(str(TWINS / pair["twin"])), f"{name}_kernel")
    found = CASES[name](Pair(name, getattr(module, name), twin, options, pair["constants"]), small)
    # Of a product's cases the first is the aligned one.
    timed = {None: slice(None), "aligned": slice(0, 1), "ragged": slice(1, None)}[pair.get("timed")]
    yield from found if small else itertools.islice(found, timed.start, timed.stop)


def normal(*shape, dtype=torch.float16):
    return torch.randn(shape, device=DEVICE, dtype=torch.float32).to(dtype)


# ---- elementwise ----------------------------------------------------------------------------------------------------


def vector_add(pair, small):
    n = 2000 if small else 1 << 26
    x, y = normal(n, dtype=torch.float32), normal(n, dtype=torch.float32)

    def written():
        z = torch.empty_like(x)
        pair.kernel[(triton.cdiv(n, 1024),)](x, y, z, n, BLOCK=1024)
        return z

    yield pair.case((n,), (x, y), written, (x.double() + y.double(),), torch.float32)


def dropout(pair, small):
    n, p, seed = 2000 if small else 1 << 26, 0.25, 123
    x = normal(n)

    def written():
        y = torch.empty_like(x)
        pair.kernel[(triton.cdiv(n, 1024),)](x, y, p, seed, n, BLOCK=1024)
        return y

    reference = import_file(pair.emitted.__code__.co_filename).reference_fn
    yield pair.case((n,), (x, p, seed), written, (reference(x.double(), p, seed),))


def asin(pair, small):
    n = 2000 if small else 1 << 26
    x = torch.rand(n, device=DEVICE) * 2 - 1

    def written():
        y = torch.empty_like(x)
        pair.kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y

    yield pair.case((n,), (x,), written, (torch.asin(x.double()),), torch.float32)


def dependent_add(pair, small):
    n = 2000 if small else 1 << 26
    x, y = normal(n, dtype=torch.float32), normal(n, dtype=torch.float32)

    def written():
        z = torch.empty_like(x)
        pair.kernel[(triton.cdiv(n, 1024),)](x, y, z, n, BLOCK=1024, launch_pdl=True)
        return z

    yield pair.case((n,), (x, y), written, (x.double() + y.double(),), torch.float32)


# ---- rows -----------------------------------------------------------------------------------------------------------


def softmax(pair, small):
    for m, n in [(5, 70)] if small else [(4096, 4096), (4096, 4000)]:
        x = normal(m, n, dtype=torch.float32)

        def written(x=x, m=m, n=n):
            y = torch.empty_like(x)
            block = triton.next_power_of_2(n)
            pair.kernel[(m,)](x, y, n, x.stride(0), y.stride(0), BLOCK_N=block, **pair.options)
            return y

        yield pair.case((m, n), (x,), written, (torch.softmax(x.double(), -1),), torch.float32)


def softmax_rows(pair, small):
    count = 3 if INTERPRETED else torch.cuda.get_device_properties(0).multi_processor_count
    for m, n in [(9, 70)] if small else [(4096, 1024), (4096, 1000)]:
        x = normal(m, n, dtype=torch.float32)

        def written(x=x, m=m, n=n):
            y = torch.empty_like(x)
            block = triton.next_power_of_2(n)
            programs = min(triton.cdiv(m, pair.options["ROWS"]), count * pair.options["RESIDENT"])
            pair.kernel[(programs,)](x, y, m, n, x.stride(0), y.stride(0), BLOCK_N=block, **pair.options)
            return y

        yield pair.case((m, n), (x,), written, (torch.softmax(x.double(), -1),), torch.float32)


def rows_of(small):
    """The sizes and the inputs of layer normalization, with the mean and the reciprocal deviation of each row."""
    for m, n in [(5, 70)] if small else [(4096, 8192), (4096, 8000)]:
        x, weight, bias = normal(m, n), normal(n), normal(n)
        mean = x.double().mean(-1, keepdim=True)
        rstd = (x.double().var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
        yield m, n, x, weight, bias, mean, rstd


def layer_norm_forward(pair, small):
    for m, n, x, weight, bias, mean, rstd in rows_of(small):

        def written(x=x, weight=weight, bias=bias, m=m, n=n):
            y = torch.empty_like(x)
            stats = [torch.empty(m, device=DEVICE) for _ in range(2)]
            block = triton.next_power_of_2(n)
            args = (x, weight, bias, y, *stats, 1e-5, n, x.stride(0), y.stride(0))
            pair.kernel[(m,)](*args, BLOCK_N=block, **pair.options)
            return y, *stats

        expected = (x.double() - mean) * rstd * weight.double() + bias.double(), mean[:, 0], rstd[:, 0]
        yield pair.case((m, n), (x, weight, bias), written, expected)


def layer_norm_gradients(pair, small):
    groups = 4 if small else 256
    for m, n, x, weight, _, mean, rstd in rows_of(small):
        dy = normal(m, n)
        stats = mean[:, 0].float(), rstd[:, 0].float()

        def written(dy=dy, x=x, weight=weight, stats=stats, m=m, n=n):
            dx = torch.empty_like(x)
            dw, db = (torch.empty((groups, n), device=DEVICE) for _ in range(2))
            strides = (each.stride(0) for each in (dy, x, dx, dw, db))
            args = (dy, x, weight, *stats, dx, dw, db, m, n, groups, *strides)
            pair.kernel[(groups,)](*args, BLOCK_N=triton.next_power_of_2(n), **pair.options)
            return dx, dw, db

        normalized = (x.double() - mean) * rstd
        weighted = dy.double() * weight.double()
        along_x = (weighted * normalized).mean(-1, keepdim=True)
        dx = (weighted - normalized * along_x - weighted.mean(-1, keepdim=True)) * rstd
        group = torch.arange(m, device=DEVICE) % groups
        sums = [torch.zeros((groups, n), device=DEVICE, dtype=torch.float64) for _ in range(2)]
        dw = sums[0].index_add(0, group, dy.double() * normalized)
        db = sums[1].index_add(0, group, dy.double())
        yield pair.case((m, n), (dy, x, weight, *stats, groups), written, (dx, dw, db))


def column_sums(pair, small):
    for r, n in [(40, 70)] if small else [(256, 8192), (256, 8000)]:
        a, b = normal(r, n, dtype=torch.float32), normal(r, n, dtype=torch.float32)

        def written(a=a, b=b, r=r, n=n):
            sums = [torch.empty(n, device=DEVICE, dtype=torch.float16) for _ in range(2)]
            grid = (triton.cdiv(n, 64),)
            out = {"OUT": triton.language.float16, "BLOCK_R": 32, "BLOCK_N": 64}
            pair.kernel[grid](a, b, *sums, r, n, a.stride(0), b.stride(0), **out)
            return tuple(sums)

        yield pair.case((r, n), (a, b, torch.float16), written, (a.double().sum(0), b.double().sum(0)))


# ---- products -------------------------------------------------------------------------------------------------------


def products(small, ragged):
    """Sizes and factors of matrix products."""
    for m, n, k in [(40, 48, 56)] if small else [(4096, 4096, 4096), ragged]:
        a, b = normal(m, k), normal(k, n)
        yield m, n, k, a, b, a.double() @ b.double()


def gemm(pair, small, programs=None):
    def grid(options, m, n):
        tiles = triton.cdiv(m, options["BLOCK_M"]) * triton.cdiv(n, options["BLOCK_N"])
        return (min(tiles, programs) if programs else tiles,)

    more = {"PROGRAMS": programs} if programs else {}
    for m, n, k, a, b, expected in products(small, (4095, 4097, 4099)):

        def written(a=a, b=b, m=m, n=n, k=k):
            c = torch.empty((m, n), device=DEVICE, dtype=a.dtype)
            strides = (*a.stride(), *b.stride(), *c.stride())
            pair.kernel[grid(pair.options, m, n)](a, b, c, m, k, n, *strides, **more, **pair.options)
            return c

        yield pair.case((m, n, k), (a, b, *more.values()), written, (expected,))


def gemm_persistent(pair, small):
    count = 3 if INTERPRETED else torch.cuda.get_device_properties(0).multi_processor_count
    yield from gemm(pair, small, programs=count)


def gemm_tma(pair, small):
    yield from described_products(pair, small, pair.options["BLOCK_N"], lambda tiles: tiles)


def gemm_persistent_tma(pair, small):
    count = 3 if INTERPRETED else torch.cuda.get_device_properties(0).multi_processor_count
    yield from described_products(pair, small, pair.options["HALF_N"], lambda tiles: min(count, tiles))


def described_products(pair, small, stored, programs):
    """``stored`` columns of a block are stored at once; ``programs`` says how many compute so many blocks."""
    rows, columns, depth = (pair.options[f"BLOCK_{axis}"] for axis in "MNK")
    for m, n, k, a, b, expected in products(small, (4000, 4104, 4104)):

        def written(a=a, b=b, m=m, n=n, k=k):
            c = torch.empty((m, n), device=DEVICE, dtype=a.dtype)
            blocks = ((a, [rows, depth]), (b, [depth, columns]), (c, [rows, stored]))
            described = [TensorDescriptor.from_tensor(each, block) for each, block in blocks]
            grid = (programs(triton.cdiv(m, rows) * triton.cdiv(n, columns)),)
            pair.kernel[grid](*described, m, k, n, **pair.options)
            return c

        yield pair.case((m, n, k), (a, b), written, (expected,))


def grouped_gemm(pair, small):
    rows, columns, depth = (pair.options[f"BLOCK_{axis}"] for axis in "MNK")
    total, groups, k, n = (40, 3, 48, 56) if small else (8192, 16, 4096, 4096)
    a, b = normal(total, k), normal(groups, k, n)
    cuts, _ = torch.randint(0, total, (groups - 1,), device=DEVICE).sort()
    ends = [0, *cuts.tolist(), total]
    last = torch.tensor(ends[1:], device=DEVICE, dtype=torch.int32)

    def written():
        c = torch.empty((total, n), device=DEVICE, dtype=a.dtype)
        blocks = ((a, [rows, depth]), (b, [1, depth, columns]))
        described = [TensorDescriptor.from_tensor(each, block) for each, block in blocks]
        grid = ((triton.cdiv(total, rows) + groups) * triton.cdiv(n, columns),)
        pair.kernel[grid](*described, last, c, k, groups, n, *c.stride(), **pair.options)
        return c

    parts = [a[ends[g] : ends[g + 1]].double() @ b[g].double() for g in range(groups)]
    yield pair.case((total, groups, k, n), (a, b, last, count), written, (torch.cat(parts),))


def gemm_block_scaled(pair, small):
    m, n, groups = (40, 48, 4) if small else (4096, 4096, 128)
    k = groups * 32
    a, b = (normal(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    scales = [torch.randint(124, 131, (rows, groups), device=DEVICE, dtype=torch.uint8) for rows in (m, n)]
    inputs = (a, scales[0], b, scales[1])

    def written():
        c = torch.empty((m, n), device=DEVICE, dtype=torch.float16)
        grid = (triton.cdiv(m, pair.options["BLOCK_M"]), triton.cdiv(n, pair.options["BLOCK_N"]))
        strides = (stride for each in (*inputs, c) for stride in each.stride())
        pair.kernel[grid](*inputs, c, m, k, groups, n, *strides, **pair.options)
        return c

    x, y = (
        each.double() * torch.exp2(scale.double() - 127).repeat_interleave(32, 1)
        for each, scale in zip((a, b), scales, strict=True)
    )
    yield pair.case((m, n, k), inputs, written, (x @ y.T,))


# ---- attention ------------------------------------------------------------------------------------------------------


def attention_by_head(q, k, v, d_out, causal):
    """The result, the base-2 logarithms of the rows' sums and the gradients in float64, one head after another."""
    results = []
    for head in range(q.shape[0]):
        qh, kh, vh = (each[head].double().requires_grad_() for each in (q, k, v))
        scores = qh @ kh.T * q.shape[-1] ** -0.5
        if causal:
            scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), float("-inf"))
        out = torch.softmax(scores, -1) @ vh
        gradients = torch.autograd.grad(out, (qh, kh, vh), d_out[head].double())
        lse = torch.logsumexp(scores.detach(), -1) / math.log(2)
        results.append((out.detach(), lse, *gradients))
    return tuple(torch.stack(each) for each in zip(*results, strict=True))


def attention_inputs(pair, small):
    dim, causal = pair.constants["HEAD_DIM"], pair.constants.get("CAUSAL", False)
    for heads, rows in [(2, 200)] if small else [(64, 4096), (64, 4000)]:
        q, k, v, d_out = (normal(heads, rows, dim) for _ in range(4))
        yield heads, rows, dim, causal, (q, k, v, d_out), attention_by_head(q, k, v, d_out, causal)


def attention_forward(pair, small):
    for heads, rows, dim, causal, (q, k, v, _), (out, lse, *_) in attention_inputs(pair, small):

        def written(q=q, k=k, v=v, heads=heads, rows=rows, dim=dim, causal=causal):
            o, sums = torch.empty_like(q), torch.empty((heads, rows), device=DEVICE)
            grid = (triton.cdiv(rows, pair.options["BLOCK_M"]), heads)
            pair.kernel[grid](q, k, v, o, sums, rows, HEAD_DIM=dim, CAUSAL=causal, **pair.options)
            return o, sums

        yield pair.case((heads, rows, dim), (q, k, v, causal), written, (out, lse), causal=causal)


def attention_delta(pair, small):
    for heads, rows, dim, _, (*_, d_out), (out, *_) in attention_inputs(pair, small):
        o = out.half()

        def written(o=o, d_out=d_out, heads=heads, rows=rows, dim=dim):
            delta = torch.empty((heads, rows), device=DEVICE)
            pair.kernel[(triton.cdiv(rows, 32), heads)](o, d_out, delta, rows, HEAD_DIM=dim, BLOCK_M=32)
            return delta

        yield pair.case((heads, rows, dim), (o, d_out), written, ((o.double() * d_out.double()).sum(-1),))


def backward_inputs(pair, small):
    """What both kernels of the backward pass take, and a function that describes blocks of rows of a head."""
    for heads, rows, dim, causal, (q, k, v, d_out), (out, lse, *gradients) in attention_inputs(pair, small):
        sums, delta = lse.float(), (out * d_out.double()).sum(-1).float()
        block = [1, pair.options["STEP"], dim]
        described = partial(TensorDescriptor.from_tensor, block_shape=block)
        grid = (triton.cdiv(rows, pair.options["BLOCK"]), heads)
        launch = partial(pair.kernel[grid], HEAD_DIM=dim, CAUSAL=causal, **pair.options)
        yield heads, rows, dim, causal, (q, k, v, d_out, sums, delta), described, launch, gradients


def attention_key_gradients(pair, small):
    for heads, rows, dim, causal, inputs, described, launch, (_, *gradients) in backward_inputs(pair, small):

        def written(inputs=inputs, described=described, launch=launch, rows=rows):
            q, k, v, d_out, *row_sums = inputs
            results = torch.empty_like(k), torch.empty_like(v)
            launch(described(q), k, v, described(d_out), *row_sums, *results, rows)
            return results

        yield pair.case((heads, rows, dim), (*inputs, causal), written, tuple(gradients), causal=causal)


def attention_query_gradients(pair, small):
    for heads, rows, dim, causal, inputs, described, launch, (gradient, *_) in backward_inputs(pair, small):

        def written(inputs=inputs, described=described, launch=launch, rows=rows):
            q, k, v, *others = inputs
            result = torch.empty_like(q)
            launch(q, described(k), described(v), *others, result, rows)
            return result

        yield pair.case((heads, rows, dim), (*inputs, causal), written, (gradient,), causal=causal)


CASES = {
    each.__name__: each
    for each in (
        vector_add,
        dropout,
        asin,
        dependent_add,
        softmax,
        softmax_rows,
        layer_norm_forward,
        layer_norm_gradients,
        column_sums,
        gemm,
        gemm_persistent,
        gemm_tma,
        gemm_persistent_tma,
        grouped_gemm,
        gemm_block_scaled,
        attention_forward,
        attention_delta,
        attention_key_gradients,
        attention_query_gradients,
    )
}
