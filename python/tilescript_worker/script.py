"""What the two scripts share: one JSON object on stdout, messages on stderr, and exit codes.

0 is right, 1 wrong, 2 a mistake on the command line, 3 no usable device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from .protocol import RequestError

OK, FAILED, USAGE, ENVIRONMENT = range(4)
# What this package needs.
PACKAGES = ("numpy", "torch", "triton")


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that both scripts have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("file", help="a Python file with kernel_fn, reference_fn and get_inputs")
    parser.add_argument("--rtol", type=_tolerance, help="relative tolerance; by the output's dtype if left out")
    parser.add_argument("--atol", type=_tolerance, help="absolute tolerance; by the output's dtype if left out")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (0)")
    return parser


def _tolerance(text: str) -> float:
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text} is no tolerance; give a number from 0 up")
    return value


def run(args: argparse.Namespace, action: Callable[[argparse.Namespace], tuple[dict[str, Any], int]]) -> int:
    """Prints what ``action`` answers, or what went wrong in the same form; nothing else reaches stdout."""
    if not os.path.isfile(args.file):
        print(f"error: there is no file {args.file}", file=sys.stderr)
        return USAGE
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result, code = action(args)
    except RequestError as error:
        result, code = {"error": str(error)}, ENVIRONMENT
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            result, code = {"error": _text(error, args.file)}, FAILED
        else:
            need = f"{sys.executable} has no {error.name}; install torch and triton there, or take another Python"
            result, code = {"error": need}, ENVIRONMENT
    except Exception as error:
        result, code = {"error": _text(error, args.file)}, FAILED
    if "error" in result:
        print(f"error: {result['error']}", file=sys.stderr)
    print(json.dumps(result))
    return code


def _text(error: Exception, path: str) -> str:
    """The error, and the last line of the file that it passed through."""
    from .failures import describe

    known = describe(error, path)
    frames = known["frames"]
    place = f" ({os.path.basename(path)}:{frames[-1]['line']}: {frames[-1]['text'].strip()})" if frames else ""
    return f"{known['exception']}: {known['message']}{place}"
