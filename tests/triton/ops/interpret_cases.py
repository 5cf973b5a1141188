"""Runs kernels on Triton's interpreter, and says what each gives; see cases.py.

A case has "inputs", [{"dtype", "shape", "data"}]. The answer is {"outputs"}, the elements of each as text.
"""

import os
import warnings

os.environ["TRITON_INTERPRET"] = "1"
import torch  # noqa: E402
from cases import main  # noqa: E402

warnings.simplefilter("ignore")


def tensor(given):
    is_int = "int" in given["dtype"]
    data = [int(x) if is_int else float(x) for x in given["data"]]
    dtype = torch.bool if given["dtype"] == "int1" else getattr(torch, given["dtype"])
    return torch.tensor(data, dtype=torch.int64 if is_int else torch.float64).to(dtype).reshape(given["shape"])


def values(output):
    if output.dtype in (torch.int64, torch.uint64):
        return [str(value) for value in output.flatten().tolist()]
    return [repr(float(value)) for value in output.flatten().tolist()]


def interpreted(module, case):
    outputs = module.kernel_fn(*[tensor(given) for given in case["inputs"]])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return {"outputs": [values(output) for output in outputs]}


if __name__ == "__main__":
    main(interpreted, chunksize=16)
