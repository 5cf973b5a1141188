/**
 * Lines of the modules that the examples emit: `npm run bench -- lines`. A line counts if it is not empty. The ratio is
 * that of all other lines to those of the kernels, which are the functions that Triton or Gluon compile.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/python";
import { formatTable } from "../src/runtime/report/text-blocks.js";

/** The parts of a module, in the order of the columns. */
export const parts = {
  kernel: "functions with `@triton.jit` or `@gluon.jit`, without their decorators",
  head: "the docstring, imports and the version check",
  tuning: "the decorators of kernels, with their configs, and what they use",
  wrapper: "public functions, and `kernel_fn`",
  operator: "registrations as PyTorch operators, with their fakes and gradients",
  helpers: "other functions and constants",
  harness: "`reference_fn`, `SHAPES`, `get_inputs` and what only tests use",
} as const satisfies Readonly<Record<string, string>>;

type Part = keyof typeof parts;
export type PartLines = Readonly<Record<Part, number>>;

/** Counts the lines of each part of a module. */
export function linesByPart(python: string): PartLines {
  const lines = python.split("\n");
  const counts: Record<Part, number> = {
    kernel: 0,
    head: 0,
    tuning: 0,
    wrapper: 0,
    operator: 0,
    helpers: 0,
    harness: 0,
  };
  const statements = statementsOf(python);
  const decorators = statements.filter(isKernel).flatMap(({ decorators }) => decorators);
  const isTuning = ({ name }: Definition): boolean =>
    name !== undefined && decorators.some((text) => new RegExp(`\\b${name}\\b`).test(text));
  let line = 0;
  const countUntil = (end: number, part: Part): void => {
    for (; line < end; line++) if (lines[line]?.trim()) counts[part]++;
  };
  for (const statement of statements) {
    const { body, end } = statement;
    // Comments before a statement belong to it.
    if (isKernel(statement)) countUntil(body, "tuning");
    countUntil(end, isTuning(statement) && !isKernel(statement) ? "tuning" : partOf(statement));
  }
  countUntil(lines.length, "helpers");
  return counts;
}

/** A statement of a module. */
interface Definition {
  /** The name that a definition or an assignment gives. */
  readonly name: string | undefined;
  readonly kind: string;
  readonly text: string;
  readonly decorators: readonly string[];
  /** The indices of the line after its decorators, and of the line after its end. */
  readonly body: number;
  readonly end: number;
}

function statementsOf(python: string): readonly Definition[] {
  const lineOf = (position: number): number => python.slice(0, position).split("\n").length - 1;
  const textOf = ({ from, to }: SyntaxNode): string => python.slice(from, to);
  return childrenOf(parser.parse(python).topNode).flatMap((node): Definition[] => {
    if (node.name === "Comment") return [];
    const children = childrenOf(node);
    const definition = node.name === "DecoratedStatement" ? (children.at(-1) ?? node) : node;
    const name = NAMED.has(definition.name) && childrenOf(definition).find((child) => child.name === "VariableName");
    return [
      {
        name: name ? textOf(name) : undefined,
        kind: definition.name,
        text: textOf(node),
        decorators: children.filter((child) => child.name === "Decorator").map(textOf),
        body: lineOf(definition.from),
        end: lineOf(python.slice(0, node.to).trimEnd().length) + 1,
      },
    ];
  });
}

const NAMED: ReadonlySet<string> = new Set(["FunctionDefinition", "ClassDefinition", "AssignStatement"]);

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

const isKernel = ({ decorators }: Definition): boolean =>
  decorators.some((text) => /^@(?:triton|gluon)\.jit\b/.test(text));

const HARNESS = /^(?:reference_fn|provider_\w+|SHAPES|draw_inputs|get_inputs)$/;
const OPERATOR = /_(?:fake|setup_context|backward)$/;
const HEAD: ReadonlySet<string> = new Set(["ImportStatement", "IfStatement"]);

function partOf(statement: Definition): Part {
  const { name = "", kind, text, decorators } = statement;
  if (isKernel(statement)) return "kernel";
  if (HEAD.has(kind) || /^r?"""/.test(text)) return "head";
  if (HARNESS.test(name)) return "harness";
  if (decorators.length > 0 || OPERATOR.test(name) || /^\w+\(|\.register_autograd\(/.test(text)) return "operator";
  return name.startsWith("_") || (kind === "AssignStatement" && name !== "kernel_fn") ? "helpers" : "wrapper";
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** The ratio of a module's other lines to those of its kernels. */
export const ratioOf = (lines: PartLines): number => (sum(Object.values(lines)) - lines.kernel) / lines.kernel;

if (process.argv[1] === import.meta.filename) {
  const folder = join(import.meta.dirname, "../tests/unit/codegen/golden");
  const modules = readdirSync(folder)
    .filter((file) => file.endsWith(".py"))
    .map((file) => ({ name: basename(file, ".py"), lines: linesByPart(readFileSync(join(folder, file), "utf8")) }))
    .toSorted((a, b) => ratioOf(b.lines) - ratioOf(a.lines));
  const names = Object.keys(parts) as Part[];
  const total = Object.fromEntries(
    names.map((part) => [part, sum(modules.map(({ lines }) => lines[part]))]),
  ) as PartLines;
  const rows = [...modules, { name: `all ${modules.length}`, lines: total }].map(({ name, lines }) => [
    name,
    ratioOf(lines).toFixed(2),
    ...[sum(Object.values(lines)), ...names.map((part) => lines[part])].map(String),
  ]);
  console.log(formatTable(["module", "ratio", "lines", ...names], rows).join("\n"));
  console.log(`\n${names.map((part) => `${part.padEnd(9)}${parts[part]}`).join("\n")}`);
}
