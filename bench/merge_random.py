"""One record of random kernels from the parts that made it.

`python bench/merge_random.py --out bench/results/random-kernels.json *.json` takes what `npm run fuzz -- --emit-jobs …
--out drawn.json`, `bench/compile_jobs.py` and `bench/random_kernels.py` wrote: kernels drawn, compiled by each version of
Triton, and run on each device. Parts of one kind are added up.
"""

import argparse
import collections
import json


def add(total, part):
    """Adds numbers, joins lists, goes into objects; of the rest the later stays."""
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
    drawn, seeds = {}, []
    compiled, run = collections.defaultdict(dict), collections.defaultdict(dict)
    for path in args.parts:
        with open(path) as file:
            part = json.load(file)
        if "not_reached" in part:
            add(compiled[part["triton"]], part)
        elif "agree" in part:
            add(run[f"{part['device']}, Triton {part['triton']}"], part)
        else:
            seeds.append({"seed": part["seed"], "kernels": part["kernels"]["drawn"]})
            add(drawn, {key: part[key] for key in ("date", "kernels", "refusals")})
    seeds.sort(key=lambda each: each["seed"])
    result = {"drawn": {**drawn, "seeds": seeds}, "compiled": compiled, "run": run}
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
