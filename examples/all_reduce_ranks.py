"""Runs the kernel of all-reduce.ts on all GPUs of this host, one process for each, and compares it with NCCL.

    npx tilescript emit examples/all-reduce.ts --out all_reduce.py
    python examples/all_reduce_ranks.py all_reduce.py

The vectors lie in PyTorch's symmetric memory: each process asks for the buffers of the others and gives them to the
kernel as tensors. A barrier before the kernel waits until all buffers are written, and one after it until all are read.
"""

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

# Elements of the vectors that are summed, as bfloat16.
SIZES = [1 << 13, 1 << 17, 1 << 20, 1 << 23, 100_000]
ROUNDS, CALLS = 10, 20


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def milliseconds(call):
    """The median over rounds of the time that the GPU takes for a call, in a queue of them."""
    for _ in range(CALLS):
        call()
    times = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        dist.barrier()
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / CALLS)
    return statistics.median(times)


def rows_of(all_reduce, rank, world, n):
    """The kernel's sum beside NCCL's, and how long both take.

    Raises:
        AssertionError: if a rank has another sum, or if it is off by more than the rounding of bfloat16.
    """
    device = torch.device("cuda", rank)
    mine = symmetric.empty(n, dtype=torch.bfloat16, device=device)
    handle = symmetric.rendezvous(mine, dist.group.WORLD)
    buffers = [handle.get_buffer(each, (n,), torch.bfloat16) for each in range(world)]
    out = torch.empty_like(mine)

    def ours():
        handle.barrier(channel=0)
        all_reduce(*buffers, out=out)
        handle.barrier(channel=1)
        return out

    torch.manual_seed(rank)
    for _ in range(3):
        # Each round writes again what the others have just read.
        mine.copy_(torch.randn(n, device=device))
        exact = mine.float()
        dist.all_reduce(exact)
        got = ours().float()
        error = ((got - exact).norm() / exact.norm()).item()
        assert error <= 4e-3, f"rank {rank} has an error of {error}"
        first = got.clone()
        dist.broadcast(first, 0)
        assert torch.equal(first, got), f"rank {rank} has another sum than rank 0"
    theirs = mine.clone()
    return {
        "gpus": world,
        "elements": n,
        "error": error,
        "kernel_ms": milliseconds(ours),
        "nccl_ms": milliseconds(lambda: dist.all_reduce(theirs)),
    }


def run(rank, world, module, meeting, out):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=world)
    try:
        all_reduce = load(module).all_reduce
        rows = [rows_of(all_reduce, rank, world, n) for n in SIZES]
    finally:
        dist.destroy_process_group()
    if rank == 0:
        for row in rows:
            print(*(f"{key}={value:.4g}" for key, value in row.items()), flush=True)
        if out is not None:
            device, versions = torch.cuda.get_device_name(), torch.__version__
            facts = {"device": device, "torch": versions, "rows": rows}
            out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("module", type=Path, help="what all-reduce.ts emits")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    args = parser.parse_args()
    world = min(torch.cuda.device_count(), 8)
    if world < 2:
        print(f"skipped: an all-reduce needs two GPUs of one host; here are {world}")
        return
    with tempfile.TemporaryDirectory() as folder:
        given = (world, args.module, os.path.join(folder, "meeting"), args.out)
        torch.multiprocessing.spawn(run, given, nprocs=world)
    print(f"passed on {world} GPUs")


if __name__ == "__main__":
    sys.exit(main())
