/**
 * `npm run package -- matrix`: installs the tarball with each package manager and uses it as each kind of module, in
 * each runtime and under each TypeScript. Writes bench/results/matrix.json, the source of a table in docs/install.md.
 * It needs Linux on x64 and a registry, and takes about ten minutes; the runtimes are installed in `.cache/matrix`.
 * `npm run package -- matrix Yarn` updates the results of one manager.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pack } from "./pack.js";
import { writeReport } from "../bench/write-report.js";
import {
  isTypeScript,
  type Manager,
  managersIn,
  modules,
  type ModuleKind,
  type ProcessResult,
  run,
  type Runtime,
  runtimesIn,
  EXPECTED_OUTPUT,
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
  /** The reason for a failure. */
  readonly why?: string;
}

/** A project installed by one manager. */
interface Project {
  readonly manager: Manager;
  readonly path: string;
}

/** The most informative line of a process's output, with paths reduced to file names. */
function failureOf({ code, out }: ProcessResult): string {
  const lines = out.split("\n").map((line) => line.trim());
  const errorLine =
    lines.find((line) => /error/i.test(line)) ?? lines.find((line) => line !== "") ?? `exit code ${code}`;
  return errorLine.replaceAll(/(?:file:\/\/)?\/[^\s']*\/(?=[^/\s']+)/g, "").slice(0, 200);
}

/** The command that starts a program in the project: Yarn's hooks find packages in archives. */
const startCommand = ({ manager }: Project, { command, isNode }: Runtime): readonly string[] =>
  manager.pnpCommand && isNode ? [...manager.pnpCommand(command[0]!), "node"] : command;

/** The path of a file of an installed package. */
function installedFile(project: Project, name: string, file: string): string {
  if (!project.manager.pnpCommand) return join(project.path, "node_modules", name, file);
  const node = runtimes.find(({ isNode }) => isNode)!;
  const script = `console.log(require.resolve("${name}/package.json"))`;
  const { out } = run([...startCommand(project, node), "-e", script], project.path);
  return out.trim().replace(/package\.json$/, file);
}

/** A program with a kernel runs, and `tilescript check` finds the kernel in its file. */
function runtimeCell(project: Project, module: ModuleKind, runtime: Runtime): Cell {
  const { manager, path } = project;
  const tsx = runtime.needsTsx(module);
  const cell = { manager: manager.name, module: module.name, with: `${runtime.name}${tsx ? " and tsx" : ""}` };
  if (manager.pnpCommand && !runtime.isNode)
    return { ...cell, result: "not applicable", why: "the runtime does not support Plug'n'Play" };
  const file = join(path, module.folder, module.file);
  const start = startCommand(project, runtime);
  const ran = run([...start, ...(tsx ? ["--import", "tsx"] : []), file], path);
  if (ran.code !== 0 || !ran.out.includes(EXPECTED_OUTPUT)) return { ...cell, result: "fails", why: failureOf(ran) };
  const binary = installedFile(project, "tilescript", "bin/tilescript.js");
  const check = run([...start, binary, "check", file], path);
  const isCorrect = check.code === 0 && check.out.includes("scale: ok");
  return isCorrect
    ? { ...cell, result: "runs" }
    : { ...cell, result: "fails", why: `tilescript check: ${failureOf(check)}` };
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
      const tsc = installedFile(project, installedAs, "bin/tsc");
      const tscFlags = [...flags, ...common, "--module", kind, "--moduleResolution", resolution];
      const ran = run([...startCommand(project, node), tsc, ...tscFlags, join(module.folder, module.file)], path);
      return ran.code === 0 ? { ...cell, result: "runs" } : { ...cell, result: "fails", why: failureOf(ran) };
    }),
  );
}

/** Runs outside of this repository, whose packages a project must not find. */
function cellsOf(manager: Manager, tarball: string): readonly Cell[] {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "tilescript-matrix-")));
  try {
    writeProject(path, tarball, manager.files);
    const installation = manager.install(path);
    if (installation.code !== 0)
      return [{ manager: manager.name, module: "", with: "install", result: "fails", why: failureOf(installation) }];
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

/** The installed versions, by the name that the page uses. */
function versions(): Readonly<Record<string, string>> {
  const versionOf = (name: string): string =>
    (JSON.parse(readFileSync(join(tools, name, "package.json"), "utf8")) as { version: string }).version;
  const names = { Bun: "bun", Deno: "@deno/linux-x64-glibc", pnpm: "@pnpm/exe.linux-x64", Yarn: "@yarnpkg/cli-dist" };
  return {
    ...Object.fromEntries([20, 22, 24].map((major) => [`Node ${major}`, versionOf(`node${major}`)])),
    npm: execFileSync("npm", ["--version"], { encoding: "utf8" }).trim(),
    ...Object.fromEntries(Object.entries(names).map(([name, path]) => [name, versionOf(path)])),
  };
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(tools)) {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: TOOLS }));
    execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
  }
  const { tarball } = pack(folder);
  const onlyManager = process.argv[2];
  const managers = managersIn(tools);
  const file = join(root, "bench/results/matrix.json");
  const recordedCells = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as { cells: readonly Cell[] }).cells
    : [];
  const cells = managers.flatMap((manager) =>
    onlyManager === undefined || manager.name === onlyManager
      ? cellsOf(manager, tarball)
      : recordedCells.filter((cell) => cell.manager === manager.name),
  );
  writeReport("matrix", { versions: versions(), cells });
  for (const { manager, module, with: runner, result, why: reason = "" } of cells)
    console.log([manager, module, runner, result, reason].join(" | "));
}
