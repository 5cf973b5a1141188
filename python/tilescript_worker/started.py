"""Runs a program as ``tilescript_worker.parent`` runs a module: ``tilescript_worker.started COMMAND ARGUMENT…``."""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.call(sys.argv[1:]))
