/** Runs a script of `tasks.ts`: `tsx scripts/task.ts GROUP [NAME] [options]`. Without a name, it lists the group. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { defaults, taskList, tasks, type TaskGroup } from "./tasks.js";

const [group = "", ...restArgs] = process.argv.slice(2);
const entries: TaskGroup | undefined = Object.entries(tasks).find(([name]) => name === group)?.[1];
if (!entries) throw new Error(`no group "${group}"; write one of ${Object.keys(tasks).join(", ")}`);

const [name = defaults[group], ...options] = restArgs;
const task = name !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined;
if (task) {
  const file = resolve(import.meta.dirname, "..", task.file);
  // The script parses its own options, and detects by `argv[1]` that it is the main program.
  process.argv.splice(1, process.argv.length, file, ...options);
  await import(pathToFileURL(file).href);
} else {
  console.log(taskList(group, entries));
  if (name !== undefined) {
    console.error(`\nno task "${name}"`);
    process.exitCode = 2;
  }
}
