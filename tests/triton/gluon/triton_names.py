"""FROM TO: what Triton lacks of the names and parameters in FROM. It needs no torch."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import hopper

SPACES = {"gl": gl, "mbarrier": hopper.mbarrier, "tma": hopper.tma}


def real(name: str) -> Any:
    space, _, own = name.rpartition(".")
    found = getattr(SPACES.get(space, hopper), own, None)
    return getattr(found, "fn", found)


def lacks(name: str, wanted: list[list[str]]) -> list[str]:
    """What a call that fits the stand-in may not pass to Triton's function."""
    function = real(name)
    if function is None:
        return [name]
    given = [each for each in inspect.signature(function).parameters.values() if not each.name.startswith("_")]
    places = [each.name for each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
    at_places = [own for own, kind in wanted if kind.startswith("POSITIONAL")]
    # A parameter that calls do not name may have another name.
    called = {own for own, kind in wanted if kind != "POSITIONAL_ONLY"}
    missing = [f"{name}({own})" for own in called if own not in {each.name for each in given}]
    fits = len(places) >= len(at_places) and all(
        own == each for own, each in zip(at_places, places) if own in called
    )
    return missing or ([] if fits else [f"{name}: {at_places}, not {places}"])


def main() -> None:
    with open(sys.argv[1]) as file:
        wanted = json.loads(file.read())
    with open(sys.argv[2], "w") as file:
        json.dump([each for name, given in wanted.items() for each in lacks(name, given)], file)


if __name__ == "__main__":
    main()
