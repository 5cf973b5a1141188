"""Starts the worker: ``python -m tilescript_worker --device DEVICE --channel FD [--gpu N]``."""

from __future__ import annotations

import argparse
import os

from .parent_watch import exit_with_parent
from .protocol import Handler, serve


def main() -> None:
    """Parses the options, reports readiness on the channel, and serves requests until shutdown."""
    parser = argparse.ArgumentParser(prog="tilescript_worker")
    parser.add_argument("--device", choices=["auto", "cuda", "hip", "interpreter", "compiler"], default="auto")
    parser.add_argument("--channel", type=int, required=True, help="a file descriptor to read from and write to")
    parser.add_argument("--gpu", type=int, help="the index of the only GPU to see, among those that torch sees")
    options = parser.parse_args()
    # Child processes of the kernel's module must not inherit the channel.
    os.set_inheritable(options.channel, False)
    requests = os.fdopen(options.channel, encoding="utf-8", closefd=False)
    replies = os.fdopen(os.dup(options.channel), "w", encoding="utf-8")

    # A killed runner cannot stop its worker, which may run a kernel that never ends.
    exit_with_parent(os.getppid())

    def make_handlers() -> dict[str, Handler]:
        # Imports torch. A broken torch becomes the reply to the first request.
        from .handlers import handlers

        return handlers(options.device, options.gpu)

    serve(requests, replies, make_handlers)


if __name__ == "__main__":
    main()
