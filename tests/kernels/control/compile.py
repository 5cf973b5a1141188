"""Compiles kernels for a GPU that need not be there: one JSON request a line in, one verdict a line out."""

import inspect
import json
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

POINTERS = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "float64": "*fp64"}


def load(text):
    """The functions of a part of a module, as objects that know their source."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write("import triton\nimport triton.language as tl\n\n\n" + text)
    namespace = {"__name__": "emitted"}
    exec(compile(open(file.name).read(), file.name, "exec"), namespace)
    return namespace


def compiled(request):
    fn = load(request["text"])[request["jit"]]
    if isinstance(fn, triton.runtime.Autotuner):
        fn = fn.fn
    signature = {}
    for name, parameter in inspect.signature(fn.fn).parameters.items():
        if name in request["constexprs"]:
            signature[name] = "constexpr"
        elif name in request["pointers"]:
            dtype = request["pointers"][name]
            signature[name] = POINTERS.get(dtype) or "*" + dtype.replace("uint", "u").replace("int", "i")
        else:
            is_float = parameter.annotation is tl.float32
            signature[name] = "fp32" if is_float else "i32"
    source = ASTSource(fn, signature, request["constexprs"])
    return len(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"])


for line in sys.stdin:
    try:
        print(json.dumps({"bytes": compiled(json.loads(line))}))
    except Exception as error:  # the whole chain: the outermost says only where
        said = []
        while error is not None:
            said.append(str(error))
            error = error.__cause__
        print(json.dumps({"error": "\n".join(said)}))
