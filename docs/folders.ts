/**
 * The folders of `src`, from the ground up: each imports only folders above it. `npm run folders` prints
 * what each imports; `tests/unit/layers.test.ts` enforces the order.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const SRC = resolve(import.meta.dirname, "../src");

/** A sentence about each folder. Entry files lie in `src` itself and join the folders. */
export const folders = {
  diagnostics: "Diagnostics: codes, messages, remedies, and locations in the author's code.",
  compiled: "The interface of a compiled kernel: plain data, an evaluator, tolerances.",
  visualize: "Memory accesses of programs, drawn as SVG.",
  types: "Dtypes, shapes, constexprs and tiles, each as a type for the editor and a function for the build.",
  numerics: "Scalars and arrays of every dtype, with the exact semantics of Triton's targets.",
  torch: "PyTorch's functions for references: types, the recorder, values in float64.",
  values: "Operands during evaluation, and the addresses of views and blocks.",
  symbolic: "Symbolic integer and boolean terms, and number classes.",
  ir: "The intermediate representation: statements, op records, the builder, the printer.",
  source:
    "Static analysis of the author's file: names, comments, and a lint for JavaScript that ignores traced values.",
  analysis: "Facts about the IR: signs, tile sizes, descriptors, version requirements.",
  prove:
    "Proofs for every shape and config: accesses in bounds, outputs complete, no races, no overflow, neutral padding.",
  rules: "The type rule of each op, once as a type and once as a function.",
  params: "Types of a kernel's parameters and spec.",
  ops: "One record for each op: its function, type rule, Python and evaluation.",
  lower: "Lowering of views to pointers and masks.",
  dsl: "The authoring API except ops: kernels, params, loops, branches, variables; and tracing.",
  check: "Checks of a finished IR, for every dtype and every config.",
  eval: "The evaluator: executes the IR on arrays and reports wrong accesses.",
  codegen: "Python from the IR: syntax, names, bodies, warp specialization, wrappers, operators, modules.",
  import: "Translation of a Triton kernel's Python to a kernel file.",
  "host-call": "Arrays on the host, and the test case that a call's arguments make.",
  runtime:
    "Environments, workers, devices, test cases, reports and commands; it sees compiled kernels only, and the text of imported ones.",
  pipeline: "From the author's function to a runnable kernel: trace, check, lower, emit.",
  testing: "Matchers for test runners.",
} as const satisfies Readonly<Record<string, string>>;

/** The order of the folders inside a folder, by the same rule. Files beside them come last. */
export const inner: Readonly<Record<string, readonly string[]>> = {
  prove: ["algebra", "model", "properties"],
  codegen: ["syntax", "names", "body", "warp-specialize", "wrapper", "reference", "operator", "module"],
  runtime: [
    "system",
    "worker",
    "remote",
    "cases",
    "devices",
    "target-compile",
    "verify",
    "measure",
    "report",
    "invocation",
    "package",
    "import-check",
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
