"""Compiles the jobs that `npm run fuzz -- kernels --emit-jobs jobs.jsonl` wrote, with the Triton that is installed.

Needs Triton alone, no GPU and no Node: `python bench/compile_jobs.py --jobs jobs.jsonl.xz --out result.json --processes
16 --minutes 6`. A job stops after the stage that it names, or after `--stage`: Triton's pipeline is ttir, ttgir, llir,
ptx, cubin. Each process is one of tests/kernels/random/compile.py; one that dies over a job is a failure, and is started again.
What the minutes do not suffice for is counted as not reached.
"""

import argparse
import collections
import datetime
import json
import lzma
import os
import subprocess
import sys
import threading
import time

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "kernels", "random", "compile.py")


class Worker:
    """A process that answers each input line with one line."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.triton = json.loads(self.process.stdout.readline())["triton"]

    def ask(self, job):
        """The answer, or None if the process ended over it."""
        try:
            self.process.stdin.write(f"{json.dumps(job)}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None


class Run:
    """Gives each job of a file to the next free process."""

    def __init__(self, jobs, stage, end):
        self.jobs = iter(jobs)
        self.stage = stage
        self.end = end
        self.lock = threading.Lock()
        self.workers = set()
        self.counts = collections.Counter()
        self.accepted = collections.Counter()
        self.failures = []

    def next(self):
        """A job for the installed Triton, or None when there are no more or the time is over."""
        with self.lock:
            if time.perf_counter() >= self.end:
                return None
            return next(self.jobs, None)

    def serve(self):
        worker = None
        while (job := self.next()) is not None:
            if worker is None:
                worker = Worker()
                self.workers.add(worker)
            if self.stage:
                job["stage"] = self.stage
            answer = worker.ask(job)
            with self.lock:
                if answer is None:
                    worker = None
                    if time.perf_counter() >= self.end:
                        return
                    answer = {"error": "Triton ended the process"}
                self.counts["compiled"] += 1
                if "error" in answer:
                    error = answer["error"][:2000]
                    self.failures.append({"id": job["id"], "stage": job["stage"], "error": error})
                    print(f"seed {job['id']} ({job['stage']}): {error[-400:]}", flush=True)
                else:
                    self.accepted[job["stage"]] += 1
                if self.counts["compiled"] % 500 == 0:
                    print(f"{self.counts['compiled']} kernels, {len(self.failures)} failures", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", required=True, nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--stage", choices=["ttir", "ttgir", "llir", "ptx", "cubin"])
    parser.add_argument("--minutes", type=float, default=1000)
    args = parser.parse_args()
    started = time.perf_counter()
    jobs = []
    for path in args.jobs:
        with (lzma.open if path.endswith(".xz") else open)(path, "rt") as file:
            jobs += map(json.loads, file)
    probe = Worker()
    version = probe.triton
    probe.process.stdin.close()
    # A kernel for a newer Triton says so.
    newest = tuple(map(int, version.split(".")[:2])) >= (3, 9)
    usable = [job for job in jobs if newest or not job["since39"]]
    run = Run(usable, args.stage, started + args.minutes * 60)
    threads = [threading.Thread(target=run.serve) for _ in range(args.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, run.end - time.perf_counter()))
    for worker in list(run.workers):
        worker.process.kill()
    for thread in threads:
        thread.join()
    result = {
        "triton": version,
        "date": datetime.date.today().isoformat(),
        "target": "sm_90",
        "python": ".".join(map(str, sys.version_info[:3])),
        "kernels": len(jobs),
        "needing_newer_triton": len(jobs) - len(usable),
        "compiled": run.counts["compiled"],
        "not_reached": len(usable) - run.counts["compiled"],
        "accepted": dict(run.accepted),
        "seconds": round(time.perf_counter() - started, 1),
        "failures": run.failures,
    }
    with open(args.out, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(json.dumps({**result, "failures": len(run.failures)}))
    sys.exit(1 if run.failures else 0)


if __name__ == "__main__":
    main()
