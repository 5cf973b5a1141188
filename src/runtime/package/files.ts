/** The files of a Python package with emitted kernels and their tests, for `pip install`. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type {
  TestCase,
  CompiledKernel,
  PackageModules,
  Signature,
  TensorSignature,
  Tolerance,
} from "../../compiled/compiled-kernel.js";
import { requirements, supportedVersions, isTorchNamespace } from "../../compiled/versions.js";
import { gradientTolerance, toleranceFor, declaredToleranceFor, declaredTolerance } from "../../compiled/tolerance.js";
import { deviceLimits } from "../verify/runner.js";
import { type Limits, planCases, type PlannedCase } from "../cases/cases.js";
import { dtypeOf } from "../devices/request.js";
import { packageFolder, version as generatorVersion } from "../system/files.js";
import { relocateMap } from "../cases/outcome.js";
import { readFileSync } from "node:fs";
import { lockFile } from "../worker/environment.js";

// Formats Python text as `ruff format` does.

/** Text on one line, or a bracket that may be split into one line per item. */
type Term = string | { readonly open: string; readonly items: readonly Term[]; readonly close: string };

const WIDTH = 88;

/** The lines of a term; `suffix` follows its last character. */
function formatTerm(term: Term, indent = "", suffix = ""): string {
  const line = `${indent}${formatOnOneLine(term)}${suffix}`;
  if (typeof term === "string" || line.length <= WIDTH) return line;
  const items = term.items.map((item) => `${formatTerm(item, `${indent}    `, ",")}\n`);
  return `${indent}${term.open}\n${items.join("")}${indent}${term.close}${suffix}`;
}

function formatOnOneLine(term: Term): string {
  return typeof term === "string" ? term : `${term.open}${term.items.map(formatOnOneLine).join(", ")}${term.close}`;
}

function importLine(from: string, names: readonly string[]): string {
  const line = `from ${from} import ${names.join(", ")}`;
  return line.length <= WIDTH ? line : formatTerm({ open: `from ${from} import (`, items: names, close: ")" });
}

/** A number in Python's syntax. */
function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value).replace(/e-(\d)$/, "e-0$1");
}

const templates = join(packageFolder, "templates/package");

export type OperatorForm = "custom_op" | "triton_op";

/** A kernel of a package. */
export interface PackagedKernel {
  readonly kernel: CompiledKernel;
  readonly modules: PackageModules;
  /** The kind of operator that the module registers; undefined if PyTorch does not accept it as an operator. */
  readonly operator: OperatorForm | undefined;
}

/** The metadata of a package. */
export interface PackageMetadata {
  /** The import name in Python. */
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license?: string | undefined;
  readonly licenseText?: string | undefined;
}

/** The text of each file, by path in the folder. */
export async function packageFiles(
  folder: string,
  { name, version, license, licenseText }: PackageMetadata,
  kernels: readonly PackagedKernel[],
): Promise<ReadonlyMap<string, string>> {
  const names = kernels.map(({ kernel }) => kernel.signature.name).sort();
  const modules = kernels.flatMap(({ kernel, modules: { python, map, tests } }): [string, string][] => {
    const stem = `${name}/kernels/${kernel.signature.name}`;
    return [
      [`${stem}.py`, python],
      [`${stem}.pyi`, stubText(kernel, python)],
      [`${stem}.py.map`, relocateMap(map, join(folder, name, "kernels"))],
      [`tests/kernel_cases/${kernel.signature.name}.py`, tests],
    ];
  });
  const runtimeNames = new Set(kernels.flatMap(({ modules: { runtimeNames: used } }) => used));
  const [first] = kernels;
  const fillTemplate = async (template: string, values: Readonly<Record<string, string>>): Promise<string> => {
    const text = await readFile(join(templates, template), "utf8");
    return text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key]!);
  };
  const tests = kernels.map((packaged) => testsOf(name, packaged)).join("\n\n");
  // A regular package would be imported by unittest before the tests select Triton's interpreter.
  const imports = names.map((kernel) => `import kernel_cases.${kernel}`).join("\n");
  const metadata = { distribution: distributionOf(name), package: name, version };
  const project = {
    ...metadata,
    python: supportedVersions.python.oldest,
    requirements: `"${requirements.torch}", "${requirements.triton}"`,
    kernels: names.join(", "),
    // The field is a string since setuptools 77.
    license: license === undefined ? "" : `license = "${license}"\n`,
    setuptools: license === undefined ? "61" : "77",
  };
  const { python, torch, triton } = supportedVersions;
  const readme = {
    ...metadata,
    python: python.oldest,
    torch: torch.oldest,
    triton: `${triton.oldest} to ${triton.newest}`,
    registered: kernels.some(({ operator }) => operator) ? `, registered as \`torch.ops.${name}.*\`` : "",
    functions: kernels
      .toSorted((a, b) => (a.kernel.signature.name < b.kernel.signature.name ? -1 : 1))
      .map(functionText)
      .join("\n\n"),
    first: names[0] ?? "",
  };
  return new Map([
    ["pyproject.toml", await fillTemplate("pyproject.toml", project)],
    ...(licenseText === undefined ? [] : [["LICENSE", licenseText] as const]),
    ["README.md", await fillTemplate("README.md", readme)],
    [`${name}/__init__.py`, initText(name, names, kernels)],
    [`${name}/kernels/__init__.py`, '"""One module for each kernel."""\n'],
    [`${name}/kernels/_runtime.py`, first?.kernel.runtimeModule(runtimeNames, generatorVersion) ?? ""],
    [`${name}/kernels/_runtime.pyi`, "__version__: str\n"],
    [`${name}/py.typed`, ""],
    ...modules,
    ["tests/test_kernels.py", await fillTemplate("test_kernels.py", { imports, tests })],
  ]);
}

function initText(name: string, names: readonly string[], kernels: readonly PackagedKernel[]): string {
  const registered = kernels.some(({ operator }) => operator) ? `, registered as torch.ops.${name}.*` : "";
  return [
    `"""Triton kernels as functions of PyTorch${registered}."""\n`,
    ...names.map((kernel) => importLine(`.kernels.${kernel}`, [kernel])),
    "",
    formatTerm({ open: "__all__ = [", items: names.map((kernel) => `"${kernel}"`), close: "]" }),
    "",
  ].join("\n");
}

/** A kernel's section in the README: its Python signature with the docstring. */
function functionText({ kernel, modules: { python } }: PackagedKernel): string {
  const { name } = kernel.signature;
  const head =
    new RegExp(`^def ${name}\\([^]*?\\)(?: -> .*)?:\\n(?:    r?"""[^]*?(?<!\\\\)"""\\n)?`, "m").exec(python)?.[0] ?? "";
  // The fence must be longer than any in the docstring.
  const fence = "`".repeat(1 + Math.max(2, ...Array.from(head.matchAll(/`+/g), ([ticks]) => ticks.length)));
  return `### ${name}\n\n${fence}python\n${head}    ...\n${fence}`;
}

/** A stub file of the module, so that type checkers need not read Triton. */
function stubText({ signature: { name } }: CompiledKernel, python: string): string {
  const [, params = "", returns] = new RegExp(`^def ${name}\\(([^]*?)\\)( -> .*)?:$`, "m").exec(python)!;
  const items = params.split(/,\s+(?=\*|\w+:)|,?\n */).filter((item) => item !== "");
  return `import torch\n\n${formatTerm({ open: `def ${name}(`, items, close: `)${returns}: ...` })}\n`;
}

/** Limits of a test case that Triton's interpreter runs in a few seconds. */
const SMALL: Limits = { ...deviceLimits.interpreter, elements: 2 ** 15, work: 2 ** 23 };
/** Limits for tests that run a kernel a dozen times. */
const TINY: Limits = { ...SMALL, elements: 2 ** 11, work: 2 ** 22 };
/** Limits for kernels with many programs at any size, which only a GPU runs in a few seconds. */
const MANY_PROGRAMS: Limits = { ...deviceLimits.interpreter, work: Infinity };

const onGpu = (why: string): string => `    @unittest.skipUnless(ON_GPU, "${why}")`;

/** The tensor's dtype in `get_inputs`. */
function firstDType({ signature: { dtypes } }: CompiledKernel, { dtype }: TensorSignature): string {
  return typeof dtype === "string" ? dtype : dtypes[dtype.variable]![0]!;
}

/**
 * Skips for the interpreter. Its bfloat16 results are wrong, so emitted modules reject them; `get_inputs` uses first
 * dtypes.
 */
function cpuSkips(kernel: CompiledKernel): readonly string[] {
  const { signature, python } = kernel;
  if (signature.tensors.some((tensor) => firstDType(kernel, tensor) === "bfloat16"))
    return [onGpu("Triton's interpreter computes bfloat16 wrongly")];
  if (plainCases(kernel, deviceLimits.interpreter).length === 0)
    return [onGpu("too many programs for Triton's interpreter")];
  const usesLibdevice = /^from triton\.language\.extra import libdevice$/m.test(python);
  return usesLibdevice ? [onGpu("Triton's interpreter has no libdevice")] : [];
}

/** Skips for operator tests: `opcheck` multiplies inputs, which PyTorch does not support for 8-bit floats. */
function operatorSkips(kernel: CompiledKernel, form: string): readonly string[] {
  const isSmallFloat = kernel.signature.tensors.some((tensor) => firstDType(kernel, tensor).startsWith("float8"));
  if (isSmallFloat) return [`    @unittest.skip("PyTorch's opcheck cannot multiply 8-bit floats")`];
  return form === "triton_op" ? [onGpu("PyTorch cannot trace Triton's interpreter")] : cpuSkips(kernel);
}

function testsOf(name: string, { kernel, operator }: PackagedKernel): string {
  const { signature } = kernel;
  const calls = casesOf(kernel, SMALL, ["primes", "beyond blocks"]).map((testCase) => {
    const figures: Term = {
      open: "[",
      items: tolerances(kernel, testCase).map((each) => figuresTerm(figuresOf(each))),
      close: "]",
    };
    const gradients = signature.gradients ? [gradientsTerm(kernel, testCase)] : [];
    return methodCall("check", [`kernel_cases.${signature.name}`, sizesTerm(testCase), figures, ...gradients]);
  });
  return [
    [...cpuSkips(kernel), `    def test_${signature.name}(self):`, ...calls].join("\n"),
    ...(operator ? [operatorTest(name, kernel, operator)] : []),
  ].join("\n\n");
}

/** The cases with these labels, or any case if there is none, with higher limits if the kernel needs them. */
function casesOf(
  kernel: CompiledKernel,
  limits: Limits,
  labels: readonly string[],
): readonly [TestCase, ...TestCase[]] {
  const tiers = [limits, deviceLimits.interpreter, MANY_PROGRAMS];
  const tier = tiers.find((each) => plainCases(kernel, each).length > 0);
  const plain = tier ? plainCases(kernel, tier) : [];
  const matches = labels.flatMap((label) => plain.find((planned) => planned.label === label) ?? []);
  const [fallback] = plain;
  if (!fallback) throw new Error(`${kernel.signature.name}: it takes no size that a test could have`);
  const [firstCase = fallback, ...others] = matches;
  return [firstCase.testCase, ...others.map(({ testCase: other }) => other)];
}

function plainCases(kernel: CompiledKernel, limits: Limits): readonly PlannedCase[] {
  const firsts = Object.entries(kernel.signature.dtypes).map(([variable, members]) => [variable, members[0]] as const);
  // `get_inputs` creates contiguous tensors of the first dtype.
  return planCases(kernel, limits, { seed: 0 }).cases.filter(
    ({ testCase: at }) => !at.layouts && firsts.every(([variable, dtype]) => at.dtypes[variable] === dtype),
  );
}

function operatorTest(name: string, kernel: CompiledKernel, form: OperatorForm): string {
  const { signature } = kernel;
  const [testCase] = casesOf(kernel, TINY, ["primes"]);
  const module = `kernel_cases.${signature.name}`;
  const registered = `torch.ops.${name}.${signature.name}`;
  // torch.compile chooses the config of a triton_op itself.
  const isExact = form === "custom_op" && !signature.unordered;
  const tolerance = isExact ? [] : [figuresTerm(maxFigures(tolerances(kernel, testCase).map(figuresOf)), "tolerance=")];
  const gradients = signature.gradients ? [gradientsTerm(kernel, testCase)] : [];
  return [
    ...operatorSkips(kernel, form),
    `    def test_${signature.name}_operator(self):`,
    methodCall("check_operator", [module, registered, sizesTerm(testCase), ...gradients, ...tolerance]),
  ].join("\n");
}

function sizesTerm({ sizes }: TestCase): Term {
  const items = Object.entries(sizes).map(([size, value]) => `"${size}": ${value}`);
  return { open: "{", items, close: "}" };
}

/** The tolerance of each result. */
function tolerances(kernel: CompiledKernel, testCase: TestCase): readonly Tolerance[] {
  const { signature, tolerance } = kernel;
  const context = { sizes: kernel.sizes(testCase), dtypes: testCase.dtypes };
  const results = signature.tensors.filter(({ role }) => role !== "in");
  return results.map((tensor) =>
    toleranceFor(
      dtypeOf(tensor, testCase),
      signature,
      context,
      TESTED_ON,
      declaredToleranceFor(tolerance, tensor.name),
    ),
  );
}

/** The elementwise maximum. */
const maxFigures = (all: readonly Figures[]): Figures =>
  all.reduce((maximum, figures) => maximum.map((figure, i) => Math.max(figure, figures[i]!)));

/** The tolerance of each gradient, by the input's name. */
function gradientsTerm({ signature, sizes, tolerance }: CompiledKernel, testCase: TestCase): Term {
  const inputs = signature.tensors.filter(({ name }) => signature.gradients?.includes(name));
  const context = { sizes: sizes(testCase), dtypes: testCase.dtypes };
  const items = inputs.map((tensor) => {
    const dtype = dtypeOf(tensor, testCase);
    const figures = gradientTolerance(dtype, signature, tensor.name, context, TESTED_ON, declaredTolerance(tolerance));
    return figuresTerm(figuresOf(figures), `"${tensor.python}": `);
  });
  return { open: "{", items, close: "}" };
}

/** The operators that a module registers in addition to the kernel's main operator. */
export function additionalOperators({ name, gradients }: Signature): readonly string[] {
  return gradients ? [`${name}_backward`] : [];
}

/** The device for the tolerances: tests run on any device, and a GPU has the largest rounding errors. */
const TESTED_ON = "cuda";

/** A tolerance in the format of the tests: `rtol`, `atol` and `rms` of floats, `atol` and `share` of integers. */
type Figures = readonly number[];

const figuresOf = ({ rtol, atol, rms = 0, share }: Tolerance): Figures =>
  share === undefined ? [rtol, atol, rms, 0, 0] : [0, 0, 0, atol, share];

/** A Python tuple of the figures; `prefix` precedes its bracket. Integer figures are omitted if they are exact. */
function figuresTerm(figures: Figures, prefix = ""): Term {
  const printed = figures[3] === 0 ? figures.slice(0, 3) : figures;
  return { open: `${prefix}(`, items: printed.map(pythonFloat), close: ")" };
}

function methodCall(method: string, args: readonly Term[]): string {
  return formatTerm({ open: `self.${method}(`, items: args, close: ")" }, " ".repeat(8));
}

// Valid names of Python packages: without conflicts with other packages, Python or pip.

/** pip's metadata folders add a version to the name, and file systems limit names to 255 bytes. */
const MAX_LENGTH = 200;

/** The reason why a package cannot have this name, as a sentence without its remedy; undefined if it can. */
export function nameProblem(name: string): string | undefined {
  if (!/^[a-z]([a-z0-9_]*[a-z0-9])?$/.test(name))
    return `${JSON.stringify(name)} cannot be the name of a Python package`;
  if (name.length > MAX_LENGTH) return `a name of ${name.length} letters is too long for a folder`;
  if (keywords.has(name)) return `${name} is a word of Python's grammar`;
  if (standardLibrary.has(name)) return `${name} is a module of Python's standard library`;
  if (reservedFolders.has(name)) return `${name} is the name of a folder that building or testing a package uses`;
  if (isTorchNamespace(name)) return `torch.ops.${name} belongs to PyTorch`;
  if (requiredDistributions().has(distributionOf(name)))
    return `${name} is the name of a package that the kernels need`;
  return undefined;
}

/** The normalized name of a distribution, as pip compares names. */
export function distributionOf(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

/** The distributions in an environment with torch and triton, and their modules with other names. */
function requiredDistributions(): ReadonlySet<string> {
  const locked = Array.from(readFileSync(lockFile, "utf8").matchAll(/^([\w.-]+)==/gm), ([, name = ""]) => name);
  return new Set([...locked, ...alsoInstalled].map(distributionOf));
}

const reservedFolders = new Set(["build", "dist", "tests"]);

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const alsoInstalled = wordSet(`
cuda functorch isympy nvidia pip pkg_resources pytorch_triton tilescript tilescript_worker torchaudio torchgen
torchvision wheel
`);

const keywords = wordSet(`
and as assert async await break class continue def del elif else except finally for from global if import in is
lambda nonlocal not or pass raise return try while with yield
`);

/** The public modules of Python 3.10 to 3.14. */
const standardLibrary = wordSet(`
abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb
binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys
compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses
dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler
fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib
grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json
keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib
msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty
pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter
runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver
spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau
symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit
tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata
unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp
zipfile zipimport zlib zoneinfo
`);
