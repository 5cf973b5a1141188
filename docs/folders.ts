/**
 * The folders of `src`, from the ground up: each imports only folders above it. `npm run folders` prints
 * what each imports; `tests/unit/layers.test.ts` enforces the order.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const SRC = resolve(import.meta.dirname, "../src");

/** What each folder is, in a sentence. Entry files lie in `src` itself and join the folders. */
export const folders = {
  diagnostics: "Messages, and where in the author's code they point.",
  contract: "The interface of a compiled kernel: plain data, an evaluator, tolerances.",
  picture: "What programs read and write, drawn as SVG.",
  types: "Dtypes, shapes, constexprs and tiles, each as a type for the editor and a function for the build.",
  numerics: "Numbers of every dtype and arrays of them, computed exactly as Triton's targets do.",
  torch: "PyTorch's functions for references: their types, the recorder, their values in float64.",
  values: "Operands during evaluation, and the addresses of views and blocks.",
  terms: "Integers and truth values as expressions over symbols, and kinds of numbers.",
  ir: "The program: statements, op records, the builder that makes them, their text.",
  source: "The author's file: names, comments, and a lint for JavaScript that ignores traced values.",
  analysis: "Facts about a program: signs, tile sizes, descriptors, ops that a Triton version lacks.",
  prove: "What holds of a kernel for every shape and config: accesses in bounds, all written, no races.",
  rules: "The type rule of each op, once as a type and once as a function.",
  params: "A kernel's parameters and spec, as types.",
  ops: "One record for each op: its function, type rule, Python and evaluation.",
  lower: "Views as pointers and masks.",
  specialize: "Kernels that Hopper's warps share out: their form, their plan, and a model of its barriers.",
  dsl: "What authors write besides ops: kernels, params, loops, branches, state; and how they are traced.",
  check: "Checks of a finished program, for every dtype and every config.",
  eval: "The evaluator: runs a program on arrays and reports wrong accesses.",
  codegen: "A program as Python: syntax and layout, names, bodies, wrappers, operators, modules.",
  import: "A Triton kernel's Python as the text of a kernel file.",
  call: "Arrays on the host, and how a call's arguments become a case.",
  runtime:
    "Environments, workers, devices, cases, reports and commands; it sees compiled kernels only, and the text of imported ones.",
  pipeline: "From the author's function to a runnable kernel: trace, check, lower, emit.",
  testing: "Matchers for test runners.",
} as const satisfies Readonly<Record<string, string>>;

/** The folders inside of these keep an order too, in the same way. */
export const inner: Readonly<Record<string, readonly string[]>> = {
  codegen: ["python", "names", "body", "gluon", "wrapper", "torch", "operator", "module"],
  runtime: [
    "system",
    "python",
    "hosts",
    "cases",
    "devices",
    "compile",
    "verify",
    "measure",
    "report",
    "invocation",
    "package",
    "importing",
    "commands",
    "cli",
  ],
};

export interface Import {
  /** Paths below `src`. */
  readonly from: string;
  readonly to: string;
}

/** Every file of `src`, by its path below it. */
export function sourceFiles(): readonly string[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
}

const IMPORT = /^(?:import|export)\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** What a file imports, as it is written; types too. */
export function specifiersOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  return Array.from(text.matchAll(IMPORT), ([, from, bare, dynamic]) => (from ?? bare ?? dynamic)!);
}

/** The imports between files of `src`. */
export function imports(): readonly Import[] {
  return sourceFiles().flatMap((from) =>
    specifiersOf(from)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => {
        const target = resolve(SRC, dirname(from), specifier).replace(/\.js$/, ".ts");
        return { from, to: relative(SRC, target) };
      }),
  );
}

/** The folder that a file lies in, `depth` levels down; undefined for the entry files. */
export function folderOf(file: string, depth = 1): string | undefined {
  const parts = file.split("/");
  return parts.length > depth ? parts.slice(0, depth).join("/") : undefined;
}

/** The folders as a list, each with what it takes from the others. */
export function folderList(): string {
  const edges = imports();
  const lines = Object.entries(folders).map(([folder, sentence]) => {
    const below = new Set(
      edges.flatMap(({ from, to }) => {
        const other = folderOf(to);
        return folderOf(from) === folder && other !== undefined && other !== folder ? [other] : [];
      }),
    );
    const taken = Object.keys(folders).filter((other) => below.has(other));
    return `${folder.padEnd(12)}${sentence}\n${" ".repeat(12)}← ${taken.join(", ") || "nothing"}`;
  });
  return lines.join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(folderList());
