"""Compiles kernels for GPUs that need not be there, and says what was wrong with each, if anything; see cases.py.

A case is a list of calls, "parts", each with its "id", its "module" and "params", the types of the arguments of its kernel
that are not constexprs; "target" is what `GPUTarget` takes. A kernel that does nothing but call all of them costs a
third of what they cost one by one. Where it does not compile, each is compiled alone: one may be at fault, or the kernel
is more than Triton can take at once.
"""

import os
import tempfile

import triton
from cases import main, reason
from tilescript_worker.modules import import_file
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef all_parts("


def signature_of(kernel, params):
    signature = dict(zip(kernel.arg_names, params, strict=False))
    return signature | {left: "i32" for left in kernel.arg_names[len(signature):]}


def imported(folder, name, text):
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(text)
    return import_file(path)


def compile_parts(folder, name, parts, target):
    """Compiles one kernel that runs the kernels of the parts, given by name, one after the other."""
    types, calls = {}, []
    for part, (kernel, params) in parts.items():
        arguments = {f"{each}_{part}": type for each, type in signature_of(kernel, params).items()}
        types |= arguments
        calls.append(f"    {part}({', '.join(arguments)})\n")
    module = imported(folder, name, f"{HEAD}{', '.join(types)}):\n{''.join(calls)}")
    vars(module).update({part: kernel for part, (kernel, _) in parts.items()})
    triton.compile(ASTSource(module.all_parts, types, {}), target=GPUTarget(*target))


def compiled(_, case):
    """What was wrong with each part, by its id; None if nothing was."""
    target = case["target"]
    with tempfile.TemporaryDirectory() as folder:
        parts, ids, wrong = {}, {}, {}
        for i, part in enumerate(case["parts"]):
            name = f"part_{i}"
            ids[name] = part["id"]
            try:
                module = imported(folder, name, part["module"])
                parts[name] = module.sample_kernel, part["params"]
            except Exception as error:
                wrong[part["id"]] = reason(error)
        try:
            compile_parts(folder, "together", parts, target)
        except Exception:
            for name, part in parts.items():
                try:
                    compile_parts(folder, f"alone_{name}", {name: part}, target)
                except Exception as error:
                    wrong[ids[name]] = reason(error)
    return wrong or None


if __name__ == "__main__":
    main(compiled, chunksize=1)
