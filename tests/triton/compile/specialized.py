"""Compiles the warp-specialized kernels of modules for sm_90, on a machine that need not have a GPU.

    python specialized.py IN OUT

IN has a JSON line for each module: its text, the places of the configs to compile, a dtype, the dtypes of tensors
that have another, and the values of constexprs that no config sets. torch is not needed: only what compiles is taken from a module, and not its wrapper.
"""

import ast
import importlib.util
import json
import os
import re
import sys
import tempfile
from functools import partial
from types import SimpleNamespace

import triton
from tilescript_worker.resources import resources
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon._runtime import GluonASTSource
from turns import turns

SHORT = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "int8": "i8",
    "int32": "i32",
}
#: What else of a module configs need.
HOST = ("_set_block", "_layout_of", "_set_specialized_blocks", "_fitting_configs")


def device_part(text):
    """The module's imports and functions for the GPU, without what needs torch."""

    def is_wanted(node):
        if isinstance(node, ast.Import):
            return all(name.name != "torch" for name in node.names)
        if isinstance(node, ast.ImportFrom):
            return (node.module or "").startswith("triton")
        if isinstance(node, ast.Assign):
            return node.targets[0].id in ("_load_block", "_store_block")
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            return "gluon.jit" in decorators or node.name in HOST
        return False

    lines = text.splitlines(keepends=True)
    parts = []
    for node in ast.parse(text).body:
        if is_wanted(node):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            parts.append("".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(parts) + "\n"


def load(folder, index, text):
    path = os.path.join(folder, f"module_{index}.py")
    with open(path, "w") as file:
        file.write(device_part(text))
    spec = importlib.util.spec_from_file_location(f"module_{index}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def size_of(dtype):
    """In bytes."""
    return int(re.search(r"\d+", SHORT[dtype])[0]) // 8


def compile_config(tuner, config, dtype, others, constants):
    function = tuner.fn
    suffix = re.compile("(_block)?_desc$|_ptr$")
    dtypes = {name: others.get(suffix.sub("", name), dtype) for name in function.arg_names}
    # What the hook asks of a tensor is the size of its elements.
    described = {
        name: SimpleNamespace(base=SimpleNamespace(element_size=partial(size_of, dtypes[name])))
        for name in function.arg_names
        if name.endswith("_desc")
    }
    known = {name: value for name, value in {**constants, **config.kwargs}.items() if name in function.arg_names}
    config.pre_hook({**described, **known})

    def type_of(name):
        if name in known:
            return "constexpr"
        if name in described:
            desc = described[name]
            return f"tensordesc<{SHORT[dtypes[name]]}{desc.block_shape},{desc.layout!r}>"
        return f"*{SHORT[dtypes[name]]}" if name.endswith("_ptr") else "i32"

    signature = {name: type_of(name) for name in function.arg_names}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, name in enumerate(function.arg_names)
        if signature[name] == "i32" or name.endswith("_ptr")
    }
    source = GluonASTSource(function, signature, constexprs=known, attrs=aligned)
    options = {"num_warps": config.num_warps, "maxnreg": config.maxnreg}
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    found = {"products": kernel.asm["ptx"].count("wgmma.mma_async"), "turns": turns(kernel.asm["cubin"])}
    return {**resources(kernel), **found}


def main():
    answers = []
    with open(sys.argv[1]) as file, tempfile.TemporaryDirectory() as folder:
        for index, line in enumerate(file):
            asked = json.loads(line)
            module = load(folder, index, asked["text"])
            tuner = next(value for name, value in vars(module).items() if name.endswith("_specialized_kernel"))
            for place in asked["configs"]:
                fitting = tuner.early_config_prune or (lambda configs, _args, **_: configs)
                configs = fitting(tuner.configs, {}, **asked["constants"])
                config = configs[place % len(configs)]
                answer = {"name": asked["name"], "config": config.kwargs, "triton": triton.__version__}
                try:
                    answer.update(compile_config(tuner, config, asked["dtype"], asked["others"], asked["constants"]))
                except Exception as error:
                    answer["error"] = f"{type(error).__name__}: {error}"[-800:]
                answers.append(answer)
    with open(sys.argv[2], "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
