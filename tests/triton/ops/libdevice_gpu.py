"""Runs every function of libdevice on this machine's CUDA GPU and writes what it gives.

    python tests/triton/ops/libdevice_gpu.py OUT.json.gz

Needs torch and Triton. The file has {"device", "triton", "results"}: for "sin f->f" the operands and the result, each as
the hexadecimal bytes of 64 values, little-endian.
"""

import gzip
import importlib.util
import json
import os
import re
import sys
import tempfile

import torch
import triton
from libdevice_grid import LANES, operands, pack

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../../../src/rules/libdevice-table.ts")
TORCH = {"f": torch.float32, "d": torch.float64, "i": torch.int32, "l": torch.int64, "b": torch.bool}
STORED = {"u": ("i", torch.uint32), "v": ("l", torch.uint64)}


def overloads():
    with open(TABLE) as file:
        for name, rules in re.findall(r'\*/ (\w+): "(.*)",', file.read()):
            for rule in rules.split():
                yield name, *rule.split("->")


def tensor(letter, values):
    if letter in STORED:
        narrow, dtype = STORED[letter]
        bits = 32 if letter == "u" else 64
        signed = [x - (1 << bits) if x >> (bits - 1) else x for x in values]
        return torch.tensor(signed, dtype=TORCH[narrow], device="cuda").view(dtype)
    return torch.tensor(values, dtype=TORCH[letter], device="cuda")


def values_of(result, letter):
    if letter in STORED:
        narrow, _ = STORED[letter]
        bits = 32 if letter == "u" else 64
        return [x % (1 << bits) for x in result.view(TORCH[narrow]).tolist()]
    return result.tolist()


def run(folder, name, letters, out):
    python = re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), name)
    pointers = [f"p{k}" for k in range(len(letters))]
    loads = ", ".join(f"tl.load({p} + i)" for p in pointers)
    lines = [
        "import triton",
        "import triton.language as tl",
        "from triton.language.extra import libdevice",
        "",
        "",
        "@triton.jit",
        f"def k({', '.join(pointers)}, out):",
        f"    i = tl.arange(0, {LANES})",
        f"    tl.store(out + i, libdevice.{python}({loads}))",
    ]
    path = os.path.join(folder, f"{name}_{letters}.py")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"{name}_{letters}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = operands(name, letters)
    dtype = STORED[out][1] if out in STORED else TORCH[out]
    result = torch.empty(LANES, dtype=dtype, device="cuda")
    module.k[(1,)](*[tensor(letter, values) for letter, values in zip(letters, given)], result)
    packed = [pack(letter, values) for letter, values in zip(letters, given)]
    return [*packed, pack(out, values_of(result, out))]


def main():
    results, refused = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, letters, out in overloads():
            try:
                results[f"{name} {letters}->{out}"] = run(folder, name, letters, out)
            except Exception as error:
                refused[f"{name} {letters}->{out}"] = f"{type(error).__name__}: {error}".splitlines()[-1][:200]
    document = {"device": torch.cuda.get_device_name(), "triton": triton.__version__, "results": results, "refused": refused}
    with open(sys.argv[1], "wb") as file:
        # Without a time, so that equal results are equal files.
        file.write(gzip.compress(json.dumps(document).encode(), mtime=0))
    print(f"{len(results)} overloads ran, {len(refused)} were refused: {sorted(refused)[:8]}")


if __name__ == "__main__":
    main()
