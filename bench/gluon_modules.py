"""What the scripts of warp-specialized kernels do with the modules that bench/gluon.ts writes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any


def say(**row: Any) -> None:
    print(json.dumps(row), flush=True)


def about() -> dict[str, Any]:
    """What a record says of the machine and of the day."""
    import torch
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": date.today().isoformat(),
    }


def dated(earlier: dict[str, Any]) -> dict[str, Any]:
    """The same of a record that keeps rows of an earlier one."""
    facts = about()
    first = earlier.get("date", facts["date"]).split(" to ")[0]
    return {**facts, "date": first if first == facts["date"] else f"{first} to {facts['date']}"}


def warm(script: str, folder: Path, jobs: list[Any]) -> None:
    """Runs `script FOLDER --warm JOB` for each job, so that Triton's cache has what it compiles."""

    def run(job: Any) -> None:
        command = [sys.executable, script, str(folder), "--warm", json.dumps(job)]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=240)
        except subprocess.TimeoutExpired:
            say(note=f"{job} takes long to compile")
        else:
            if done.returncode:
                say(note=f"{job} was not compiled: {done.stderr[-300:]}")

    with ThreadPoolExecutor(min(14, os.cpu_count() or 1)) as pool:
        list(pool.map(run, jobs))


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def fits(tuner: Any, config: Any, **constants: Any) -> bool:
    """Whether the autotuner would try the config with these constexprs."""
    prune = tuner.early_config_prune
    return prune is None or config in prune([config], {}, **constants)


def tuner_of(module: Any) -> Any:
    return next(value for name, value in vars(module).items() if name.endswith("_specialized_kernel"))
