"""Decode attention over a paged cache, for decode.ts: first whether it is right, then how long it takes.

    python decode.py FOLDER --out FILE

FOLDER has the modules that bench/decode.ts writes. For each batch and length of sequences, the kernels, PyTorch's
attention over a contiguous cache and a copy of the cache's keys take turns. The copy reads and writes half of the
cache each, so it moves as many bytes as attention reads.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from gluon import in_turns
from gluon_modules import about, load, say

ROUNDS = 5
#: Heads of the cache, queries of each, elements, tokens of a page.
HEADS, GROUP, SIZE, PAGE = 8, 4, 128, 16
#: Batches and tokens of each sequence.
TIMED = [(1, 8192), (1, 65536), (8, 8192), (32, 1024), (32, 8192), (128, 1024), (128, 8192)]
SPLITS = (1, 4, 16, 32, 64)
#: Batch, tokens, heads, queries, tokens of a page, and whether all sequences are that long.
COMPARED = [(3, 512, 2, 4, 16, False), (2, 1024, 2, 8, 64, False), (1, 4096, 2, 1, 16, True), (5, 37 * 16, 3, 13, 16, False)]


def inputs(batch: int, tokens: int, heads: int, group: int, page: int, is_full: bool) -> list[Any]:
    torch.manual_seed(batch + tokens)
    pages = batch * tokens // page
    cache = [torch.randn(pages, page, heads, SIZE, device="cuda", dtype=torch.bfloat16) for _ in "kv"]
    q = torch.randn(batch, heads, group, SIZE, device="cuda", dtype=torch.bfloat16)
    tables = torch.randperm(pages, device="cuda", dtype=torch.int32).view(batch, -1)
    lengths = torch.full((batch,), tokens, device="cuda", dtype=torch.int32)
    if not is_full:
        lengths = torch.randint(1, tokens + 1, (batch,), device="cuda", dtype=torch.int32)
    return [q, *cache, tables, lengths]


def compare(module: Any) -> None:
    for case in COMPARED:
        given = inputs(*case)
        exact = module.reference_fn(*(x.double() if x.is_floating_point() else x for x in given))
        # Weights and the output are rounded to bfloat16, each by half of its last place.
        allowed = 2**-8 * exact.abs().max().item()
        alone = [x[:1] for x in (given[0], *given[3:])]
        for splits in SPLITS:
            out = module.decode_attention(*given, SPLITS=splits)
            off = (out.double() - exact).abs().max().item()
            # The first sequence has the same bits without the others.
            single = module.decode_attention(alone[0], *given[1:3], *alone[1:], SPLITS=splits)
            say(compared=case, splits=splits, off=off, is_invariant=torch.equal(single, out[:1]))
            assert off <= allowed and torch.equal(single, out[:1]), (case, splits, off, allowed)


def measure(decode: Any, paged: Any, batch: int, tokens: int) -> dict[str, Any]:
    given = inputs(batch, tokens, HEADS, GROUP, PAGE, True)
    q, k, v, tables, _ = given

    def contiguous(cache: Any) -> Any:
        return cache[tables.long()].view(batch, tokens, HEADS, SIZE).transpose(1, 2).contiguous()

    keys, values, rows, copied = contiguous(k), contiguous(v), q.view(batch, -1, 1, SIZE), torch.empty_like(k)
    ways = {
        "paged_attention": lambda: paged.paged_attention(*given),
        **{
            f"{splits} splits": lambda splits=splits: decode.decode_attention(*given, SPLITS=splits)
            for splits in SPLITS
            if splits * 64 <= tokens
        },
        "torch, contiguous": lambda: F.scaled_dot_product_attention(rows, keys, values, enable_gqa=True),
        "copy": lambda: copied.copy_(k),
    }
    us = {way: round(1000 * ms, 1) for way, ms in in_turns(ways, ROUNDS, 6).items()}
    return {"batch": batch, "tokens": tokens, "bytes": 2 * k.nbytes, "us": us}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    decode, paged = (load(given.folder / f"{name}.py") for name in ("decode_attention", "paged_attention"))
    # The autotuner chooses configs by the first call, so a long one comes first.
    rows = []
    for batch, tokens in reversed(TIMED):
        rows.insert(0, measure(decode, paged, batch, tokens))
        say(**rows[0])
        torch.cuda.empty_cache()
    compare(decode)
    sizes = {"heads": HEADS, "group": GROUP, "head_dim": SIZE, "page": PAGE}
    given.out.write_text(json.dumps({**about(), "rounds": ROUNDS, **sizes, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
