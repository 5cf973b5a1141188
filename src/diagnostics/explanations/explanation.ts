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

/** How a kernel that builds is made to show its message. */
export interface Run {
  /** Sizes to evaluate it at. */
  readonly sizes?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  readonly order?: "reversed";
  readonly nonFinite?: true;
  /** Proves it. */
  readonly proof?: true;
  /** How to register it with PyTorch. */
  readonly op?: { readonly namespace: string; readonly form?: "custom_op" | "triton_op" };
}

interface Explained {
  /** What the code is about. */
  readonly means: string;
  /** What the example says. */
  readonly says: string;
}

/** The example is a kernel file: parts of it, or all that follows the imports. */
export interface KernelExample extends Explained {
  readonly fails: KernelFileParts | string;
  /** The same, mended. */
  readonly passes: KernelFileParts | string;
  /** Other files beside it, by name. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly run?: Run;
}

/** The example is a command: no kernel file alone shows the message. */
export interface CommandExample extends Explained {
  readonly command: string;
  /** What to do instead. */
  readonly remedy: string;
  /** The kernel file that the command reads, where it matters. */
  readonly file?: string;
}

export type Explanation = KernelExample | CommandExample;

export const IMPORTS = `import { constexpr, descriptor, kernel, NDArray, op, pointer, scalar, tensor, tl } from "tilescript";\n`;

/** The kernel file that has these parts. */
export function kernelFileOf(parts: KernelFileParts | string): string {
  if (typeof parts === "string") return `${IMPORTS}\n${parts}\n`;
  const {
    before = "",
    params = `x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr()`,
    grid = "({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]",
    config = "config: { BLOCK: 16 },",
    spec = "",
    names = "x, y, N, BLOCK",
    body = "tl.store(y.at(i), tl.load(x.at(i)));",
    after = "",
  } = parts;
  const lines = [
    IMPORTS,
    ...(before ? [before, ""] : []),
    "export const example = kernel(",
    '  "example",',
    "  {",
    `    params: { ${params} },`,
    `    grid: ${grid},`,
    ...[config, spec].filter(Boolean).map((line) => indented(line, 4)),
    "  },",
    `  ({ ${names} }) => {`,
    ...(/\bi\b/.test(body) && !/\bconst i\b|\bfor \(const i\b/.test(body)
      ? ["    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));"]
      : []),
    indented(body, 4),
    "  },",
    ");",
    ...(after ? ["", after] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** The parts that an example is about, as they stand in its file. */
export function exampleExcerpt(parts: KernelFileParts | string): string {
  if (typeof parts === "string") return parts;
  const { before, params, grid, config, spec, body, after } = parts;
  return [before, params && `params: { ${params} },`, grid && `grid: ${grid},`, config, spec, body, after]
    .filter((part) => part !== undefined && part !== "")
    .join("\n");
}

function indented(text: string, by: number): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : " ".repeat(by) + line))
    .join("\n");
}
