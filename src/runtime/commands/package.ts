import { InvalidArgumentError, Option } from "commander";
import { pythonName, reservedName } from "../../diagnostics/catalog/definition-codes.js";
import { operatorGradient, operatorParams, tritonOp } from "../../diagnostics/catalog/operator-codes.js";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { CompiledKernel, EmitOptions } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { compileAll, isBuildError, refuseSameNames, warn } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { type OperatorForm, packageFiles, type PackagedKernel, additionalOperators } from "../package/files.js";
import { nameProblem } from "../package/names.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { checkProofs } from "../report/kernel-diagnostics.js";
import type { PackageReport } from "../report/reports.js";
import { shellWord } from "../system/run-program.js";
import { printJson, type Streams } from "../system/streams.js";
import type { KernelCommand } from "../invocation/command.js";

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
