"""The parts of bench/gallery.py: for each its inputs, all ways to the result, and what is expected."""

import torch
import torch.nn.functional as F
from gallery_models import MODELS
from gallery_products import PRODUCTS
from gallery_rivals import causal_mask, flex_backends
from gallery_rivals import ways as rivals
from gallery_ways import Case, chosen, compiled, exact_gradients, facts, forward, gradients, module, normal


def vector_add(folder):
    yield from sums("vector_add", module(folder, "vector_add").vector_add)


def dependent_add(folder):
    yield from sums("dependent_add", module(folder, "dependent_add").dependent_add)


def sums(name, ours):
    n = 1 << 26
    x, y = normal(n, dtype=torch.float32), normal(n, dtype=torch.float32)
    expected = (x.double() + y.double(),)
    yield Case(facts(name, x.dtype, N=n), forward(ours, torch.add, (x, y)), expected, 1e-6, 3 * x.nbytes)


def asin(folder):
    ours = module(folder, "asin").asin
    n = 1 << 26
    x = torch.rand(n, device="cuda") * 2 - 1
    expected = (torch.asin(x.double()),)
    yield Case(facts("asin", x.dtype, N=n), forward(ours, torch.asin, (x,)), expected, 1e-6, 2 * x.nbytes)


def dropout(folder):
    ours = module(folder, "dropout")
    n, dtype, p = 1 << 26, torch.bfloat16, 0.1
    x = normal(n, dtype=dtype)
    ways = forward(lambda x: ours.dropout(x, p, 7), lambda x: F.dropout(x, p), (x,))
    # PyTorch draws other elements, so its ways have no error to show.
    expected = (ours.reference_fn(x.float(), p, 7),)
    yield Case(facts("dropout", dtype, N=n), ways, expected, 1.6e-2, 2 * x.nbytes)


def bias_gelu(folder):
    ours = module(folder, "bias_gelu").bias_gelu
    eager = lambda x, b: F.gelu(x + b)  # noqa: E731
    dtype, sizes = torch.bfloat16, {"M": 8192, "N": 11008}
    inputs = normal(8192, 11008, dtype=dtype), normal(11008, dtype=dtype)
    expected = (eager(*(each.float() for each in inputs)),)
    traffic = 2 * inputs[0].nbytes
    yield Case(facts("bias_gelu", dtype, **sizes), forward(ours, eager, inputs), expected, 1.6e-2, traffic)
    ways, upstream = gradients(ours, eager, inputs, (0, 1), whole=False)
    expected = exact_gradients(eager, inputs, (0, 1), upstream)
    traffic = 3 * inputs[0].nbytes
    yield Case(facts("bias_gelu backward", dtype, **sizes), ways, expected, 1.6e-2, traffic)


def softmax_rows(folder):
    ours = module(folder, "softmax_rows").softmax_rows
    eager = lambda x: torch.softmax(x, -1)  # noqa: E731
    m, n = 4096, 1024
    x = normal(m, n, dtype=torch.float32)
    expected = (torch.softmax(x.double(), -1),)
    yield Case(facts("softmax_rows", x.dtype, M=m, N=n), forward(ours, eager, (x,)), expected, 2e-6, 2 * x.nbytes)


def softmax(folder):
    short, long = module(folder, "softmax").softmax, module(folder, "softmax_long").softmax_long
    eager = lambda x: torch.softmax(x, -1)  # noqa: E731
    for m, n in ((4096, 1024), (4096, 12672), (4096, 65536)):
        x = normal(m, n, dtype=torch.float32)
        expected = (torch.softmax(x.double(), -1),)
        ours = long if n > 32768 else short
        ways = forward(ours, eager, (x,)) | rivals("softmax", (x,))
        yield Case(facts("softmax", x.dtype, M=m, N=n), ways, expected, 2e-6, 2 * x.nbytes)


def layer_norm(folder):
    ours = module(folder, "layer_norm").layer_norm
    eager = lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b)  # noqa: E731
    dtype = torch.float16
    m, n = 4096, 15872
    x, w, b = normal(m, n, dtype=dtype), normal(n, dtype=dtype), normal(n, dtype=dtype)
    expected = (eager(x.double(), w.double(), b.double()),)
    ways = forward(ours, eager, (x, w, b)) | rivals("layer_norm", (x, w, b))
    yield Case(facts("layer_norm", dtype, M=m, N=n), ways, expected, 2e-3, 2 * x.nbytes)
    m, n = 4096, 8192
    inputs = normal(m, n, dtype=dtype), normal(n, dtype=dtype), normal(n, dtype=dtype)
    ways, upstream = gradients(ours, eager, inputs, (0, 1, 2), whole=False)
    expected = exact_gradients(eager, inputs, (0, 1, 2), upstream)
    traffic = 3 * inputs[0].nbytes
    yield Case(facts("layer_norm backward", dtype, M=m, N=n), ways, expected, 2e-3, traffic)


def rms_norm(folder):
    ours = module(folder, "rms_norm").rms_norm
    eager = lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6)  # noqa: E731
    dtype = torch.bfloat16
    inputs = normal(8192, 8192, dtype=dtype), normal(8192, dtype=dtype)
    expected = (eager(*(each.double() for each in inputs)),)
    traffic = 2 * inputs[0].nbytes
    ways = forward(ours, eager, inputs) | rivals("rms_norm", inputs)
    yield Case(facts("rms_norm", dtype, M=8192, N=8192), ways, expected, 1.6e-2, traffic)
    ways, upstream = gradients(ours, eager, inputs, (0, 1), whole=False)
    expected = exact_gradients(eager, inputs, (0, 1), upstream)
    traffic = 3 * inputs[0].nbytes
    yield Case(facts("rms_norm backward", dtype, M=8192, N=8192), ways, expected, 1.6e-2, traffic)


def add_rms_norm(folder):
    ours = module(folder, "add_rms_norm").add_rms_norm

    def eager(x, residual, w):
        total = x + residual
        return F.rms_norm(total, total.shape[-1:], w, 1e-6), total

    dtype = torch.bfloat16
    inputs = normal(8192, 8192, dtype=dtype), normal(8192, 8192, dtype=dtype), normal(8192, dtype=dtype)
    ways, upstream = gradients(ours, eager, inputs, (0, 1, 2), whole=True)
    # The sum is rounded before it is normalized: in float32 it would not be.
    rounded = ((inputs[0] + inputs[1]), torch.zeros_like(inputs[1]), inputs[2])
    expected = exact_gradients(eager, rounded, (0, 1, 2), upstream)
    traffic = 8 * inputs[0].nbytes
    name = "add_rms_norm forward and backward"
    yield Case(facts(name, dtype, M=8192, N=8192), ways, expected, 1.6e-2, traffic)


def add_layer_norm(folder):
    ours = module(folder, "add_layer_norm").add_layer_norm

    def eager(x, residual, w, b):
        total = x + residual
        return F.layer_norm(total, total.shape[-1:], w, b), total

    dtype = torch.bfloat16
    x, residual = normal(8192, 8192, dtype=dtype), normal(8192, 8192, dtype=dtype)
    w, b = normal(8192, dtype=dtype), normal(8192, dtype=dtype)
    ways, upstream = gradients(ours, eager, (x, residual, w, b), (0, 1, 2, 3), whole=True)
    # The sum is rounded before it is normalized: in float32 it would not be.
    rounded = (x + residual, torch.zeros_like(residual), w, b)
    expected = exact_gradients(eager, rounded, (0, 1, 2, 3), upstream)
    name = "add_layer_norm forward and backward"
    yield Case(facts(name, dtype, M=8192, N=8192), ways, expected, 1.6e-2, 8 * x.nbytes)


def rotary(folder):
    ours = module(folder, "rotary").rotary

    def eager(x, cos, sin):
        left, right = x.chunk(2, -1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat([left * c - right * s, right * c + left * s], -1).to(x.dtype)

    s, h, half, dtype = 16384, 32, 64, torch.bfloat16
    angles = torch.rand(s, half, device="cuda") * 6.28
    inputs = normal(s, h, 2 * half, dtype=dtype), angles.cos(), angles.sin()
    sizes, traffic = {"S": s, "H": h, "HALF": half}, 2 * inputs[0].nbytes
    expected = (eager(inputs[0].double(), *inputs[1:]),)
    ways = forward(ours, eager, inputs) | rivals("rotary", inputs)
    yield Case(facts("rotary", dtype, **sizes), ways, expected, 1.6e-2, traffic)
    ways, upstream = gradients(ours, eager, inputs, (0,), whole=False)
    expected = exact_gradients(eager, inputs, (0,), upstream)
    yield Case(facts("rotary backward", dtype, **sizes), ways, expected, 1.6e-2, traffic)


def gelu_dropout(folder):
    ours = module(folder, "gelu_dropout")
    n, dtype, p = 1 << 26, torch.bfloat16, 0.1
    x = normal(n, dtype=dtype)
    ways = forward(lambda x: ours.gelu_dropout(x, p, 7), lambda x: F.dropout(F.gelu(x), p), (x,))
    # PyTorch draws other elements, so its ways have no error to show.
    expected = (ours.reference_fn(x.float(), p, 7),)
    yield Case(facts("gelu_dropout", dtype, N=n), ways, expected, 1.6e-2, 2 * x.nbytes)


def vector_sum(folder):
    ours = module(folder, "vector_sum").vector_sum
    n, dtype = 1 << 28, torch.bfloat16
    x = normal(n, dtype=dtype) + 1
    eager = lambda x: x.sum(0, keepdim=True, dtype=torch.float32)  # noqa: E731
    yield Case(facts("vector_sum", dtype, N=n), forward(ours, eager, (x,)), (eager(x.double()),), 1e-5, x.nbytes)


def histogram(folder):
    ours = module(folder, "histogram").histogram
    n, bins = 1 << 28, 256
    x = torch.randint(bins, (n,), device="cuda", dtype=torch.int32)
    eager = lambda x: torch.bincount(x, minlength=bins).to(torch.int32)  # noqa: E731
    ways = {"tilescript": lambda: ours(x, bins), "eager": lambda: eager(x)}
    yield Case(facts("histogram", x.dtype, N=n, BINS=bins), ways, (eager(x).double(),), 0, x.nbytes)


def silu_mul(folder):
    ours = module(folder, "silu_mul").silu_mul
    eager = lambda gate, up: F.silu(gate) * up  # noqa: E731
    dtype = torch.bfloat16
    inputs = normal(8192, 11008, dtype=dtype), normal(8192, 11008, dtype=dtype)
    sizes = {"M": 8192, "N": 11008}
    expected = (eager(*(each.float() for each in inputs)),)
    traffic = 3 * inputs[0].nbytes
    ways = forward(ours, eager, inputs) | rivals("silu_mul", inputs)
    yield Case(facts("silu_mul", dtype, **sizes), ways, expected, 1.6e-2, traffic)
    ways, upstream = gradients(ours, eager, inputs, (0, 1), whole=False)
    expected = exact_gradients(eager, inputs, (0, 1), upstream)
    traffic = 5 * inputs[0].nbytes
    yield Case(facts("silu_mul backward", dtype, **sizes), ways, expected, 1.6e-2, traffic)


def cross_entropy(folder):
    ours = module(folder, "cross_entropy").cross_entropy
    both = module(folder, "cross_entropy_with_gradient").cross_entropy_with_gradient
    eager = lambda x, y: F.cross_entropy(x.float(), y, reduction="none")  # noqa: E731
    m, n = 4096, 128256
    logits, labels = normal(m, n, dtype=torch.bfloat16), torch.randint(n, (m,), device="cuda")
    sizes = {"M": m, "N": n}
    expected = (eager(logits, labels),)
    ways = forward(ours, eager, (logits, labels)) | rivals("cross_entropy", (logits, labels))
    yield Case(facts("cross_entropy", logits.dtype, **sizes), ways, expected, 2e-6, logits.nbytes)

    def step(function):
        """The mean loss, and the gradient of it, as a training step asks for them."""
        leaf = logits.detach().requires_grad_()

        def way():
            loss = function(leaf, labels).mean()
            return loss, *torch.autograd.grad(loss, leaf)

        return way

    def fused():
        loss, gradient = both(logits, labels, 1 / m)
        return loss.sum(), gradient

    ways = {"tilescript": fused, "operator": step(ours), "eager": step(eager), "compiled": step(compiled(eager))}
    ways |= rivals("cross_entropy step", (logits, labels))
    # In place, and by rows: a float64 copy of the logits has 4 GB.
    gradient = torch.softmax(logits.float(), -1)
    gradient[torch.arange(m, device="cuda"), labels] -= 1
    expected = (eager(logits, labels).mean(), gradient.div_(m))
    name = "cross_entropy forward and backward"
    yield Case(facts(name, logits.dtype, **sizes), ways, expected, 1.6e-2, 2 * logits.nbytes)


def attention(folder):
    yield from attentions(folder, "attention", module(folder, "attention_with_gradients").attention_with_gradients)


def flash_attention(folder):
    ours = module(folder, "attention").attention
    yield from attentions(folder, "flash_attention", lambda q, k, v, causal: ours(q, k, v, CAUSAL=causal))


def attentions(folder, name, ours):
    h, s = 128, 4096
    for dim in (64, 128):
        for causal in (False, True):
            inputs = tuple(normal(h, s, dim, dtype=torch.float16) for _ in "qkv")
            eager = lambda q, k, v, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
            batched = tuple(each.view(4, 32, s, dim) for each in inputs)
            ways = {
                "tilescript": lambda inputs=inputs, causal=causal: ours(*inputs, causal),
                "eager": lambda batched=batched, eager=eager: eager(*batched).view(h, s, -1),
            }
            if name == "flash_attention":
                mask = causal_mask(s) if causal else None
                flat = tuple(each[None] for each in inputs)
                ways |= chosen(folder, "attention", *inputs, causal) | flex_backends(*flat, block_mask=mask)
            flops = 4 * h * s * s * dim // (2 if causal else 1)
            what = facts(name, torch.float16, H=h, S=s, HEAD_DIM=dim, CAUSAL=causal)
            expected = (eager(*(each.view(4, 32, s, dim) for each in inputs)).view(h, s, dim).float(),)
            yield Case(what, ways, expected, 2e-3, flops=flops)


def attention_backward(folder):
    ours = module(folder, "attention_with_gradients").attention_with_gradients
    h, s, dim = 128, 4096, 64
    inputs = tuple(normal(4, 32, s, dim, dtype=torch.float16) for _ in "qkv")
    eager = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    flat = lambda q, k, v: ours(q.view(h, s, dim), k.view(h, s, dim), v.view(h, s, dim), True).view(q.shape)  # noqa: E731
    ways, upstream = gradients(flat, eager, inputs, (0, 1, 2), whole=False)
    del ways["compiled"]
    part = slice(0, 1)
    few = exact_gradients(eager, tuple(each[part] for each in inputs), (0, 1, 2), [upstream[0][part]])
    errors = [
        ((got[part].float() - wanted).norm() / wanted.norm()).item()
        for got, wanted in zip(ways["tilescript"](), few, strict=True)
    ]
    if max(errors) > 2e-3:
        raise AssertionError(f"attention backward is wrong: {errors}")
    expected = ways["eager"]()
    flops = 5 * 2 * h * s * s * dim // 2
    name = facts("attention backward", torch.float16, H=h, S=s, HEAD_DIM=dim, CAUSAL=True)
    yield Case(name, ways, expected, 4e-3, flops=flops)


def relative_attention(folder):
    from torch.nn.attention.flex_attention import flex_attention

    ours = module(folder, "relative_attention").relative_attention
    h, s, dim, dtype = 64, 4096, 64, torch.bfloat16
    q, k, v = (normal(h, s, dim, dtype=dtype) for _ in "qkv")
    bias = normal(h, 2 * s - 1, dtype=dtype)

    def eager(q, k, v, bias):
        i = torch.arange(s, device=q.device)
        mask = bias[:, i[:, None] - i[None, :] + s - 1]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def biased(score, _batch, head, i, j):
        return score + bias[head, i - j + s - 1]

    def flex(q, k, v, _bias):
        return flex_attention(q[None], k[None], v[None], score_mod=biased)[0]

    inputs = (q, k, v, bias)
    backends = flex_backends(q[None], k[None], v[None], score_mod=biased)
    ways = forward(ours, eager, inputs, flex=compiled(flex)) | backends
    ways |= chosen(folder, "relative_attention", *inputs)
    few = slice(0, 4)
    exact = eager(*(each[few].float() for each in inputs))
    if not ((ours(*inputs)[few].float() - exact).norm() / exact.norm()).item() <= 1.6e-2:
        raise AssertionError("relative attention is wrong")
    flops = 4 * h * s * s * dim
    yield Case(facts("relative_attention", dtype, H=h, S=s, HEAD_DIM=dim), ways, (eager(*inputs),), 2e-2, flops=flops)


CASES = {
    "vector_add": vector_add,
    "dependent_add": dependent_add,
    "asin": asin,
    "dropout": dropout,
    "bias_gelu": bias_gelu,
    "softmax_rows": softmax_rows,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "add_rms_norm": add_rms_norm,
    "add_layer_norm": add_layer_norm,
    "rotary": rotary,
    "gelu_dropout": gelu_dropout,
    "vector_sum": vector_sum,
    "histogram": histogram,
    "silu_mul": silu_mul,
    "cross_entropy": cross_entropy,
    "attention": attention,
    "flash_attention": flash_attention,
    "attention_backward": attention_backward,
    "relative_attention": relative_attention,
} | PRODUCTS | MODELS

# The modules that each part runs.
MODULES = {part: [part] for part in CASES} | {
    "softmax": ["softmax", "softmax_long"],
    "cross_entropy": ["cross_entropy", "cross_entropy_with_gradient"],
    "gemm": ["gemm", "gemm_persistent_tma"],
    "gemm_stream_k": ["gemm_stream_k", "gemm"],
    "quantized_gemm": ["fp8_gemm", "int8_gemm"],
    "attention": ["attention_with_gradients"],
    "flash_attention": ["attention"],
    "attention_backward": ["attention_with_gradients"],
}
