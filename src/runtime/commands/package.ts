import { Option } from "commander";
import { pythonName, reservedName } from "../../diagnostics/catalogue/definition-codes.js";
import { operatorGradient, operatorParams, tritonOp } from "../../diagnostics/catalogue/operator-codes.js";
import type { DiagnosticCode } from "../../diagnostics/catalogue/index.js";
import { basename, join, resolve } from "node:path";
import type { CompiledKernel } from "../../contract/compiled.js";
import { writeOutput } from "../system/files.js";
import { compileAll, isBuildError, warn } from "../invocation/kernels.js";
import { options, type JsonOptions } from "../invocation/options.js";
import { type OperatorForm, packageFiles, type PackagedKernel, registeredBeside } from "../package/package-files.js";
import { exitCodes, UsageError } from "../system/problems.js";
import type { PackageReport } from "../report/reports.js";
import { shellWord } from "../system/shell.js";
import { printJson, type Streams } from "../system/streams.js";
import type { KernelCommand } from "../invocation/command.js";

interface PackageOptions extends JsonOptions {
  readonly out?: string;
  readonly packageName?: string;
  readonly tritonOp?: true;
}

export const packageKernels: KernelCommand<PackageOptions> = {
  name: "package",
  description: "write a Python package for pip: one module per kernel, operators, tests",
  options: [
    new Option("--out <dir>", "the folder to write"),
    new Option("--package-name <name>", "the name that Python imports (default: the folder's name)"),
    options.tritonOp,
    options.kernel,
    options.json,
  ],
  flag: { text: "--package <dir>", option: "out" },
  checkOptions(given) {
    destination(given);
  },
  async plan(kernels, given, streams) {
    const { out, name } = destination(given);
    const { tritonOp, json } = given;
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    checkNames(compiled, name);
    const forms: readonly OperatorForm[] = tritonOp ? ["triton_op", "custom_op"] : ["custom_op"];
    const packaged = compiled.map((kernel) => packagedKernel(kernel, name, forms, streams));
    const files = await packageFiles(resolve(out), name, packaged);
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

/** The folder to write, and the name that Python imports. */
function destination({ out, packageName }: PackageOptions): { readonly out: string; readonly name: string } {
  if (out === undefined) throw new UsageError("--out is missing; name the folder to write, such as my-kernels");
  const name = packageName ?? basename(resolve(out)).replaceAll("-", "_");
  if (!/^[a-z_][a-z0-9_]*$/.test(name))
    throw new UsageError(
      `${name} cannot be the name of a Python package; choose one with --package-name, such as my_kernels`,
    );
  return { out, name };
}

function checkNames(kernels: readonly CompiledKernel[], name: string): void {
  const names = kernels.map(({ signature }) => signature.name);
  const twice = names.find((each, i) => names.indexOf(each) !== i);
  if (twice !== undefined) throw new UsageError(`two kernels are called ${twice}; rename one`);
  if (names.includes("kernels"))
    throw new UsageError(`kernels is the name of a folder of the package ${name}; rename the kernel`);
  for (const { signature } of kernels)
    for (const more of registeredBeside(signature))
      if (names.includes(more))
        throw new UsageError(`${signature.name} registers ${name}::${more} as well; rename the kernel ${more}`);
}

/** What a kernel may lack for one form of an operator. */
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
  for (const form of forms) {
    try {
      return { kernel, ...kernel.emit({ op: { namespace, form } }), operator: form };
    } catch (error) {
      if (!isBuildError(error) || !error.diagnostics.every(({ code }) => FORM_CODES.includes(code))) throw error;
      for (const { message } of error.diagnostics) streams.err(`no ${form}: ${message}\n`);
    }
  }
  return { kernel, python: kernel.python, map: kernel.map, operator: undefined };
}
