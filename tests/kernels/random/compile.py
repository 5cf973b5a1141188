"""Compiles random kernels for sm_90 with the Triton that is installed; no GPU is needed.

Reads one JSON job a line from standard input and answers each with a line, in order. A job has the text of a module,
the name of its jit function, the types of the arguments, and the stage after which to stop: Triton's own pipeline is
ttir, ttgir, llir, ptx, cubin. What Triton prints goes into the answer if the job fails.
"""

import importlib.util
import json
import os
import sys
import tempfile
import time

answers = os.fdopen(os.dup(1), "w")
printed = tempfile.TemporaryFile("w+")
os.dup2(printed.fileno(), 1)
os.dup2(printed.fileno(), 2)

import triton  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource, make_backend  # noqa: E402

TARGET = GPUTarget("cuda", 90, 32)


def load(folder, job):
    path = os.path.join(folder, f"{job['id']}.py")
    with open(path, "w") as file:
        file.write(job["source"])
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, job["function"])


def compile_job(function, job):
    """What triton.compile does, up to a stage."""
    index = {name: i for i, name in enumerate(function.arg_names)}
    source = ASTSource(
        fn=function,
        signature={name: job["types"][name] for name in function.arg_names},
        constexprs={(index[name],): value for name, value in job["constants"].items() if name in index},
        attrs={(index[name],): [["tt.divisibility", 16]] for name in job["aligned"] if name in index},
    )
    backend = make_backend(TARGET)
    options = backend.parse_options({**job["options"], **source.parse_options()})
    stages = {}
    backend.add_stages(stages, options, source.language)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    metadata = {"target": TARGET, **options.__dict__}
    module = source.make_ir(
        TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    for name, stage in stages.items():
        module = stage(module, metadata)
        if name == job["stage"]:
            break


def answer(folder, job):
    started = time.perf_counter()
    printed.seek(0)
    printed.truncate()
    result = {"id": job["id"]}
    try:
        compile_job(load(folder, job), job)
    except Exception as error:
        said = []
        while error is not None:
            said.append(f"{type(error).__name__}: {error}".strip())
            error = error.__cause__
        printed.seek(0)
        result["error"] = "\n".join([*said, printed.read()[:4000]]).strip()
    os.remove(os.path.join(folder, f"{job['id']}.py"))
    result["seconds"] = time.perf_counter() - started
    return result


def main():
    print(json.dumps({"triton": triton.__version__}), file=answers, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            print(json.dumps(answer(folder, json.loads(line))), file=answers, flush=True)


main()
