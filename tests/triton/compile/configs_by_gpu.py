"""Writes the blocks of the configs that Triton's autotuner leaves on each of some GPUs, and in a run on the CPU.

argv: a file with a module's text, its kernel and the GPUs as JSON, and the file to write.
"""

import json
import os
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from tilescript_worker.launching import set_target  # noqa: E402
from tilescript_worker.modules import autotuner, import_file  # noqa: E402

with open(sys.argv[1], encoding="utf-8") as file:
    asked = json.load(file)
with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
    file.write(asked["text"])
module = import_file(file.name)
os.unlink(file.name)
tuner = autotuner(getattr(module, asked["jit"]))


def left(configs):
    return [config.kwargs["BLOCK"] for config in tuner.early_config_prune(configs, {})]


x = torch.arange(1000, dtype=torch.float32)
assert torch.equal(module.kernel_fn(x), x)
found = {"interpreter": left(tuner.configs), "ran": tuner.best_config.kwargs["BLOCK"]}
module._INTERPRETED = False
for gpu in asked["gpus"]:
    set_target(gpu)
    found[f"{gpu[0]}:{gpu[1]}"] = left(tuner.configs)
found["another's"] = left([config for config in tuner.configs if config.kwargs["BLOCK"] == 1024])
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(found, file)
