"""Random warp-specialized kernels on a Hopper GPU, for gluon.py: whether they compute what their plain kernels do.

    python gluon_random.py FOLDER FIRST STEP DEADLINE

compares every STEP-th kernel of the folder, from FIRST on, until the clock shows DEADLINE.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gluon_modules import fits, load, say, tuner_of


def inputs_of(module: Any, about: dict[str, Any], place: int, seed: int) -> list[Any]:
    """The module's inputs; where they are strided, their axes lie in memory in another order, the last one apart.

    Flags are set at one of the sizes. Values of attention are positive, so that no sum of them comes near 0 and errors
    stay in proportion to what they are errors of.
    """
    import torch

    torch.manual_seed(seed)
    given = [x if torch.is_tensor(x) else (seed + place) % 2 == 0 for x in module.get_inputs(**about["sizes"][place])]
    if form_of(about) == "attention":
        given[2] = given[2].abs()
    if not about["isStrided"]:
        return given
    return [apart(x) if torch.is_tensor(x) and x.ndim > 2 else x for x in given]


def apart(tensor: Any) -> Any:
    """The same, with the two axes before the last one in another order in memory."""
    return tensor.transpose(-2, -3).contiguous().transpose(-2, -3)


def form_of(about: dict[str, Any]) -> str:
    """product or attention"""
    return str(about["name"].split("_")[0])


def allowed_off(about: dict[str, Any], exact: Any, is_of_rows: bool) -> Any:
    """How far a value may be off because sums have another order.

    Attention rounds weights to its dtype, and another block of keys has other weights; a number for each row follows
    from no such weights.
    """
    import torch

    steps = {torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6, torch.float32: 2.0**-14}
    is_rounded = form_of(about) == "attention" and not is_of_rows
    step = steps[getattr(torch, about["dtype"])] if is_rounded else steps[exact.dtype]
    return step * (exact.float().abs() + 0.02 * exact.float().abs().max())


def compare_random(folder: Path, seed: int) -> dict[str, Any]:
    """One random kernel, with one of its configs, at its sizes: specialized, again, and plain."""
    about = json.loads((folder / "index.json").read_text())[seed]
    module = load(folder / f"{about['name']}.py")
    tuner = tuner_of(module)
    suited = [config for config in tuner.configs if fits(tuner, config, **about["sizes"][0])]
    tuner.configs = [suited[seed % len(suited)]]
    found: dict[str, Any] = {**about, "equal": True, "wrong": []}
    for place in range(len(about["sizes"])):
        found["wrong"] += compare_once(module, about, place, seed, found)
    return found


def compare_once(module: Any, about: dict[str, Any], place: int, seed: int, found: dict[str, Any]) -> list[str]:
    """What is wrong at one size; `found` says whether all bits are those of the plain kernel."""
    import torch

    is_specialized = module._is_specialized
    named = inspect.signature(module.kernel_fn).parameters.values()
    outputs = [each.name for each in named if each.kind is each.KEYWORD_ONLY]
    inputs = inputs_of(module, about, place, seed)
    size = about["sizes"][place]
    module._is_specialized = lambda *_: False
    made = module.kernel_fn(*inputs)
    plain = made if isinstance(made, tuple) else (made,)
    given = [torch.full_like(each, float("nan")) for each in plain]
    # Whether the specialized kernel was launched.
    took: list[bool] = []

    def note(*tensors: Any) -> bool:
        took.append(is_specialized(*tensors))
        return took[-1]

    module._is_specialized = note
    multiprocessors = getattr(module, "_gpu_property", None)
    # With few multiprocessors, a program computes several tiles.
    if seed % 4 < 3:
        module._gpu_property = lambda *_: 1 + seed % 4
    module.kernel_fn(*inputs, **dict(zip(outputs, given)))
    first = [each.clone() for each in given]
    for each in given:
        each.fill_(float("nan"))
    module.kernel_fn(*inputs, **dict(zip(outputs, given)))
    module._is_specialized, module._gpu_property = is_specialized, multiprocessors
    wrong = [] if took == [True, True] else ["the plain kernel was launched"]
    for again, once, other in zip(given, first, plain):
        off = (once.float() - other.float()).abs()
        found["equal"] = found["equal"] and torch.equal(once, other)
        if not torch.equal(again, once):
            wrong.append(f"{size}: two runs differ")
        if not bool((off <= allowed_off(about, other, other.ndim < plain[0].ndim)).all()):
            wrong.append(f"{size}: off by {off.max().item()}")
    return wrong


def compare_share(folder: Path, first: int, step: int, deadline: float) -> None:
    """Every step-th random kernel, from the first on."""
    for seed in range(first, len(json.loads((folder / "index.json").read_text())), step):
        if time.time() > deadline:
            break
        print(f"#{seed}", flush=True)
        try:
            say(**compare_random(folder, seed))
        except Exception as error:  # noqa: BLE001
            say(name=f"#{seed}", wrong=[f"{type(error).__name__}: {error}"[-400:]], equal=False)
            if "CUDA" in str(error):
                sys.exit(3)


def compare(folder: Path, seconds: float, processes: int = 14) -> dict[str, Any]:
    """All random kernels, each process with its share; one that is not done in time hangs, or is too slow."""
    deadline = time.time() + seconds
    command = [sys.executable, __file__, str(folder)]
    children = [
        subprocess.Popen([*command, str(i), str(processes), str(deadline)], stdout=subprocess.PIPE, text=True)
        for i in range(processes)
    ]
    rows, faults = [], []
    for child in children:
        try:
            text, _ = child.communicate(timeout=max(1, deadline + 45 - time.time()))
        except subprocess.TimeoutExpired:
            child.kill()
            text, _ = child.communicate()
            faults.append(f"hung at {[line for line in text.splitlines() if line.startswith('#')][-1:]}")
        else:
            if child.returncode:
                faults.append(f"ended with {child.returncode}")
        rows += [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {
        "random": len(rows),
        "forms": {form: sum(row["name"].startswith(form) for row in rows) for form in ("product", "attention")},
        "equal": sum(row["equal"] for row in rows),
        "wrong": [row for row in rows if row["wrong"]],
        "faults": faults,
    }


if __name__ == "__main__":
    compare_share(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
