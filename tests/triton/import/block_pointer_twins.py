"""The kernels of ``block_pointers.py``: their IR, and what they compute beside the same kernels with pointers.

``ttir`` prints the IR of every kernel, by name. ``compare FILE`` compares that of another Triton, in FILE, with this
one's, and each kernel with its twin. ``run NAME MODULE`` runs an emitted kernel and its twin on Triton's interpreter.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "block_pointers.py"
sys.path.insert(0, str(HERE.parents[2] / "python"))
KERNEL = re.compile(r"^# (?:\d+ of \d+|refused.*)\n# (.*)\n@triton\.jit\ndef (\w+)", re.MULTILINE)


def module_at(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signatures() -> dict[str, dict[str, Any]]:
    from tilescript_worker.ttir import Argument

    def argument(text: str) -> tuple[str, Argument]:
        if "=" in text:
            name, value = text.split("=")
            return name, Argument("constant", value={"True": True}.get(value) or int(value))
        name, dtype = text.split(":")
        return name, Argument("pointer", dtype[1:]) if dtype.startswith("*") else Argument("scalar", dtype)

    found = KERNEL.findall(SOURCE.read_text())
    return {name: dict(argument(each) for each in types.split(",")) for types, name in found}


def irs() -> dict[str, str]:
    from tilescript_worker.block_pointers import block_pointers
    from tilescript_worker.ttir import ttir

    module = module_at(SOURCE)
    with block_pointers():
        found = {name: ttir(getattr(module, name), signature) for name, signature in signatures().items()}
    for name, signature in signatures().items():
        twin = getattr(module, f"{name}_by_hand", None)
        if twin is not None:
            found[twin.__name__] = ttir(twin, signature)
    return found


def apart(left: str, right: str, name: str) -> tuple[str, str] | None:
    from tilescript_worker.dataflow import difference

    names = [name for name, each in signatures()[name].items() if each.kind != "constant"]
    return difference(left, names, right, names, views=[])


def compare(others: dict[str, str]) -> dict[str, Any]:
    own = irs()
    kernels = list(signatures())
    return {
        "other": {name: apart(others[name], own[name], name) for name in kernels if name in others},
        "twins": {name: apart(own[name], own[f"{name}_by_hand"], name) for name in kernels if f"{name}_by_hand" in own},
    }


def run(name: str, emitted: Path) -> bool:
    import torch

    twin = getattr(module_at(SOURCE), f"{name}_by_hand")
    module = module_at(emitted)
    torch.manual_seed(0)
    if name == "product":
        m, n, k = 37, 41, 53
        a, b = torch.randn(k, m, dtype=torch.float16).T, torch.randn(k, n, dtype=torch.float16)
        c = torch.empty(m, n, dtype=torch.float16)
        twin[(3, 2)](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=32, BK=16)
        return torch.equal(module.product(a, b, programs0=3, programs1=2), c)
    if name == "batched":
        m, n = 37, 29
        x = torch.randn(3, m, n)
        y = torch.empty_like(x)
        twin[(1, 3)](x, y, m, n, *x.stride(), *y.stride(), BM=16, BN=32)
        return torch.equal(module.batched(x, programs1=3), y)
    size, first = 130, -5
    x, y = torch.randn(size + 64), torch.zeros(size)
    twin[(3,)](x, y, size, first, BLOCK=64)
    return torch.equal(module.unchecked(x[:size], first, programs=3, out=torch.zeros(size)), y)


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "run":
        os.environ["TRITON_INTERPRET"] = "1"
        print(json.dumps(run(rest[0], Path(rest[1]))))
    elif command == "ttir":
        print(json.dumps(irs()))
    else:
        print(json.dumps(compare(json.loads(Path(rest[0]).read_text()) if rest else {})))
