import { Option } from "commander";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeOutput } from "../system/files.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { findUp, packageFolder } from "../system/package-folder.js";
import { exitCodes, UsageError } from "../system/errors.js";
import type { NewReport } from "../report/reports.js";
import { printJson } from "../system/streams.js";
import type { PlainCommand } from "../invocation/command.js";

const templates = join(packageFolder, "templates");

/** Names and templates of new files; `starter` in a name is replaced by the new kernel's name. */
const kernelFiles = { "starter.ts": "kernel.ts", "starter.test.ts": "kernel.test.ts" };
const projectFiles = { ...kernelFiles, "package.json": "project.json", "tsconfig.json": "tsconfig.json" };

export const create: PlainCommand<JsonOptions & { readonly project?: true }> = {
  name: "new",
  description: "create a kernel file that is ready to run, with its test",
  example: "new add-relu",
  argument: { text: "<name>", description: "the kernel's name, such as add-relu" },
  options: [new Option("--project", "create a folder of that name, with a package.json"), options.json],
  async run(name = "", { project, json }, streams) {
    if (!/^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/.test(name))
      throw new UsageError(`${name} cannot be the name of a kernel; use words of a-z and 0-9, such as add-relu`);
    const folder = project ? name : "";
    const texts: [string, string][] = [];
    for (const [file, template] of Object.entries(project ? projectFiles : kernelFiles)) {
      const text = await readFile(join(templates, template), "utf8");
      texts.push([join(folder, file.replace("starter", name)), fillTemplate(text, template, name)]);
    }
    for (const path of project ? [name] : texts.map(([file]) => file))
      if (existsSync(path)) throw new UsageError(`${path} already exists and was not changed; choose another name`);
    for (const [path, text] of texts) await writeOutput(path, text);
    const files = texts.map(([path]) => path);
    if (json) printJson(streams, { ok: true, files } satisfies NewReport);
    else {
      for (const path of files) streams.out(`made ${path}\n`);
      const [first] = files;
      const setupCommands = project || !first ? [] : installCommands(resolve(first));
      for (const command of setupCommands) streams.out(`first: ${command}\n`);
      const start = project ? `cd ${name} && npm install && npm start` : `npx tsx ${name}.ts --run`;
      streams.out(`next: ${start}, and \`npx vitest run\` tests it\n`);
    }
    return exitCodes.ok;
  },
};

/**
 * The command that installs missing packages that the files import. They may be installed in any `node_modules` above.
 */
function installCommands(file: string): readonly string[] {
  const packages = ["tsx", "vitest", "fast-check"].filter((name) => !findUp(file, join("node_modules", name)));
  return packages.length > 0 ? [`npm install --save-dev ${packages.join(" ")}`] : [];
}

/** Replaces `starter` in the template by the kernel's name: as an identifier, in snake_case, or as a file name. */
function fillTemplate(text: string, template: string, name: string): string {
  const camel = name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
  if (template.endsWith(".json")) return text.replaceAll("starter", name);
  return text
    .replace('kernel(\n  "starter"', `kernel(\n  "${name.replaceAll("-", "_")}"`)
    .replaceAll("./kernel.js", `./${name}.js`)
    .replaceAll("starter", camel);
}
