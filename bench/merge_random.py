"""The record of random kernels, brought up to date with parts of it that were made anew.

`python bench/merge_random.py --out bench/results/random-kernels.json *.json` takes what `npm run fuzz -- kernels --emit-jobs …
--out drawn.json`, `bench/compile_jobs.py`, `npm run fuzz -- agreement … --record cases.json` and `bench/agreement.py` wrote:
kernels drawn, compiled by each version of Triton, given inputs, and run in each place. Parts of one kind are added up;
they replace what the record had of that kind, and the rest of it stays. `npx prettier --write` formats it.
"""

import argparse
import collections
import json
import os


def add(total, part):
    """Adds numbers, joins lists, merges objects; for anything else the later value wins."""
    for key, value in part.items():
        if isinstance(value, dict):
            add(total.setdefault(key, {}), value)
        elif isinstance(value, (list, int, float)):
            total[key] = total[key] + value if key in total else value
        else:
            total[key] = value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    drawn, seeds, cases, case_seeds = {}, [], {}, []
    compiled, run = collections.defaultdict(dict), collections.defaultdict(dict)
    for path in args.parts:
        with open(path) as file:
            part = json.load(file)
        if "device" in part:
            add(run[f"{part['device']}, Triton {part['triton']}"], part)
        elif "compiled" in part:
            add(compiled[part["triton"]], part)
        elif "written" in part:
            case_seeds.append({"seed": part.pop("seed"), "kernels": part["written"]})
            add(cases, part)
        else:
            seeds.append({"seed": part["seed"], "kernels": part["kernels"]["drawn"]})
            add(drawn, {key: part[key] for key in ("date", "kernels", "refusals")})
    seeds.sort(key=lambda each: each["seed"])
    result = {"drawn": {}, "compiled": {}, "cases": {}, "run": {}}
    if os.path.exists(args.out):
        with open(args.out) as file:
            result |= json.load(file)
    if drawn:
        result["drawn"] = {**drawn, "seeds": seeds}
    if cases:
        result["cases"] = {**cases, "seeds": case_seeds}
    result["compiled"] |= compiled
    result["run"] |= run
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
