"""Whether ``warpSpecialize: "auto"`` chooses well: times its modules and those with "never", in turns, on a Hopper GPU.

    python bench/auto.py FOLDER --out FILE [--seconds 420] [--only MODULE] [--into FILE]

FOLDER has the modules that bench/auto.ts writes. Before anything is timed, several processes call every module, so that
Triton's cache has all binaries. FILE gets each case as soon as it is measured: the milliseconds of both modules, the
ratio of "never" to "auto" (above 1, "auto" is faster), and which kernel "auto" launched. A case that fails has the reason.
With --into, the cases that an earlier run measured stay.
"""

import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import gpu  # noqa: E402
import torch  # noqa: E402
from gluon_modules import about, say, warm  # noqa: E402
from tilescript_worker.modules import import_file  # noqa: E402

FORMS = ("auto", "never")
ROUNDS = 12


def module_of(folder, form, case):
    return import_file(str(folder / form / case["module"]))


def inputs_of(module, case):
    flag = case.get("flag")
    return [flag if isinstance(each, bool) and flag is not None else each for each in module.get_inputs(**case["inputs"])]


def measured(folder, case):
    modules = {form: module_of(folder, form, case) for form in FORMS}
    torch.manual_seed(0)
    inputs = inputs_of(modules["auto"], case)
    with torch.no_grad():
        results = {form: module.kernel_fn(*inputs) for form, module in modules.items()}
        mine, other = (each[0] if isinstance(each, tuple) else each for each in results.values())
        off = gpu.error(mine, other.double())
        times = gpu.alternated({form: module.kernel_fn for form, module in modules.items()}, inputs, ROUNDS)
    ratio = gpu.ratio(times, "never", "auto")
    return {
        "off": off,
        "ms": {form: gpu.summary(times[form])["ms"] for form in FORMS},
        **{key: ratio[key] for key in ("ratio", "low", "high", "rounds")},
        "specialized": sorted(set(modules["auto"]._FASTER.values())),
    }


def what_compiles(case):
    """Cases of which this is equal launch the same binaries: sizes are no constants but for a head's."""
    return case["module"], case.get("flag"), case["inputs"].get("HEAD_DIM")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--only", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--warm")
    args = parser.parse_args()
    cases = json.loads((args.folder / "cases.json").read_text())
    if args.warm:
        place, form = json.loads(args.warm)
        case = cases[place]
        module = module_of(args.folder, form, case)
        with torch.no_grad():
            module.kernel_fn(*inputs_of(module, case))
        torch.cuda.synchronize()
        return
    end = time.time() + args.seconds
    earlier = json.loads(args.into.read_text())["rows"] if args.into else []
    rows = [row for row in earlier if "failed" not in row]
    known = [case_of(row) for row in rows]
    left = [place for place, case in enumerate(cases) if args.only in case["module"] and case_of(case) not in known]
    distinct = {what_compiles(cases[place]): place for place in left}.values()
    warm(__file__, args.folder, [[place, form] for form in FORMS for place in distinct])
    facts = about()
    for place in left:
        try:
            row = measured(args.folder, cases[place]) if time.time() < end else {"failed": "out of time"}
        except Exception as error:
            row = {"failed": f"{type(error).__name__}: {error}"[:600]}
        rows.append(cases[place] | row)
        say(**rows[-1])
        torch.cuda.empty_cache()
        if args.out:
            gpu.write(args.out, facts | {"rows": rows})


def case_of(row):
    return json.dumps([row.get(key) for key in ("module", "inputs", "flag")])


if __name__ == "__main__":
    main()
