"""Decode attention over a paged cache, for decode.ts: first whether it is right, then how long it takes.

    python decode.py FOLDER --out FILE [--only QUERIES:PAGE,QUERIES:PAGE] [--into FILE]

FOLDER has the modules that bench/decode.ts writes. Before anything is timed, several processes call the kernels, so that
Triton's cache has all binaries. For each batch and length of sequences, the kernels, PyTorch's
attention over a contiguous cache and a copy of the cache's keys take turns. The copy reads and writes half of the
cache each, so it moves as many bytes as attention reads. With --into, the rows of an earlier run stay that this one has no
row for.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F
from gluon import in_turns
from gluon_modules import dated, load, say, warm

ROUNDS = 5
#: Heads of the cache, queries of each, elements, tokens of a page.
HEADS, GROUP, SIZE, PAGE = 8, 4, 128, 16
#: Batches, tokens of each sequence, queries of each head of the cache, and tokens of a page.
TIMED = [
    (batch, tokens, GROUP, PAGE)
    for batch, tokens in [(1, 8192), (1, 65536), (8, 8192), (32, 1024), (32, 8192), (128, 1024), (128, 8192)]
]
TIMED += [(batch, 8192, group, page) for group, page in [(8, 16), (4, 64), (8, 64)] for batch in (1, 32)]
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


def compare(module: Any, is_wanted: Callable[[int, int], bool]) -> None:
    for case in COMPARED:
        if not is_wanted(*case[3:5]):
            continue
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


def measure(decode: Any, paged: Any, batch: int, tokens: int, group: int, page: int) -> dict[str, Any]:
    given = inputs(batch, tokens, HEADS, group, page, True)
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
    return {"batch": batch, "tokens": tokens, "group": group, "page": page, "bytes": 2 * k.nbytes, "us": us}


def compile_kernel(decode: Any, paged: Any, group: int, page: int, splits: int) -> None:
    """The kernels for a number of splits, or those of one program for each sequence if it is 0."""
    given = inputs(1, 8192, HEADS, group, page, True)
    if splits == 0:
        paged.paged_attention(*given)
    else:
        decode.decode_attention(*given, SPLITS=splits)
    torch.cuda.synchronize()


def merged(earlier: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of an earlier run, or those of this one in their place, then the others of this one."""

    def case(row: dict[str, Any]) -> tuple[int, ...]:
        return row["batch"], row["tokens"], row.get("group", GROUP), row.get("page", PAGE)

    own = {case(row): row for row in rows}
    kept = [own.pop(case(row), row) for row in earlier]
    return [*kept, *own.values()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--warm")
    given = parser.parse_args()
    decode, paged = (load(given.folder / f"{name}.py") for name in ("decode_attention", "paged_attention"))
    if given.warm:
        return compile_kernel(decode, paged, *json.loads(given.warm))
    earlier = json.loads(given.into.read_text()) if given.into else {}

    def is_wanted(group: int, page: int) -> bool:
        return given.only == "" or f"{group}:{page}" in given.only.split(",")

    timed = [case for case in TIMED if is_wanted(*case[2:])]
    warm(__file__, given.folder, [[*sizes, splits] for sizes in sorted({case[2:] for case in timed}) for splits in (0, *SPLITS)])
    # The autotuner chooses configs by the first call, so a long one comes first.
    rows: list[dict[str, Any]] = []
    for case in reversed(timed):
        rows.insert(0, measure(decode, paged, *case))
        say(**rows[0])
        torch.cuda.empty_cache()
    compare(decode, is_wanted)
    sizes = {"heads": HEADS, "group": GROUP, "head_dim": SIZE, "page": PAGE}
    every = merged(earlier.get("rows", []), rows)
    given.out.write_text(json.dumps({**dated(earlier), "rounds": ROUNDS, **sizes, "rows": every}, indent=2) + "\n")


if __name__ == "__main__":
    main()
