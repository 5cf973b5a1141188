"""Loads emitted modules whose names and strings are hostile, and calls each on Triton's interpreter.

Reads JSON lines {"id", "module"} from the file named first, and writes {id: what went wrong} to the second, as JSON.
"""

import builtins
import json
import os
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from tilescript_worker.modules import import_file  # noqa: E402

MARKER = "payload-ran"
x = torch.arange(20.0)


def fault(path):
    """What is wrong with a module, if anything."""
    kept = dict(vars(builtins))
    module = import_file(path)
    found = module.kernel_fn(x)
    if os.path.exists(MARKER):
        os.remove(MARKER)
        return "a payload ran"
    if vars(builtins) != kept:
        return "builtins have changed"
    if not torch.equal(found, x + 1) or not torch.equal(module.reference_fn(x), x + 1):
        return "the result is wrong"
    if module.kernel_fn(x, out=(out := torch.empty(20))) is not out or not torch.equal(out, x + 1):
        return "the result is not written to a given tensor"
    if not module.kernel_fn(x.clone().requires_grad_()).requires_grad:
        return "the gradient is dropped"
    return None if len(module.get_inputs()) > 0 else "get_inputs gives nothing"


with tempfile.TemporaryDirectory() as folder, open(sys.argv[1]) as file:
    os.chdir(folder)
    faults = {}
    for line in file:
        case = json.loads(line)
        with open("module.py", "w", encoding="utf-8") as module:
            module.write(case["module"])
        try:
            why = fault(os.path.join(folder, "module.py"))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:300]
        if why:
            faults[case["id"]] = why
    answer = json.dumps(faults)
with open(sys.argv[2], "w") as out:
    out.write(answer)
