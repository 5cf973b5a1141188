/** The Python model as text: a fixed point of `ruff format`, with the author's place for each line. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type { Doc } from "./layout-expression.js";
import { INDENT, LINE_LENGTH, LineLayout } from "./layout-line.js";
import {
  classLine,
  decoratorLine,
  exceptLine,
  forLine,
  functionLine,
  headerLine,
  simpleLine,
  withLine,
} from "./layout-statement.js";
import { commentText, docstringLines } from "./literal.js";
import type * as Py from "./py.js";

/** Lines count from 1, columns from 0, as Python's tracebacks do. */
export interface LineOrigin {
  readonly line: number;
  readonly column: number;
  readonly origin: Location;
}

export interface PrintedModule {
  readonly text: string;
  readonly lines: readonly LineOrigin[];
}

/** A string as the first statement is the module's docstring. Imports are printed in the order given. */
export function printModule(statements: Py.Block): PrintedModule {
  const printer = new ModulePrinter();
  const [first, ...rest] = statements;
  if (first?.kind === "expression" && first.value.kind === "string") printer.module(rest, first.value.value);
  else printer.module(statements);
  return printer.finish();
}

/** The owner of a block, which decides about blank lines at its start. */
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
    let hinted = false;
    statements.forEach((statement, index) => {
      if (statement.kind === "blank") {
        hinted = true;
        return;
      }
      const subject = commentSubject(statements, index);
      const count = previous
        ? blanksBetween(previous, statement, subject, depth, hinted)
        : blanksAtStart(owner === "other" ? statement : subject, owner, docstring !== undefined, hinted);
      for (let blank = 0; blank < count; blank += 1) this.rows.push("");
      this.statement(statement, depth);
      previous = statement;
      hinted = false;
    });
    const empty = statements.every(({ kind }) => kind === "comment" || kind === "blank");
    if (empty && owner !== "module" && docstring === undefined) this.put("pass", depth);
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
          const place = origin ?? (index === 0 ? statement.origin : undefined);
          this.line(headerLine(index === 0 ? "if" : "elif", test, line), line, depth, place);
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
      default:
        this.line(simpleLine(statement, layout), layout, depth, statement.origin);
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
    const [first = "", ...rest] = rows;
    this.put(first, depth, origin);
    rest.forEach((row) => this.put(row, depth));
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
    const [first = "", ...rest] = lines;
    if (rest.length === 0) {
      this.put(`"""${first}"""`, depth);
      return;
    }
    this.put(`"""${first}`, depth);
    rest.forEach((line) => this.put(line, depth));
    this.put('"""', depth);
  }
}

/** The statement below a run of comments; blank lines go before the comments. */
function commentSubject(statements: Py.Block, index: number): Py.Statement | undefined {
  const statement = statements[index];
  return statement?.kind === "comment" ? commentSubject(statements, index + 1) : statement;
}

function isDefinition(statement: Py.Statement | undefined): boolean {
  if (statement?.kind === "verbatim") return statement.isDefinition === true;
  return statement?.kind === "function" || statement?.kind === "class";
}

/** Black counts the blank lines after a nested definition at the level that follows it. */
function endsInDefinition(statement: Py.Statement): boolean {
  if (isDefinition(statement)) return true;
  const last = lastBody(statement)?.findLast(({ kind }) => kind !== "blank");
  return last !== undefined && endsInDefinition(last);
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
    default:
      return undefined;
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
  hinted: boolean,
): number {
  const sticks = previous.kind === "comment" && !hinted;
  if (endsInDefinition(previous) || (isDefinition(subject) && !sticks)) return depth === 0 ? 2 : 1;
  // Ruff sets the imports apart, in every block.
  if (isImport(previous) && !isImport(statement)) return 1;
  return hinted ? 1 : 0;
}

function blanksAtStart(subject: Py.Statement | undefined, owner: Owner, docstring: boolean, hinted: boolean): number {
  if (docstring) {
    if (owner === "function") return isDefinition(subject) || hinted ? 1 : 0;
    return owner === "module" && isDefinition(subject) ? 2 : 1;
  }
  // Ruff separates a nested function from the header of an `if` or a loop.
  return isDefinition(subject) && owner === "other" ? 1 : 0;
}

/** A line that begins something of its own: an item of a list, or what is indented. */
const BEGINS = /^(?:\s|$|[-*•>#|]|\d+[.)] |```)/;

/**
 * Greedy wrapping at spaces; a longer word stays whole. The author's own lines and their indentation are kept, but the
 * rest of a line that is too long goes on in the next one. The rest of an indented line, such as an argument's
 * description, is indented further.
 */
function wrapText(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  let rest: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const goesOn = rest !== undefined && !BEGINS.test(line);
    if (rest !== undefined && !goesOn) rows.push(rest);
    const wrapped = wrapLine(goesOn ? `${rest} ${line}` : line, width);
    rest = wrapped.length > 1 ? wrapped.at(-1) : undefined;
    rows.push(...(rest === undefined ? wrapped : wrapped.slice(0, -1)));
  }
  return rest === undefined ? rows : [...rows, rest];
}

function wrapLine(line: string, width: number): readonly string[] {
  const indentation = /^\s*/.exec(line)?.[0] ?? "";
  const further = indentation === "" ? "" : indentation + " ".repeat(INDENT);
  const rows: string[] = [];
  let row = indentation;
  for (const word of line.trim().split(/\s+/)) {
    if (row.trim() && row.length + 1 + word.length > width) {
      rows.push(row);
      row = further + word;
    } else row += row.trim() ? ` ${word}` : word;
  }
  return [...rows, row.trimEnd()];
}
