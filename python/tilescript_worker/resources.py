"""The GPU resources of a compiled kernel, read from the binary. No GPU is needed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from typing import Any


def resources(kernel: Any) -> dict[str, Any]:
    """Resources of a ``triton.compiler.CompiledKernel``.

    ``registers`` are those of one thread, on AMD vector and accumulation registers together. ``spilled`` is what a
    thread keeps in memory because registers ran out, in bytes. ``shared`` is the memory that a program's threads
    share, in bytes. ``tensorMemory`` is Blackwell's, in columns.
    """
    metadata = kernel.metadata
    found = {"warps": metadata.num_warps, "shared": metadata.shared}
    if metadata.target.backend == "cuda":
        if getattr(metadata, "tmem_size", None):
            found["tensorMemory"] = metadata.tmem_size
        return found | _of_cubin(kernel.asm["cubin"])
    return found | _of_amdgcn(kernel.asm["amdgcn"])


def _of_cubin(cubin: bytes) -> dict[str, int]:
    """The driver calls a thread's frame its local memory; Triton's ``n_spills`` is that in words of 4 bytes."""
    import triton

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = subprocess.run(
            [triton.knobs.nvidia.cuobjdump.path, "-res-usage", file.name], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    found = {name: int(value) for name, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", usage)}
    return {"registers": found["REG"], "spilled": found["STACK"] + found["LOCAL"]}


def _of_amdgcn(text: str) -> dict[str, int]:
    """The metadata that the loader reads, at the end of the assembly. Scratch memory holds nothing but spills."""
    found = {name: int(value) for name, value in re.findall(r"^ *(?:- )?\.(\w+): +(\d+)$", text, re.MULTILINE)}
    return {"registers": found["vgpr_count"], "spilled": found["private_segment_fixed_size"]}
