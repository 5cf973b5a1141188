"""Ends a process with its parent. Runs a module: ``python -m tilescript_worker.parent_watch PID MODULE ARGUMENT…``."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time


def exit_with_parent(parent: int) -> None:
    """From now on, ends this process soon after its ``parent`` has ended, even if the parent was killed."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    # Also kill its children if it leads a process group.
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    exit_with_parent(int(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
