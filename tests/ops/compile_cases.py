"""Compiles kernels for sm_90 without a GPU, and says for each what was wrong, if anything.

Reads JSON lines {"id", "module", "params"} from the file named first; writes one JSON object to the second. A module is
the text of an emitted file; params are the types of the kernel's arguments that are not constexprs.
"""

import importlib.util
import json
import os
import sys
import tempfile

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
        triton.compile(ASTSource(kernel, signature, {}), target=GPUTarget("cuda", 90, 32))
    except Exception as error:
        return reason(error)
    return None


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        wrong = {case["id"]: check(folder, i, case) for i, case in enumerate(cases)}
    with open(sys.argv[2], "w") as out:
        json.dump({id: why for id, why in wrong.items() if why}, out)


main()
