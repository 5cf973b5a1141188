"""Exceptions as data: what kind, what it says, and which lines of the emitted module it passed through."""

from __future__ import annotations

import os
import traceback
from typing import Any


def describe(error: BaseException, module: str | None) -> dict[str, Any]:
    """The error message of the protocol. ``fatal`` says that this process can't be trusted any more."""
    root = _root(error)
    kind = _kind(root)
    frames = [frame for link in _chain(error) for frame in _frames(link, module)]
    if not frames and module:
        frames = _compiler_frames(error, module)
    return {
        "kind": kind,
        "message": _message(root),
        "exception": type(root).__name__,
        "frames": frames,
        "fatal": kind == "device-error",
    }


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, outermost first; Triton's interpreter wraps every exception once."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def _root(error: BaseException) -> BaseException:
    return _chain(error)[-1]


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _kind(error: BaseException) -> str:
    name = type(error).__name__
    text = str(error)
    if name == "OutOfMemoryError" or isinstance(error, MemoryError) or "out of memory" in text:
        return "out-of-memory"
    if name == "OutOfResources":
        return "out-of-resources"
    if "CUDA error" in text or "HIP error" in text or "device-side assert" in text:
        return "device-error"
    if isinstance(error, NotImplementedError) and "not supported in interpreter mode" in text:
        return "unsupported"
    if name in {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError"}:
        return "compile-error"
    return "python-error"


def _frames(error: BaseException, module: str | None) -> list[dict[str, Any]]:
    """Frames inside the emitted module, outermost first; frames of Triton, torch and the worker are no help."""
    if module is None:
        return []
    return [
        {"line": frame.lineno, "function": frame.name, "text": frame.line or ""}
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.lineno is not None and _same_file(frame.filename, module)
    ]


def _compiler_frames(error: BaseException, module: str) -> list[dict[str, Any]]:
    """Triton's compiler counts lines from the kernel's ``def``; the text of that line finds it in the file."""
    for link in reversed(_chain(error)):
        source, node = getattr(link, "src", None), getattr(link, "node", None)
        if not isinstance(source, str) or not hasattr(node, "lineno"):
            continue
        with open(module, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for start in range(len(lines)):
            if lines[start] and source.startswith(lines[start] + "\n"):
                text = lines[start + node.lineno - 1]
                return [{"line": start + node.lineno, "function": "", "text": text.strip()}]
    return []


def _same_file(left: str, right: str) -> bool:
    return os.path.realpath(left) == os.path.realpath(right)
