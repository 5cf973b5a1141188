"""Runs verify_kernel.py and benchmark_kernel.py as a user does."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")

# Most of a script's time goes into importing torch, so one process imports it and forks for each script.
FORKS = """
import json, os, runpy, sys
import torch
if not torch.cuda.is_available():
    from tilescript_worker.device import choose
    choose("interpreter")
    from tilescript_worker import file_case
    import triton.experimental.gluon

for line in sys.stdin:
    command, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        for stream, (path, flags) in enumerate(((os.devnull, 0), (out, 1), (err, 1))):
            os.dup2(os.open(path, flags), stream)
        sys.argv, sys.path[0] = command, os.path.dirname(command[0])
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            sys.stderr.flush()
            # Without the end of torch and Triton, which takes long.
            os._exit(end.code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

_forks = None


def start_forks():
    global _forks
    _forks = subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def stop_forks():
    _forks.communicate(timeout=60)


def forked(command):
    """The exit code, stdout and stderr of a script."""
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        print(json.dumps([command, out.name, err.name]), file=_forks.stdin, flush=True)
        return int(_forks.stdout.readline()), out.read(), err.read()


def started(command):
    """The same of a process that a user starts."""
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=300)
    return ran.returncode, ran.stdout, ran.stderr


def run(script, source, *args, start=forked, file="scale me.py", others=()):
    """The exit code, the object on stdout, and stderr. ``others`` are files beside the source, by path."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {file: source, **dict(others)}.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as target:
                target.write(textwrap.dedent(text))
        code, out, errors = start([os.path.join(PYTHON, script), os.path.join(folder, file), *args])
        return code, json.loads(out) if out else None, errors
