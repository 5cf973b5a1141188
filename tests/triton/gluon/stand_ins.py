"""FROM TO: the names that the emulator stands in for, with their parameters, for each version of Triton in FROM."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from emulator.language import names_for
from emulator.machine import Machine
from emulator.scheduler import Order


def parameters(function: Any) -> list[list[str]]:
    return [[each.name, each.kind.name] for each in inspect.signature(function).parameters.values()]


def stand_ins(version: str) -> dict[str, list[list[str]]]:
    """By their names in a kernel."""
    names = names_for(Machine(Order("random 1"), (0, 0, 0), (1, 1, 1), 4), version)
    flat = dict(names)
    for space in ("gl", "mbarrier", "tma"):
        flat |= {f"{space}.{name}": value for name, value in vars(flat.pop(space)).items()}
    # `range` is Python's, and `_carried` is the emulator's own.
    return {
        name: parameters(value)
        for name, value in flat.items()
        if inspect.isfunction(value) and name not in ("range", "_carried")
    }


def main() -> None:
    with open(sys.argv[1]) as file:
        found = [stand_ins(json.loads(line)["version"]) for line in file]
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
