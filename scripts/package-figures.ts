/**
 * `npm run package -- figures`: the size of the package, as published and as installed in a user's project, and the CPU
 * time of a command in a cold process; the same for today's sources as separate files. Writes
 * bench/results/package.json, the source of a table in docs/install.md.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeReport } from "../bench/write-report.js";
import { pack } from "./pack.js";
import { packUnbundled } from "./package-apart.js";
import { type Part, partsOf } from "./package-parts.js";

const RESULT = "package";

export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** Includes the packages that no other dependency needs. */
  readonly bytes: number;
  readonly optional?: true;
}

export interface Figures {
  readonly tarballBytes: number;
  readonly unpackedBytes: number;
  readonly files: number;
  /** The parts of the tarball, with their sizes. */
  readonly parts?: readonly Part[];
  readonly installedBytes: number;
  readonly packages: number;
  readonly dependencies: readonly Dependency[];
  /** Seconds of CPU, the median of several processes. Other work on the machine adds to it. */
  readonly cpu: Readonly<Record<"help" | "wrong option" | "check", number>>;
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const KERNEL = `import { constexpr, kernel, tensor, tl } from "tilescript";
export const scale = kernel("scale", {
  params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
  grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
  config: { BLOCK: 16 },
}, ({ x, y, BLOCK }) => {
  const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(i), tl.load(x.at(i)).mul(2));
});
`;

function bytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** The names of the installed packages that these need, transitively. */
function packageClosure(modules: string, names: readonly string[], excluded?: string): ReadonlySet<string> {
  const packages = new Set<string>();
  const visit = (name: string): void => {
    const folder = join(modules, name);
    if (name === excluded || packages.has(name) || !existsSync(folder)) return;
    packages.add(name);
    const { dependencies, optionalDependencies } = manifestOf(folder);
    Object.keys({ ...dependencies, ...optionalDependencies }).forEach(visit);
  };
  names.forEach(visit);
  return packages;
}

/** Seconds of CPU of a command: the median of several processes. */
function cpuOf(project: string, ...args: readonly string[]): number {
  const script = `TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>/dev/null`;
  const binary = join(project, "node_modules/tilescript/bin/tilescript.js");
  const times = Array.from({ length: 7 }, () => {
    const timeOutput = execFileSync(
      "bash",
      ["-c", `{ ${script}; } 2>&1; true`, "bash", process.execPath, binary, ...args],
      {
        cwd: project,
        encoding: "utf8",
      },
    );
    return timeOutput
      .trim()
      .split(" ")
      .map(Number)
      .reduce((a, b) => a + b, 0);
  }).sort((a, b) => a - b);
  return Number(times[3]!.toFixed(2));
}

async function figuresOf(tarball: string, hasParts: boolean): Promise<Figures> {
  const project = mkdtempSync(join(tmpdir(), "tilescript-figures-"));
  try {
    writeFileSync(join(project, "package.json"), `{ "type": "module" }`);
    writeFileSync(join(project, "kernel.js"), KERNEL);
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", tarball], {
      cwd: project,
      stdio: "inherit",
    });
    const modules = join(project, "node_modules");
    const packageFolder = join(modules, "tilescript");
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(packageFolder);
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    const dependency = (name: string): Dependency => {
      const othersClosure = packageClosure(
        modules,
        names.filter((otherName) => otherName !== name),
        name,
      );
      const exclusive = [...packageClosure(modules, [name])].filter((each) => !othersClosure.has(each));
      const bytes = exclusive.reduce((sum, each) => sum + bytesOf(join(modules, each)), 0);
      const { version } = manifestOf(join(modules, name));
      return { name, version, bytes, ...(name in optionalDependencies && { optional: true }) };
    };
    return {
      tarballBytes: statSync(tarball).size,
      unpackedBytes: bytesOf(packageFolder),
      files: readdirSync(packageFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .length,
      ...(hasParts && { parts: await partsOf(packageFolder) }),
      installedBytes: bytesOf(modules),
      packages: packageClosure(modules, ["tilescript"]).size,
      dependencies: names.map(dependency).sort((a, b) => b.bytes - a.bytes),
      cpu: {
        help: cpuOf(project, "--help"),
        "wrong option": cpuOf(project, "run", "--nope"),
        check: cpuOf(project, "check", "kernel.js"),
      },
    };
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/** Calls `measure` with a temporary folder. */
async function inTemporaryFolder(measure: (folder: string) => Promise<Figures>): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-tarball-"));
  try {
    return await measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename)
  writeReport(RESULT, {
    apart: await inTemporaryFolder((folder) => figuresOf(packUnbundled(folder), false)),
    now: await inTemporaryFolder((folder) => figuresOf(pack(folder).tarball, true)),
  });
