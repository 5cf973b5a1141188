/**
 * `npm run matrix`: installs the tarball with each package manager and uses it as each kind of module, in each runtime
 * and under each TypeScript. Writes bench/results/matrix.json, of which docs/install.md has a table. It needs Linux on
 * x64 and a registry, and takes about ten minutes; the runtimes lie in `.cache/matrix`. `npm run matrix -- Yarn` renews
 * what one manager gives.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeReport } from "../bench/write-report.js";
import {
  isTypeScript,
  type Manager,
  managersIn,
  modules,
  type ModuleKind,
  type Ran,
  run,
  type Runtime,
  runtimesIn,
  SAYS,
  TOOLS,
  writeProject,
} from "./matrix-parts.js";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, ".cache/matrix");
const tools = join(folder, "node_modules");
const runtimes = runtimesIn(tools);

export interface Cell {
  readonly manager: string;
  readonly module: string;
  /** A runtime, or a TypeScript with its resolution. */
  readonly with: string;
  readonly result: "runs" | "fails" | "not applicable";
  /** Why it does not run. */
  readonly why?: string;
}

/** What a manager's project is tried with. */
interface Project {
  readonly manager: Manager;
  readonly path: string;
}

/** The line of what a process printed that says most, of whose paths only the names of files stay. */
function whyOf({ code, out }: Ran): string {
  const lines = out.split("\n").map((line) => line.trim());
  const told = lines.find((line) => /error/i.test(line)) ?? lines.find((line) => line !== "") ?? `exit code ${code}`;
  return told.replaceAll(/(?:file:\/\/)?\/[^\s']*\/(?=[^/\s']+)/g, "").slice(0, 200);
}

/** How a runtime starts a program in the project: Yarn's hooks find packages in archives. */
const startOf = ({ manager }: Project, { command, isNode }: Runtime): readonly string[] =>
  manager.inArchives && isNode ? [...manager.inArchives(command[0]!), "node"] : command;

/** The path of a file of an installed package. */
function installed(project: Project, name: string, file: string): string {
  if (!project.manager.inArchives) return join(project.path, "node_modules", name, file);
  const node = runtimes.find(({ isNode }) => isNode)!;
  const script = `console.log(require.resolve("${name}/package.json"))`;
  const { out } = run([...startOf(project, node), "-e", script], project.path);
  return out.trim().replace(/package\.json$/, file);
}

/** A program with a kernel runs, and `tilescript check` finds the kernel in its file. */
function runtimeCell(project: Project, module: ModuleKind, runtime: Runtime): Cell {
  const { manager, path } = project;
  const tsx = runtime.needsTsx(module);
  const cell = { manager: manager.name, module: module.name, with: `${runtime.name}${tsx ? " and tsx" : ""}` };
  if (manager.inArchives && !runtime.isNode)
    return { ...cell, result: "not applicable", why: `${runtime.name} does not know Plug'n'Play` };
  const file = join(path, module.folder, module.file);
  const start = startOf(project, runtime);
  const ran = run([...start, ...(tsx ? ["--import", "tsx"] : []), file], path);
  if (ran.code !== 0 || !ran.out.includes(SAYS)) return { ...cell, result: "fails", why: whyOf(ran) };
  const binary = installed(project, "tilescript", "bin/tilescript.js");
  const checked = run([...start, binary, "check", file], path);
  const isRight = checked.code === 0 && checked.out.includes("scale: ok");
  return isRight
    ? { ...cell, result: "runs" }
    : { ...cell, result: "fails", why: `tilescript check: ${whyOf(checked)}` };
}

const TYPESCRIPTS = [
  { name: "TypeScript 5.9", installedAs: "typescript", flags: [] },
  { name: "TypeScript 7", installedAs: "typescript-7", flags: ["--ignoreConfig"] },
];
const RESOLUTIONS = { nodenext: "nodenext", bundler: "esnext" };

/** No error in the file, nor in the declarations of any package. */
function typeCells(project: Project, module: ModuleKind): readonly Cell[] {
  const { manager, path } = project;
  const node = runtimes.findLast(({ isNode }) => isNode)!;
  const common = ["--noEmit", "--strict", "--target", "es2023", "--types", "node", "--skipLibCheck", "false"];
  return TYPESCRIPTS.flatMap(({ name, installedAs, flags }) =>
    Object.entries(RESOLUTIONS).map(([resolution, kind]): Cell => {
      const cell = { manager: manager.name, module: module.name, with: `${name}, ${resolution}` };
      const tsc = installed(project, installedAs, "bin/tsc");
      const how = [...flags, ...common, "--module", kind, "--moduleResolution", resolution];
      const ran = run([...startOf(project, node), tsc, ...how, join(module.folder, module.file)], path);
      return ran.code === 0 ? { ...cell, result: "runs" } : { ...cell, result: "fails", why: whyOf(ran) };
    }),
  );
}

/** Outside of this repository, whose packages a project must not find. */
function cellsOf(manager: Manager, tarball: string): readonly Cell[] {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "tilescript-matrix-")));
  try {
    writeProject(path, tarball, manager.files);
    const made = manager.install(path);
    if (made.code !== 0)
      return [{ manager: manager.name, module: "", with: "install", result: "fails", why: whyOf(made) }];
    const project = { manager, path };
    return modules.flatMap((module) => [
      ...runtimes.map((runtime) => runtimeCell(project, module, runtime)),
      ...(isTypeScript(module) ? typeCells(project, module) : []),
    ]);
  } finally {
    if (process.env["KEEP"] === undefined) rmSync(path, { recursive: true, force: true });
    else console.log(path);
  }
}

/** What was installed, by the name that the page uses. */
function versions(): Readonly<Record<string, string>> {
  const of = (name: string): string =>
    (JSON.parse(readFileSync(join(tools, name, "package.json"), "utf8")) as { version: string }).version;
  const names = { Bun: "bun", Deno: "@deno/linux-x64-glibc", pnpm: "@pnpm/exe.linux-x64", Yarn: "@yarnpkg/cli-dist" };
  return {
    ...Object.fromEntries([20, 22, 24].map((major) => [`Node ${major}`, of(`node${major}`)])),
    npm: execFileSync("npm", ["--version"], { encoding: "utf8" }).trim(),
    ...Object.fromEntries(Object.entries(names).map(([name, path]) => [name, of(path)])),
  };
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(tools)) {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: TOOLS }));
    execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
  }
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: root,
    encoding: "utf8",
  });
  const tarball = join(folder, packed.trim().split("\n").at(-1)!);
  const only = process.argv[2];
  const managers = managersIn(tools);
  const file = join(root, "bench/results/matrix.json");
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { cells: readonly Cell[] }).cells : [];
  const cells = managers.flatMap((manager) =>
    only === undefined || manager.name === only
      ? cellsOf(manager, tarball)
      : known.filter((cell) => cell.manager === manager.name),
  );
  writeReport("matrix", { versions: versions(), cells });
  for (const { manager, module, with: by, result, why = "" } of cells)
    console.log([manager, module, by, result, why].join(" | "));
}
