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
    result = {"warps": metadata.num_warps, "shared": metadata.shared}
    if metadata.target.backend == "cuda":
        if getattr(metadata, "tmem_size", None):
            result["tensorMemory"] = metadata.tmem_size
        return result | _of_cubin(kernel.asm["cubin"])
    return result | _of_amdgcn(kernel.asm["amdgcn"])


def _of_cubin(cubin: bytes) -> dict[str, int]:
    """The driver calls a thread's frame its local memory; Triton's ``n_spills`` is its size in words of 4 bytes."""
    import triton

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = subprocess.run(
            [triton.knobs.nvidia.cuobjdump.path, "-res-usage", file.name], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    usage_fields = {name: int(value) for name, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", usage)}
    return {"registers": usage_fields["REG"], "spilled": usage_fields["STACK"] + usage_fields["LOCAL"]}


def _of_amdgcn(text: str) -> dict[str, int]:
    """The metadata that the loader reads, at the end of the assembly. Scratch memory contains only spills."""
    metadata = {name: int(value) for name, value in re.findall(r"^ *(?:- )?\.(\w+): +(\d+)$", text, re.MULTILINE)}
    return {"registers": metadata["vgpr_count"], "spilled": metadata["private_segment_fixed_size"]}
