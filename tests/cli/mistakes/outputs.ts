/** Places that take no output. */
import { add, type Mistake } from "./mistake.js";

const benchReport = JSON.stringify({
  kernels: [{ kernel: "add", cases: [{ sizes: { N: 1 }, dtypes: {}, times: {}, bytes: 1 }] }],
});

const twice = `${add()}
export const more = kernel("add", add.spec, add.body);
`;

export const outputs: readonly Mistake[] = [
  ...[
    "emit FILE --out out/",
    "emit FILE",
    "profile FILE --shapes N=64 --out out",
    "bench FILE --shapes N=64 --out out",
    "package FILE --out out --package-name kernels_of_mine",
  ].map((args) => ({
    title: `two kernels of one name: ${args}`,
    args,
    file: twice,
    code: 2 as const,
    says: "two kernels are called add; rename one",
  })),
  {
    title: "two modules in one file",
    args: "emit FILE --json --out out.py",
    file: twice.replace('kernel("add", add', 'kernel("more", add'),
    code: 2,
    says: "a file holds one kernel; choose it with --kernel add, more",
  },
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
