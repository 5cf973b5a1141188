/** Places that take no output. */
import type { Mistake } from "./mistake.js";

const benchReport = JSON.stringify({
  kernels: [{ kernel: "add", cases: [{ sizes: { N: 1 }, dtypes: {}, times: {}, bytes: 1 }] }],
});

export const outputs: readonly Mistake[] = [
  {
    title: "a module below a file",
    args: "emit FILE --out kernel.ts/add.py",
    code: 3,
    says: "a part of the path is a file; name another",
  },
  {
    title: "a module where nothing can be written",
    process: true,
    args: "emit FILE --out /proc/add.py",
    code: 3,
    says: "/proc/add.py can't be written (ENOENT): name another place",
  },
  {
    title: "a package in a file",
    args: "package FILE --out taken --package-name kernels_of_mine",
    beside: { taken: "" },
    code: 3,
    says: "a part of the path is a file; name another",
  },
  {
    title: "a profile in a file",
    args: "profile FILE --shapes N=64 --out taken",
    beside: { taken: "" },
    code: 3,
    says: "a part of the path is a file; name another",
  },
  {
    title: "a new kernel where nothing can be written",
    args: "new sub --project",
    beside: { sub: "" },
    code: 2,
    says: "sub already exists",
  },
  {
    title: "a plot where nothing can be written",
    args: "plot bench.json --out taken/x",
    beside: { taken: "", "bench.json": benchReport },
    code: 3,
    says: "a part of the path is a file; name another",
  },
];
