"""Runs a program as a child: ``python -m tilescript_worker.run_with_parent COMMAND ARGUMENT…``.

With ``tilescript_worker.parent_watch`` before it, the program ends with the runner.
"""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.call(sys.argv[1:]))
