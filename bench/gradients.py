"""Operators with their gradients, for gradients.ts: whether they are right, then what they cost.

    python gradients.py FOLDER --out FILE

FOLDER has the modules that bench/gradients.ts writes. The ways take turns.

Attention: forward and backward beside PyTorch's with cuDNN and with FlashAttention. "plain" is our operator without its
warp-specialized kernel.

The loss of a language model's last layer: "products" multiplies the three matrices that PyTorch multiplies, and does
nothing else, so no way that computes the logits once is faster. Liger-Kernel takes part where it is installed. Memory
is what a step allocates at its peak, without the inputs and their gradients.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from gluon import in_turns
from gluon_modules import about, load, say

ROUNDS = 5
#: Elements of a head, rows, and whether a mask is causal. 16,384 rows of 16 heads in all.
HEADS = [(size, rows, causal) for rows in (4096, 1024, 16384) for size in (128, 64) for causal in (True, False)]
HEADS += [(256, 4096, causal) for causal in (True, False)]
#: Tokens, words, elements of a token.
LOSSES = [(4096, 128256, 4096), (8192, 32000, 4096), (16384, 128256, 2048)]
COMPARED = [(512, 32000, 1024), (333, 5003, 264)]
Loss = Callable[[Any, Any, Any], Any]


def attention_ways(module: Any) -> dict[str, Callable[..., Any]]:
    specialized = module._is_specialized

    def ours(is_allowed: bool) -> Callable[..., Any]:
        def run(q: Any, k: Any, v: Any, causal: bool) -> Any:
            module._is_specialized = specialized if is_allowed else lambda *_: False
            return module.attention_with_gradients(q, k, v, CAUSAL=causal)

        return run

    def theirs(backend: SDPBackend) -> Callable[..., Any]:
        def run(q: Any, k: Any, v: Any, causal: bool) -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]

        return run

    return {
        "tilescript": ours(True),
        "plain": ours(False),
        "cudnn": theirs(SDPBackend.CUDNN_ATTENTION),
        "flash": theirs(SDPBackend.FLASH_ATTENTION),
    }


def heads(count: int, rows: int, size: int) -> list[Any]:
    torch.manual_seed(rows + size)
    return [torch.randn(count, rows, size, device="cuda", dtype=torch.bfloat16) for _ in range(4)]


def compare_attention(ways: dict[str, Callable[..., Any]]) -> list[dict[str, Any]]:
    rows = []
    # A multiple of 16, as Triton compiles another kernel for other numbers, and of no block.
    count = 1008
    for size, causal in [(size, causal) for size in (64, 128) for causal in (False, True)]:
        *given, dout = heads(4, count, size)
        differences: dict[str, list[float]] = {}

        def gradients(run: Callable[..., Any], dtype: Any) -> list[Any]:
            leaves = [x.to(dtype).requires_grad_() for x in given]
            out = run(*leaves, causal)
            return [out, *torch.autograd.grad(out, leaves, dout.to(dtype))]

        exact = gradients(lambda q, k, v, c: F.scaled_dot_product_attention(q, k, v, is_causal=c), torch.float64)
        for way, run in ways.items():
            differences[way] = [difference(*pair) for pair in zip(gradients(run, torch.bfloat16), exact)]
        rows.append({"rows": count, "size": size, "causal": causal, "difference": differences})
        say(**rows[-1])
        for way in ("tilescript", "plain"):
            assert all(a <= 2 * b for a, b in zip(differences[way], differences["flash"])), rows[-1]
    return rows


def measure_attention(ways: dict[str, Callable[..., Any]], size: int, rows: int, causal: bool) -> dict[str, Any]:
    count = 16 * 16384 // rows
    *given, dout = heads(count, rows, size)
    leaves = [x.requires_grad_() for x in given]
    runs: dict[str, Callable[[], Any]] = {}
    refused: dict[str, str] = {}
    for way, run in ways.items():
        try:
            out = run(*leaves, causal)
            torch.autograd.grad(out, leaves, dout, retain_graph=True)
        except RuntimeError as error:
            # PyTorch's ways take no heads of some sizes.
            assert way in ("cudnn", "flash"), error
            refused[way] = str(error).splitlines()[0]
            continue
        runs[f"{way} forward"] = lambda run=run: run(*leaves, causal)
        runs[f"{way} backward"] = lambda out=out: torch.autograd.grad(out, leaves, dout, retain_graph=True)
    ms = {way: round(each, 4) for way, each in in_turns(runs, ROUNDS, 6).items()}
    products = 4 * count * rows * rows * size // (2 if causal else 1)
    row = {"heads": count, "rows": rows, "size": size, "causal": causal, "forward_flops": products, "ms": ms}
    return {**row, "refused": refused} if refused else row


def plain(x: Any, weight: Any, labels: Any, dtype: Any = torch.float32) -> Any:
    return F.cross_entropy(F.linear(x, weight).to(dtype), labels)


def inputs(m: int, v: int, k: int) -> list[Any]:
    torch.manual_seed(m + v)
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(v, k, device="cuda", dtype=torch.bfloat16) / k**0.5
    labels = torch.randint(0, v, (m,), device="cuda")
    return [x.requires_grad_(), weight.requires_grad_(), labels]


def step(loss: Loss, x: Any, weight: Any, labels: Any) -> tuple[Any, Any, Any]:
    value = loss(x, weight, labels)
    return value, *torch.autograd.grad(value, (x, weight))


def liger() -> Loss | None:
    try:
        from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction as Fused
    except ImportError as error:
        say(liger=f"not installed: {error}")
        return None
    return lambda x, weight, labels: Fused.apply(x, weight, labels)[0]


def difference(found: Any, expected: Any) -> float:
    """The greatest difference, as a part of the root of the mean square."""
    return ((found.double() - expected).abs().max() / expected.square().mean().sqrt()).item()


def compare(ways: dict[str, Loss]) -> list[dict[str, Any]]:
    rows = []
    for sizes in COMPARED:
        x, weight, labels = inputs(*sizes)
        wide = [each.detach().double().requires_grad_() for each in (x, weight)]
        exact = step(partial(plain, dtype=torch.float64), *wide, labels)
        off = {
            way: [difference(*pair) for pair in zip(step(loss, x, weight, labels), exact)] for way, loss in ways.items()
        }
        again = [step(ways["tilescript"], x, weight, labels) for _ in range(3)]
        is_equal = all(torch.equal(*pair) for run in again[1:] for pair in zip(run, again[0]))
        rows.append({"sizes": sizes, "difference": off, "equal_bits": is_equal})
        say(**rows[-1])
        ours, theirs = off["tilescript"], off["eager"]
        assert is_equal and all(mine <= 2 * other + 1e-5 for mine, other in zip(ours, theirs)), rows[-1]
    return rows


def peak(run: Callable[[], Any]) -> int:
    """Bytes that a step allocates beyond what it returns."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    returned = run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before - sum(each.nbytes for each in returned)


def measure(ways: dict[str, Loss], m: int, v: int, k: int) -> dict[str, Any]:
    x, weight, labels = inputs(m, v, k)
    runs: dict[str, Callable[[], Any]] = {
        way: lambda loss=loss: step(loss, x, weight, labels) for way, loss in ways.items()
    }
    for run in runs.values():
        run()
    memory = {way: peak(run) for way, run in runs.items()}
    torch.cuda.empty_cache()
    a, b = x.detach(), weight.detach()
    logits = torch.empty(m, v, device="cuda", dtype=torch.bfloat16).normal_()
    outs = torch.empty_like(logits), torch.empty_like(a), torch.empty_like(b)

    def products() -> None:
        torch.mm(a, b.T, out=outs[0])
        torch.mm(logits, b, out=outs[1])
        torch.mm(logits.T, a, out=outs[2])

    runs["products"] = products
    ms = {way: round(each, 3) for way, each in in_turns(runs, ROUNDS, 3).items()}
    return {"tokens": m, "words": v, "elements": k, "ms": ms, "bytes": memory}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    ours = load(given.folder / "linear_cross_entropy.py").linear_cross_entropy
    ways: dict[str, Loss] = {
        "tilescript": lambda x, weight, labels: ours(x, weight, labels).mean(),
        "eager": plain,
        "compiled": torch.compile(plain),
    }
    rival = liger()
    if rival:
        ways["liger"] = rival
    attention = attention_ways(load(given.folder / "attention_with_gradients.py"))
    record: dict[str, Any] = {**about(), "rounds": ROUNDS, "attention": [], "loss": []}
    record["compared"] = [*compare_attention(attention), *compare(ways)]

    def add(part: str, row: dict[str, Any]) -> None:
        record[part].append(row)
        say(**row)
        given.out.write_text(json.dumps(record, indent=2) + "\n")
        torch.cuda.empty_cache()

    for sizes in LOSSES:
        add("loss", measure(ways, *sizes))
    for case in HEADS:
        add("attention", measure_attention(attention, *case))


if __name__ == "__main__":
    main()
