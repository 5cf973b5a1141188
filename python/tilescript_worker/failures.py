"""Exceptions as data: their kind, their message, and the lines of the emitted module that they passed through."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any


class WrongResult(Exception):
    """A function of the module returned something of the wrong kind."""

    def __init__(self, function: Callable[..., Any], message: str) -> None:
        super().__init__(message)
        self.function = function


def describe(error: BaseException, module: str | None) -> dict[str, Any]:
    """The error object of the protocol. ``fatal`` means that this process is no longer usable."""
    chain = _chain(error)
    kind = _kind(chain)
    printed = getattr(error, "compiler_output", "")
    frames = [frame for exception in chain for frame in _frames(exception, module)]
    message = _message(chain[-1])
    if module:
        # Frames inside the kernel follow the frame of the wrapper that launches it.
        frames += _compiler_frames(chain, module)
        if location := _printed_error(printed, module):
            line, message = location
            frames.append(_frame_of_line(module, line))
            kind = "compile-error"
    if launch := getattr(error, "launched", None):
        message = f"{launch}: {message}"
    return {
        "kind": kind,
        "message": message,
        "exception": type(chain[-1]).__name__,
        "frames": frames,
        "raw": "".join(traceback.format_exception(error)) + printed,
        # After running out of memory, release what the traceback and the allocator hold.
        "fatal": kind in ("device-error", "out-of-memory"),
    }


@contextmanager
def compiler_output(folder: str | None) -> Iterator[None]:
    """Attaches to the exception what Triton and its compilers print (C++, which bypasses ``sys.stderr``)."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    real = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile(dir=folder) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Exception as error:
            for stream in streams:
                stream.flush()
            vars(error)["compiler_output"] = _read(file)
            raise
        finally:
            for stream in streams:
                stream.flush()
            for number, saved in enumerate(real, 1):
                os.dup2(saved, number)
                os.close(saved)
            sys.stderr.write(_read(file))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _chain(error: BaseException) -> list[BaseException]:
    """The error and its causes, outermost first; Triton's interpreter wraps every exception once."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def _message(error: BaseException) -> str:
    """The message of an exception, without the source code that Triton's compiler puts before it."""
    text = getattr(error, "error_message", None) or str(error) or type(error).__name__
    if shortage := _REGISTER_SHORTAGE.search(text):
        text = shortage[1].rstrip(".")
    if isinstance(error, SyntaxError):
        # Without the file and the line, which the frames have.
        text = error.msg
    # Triton's compiler shows the `repr` of the error.
    return re.sub(r"^(\w+)\((['\"])(.*)\2\)$", r"\1: \3", text, flags=re.DOTALL)


_COMPILE_ERRORS = {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError"}


# The message of ptxas if a kernel needs more registers than `maxnreg` and the warps allow a thread.
_REGISTER_SHORTAGE = re.compile(r"fatal\s*: (?:\(C\d+\) )?((?:Register allocation failed|Insufficient registers).*)")


def is_out_of_resources(error: BaseException) -> bool:
    """True if the config exceeds the GPU's resources. Triton's autotuner skips such a config."""
    name = type(error).__name__
    return name == "OutOfResources" or (name == "PTXASError" and _REGISTER_SHORTAGE.search(str(error)) is not None)


# torch's messages on a GPU, and on the CPU.
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


def _kind(chain: list[BaseException]) -> str:
    error = chain[-1]
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return "no-space"
    name = type(error).__name__
    text = str(error)
    if name == "OutOfMemoryError" or isinstance(error, MemoryError) or any(phrase in text for phrase in _NO_MEMORY):
        return "out-of-memory"
    if any(is_out_of_resources(link) for link in chain):
        return "out-of-resources"
    if "CUDA error" in text or "HIP error" in text or "device-side assert" in text:
        return "device-error"
    if isinstance(error, NotImplementedError) and "not supported in interpreter mode" in text:
        return "unsupported"
    if any(type(link).__name__ in _COMPILE_ERRORS for link in chain):
        return "compile-error"
    return "python-error"


def _frames(error: BaseException, module: str | None) -> list[dict[str, Any]]:
    """Frames inside the emitted module, outermost first, without those of Triton, torch and the worker."""
    if module is None:
        return []
    frames = [
        {"line": frame.lineno, "function": frame.name, "text": frame.line or ""}
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.lineno is not None and _same_file(frame.filename, module)
    ]
    if isinstance(error, SyntaxError) and error.lineno and _same_file(error.filename or "", module):
        preceding = "\n".join(_lines(module)[: error.lineno])
        functions = re.findall(r"^def (\w+)", preceding, re.MULTILINE)
        frames.append(_frame_of_line(module, error.lineno, *functions[-1:]))
    # The function has already returned, so the traceback has no frame of it.
    if isinstance(error, WrongResult) and (code := getattr(error.function, "__code__", None)):
        frames.append(_frame_of_line(module, code.co_firstlineno, code.co_name))
    return frames


def _compiler_frames(chain: list[BaseException], module: str) -> list[dict[str, Any]]:
    """Triton's compiler counts lines from the kernel's ``def``; the text of that line finds it in the file."""
    for link in reversed(chain):
        source, line = getattr(link, "src", None), getattr(getattr(link, "node", None), "lineno", None)
        if not isinstance(source, str) or not isinstance(line, int):
            continue
        lines = _lines(module)
        for start in range(len(lines)):
            if lines[start] and source.startswith(lines[start] + "\n"):
                return [_frame_of_line(module, start + line)]
    return []


def _printed_error(printed: str, module: str) -> tuple[int, str] | None:
    """The line of the module and the text of an error that a compiler pass or ptxas printed."""
    if match := re.findall(rf"{re.escape(module)}:(\d+):\d+\)*: error: (.*)", printed):
        return int(match[-1][0]), match[-1][1]
    if not (match := re.search(r"^ptxas\S* .*, line (\d+); error *: (.*)", printed, re.MULTILINE)):
        return None
    # Triton prints the PTX too. In it, `.file 1 "…/gemm.py"` and `.loc 1 42 5` say where an instruction comes from.
    ptx = re.search(r"^//\n// Generated by LLVM NVPTX.*", printed, re.MULTILINE | re.DOTALL)
    preceding = "\n".join(ptx[0].split("\n")[: int(match[1])]) if ptx else ""
    locations = re.findall(r"^\s*\.loc\s+(\d+) (\d+)", preceding, re.MULTILINE)
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "(.*)"', ptx[0], re.MULTILINE)) if ptx else {}
    lines = [int(line) for file, line in locations if files.get(file, "").endswith(os.path.basename(module))]
    return (lines[-1], f"ptxas: {match[2]}") if lines else None


def _frame_of_line(module: str, line: int, function: str = "") -> dict[str, Any]:
    return {"line": line, "function": function, "text": _lines(module)[line - 1].strip()}


def _lines(module: str) -> list[str]:
    with open(module, encoding="utf-8") as file:
        return file.read().split("\n")


def _same_file(path: str, other_path: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other_path)
