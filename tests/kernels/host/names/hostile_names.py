"""Loads emitted modules whose names and strings are hostile, and calls each on Triton's interpreter.

Reads JSON lines {"id", "module" or "files" of a "package", "op"?} from the file named first, and writes {id: what went
wrong} to the second, as JSON. "op" is the namespace and the name of an operator that a module registers.
"""

import builtins
import importlib
import json
import os
import re
import sys
import tempfile
import tomllib

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from tilescript_worker.modules import import_file  # noqa: E402

MARKER = "payload-ran"
x = torch.arange(20.0)


def packaged(files, name, root):
    """The test case of a package's only kernel, which imports the package as its users do."""
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        # A distribution's name has one hyphen for each run of _, - and dots (PEP 503).
        wanted = re.sub(r"[-_.]+", "-", name)
        assert tomllib.load(file)["project"]["name"] == wanted, "pyproject.toml has another name"
    tests = os.path.join(root, "tests")
    sys.path[:0] = [root, tests]
    importlib.invalidate_caches()
    try:
        package = importlib.import_module(name)
        assert package.__file__ == os.path.join(root, name, "__init__.py"), f"{name} is {package.__file__}"
        [kernel] = package.__all__
        return importlib.import_module(f"kernel_cases.{kernel}")
    finally:
        for path in (root, tests):
            sys.path.remove(path)
        for known in [known for known in sys.modules if known.split(".")[0] in (name, "kernel_cases")]:
            del sys.modules[known]


def refuses_gradients(call):
    try:
        call(x.clone().requires_grad_())
    except RuntimeError as error:
        return "has no gradient for" in str(error)
    return False


def fault(case, folder):
    """What is wrong with a module, if anything."""
    kept = dict(vars(builtins))
    if "files" in case:
        module = packaged(case["files"], case["package"], os.path.join(folder, str(case["id"])))
    else:
        path = os.path.join(folder, "module.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(case["module"])
        module = import_file(path)
    found = module.kernel_fn(x)
    if "op" in case:
        namespace, name = case["op"]
        registered = getattr(getattr(torch.ops, namespace), name)
        if not torch.equal(registered(x), x + 1):
            return "the operator gives a wrong result"
    if os.path.exists(MARKER):
        os.remove(MARKER)
        return "a payload ran"
    if vars(builtins) != kept:
        return "builtins have changed"
    if not torch.equal(found, x + 1) or not torch.equal(module.reference_fn(x), x + 1):
        return "the result is wrong"
    if module.kernel_fn(x, out=(out := torch.empty(20))) is not out or not torch.equal(out, x + 1):
        return "the result is not written to a given tensor"
    if not refuses_gradients(module.kernel_fn):
        return "the gradient is dropped"
    return None if len(module.get_inputs()) > 0 else "get_inputs gives nothing"


with tempfile.TemporaryDirectory() as folder, open(sys.argv[1]) as file:
    os.chdir(folder)
    faults = {}
    for line in file:
        case = json.loads(line)
        try:
            why = fault(case, folder)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:300]
        if why:
            faults[case["id"]] = why
    answer = json.dumps(faults)
with open(sys.argv[2], "w") as out:
    out.write(answer)
