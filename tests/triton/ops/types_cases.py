"""Lets Triton's front end type kernels, without lowering them, and says what was wrong with each, if anything; see
cases.py. A case has a "backend", one of those below.
"""

from cases import main
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

BACKENDS = {"cuda": GPUTarget("cuda", 90, 32), "hip": GPUTarget("hip", "gfx942", 64)}


def typed(module, case):
    target = BACKENDS[case["backend"]]
    kernel = module.sample_kernel
    source = ASTSource(kernel, {arg: "*i32" for arg in kernel.arg_names}, {})
    backend = make_backend(target)
    options = backend.parse_options(dict(source.parse_options()))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    source.make_ir(target, options, codegen, backend.get_module_map(), context)


if __name__ == "__main__":
    main(typed, chunksize=4)
