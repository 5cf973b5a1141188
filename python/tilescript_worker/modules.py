"""Emitted modules: importing them by path, and choosing one of their autotune configs."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .protocol import RequestError

_count = itertools.count()


@dataclass
class _Loaded:
    """An imported file, the author's configs of each autotuner, and the selected one."""

    modified: int
    module: ModuleType
    configs: dict[Any, list[Any]]
    config: int | None = None
    # Whether a launch can be the warp-specialized kernel's, as the module decides it.
    suits_specialized: Any = None


_loaded: dict[str, _Loaded] = {}


def load(path: str, jits: list[str], config: int | None, gpu: dict[str, int] | None = None) -> ModuleType:
    """The module with one config left, or with all of them for ``None``; imported again once the file changes.

    A file is imported once for all its configs: PyTorch has an operator's name once, and a second import would take
    it from the first. What the module remembers between calls goes with the config that is left. ``gpu`` is the one
    that the module takes for its own where it runs on none.
    """
    path, modified = os.path.realpath(path), os.stat(path).st_mtime_ns
    if path not in _loaded or _loaded[path].modified != modified:
        module = import_file(path)
        _loaded[path] = _Loaded(modified, module, {tuner: tuner.configs for tuner in autotuners(module)})
    loaded = _loaded[path]
    if loaded.config != config:
        loaded.config = None
        getattr(loaded.module, "_LAUNCHES", {}).clear()
        for tuner, configs in loaded.configs.items():
            tuner.configs = configs
            tuner.cache.clear()
        if hasattr(loaded.module, "_is_specialized"):
            # A config is one of the plain kernel's; the specialized one has configs of its own.
            loaded.suits_specialized = suits_specialized(loaded.module)
            loaded.module._is_specialized = loaded.suits_specialized if config is None else _never
        for jit in jits:
            _select(getattr(loaded.module, jit), config, several=len(jits) > 1)
        loaded.config = config
    if gpu is not None:
        loaded.module._INTERPRETED_GPU = gpu
    return loaded.module


def _never(*_tensors: Any) -> bool:
    return False


def suits_specialized(module: ModuleType) -> Any:
    """The module's own ``_is_specialized``, whatever a config has put in its place."""
    known = [each.suits_specialized for each in _loaded.values() if each.module is module and each.suits_specialized]
    return known[0] if known else module._is_specialized


def import_file(path: str) -> ModuleType:
    """A file as a module, new each time."""
    name = f"_tilescript_kernel_{next(_count)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RequestError("python-error", f"{path} can't be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _select(kernel: Any, config: int | None, several: bool) -> None:
    """Keeps one config, so that Triton launches it without a benchmark (the interpreter has no driver for one).

    Of ``several`` kernels each has its own configs, and begins again with the first where it has fewer.
    """
    if config is None:
        return
    tuner = autotuner(kernel)
    if several:
        config %= 1 if tuner is None else len(tuner.configs)
    if tuner is None:
        if config != 0:
            raise RequestError("python-error", f"config {config} was asked for, but the kernel is not autotuned")
        return
    if config >= len(tuner.configs):
        raise RequestError("python-error", f"config {config} was asked for, the kernel has {len(tuner.configs)}")
    tuner.configs = [tuner.configs[config]]


def autotuners(module: ModuleType) -> list[Any]:
    """The autotuner of each kernel of a module that has one."""
    found = [autotuner(value) for value in vars(module).values() if hasattr(value, "fn")]
    return [tuner for place, tuner in enumerate(found) if tuner is not None and tuner not in found[:place]]


def autotuner(kernel: Any) -> Any | None:
    """The autotuner among the decorators around a jit function."""
    while kernel is not None and not hasattr(kernel, "configs"):
        kernel = getattr(kernel, "fn", None)
    return kernel
