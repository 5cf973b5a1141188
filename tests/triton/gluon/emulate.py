"""Runs emitted modules in the emulator and compares what they write with what the evaluator got: FROM TO.

Each line of FROM has a module's text, arguments, expected outputs and launches, and perhaps mistakes to put into the
text; TO gets what is wrong with each launch, or what the first launch found of each mistake.
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

# Before torch is loaded: parts are threads, each of which would have a group of its own.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
import torch
from emulator.faults import Fault, Unknown
from emulator.launches import Launch, emulate, load_module
from emulator.shared import Shared, SharedBarriers
from kernel_text import kernel_text
from mutants import mutants


def tensor_of(given: dict[str, Any]) -> torch.Tensor:
    flat = np.frombuffer(base64.b64decode(given["data"]), dtype=given["holds"])
    return torch.from_numpy(flat.copy()).reshape(given["shape"]).to(getattr(torch, given["dtype"]))


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same with the last two axes before the last one lying in another order, the last one apart."""
    return tensor.transpose(-2, -3).contiguous().transpose(-2, -3) if tensor.ndim > 2 else tensor


#: The last place of 1, or what a sum of rounded weights is off by.
STEPS = {"float16": 2.0**-9, "bfloat16": 2.0**-6, "float32": 2.0**-14}


def wrong_in(got: torch.Tensor, due: torch.Tensor, rounds: str) -> str | None:
    """How far values are off beyond what the order of sums allows; `rounds` is the narrowest dtype on the way."""
    step = STEPS[rounds]
    x, y = got.double(), due.double()
    usual = y[y.isfinite()].abs()
    allowed = step * (y.abs() + 0.02 * (usual.max() if len(usual) else 0.0))
    same = (x == y) | (x.isnan() & y.isnan()) | ((x - y).abs() <= allowed)
    if bool(same.all()):
        return None
    place = tuple(int(each) for each in (~same).nonzero()[0])
    return f"{int((~same).sum())} of {same.numel()} elements are off, the first at {place}: {x[place]}, not {y[place]}"


class Trial:
    """A module with its arguments and what it has to write."""

    def __init__(self, given: dict[str, Any], folder: Path, index: int):
        self.given = given
        self.path = folder / f"trial_{index}.py"
        self.path.write_text(given["text"])
        self.module = load_module(self.path)
        self.arguments = {
            name: self.argument(each)
            for name, each in given["arguments"].items()
        }
        named = inspect.signature(self.module.kernel_fn).parameters.values()
        names = [each.name for each in named if each.kind is each.KEYWORD_ONLY]
        self.due = {name: (tensor_of(each), each["rounds"]) for name, each in zip(names, given["outputs"])}

    def argument(self, given: Any) -> Any:
        if isinstance(given, dict):
            return self.laid(tensor_of(given))
        return getattr(torch, given) if isinstance(given, str) else given

    def laid(self, tensor: torch.Tensor) -> torch.Tensor:
        return apart(tensor) if self.given["isStrided"] else tensor

    def wrong(self, launch: dict[str, Any], text: ast.Module | None = None, names: Any = None) -> str | None:
        """What is wrong with a launch, of the text or of another."""
        outputs = {name: self.laid(torch.full_like(due, float("nan"))) for name, (due, _) in self.due.items()}
        try:
            emulate(self.module, self.path, Launch(**launch), self.arguments, outputs, text, names)
        except Fault as fault:
            return f"fault: {fault}"
        except Unknown as unknown:
            return f"unknown: {unknown}"
        except Exception:  # noqa: BLE001
            return f"error: {traceback.format_exc()[-1200:]}"
        wrong = [
            f"{name}: {text}"
            for name, (due, rounds) in self.due.items()
            if (text := wrong_in(outputs[name], due, rounds))
        ]
        return "; ".join(wrong) or None

    def finds(self, text: ast.Module) -> str | None:
        """What the first launch that notices says of a mistake; "not reached" where no launch comes to it."""
        is_reached = False
        for launch in self.given["launches"]:
            watch = Watch()
            wrong = self.wrong(launch, text, watch.names())
            is_reached = is_reached or watch.is_reached
            if wrong:
                return wrong
        return None if is_reached else "not reached"


class Watch:
    """The names that a mistake uses; says whether it was reached."""

    def __init__(self) -> None:
        self.is_reached = False

    def names(self) -> dict[str, Any]:
        return {"_reached": self._reached, "_next": self._next}

    def _reached(self, value: Any) -> Any:
        self.is_reached = True
        return value

    def _next(self, of: Any, place: Any) -> int:
        if not isinstance(of, (Shared, SharedBarriers)):
            raise Unknown("the next of what is no allocation")
        return (int(place) + 1) % of.count


def run(given: dict[str, Any], folder: Path, index: int) -> list[str | None]:
    trial = Trial(given, folder, index)
    if "mistakes" not in given:
        return [trial.wrong(launch) for launch in given["launches"]]
    texts = dict(mutants(kernel_text(given["text"])))
    return [trial.finds(texts[label]()) for label in given["mistakes"]]


def main() -> None:
    torch.set_num_threads(1)
    answers = []
    with open(sys.argv[1]) as file, tempfile.TemporaryDirectory() as folder:
        for index, line in enumerate(file):
            trial = json.loads(line)
            answers.append({"name": trial["name"], "wrong": run(trial, Path(folder), index)})
    with open(sys.argv[2], "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
