"""Checks ``--types`` against a kernel's parameters. Each error message names the correction."""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Heuristics
from triton.runtime.jit import JITFunction

from .host import decorators_of, first_config
from .ttir import Argument, ttir

# Time limit of the search for a correction by compiling.
MAX_SECONDS = 2.0


def unknown_names(kernels: Mapping[str, JITFunction], types: Mapping[str, Any]) -> str | None:
    """The error for names in ``--types`` that no kernel has as a parameter."""
    param_names = list(dict.fromkeys(param.name for kernel in kernels.values() for param in kernel.params))
    unknown = [name for name in types if name not in param_names]
    if not unknown:
        return None
    owner = next(iter(kernels)) if len(kernels) == 1 else "no kernel of the file"
    ownership = f"which {owner} {'does not have' if len(kernels) == 1 else 'has'}"
    matches = {
        name: difflib.get_close_matches(name.lower(), [param_name.lower() for param_name in param_names], 1)
        for name in unknown
    }
    suggestions = [
        f"{param_name} for {name}"
        for name in unknown
        for param_name in param_names
        if param_name.lower() in matches[name]
    ]
    remedy = f"write {', '.join(suggestions)}" if suggestions else f"the parameters are {', '.join(param_names)}"
    return f"--types gives {', '.join(unknown)}, {ownership}; {remedy}"


def error_for(kernel: JITFunction, types: Mapping[str, Any], has_others: bool) -> str | None:
    """The error for ``--types`` that do not form a call of a kernel. ``has_others`` adds a hint to use ``--kernel``."""
    missing = _missing_params(kernel, types)
    if missing:
        hint = "; --kernel NAME imports one kernel of the file alone" if has_others else ""
        return f"--types lacks {', '.join(missing)}; add {', '.join(missing.values())}{hint}"
    for param in kernel.params:
        declared = types.get(param.name)
        if declared is None:
            continue
        if param.is_constexpr and declared["kind"] != "constant":
            return f"{param.name} is a tl.constexpr; --types gives it a value, such as {param.name}=64"
        if not param.is_constexpr and declared["kind"] == "constant" and declared["value"]["what"] == "dtype":
            dtype = declared["value"]["dtype"]
            name = param.name
            return f"{name}={dtype} passes a dtype, and {name} is no tl.constexpr; write {name}:{dtype}"
    return None


def _missing_params(kernel: JITFunction, types: Mapping[str, Any]) -> dict[str, str]:
    """The missing parameters, each with an example argument."""
    config_values = first_config(kernel)
    computed = {name for each in decorators_of(kernel) if isinstance(each, Heuristics) for name in each.values}
    missing = [
        param
        for param in kernel.params
        if param.name not in types and param.name not in config_values and not param.has_default
    ]
    return {param.name: _example_of(param, computed) for param in missing}


def _example_of(param: Any, computed: set[str]) -> str:
    if param.name in computed:
        return f"{param.name}=… with what its heuristic gives"
    return f"{param.name}=…" if param.is_constexpr else f"{param.name}:i32 or {param.name}:*fp16"


def pointer_depth_hint(kernel: JITFunction, signature: Mapping[str, Argument]) -> str:
    """Stars to add or remove so that Triton compiles the kernel, as the end of a sentence; empty without a fix."""
    deadline = time.monotonic() + MAX_SECONDS
    changed: dict[str, Argument] = {}
    last_line = _error_line(kernel, signature)
    for name, argument in signature.items():
        kind = {"pointer": "scalar", "scalar": "pointer"}.get(argument.kind)
        if kind is None or time.monotonic() > deadline:
            continue
        candidate = {**changed, name: Argument(kind, argument.dtype)}
        line = _error_line(kernel, {**signature, **candidate})
        if line > last_line:
            last_line, changed = line, candidate
        if math.isinf(last_line):
            type_texts = [f"{each}:{argument.type}" for each, argument in changed.items()]
            return f"; it compiles with {', '.join(type_texts)}: a pointer has a star, and a number none"
    return ""


def _error_line(kernel: JITFunction, signature: Mapping[str, Argument]) -> float:
    """The line that Triton rejects; infinite if the kernel compiles."""
    try:
        ttir(kernel, signature)
    except CompilationError as error:
        return float(getattr(error.node, "lineno", 0))
    except Exception:
        return 0.0
    return math.inf


def format_list(lead: str, names: Iterable[str]) -> str:
    """The names after ``lead``; empty without names."""
    text = ", ".join(names)
    return f"{lead}{text}" if text else ""
