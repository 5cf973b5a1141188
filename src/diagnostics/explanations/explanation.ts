/** The explanation of a code in `tilescript explain` and `docs/diagnostics.md`. */

/** Parts of a kernel file; the rest of the file is `y = x`. */
export interface KernelFileParts {
  /** Statements before the kernel. */
  readonly before?: string;
  readonly params?: string;
  readonly grid?: string;
  readonly config?: string;
  /** Further parts of the spec. */
  readonly spec?: string;
  /** The names that the body takes. */
  readonly names?: string;
  readonly body?: string;
  /** Statements after the kernel. */
  readonly after?: string;
}

/** Options of the run that shows the message of a kernel that builds. */
export interface Run {
  /** The sizes of the evaluation. */
  readonly sizes?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  readonly order?: "reversed";
  readonly nonFinite?: true;
  /** Runs the proof. */
  readonly proof?: true;
  /** Its registration with PyTorch. */
  readonly op?: { readonly namespace: string; readonly form?: "custom_op" | "triton_op" };
}

interface ExplanationText {
  /** The meaning of the code. */
  readonly meaning: string;
  /** The message of the example. */
  readonly message: string;
}

/** An example that is a kernel file: parts of it, or the whole text after the imports. */
export interface KernelExample extends ExplanationText {
  readonly failing: KernelFileParts | string;
  /** The corrected example. */
  readonly passing: KernelFileParts | string;
  /** Other files in the same folder, by name. */
  readonly otherFiles?: Readonly<Record<string, string>>;
  readonly run?: Run;
}

/** An example that is a command: no kernel file alone shows the message. */
export interface CommandExample extends ExplanationText {
  readonly command: string;
  readonly remedy: string;
  /** The kernel file that the command reads, if it matters. */
  readonly file?: string;
}

export type Explanation = KernelExample | CommandExample;

const IMPORTS = `import { constexpr, descriptor, kernel, NDArray, op, pointer, scalar, tensor, tl } from "tilescript";\n`;

/** The kernel file that has these parts. */
export function kernelFileOf(source: KernelFileParts | string): string {
  if (typeof source === "string") return `${IMPORTS}\n${source}\n`;
  const {
    before = "",
    params = `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
    grid = "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
    config = "config: { BLOCK: 16 },",
    spec = "",
    names = "x, y, N, BLOCK",
    body = "tl.store(y.at(i), tl.load(x.at(i)));",
    after = "",
  } = source;
  const lines = [
    IMPORTS,
    ...(before ? [before, ""] : []),
    "export const example = kernel(",
    '  "example",',
    "  {",
    `    params: { ${params} },`,
    `    grid: ${grid},`,
    ...[config, spec].filter(Boolean).map((line) => indent(line, 4)),
    "  },",
    `  ({ ${names} }) => {`,
    ...(/\bi\b/.test(body) && !/\bconst i\b|\bfor \(const i\b/.test(body)
      ? ["    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));"]
      : []),
    indent(body, 4),
    "  },",
    ");",
    ...(after ? ["", after] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** The parts of an example, as they appear in its file. */
export function exampleExcerpt(source: KernelFileParts | string): string {
  if (typeof source === "string") return source;
  const { before, params, grid, config, spec, body, after } = source;
  return [before, params && `params: { ${params} },`, grid && `grid: ${grid},`, config, spec, body, after]
    .filter((part) => part !== undefined && part !== "")
    .join("\n");
}

function indent(text: string, spaces: number): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : " ".repeat(spaces) + line))
    .join("\n");
}
