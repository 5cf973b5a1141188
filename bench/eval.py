"""CPU time of emitted kernels on Triton's interpreter: reads requests as JSON, writes milliseconds a case as JSON."""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))

from tilescript_worker.device import choose, describe
from tilescript_worker.inputs import Guarded, values_of
from tilescript_worker.invoke import argument_list, call, out_arguments
from tilescript_worker.modules import load

REPEATS = 2


def cpu_ms(request: dict) -> float:
    """The lowest CPU time of ``kernel_fn`` alone."""
    module = load(request["module"], request["jits"], request["config"])
    times = []
    for _ in range(REPEATS + 1):
        values = values_of(request, module)
        inputs = {
            spec["python"]: Guarded.from_spec(spec, "cpu", values[spec["python"]]).tensor for spec in request["inputs"]
        }
        outputs = {spec["python"]: Guarded.from_spec(spec, "cpu").tensor for spec in request["outputs"]}
        arguments = inputs | argument_list(request) | (out_arguments(module.kernel_fn, outputs) or {})
        started = time.process_time()
        call(module.kernel_fn, arguments)
        times.append((time.process_time() - started) * 1e3)
    # The first call rewrites the kernel's source for the interpreter.
    return min(times[1:])


torch.set_num_threads(1)
device = choose("interpreter")
requests = json.load(sys.stdin)
report = {"versions": describe(device)["versions"], "ms": [cpu_ms(request) for request in requests]}
json.dump(report, sys.stdout)
