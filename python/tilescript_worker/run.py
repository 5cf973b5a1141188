"""One call with the caller's inputs."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import torch

from .device import Device
from .failures import compiler_output
from .inputs import dtype_of, flat, strides_of, values_of
from .invoke import Arguments, argument_list, results
from .modules import load
from .verify import unreliable_reasons


def run(request: dict[str, Any], device: Device) -> dict[str, Any]:
    """Serves a ``call`` request: writes each result's elements to ``NAME.out`` in the request's folder."""
    why = unreliable_reasons(request, device)
    if why:
        return {"unreliable": why}
    module = load(request["module"], request["jits"], request["config"], request.get("gpu"))
    values = values_of(request, module)
    tensors = {spec["python"]: _placed(spec, values[spec["python"]], device) for spec in request["inputs"]}
    arguments: Arguments = tensors | argument_list(request)
    compiles = not device.interpreted
    with compiler_output(os.path.dirname(request["module"])) if compiles else nullcontext():
        got = results(module.kernel_fn, arguments, request["results"])
    device.synchronize()
    for name, tensor in (got | {name: tensors[name] for name in request["pointers"]}).items():
        raw = flat(tensor).cpu().view(torch.uint8).numpy()
        raw.tofile(os.path.join(request["folder"], f"{name}.out"))
    return {"unreliable": []}


def _placed(spec: dict[str, Any], values: torch.Tensor, device: Device) -> torch.Tensor:
    """Values on the device, with the strides of the caller's tensor."""
    strides = strides_of(spec["shape"], spec["layout"])
    tensor = torch.empty_strided(spec["shape"], strides, dtype=dtype_of(spec["dtype"]), device=device.torch)
    return tensor.copy_(values)
