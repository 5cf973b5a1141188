"""Compiles the kernels of emitted modules for a GPU that need not be there. Requests come as JSON on stdin."""

import importlib.util
import json
import sys
from unittest import mock

try:
    import torch  # noqa: F401
except ImportError:
    # The kernel itself does not touch torch.
    sys.modules["torch"] = sys.modules["torch.autograd"] = mock.MagicMock()

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def compile_one(request):
    spec = importlib.util.spec_from_file_location("emitted", request["file"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    jit = getattr(module, request["jit"])
    jit = getattr(jit, "fn", jit) if not isinstance(jit, triton.JITFunction) else jit
    constexprs = request["constexprs"]
    signature = {
        param.name: "constexpr"
        if param.is_constexpr or param.name in constexprs
        else request["types"].get(param.name, "i32")
        for param in jit.params
    }
    source = ASTSource(fn=jit, signature=signature, constexprs=constexprs)
    compiled = triton.compile(source, target=GPUTarget("cuda", request["arch"], 32), options=request["options"])
    return {"ttir": str(compiled.asm["ttir"]), "ptx": str(compiled.asm["ptx"])}


answers = []
for request in json.load(sys.stdin):
    try:
        answers.append({"ok": True, **compile_one(request)})
    except Exception as error:
        answers.append({"ok": False, "error": f"{type(error).__name__}: {error}"})
json.dump({"version": triton.__version__, "answers": answers}, sys.stdout)
