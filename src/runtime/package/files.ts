/** The files of a Python package with emitted kernels, for `pip install`, and its tests. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type {
  TestCase,
  CompiledKernel,
  Signature,
  TensorSignature,
  Tolerance,
} from "../../compiled/compiled-kernel.js";
import { declaredToleranceFor, declaredTolerance } from "../../compiled/declared-tolerance.js";
import { gradientTolerance, toleranceFor } from "../../compiled/tolerance.js";
import { deviceLimits } from "../verify/device-limits.js";
import { type Limits, planCases, type PlannedCase } from "../cases/cases.js";
import { distributionOf } from "./names.js";
import { importLine, layOut, pythonFloat, type Term } from "./python-text.js";
import { dtypeOf } from "../devices/request.js";
import { packageFolder } from "../system/package-folder.js";
import { relocateMap } from "../cases/mapped-lines.js";

const templates = join(packageFolder, "templates/package");

export type OperatorForm = "custom_op" | "triton_op";

/** A kernel of a package. */
export interface PackagedKernel {
  readonly kernel: CompiledKernel;
  readonly python: string;
  readonly map: string;
  /** How the module registers it, if PyTorch accepts it as an operator. */
  readonly operator: OperatorForm | undefined;
}

/** What a package says of itself. */
export interface PackageFacts {
  /** The name that Python imports. */
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license?: string | undefined;
}

/** The text of each file by its path in the folder. */
export async function packageFiles(
  folder: string,
  { name, version, license }: PackageFacts,
  kernels: readonly PackagedKernel[],
): Promise<ReadonlyMap<string, string>> {
  const names = kernels.map(({ kernel }) => kernel.signature.name).sort();
  const modules = kernels.flatMap(({ kernel, python, map }): [string, string][] => {
    const stem = `${name}/kernels/${kernel.signature.name}`;
    return [
      [`${stem}.py`, python],
      [`${stem}.pyi`, stubText(kernel, python)],
      [`${stem}.py.map`, relocateMap(map, join(folder, name, "kernels"))],
    ];
  });
  const filled = async (template: string, values: Readonly<Record<string, string>>): Promise<string> => {
    const text = await readFile(join(templates, template), "utf8");
    return text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key]!);
  };
  const tests = kernels.map((packaged) => testsOf(name, packaged)).join("\n\n");
  const facts = { distribution: distributionOf(name), package: name, version };
  const project = {
    ...facts,
    kernels: names.join(", "),
    // The field is a text since setuptools 77.
    license: license === undefined ? "" : `license = "${license}"\n`,
    setuptools: license === undefined ? "61" : "77",
  };
  const readme = {
    ...facts,
    registered: kernels.some(({ operator }) => operator) ? `, registered as \`torch.ops.${name}.*\`` : "",
    functions: kernels
      .toSorted((a, b) => (a.kernel.signature.name < b.kernel.signature.name ? -1 : 1))
      .map(functionText)
      .join("\n\n"),
    first: names[0] ?? "",
  };
  return new Map([
    ["pyproject.toml", await filled("pyproject.toml", project)],
    ["README.md", await filled("README.md", readme)],
    [`${name}/__init__.py`, initText(name, names, kernels)],
    [`${name}/kernels/__init__.py`, '"""One module for each kernel, with its reference and its inputs."""\n'],
    [`${name}/py.typed`, ""],
    ...modules,
    ["tests/test_kernels.py", await filled("test_kernels.py", { package: name, tests })],
  ]);
}

function initText(name: string, names: readonly string[], kernels: readonly PackagedKernel[]): string {
  const registered = kernels.some(({ operator }) => operator) ? `, registered as torch.ops.${name}.*` : "";
  return [
    `"""Triton kernels as functions of PyTorch${registered}."""\n`,
    ...names.map((kernel) => importLine(`.kernels.${kernel}`, [kernel])),
    "",
    layOut({ open: "__all__ = [", items: names.map((kernel) => `"${kernel}"`), close: "]" }),
    "",
  ].join("\n");
}

/** A kernel in the README: its signature and what it says of its parameters. */
function functionText({ kernel, python }: PackagedKernel): string {
  const { name } = kernel.signature;
  const head =
    new RegExp(`^def ${name}\\([^]*?\\)(?: -> .*)?:\\n(?:    r?"""[^]*?(?<!\\\\)"""\\n)?`, "m").exec(python)?.[0] ?? "";
  // A fence is longer than those in the author's words.
  const fence = "`".repeat(1 + Math.max(2, ...Array.from(head.matchAll(/`+/g), ([ticks]) => ticks.length)));
  return `### ${name}\n\n${fence}python\n${head}    ...\n${fence}`;
}

/** The module's exports as stubs, so that type checkers need not read Triton. */
function stubText({ signature, reference }: CompiledKernel, python: string): string {
  const stub = (name: string, gives?: string): string => {
    const [, params, returns] = new RegExp(`^def ${name}\\(([^]*?)\\)( -> .*)?:$`, "m").exec(python)!;
    const items = params!.split(/,\s+(?=\*|\w+[:=])|,?\n */).filter((item) => item !== "");
    // The parameters of `get_inputs` have defaults alone.
    const annotated = items.map((item) =>
      item.replace(/^(\w+)=(.*)/, (_, each: string, value: string) => `${each}: ${typeOfDefault(value)} = ${value}`),
    );
    return (
      layOut({ open: `def ${name}(`, items: annotated, close: `)${gives ? ` -> ${gives}` : returns}: ...` }) + "\n"
    );
  };
  return [
    "from typing import Any\n\nimport torch\n\n",
    stub(signature.name),
    ...(reference === "none" ? [] : [stub("reference_fn", "Any")]),
    stub("get_inputs", "list[Any]"),
    `\nkernel_fn = ${signature.name}\n`,
  ].join("");
}

function typeOfDefault(value: string): string {
  if (value === "True" || value === "False") return "bool";
  if (value.startsWith('"')) return "str";
  return value.startsWith("torch.") ? "torch.dtype" : /^-?\d+$/.test(value) ? "int" : "float";
}

/** What Triton's interpreter handles in a few seconds. */
const SMALL: Limits = { ...deviceLimits.interpreter, elements: 2 ** 15, work: 2 ** 23 };
/** For tests that run a kernel a dozen times. */
const TINY: Limits = { ...SMALL, elements: 2 ** 11, work: 2 ** 22 };
/** For kernels that have many programs at any size: only a GPU runs them in a few seconds. */
const MANY_PROGRAMS: Limits = { ...deviceLimits.interpreter, work: Infinity };

const onGpu = (why: string): string => `    @unittest.skipUnless(ON_GPU, "${why}")`;

/** The dtype that `get_inputs` gives a tensor. */
function firstDType({ signature: { dtypes } }: CompiledKernel, { dtype }: TensorSignature): string {
  return typeof dtype === "string" ? dtype : dtypes[dtype.variable]![0]!;
}

/** Modules refuse bfloat16 on Triton's interpreter, which computes it wrongly. `get_inputs` takes first dtypes. */
function skippedOnCpu(kernel: CompiledKernel): readonly string[] {
  const { signature, python } = kernel;
  if (signature.tensors.some((tensor) => firstDType(kernel, tensor) === "bfloat16"))
    return [onGpu("Triton's interpreter computes bfloat16 wrongly")];
  if (plainCases(kernel, deviceLimits.interpreter).length === 0)
    return [onGpu("too many programs for Triton's interpreter")];
  const isOfLibrary = /^from triton\.language\.extra import libdevice$/m.test(python);
  return isOfLibrary ? [onGpu("Triton's interpreter has no libdevice")] : [];
}

/** `opcheck` changes inputs by a multiplication, which PyTorch has for no 8-bit float. */
function skippedOperator(kernel: CompiledKernel, form: string): readonly string[] {
  const isSmallFloat = kernel.signature.tensors.some((tensor) => firstDType(kernel, tensor).startsWith("float8"));
  if (isSmallFloat) return [`    @unittest.skip("PyTorch's opcheck cannot multiply 8-bit floats")`];
  return form === "triton_op" ? [onGpu("PyTorch cannot trace Triton's interpreter")] : skippedOnCpu(kernel);
}

/** The tests of one kernel. */
function testsOf(name: string, { kernel, operator }: PackagedKernel): string {
  const { signature } = kernel;
  const calls = casesOf(kernel, SMALL, ["primes", "beyond blocks"]).map((at) => {
    const figures: Term = {
      open: "[",
      items: tolerances(kernel, at).map((each) => figuresTerm(figuresOf(each))),
      close: "]",
    };
    const gradients = signature.gradients ? [gradientsTerm(kernel, at)] : [];
    return call("check", [`kernels.${signature.name}`, sizesTerm(at), figures, ...gradients]);
  });
  return [
    [...skippedOnCpu(kernel), `    def test_${signature.name}(self):`, ...calls].join("\n"),
    ...(operator ? [operatorTest(name, kernel, operator)] : []),
  ].join("\n\n");
}

/** The cases with these labels, or any case if none has them; at larger sizes if the kernel needs more. */
function casesOf(
  kernel: CompiledKernel,
  limits: Limits,
  labels: readonly string[],
): readonly [TestCase, ...TestCase[]] {
  const tiers = [limits, deviceLimits.interpreter, MANY_PROGRAMS];
  const fitting = tiers.find((each) => plainCases(kernel, each).length > 0);
  const plain = fitting ? plainCases(kernel, fitting) : [];
  const found = labels.flatMap((label) => plain.find((planned) => planned.label === label) ?? []);
  const [any] = plain;
  if (!any) throw new Error(`${kernel.signature.name}: it takes no size that a test could have`);
  const [first = any, ...others] = found;
  return [first.at, ...others.map(({ at }) => at)];
}

function plainCases(kernel: CompiledKernel, limits: Limits): readonly PlannedCase[] {
  const firsts = Object.entries(kernel.signature.dtypes).map(([variable, members]) => [variable, members[0]] as const);
  // `get_inputs` makes contiguous tensors of the first dtype.
  return planCases(kernel, limits, { seed: 0 }).cases.filter(
    ({ at }) => !at.layouts && firsts.every(([variable, dtype]) => at.dtypes[variable] === dtype),
  );
}

function operatorTest(name: string, kernel: CompiledKernel, form: OperatorForm): string {
  const { signature } = kernel;
  const [at] = casesOf(kernel, TINY, ["primes"]);
  const module = `kernels.${signature.name}`;
  const registered = `torch.ops.${name}.${signature.name}`;
  // torch.compile chooses the config of a triton_op itself.
  const isExact = form === "custom_op" && !signature.unordered;
  const tolerance = isExact ? [] : [figuresTerm(largest(tolerances(kernel, at).map(figuresOf)), "tolerance=")];
  const gradients = signature.gradients ? [gradientsTerm(kernel, at)] : [];
  return [
    ...skippedOperator(kernel, form),
    `    def test_${signature.name}_operator(self):`,
    call("check_operator", [module, registered, sizesTerm(at), ...gradients, ...tolerance]),
    ...writingOperators(signature).map((writing) =>
      call("check_out", [module, registered, `torch.ops.${name}.${writing}`, sizesTerm(at), ...tolerance]),
    ),
  ].join("\n");
}

function sizesTerm({ sizes }: TestCase): Term {
  const items = Object.entries(sizes).map(([size, value]) => `"${size}": ${value}`);
  return { open: "{", items, close: "}" };
}

/** The tolerance of each result. */
function tolerances(kernel: CompiledKernel, at: TestCase): readonly Tolerance[] {
  const { signature, tolerance } = kernel;
  const known = { sizes: kernel.sizes(at), dtypes: at.dtypes };
  const results = signature.tensors.filter(({ role }) => role !== "in");
  return results.map((tensor) =>
    toleranceFor(dtypeOf(tensor, at), signature, known, TESTED_ON, declaredToleranceFor(tolerance, tensor.name)),
  );
}

/** The largest figures of each place. */
const largest = (all: readonly Figures[]): Figures =>
  all.reduce((most, figures) => most.map((figure, i) => Math.max(figure, figures[i]!)));

/** The tolerance of each gradient, by the input's name. */
function gradientsTerm({ signature, sizes, tolerance }: CompiledKernel, at: TestCase): Term {
  const inputs = signature.tensors.filter(({ name }) => signature.gradients?.includes(name));
  const known = { sizes: sizes(at), dtypes: at.dtypes };
  const items = inputs.map((tensor) => {
    const dtype = dtypeOf(tensor, at);
    const figures = gradientTolerance(dtype, signature, tensor.name, known, TESTED_ON, declaredTolerance(tolerance));
    return figuresTerm(figuresOf(figures), `"${tensor.python}": `);
  });
  return { open: "{", items, close: "}" };
}

/** The further operators that a module registers, besides its kernel's own. */
export function registeredBeside({ name, tensors, gradients }: Signature): readonly string[] {
  return [...writingOperators({ name, tensors }), ...(gradients ? [`${name}_backward`] : [])];
}

/** The operator that writes the caller's tensors, if the kernel writes any. */
function writingOperators({ name, tensors }: Pick<Signature, "name" | "tensors">): readonly string[] {
  return tensors.some(({ role }) => role === "out") ? [`${name}_out`] : [];
}

/** A package's tests run on whatever its user has; a GPU rounds the most. */
const TESTED_ON = "cuda";

/** A tolerance as the tests have it: `rtol`, `atol` and `rms` of floats, `atol` and `share` of integers. */
type Figures = readonly number[];

const figuresOf = ({ rtol, atol, rms = 0, share }: Tolerance): Figures =>
  share === undefined ? [rtol, atol, rms, 0, 0] : [0, 0, 0, atol, share];

/** `before` stands before its bracket. Where integers are exact, their figures are left out. */
function figuresTerm(figures: Figures, before = ""): Term {
  const shown = figures[3] === 0 ? figures.slice(0, 3) : figures;
  return { open: `${before}(`, items: shown.map(pythonFloat), close: ")" };
}

function call(method: string, args: readonly Term[]): string {
  return layOut({ open: `self.${method}(`, items: args, close: ")" }, " ".repeat(8));
}
