"""Calls the reference of emitted modules and writes what PyTorch gives as JSON.

Reads JSON lines {"id", "module", "inputs": [{"dtype", "shape", "data"}]} from the file named first.
"""

import importlib.util
import json
import os
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
import torch  # noqa: E402


def tensor(given):
    data = [float(x) for x in given["data"]]
    whole = torch.tensor(data, dtype=torch.float64).reshape(given["shape"])
    return whole.to(getattr(torch, given["dtype"]))


def run(folder, index, case):
    name = f"case_{index}"
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        result = module.reference_fn(*[tensor(given) for given in case["inputs"]])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    data = [repr(float(value)) for value in result.flatten().tolist()]
    return {"shape": list(result.shape), "data": data}


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    with tempfile.TemporaryDirectory() as folder, open(sys.argv[2], "w") as out:
        for i, case in enumerate(cases):
            out.write(json.dumps({"id": case["id"], **run(folder, i, case)}) + "\n")


main()
