/**
 * `npm run package:figures`: what the package weighs, as npm gets it and as a user's project has it, and what a command
 * costs from a cold process; the same of today's sources as a file each. Writes bench/results/package.json, of which
 * docs/install.md has a table.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeReport } from "../bench/write-report.js";
import { packApart } from "./package-apart.js";
import { type Part, partsOf } from "./package-parts.js";

const root = resolve(import.meta.dirname, "..");
const RESULT = "package";

export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** With those that nothing else needs. */
  readonly bytes: number;
  readonly optional?: true;
}

export interface Figures {
  readonly tarballBytes: number;
  readonly unpackedBytes: number;
  readonly files: number;
  /** What the tarball's bytes are spent on. */
  readonly parts?: readonly Part[];
  readonly installedBytes: number;
  readonly packages: number;
  readonly dependencies: readonly Dependency[];
  /** Seconds of CPU, the median of several processes. What else a machine does adds to it. */
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

/** The installed packages that these need, by the path of each. */
function needed(modules: string, names: readonly string[], without?: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    const folder = join(modules, name);
    if (name === without || found.has(name) || !existsSync(folder)) return;
    found.add(name);
    const { dependencies, optionalDependencies } = manifestOf(folder);
    Object.keys({ ...dependencies, ...optionalDependencies }).forEach(visit);
  };
  names.forEach(visit);
  return found;
}

/** Seconds of CPU of a command: the median of several processes. */
function cpuOf(project: string, ...args: readonly string[]): number {
  const script = `TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>/dev/null`;
  const binary = join(project, "node_modules/tilescript/bin/tilescript.js");
  const times = Array.from({ length: 7 }, () => {
    const printed = execFileSync(
      "bash",
      ["-c", `{ ${script}; } 2>&1; true`, "bash", process.execPath, binary, ...args],
      {
        cwd: project,
        encoding: "utf8",
      },
    );
    return printed
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
    const own = join(modules, "tilescript");
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(own);
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    const dependency = (name: string): Dependency => {
      const others = needed(
        modules,
        names.filter((other) => other !== name),
        name,
      );
      const alone = [...needed(modules, [name])].filter((each) => !others.has(each));
      const bytes = alone.reduce((sum, each) => sum + bytesOf(join(modules, each)), 0);
      const { version } = manifestOf(join(modules, name));
      return { name, version, bytes, ...(name in optionalDependencies && { optional: true }) };
    };
    return {
      tarballBytes: statSync(tarball).size,
      unpackedBytes: bytesOf(own),
      files: readdirSync(own, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length,
      ...(hasParts && { parts: await partsOf(own) }),
      installedBytes: bytesOf(modules),
      packages: needed(modules, ["tilescript"]).size,
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

/** In a folder of its own, which goes afterwards. */
async function inFolder(measure: (folder: string) => Promise<Figures>): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-tarball-"));
  try {
    return await measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function pack(folder: string): string {
  const how = { cwd: root, encoding: "utf8" } as const;
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], how);
  return join(folder, packed.trim().split("\n").at(-1)!);
}

if (process.argv[1] === import.meta.filename)
  writeReport(RESULT, {
    apart: await inFolder((folder) => figuresOf(packApart(folder), false)),
    now: await inFolder((folder) => figuresOf(pack(folder), true)),
  });
