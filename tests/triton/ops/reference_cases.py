"""Calls the reference of emitted modules, and says what PyTorch gives; see cases.py.

A case has "inputs", [{"dtype", "shape", "data"}]. The answer is {"shape", "data"}, the elements as text.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"
import torch  # noqa: E402
from cases import main  # noqa: E402


def tensor(given):
    data = [float(x) for x in given["data"]]
    return torch.tensor(data, dtype=torch.float64).to(getattr(torch, given["dtype"])).reshape(given["shape"])


def computed(module, case):
    result = module.reference_fn(*[tensor(given) for given in case["inputs"]])
    return {"shape": list(result.shape), "data": [repr(float(value)) for value in result.flatten().tolist()]}


if __name__ == "__main__":
    main(computed, chunksize=64)
