/** The tables of docs/install.md, from measurements of scripts: dependencies, projects, and agents' kernels. */
import { afterFirst, tableLines } from "./markdown-table.js";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Attempt } from "../bench/agents/judge.js";
import type { Cell } from "../scripts/matrix.js";
import type { Figures } from "../scripts/package-figures.js";

const root = resolve(import.meta.dirname, "..");

function result<T>(name: string): T | undefined {
  const file = resolve(root, `bench/results/${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as T) : undefined;
}

/** The purpose of each dependency. */
export const dependencyPurposes: Readonly<Record<string, string>> = {
  "@ts-morph/common": "TypeScript's parser: reads your file, for names and for JavaScript that ignores traced values",
  "ts-morph": "edits your file for `fix` and `tune`",
  prettier: "its document printer lays out Python; its formatter lays out what `fix`, `tune` and `import` write",
  "fast-check": "draws cases for `verify` and property tests, and makes a failure small",
  "@resvg/resvg-js": "PNG files of plots; without it they are SVG",
  commander: "the command line",
  execa: "starts Python",
  tinyglobby: "patterns of files on the command line",
  "@jridgewell/gen-mapping": "writes source maps from Python to your lines",
  "@jridgewell/trace-mapping": "reads them, for errors of Python at your lines",
  picocolors: "colors on a terminal",
};

const tableOf = (...table: Parameters<typeof tableLines>): string => tableLines(...table).join("\n");

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`;

/** The size of an installation, and the size and purpose of each dependency. */
function dependencyTable(): string {
  const { apart: perSource, now: packaged } = result<Record<"apart" | "now", Figures>>("package")!;
  const rows: readonly (readonly [string, (figures: Figures) => string])[] = [
    ["the tarball", ({ tarballBytes }) => megabytes(tarballBytes)],
    ["unpacked", ({ unpackedBytes, files }) => `${megabytes(unpackedBytes)}, ${files} files`],
    [
      "installed, with dependencies",
      ({ installedBytes, packages }) => `${megabytes(installedBytes)}, ${packages} packages`,
    ],
    ["CPU of `tilescript --help`", ({ cpu }) => `${cpu.help} s`],
    ["CPU of a wrong option", ({ cpu }) => `${cpu["wrong option"]} s`],
    ["CPU of `tilescript check kernel.js`", ({ cpu }) => `${cpu.check} s`],
  ];
  const sizes = tableOf(
    ["what", "a file for each source", "the package"],
    rows.map(([label, format]) => [label, format(perSource), format(packaged)]),
    afterFirst,
  );
  const partTable = tableOf(
    ["part of the tarball", "packed"],
    (packaged.parts ?? []).map(({ what: label, bytes }) => [label, `${Math.round(bytes / 1000)} kB`]),
    afterFirst,
  );
  const dependencies = tableOf(
    ["dependency", "size", "what it is for"],
    packaged.dependencies.map(({ name, version, bytes, optional }) => {
      const purpose = dependencyPurposes[name];
      if (purpose === undefined) throw new Error(`say in docs/install-tables.ts what ${name} is for`);
      return [`\`${name}\` ${version}${optional ? ", optional" : ""}`, megabytes(bytes), purpose];
    }),
    (column) => column === 1,
  );
  return `\n${sizes}\n\n${partTable}\n\n${dependencies}\n`;
}

interface Matrix {
  readonly date: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly cells: readonly Cell[];
}

/** One row per kind of module and runtime or type checker, one column per package manager. */
function matrixTable(): string {
  const { date, versions, cells } = result<Matrix>("matrix")!;
  const managers = [...new Set(cells.map(({ manager }) => manager))];
  const reasons: string[] = [];
  const mark = (cell: Cell | undefined): string => {
    if (cell?.result !== "fails") return cell?.result === "runs" ? "runs" : "";
    const reason = cell.why ?? "";
    if (!reasons.includes(reason)) reasons.push(reason);
    return `fails (${reasons.indexOf(reason) + 1})`;
  };
  const keys = [...new Set(cells.map((cell) => `${cell.module}\n${cell.with}`))];
  const lines = keys.map((key) => {
    const [module, runner] = key.split("\n") as [string, string];
    const cellOf = (manager: string) =>
      cells.find((cell) => cell.manager === manager && cell.module === module && cell.with === runner);
    return [module, runner, ...managers.map((manager) => mark(cellOf(manager)))];
  });
  const table = tableOf(["module", "with", ...managers], lines);
  const notApplicable = [
    ...new Set(
      cells.flatMap(({ result: outcome, why: reason }) => (outcome === "not applicable" && reason ? [reason] : [])),
    ),
  ];
  const formattedVersions = Object.entries(versions).map(([name, version]) =>
    /^Node/.test(name) ? version : `${name} ${version}`,
  );
  return [
    "",
    `Made by \`npm run package -- matrix\` on ${date}, with Node ${formattedVersions.join(", ")}. "Runs" means that a program with a kernel evaluates it and \`tilescript check\` passes, or that TypeScript, with \`@types/node\` and \`skipLibCheck\` off, finds no error. A cell is empty where there is nothing to try: ${notApplicable.join("; ")}.`,
    "",
    table,
    "",
    ...reasons.map((reason, i) => `${i + 1}. \`${reason.replaceAll("`", "'")}\``),
    "",
  ].join("\n");
}

/** The number of tasks that agents solved, by attempt. */
function agentsText(): string {
  const report = result<{ readonly date: string; readonly attempts: readonly Attempt[] }>("agents");
  if (!report) return "";
  const tasks = [...new Set(report.attempts.map(({ task }) => task))];
  const solvedWithin = (limit: number): number =>
    tasks.filter((task) => report.attempts.some((each) => each.task === task && each.attempt <= limit && each.right))
      .length;
  const lines = tasks.map((task) => {
    const attempts = report.attempts.filter((each) => each.task === task);
    const right = attempts.find((each) => each.right);
    return [`\`${task}\``, right ? `right at attempt ${right.attempt}` : `wrong after ${attempts.length}`];
  });
  return [
    "",
    `Tried on ${report.date}: a model that had seen only that page and the package wrote ${tasks.length} kernels from descriptions (\`bench/agents/tasks.ts\`). ${solvedWithin(1)} were right at the first attempt, ${solvedWithin(3)} by the third. Right means that \`verify\` passed on the evaluator and on Triton's interpreter, against references that were fixed before.`,
    "",
    tableOf(["kernel", "result"], lines),
    "",
  ].join("\n");
}

/** The text of every marked part of docs/install.md, by the name in its mark. */
export function installParts(): Readonly<Record<string, string>> {
  return { dependencies: dependencyTable(), matrix: matrixTable(), agents: agentsText() };
}
