/** Scripts for maintainers, by the npm script that runs them: `npm run bench -- gluon` runs `bench/gluon.ts`. */

export interface Task {
  /** The script, from the root of the repository. */
  readonly file: string;
  readonly description: string;
}

export type TaskGroup = Readonly<Record<string, Task>>;

const bench: TaskGroup = {
  ahead: { file: "bench/ahead.ts", description: "verify on a GPU with kernels compiled ahead, and without" },
  auto: { file: "bench/auto.ts", description: "what warpSpecialize auto chooses, next to never, on a Hopper GPU" },
  compile: { file: "bench/compile.ts", description: "build time of each example, by stage" },
  computes: { file: "bench/computes.ts", description: "whether each output of an example computes its reference" },
  coverage: { file: "bench/coverage.ts", description: "commits whose full runs test every case of every list" },
  devices: { file: "bench/devices.ts", description: "the same cases on several devices, alternately" },
  draws: { file: "bench/draws.ts", description: "correct kernels pass every drawn case, seeded mistakes fail" },
  eval: { file: "bench/eval.ts", description: "CPU time of the evaluator and of Triton's interpreter" },
  decode: {
    file: "bench/decode.ts",
    description: "decode attention next to PyTorch and a copy of the cache, on a GPU",
  },
  gradients: { file: "bench/gradients.ts", description: "operators with their gradients next to PyTorch, on a GPU" },
  gallery: { file: "bench/gallery.ts", description: "every example next to PyTorch and its compiler, on a GPU" },
  gluon: { file: "bench/gluon.ts", description: "warp-specialized kernels next to the plain ones, on a Hopper GPU" },
  gpu: { file: "bench/gpu.ts", description: "the examples of the README on a GPU" },
  invariance: { file: "bench/invariance.ts", description: "on what the bits of the examples' outputs depend" },
  launch: { file: "bench/launch.ts", description: "host time of calls of emitted wrappers, on a GPU" },
  lsp: { file: "bench/lsp.ts", description: "time from an edit to the diagnostics of the language server" },
  lines: { file: "bench/module-lines.ts", description: "lines of emitted modules, by part" },
  prove: { file: "bench/prove.ts", description: "CPU time of proofs" },
  sanitizer: {
    file: "bench/sanitizer.ts",
    description: "warp-specialized kernels under Triton's sanitizer, on a Hopper GPU",
  },
  site: { file: "bench/site.ts", description: "build time, size and start-up time of the site" },
  "small-world": {
    file: "bench/small-world.ts",
    description: "proofs against all launches where an int32 has 8 to 12 bits",
  },
  smt: { file: "bench/smt.ts", description: "z3 on the obligations of proofs" },
  tests: { file: "bench/tests.ts", description: "how long the tests take" },
  tuning: { file: "bench/tuning.ts", description: "tune with and without a declared space, on a GPU" },
  twins: { file: "bench/twins.ts", description: "emitted kernels next to hand-written ones, on a GPU" },
  types: { file: "bench/types.ts", description: "cost of type checking" },
  "import-draw": { file: "bench/import-draw.ts", description: "import kernels drawn from a folder of repositories" },
  "import-folder": { file: "bench/import-folder.ts", description: "import every Triton kernel of a folder" },
  "import-goldens": {
    file: "bench/import-goldens.ts",
    description: "import what the examples emit, and emit it again",
  },
  "import-sass": {
    file: "bench/import-sass.ts",
    description: "instructions of imported kernels and of their originals",
  },
};

const fuzz: TaskGroup = {
  kernels: { file: "bench/fuzz.ts", description: "random kernels through each supported version of Triton" },
  agreement: {
    file: "bench/agreement.ts",
    description: "random kernels with the evaluator's outputs, for other devices",
  },
  coercions: { file: "bench/coercions.ts", description: "traced values mixed with plain JavaScript" },
  names: { file: "bench/fuzz-names.ts", description: "hostile names, strings and comments" },
  proofs: { file: "bench/proofs.ts", description: "proofs against the evaluator" },
};

const packaging: TaskGroup = {
  figures: { file: "scripts/package-figures.ts", description: "size of the package, and CPU time of its commands" },
  lint: { file: "scripts/package-lint.ts", description: "publint and Are The Types Wrong, on the tarball" },
  lock: { file: "scripts/lock.ts", description: "lock files of the Python packages, with hashes, from PyPI" },
  matrix: { file: "scripts/matrix.ts", description: "the tarball with each package manager, runtime and TypeScript" },
  release: { file: "scripts/release.ts", description: "dry run of a release; publishes nothing" },
  versions: { file: "scripts/new-versions.ts", description: "releases of torch and Triton that are not tested yet" },
  vscode: { file: "editors/vscode/pack.ts", description: "the extension for Visual Studio Code, as a file to install" },
  where: { file: "scripts/source-position.ts", description: "the source line of a position in the published bundle" },
};

const site: TaskGroup = {
  build: { file: "site/build.ts", description: "write site/out" },
  dev: { file: "site/dev.ts", description: "serve the site, and build it again when a source changes" },
};

export const tasks = { bench, fuzz, package: packaging, site } satisfies Readonly<Record<string, TaskGroup>>;

/** The task that a group runs without a name. A group without a default prints its list. */
export const defaults: Readonly<Record<string, string>> = { site: "build" };

/** The tasks of a group, one line each. */
export function taskList(group: string, entries: TaskGroup): string {
  const width = Math.max(...Object.keys(entries).map((name) => name.length)) + 2;
  const lines = Object.entries(entries).map(([name, { description }]) => `  ${name.padEnd(width)}${description}`);
  return [`npm run ${group} -- NAME [options]`, "", ...lines].join("\n");
}
