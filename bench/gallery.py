"""Times the examples on a GPU beside what a user would run instead, and beside the GPU's limit.

``python bench/gallery.py FOLDER --out RESULT.json``: bench/gallery.ts writes FOLDER. All ways to one result run in
turns, round after round, forwards and backwards, the limit among them: a copy of as many bytes, or nothing where
products decide. A part goes into RESULT.json when all of it is measured. A call measures the parts that RESULT.json
lacks, or has of other kernels, and begins none after ``--minutes``; call again to go on. ``--only`` measures some parts, also anew.
Variants of FOLDER, examples with something changed, run in the same turns, each with inputs of its own.
"""

import argparse
import datetime
import json
import sys
import time
import traceback
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import gpu  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
from gallery_cases import CASES, MODULES  # noqa: E402
from gallery_merge import begin, left, replace  # noqa: E402

ROUNDS = 10
# Times are compared with the fastest of these; the others are shown.
RIVALS = ("eager", "compiled", "max-autotune", "flex")
# What other projects and other forms compute may be missing or fail. The record then says why.
OTHERS = ("liger", "helion", "flex")
OPTIONAL = ("auto", *OTHERS)


def arguments():
    parser = argparse.ArgumentParser(description="Times the examples on a GPU beside what a user would run instead.")
    parser.add_argument("folder", type=Path, help="with the modules, as bench/gallery.ts writes it")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--only", help="the parts to measure, with commas between them")
    parser.add_argument("--minutes", type=float, default=8, help="begin no part after so long")
    parser.add_argument("--list", action="store_true", help="print the parts, and measure nothing")
    return parser.parse_args()


def check(case):
    """The relative error of each way, in the Frobenius norm, against the expected tensors; raises if ours is wrong.

    An optional way that raises or is wrong leaves the case, and its reason is the second result.
    """
    errors, reasons = {}, {}
    for name, function in list(case.ways.items()):
        try:
            got = function()
            got = got if isinstance(got, tuple) else (got,)
            errors[name] = max(gpu.error(each, wanted) for each, wanted in zip(got, case.expected, strict=True))
            if name.startswith(OTHERS) and not errors[name] <= 4 * case.bound:
                raise ValueError(f"the relative error is {errors.pop(name):.2g}")
        except Exception as reason:
            if not name.startswith(OPTIONAL):
                raise
            reasons[name] = f"{type(reason).__name__}: {reason}"[:400]
            del case.ways[name]
    # A comparison with NaN is false.
    for name in ("tilescript", "auto"):
        if name in errors and not errors[name] <= case.bound:
            raise AssertionError(f"{case.facts} is wrong: relative errors {errors}, at most {case.bound}")
    return errors, reasons


def rows_of(case, variants):
    """A row for each way, and the ratios of ours to each of them. ``variants`` are the same case with other kernels."""
    errors, reasons = check(case)
    yield from (case.facts | {"provider": name, "failed": reason} for name, reason in reasons.items())
    others = {name: other.ways["tilescript"] for name, other in variants.items()}
    errors |= {name: check(other)[0]["tilescript"] for name, other in variants.items()}
    limit = {} if case.bytes is None else {"copy": copy_of(case.bytes)}
    times = gpu.alternated(case.ways | others | limit, (), rounds=ROUNDS)
    for name in times:
        row = case.facts | {"provider": name} | gpu.summary(times[name])
        if name in errors:
            row["error"] = errors[name]
        if case.bytes is not None:
            row["gbps"] = case.bytes / row["ms"] / 1e6
        if case.flops is not None:
            row["tflops"] = case.flops / row["ms"] / 1e9
        yield row
    others = [name for name in times if name != "tilescript"]
    ratios = {name: gpu.ratio(times, name, "tilescript") for name in others}
    yield from (case.facts | ratio for ratio in ratios.values())
    rivals = [ratio for name, ratio in ratios.items() if name in RIVALS]
    best = min(rivals, key=lambda ratio: ratio["ratio"])
    yield case.facts | best | {"of": f"best of {', '.join(name for name in others if name in RIVALS)}: {best['of']}"}


def copy_of(total):
    """Moves ``total`` bytes: half are read and half are written."""
    source = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return partial(target.copy_, source)


def measured(part, folder, started):
    """The rows of all cases of a part."""
    variants = {path.name: CASES[part](path) for path in sorted(folder.glob(f"variants/{part}/*"))}
    for case in CASES[part](folder):
        case.facts["part"] = part
        for row in rows_of(case, {name: next(cases) for name, cases in variants.items()}):
            values = (f"{key}={value:.4g}" if type(value) is float else f"{key}={value}" for key, value in row.items())
            print(f"{time.perf_counter() - started:.0f} s", *values, flush=True)
            yield row
        torch.cuda.empty_cache()


def main():
    args = arguments()
    if args.list:
        print("\n".join(CASES))
        return 0
    torch.manual_seed(0)
    facts = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    # Of each module, as bench/kernel-digest.ts makes them.
    digests = json.loads((args.folder / "digests.json").read_text(encoding="utf-8"))
    kernels = {part: {name: digests[name] for name in MODULES[part]} for part in CASES}
    kept = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else None
    result = begin(kept, facts, kernels)
    parts = args.only.split(",") if args.only else left(result, kernels)
    started, failed, late = time.perf_counter(), [], []
    for part in parts:
        if time.perf_counter() - started > 60 * args.minutes:
            late.append(part)
            continue
        try:
            rows = list(measured(part, args.folder, started))
            replace(result, part, {"kernels": kernels[part], "date": datetime.date.today().isoformat()}, rows)
            gpu.write(args.out, result)
        except Exception:
            # Keep the times of the others.
            traceback.print_exc()
            failed.append(part)
        torch.compiler.reset()
        torch.cuda.empty_cache()
    if late:
        print(f"left for the next call: {', '.join(late)}")
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
