"""What ``--types`` gives a kernel, held against its parameters: each mistake is answered with what to write instead."""

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

# Of a remedy that is found by compiling.
MOST_SECONDS = 2.0


def unknown_names(kernels: Mapping[str, JITFunction], types: Mapping[str, Any]) -> str | None:
    """Why names of ``--types`` are no parameters of any of these kernels."""
    known = list(dict.fromkeys(param.name for kernel in kernels.values() for param in kernel.params))
    unknown = [name for name in types if name not in known]
    if not unknown:
        return None
    of = next(iter(kernels)) if len(kernels) == 1 else "no kernel of the file"
    has = f"which {of} {'does not have' if len(kernels) == 1 else 'has'}"
    near = {name: difflib.get_close_matches(name.lower(), [each.lower() for each in known], 1) for name in unknown}
    meant = [f"{each} for {name}" for name in unknown for each in known if each.lower() in near[name]]
    instead = f"write {', '.join(meant)}" if meant else f"the parameters are {', '.join(known)}"
    return f"--types gives {', '.join(unknown)}, {has}; {instead}"


def refusal(kernel: JITFunction, types: Mapping[str, Any], others: bool) -> str | None:
    """Why ``--types`` is no call of a kernel; there may be ``others`` in its file that it is meant for."""
    lacking = _lacking(kernel, types)
    if lacking:
        alone = "; --kernel NAME imports one kernel of the file alone" if others else ""
        return f"--types lacks {', '.join(lacking)}; add {', '.join(lacking.values())}{alone}"
    for param in kernel.params:
        given = types.get(param.name)
        if given is None:
            continue
        if param.is_constexpr and given["kind"] != "constant":
            return f"{param.name} is a tl.constexpr; --types gives it a value, such as {param.name}=64"
        if not param.is_constexpr and given["kind"] == "constant" and given["value"]["what"] == "dtype":
            dtype = given["value"]["dtype"]
            name = param.name
            return f"{name}={dtype} passes a dtype, and {name} is no tl.constexpr; write {name}:{dtype}"
    return None


def _lacking(kernel: JITFunction, types: Mapping[str, Any]) -> dict[str, str]:
    """What to add for each parameter that a call has to pass."""
    tuned = first_config(kernel)
    computed = {name for each in decorators_of(kernel) if isinstance(each, Heuristics) for name in each.values}
    missing = [
        param
        for param in kernel.params
        if param.name not in types and param.name not in tuned and not param.has_default
    ]
    return {param.name: _wanted(param, computed) for param in missing}


def _wanted(param: Any, computed: set[str]) -> str:
    if param.name in computed:
        return f"{param.name}=… with what its heuristic gives"
    return f"{param.name}=…" if param.is_constexpr else f"{param.name}:i32 or {param.name}:*fp16"


def stars(kernel: JITFunction, given: Mapping[str, Argument]) -> str:
    """The stars to add or remove with which Triton compiles a kernel, as the end of a sentence; empty if none do."""
    until = time.monotonic() + MOST_SECONDS
    changed: dict[str, Argument] = {}
    reached = _reached(kernel, given)
    for name, argument in given.items():
        kind = {"pointer": "scalar", "scalar": "pointer"}.get(argument.kind)
        if kind is None or time.monotonic() > until:
            continue
        further = {**changed, name: Argument(kind, argument.dtype)}
        line = _reached(kernel, {**given, **further})
        if line > reached:
            reached, changed = line, further
        if math.isinf(reached):
            written = [f"{each}:{argument.type}" for each, argument in changed.items()]
            return f"; it compiles with {', '.join(written)}: a pointer has a star, and a number none"
    return ""


def _reached(kernel: JITFunction, given: Mapping[str, Argument]) -> float:
    """The line that Triton refuses; infinite if it compiles the kernel."""
    try:
        ttir(kernel, given)
    except CompilationError as error:
        return float(getattr(error.node, "lineno", 0))
    except Exception:
        return 0.0
    return math.inf


def listed(lead: str, names: Iterable[str]) -> str:
    """The names behind what leads to them; nothing if there are none."""
    given = ", ".join(names)
    return f"{lead}{given}" if given else ""
