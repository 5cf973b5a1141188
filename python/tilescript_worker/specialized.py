"""Launches the warp-specialized kernels of a module with selected configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from .modules import autotuner, specialization_predicate


@dataclass(frozen=True)
class Launch:
    """The config of a launch: its index among the valid configs, their count, and its values."""

    config: int
    config_count: int
    values: dict[str, Any]

    def __str__(self) -> str:
        return f"the warp-specialized kernel, with its config {self.config} of {self.config_count} ({self.values})"


@contextmanager
def specialized(module: ModuleType, config_index: int, compile_only: bool = False) -> Iterator[list[Launch]]:
    """Inside a ``with``, calls launch the warp-specialized kernels if their tensors allow it, and are listed.

    ``config_index`` selects a config of each kernel, modulo the number of valid ones. An exception of a specialized
    launch gets the attribute ``launched``. With ``compile_only``, no check of the GPU is made.
    """
    tuners = [tuner for name in kernels_of(module) if (tuner := autotuner(getattr(module, name)))]
    if not tuners:
        yield []
        return
    launches: list[Launch] = []

    def run_one(tuner: Any, run: Any, *arguments: Any, **options: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
        fitting = tuner.prune_configs(options)
        config = fitting[config_index % len(fitting)]
        launches.append(Launch(config_index % len(fitting), len(fitting), config.all_kwargs()))
        with _patch_attributes(tuner, configs=[config]):
            return run(*arguments, **options)

    chosen = {"_is_faster": lambda *_: True} if hasattr(module, "_is_faster") else {}
    launch_cache = getattr(module, "_LAUNCHES", {})
    # A cached launch would bypass the selected config.
    launch_cache.clear()
    try:
        predicate = _tma_predicate(module) if compile_only else specialization_predicate(module)
        with ExitStack() as stack:
            for tuner in tuners:
                stack.enter_context(_patch_attributes(tuner, run=partial(run_one, tuner, tuner.run)))
            stack.enter_context(_patch_attributes(module, _is_specialized=predicate, **chosen))
            yield launches
    except Exception as error:
        if launches:
            vars(error)["launched"] = str(launches[-1])
        raise
    finally:
        launch_cache.clear()


def _tma_predicate(module: ModuleType) -> Callable[..., bool]:
    return lambda *tensors: all(map(module._is_movable, tensors))


@contextmanager
def _patch_attributes(owner: Any, **values: Any) -> Iterator[None]:
    """Inside a ``with``, replaces attributes of an object."""
    attributes = vars(owner)
    saved = {name: attributes[name] for name in values if name in attributes}
    attributes.update(values)
    try:
        yield
    finally:
        for name in values:
            del attributes[name]
        attributes.update(saved)


def kernels_of(module: ModuleType) -> list[str]:
    """The names of a module's warp-specialized kernels: one at most, unless it has an operator."""
    if not hasattr(module, "_is_specialized"):
        return []
    return [name for name in vars(module) if name.endswith("_specialized_kernel")]
