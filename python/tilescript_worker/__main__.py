"""Starts the worker: ``python -m tilescript_worker --device DEVICE --channel FD [--gpu N]``."""

from __future__ import annotations

import argparse
import os

from .parent_watch import end_with
from .protocol import Handler, serve


def main() -> None:
    """Reads the options, says on the channel that it is ready, and serves requests until told to stop."""
    parser = argparse.ArgumentParser(prog="tilescript_worker")
    parser.add_argument("--device", choices=["auto", "cuda", "hip", "interpreter", "compiler"], default="auto")
    parser.add_argument("--channel", type=int, required=True, help="a file descriptor to read from and write to")
    parser.add_argument("--gpu", type=int, help="the index of the only GPU to see, among those that torch sees")
    options = parser.parse_args()
    # Nothing that the kernel's module starts may hold it open or write to it.
    os.set_inheritable(options.channel, False)
    requests = os.fdopen(options.channel, encoding="utf-8", closefd=False)
    replies = os.fdopen(os.dup(options.channel), "w", encoding="utf-8")

    # A runner that was killed can't stop its worker, which may be in the middle of a kernel that never ends.
    end_with(os.getppid())

    def make_handlers() -> dict[str, Handler]:
        # Imports torch, so a torch that is broken becomes the reply to the first request.
        from .handlers import handlers

        return handlers(options.device, options.gpu)

    serve(requests, replies, make_handlers)


if __name__ == "__main__":
    main()
