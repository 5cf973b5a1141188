"""Kills processes that a user's file started, including those that left this process group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator

PR_SET_CHILD_SUBREAPER = 36


@contextlib.contextmanager
def kill_descendants() -> Iterator[None]:
    """Kills every process that the ``with`` block started. Does nothing on systems other than Linux."""
    if not sys.platform.startswith("linux"):
        yield
        return
    # Orphans become children of this process, so that they are found.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process_id, children_before = os.getpid(), set(_children())
    try:
        yield
    finally:
        # A fork of this process leaves its siblings alone.
        while os.getpid() == process_id and (
            descendants := [child for child in _children() if child not in children_before]
        ):
            for child in descendants:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)


def _children() -> list[int]:
    """The children of every thread of this process."""
    process_ids = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children") as file:
            process_ids += [int(each) for each in file.read().split()]
    return process_ids
