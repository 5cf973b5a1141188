"""Compiles kernels for GPUs that need not be there, in several processes, and says what was wrong with each, if anything.

Reads JSON lines {"id", "module", "params", "target"} from the file named first; writes one JSON object, id to reason, to
the second. A module is the text of an emitted file; params are the types of the kernel's arguments that are not
constexprs; a target is what `GPUTarget` takes.
"""

import importlib.util
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def reason(error):
    text = ""
    while error is not None:
        text = f"{type(error).__name__}: {error}".strip().splitlines()[-1] or text
        error = error.__cause__
    return text


def kernel_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sample_kernel


def check(folder, index, case):
    name = f"case_{index}"
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    try:
        kernel = kernel_of(path, name)
        signature = dict(zip(kernel.arg_names, case["params"], strict=False))
        for left in kernel.arg_names[len(signature):]:
            signature[left] = "i32"
        triton.compile(ASTSource(kernel, signature, {}), target=GPUTarget(*case["target"]))
    except Exception as error:
        return reason(error)
    return None


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    workers = min(len(cases), os.cpu_count() or 1, 4)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(workers) as pool:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        reasons = pool.map(check, [folder] * len(cases), range(len(cases)), cases, chunksize=16)
        wrong = {case["id"]: why for case, why in zip(cases, reasons, strict=True) if why}
    with open(sys.argv[2], "w") as out:
        json.dump(wrong, out)


if __name__ == "__main__":
    main()
