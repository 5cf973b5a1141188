import { InvalidArgumentError, Option } from "commander";
import { pythonName, reservedName } from "../../diagnostics/catalog/definition-codes.js";
import { operatorGradient, operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { CompiledKernel, EmitOptions } from "../../compiled/compiled-kernel.js";
import { writeOutput, findUp, packageFolder } from "../system/files.js";
import { compileAll, isBuildError, refuseSameNames, warn } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import {
  type OperatorForm,
  packageFiles,
  type PackagedKernel,
  additionalOperators,
  nameProblem,
} from "../package/files.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { checkProofs } from "../report/proof-text.js";
import type { PackageReport, NewReport } from "../report/reports.js";
import { shellWord } from "../system/processes.js";
import { printJson, type Streams } from "../system/streams.js";
import type { KernelCommand, PlainCommand } from "../invocation/command.js";
import { existsSync } from "node:fs";

interface PackageOptions extends JsonOptions {
  readonly out?: string;
  readonly packageName?: string;
  readonly packageVersion: string;
  readonly license?: string;
  readonly licenseFile?: string;
  readonly tritonOp?: true;
}

export const packageKernels: KernelCommand<PackageOptions> = {
  name: "package",
  description: "write a Python package for pip: one module per kernel, operators, tests",
  example: "package 'kernels/*.ts' --out python",
  options: [
    new Option("--out <dir>", "the folder to write"),
    new Option("--package-name <name>", "the name that Python imports (default: the folder's name)"),
    new Option("--package-version <version>", "the package's version").argParser(versionOption).default("0.1.0"),
    new Option("--license <expression>", "the package's license as an SPDX expression, such as MIT").argParser(
      licenseOption,
    ),
    new Option("--license-file <path>", "a file with the license's text, copied to LICENSE"),
    options.tritonOp,
    options.kernel,
    options.json,
  ],
  flag: { text: "--package <dir>", option: "out" },
  checkOptions(flags) {
    packageDestination(flags);
  },
  async plan(kernels, flags, streams) {
    const { out, name } = packageDestination(flags);
    const { tritonOp, json, packageVersion: version, license, licenseFile } = flags;
    await checkFolder(out);
    const licenseText = licenseFile === undefined ? undefined : await readLicense(licenseFile);
    refuseSameNames(kernels);
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    for (const kernel of compiled) checkProofs(kernel);
    checkNames(compiled, name);
    const forms: readonly OperatorForm[] = tritonOp ? ["triton_op", "custom_op"] : ["custom_op"];
    const packaged = compiled.map((kernel) => packagedKernel(kernel, name, forms, streams));
    const files = await packageFiles(resolve(out), { name, version, license, licenseText }, packaged);
    return async () => {
      for (const [path, text] of files) await writeOutput(join(out, path), text);
      const paths = [...files.keys()].map((path) => join(out, path));
      if (json) printJson(streams, { ok: true, package: name, files: paths } satisfies PackageReport);
      else {
        for (const path of paths) streams.out(`wrote ${path}\n`);
        const [folder, tests] = [resolve(out), join(resolve(out), "tests")].map(shellWord);
        streams.out(`next: pip install ${folder}, and python -m unittest discover ${tests} tests it\n`);
      }
      return exitCodes.ok;
    };
  },
};

/** The output folder, and the import name in Python. */
function packageDestination({ out, packageName }: PackageOptions): { readonly out: string; readonly name: string } {
  if (out === undefined) throw new UsageError("--out is missing; name the folder to write, such as my-kernels");
  const name = packageName ?? basename(resolve(out)).replaceAll("-", "_");
  const why = nameProblem(name);
  if (why !== undefined) throw new UsageError(`${why}; choose another with --package-name, such as my_kernels`);
  return { out, name };
}

/** Throws UsageError for a folder with files of the same names that this command did not write. */
async function checkFolder(out: string): Promise<void> {
  for (const name of ["pyproject.toml", "README.md"]) {
    const text = await readFile(join(out, name), "utf8").catch(() => undefined);
    if (text !== undefined && !text.includes("Written by tilescript package."))
      throw new UsageError(`${join(out, name)} was not written by this command and was not changed; name a new folder`);
  }
}

/** Validates a version by PyPA's specification: `1.0`, `2.1rc1`, `1.0.post2`, `1.0+cu130`. */
function versionOption(text: string): string {
  if (!/^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([.][a-z0-9]+)*)?$/.test(text))
    throw new InvalidArgumentError("It must be a version of a Python package, such as 1.2.0 or 2.0rc1.");
  return text;
}

async function readLicense(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new UsageError(`--license-file ${path} cannot be read; name a text file, such as LICENSE`, { cause: error });
  });
}

function licenseOption(text: string): string {
  if (!/^\(*[A-Za-z0-9][A-Za-z0-9.+-]*\)*( (AND|OR|WITH) \(*[A-Za-z0-9][A-Za-z0-9.+-]*\)*)*$/.test(text))
    throw new InvalidArgumentError("It must be an SPDX expression, such as MIT or Apache-2.0.");
  return text;
}

function checkNames(kernels: readonly CompiledKernel[], name: string): void {
  const names = kernels.map(({ signature }) => signature.name);
  for (const used of ["kernels", "_runtime"])
    if (names.includes(used))
      throw new UsageError(`the package ${name} has a ${used} of its own; rename the kernel ${used}`);
  for (const { signature } of kernels)
    for (const operator of additionalOperators(signature))
      if (names.includes(operator))
        throw new UsageError(`${signature.name} registers ${name}::${operator} as well; rename the kernel ${operator}`);
}

/** Errors of a kernel that does not support one form of an operator. */
const FORM_CODES: readonly DiagnosticCode[] = [
  operatorParams.code,
  operatorGradient.code,
  tritonOp.code,
  pythonName.code,
  reservedName.code,
];

/** Compiles a kernel as an operator in the first form that PyTorch accepts, or else as a plain function. */
function packagedKernel(
  kernel: CompiledKernel,
  namespace: string,
  forms: readonly OperatorForm[],
  streams: Streams,
): PackagedKernel {
  const emit = (options?: EmitOptions) =>
    kernel.emitForPackage(`${namespace}.kernels.${kernel.signature.name}`, { launch: "fast", ...options });
  for (const form of forms) {
    try {
      return { kernel, modules: emit({ op: { namespace, form } }), operator: form };
    } catch (error) {
      if (!isBuildError(error) || !error.diagnostics.every(({ code }) => FORM_CODES.includes(code))) throw error;
      for (const { message } of error.diagnostics) streams.err(`no ${form}: ${message}\n`);
    }
  }
  return { kernel, modules: emit(), operator: undefined };
}

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
