"""Code shared by the two scripts: one JSON object on stdout, messages on stderr, and exit codes.

The exit code is 0 if right, 1 if wrong, 2 for a command-line error, and 3 without a usable device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from .protocol import RequestError

OK, FAILED, USAGE, ENVIRONMENT = range(4)
# Exit code of a shell after Ctrl-C.
INTERRUPTED = 130
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


def run(args: argparse.Namespace, action: Action, problem: Callable[[str], Result], in_subprocess: bool = False) -> int:
    """Prints the result of ``action``, or ``problem(message)`` after an error. Nothing else reaches stdout.

    ``in_subprocess`` runs the action in a child process, so that its crash, such as an illegal access, is reported.
    """

    def failed(text: str, code: int) -> tuple[Result, int]:
        print(f"error: {text}", file=sys.stderr)
        return problem(text), code

    if not os.path.isfile(args.file):
        return _print(*failed(f"there is no file {args.file}; check the path", USAGE))
    if not args.file.endswith(".py"):
        return _print(*failed(f"{args.file} is no Python file; name one that ends in .py", USAGE))

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
        except Exception as error:
            return failed(_text(error, args.file), FAILED)

    try:
        return _print(*(_run_in_subprocess(outcome, failed) if in_subprocess else outcome()))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run_in_subprocess(
    outcome: Callable[[], tuple[Result, int]], failed: Callable[[str, int], tuple[Result, int]]
) -> tuple[Result, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            with os.fdopen(writing, "w") as pipe:
                json.dump(outcome(), pipe)
            code = OK
        except KeyboardInterrupt:
            code = INTERRUPTED
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == OK:
        result, exit_code = json.loads(text)
        return result, exit_code
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return failed(f"the process {how}; does the kernel read or write outside its tensors?", FAILED)


def _print(result: Result, code: int) -> int:
    """Prints the result and returns the exit code."""
    try:
        print(json.dumps(result), flush=True)
        return code
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"error: standard output can't be written: {error.strerror}", file=sys.stderr)
        code = ENVIRONMENT
    # Python flushes stdout again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def _text(error: Exception, path: str) -> str:
    """The error, and the last line of the file in its traceback."""
    if isinstance(error, KernelFileError):
        return str(error)
    from .failures import describe

    report = describe(error, path)
    frames = report["frames"]
    location = f" ({os.path.basename(path)}:{frames[-1]['line']}: {frames[-1]['text'].strip()})" if frames else ""
    return f"{report['exception']}: {report['message']}{location}"
