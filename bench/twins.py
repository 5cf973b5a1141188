"""Times emitted kernels on a GPU in turns with kernels written by hand.

``python bench/twins.py FOLDER --out RESULT.json``: bench/twins.ts writes FOLDER. Each pair has the same config. Both
must first agree with PyTorch in float64, and are compared bit for bit. Then they run in turns, round after round,
forwards and backwards, and the emitted kernel a second time, to show how far from 1 a ratio is by chance.
``--check`` only compares, at small sizes: on Triton's interpreter where there is no GPU.
"""

import argparse
import datetime
import json
import os
import sys
import time
import traceback
from pathlib import Path

EMITTED, AGAIN, WRITTEN = "emitted", "emitted again", "hand-written"


def arguments():
    parser = argparse.ArgumentParser(description="Times emitted kernels on a GPU in turns with kernels written by hand.")
    parser.add_argument("folder", type=Path, help="with the modules and pairs.json, as bench/twins.ts writes it")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--only", help="the kernels to take, with commas between them")
    parser.add_argument("--check", action="store_true", help="compare at small sizes, and time nothing")
    args = parser.parse_args()
    if not args.check and args.out is None:
        parser.error("give --out FILE, or --check")
    return args


def compare(case):
    """The relative errors of both against PyTorch, and whether they are equal bit for bit; raises if one is wrong."""
    import torch
    from gpu import error

    results = {EMITTED: case.emitted(), WRITTEN: case.written()}
    errors = {}
    for name, got in results.items():
        each = [error(out, expected) for out, expected in zip(got, case.expected, strict=True)]
        errors[name] = max(each)
        # A comparison with NaN is false.
        if not errors[name] <= case.bound:
            raise AssertionError(f"{name} {case.facts} is wrong: relative errors {each}, at most {case.bound}")
    equal = all(torch.equal(ours, theirs) for ours, theirs in zip(*results.values(), strict=True))
    return {"errors": errors, "equal": equal}


def timed(case):
    """A row for each function and the ratios of their times."""
    from gpu import alternated, ratio, summary

    functions = {EMITTED: case.emitted, WRITTEN: case.written, AGAIN: case.emitted}
    times = alternated(functions, ())
    rows = [{"provider": name} | summary(times[name]) for name in (EMITTED, WRITTEN)]
    return rows, [ratio(times, EMITTED, WRITTEN), ratio(times, EMITTED, AGAIN)]


def report(started, *parts):
    for row in parts:
        values = (f"{key}={value:.4g}" if type(value) is float else f"{key}={value}" for key, value in row.items())
        print(f"{time.perf_counter() - started:.0f} s", *values, flush=True)


def main():
    args = arguments()
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here), str(here.parent / "python")]
    import torch

    on_gpu = torch.cuda.is_available()
    if args.check and not on_gpu:
        # Triton reads this when it is imported.
        os.environ["TRITON_INTERPRET"] = "1"
    import triton
    import twin_cases
    from gpu import write

    torch.manual_seed(0)
    chosen = args.only.split(",") if args.only else None
    pairs = [pair for pair in json.loads((args.folder / "pairs.json").read_text()) if not chosen or pair["kernel"] in chosen]
    result = {
        "device": torch.cuda.get_device_name() if on_gpu else "Triton's interpreter",
        "torch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.date.today().isoformat(),
        "rows": [],
        "ratios": [],
        "skipped": [],
    }
    started, failed = time.perf_counter(), []
    for pair in pairs:
        reason = twin_cases.unsupported(pair["kernel"])
        if reason:
            result["skipped"].append({"kernel": pair["kernel"], "reason": reason})
            report(started, result["skipped"][-1])
            continue
        try:
            for case in twin_cases.cases(args.folder, pair, small=args.check):
                found = compare(case)
                report(started, case.facts | found["errors"] | {"equal": found["equal"]})
                if args.check:
                    continue
                rows, ratios = timed(case)
                for row in rows:
                    result["rows"].append(case.facts | row | {"error": found["errors"][row["provider"]]})
                for each in ratios:
                    result["ratios"].append(case.facts | each | {"equal": found["equal"]})
                write(args.out, result)
                report(started, *result["rows"][-2:], *result["ratios"][-2:])
        except Exception:
            # Keep the times of the others.
            traceback.print_exc()
            failed.append(pair["kernel"])
    if args.out:
        write(args.out, result)
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
