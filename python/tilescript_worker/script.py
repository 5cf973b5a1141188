"""Code shared by the two scripts: one JSON object on stdout, messages on stderr, and exit codes.

The exit code is 0 if right, 1 if wrong, 2 for a command-line error, and 3 without a usable device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .descendants import kill_descendants
from .parent_watch import exit_with_parent
from .protocol import RequestError

OK, FAILED, USAGE, ENVIRONMENT = range(4)
# Exit code of a shell after Ctrl-C.
INTERRUPTED = 130
# Seconds between two looks at the child, and between two reports that a step goes on.
POLL, REPORT_INTERVAL = 0.05, 1
# A step that goes on, such as one that tunes, gets this many times the deadline.
PATIENCE = 10
# Required packages.
PACKAGES = ("numpy", "torch", "triton")


class KernelFileError(Exception):
    """A file that cannot be used as it is; the text names the remedy."""


Result = dict[str, Any]
Action = Callable[[argparse.Namespace], tuple[Result, int]]


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that both scripts have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("file", help="a Python file with kernel_fn, reference_fn and get_inputs")
    parser.add_argument("--rtol", type=_tolerance, help="relative tolerance; by the output's dtype if left out")
    parser.add_argument("--atol", type=_tolerance, help="absolute tolerance; by the output's dtype if left out")
    parser.add_argument("--seed", type=non_negative_int, default=0, help="of the random inputs (0)")
    parser.add_argument(
        "--timeout",
        type=positive_int,
        default=120,
        metavar="SECONDS",
        help="for each step, such as a call of kernel_fn (120)",
    )
    return parser


def non_negative_int(text: str) -> int:
    """Parses a non-negative integer option."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def positive_int(text: str) -> int:
    """Parses a positive integer option."""
    value = non_negative_int(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is too few; give 1 or more")
    return value


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return value


def problem_text(result: dict[str, Any]) -> str:
    """A comparison that found wrong elements."""
    if "problem" in result:
        return f"{result['output']} {result['problem']}"
    worst = result["worst"]
    return (
        f"{result['wrong']} of {result['total']} elements of {result['output']} are wrong; the worst, at "
        f"{worst['index']}, is {worst['got']} and should be {worst['expected']}; around it {worst['around']['got']} "
        f"instead of {worst['around']['expected']}"
    )


def report_progress(step: str | None = None) -> None:
    """Says that the next step begins, or that the current one goes on, which gives it more time."""
    global _reported
    now = time.monotonic()
    if step is not None or now > _reported + REPORT_INTERVAL:
        _reported = now
        _send({"step": step})


def run(args: argparse.Namespace, action: Action, problem: Callable[[str], Result], in_subprocess: bool = True) -> int:
    """Prints the result of ``action``, or ``problem(message)`` after an error. Nothing else reaches stdout.

    The action runs in a child process, so that each of its ends is reported: a hang, a signal, an exit. Without a child
    process, only errors and hangs are.
    """
    stdout = os.dup(1)
    # What anything prints here goes to stderr, C and child processes included.
    sys.stdout.flush()
    os.dup2(2, 1)

    def failed(text: str, code: int) -> tuple[Result, int]:
        print(f"error: {text}", file=sys.stderr)
        return problem(text), code

    def outcome() -> tuple[Result, int]:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return action(args)
        except RequestError as error:
            return failed(str(error), ENVIRONMENT)
        except ModuleNotFoundError as error:
            if error.name not in PACKAGES:
                return failed(_text(error, args.file), FAILED)
            need = f"{sys.executable} has no {error.name}; install torch and triton there, or take another Python"
            return failed(need, ENVIRONMENT)
        except SystemExit as error:
            return failed(f"{args.file} ends the process, with {error.code!r}; leave that to other files", FAILED)
        except BaseException as error:
            return failed(_text(error, args.file), FAILED)

    if not os.path.isfile(args.file):
        return _print(stdout, *failed(f"there is no file {args.file}; check the path", USAGE))
    if not args.file.endswith(".py"):
        return _print(stdout, *failed(f"{args.file} is no Python file; name one that ends in .py", USAGE))
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        runner = _run_in_subprocess if in_subprocess else _run_here
        result = runner(outcome, failed, args.timeout, stdout)
    except KeyboardInterrupt:
        result = failed("interrupted", INTERRUPTED)
    return _print(stdout, *result)


_reported = 0.0
# The pipe to the parent, and the process that writes to it. A fork of that process must not.
_pipe: tuple[int, int] | None = None


def _send(message: dict[str, Any]) -> None:
    if _pipe is None:
        return
    descriptor, process = _pipe
    if os.getpid() != process:
        # The file has forked, and this is the child: the parent goes on.
        os._exit(0)
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _run_in_subprocess(
    outcome: Callable[[], tuple[Result, int]],
    failed: Callable[[str, int], tuple[Result, int]],
    timeout: int,
    stdout: int,
) -> tuple[Result, int]:
    parent = os.getpid()
    reading, writing = os.pipe()
    with kill_descendants():
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.close(stdout)
            _serve(outcome, writing, parent)
        os.close(writing)
        try:
            verdict, end = _await(child, reading, timeout)
        finally:
            os.close(reading)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        return verdict or failed(end, FAILED)


def _run_here(
    outcome: Callable[[], tuple[Result, int]],
    failed: Callable[[str, int], tuple[Result, int]],
    timeout: int,
    stdout: int,
) -> tuple[Result, int]:
    """Runs the action in this process, which a thread ends after the deadline of a step."""
    global _pipe
    reading, writing = os.pipe()
    _pipe = (writing, os.getpid())

    def watch() -> None:
        verdict, end = _await(None, reading, timeout)
        if verdict is None:
            os._exit(_print(stdout, *failed(end, FAILED)))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    result = outcome()
    _send({"verdict": result})
    watcher.join()
    return result


def _serve(outcome: Callable[[], tuple[Result, int]], writing: int, parent: int) -> None:
    """Runs the action and ends this process."""
    global _pipe
    try:
        # Signals to the group of this process spare the parent, and Ctrl-C in a terminal reaches the parent alone.
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _pipe = (writing, os.getpid())
        exit_with_parent(parent)
        _send({"verdict": outcome()})
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(FAILED)


def _await(child: int | None, reading: int, timeout: int) -> tuple[tuple[Result, int] | None, str]:
    """The verdict of the child, or of this process, or why there is none."""
    step, deadline = "the start", time.monotonic() + timeout
    latest = time.monotonic() + PATIENCE * timeout
    received, is_open = b"", True
    while time.monotonic() < deadline:
        ended, status = (0, 0) if child is None else os.waitpid(child, os.WNOHANG)
        # A process that the child started may keep the pipe open.
        while is_open and select.select([reading], [], [], 0 if ended else POLL)[0]:
            data = os.read(reading, 2**16)
            received, is_open = received + data, len(data) > 0
            *lines, received = received.split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "verdict" in message:
                    return tuple(message["verdict"]), ""
                now = time.monotonic()
                if message["step"] is not None:
                    step, latest = message["step"], now + PATIENCE * timeout
                deadline = min(now + timeout, latest)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            return None, f"the process {how} in {step}; does the kernel read or write outside its tensors?"
        if not is_open:
            time.sleep(POLL)
    return None, f"{step} did not end within {timeout} s; --timeout gives it more"


def _print(stdout: int, result: Result, code: int) -> int:
    """Prints the result and returns the exit code."""
    try:
        data = json.dumps(result).encode() + b"\n"
        while data:
            data = data[os.write(stdout, data) :]
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"error: standard output can't be written: {error.strerror}", file=sys.stderr)
        code = ENVIRONMENT
    return code


def _text(error: BaseException, path: str) -> str:
    """The error, and the last line of the file in its traceback."""
    if isinstance(error, KernelFileError):
        return str(error)
    from .failures import describe

    try:
        report = describe(error, path)
    except Exception:
        # The file's exceptions may fail themselves.
        return type(error).__name__
    frames = report["frames"]
    location = f" ({os.path.basename(path)}:{frames[-1]['line']}: {frames[-1]['text'].strip()})" if frames else ""
    return f"{report['exception']}: {report['message']}{location}"
