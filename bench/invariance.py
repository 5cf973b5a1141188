"""Compares the bits of rows between launches of many sizes, for invariance.ts.

    python invariance.py FOLDER --out FILE

FOLDER has the modules that bench/invariance.ts writes, with the cases. The rows of the largest launch are computed
again in smaller ones. The record names the sizes at which a bit differs, and the script then ends with an error.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from gluon_modules import about, load, say

#: Sizes around blocks, and those that Triton compiles for: 1 and multiples of 16.
COUNTS = [1, 2, 3, 7, 15, 16, 17, 31, 32, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 500, 512, 1000, 1024, 2047, 2048, 4096]
DTYPES = {"float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2}


def tensor(dims: list[str | int], sizes: dict[str, int], dtype: str) -> torch.Tensor:
    shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims]
    kind = DTYPES.get(dtype) or getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(shape, device="cuda").to(kind)
    return torch.randint(-8, 8, shape, device="cuda", dtype=kind)


def sliced(x: torch.Tensor, dims: list[str | int], size: str, start: int, count: int) -> torch.Tensor:
    for axis, dim in enumerate(dims):
        if dim == size:
            x = x.narrow(axis, start, count)
    return x.contiguous()


def compare(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    call = getattr(load(folder / case["file"]), case["function"])
    torch.manual_seed(1)
    most = max(COUNTS)
    tensors = [each for each in case["tensors"] if not each["optional"]]
    inputs = {t["name"]: tensor(t["dims"], case["sizes"] | {case["size"]: most}, t["dtype"]) for t in tensors if t["role"] == "in"}
    outputs = [t["dims"] for t in tensors if t["role"] == "out"]
    dims = {t["name"]: t["dims"] for t in tensors}

    def run(start: int, count: int) -> list[torch.Tensor]:
        result = call(**{name: sliced(x, dims[name], case["size"], start, count) for name, x in inputs.items()})
        return list(result) if isinstance(result, (tuple, list)) else [result]

    # The smallest launch comes first, so that the autotuner chooses for it.
    for count in COUNTS:
        run(0, count)
    whole = run(0, most)
    differing = []
    for count in COUNTS:
        for part, full, own in zip(run(0, count), whole, outputs, strict=True):
            expected = sliced(full, own, case["size"], 0, count)
            if not torch.equal(part.view(torch.uint8), expected.view(torch.uint8)):
                differing.append(count)
    return {"kernel": case["kernel"], "size": case["size"], "sizes": case["sizes"], "differing": differing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for case in json.loads((given.folder / "cases.json").read_text()):
        rows.append(compare(given.folder, case))
        say(**rows[-1])
        given.out.write_text(json.dumps({**about(), "counts": COUNTS, "rows": rows}, indent=2) + "\n")
    assert not any(row["differing"] for row in rows), [row["kernel"] for row in rows if row["differing"]]


main()
