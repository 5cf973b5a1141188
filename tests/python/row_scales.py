"""Writes the scale of each element of the outputs that it is given, as ``compare.py`` has it."""

import json
import sys

import torch

from tilescript_worker.compare import magnitudes


def scales(case):
    exact = torch.tensor([float(x) for x in case["data"]], dtype=torch.float64).reshape(case["shape"])
    return [repr(x) for x in magnitudes(exact).expand(exact.shape).flatten().tolist()]


with open(sys.argv[1]) as lines:
    answers = [scales(json.loads(line)) for line in lines]
with open(sys.argv[2], "w") as out:
    json.dump(answers, out)
