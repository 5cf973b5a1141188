/**
 * The folders of `src`, in dependency order: each imports only folders above it in this list. `npx tsx docs/folders.ts` prints
 * the imports of each; `tests/unit/layers.test.ts` enforces the order.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const SRC = resolve(import.meta.dirname, "../src");

/** A sentence about each folder. Entry files are in `src` itself and connect the folders. */
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

/** The order of the folders inside a folder, by the same rule. Files next to them come last. */
export const innerFolders: Readonly<Record<string, readonly string[]>> = {
  prove: ["algebra", "model", "equivalence", "invariance", "properties"],
  codegen: ["syntax", "library", "names", "body", "warp-specialize", "wrapper", "reference", "operator", "module"],
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
    "language-server",
    "commands",
    "cli",
  ],
};

export interface Import {
  /** Paths below `src`. */
  readonly importer: string;
  readonly imported: string;
}

/** Every file of `src`, by its path below it. */
export function sourceFiles(): readonly string[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
}

const IMPORT = /^(?:import|export)\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** The import specifiers of a file, including type imports. */
export function specifiersOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  return Array.from(
    text.matchAll(IMPORT),
    ([, specifier, sideEffect, dynamicSpecifier]) => (specifier ?? sideEffect ?? dynamicSpecifier)!,
  );
}

/** The imports between files of `src`. */
export function imports(): readonly Import[] {
  return sourceFiles().flatMap((importer) =>
    specifiersOf(importer)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => {
        const target = resolve(SRC, dirname(importer), specifier).replace(/\.js$/, ".ts");
        return { importer, imported: relative(SRC, target) };
      }),
  );
}

/**
 * Cycles of imports between files, types included: each is the sorted list of files that import each other, directly or
 * indirectly.
 */
export function importCycles(edges: readonly Import[]): readonly (readonly string[])[] {
  const importsOf = new Map<string, string[]>();
  for (const { importer, imported } of edges) importsOf.set(importer, [...(importsOf.get(importer) ?? []), imported]);
  const reachable = new Map([...importsOf.keys()].map((file) => [file, reachableFrom(file, importsOf)]));
  const cycleOf = (file: string): readonly string[] =>
    [...reachable.get(file)!].filter((otherFile) => reachable.get(otherFile)?.has(file)).sort();
  const cycles = [...reachable.keys()].map(cycleOf).filter((cycle) => cycle.length > 0);
  return [...new Map(cycles.map((cycle) => [cycle.join(" "), cycle])).values()];
}

/** The files that a file imports, directly or indirectly. They contain the file if it is part of a cycle. */
function reachableFrom(file: string, importsOf: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const imported of importsOf.get(next) ?? [])
      if (!reached.has(imported)) {
        reached.add(imported);
        open.push(imported);
      }
  return reached;
}

/** The folder of a file, `depth` levels down; undefined for the entry files. */
export function folderOf(file: string, depth = 1): string | undefined {
  const segments = file.split("/");
  return segments.length > depth ? segments.slice(0, depth).join("/") : undefined;
}

/** The folders as a list, each with the folders that it imports. */
export function folderList(): string {
  const edges = imports();
  const lines = Object.entries(folders).map(([folder, sentence]) => {
    const importedNames = new Set(
      edges.flatMap(({ importer, imported }) => {
        const folderOfImported = folderOf(imported);
        return folderOf(importer) === folder && folderOfImported !== undefined && folderOfImported !== folder
          ? [folderOfImported]
          : [];
      }),
    );
    const importedFolders = Object.keys(folders).filter((otherFolder) => importedNames.has(otherFolder));
    return `${folder.padEnd(12)}${sentence}\n${" ".repeat(12)}← ${importedFolders.join(", ") || "nothing"}`;
  });
  return lines.join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(folderList());
