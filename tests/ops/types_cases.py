"""Lets Triton's front end type kernels, without lowering them, and says what was wrong with each, if anything.

Reads JSON lines {"id", "module"} from the file named first; writes one JSON object, id to reason, to the second.
"""

import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

from compile_cases import kernel_of, reason
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

BACKENDS = {"cuda": GPUTarget("cuda", 90, 32), "hip": GPUTarget("hip", "gfx942", 64)}


def check(folder, index, case):
    name = f"case_{index}"
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    try:
        target = BACKENDS[case["backend"]]
        kernel = kernel_of(path, name)
        source = ASTSource(kernel, {arg: "*i32" for arg in kernel.arg_names}, {})
        backend = make_backend(target)
        options = backend.parse_options(dict(source.parse_options()))
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        codegen = backend.get_codegen_implementation(options)
        source.make_ir(target, options, codegen, backend.get_module_map(), context)
    except Exception as error:
        return reason(error)
    return None


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    workers = min(len(cases), os.cpu_count() or 1, 4)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(workers) as pool:
        reasons = pool.map(check, [folder] * len(cases), range(len(cases)), cases, chunksize=4)
        wrong = {case["id"]: why for case, why in zip(cases, reasons, strict=True) if why}
    with open(sys.argv[2], "w") as out:
        json.dump(wrong, out)


if __name__ == "__main__":
    main()
