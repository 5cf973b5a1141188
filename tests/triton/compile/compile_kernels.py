"""Compiles jit functions for GPUs that this machine need not have.

Reads {"jobs": [...]} from standard input and writes one JSON line per job, in
order. A job has the source of a jit function without decorators, its name, the
type of each argument, values of constexprs, attributes, options and a target.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "python"))
from tilescript_worker.machine_code import machine_code  # noqa: E402
from tilescript_worker.resources import resources  # noqa: E402

HEAD = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
"""


def load(folder, job):
    path = os.path.join(folder, f"{job['module']}.py")
    if not os.path.exists(path):
        with open(f"{path}.{os.getpid()}", "w") as file:
            file.write(HEAD + job["source"])
        os.replace(file.name, path)
    spec = importlib.util.spec_from_file_location(job["module"], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, job["function"])


def compile_job(folder, job):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    started = time.perf_counter()
    result = {"label": job["label"], "triton": triton.__version__}
    try:
        function = load(folder, job)
        index = {name: i for i, name in enumerate(function.arg_names)}
        constants = {
            n: getattr(tl, v["dtype"]) if isinstance(v, dict) else v
            for n, v in job["constants"].items()
            if n in index
        }
        aligned = [name for name in job["aligned"] if name in index]
        source = ASTSource(
            fn=function,
            signature={name: job["types"][name] for name in function.arg_names},
            constexprs={(index[name],): v for name, v in constants.items()},
            attrs={(index[name],): [["tt.divisibility", 16]] for name in aligned},
        )
        target = GPUTarget(*job["target"])
        kernel = triton.compile(source, target=target, options=job["options"])
        result.update(resources(kernel))
        if job.get("sass"):
            result["sass"] = disassembly(kernel.asm["cubin"])
        if job.get("machineCode"):
            result["machineCode"] = machine_code(kernel)
        for text in ("ttir", "ttgir", "amdgcn"):
            if job.get(text):
                result[text] = kernel.asm[text]
    except Exception as error:
        while error.__cause__ is not None:
            error = error.__cause__
        result["error"] = f"{type(error).__name__}: {error}".strip()
    result["seconds"] = round(time.perf_counter() - started, 2)
    return result


def disassembly(cubin):
    tool = __import__("triton").knobs.nvidia.nvdisasm.path
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return run(tool, "-c", file.name)


def run(*command):
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def main():
    jobs = json.load(sys.stdin)["jobs"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "cache"))
        workers = min(len(jobs), os.cpu_count() or 1, 4)
        with ProcessPoolExecutor(workers) as pool:
            for result in pool.map(compile_job, [folder] * len(jobs), jobs):
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
