"""Compiles kernels for GPUs that need not be there, and says what was wrong with each, if anything; see cases.py.

A case has "params", the types of the kernel's arguments that are not constexprs, and "target", what `GPUTarget` takes.
"""

import triton
from cases import main
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def compiled(module, case):
    kernel = module.sample_kernel
    signature = dict(zip(kernel.arg_names, case["params"], strict=False))
    for left in kernel.arg_names[len(signature):]:
        signature[left] = "i32"
    triton.compile(ASTSource(kernel, signature, {}), target=GPUTarget(*case["target"]))


if __name__ == "__main__":
    main(compiled, chunksize=16)
