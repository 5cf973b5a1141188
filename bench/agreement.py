"""Runs random kernels and compares what they compute with what TileScript's evaluator says, bit for bit.

Needs torch, numpy and triton, and nothing of TileScript, on a GPU: `python random_kernels.py --cases kernels.jsonl --out
result.json --processes 16`. With TRITON_INTERPRET=1 the kernels run on Triton's interpreter, whose bfloat16 the worker of
TileScript corrects (`--worker ../python`).

A line of the cases is a kernel: its module, its inputs, and each output with its rule. `exact` compares bits, all NaN
being one; `ulps` counts floats between the two; `absolute` takes the difference; `bound` takes it as a part of the sum of
absolute values, which another output holds. Products and sums are not fused on the GPU, where it would round once.
"""

import argparse
import base64
import collections
import datetime
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
import warnings

CHUNK = 40


def decode(torch, tensor, device):
    dtype = torch.bool if tensor["dtype"] == "int1" else getattr(torch, TORCH.get(tensor["dtype"], tensor["dtype"]))
    raw = torch.frombuffer(bytearray(base64.b64decode(tensor["data"])), dtype=torch.uint8)
    return raw.view(dtype).reshape(tensor["shape"]).to(device)


TORCH = {"float8e5": "float8_e5m2", "float8e4nv": "float8_e4m3fn"}


class Unfused:
    """A kernel that is launched without fusing products and sums."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        launch = self.kernel[grid]
        return lambda *args, **named: launch(*args, **named, enable_fp_fusion=False)


def ordered(np, values):
    """Floats as integers in the same order, one apart where the floats are neighbours."""
    size = values.dtype.itemsize
    bits = values.view(f"i{size}").astype(object)
    low = -(1 << (8 * size - 1))
    return np.where(bits < 0, low - bits, bits)


def wrong(torch, np, got, want, rule, magnitude):
    """Flat indices of elements that break the rule."""
    if want.dtype.is_floating_point:
        nans = torch.isnan(want.float()) if want.element_size() < 4 else torch.isnan(want)
        both = nans & (torch.isnan(got.float()) if got.element_size() < 4 else torch.isnan(got))
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[want.element_size()]
        same = (got.view(bits) == want.view(bits)) | both
    else:
        same = got == want
    bad = np.flatnonzero(~same.numpy().reshape(-1))
    if rule["kind"] == "exact" or bad.size == 0:
        return bad
    a, b = (x.reshape(-1)[torch.from_numpy(bad)].double().numpy() for x in (got, want))
    if rule["kind"] == "ulps":
        wide = np.float64 if want.dtype == torch.float64 else np.float32
        distance = ordered(np, a.astype(wide)) - ordered(np, b.astype(wide))
        near = np.array([abs(int(d)) <= rule["ulps"] for d in distance], dtype=bool)
        return bad[~(near & ~np.isnan(a) & ~np.isnan(b))]
    if rule["kind"] == "absolute":
        return bad[~(np.abs(a - b) <= rule["within"])]
    most = magnitude.reshape(-1)[torch.from_numpy(bad)].double().numpy()
    return bad[~(np.abs(a - b) <= rule["factor"] * most)]


def run_case(folder, case, device, interpreted):
    import numpy as np
    import torch

    path = os.path.join(folder, f"case_{case['id'].replace('-', '_')}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not interpreted:
        setattr(module, case["jit"], Unfused(getattr(module, case["jit"])))
    inputs = {tensor["name"]: decode(torch, tensor, device) for tensor in case["inputs"]}
    given = module.kernel_fn(**inputs, **case["scalars"])
    results = [x.cpu() for x in (given if isinstance(given, tuple) else (given,))]
    expected = [decode(torch, tensor, "cpu") for tensor in case["outputs"]]
    found = []
    for tensor, got, want in zip(case["outputs"], results, expected, strict=True):
        rule = tensor["rule"]
        magnitude = expected[rule["of"]] if rule["kind"] == "bound" else None
        bad = wrong(torch, np, got, want, rule, magnitude)
        if bad.size > 0:
            i = int(bad[0])
            pair = f"{got.reshape(-1)[i].item()!r}, not {want.reshape(-1)[i].item()!r}"
            found.append(f"{tensor['name']}[{i}] is {pair} ({bad.size} of {want.numel()}, {rule['kind']})")
    return found


def run_chunk(job):
    lines, worker, interpreted = job
    warnings.simplefilter("ignore")
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        if interpreted:
            sys.path.insert(0, worker)
            from tilescript_worker import bf16, booleans

            bf16.install()
            booleans.install()
        for line in lines:
            case = json.loads(line)
            try:
                found = run_case(folder, case, "cpu" if interpreted else "cuda", interpreted)
                kinds = collections.Counter(tensor["rule"]["kind"] for tensor in case["outputs"])
                answers.append({"id": case["id"], "wrong": found, "rules": kinds})
            except BaseException as error:  # noqa: BLE001
                said = []
                while error is not None:
                    said.append(f"{type(error).__name__}: {error}"[:600])
                    error = error.__cause__
                answers.append({"id": case["id"], "error": " | ".join(said)})
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--worker", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    args = parser.parse_args()
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    with open(args.cases) as file:
        lines = file.readlines()
    import torch
    import triton

    # A kernel for a newer Triton says so.
    newest = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9)
    usable = [line for line in lines if newest or not json.loads(line)["since39"]]
    chunks = [(usable[i : i + CHUNK], args.worker, interpreted) for i in range(0, len(usable), CHUNK)]
    started = time.perf_counter()
    # A process of its own for each chunk: a kernel that breaks the device breaks no other's.
    with multiprocessing.get_context("spawn").Pool(args.processes, maxtasksperchild=1) as pool:
        answers = [answer for chunk in pool.imap_unordered(run_chunk, chunks) for answer in chunk]
    outputs = collections.Counter()
    for answer in answers:
        outputs.update(answer.get("rules", {}))
    failed = [answer for answer in answers if answer.get("error") or answer.get("wrong")]
    result = {
        "device": "Triton's interpreter" if interpreted else torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": str(torch.__version__),
        "date": datetime.date.today().isoformat(),
        "kernels": len(answers),
        "needing_newer_triton": len(lines) - len(usable),
        "agree": len(answers) - len(failed),
        "outputs": dict(outputs),
        "seconds": round(time.perf_counter() - started, 1),
        "failures": [{key: answer[key] for key in ("id", "error", "wrong") if key in answer} for answer in failed],
    }
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps({**result, "failures": len(failed)}))
    for failure in result["failures"][:20]:
        print(json.dumps(failure)[:700])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
