"""Starts the worker: ``python -m tilescript_worker --device auto|cuda|hip|interpreter|compiler``."""

from __future__ import annotations

import argparse
import os
import sys

from .parent import end_with
from .protocol import Handler, serve


def main() -> None:
    """Reads the options, keeps standard output for the protocol alone, and serves requests until told to stop."""
    parser = argparse.ArgumentParser(prog="tilescript_worker")
    parser.add_argument("--device", choices=["auto", "cuda", "hip", "interpreter", "compiler"], default="auto")
    options = parser.parse_args()
    # Whatever the kernel's module prints, also from C, must not end up between two replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    # And what it reads, such as for a breakpoint, must not be the requests.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)

    # A runner that was killed can't stop its worker, which may be in the middle of a kernel that never ends.
    end_with(os.getppid())

    def make_handlers() -> dict[str, Handler]:
        # Imports torch, so a torch that is broken becomes the reply to the first request.
        from .handlers import handlers

        return handlers(options.device)

    serve(requests, replies, make_handlers)


if __name__ == "__main__":
    main()
