"""Operators with their gradients, for gradients.ts: whether they are right, then what they cost.

    python gradients.py FOLDER --out FILE [--only WORD,WORD] [--into FILE]

FOLDER has the modules that bench/gradients.ts writes. The ways take turns. Before anything is timed, several processes
call the kernels, so that Triton's cache has all binaries.

Attention: forward and backward beside PyTorch's with cuDNN and with FlashAttention. "plain" is our operator without its
warp-specialized kernel. "atomics" is the operator of bench/atomic-gradients.ts, of which the backward pass is timed.

A WORD is loss, forward, backward or atomics, with elements of a head and rows where it is for some alone: forward:256,
atomics:128:4096, forward::512. With --into, what an earlier run measured stays unless this one measures it again.

The loss of a language model's last layer: "products" multiplies the three matrices that PyTorch multiplies, and does
nothing else, so no way that computes the logits once is faster. Liger-Kernel takes part where it is installed. Memory
is what a step allocates at its peak, without the inputs and their gradients.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from gluon import in_turns
from gluon_modules import dated, load, say, warm

ROUNDS = 5
#: Elements of a head, rows, and whether a mask is causal. 16,384 rows of 16 heads in all.
HEADS = [(size, rows, causal) for rows in (4096, 1024, 16384) for size in (128, 64) for causal in (True, False)]
HEADS += [(256, 4096, causal) for causal in (True, False)]
#: Those of which the forward pass alone is timed.
FORWARD = [(size, rows, causal) for rows in (512, 32768) for size in (128, 64) for causal in (True, False)]
PASSES = ("forward", "backward", "atomics")
#: Rows of cases with atomics.
ATOMICS = (4096, 16384)
#: Tokens, words, elements of a token.
LOSSES = [(4096, 128256, 4096), (8192, 32000, 4096), (16384, 128256, 2048)]
COMPARED = [(512, 32000, 1024), (333, 5003, 264)]
Loss = Callable[[Any, Any, Any], Any]


class Modules:
    """The modules of attention."""

    def __init__(self, folder: Path) -> None:
        self.attention = load(folder / "attention_with_gradients.py")
        self.atomics = load(folder / "attention_with_atomic_gradients.py")
        self.specialized = self.attention._is_specialized
        # Its forward pass is not timed, so any config will do.
        tuner = self.atomics.attention_forward_kernel
        tuner.configs = tuner.configs[:1]

    def choose(self, way: str) -> None:
        """Lets the kernels of a way be launched."""
        self.attention._is_specialized = (lambda *_: False) if way == "plain" else self.specialized

    def attention_ways(self, passes: Iterable[str]) -> dict[str, Callable[..., Any]]:
        def ours(way: str) -> Callable[..., Any]:
            def run(q: Any, k: Any, v: Any, causal: bool) -> Any:
                self.choose(way)
                return self.attention.attention_with_gradients(q, k, v, CAUSAL=causal)

            return run

        def theirs(backend: SDPBackend) -> Callable[..., Any]:
            def run(q: Any, k: Any, v: Any, causal: bool) -> Any:
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]

            return run

        def atomics(q: Any, k: Any, v: Any, causal: bool) -> Any:
            return self.atomics.attention_with_atomic_gradients(q, k, v, CAUSAL=causal)

        return {
            "tilescript": ours("tilescript"),
            "plain": ours("plain"),
            "cudnn": theirs(SDPBackend.CUDNN_ATTENTION),
            "flash": theirs(SDPBackend.FLASH_ATTENTION),
            **({"atomics": atomics} if "atomics" in passes else {}),
        }


def wanted_passes(only: str, size: int, rows: int, causal: bool) -> list[str]:
    """The passes of a case that are to be measured."""
    case = (size, rows, causal)
    has = {"forward": True, "backward": case in HEADS, "atomics": case in HEADS and rows in ATOMICS and size < 256}
    return [each for each in PASSES if has[each] and is_wanted(only, each, str(size), str(rows))]


def is_wanted(only: str, part: str, *numbers: str) -> bool:
    words = [word.split(":") for word in only.split(",") if word]
    return not words or any(
        word[0] == part and all(asked in ("", number) for asked, number in zip(word[1:], numbers)) for word in words
    )


def heads(count: int, rows: int, size: int) -> list[Any]:
    torch.manual_seed(rows + size)
    return [torch.randn(count, rows, size, device="cuda", dtype=torch.bfloat16) for _ in range(4)]


def compare_attention(modules: Modules, passes_of: dict[int, set[str]]) -> list[dict[str, Any]]:
    """Compares these passes for each size. Heads of 256 elements have the forward pass alone."""
    rows = []
    # Multiples of 16, as Triton compiles another kernel for other numbers, and rows of no block.
    count = 1008
    for size, causal in [(size, causal) for size in sorted(passes_of) for causal in (False, True)]:
        *given, dout = heads(16, count, size)
        ways = modules.attention_ways(passes_of[size])
        has_backward = size < 256 and passes_of[size] != {"forward"}
        differences: dict[str, list[float]] = {}

        def gradients(run: Callable[..., Any], dtype: Any) -> list[Any]:
            leaves = [x.to(dtype).requires_grad_() for x in given]
            out = run(*leaves, causal)
            return [out, *(torch.autograd.grad(out, leaves, dout.to(dtype)) if has_backward else [])]

        exact = gradients(lambda q, k, v, c: F.scaled_dot_product_attention(q, k, v, is_causal=c), torch.float64)
        for way, run in ways.items():
            differences[way] = [difference(*pair) for pair in zip(gradients(run, torch.bfloat16), exact)]
        rows.append({"rows": count, "size": size, "causal": causal, "difference": differences})
        say(**rows[-1])
        # FlashAttention also multiplies bfloat16 and adds float32, but in another order.
        for way in set(differences) & {"tilescript", "plain", "atomics"}:
            assert all(a <= 2 * b for a, b in zip(differences[way], differences["flash"])), rows[-1]
    return rows


def measure_attention(modules: Modules, passes: list[str], size: int, rows: int, causal: bool) -> dict[str, Any]:
    count = 16 * 16384 // rows
    *given, dout = heads(count, rows, size)
    leaves = [x.detach().requires_grad_() for x in given]
    runs: dict[str, Callable[[], Any]] = {}
    refused: dict[str, str] = {}
    has_backward = passes != ["forward"]
    for way, run in modules.attention_ways(passes).items():
        try:
            out = run(*leaves, causal)
            if has_backward:
                torch.autograd.grad(out, leaves, dout, retain_graph=True)
        except RuntimeError as error:
            # PyTorch's ways take no heads of some sizes.
            assert way in ("cudnn", "flash"), error
            refused[way] = str(error).splitlines()[0]
            continue
        if "forward" in passes and way != "atomics":
            runs[f"{way} forward"] = lambda run=run: run(*leaves, causal)
        if has_backward:

            def backward(way: str = way, out: Any = out) -> Any:
                modules.choose(way)
                return torch.autograd.grad(out, leaves, dout, retain_graph=True)

            runs[f"{way} backward"] = backward
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


def kernels_of(part: str) -> list[str]:
    """What of a pass different processes compile."""
    return {"forward": ["forward"], "backward": ["keys", "queries"], "atomics": ["atomics"]}[part]


def compile_kernel(modules: Modules, kernel: str, size: int, count: int, causal: bool) -> None:
    q, k, v, dout = heads(count, 1024, size)
    lse, delta = (torch.zeros(count, 1024, device="cuda") for _ in range(2))
    match kernel:
        case "forward":
            modules.attention._attention_forward(q, k, v, CAUSAL=causal)
            modules.atomics._attention_forward(q, k, v, CAUSAL=causal)
        case "keys":
            modules.attention._attention_key_gradients(q, k, v, dout, lse, delta, CAUSAL=causal)
        case "queries":
            modules.attention._attention_query_gradients(q, k, v, dout, lse, delta, CAUSAL=causal)
        case "atomics":
            modules.atomics._attention_key_gradients(q, k, v, dout, lse, delta, CAUSAL=causal)
        case _:
            raise ValueError(kernel)
    torch.cuda.synchronize()


def merged(earlier: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of an earlier run, with the times of this one, then its other rows."""

    def what(row: dict[str, Any]) -> str:
        return json.dumps([row.get(key) for key in ("rows", "size", "causal", "tokens", "words", "elements", "sizes")])

    own = {what(row): row for row in rows}
    kept = []
    for row in earlier:
        new = own.pop(what(row), {})
        times = {"ms": {**row["ms"], **new.get("ms", {})}} if "ms" in row else {}
        kept.append({**row, **new, **times})
    return [*kept, *own.values()]


def loss_ways(folder: Path) -> dict[str, Loss]:
    ours = load(folder / "linear_cross_entropy.py").linear_cross_entropy
    ways: dict[str, Loss] = {
        "tilescript": lambda x, weight, labels: ours(x, weight, labels).mean(),
        "eager": plain,
        "compiled": torch.compile(plain),
    }
    rival = liger()
    return {**ways, "liger": rival} if rival else ways


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--warm")
    given = parser.parse_args()
    if given.warm:
        return compile_kernel(Modules(given.folder), *json.loads(given.warm))
    every = [(case, wanted_passes(given.only, *case)) for case in [*HEADS, *FORWARD]]
    cases = [(case, passes) for case, passes in every if passes]
    # Triton compiles another kernel where the number of heads is no multiple of 16.
    binaries = {
        (kernel, size, 16 if 16 * 16384 // rows % 16 == 0 else 8, causal)
        for (size, rows, causal), passes in cases
        for part in {"forward", *passes, *(["backward"] if "atomics" in passes else [])}
        for kernel in kernels_of(part)
    }
    warm(__file__, given.folder, sorted(binaries))
    modules = Modules(given.folder)
    earlier: dict[str, Any] = json.loads(given.into.read_text()) if given.into else {}
    measured: dict[str, list[dict[str, Any]]] = {"attention": [], "loss": [], "compared": []}
    ways = loss_ways(given.folder) if is_wanted(given.only, "loss") else {}
    passes_of = {size: {each for case, passes in cases if case[0] == size for each in passes} for (size, *_), _ in cases}
    measured["compared"] = [*compare_attention(modules, passes_of), *(compare(ways) if ways else [])]

    def add(part: str, row: dict[str, Any]) -> None:
        measured[part].append(row)
        say(**row)
        parts = {part: merged(earlier.get(part, []), rows) for part, rows in measured.items()}
        given.out.write_text(json.dumps({**dated(earlier), "rounds": ROUNDS, **parts}, indent=2) + "\n")
        torch.cuda.empty_cache()

    for sizes in LOSSES if ways else []:
        add("loss", measure(ways, *sizes))
    for case, passes in cases:
        add("attention", measure_attention(modules, passes, *case))


if __name__ == "__main__":
    main()
