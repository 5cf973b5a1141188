/** The npm scripts: few, each task exists, and every text that names one names one that there is. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { taskList, tasks, type TaskGroup } from "../../scripts/tasks.js";
import { table } from "../../src/ops/table.js";
import { Handle } from "../../src/ir/handle.js";
import "../../src/index.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const manifest = JSON.parse(read("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly keywords: readonly string[];
  readonly sideEffects: boolean;
};
const groups: Readonly<Record<string, TaskGroup>> = tasks;

test("there are at most 15 scripts, and each group of tasks has one", () => {
  expect(Object.keys(manifest.scripts).length).toBeLessThanOrEqual(15);
  for (const group of Object.keys(groups)) expect(manifest.scripts[group]).toBe(`tsx scripts/task.ts ${group}`);
});

const all = Object.entries(groups).flatMap(([group, entries]) =>
  Object.entries(entries).map(([name, task]) => ({ group, name, ...task })),
);

test.each(all)("npm run $group -- $name runs a file that exists", ({ file, description }) => {
  expect(existsSync(join(root, file))).toBe(true);
  expect(description).toMatch(/^[^.]{10,90}$/);
});

test("without a name, a group lists its tasks; an unknown name is an error", () => {
  const node = ["--import", "tsx", "scripts/task.ts", "bench"];
  const printed = execFileSync(process.execPath, node, { cwd: root, encoding: "utf8" });
  expect(printed).toBe(`${taskList("bench", tasks.bench)}\n`);
  for (const name of Object.keys(tasks.bench)) expect(printed).toMatch(new RegExp(`^ {2}${name} {2,}\\S`, "m"));
  const wrong = (): unknown =>
    execFileSync(process.execPath, [...node, "gleon"], { cwd: root, encoding: "utf8", stdio: "pipe" });
  expect(wrong).toThrow(/no task "gleon"/);
});

/** Files that tell a reader which command to type. */
const texts = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => /\.(?:md|ts|py|yml)$|^\.ci\/run$/.test(file) && !file.startsWith("tests/unit/npm-scripts"))
  .filter((file) => existsSync(join(root, file)));

test("every npm script that a text names exists, with its task", () => {
  const wrong = texts.flatMap((file) =>
    // A command may be broken into lines of a comment.
    [
      ...read(file)
        .replaceAll(/\n \* ?/g, " ")
        .matchAll(/\bnpm run ([a-z][\w:-]*)(?: -- ([\w-]+))?/g),
    ].flatMap(([command, script, task]) => {
      if (!Object.hasOwn(manifest.scripts, script!)) return [`${file}: ${command}`];
      const entries = groups[script!];
      return entries && task !== undefined && !task.startsWith("-") && !Object.hasOwn(entries, task)
        ? [`${file}: ${command}`]
        : [];
    }),
  );
  expect(wrong).toEqual([]);
});

test("package.json says that loading a module has effects, because ops give handles their methods", () => {
  const methods = table.filter(({ method }) => method).map(({ name }) => name);
  expect(methods.length).toBeGreaterThan(50);
  expect(methods.filter((name) => !Object.hasOwn(Handle.prototype, name))).toEqual([]);
  expect(manifest.sideEffects).toBe(true);
  expect(new Set(manifest.keywords).size).toBe(manifest.keywords.length);
});
