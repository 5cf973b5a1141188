/** The files of a Python package that holds emitted kernels: what `pip install` takes, and tests of it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompiledKernel, Tolerance } from "../compiled.js";
import { gradientTolerance, toleranceFor } from "../tolerance.js";
import { planCases, type PlannedCase } from "./cases.js";
import { dtypeOf } from "./request.js";
import { relocateMap } from "./source-map.js";

const templates = fileURLToPath(new URL("../../templates/package/", import.meta.url));

/** A kernel as it goes into a package. */
export interface PackagedKernel {
  readonly kernel: CompiledKernel;
  readonly python: string;
  readonly map: string;
  /** Whether the module registers an operator. */
  readonly isOperator: boolean;
}

/** Each file's text by its path in the folder. `name` is the package's, as Python imports it. */
export async function packageFiles(
  folder: string,
  name: string,
  kernels: readonly PackagedKernel[],
): Promise<ReadonlyMap<string, string>> {
  const names = kernels.map(({ kernel }) => kernel.signature.name).sort();
  const modules = kernels.flatMap(({ kernel, python, map }): [string, string][] => [
    [`${name}/kernels/${kernel.file}`, python],
    [`${name}/kernels/${kernel.file}.map`, relocateMap(map, join(folder, name, "kernels"))],
  ]);
  const filled = async (template: string, values: Readonly<Record<string, string>>): Promise<string> => {
    const text = await readFile(join(templates, template), "utf8");
    return text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key]!);
  };
  const tests = kernels.map((packaged) => testOf(name, packaged)).join("\n\n");
  return new Map([
    [
      "pyproject.toml",
      await filled("pyproject.toml", {
        distribution: name.replaceAll("_", "-"),
        package: name,
        kernels: names.join(", "),
      }),
    ],
    [`${name}/__init__.py`, initText(name, names, kernels)],
    [`${name}/kernels/__init__.py`, '"""One module for each kernel, with its reference and its inputs."""\n'],
    // What is exported has annotations, so type checkers need no stubs beside it.
    [`${name}/py.typed`, ""],
    ...modules,
    [
      "tests/test_kernels.py",
      await filled("test_kernels.py", { imports: importLine(`${name}.kernels`, names), tests }),
    ],
  ]);
}

function initText(name: string, names: readonly string[], kernels: readonly PackagedKernel[]): string {
  const registered = kernels.some(({ isOperator }) => isOperator) ? `, registered as torch.ops.${name}.*` : "";
  return [
    `"""Triton kernels as functions of PyTorch${registered}."""\n`,
    ...names.map((kernel) => importLine(`.kernels.${kernel}`, [kernel])),
    "",
    bracketed(
      "__all__ = ",
      "[",
      names.map((kernel) => `"${kernel}"`),
      "]",
    ),
    "",
  ].join("\n");
}

function importLine(from: string, names: readonly string[]): string {
  const line = `from ${from} import ${names.join(", ")}`;
  return line.length <= WIDTH ? line : bracketed(`from ${from} import `, "(", names, ")");
}

const WIDTH = 88;

/** On one line if it fits, as `ruff format` has it. */
function bracketed(head: string, open: string, items: readonly string[], close: string): string {
  const line = `${head}${open}${items.join(", ")}${close}`;
  return line.length < WIDTH ? line : `${head}${open}\n${items.map((item) => `    ${item},\n`).join("")}${close}`;
}

/** Elements and multiplications that Triton's interpreter does in a few seconds. */
const SMALL = { elements: 2 ** 15, work: 2 ** 20, exhaustive: false };
const TESTED = ["primes", "beyond blocks"];

/** `get_inputs` fits what the caller chooses besides shapes to the author's sizes only. */
const hasGivenSizes = ({ signature }: CompiledKernel): boolean => (signature.givenSizes ?? []).length > 0;

function testOf(name: string, { kernel, isOperator }: PackagedKernel): string {
  const { signature } = kernel;
  const { cases } = planCases(kernel, SMALL, { seed: 0 });
  const firsts = Object.fromEntries(
    Object.entries(signature.dtypes).map(([variable, members]) => [variable, members[0]]),
  );
  // `get_inputs` makes contiguous tensors of the first dtype.
  const plain = cases.filter(
    ({ at }) => !at.layouts && Object.entries(firsts).every(([variable, dtype]) => at.dtypes[variable] === dtype),
  );
  const found = (hasGivenSizes(kernel) ? ["author's"] : TESTED).flatMap(
    (label) => plain.find((planned) => planned.label === label) ?? [],
  );
  const chosen = found.length > 0 ? found : plain.slice(0, 1);
  const operator = isOperator ? `torch.ops.${name}.${signature.name}.default` : "None";
  const calls = chosen.map((planned) => checkCall(kernel, operator, planned));
  return [`    def test_${signature.name}(self):`, ...calls].join("\n");
}

function checkCall(kernel: CompiledKernel, operator: string, { at }: PlannedCase): string {
  const { signature } = kernel;
  const sizes = kernel.sizes(at);
  const pair = ({ rtol, atol }: Tolerance): string => `(${python(rtol)}, ${python(atol)})`;
  const results = signature.tensors.filter(({ role }) => role !== "in");
  const inputs = signature.tensors.filter(({ role }) => role !== "out");
  const tolerances = results.map((tensor) =>
    pair(toleranceFor(dtypeOf(tensor, at), signature, sizes, kernel.tolerance)),
  );
  const gradients = inputs.flatMap((tensor, i) =>
    signature.gradients?.includes(tensor.name)
      ? [`${i}: ${pair(gradientTolerance(dtypeOf(tensor, at), signature, tensor.name, sizes, kernel.tolerance))}`]
      : [],
  );
  const given = Object.entries(hasGivenSizes(kernel) ? {} : at.sizes).map(([size, value]) => `"${size}": ${value}`);
  return [
    "        self.check(",
    `            ${signature.name},`,
    `            ${operator},`,
    ...argument("{", given, "}"),
    ...argument("[", tolerances, "]"),
    ...argument("{", gradients, "}"),
    "        )",
  ].join("\n");
}

/** A list or a dict as an argument of `self.check`. */
function argument(open: string, items: readonly string[], close: string): readonly string[] {
  const indent = " ".repeat(12);
  return `${bracketed(indent, open, items, close)},`
    .split("\n")
    .map((line, i) => (i === 0 ? line : `${indent}${line}`));
}

/** A number as Python writes it. */
function python(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
