"""Runs emitted modules on Triton's interpreter: one JSON request a line in, the outputs a line out."""

import json
import os
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from tilescript_worker.modules import load  # noqa: E402


def run(request):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(request["python"])
    module = load(file.name, [request["jit"]], request["config"])
    inputs = {
        name: torch.tensor(values, dtype=getattr(torch, dtype)) for name, (dtype, values) in request["inputs"].items()
    }
    result = module.kernel_fn(**inputs)
    results = result if isinstance(result, tuple) else (result,)
    return [each.flatten().tolist() for each in results]


for line in sys.stdin:
    try:
        print(json.dumps({"outputs": run(json.loads(line))}))
    except Exception as error:
        print(json.dumps({"error": repr(error)}))
