"""Runs warp-specialized kernels under Triton's concurrency sanitizer on a Hopper GPU.

    python sanitizer.py FOLDER --out FILE [--seconds 400] [--processes 14] [--only MODULE] [--into FILE]

FOLDER has the modules and the cases.json that cases.ts writes. Each config of each case has its own process, because a
finding is an assertion that ends the process's use of the GPU. FILE is written anew with each outcome. With --into, the
outcomes of an earlier run stay, but for those that had no time.
The outcome is "clean", "reported" with the sanitizer's sentences, "wrong" if the outputs differ from those of the plain
kernel, or "not run" with the reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

#: Seconds after which a process is ended: compiling an instrumented kernel takes one to several minutes.
DEADLINE = 400
#: Seconds that a process still has when time is out.
GRACE = 60
OUT_OF_TIME = "out of time"
#: What a failed assertion of the GPU prints.
ASSERTION = re.compile(r"Assertion `(.+?)` failed")
#: A sentence of the sanitizer in the code of an instrumented kernel.
INSTRUMENTED = "Buffer being accessed has outstanding"


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def tuner_of(module: Any) -> Any:
    return next(value for name, value in vars(module).items() if name.endswith("_specialized_kernel"))


def inputs_of(module: Any, case: dict[str, Any]) -> list[Any]:
    made = module.get_inputs(**case["inputs"])
    flag = case.get("flag")
    return [flag if isinstance(each, bool) and flag is not None else each for each in made]


def configs_of(module: Any, case: dict[str, Any]) -> list[int]:
    """The places of the configs that the autotuner tries for the case's sizes."""
    tuner = tuner_of(module)
    prune = tuner.early_config_prune
    fitting = prune(tuner.configs, {}, **case["inputs"]) if prune else tuner.configs
    return [place for place, config in enumerate(tuner.configs) if config in fitting]


def run_case(folder: Path, case: dict[str, Any], place: int) -> dict[str, Any]:
    """Runs one config in this process."""
    import torch
    import triton
    from triton.runtime import _allocation

    def allocate(size: int, _alignment: int, _stream: int | None) -> Any:
        return torch.empty(size, device="cuda", dtype=torch.int8)

    triton.set_allocator(allocate)
    # Newer versions of Triton keep the sanitizer's state in the profiler's memory.
    _allocation.set_profile_allocator(allocate)
    module = load(folder / case["module"])
    tuner = tuner_of(module)
    tuner.configs = [tuner.configs[place]]
    torch.manual_seed(0)
    inputs = inputs_of(module, case)
    found = as_list(module.kernel_fn(*inputs))
    torch.cuda.synchronize()
    binaries = [binary for kept in tuner.fn.device_caches.values() for binary in kept[0].values()]
    if not binaries:
        return {"outcome": "not run", "reason": "the wrapper launched the plain kernel"}
    if not all(INSTRUMENTED in binary.asm["llir"] for binary in binaries):
        return {"outcome": "not run", "reason": "Triton did not instrument the kernel"}
    expected = as_list(plain_results(module, inputs))
    off = max(difference(mine, theirs) for mine, theirs in zip(found, expected))
    return {"outcome": "clean" if off <= 2**-5 else "wrong", "off": off}


def plain_results(module: Any, inputs: list[Any]) -> Any:
    """What the plain kernel computes without the sanitizer, in its first config or its last, where the first is too large."""
    import triton

    triton.knobs.compilation.instrumentation_mode = ""
    module._is_specialized = lambda *_: False
    for value in vars(module).values():
        if isinstance(value, triton.runtime.Autotuner):
            value.configs = [value.configs[0], value.configs[-1]]
    return module.kernel_fn(*inputs)


def as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (tuple, list)) else [values]


def difference(found: Any, expected: Any) -> float:
    """The largest difference, as a part of the largest number; infinite where only one has a NaN."""
    found, expected = found.float(), expected.float()
    if not found.isnan().equal(expected.isnan()):
        return float("inf")
    difference = (found - expected).abs().nan_to_num(0)
    return (difference.max() / expected.nan_to_num(0).abs().max()).item()


def outcome_of(command: list[str], environment: dict[str, str], seconds: float) -> dict[str, Any]:
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        # A kernel that waits forever may have printed what the sanitizer found before.
        errors = (late.stderr or b"").decode(errors="replace")
        sentences = sorted(set(ASSERTION.findall(errors)))
        if sentences:
            return {"outcome": "reported", "findings": sentences}
        return {"outcome": "not run", "reason": f"no answer within {seconds:.0f} s"}
    sentences = sorted(set(ASSERTION.findall(ran.stderr)))
    if sentences:
        return {"outcome": "reported", "findings": sentences}
    answers = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if ran.returncode == 0 and answers:
        return json.loads(answers[-1])
    errors = [line for line in ran.stderr.splitlines() if line.strip()]
    # A compiler's error stands above the traceback's last line.
    named = [line for line in errors if "error:" in line or "Error" in line] or errors[-1:]
    return {"outcome": "not run", "reason": " | ".join(named[-2:])[-600:] or f"ended with {ran.returncode}"}


def in_rounds(cases: list[dict[str, Any]], places: list[list[int]]) -> list[tuple[int, int]]:
    """Each config of each case: first the seeded mistakes and one config of each, so that a short run has every form."""
    every = [(at, place) for at, each in enumerate(places) for place in each]
    mistakes = {at for at, case in enumerate(cases) if case["form"] == "seeded mistake"}
    every = [(at, place) for at, place in every if at not in mistakes or place == places[at][0]]
    return sorted(every, key=lambda one: (one[0] not in mistakes, places[one[0]].index(one[1]), one[0]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count() or 1))
    parser.add_argument("--only", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--case", nargs=2, type=int)
    given = parser.parse_args()
    cases = json.loads((given.folder / "cases.json").read_text())
    if given.case:
        at, place = given.case
        print(json.dumps(run_case(given.folder, cases[at], place)), flush=True)
        return
    import torch
    import triton

    modules = {case["module"]: load(given.folder / case["module"]) for case in cases}
    work = in_rounds(cases, [configs_of(modules[case["module"]], case) for case in cases])
    work = [one for one in work if given.only in cases[one[0]]["module"]]
    about = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": date.today().isoformat(),
    }
    end = time.time() + given.seconds
    earlier = json.loads(given.into.read_text())["rows"] if given.into else []
    rows = [row for row in earlier if row.get("reason") != OUT_OF_TIME]
    decided = [what_ran(row) for row in rows]

    def save() -> None:
        if given.out:
            given.out.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")

    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "TRITON_INSTRUMENTATION_MODE": "consan",
            "CUDA_LAUNCH_BLOCKING": "1",
            "TRITON_CACHE_DIR": cache,
        }

        def answer(one: tuple[int, int]) -> None:
            at, place = one
            began = time.time()
            row = {**cases[at], "config": tuner_of(modules[cases[at]["module"]]).configs[place].kwargs}
            if what_ran(row) in decided:
                return
            left = min(DEADLINE, end + GRACE - began)
            command = [sys.executable, __file__, str(given.folder), "--case", str(at), str(place)]
            out_of_time = {"outcome": "not run", "reason": OUT_OF_TIME}
            row.update(outcome_of(command, environment, left) if began < end else out_of_time)
            row["seconds"] = round(time.time() - began, 1)
            print(json.dumps(row), flush=True)
            rows.append(row)
            save()

        with ThreadPoolExecutor(given.processes) as pool:
            list(pool.map(answer, work))
    save()


def what_ran(row: dict[str, Any]) -> str:
    return json.dumps([row.get(key) for key in ("module", "inputs", "flag", "config")])


if __name__ == "__main__":
    main()
