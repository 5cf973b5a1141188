"""Runs kernels on Triton's interpreter and writes what they give as JSON.

Reads JSON lines {"id", "module", "inputs": [{"dtype", "shape", "data"}], "outputs": n} from the file named first.
"""

import importlib.util
import json
import os
import sys
import tempfile
import warnings

os.environ["TRITON_INTERPRET"] = "1"
import torch  # noqa: E402

warnings.simplefilter("ignore")


def dtype_of(name):
    return torch.bool if name == "int1" else getattr(torch, name)


def values(tensor):
    if tensor.dtype in (torch.int64, torch.uint64):
        return [str(value) for value in tensor.flatten().tolist()]
    return [repr(float(value)) for value in tensor.flatten().tolist()]


def run(folder, index, case):
    name = f"case_{index}"
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        inputs = [
            torch.tensor(
                [int(x) if "int" in given["dtype"] else float(x) for x in given["data"]],
                dtype=torch.int64 if "int" in given["dtype"] else torch.float64,
            )
            .to(dtype_of(given["dtype"]))
            .reshape(given["shape"])
            for given in case["inputs"]
        ]
        outputs = module.kernel_fn(*inputs)
    except BaseException as error:  # noqa: BLE001
        while error.__cause__ is not None:
            error = error.__cause__
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return {"outputs": [values(output) for output in outputs]}


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    with tempfile.TemporaryDirectory() as folder, open(sys.argv[2], "w") as out:
        for i, case in enumerate(cases):
            out.write(json.dumps({"id": case["id"], **run(folder, i, case)}) + "\n")


main()
