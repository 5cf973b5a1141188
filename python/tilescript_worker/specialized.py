"""The warp-specialized kernel of a module, launched with one of its own configs wherever it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .modules import autotuner, suits_specialized


@dataclass(frozen=True)
class Launch:
    """The config of a launch: its place among those that fit the sizes, how many fit, and its values."""

    config: int
    of: int
    values: dict[str, Any]

    def __str__(self) -> str:
        return f"the warp-specialized kernel, with its config {self.config} of {self.of} ({self.values})"


@contextmanager
def specialized(module: ModuleType, place: int, compiles: bool = False) -> Iterator[list[Launch]]:
    """Inside a ``with``, calls launch the warp-specialized kernel where their tensors suit it; the list says which did.

    It has the config at ``place``, counted on from the first behind the last. An error of such a launch says so. Where
    it is only compiled, any GPU will do.
    """
    tuner = tuner_of(module)
    if tuner is None:
        yield []
        return
    launches: list[Launch] = []
    run = tuner.run

    def run_one(*arguments: Any, **options: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
        fitting = tuner.prune_configs(options)
        config = fitting[place % len(fitting)]
        launches.append(Launch(place % len(fitting), len(fitting), config.all_kwargs()))
        with _replaced(tuner, configs=[config]):
            return run(*arguments, **options)

    chosen = {"_is_faster": lambda *_: True} if hasattr(module, "_is_faster") else {}
    remembered = getattr(module, "_LAUNCHES", {})
    # A call like an earlier one would go straight to the launch of that.
    remembered.clear()
    try:
        suits = _are_movable(module) if compiles else suits_specialized(module)
        with _replaced(tuner, run=run_one), _replaced(module, _is_specialized=suits, **chosen):
            yield launches
    except Exception as error:
        if launches:
            error.launched = str(launches[-1])  # type: ignore[attr-defined]
        raise
    finally:
        remembered.clear()


def _are_movable(module: ModuleType) -> Callable[..., bool]:
    return lambda *tensors: all(map(module._is_movable, tensors))


@contextmanager
def _replaced(owner: Any, **values: Any) -> Iterator[None]:
    """Inside a ``with``, attributes of an object have other values."""
    own = vars(owner)
    before = {name: own[name] for name in values if name in own}
    own.update(values)
    try:
        yield
    finally:
        for name in values:
            del own[name]
        own.update(before)


def tuner_of(module: ModuleType) -> Any | None:
    """The autotuner of a module's warp-specialized kernel, if it has one."""
    name = kernel_of(module)
    return None if name is None else autotuner(getattr(module, name))


def kernel_of(module: ModuleType) -> str | None:
    """The name of a module's warp-specialized kernel, if it has one."""
    if not hasattr(module, "_is_specialized"):
        return None
    return next(name for name in vars(module) if name.endswith("_specialized_kernel"))
