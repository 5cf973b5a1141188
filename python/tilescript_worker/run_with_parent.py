"""Runs a program as ``tilescript_worker.parent_watch`` runs a module: ``tilescript_worker.run_with_parent COMMAND ARGUMENT…``."""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.call(sys.argv[1:]))
