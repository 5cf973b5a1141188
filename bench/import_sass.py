"""Compiles imported kernels and their originals to machine code for sm_90, and prints a JSON line for each pair.

Reads {"pairs": [...]} from standard input. No GPU is needed.
"""

import functools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from tilescript_worker.block_pointers import block_pointers  # noqa: E402
from tilescript_worker.importing import argument, emitted_arguments, jit_of  # noqa: E402
from tilescript_worker.machine_code import disassembly_of  # noqa: E402
from tilescript_worker.modules import import_file  # noqa: E402
from tilescript_worker.recording import record  # noqa: E402
from tilescript_worker.ttir import TARGET, constants  # noqa: E402


def disassembly(kernel, signature, options, aligned):
    """The machine code for pointers that are multiples of 16, and for such integers, too, if ``aligned``."""
    import triton
    from triton.compiler import ASTSource

    kinds = ("pointer", "scalar") if aligned else ("pointer",)
    is_divisible = {name: each.kind in kinds and each.dtype != "fp32" for name, each in signature.items()}
    source = ASTSource(
        kernel,
        {name: each.type for name, each in signature.items()},
        constants(signature),
        {(i,): [["tt.divisibility", 16]] for i, name in enumerate(signature) if is_divisible[name]},
    )
    return disassembly_of(triton.compile(source, target=TARGET, options=options).asm["cubin"])


@functools.cache
def kernels_of(script):
    """The kernels that a script launches, by name. Without a GPU, their launches are recorded only."""
    return {kernel.__name__: kernel for kernel in record(script).calls}


def compiled(pair, aligned):
    original = {name: argument(each) for name, each in pair["arguments"].items()}
    kernel = kernels_of(pair["file"])[pair["kernel"]]
    emitted = jit_of(getattr(import_file(pair["module"]), pair["jit"]))
    signature = emitted_arguments(emitted, pair)
    return {
        "original": disassembly(kernel, {name: original[name] for name in kernel.arg_names}, pair["options"], aligned),
        "emitted": disassembly(emitted, signature, pair["options"], aligned),
    }


def main():
    # The scripts print, too.
    output, sys.stdout = sys.stdout, sys.stderr
    for pair in json.load(sys.stdin)["pairs"]:
        for aligned in (True, False):
            try:
                with block_pointers():
                    result = compiled(pair, aligned)
            except Exception as error:
                lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
                result = {"error": f"{type(error).__name__}: {lines[-1] if lines else ''}"}
            result |= {"kernel": pair["kernel"], "file": Path(pair["file"]).name, "aligned": aligned}
            output.write(json.dumps(result) + "\n")
            output.flush()


if __name__ == "__main__":
    main()
