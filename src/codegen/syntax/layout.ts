/** Prints the Python syntax tree as a fixed point of `ruff format`, with the source location of each line. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Doc } from "./layout-expression.js";
import {
  classLine,
  decoratorLine,
  exceptLine,
  forLine,
  functionLine,
  headerLine,
  simpleLine,
  withLine,
  INDENT,
  LINE_LENGTH,
  LineLayout,
} from "./layout-statement.js";
import { commentText, docstringLines } from "./precedence.js";
import type * as Py from "./py.js";
import { addMapping, GenMapping, setSourceContent, toEncodedMap } from "@jridgewell/gen-mapping";

/** Lines are 1-based and columns 0-based, as in Python's tracebacks. */
interface LineOrigin {
  readonly line: number;
  readonly column: number;
  readonly origin: Location;
}

export interface PrintedModule {
  readonly text: string;
  readonly lines: readonly LineOrigin[];
}

/** A string as the first statement is the module's docstring. Imports keep their order. */
export function printModule(statements: Py.Block): PrintedModule {
  const printer = new ModulePrinter();
  const [first, ...body] = statements;
  if (first?.kind === "expression" && first.value.kind === "string") printer.module(body, first.value.value);
  else printer.module(statements);
  return printer.finish();
}

/** The owner of a block, which determines the blank lines at its start. */
type Owner = "module" | "function" | "class" | "other";

class ModulePrinter {
  private readonly rows: string[] = [];
  private readonly origins: LineOrigin[] = [];

  finish(): PrintedModule {
    return { text: this.rows.length ? `${this.rows.join("\n")}\n` : "", lines: this.origins };
  }

  module(statements: Py.Block, docstring?: string): void {
    this.block(statements, 0, "module", docstring);
  }

  private block(statements: Py.Block, depth: number, owner: Owner, docstring?: string): void {
    if (docstring !== undefined) this.docstring(docstring, depth);
    let previous: Py.Statement | undefined;
    let hasBlankHint = false;
    statements.forEach((statement, index) => {
      if (statement.kind === "blank") {
        hasBlankHint = true;
        return;
      }
      const subject = commentSubject(statements, index);
      const count = previous
        ? blanksBetween(previous, statement, subject, depth, hasBlankHint)
        : blanksAtStart(owner === "other" ? statement : subject, owner, docstring !== undefined, hasBlankHint);
      for (let blank = 0; blank < count; blank += 1) this.rows.push("");
      this.statement(statement, depth);
      previous = statement;
      hasBlankHint = false;
    });
    const isEmpty = statements.every(({ kind }) => kind === "comment" || kind === "blank");
    if (isEmpty && owner !== "module" && docstring === undefined) this.put("pass", depth);
  }

  private statement(statement: Exclude<Py.Statement, Py.Blank>, depth: number): void {
    const layout = new LineLayout(depth);
    switch (statement.kind) {
      case "comment":
        this.comment(statement, depth);
        return;
      case "verbatim":
        this.verbatim(statement, depth);
        return;
      case "if":
        statement.branches.forEach(({ test, body, origin }, index) => {
          const line = new LineLayout(depth);
          const location = origin ?? (index === 0 ? statement.origin : undefined);
          this.line(headerLine(index === 0 ? "if" : "elif", test, line), line, depth, location);
          this.block(body, depth + 1, "other");
        });
        this.clause("else:", statement.otherwise, depth);
        return;
      case "for":
        this.line(forLine(statement, layout), layout, depth, statement.origin);
        this.block(statement.body, depth + 1, "other");
        return;
      case "while":
        this.line(headerLine("while", statement.test, layout), layout, depth, statement.origin);
        this.block(statement.body, depth + 1, "other");
        return;
      case "with":
        this.line(withLine(statement, layout), layout, depth, statement.origin);
        this.block(statement.body, depth + 1, "other");
        return;
      case "try":
        this.tryStatement(statement, depth);
        return;
      case "function":
        this.decorators(statement.decorators, depth);
        this.line(functionLine(statement, layout), layout, depth, statement.origin);
        this.block(statement.body, depth + 1, "function", statement.docstring);
        return;
      case "class":
        this.decorators(statement.decorators, depth);
        this.line(classLine(statement, layout), layout, depth, statement.origin);
        this.block(statement.body, depth + 1, "class", statement.docstring);
        return;
      case "assert":
      case "assign":
      case "augmentedAssign":
      case "expression":
      case "fromImport":
      case "import":
      case "pass":
      case "raise":
      case "return":
        this.line(simpleLine(statement, layout), layout, depth, statement.origin);
        return;
      default:
        statement satisfies never;
    }
  }

  private tryStatement(statement: Py.Try, depth: number): void {
    this.put("try:", depth, statement.origin);
    this.block(statement.body, depth + 1, "other");
    for (const handler of statement.handlers) {
      const line = new LineLayout(depth);
      this.line(exceptLine(handler, line), line, depth);
      this.block(handler.body, depth + 1, "other");
    }
    this.clause("else:", statement.otherwise, depth);
    this.clause("finally:", statement.finally, depth);
  }

  private clause(header: string, body: Py.Block | undefined, depth: number): void {
    if (!body) return;
    this.put(header, depth);
    this.block(body, depth + 1, "other");
  }

  private decorators(decorators: readonly Py.Expression[], depth: number): void {
    for (const decorator of decorators) {
      const layout = new LineLayout(depth);
      this.line(decoratorLine(decorator, layout), layout, depth);
    }
  }

  private line(content: Doc, layout: LineLayout, depth: number, origin?: Location): void {
    const { rows, marks } = layout.print(content);
    const start = this.rows.length;
    const [first = "", ...otherRows] = rows;
    this.put(first, depth, origin);
    otherRows.forEach((row) => this.put(row, depth));
    for (const mark of marks) {
      this.origins.push({ line: start + mark.row + 1, column: depth * INDENT + mark.column, origin: mark.origin });
    }
  }

  private put(text: string, depth: number, origin?: Location): void {
    this.rows.push(text === "" ? "" : " ".repeat(depth * INDENT) + text);
    if (origin) this.origins.push({ line: this.rows.length, column: depth * INDENT, origin });
  }

  private verbatim({ text, origin }: Py.Verbatim, depth: number): void {
    text.split("\n").forEach((row, i) => this.put(row, depth, origin && { ...origin, line: origin.line + i }));
  }

  private comment({ text, origin }: Py.Comment, depth: number): void {
    wrapText(commentText(text), LINE_LENGTH - depth * INDENT - 2).forEach((row, index) =>
      this.put(row ? `# ${row}` : "#", depth, index === 0 ? origin : undefined),
    );
  }

  private docstring(text: string, depth: number): void {
    const lines = wrapText(docstringLines(text).join("\n"), LINE_LENGTH - depth * INDENT - 6);
    const [first = "", ...otherLines] = lines;
    if (otherLines.length === 0) {
      this.put(`"""${first}"""`, depth);
      return;
    }
    this.put(`"""${first}`, depth);
    otherLines.forEach((line) => this.put(line, depth));
    this.put('"""', depth);
  }
}

/** The statement after a run of comments. Its blank lines are printed before the comments. */
function commentSubject(statements: Py.Block, index: number): Py.Statement | undefined {
  const statement = statements[index];
  return statement?.kind === "comment" ? commentSubject(statements, index + 1) : statement;
}

function isDefinition(statement: Py.Statement | undefined): boolean {
  if (statement?.kind === "verbatim") return statement.isDefinition === true;
  return statement?.kind === "function" || statement?.kind === "class";
}

/** Black determines the blank lines after a nested definition at the level of the next statement. */
function hasTrailingDefinition(statement: Py.Statement): boolean {
  if (isDefinition(statement)) return true;
  const last = lastBody(statement)?.findLast(({ kind }) => kind !== "blank");
  return last !== undefined && hasTrailingDefinition(last);
}

function lastBody(statement: Py.Statement): Py.Block | undefined {
  switch (statement.kind) {
    case "if":
      return statement.otherwise ?? statement.branches.at(-1)?.body;
    case "try":
      return statement.finally ?? statement.otherwise ?? statement.handlers.at(-1)?.body ?? statement.body;
    case "for":
    case "while":
    case "with":
      return statement.body;
    case "assert":
    case "assign":
    case "augmentedAssign":
    case "blank":
    case "class":
    case "comment":
    case "expression":
    case "fromImport":
    case "function":
    case "import":
    case "pass":
    case "raise":
    case "return":
    case "verbatim":
      return undefined;
    default:
      return statement satisfies never;
  }
}

function isImport(statement: Py.Statement | undefined): boolean {
  return statement?.kind === "import" || statement?.kind === "fromImport";
}

function blanksBetween(
  previous: Py.Statement,
  statement: Py.Statement,
  subject: Py.Statement | undefined,
  depth: number,
  hasBlankHint: boolean,
): number {
  const isAttached = previous.kind === "comment" && !hasBlankHint;
  if (hasTrailingDefinition(previous) || (isDefinition(subject) && !isAttached)) return depth === 0 ? 2 : 1;
  // Ruff separates imports from other statements in every block.
  if (isImport(previous) && !isImport(statement)) return 1;
  return hasBlankHint ? 1 : 0;
}

function blanksAtStart(
  subject: Py.Statement | undefined,
  owner: Owner,
  hasDocstring: boolean,
  hasBlankHint: boolean,
): number {
  if (hasDocstring) {
    if (owner === "function") return isDefinition(subject) || hasBlankHint ? 1 : 0;
    return owner === "module" && isDefinition(subject) ? 2 : 1;
  }
  // Ruff separates a nested function from the header of an `if` or a loop.
  return isDefinition(subject) && owner === "other" ? 1 : 0;
}

/** The start of a new block of text: a list item, an indented line, or an empty line. */
const BLOCK_START = /^(?:\s|$|[-*•>#|]|\d+[.)] |```)/;

/**
 * Greedy wrapping at spaces. A token that exceeds the width stays whole. The author's line breaks and indentation are
 * kept, but the remainder of a long line continues in the next line. The remainder of an indented line, such as the
 * description of an argument, is indented further.
 */
function wrapText(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  let remainder: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const isContinued = remainder !== undefined && !BLOCK_START.test(line);
    if (remainder !== undefined && !isContinued) rows.push(remainder);
    const wrappedRows = wrapLine(isContinued ? `${remainder} ${line}` : line, width);
    remainder = wrappedRows.length > 1 ? wrappedRows.at(-1) : undefined;
    rows.push(...(remainder === undefined ? wrappedRows : wrappedRows.slice(0, -1)));
  }
  return remainder === undefined ? rows : [...rows, remainder];
}

function wrapLine(line: string, width: number): readonly string[] {
  const indentation = /^\s*/.exec(line)?.[0] ?? "";
  const continuationIndent = indentation === "" ? "" : indentation + " ".repeat(INDENT);
  const rows: string[] = [];
  let row = indentation;
  for (const token of line.trim().split(/\s+/)) {
    if (row.trim() && row.length + 1 + token.length > width) {
      rows.push(row);
      row = continuationIndent + token;
    } else row += row.trim() ? ` ${token}` : token;
  }
  return [...rows, row.trimEnd()];
}

// A Source Map v3 of the emitted module, from lines of Python to the author's lines.

/** `read` returns the content of a source file, if it is available. */
export function sourceMap(
  file: string,
  lines: readonly LineOrigin[],
  read?: (path: string) => string | undefined,
): string {
  const map = new GenMapping({ file });
  const sources = new Set<string>();
  for (const { line, column, origin } of lines) {
    addMapping(map, {
      generated: { line, column },
      source: origin.file,
      original: { line: origin.line, column: origin.column - 1 },
    });
    sources.add(origin.file);
  }
  for (const source of sources) {
    const content = read?.(source);
    if (content !== undefined) setSourceContent(map, source, content);
  }
  return JSON.stringify(toEncodedMap(map));
}
