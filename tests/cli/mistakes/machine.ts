/** What the machine lacks. */
import type { Mistake } from "./mistake.js";

export const machine: readonly Mistake[] = [
  {
    title: "a Python that is not there",
    args: "run FILE --python /nowhere/python",
    code: 3,
    says: "there is no such file",
  },
  {
    title: "a Python that is a folder",
    args: "run FILE --python .",
    code: 3,
    says: "it is a folder; name the executable in it",
  },
  { title: "a Python that is no program", args: "run FILE --python ./kernel.ts", code: 3, says: "is it a Python?" },
  {
    title: "a Python of the environment that is not there",
    process: true,
    args: "run FILE",
    env: { TILESCRIPT_PYTHON: "/nowhere/python" },
    code: 3,
    says: "TILESCRIPT_PYTHON",
  },
  {
    title: "no Python for the interpreter",
    args: "run FILE --device interpreter",
    env: { TILESCRIPT_PYTHON: "", VIRTUAL_ENV: "", PATH: "/nowhere" },
    code: 3,
    says: "tilescript setup",
  },
  {
    title: "no Python to compile with",
    args: "compile FILE --targets cuda:90",
    env: { TILESCRIPT_PYTHON: "", VIRTUAL_ENV: "", PATH: "/nowhere" },
    code: 3,
    says: "tilescript setup",
  },
  {
    title: "no Python to make an environment with",
    args: "setup",
    env: { PATH: "/nowhere" },
    code: 3,
    says: "--python",
  },
  {
    title: "a Python that can't make one",
    args: "setup --python /nowhere/python",
    code: 3,
    says: "Python 3.10 to 3.14",
  },
  { title: "no GPU to run on", args: "run FILE --device cuda", code: 3, says: "sees no cuda device" },
  { title: "no GPU to measure on", args: "bench FILE --shapes N=64", code: 3, says: "a benchmark needs a GPU" },
  { title: "no GPU to warm up", args: "prewarm FILE --shapes N=64", code: 3, says: "prewarming needs a GPU" },
  {
    title: "nothing to tune",
    args: "tune FILE --shapes N=64",
    code: 2,
    says: "give it autotune: { key, configs }",
  },
  {
    title: "no folder for temporary files",
    process: true,
    args: "run FILE --device interpreter",
    env: { TMPDIR: "/dev/null", TSX_DISABLE_CACHE: "1" },
    code: 3,
    says: "set TMPDIR",
  },
];
