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
  "@ts-morph/common": "parses your file with TypeScript, for names and for JavaScript operators on traced values",
  "ts-morph": "edits your file for `fix` and `tune`",
  prettier: "formats the emitted Python, and the TypeScript that `fix`, `tune` and `import` write",
  "fast-check": "generates test cases for `verify` and property tests, and shrinks failing ones",
  "@resvg/resvg-js": "writes plots as PNG; without it, plots are SVG only",
  commander: "parses the command line",
  execa: "starts Python",
  tinyglobby: "expands file patterns on the command line",
  "@jridgewell/gen-mapping": "writes source maps from Python to your lines",
  "@jridgewell/trace-mapping": "reads source maps, to show Python errors at your lines",
  picocolors: "colors on a terminal",
};

const tableOf = (...table: Parameters<typeof tableLines>): string => tableLines(...table).join("\n");

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`;

interface PackageRecord extends Readonly<Record<"apart" | "now", Figures>> {
  readonly date: string;
  readonly machine: { readonly cores: number; readonly processor: string; readonly node: string };
}

/** The size of an installation, and the size and purpose of each dependency. */
function dependencyTable(): string {
  const record = result<PackageRecord>("package")!;
  const { apart: perSource, now: packaged, machine } = record;
  const rows: readonly (readonly [string, (figures: Figures) => string])[] = [
    ["tarball", ({ tarballBytes }) => megabytes(tarballBytes)],
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
    ["measure", "one file per source", "package"],
    rows.map(([label, format]) => [label, format(perSource), format(packaged)]),
    afterFirst,
  );
  const partTable = tableOf(
    ["part of the tarball", "gzipped"],
    (packaged.parts ?? []).map(({ what: label, bytes }) => [label, `${Math.round(bytes / 1000)} kB`]),
    afterFirst,
  );
  const dependencies = tableOf(
    ["dependency", "size", "purpose"],
    packaged.dependencies.map(({ name, version, bytes, optional }) => {
      const purpose = dependencyPurposes[name];
      if (purpose === undefined) throw new Error(`say in docs/install-tables.ts what ${name} is for`);
      return [`\`${name}\` ${version}${optional ? ", optional" : ""}`, megabytes(bytes), purpose];
    }),
    (column) => column === 1,
  );
  const caption = `${machine.cores} cores (${machine.processor}), Node ${machine.node}, ${record.date}:`;
  return `\n${caption}\n\n${sizes}\n\n${partTable}\n\n${dependencies}\n`;
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
    /^Node/.test(name) ? `Node ${version}` : `${name} ${version}`,
  );
  return [
    "",
    `\`npm run package -- matrix\` generated this table on ${date}. Versions:\n\n${formattedVersions.map((version) => `- ${version}`).join("\n")}\n\nIn the table, "runs" means that a program evaluates a kernel and \`tilescript check\` passes. In the rows of TypeScript, "runs" means that TypeScript reports no error, with \`@types/node\` and without \`skipLibCheck\`. A cell is empty if the combination does not exist, because ${notApplicable.join(" or ")}.`,
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
  const first = solvedWithin(1);
  const results =
    first === tasks.length
      ? "All kernels were correct at the first attempt."
      : `${first} kernels were correct at the first attempt, and ${solvedWithin(3)} by the third.`;
  return [
    "",
    `In a trial on ${report.date}, a model wrote ${tasks.length} kernels from descriptions (\`bench/agents/tasks.ts\`). It had seen only that page, and ran nothing before the first attempt. ${results} A kernel counts as correct if \`verify\` passed on the evaluator and on Triton's interpreter, with references written before the trial.`,
    "",
  ].join("\n");
}

/** The text of every marked part of docs/install.md, by the name in its mark. */
export function installParts(): Readonly<Record<string, string>> {
  return { dependencies: dependencyTable(), matrix: matrixTable(), agents: agentsText() };
}
