"""Parts of bench/gallery.py that stand in models: attention over pages, experts, weights of 4 bits, and an optimizer."""

import torch
import torch.nn.functional as F
from gallery_ways import Case, chosen, compiled, facts, forward, module


def total_bytes(*tensors):
    return sum(each.nbytes for each in tensors)


def moe_gemm(folder):
    ours = module(folder, "moe_gemm")
    sizes = {"M": 4096, "N": 4096, "K": 2048, "E": 8, "TOP_K": 2}
    # Each expert has about 1024 tokens.
    x, w, *routing = ours.get_inputs(**sizes, BLOCK_M=128)
    x, w, weights = x.bfloat16(), w.bfloat16(), routing[-1]
    expected = (ours.reference_fn(x.float(), w.float(), *routing),)
    # PyTorch's grouped product takes the choices sorted by expert, too, and is given them as our kernel is.
    choices = routing[0].flatten()
    blocks = routing[1].repeat_interleave(routing[0].shape[1])
    used = choices < x.shape[0] * sizes["TOP_K"]
    order, experts = choices[used].long(), blocks[used]
    ends = torch.bincount(experts, minlength=sizes["E"]).cumsum(0).to(torch.int32)

    def eager(x, w):
        products = torch._grouped_mm(x[order // 2], w.mT, offs=ends)
        scaled = (products * weights.flatten()[order][:, None]).to(x.dtype)
        return torch.empty_like(scaled).index_copy_(0, order, scaled).view(x.shape[0], 2, -1)

    ways = {
        "tilescript": lambda: ours.moe_gemm(x, w, *routing),
        "eager": lambda: eager(x, w),
        "compiled": lambda way=compiled(eager): way(x, w),
    }
    flops = 2 * order.numel() * sizes["N"] * sizes["K"]
    yield Case(facts("moe_gemm", x.dtype, **sizes), ways, expected, 1.6e-2, flops=flops)


def int4_gemm(folder):
    ours = module(folder, "int4_gemm")
    # Few rows with weights of 8 and 67 MB, and many rows.
    for m, sizes in ((16, {}), (16, {"GROUPS": 64, "N_WORDS": 2048}), (4096, {})):
        inputs = ours.get_inputs(M=m, **sizes)
        a, packed, scales, zeros, _ = inputs
        n = packed.shape[1]
        expected = (ours.reference_fn(a.float(), *inputs[1:]),)
        ways = forward(ours.int4_gemm, ours.reference_fn, inputs) | chosen(folder, "int4_gemm", *inputs)
        # The weights decide for few rows, the products for many.
        traffic = total_bytes(a, packed, scales, zeros) + 2 * m * n if m == 16 else None
        name = facts("int4_gemm", a.dtype, M=m, N=n, K=a.shape[1])
        yield Case(name, ways, expected, 2e-3, traffic, flops=2 * m * n * a.shape[1])


def paged_attention(folder):
    ours = module(folder, "paged_attention")
    sizes = {"B": 64, "H": 8, "G": 4, "PAGES": 8192, "MAX_PAGES": 128, "HEAD_DIM": 128, "PAGE_SIZE": 16}
    inputs = ours.get_inputs(**sizes)

    def eager(q, k_cache, v_cache, block_tables, seq_lens):
        longest = block_tables.shape[1] * k_cache.shape[1]
        k, v = (
            cache[block_tables.long()].view(len(seq_lens), longest, *cache.shape[2:]).transpose(1, 2)
            for cache in (k_cache, v_cache)
        )
        used = torch.arange(longest, device=q.device) < seq_lens[:, None, None, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=used)

    exact = [each.float() if each.is_floating_point() else each for each in inputs]
    expected = (ours.reference_fn(*exact),)
    q, k_cache, *_, seq_lens = inputs
    traffic = 2 * int(seq_lens.sum()) * k_cache[0, 0].nbytes + 2 * q.nbytes
    ways = forward(ours.paged_attention, eager, inputs)
    yield Case(facts("paged_attention", q.dtype, **sizes), ways, expected, 2e-3, traffic)


def varlen_attention(folder):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    ours = module(folder, "varlen_attention").varlen_attention
    h, dim, dtype = 16, 128, torch.bfloat16
    # 32 sequences of 128 to 1024 tokens.
    lengths = torch.linspace(128, 1024, 32, device="cuda").to(torch.int32)
    offsets = F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    total = int(offsets[-1])
    q, k, v = (torch.randn(total, h, dim, device="cuda", dtype=dtype) for _ in "qkv")
    longest = int(lengths.max())

    def eager(q, k, v, causal):
        each = [torch.nested.nested_tensor_from_jagged(x, offsets, max_seqlen=longest).transpose(1, 2) for x in (q, k, v)]
        return F.scaled_dot_product_attention(*each, is_causal=causal).transpose(1, 2).values()

    sequence = torch.searchsorted(offsets, torch.arange(total, device="cuda"), right=True)
    fused = compiled(flex_attention)

    def own(_batch, _head, i, j):
        return sequence[i] == sequence[j]

    def earlier(batch, head, i, j):
        return own(batch, head, i, j) & (i >= j)

    for causal in (False, True):
        # PyTorch recompiles for another function, but not for other defaults of its parameters.
        mask = create_block_mask(earlier if causal else own, None, None, total, total, _compile=True)
        heads = [x.transpose(0, 1)[None] for x in (q, k, v)]
        ways = {
            "tilescript": lambda causal=causal: ours(q, k, v, offsets, CAUSAL=causal),
            "eager": lambda causal=causal: eager(q, k, v, causal),
            "flex": lambda mask=mask, heads=heads: fused(*heads, block_mask=mask)[0].transpose(0, 1),
        }
        expected = (torch.cat([exact(*part, causal) for part in zip(*(x.split(lengths.tolist()) for x in (q, k, v)))]),)
        flops = 4 * h * dim * int((lengths.double() ** 2).sum()) // (2 if causal else 1)
        name = facts("varlen_attention", dtype, TOTAL=total, H=h, OFFSETS=33, HEAD_DIM=dim, CAUSAL=causal)
        yield Case(name, ways, expected, 1.6e-2, flops=flops)


def exact(q, k, v, causal):
    """Attention of one sequence, in float32."""
    each = [x.transpose(0, 1).float() for x in (q, k, v)]
    return F.scaled_dot_product_attention(*each, is_causal=causal).transpose(0, 1)


def jagged_softmax(folder):
    ours = module(folder, "jagged_softmax")
    sizes = {"TOTAL": 1 << 20, "D": 128, "OFFSETS": 4097}
    values, offsets = ours.get_inputs(**sizes)
    expected = (ours.reference_fn(values.double(), offsets),)
    ways = forward(ours.jagged_softmax, ours.reference_fn, (values, offsets))
    yield Case(facts("jagged_softmax", values.dtype, **sizes), ways, expected, 2e-6, 2 * values.nbytes)


def mamba_chunk_scan(folder):
    ours = module(folder, "mamba_chunk_scan")
    sizes = {"BATCH": 2, "CHUNKS": 8, "CHUNK": 256, "HEADS": 24, "HEAD_DIM": 64, "STATE": 128}
    inputs = ours.get_inputs(**sizes)

    def eager(x, dt, decay, b, c, state, skip):
        by_head = decay.transpose(2, 3)
        passed = (by_head.unsqueeze(-1) - by_head.unsqueeze(-2)).exp().tril() * dt.transpose(2, 3).unsqueeze(-2)
        scores = torch.einsum("zcln,zcsn->zcls", c, b)
        inner = torch.einsum("zchls,zcshd->zclhd", (scores.unsqueeze(2) * passed).to(x.dtype), x)
        carried = torch.einsum("zcln,zchnd->zclhd", c, state) * decay.exp().unsqueeze(-1)
        return (inner + carried + x * skip[:, None]).to(x.dtype)

    expected = (ours.reference_fn(*(each.float() for each in inputs)),)
    ways = forward(ours.mamba_chunk_scan, eager, inputs)
    yield Case(facts("mamba_chunk_scan", inputs[0].dtype, **sizes), ways, expected, 2e-3)


def adamw_stochastic(folder):
    ours = module(folder, "adamw_stochastic")
    n, rate, beta1, beta2, decay, eps = 1 << 26, 1e-3, 0.9, 0.999, 1e-2, 1e-8
    p, grad, mean, square, *_ = ours.get_inputs(N=n)

    def eager(p, grad, mean, square):
        g = grad.float()
        mean.lerp_(g, 1 - beta1)
        square.lerp_(g * g, 1 - beta2)
        exact = p.float() * (1 - rate * decay) - rate * mean / (square.sqrt() + eps)
        # Bits below those of a bfloat16 are added at random and cut off.
        noise = torch.randint(0, 1 << 16, p.shape, device=p.device, dtype=torch.int32)
        p.copy_(((exact.view(torch.int32) + noise) & -65536).view(torch.float32))
        return p, mean, square

    def way(function):
        """Each way changes tensors of its own."""
        state = p.clone(), grad, mean.clone(), square.clone()
        return lambda: function(*state)

    expected = ours.reference_fn(p.float(), grad.float(), mean, square)
    ways = {"tilescript": way(ours.adamw_stochastic), "eager": way(eager), "compiled": way(compiled(eager))}
    traffic = 2 * total_bytes(p, mean, square) + grad.nbytes
    yield Case(facts("adamw_stochastic", p.dtype, N=n), ways, expected, 1.6e-2, traffic)


def bitonic_topk(folder):
    ours = module(folder, "bitonic_topk")
    sizes = {"M": 4096, "N": 4096, "K": 32}
    x = torch.randn(sizes["M"], sizes["N"], device="cuda")
    # Of equal elements the first comes first, as it must not in torch.topk.
    values, indices = ours.reference_fn(x, sizes["K"])
    ways = forward(lambda x: ours.bitonic_topk(x, 32), lambda x: torch.topk(x, 32), (x,))
    traffic = total_bytes(x, values, indices)
    yield Case(facts("bitonic_topk", x.dtype, **sizes), ways, (values, indices.double()), 0, traffic)


def max_pool3d(folder):
    ours = module(folder, "max_pool3d")
    sizes = {"N": 16, "C": 64, "D": 16, "H": 56, "W": 56}
    x = torch.randn(*sizes.values(), device="cuda")
    eager = lambda x: F.max_pool3d(x, 3, 2, 1, return_indices=True)  # noqa: E731
    values, indices = eager(x)
    traffic = total_bytes(x, values, indices)
    ways = forward(ours.max_pool3d, eager, (x,))
    yield Case(facts("max_pool3d", x.dtype, **sizes), ways, (values, indices.double()), 0, traffic)


MODELS = {
    "moe_gemm": moe_gemm,
    "int4_gemm": int4_gemm,
    "paged_attention": paged_attention,
    "varlen_attention": varlen_attention,
    "jagged_softmax": jagged_softmax,
    "mamba_chunk_scan": mamba_chunk_scan,
    "adamw_stochastic": adamw_stochastic,
    "bitonic_topk": bitonic_topk,
    "max_pool3d": max_pool3d,
}
