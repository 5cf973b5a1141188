/** The tables of docs/install.md, from what scripts measured: dependencies, projects, and agents' kernels. */
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

/** What each dependency is for. */
export const buys: Readonly<Record<string, string>> = {
  "@ts-morph/common": "TypeScript's parser: reads your file, for names and for JavaScript that ignores traced values",
  prettier: "its document printer lays out Python; its formatter lays out what `fix`, `tune` and `import` write",
  "fast-check": "draws cases for `verify` and property tests, and makes a failure small",
  "@resvg/resvg-js": "PNG files of plots; without it they are SVG",
  commander: "the command line",
  tinyglobby: "patterns of files on the command line",
  "@jridgewell/gen-mapping": "writes source maps from Python to your lines",
  "@jridgewell/trace-mapping": "reads them, for errors of Python at your lines",
  picocolors: "colors on a terminal",
};

function tableOf(
  head: readonly string[],
  lines: readonly (readonly string[])[],
  aligned: readonly number[] = [],
): string {
  const rule = head.map((_, i) => (aligned.includes(i) ? "---:" : "---"));
  return [head, rule, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`;

/** What installing costs, and what each dependency costs and buys. */
function dependencyTable(): string {
  const { apart, now } = result<Record<"apart" | "now", Figures>>("package")!;
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
    rows.map(([what, of]) => [what, of(apart), of(now)]),
    [1, 2],
  );
  const parts = tableOf(
    ["part of the tarball", "packed"],
    (now.parts ?? []).map(({ what, bytes }) => [what, `${Math.round(bytes / 1000)} kB`]),
    [1],
  );
  const dependencies = tableOf(
    ["dependency", "size", "what it is for"],
    now.dependencies.map(({ name, version, bytes, optional }) => {
      const what = buys[name];
      if (what === undefined) throw new Error(`say in docs/install-tables.ts what ${name} is for`);
      return [`\`${name}\` ${version}${optional ? ", optional" : ""}`, megabytes(bytes), what];
    }),
    [1],
  );
  return `\n${sizes}\n\n${parts}\n\n${dependencies}\n`;
}

interface Matrix {
  readonly date: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly cells: readonly Cell[];
}

/** One row for each kind of module and what runs or checks it, one column for each package manager. */
function matrixTable(): string {
  const { date, versions, cells } = result<Matrix>("matrix")!;
  const managers = [...new Set(cells.map(({ manager }) => manager))];
  const reasons: string[] = [];
  const mark = (cell: Cell | undefined): string => {
    if (cell?.result !== "fails") return cell?.result === "runs" ? "runs" : "";
    const why = cell.why ?? "";
    if (!reasons.includes(why)) reasons.push(why);
    return `fails (${reasons.indexOf(why) + 1})`;
  };
  const keys = [...new Set(cells.map((cell) => `${cell.module}\n${cell.with}`))];
  const lines = keys.map((key) => {
    const [module, by] = key.split("\n") as [string, string];
    const of = (manager: string) =>
      cells.find((cell) => cell.manager === manager && cell.module === module && cell.with === by);
    return [module, by, ...managers.map((manager) => mark(of(manager)))];
  });
  const table = tableOf(["module", "with", ...managers], lines);
  const blank = [...new Set(cells.flatMap(({ result: is, why }) => (is === "not applicable" && why ? [why] : [])))];
  const used = Object.entries(versions).map(([name, version]) => (/^Node/.test(name) ? version : `${name} ${version}`));
  return [
    "",
    `Made by \`npm run matrix\` on ${date}, with Node ${used.join(", ")}. "Runs" means that a program with a kernel evaluates it and \`tilescript check\` passes, or that TypeScript, with \`@types/node\` and \`skipLibCheck\` off, finds no error. A cell is empty where there is nothing to try: ${blank.join("; ")}.`,
    "",
    table,
    "",
    ...reasons.map((why, i) => `${i + 1}. \`${why.replaceAll("`", "'")}\``),
    "",
  ].join("\n");
}

/** How many of the tasks were solved at which attempt. */
function agentsText(): string {
  const found = result<{ readonly date: string; readonly attempts: readonly Attempt[] }>("agents");
  if (!found) return "";
  const tasks = [...new Set(found.attempts.map(({ task }) => task))];
  const by = (most: number): number =>
    tasks.filter((task) => found.attempts.some((each) => each.task === task && each.attempt <= most && each.right))
      .length;
  const lines = tasks.map((task) => {
    const own = found.attempts.filter((each) => each.task === task);
    const right = own.find((each) => each.right);
    return [`\`${task}\``, right ? `right at attempt ${right.attempt}` : `wrong after ${own.length}`];
  });
  return [
    "",
    `Tried on ${found.date}: a model that had seen only that page and the package wrote ${tasks.length} kernels from descriptions (\`bench/agents/tasks.ts\`). ${by(1)} were right at the first attempt, ${by(3)} by the third. Right means that \`verify\` passed on the evaluator and on Triton's interpreter, against references that were fixed before.`,
    "",
    tableOf(["kernel", "result"], lines),
    "",
  ].join("\n");
}

/** The text of every marked part of docs/install.md, by the name in its mark. */
export function installParts(): Readonly<Record<string, string>> {
  return { dependencies: dependencyTable(), matrix: matrixTable(), agents: agentsText() };
}
