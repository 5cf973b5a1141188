"""Runs kernels and compares what they compute with what TileScript's evaluator says.

`python bench/agreement.py --cases cases.jsonl.xz --out result.json --processes 16` needs torch, numpy, triton and a GPU,
and of TileScript the worker beside it (`--worker python`). With TRITON_INTERPRET=1 the kernels run on Triton's
interpreter as the worker corrects it, and with `--uncorrected` as it is.

A line of the cases is a kernel: its module, its arguments, and each output with its rule. `exact` compares bits, all NaN
being one; `ulps` counts floats between the two, and takes a zero for a subnormal float32, which libdevice flushes as
Triton links it; `absolute` takes the difference; `bound` takes it as a part of the sum of absolute values, which another
output holds; `close` takes `atol + rtol * |expected|`. Products and sums are not fused on the GPU, where it would round
once. Kernels that a case says the place is no witness of are left out and counted.
"""

import argparse
import base64
import collections
import datetime
import json
import lzma
import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import time
import warnings

CHUNK = 40
# How many wrong elements of an output to report.
TOLD = 6


def decode(tensor, device):
    import torch
    from tilescript_worker.inputs import dtype_of

    dtype, shape, data = dtype_of(tensor["dtype"]), tensor["shape"], base64.b64decode(tensor["data"])
    if not data:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape).to(device)


class Unfused:
    """Launches a kernel without fusing products and sums."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def __getitem__(self, grid):
        launch = self.kernel[grid]
        return lambda *args, **named: launch(*args, **named, enable_fp_fusion=False)


def ordered(np, values):
    """Maps floats to integers in the same order; neighboring floats are one apart."""
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
    if rule["kind"] == "exact" or bad.size == 0 or not want.dtype.is_floating_point:
        return bad
    a, b = (x.reshape(-1)[torch.from_numpy(bad)].double().numpy() for x in (got, want))
    if rule["kind"] == "ulps":
        wide = np.float64 if want.dtype == torch.float64 else np.float32
        distance = ordered(np, a.astype(wide)) - ordered(np, b.astype(wide))
        near = np.array([abs(int(d)) <= rule["ulps"] for d in distance], dtype=bool)
        if want.dtype == torch.float32:
            near |= (a == 0) & (np.abs(b) < 2.0**-126) & (np.signbit(a) == np.signbit(b))
        return bad[~(near & ~np.isnan(a) & ~np.isnan(b))]
    if rule["kind"] == "absolute":
        return bad[~(np.abs(a - b) <= rule["within"])]
    if rule["kind"] == "close":
        return bad[~(np.abs(a - b) <= rule["atol"] + rule["rtol"] * np.abs(b))]
    most = magnitude.reshape(-1)[torch.from_numpy(bad)].double().numpy()
    return bad[~(np.abs(a - b) <= rule["factor"] * most)]


def run_case(folder, case, device, interpreted):
    """Describes the outputs that break their rule, and counts those with all bits equal."""
    import numpy as np
    import torch
    from tilescript_worker import invoke, modules

    path = os.path.join(folder, f"case_{abs(hash(case['id']))}.py")
    with open(path, "w") as file:
        file.write(case["module"])
    module = modules.load(path, case["jits"], case.get("config", 0))
    if not interpreted:
        for jit in case["jits"]:
            setattr(module, jit, Unfused(getattr(module, jit)))
    names = [None if "left_out" in tensor else tensor["name"] for tensor in case["outputs"]]
    tensors = {tensor["name"]: decode(tensor, device) for tensor in case["inputs"]}
    arguments = tensors | invoke.argument_list(case)
    results = invoke.results(module.kernel_fn, arguments, names)
    expected = [None if "left_out" in tensor else decode(tensor, "cpu") for tensor in case["outputs"]]
    found, equal = [], 0
    for tensor, want in zip(case["outputs"], expected, strict=True):
        if want is None:
            continue
        got, rule = results[tensor["name"]].cpu().contiguous(), tensor["rule"]
        magnitude = expected[rule["of"]] if rule["kind"] == "bound" else None
        equal += wrong(torch, np, got, want, {"kind": "exact"}, None).size == 0
        bad = wrong(torch, np, got, want, rule, magnitude)
        if bad.size > 0:
            pairs = [f"[{i}] {got.reshape(-1)[i].item()!r}, not {want.reshape(-1)[i].item()!r}" for i in bad[:TOLD]]
            found.append(f"{tensor['name']}{', '.join(pairs)} ({bad.size} of {want.numel()}, {rule['kind']})")
    return found, equal


def run_chunk(lines, worker, interpreted, corrected, answers):
    """Sends an answer for each line, as it comes."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        sys.path.insert(0, worker)
        if interpreted:
            import torch
            from tilescript_worker import device

            torch.set_num_threads(1)
            if corrected:
                device.choose("interpreter")
        for line in lines:
            case = json.loads(line)
            answer = {"id": case["id"], "group": group_of(case)}
            try:
                answer["wrong"], answer["equal"] = run_case(folder, case, "cpu" if interpreted else "cuda", interpreted)
                answer["rules"] = collections.Counter(
                    tensor["rule"]["kind"] for tensor in case["outputs"] if "rule" in tensor
                )
            except BaseException as error:  # noqa: BLE001
                said = []
                while error is not None:
                    said.append(f"{type(error).__name__}: {error}"[:600])
                    error = error.__cause__
                answer["error"] = " | ".join(said)
            answers.send(answer)
            if "CUDA error" in answer.get("error", ""):
                return


def run_all(lines, processes, worker, interpreted, corrected, deadline):
    """Yields answers as they arrive. A kernel that ends its process or breaks its device affects no other."""
    context = multiprocessing.get_context("spawn")
    waiting = [lines[i : i + CHUNK] for i in range(0, len(lines), CHUNK)]
    running = {}
    while (waiting or running) and time.perf_counter() < deadline:
        while waiting and len(running) < processes:
            chunk = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=run_chunk, args=(chunk, worker, interpreted, corrected, theirs))
            process.start()
            theirs.close()
            running[ours] = process, chunk
        for ours in multiprocessing.connection.wait(list(running), timeout=1):
            process, chunk = running[ours]
            try:
                yield ours.recv()
                chunk.pop(0)
            except EOFError:
                process.join()
                del running[ours]
                if process.exitcode and chunk:
                    case = json.loads(chunk.pop(0))
                    yield {"id": case["id"], "group": group_of(case), "error": f"ended with {process.exitcode}"}
                if chunk:
                    waiting.append(chunk)
    for process, _ in running.values():
        process.kill()


def group_of(case):
    return "examples" if "example" in case else "random"


def places(interpreted, version):
    """The name of this device in the cases."""
    older = tuple(map(int, version.split(".")[:2])) < (3, 9)
    return [name for name, here in (("interpreter", interpreted), ("3.6", older)) if here]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True, nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=1000)
    parser.add_argument("--uncorrected", action="store_true", help="Triton's interpreter as it is")
    parser.add_argument("--worker", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    args = parser.parse_args()
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    lines = []
    for path in args.cases:
        with lzma.open(path, "rt") if path.endswith(".xz") else open(path) as file:
            lines += file.readlines()
    import torch
    import triton

    here = places(interpreted, triton.__version__)
    usable, left_out = [], collections.Counter()
    for line in lines:
        unlike = json.loads(line)["unlike"]
        why = next((unlike[place] for place in here if place in unlike), None)
        if why is None:
            usable.append(line)
        else:
            left_out[why] += 1
    started = time.perf_counter()
    answers = list(run_all(usable, args.processes, args.worker, interpreted, not args.uncorrected, started + 60 * args.minutes))
    result = {
        "device": "Triton's interpreter" if interpreted else torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": str(torch.__version__),
        "date": datetime.date.today().isoformat(),
        "left_out": dict(left_out),
        "not_reached": len(usable) - len(answers),
        **{group: summary([each for each in answers if each["group"] == group]) for group in ("random", "examples")},
        "seconds": round(time.perf_counter() - started, 1),
    }
    failures = [failure for group in ("random", "examples") for failure in result[group]["failures"]]
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps(result)[:4000])
    for failure in failures[:40]:
        print(json.dumps(failure)[:700])
    sys.exit(1 if failures else 0)


def summary(answers):
    """Counts kernels that agree, outputs by their rule of comparison, and outputs with all bits equal."""
    outputs = collections.Counter()
    for answer in answers:
        outputs.update(answer.get("rules", {}))
    failures = [
        {key: answer[key] for key in ("id", "error", "wrong") if answer.get(key)}
        for answer in answers
        if answer.get("error") or answer.get("wrong")
    ]
    return {
        "kernels": len(answers),
        "agree": len(answers) - len(failures),
        "outputs": dict(outputs),
        "outputs_with_equal_bits": sum(answer.get("equal", 0) for answer in answers),
        "failures": failures,
    }


if __name__ == "__main__":
    main()
