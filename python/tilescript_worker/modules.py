"""Imports emitted modules by path, and selects one of their autotune configs."""

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
    # The module's predicate for launches of the warp-specialized kernel.
    predicate: Any = None


_loaded: dict[str, _Loaded] = {}


def load(path: str, jits: list[str], config: int | None, gpu: dict[str, int] | None = None) -> ModuleType:
    """Loads a module with one config selected, or all of them for ``None``. A changed file is imported again.

    A file is imported once for all configs, because a second import would register its PyTorch operators again.
    Selecting another config clears the module's launch cache. ``gpu`` is the GPU that the module assumes if none runs
    it.
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
            # The config belongs to the plain kernel. The specialized kernel has its own configs.
            loaded.predicate = specialization_predicate(loaded.module)
            vars(loaded.module)["_is_specialized"] = loaded.predicate if config is None else _never
        for jit in jits:
            _select(getattr(loaded.module, jit), config, several=len(jits) > 1)
        loaded.config = config
    if gpu is not None:
        vars(loaded.module)["_INTERPRETED_GPU"] = gpu
    return loaded.module


def forget_choices(module: ModuleType, interpreted: bool) -> None:
    """Forgets the autotuners' choices and the launches of earlier calls.

    The interpreter has no GPU that could measure, so the autotuner then runs each config once and takes the first.
    """
    getattr(module, "_LAUNCHES", {}).clear()
    for tuner in autotuners(module):
        tuner.cache.clear()
        if interpreted:
            tuner.do_bench = run_once


def run_once(function: Any, quantiles: Any = None, **_: Any) -> Any:
    function()
    return 1.0 if quantiles is None else [1.0 for _ in quantiles]


def _never(*_tensors: Any) -> bool:
    return False


def specialization_predicate(module: ModuleType) -> Any:
    """The module's original ``_is_specialized``, even if a selected config has replaced it."""
    predicates = [each.predicate for each in _loaded.values() if each.module is module and each.predicate]
    return predicates[0] if predicates else module._is_specialized


def import_file(path: str) -> ModuleType:
    """Imports a file as a new module."""
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

    If ``several`` kernels have configs, the index wraps around for a kernel with fewer.
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
    tuners = [autotuner(value) for value in vars(module).values() if hasattr(value, "fn")]
    return [tuner for index, tuner in enumerate(tuners) if tuner is not None and tuner not in tuners[:index]]


def autotuner(kernel: Any) -> Any | None:
    """The autotuner among the decorators around a jit function."""
    while kernel is not None and not hasattr(kernel, "configs"):
        kernel = getattr(kernel, "fn", None)
    return kernel
