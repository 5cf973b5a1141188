/** The header of each statement, without its body, as one logical line. */
import * as doc from "prettier/doc";
import { flatText, type Doc, ExpressionLayout } from "./layout-expression.js";
import { LEVEL, level } from "./precedence.js";
import type * as Py from "./py.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import { canOmitParentheses, isPostfix, ownBrackets, wrapping } from "./layout-rules.js";

const { group, hardline, ifBreak, indent, join, line, softline } = doc.builders;

/** Statements that are one logical line. */
export type SimpleStatement =
  | Py.Assign
  | Py.AugmentedAssign
  | Py.ExpressionStatement
  | Py.Return
  | Py.Raise
  | Py.Assert
  | Py.Pass
  | Py.Import
  | Py.FromImport;

export function simpleLine(statement: SimpleStatement, layout: LineLayout): Doc {
  switch (statement.kind) {
    case "assign":
      return assignLine(statement, layout);
    case "augmentedAssign":
      return layout.assignment("", statement.target, `${statement.operator}=`, statement.value);
    case "expression": {
      // Ruff adds parentheses around an expression statement with operators, but not around calls.
      const isOperation = level(statement.value) < LEVEL.postfix;
      return isOperation ? layout.append("", statement.value) : layout.expressions.expression(statement.value, true);
    }
    case "return":
      return returnLine(statement, layout);
    case "raise":
      return raiseLine(statement, layout);
    case "assert": {
      if (!statement.message) return layout.append("assert ", statement.test);
      const test = layout.resolveBreaks(layout.append("assert ", statement.test, ", ("), ", (");
      return layout.append([test, ", "], statement.message, "", "parenthesized");
    }
    case "pass":
      return "pass";
    case "import":
      return `import ${statement.module}${statement.as ? ` as ${statement.as}` : ""}`;
    case "fromImport": {
      const names = statement.names.map(({ name, as }) => (as ? `${name} as ${as}` : name));
      return [`from ${statement.module} import `, layout.parenthesizeIfBroken(join([",", line], names), ifBreak(","))];
    }
    default:
      return statement satisfies never;
  }
}

function assignLine({ targets, annotation, value }: Py.Assign, layout: LineLayout): Doc {
  const last = targets.at(-1);
  if (!last) throw new RangeError("an assignment needs a target");
  if (annotation) {
    const head: Doc = [layout.target(last), ": "];
    return value
      ? layout.assignment(head, annotation, "=", value)
      : [head, layout.expressions.expression(annotation, true)];
  }
  if (!value) throw new RangeError("an assignment without an annotation needs a value");
  const head = targets.slice(0, -1).map((target) => [layout.target(target), " = "]);
  return layout.assignment(head, last, "=", value);
}

function returnLine({ value }: Py.Return, layout: LineLayout): Doc {
  if (!value) return "return";
  return value.kind === "tuple" && value.items.length > 1
    ? ["return ", layout.expressions.bareTuple(value.items)]
    : layout.append("return ", value, "", "assigned");
}

function raiseLine({ value, cause }: Py.Raise, layout: LineLayout): Doc {
  if (!value) return "raise";
  if (!cause) return layout.append("raise ", value, "", "optional");
  const head = layout.append("raise ", value, ` from ${flatText(cause)}`, "optional");
  return [head, " from ", layout.expressions.expression(cause, true)];
}

/** `keyword expression:` */
export function headerLine(keyword: string, value: Py.Expression, layout: LineLayout): Doc {
  return [layout.append(`${keyword} `, value, ":"), ":"];
}

export function forLine({ target, iterable }: Py.For, layout: LineLayout): Doc {
  // Ruff breaks the target, even a name, before a value that cannot break.
  const targetDoc = target.kind === "name" ? layout.parenthesizeIfBroken(layout.target(target)) : layout.target(target);
  return [layout.append(["for ", targetDoc, " in "], iterable, ":"), ":"];
}

export function withLine({ items }: Py.With, layout: LineLayout): Doc {
  const docs = items.map(({ value, as }) => [
    layout.expressions.expression(value, items.length === 1),
    as ? [" as ", layout.target(as)] : "",
  ]);
  return ["with ", docs.length === 1 ? docs : layout.parenthesizeIfBroken(join([",", line], docs), ifBreak(",")), ":"];
}

export function exceptLine(handler: Py.Try["handlers"][number], layout: LineLayout): Doc {
  const alias = handler.as ? ` as ${handler.as}` : "";
  return handler.type ? [layout.append("except ", handler.type, `${alias}:`), alias, ":"] : "except:";
}

export function decoratorLine(decorator: Py.Expression, layout: LineLayout): Doc {
  return layout.append("@", decorator, "", "optional");
}

export function functionLine({ name, params, returns }: Py.FunctionDef, layout: LineLayout): Doc {
  const returnAnnotation: Doc = returns ? [" -> ", layout.expressions.expression(returns, true)] : "";
  if (params.length === 0) return [`def ${name}`, group(["()", returnAnnotation]), ":"];
  const entries = join(
    [",", line],
    params.map((param) => parameter(param, layout)),
  );
  // A single parameter is always on its own line, so it has the trailing comma.
  const entriesWithComma: Doc = [entries, ifBreak(",")];
  const contents = params.length > 1 ? group(entriesWithComma) : entriesWithComma;
  return [`def ${name}`, group(["(", indent([softline, contents]), softline, ")", returnAnnotation]), ":"];
}

function parameter({ name, annotation, default: value }: Py.Parameter, layout: LineLayout): Doc {
  const annotatedName: Doc = annotation ? [name, ": ", layout.expressions.expression(annotation)] : name;
  // Spaces around `=` only after an annotation (PEP 8).
  return value ? [annotatedName, annotation ? " = " : "=", layout.expressions.expression(value)] : annotatedName;
}

export function classLine({ name, bases }: Py.ClassDef, layout: LineLayout): Doc {
  return [`class ${name}`, bases.length ? layout.expressions.args(bases) : "", ":"];
}

// The layout of one logical line: a prefix, an expression that may need parentheses, and a suffix. Python can break a
// line only inside brackets. As in ruff, the layout either breaks existing brackets or adds a pair of parentheses.
// Prettier's printer then breaks the lines.

export const LINE_LENGTH = 88;
export const INDENT = 4;

/** A position in a printed line. `row` and `column` are 0-based. */
interface Mark {
  readonly row: number;
  readonly column: number;
  readonly origin: Location;
}

interface PrintedLine {
  readonly rows: readonly string[];
  readonly marks: readonly Mark[];
}

/** The rule for adding parentheses around an expression without operators, by the kind of statement. */
type Style = "ifBreaks" | "assigned" | "optional" | "parenthesized";

const inParentheses = (content: Doc): Doc => ["(", indent([hardline, content]), hardline, ")"];

/** Ruff wraps a lambda body without brackets in parentheses only if the lambda itself is assigned or returned. */
function canStandBare(value: Py.Expression, style: Style): boolean {
  if (value.kind !== "lambda") return canOmitParentheses(value);
  return style === "assigned" || (canOmitParentheses(value) && ownBrackets(value.body) !== "none");
}

export class LineLayout {
  private readonly origins: Location[] = [];
  private readonly width: number;
  readonly expressions = new ExpressionLayout(
    (origin) =>
      MARK_START +
      (this.origins.push(origin) - 1).toString(2).replace(/./g, (digit) => MARK_DIGITS[Number(digit)] ?? "") +
      MARK_END,
  );

  constructor(depth: number) {
    this.width = Math.max(LINE_LENGTH - depth * INDENT, 1);
  }

  /** Lays out the prefix and the expression so that the suffix fits after the end of the expression. */
  append(prefix: Doc, value: Py.Expression, suffix = "", style: Style = "ifBreaks"): Doc {
    const bareValue = this.expressions.expression(value, true);
    const [head, tail] = [onOneLine(prefix), onOneLine([bareValue, suffix])];
    if (head !== undefined && tail !== undefined && widthOf(head + tail) <= this.width) return [head, bareValue];
    const wrappingKind = wrapping(value);
    // A target breaks only if not even the first row of the value fits after it.
    const start = this.resolveBreaks(prefix, wrappingKind === "multiline" ? "(" : firstRow([bareValue, suffix]));
    const lastStartRow = lastRow(start);
    const bare: Doc = [start, bareValue];
    if (wrappingKind === "never" || (wrappingKind === "bestFit" && style === "optional")) return bare;
    if (this.fits([lastStartRow, printFlat(this.expressions.expression(value)), suffix])) return bare;
    const isBestFit = wrappingKind === "bestFit" && style !== "parenthesized";
    if (
      (isBestFit || canStandBare(value, style)) &&
      this.fits([lastStartRow, breakAllGroups(this.expressions.expression(value, true)), suffix], "outside brackets")
    ) {
      return bare;
    }
    const contents = this.expressions.expression(value);
    if (isBestFit && !this.fits([lastStartRow, inParentheses(breakAllGroups(contents)), suffix])) return bare;
    return [start, inParentheses(contents)];
  }

  /** `target = value`. A target with its own brackets changes how the value breaks. */
  assignment(prefix: Doc, target: Py.Expression, operator: string, value: Py.Expression): Doc {
    const lhs: Doc = [prefix, this.target(target), ` ${operator} `];
    if (target.kind !== "tuple" && ownBrackets(target) === "none") return this.append(lhs, value, "", "assigned");
    if (wrapping(value) !== "bestFit") return this.append(lhs, value, "", "assigned");
    if (value.kind === "unary") return this.append(lhs, value, "", "assigned");
    const bareValue = this.expressions.expression(value, true);
    const bare: Doc = [lhs, bareValue];
    const canStartOnLine = isPostfix(value) && this.fits([printFlat(lhs), firstRow(bareValue)]);
    if (canStartOnLine || this.fits(printFlat(bare)) || !this.fits([printFlat(lhs), "("])) return bare;
    return [lhs, inParentheses(this.expressions.expression(value))];
  }

  target(target: Py.Expression): Doc {
    return target.kind === "tuple" && target.items.length > 1
      ? this.expressions.bareTuple(target.items)
      : this.expressions.expression(target, true);
  }

  /** Adds `(…)` around the content if it does not fit on one line. */
  parenthesizeIfBroken(content: Doc, comma: Doc = ""): Doc {
    return group([ifBreak("("), indent([softline, content, comma]), softline, ifBreak(")")]);
  }

  /** Fixes the line breaks of this content before the remainder of the line is laid out. */
  resolveBreaks(content: Doc, suffix: string): Doc {
    const text = printDoc([content, suffix], this.width);
    return doc.builders.join(hardline, text.slice(0, text.length - suffix.length).split("\n"));
  }

  print(content: Doc): PrintedLine {
    return takeMarks(printDoc(content, this.width), this.origins);
  }

  /** Ruff accepts overflow inside brackets that break anyway, because parentheses around them would not help. */
  private fits(content: Doc, scope: "everywhere" | "outside brackets" = "everywhere"): boolean {
    const rows = printDoc(content, this.width).replace(MARK, "").split("\n");
    return rows.every((row) => row.length <= this.width || (scope === "outside brackets" && row.startsWith(" ")));
  }
}

function printDoc(content: Doc, printWidth: number): string {
  const text = onOneLine(content);
  if (text !== undefined && widthOf(text) <= printWidth) return text;
  return doc.printer.printDocToString(content, { printWidth, tabWidth: INDENT }).formatted;
}

/**
 * The document on one line. Undefined if a part of it must break, or if only prettier can compute its width. This is a
 * fast path: most lines fit, and prettier's printer is much slower.
 */
function onOneLine(content: Doc, inGroup = false): string | undefined {
  if (typeof content === "string") return ONE_COLUMN_EACH.test(content) ? content : undefined;
  if (Array.isArray(content)) {
    let text = "";
    for (const part of content) {
      const partText = onOneLine(part, inGroup);
      if (partText === undefined) return undefined;
      text += partText;
    }
    return text;
  }
  switch (content.type) {
    case "group":
      return content.break ? undefined : onOneLine(content.contents, true);
    case "indent":
      return onOneLine(content.contents, inGroup);
    case "if-break":
      return inGroup ? onOneLine(content.flatContents ?? "", true) : undefined;
    case "line":
      if (!inGroup || content.hard) return undefined;
      return content.soft ? "" : " ";
    case "align":
    case "break-parent":
    case "cursor":
    case "fill":
    case "indent-if-break":
    case "label":
    case "line-suffix":
    case "line-suffix-boundary":
    case "trim":
      return undefined;
    default:
      return content satisfies never;
  }
}

/** The width of a text without line breaks, in columns. */
function widthOf(text: string): number {
  return text.includes(MARK_START) ? text.replace(MARK, "").length : text.length;
}

/** The document on one line of any length. */
function printFlat(content: Doc): Doc {
  return printDoc(group(content), Infinity);
}

/** The text before the first possible line break of the document. */
function firstRow(content: Doc): string {
  return printDoc(breakAllGroups(content), Infinity).replace(/\n[^]*/, "");
}

function lastRow(content: Doc): string {
  return printDoc(content, Infinity).replace(/^[^]*\n/, "");
}

/** The document with every group broken, its narrowest layout. */
function breakAllGroups(content: Doc): Doc {
  return doc.utils.mapDoc(content, (part) =>
    typeof part === "object" && !Array.isArray(part) && part.type === "group" ? { ...part, break: true } : part,
  );
}

/*
 * Origins are encoded as control characters in the document. Prettier counts them as zero-width. The emitted Python
 * contains no other control characters, because literals and comments are escaped.
 */
const MARK_START = "\u0090";
const MARK_END = "\u0091";
const MARK_DIGITS = ["\u0080", "\u0081"];
/** Printable ASCII and marks. */
const ONE_COLUMN_EACH = /^[\x20-\x7e\u0080\u0081\u0090\u0091]*$/;
const MARK = /\u0090([\u0080\u0081]+)\u0091/g;

function takeMarks(text: string, origins: readonly Location[]): PrintedLine {
  const marks: Mark[] = [];
  const rows = text.split("\n").map((markedRow, row) => {
    let removedLength = 0;
    return markedRow.replace(MARK, (mark: string, digits: string, offset: number) => {
      const binary = digits.replace(/./g, (digit) => String(MARK_DIGITS.indexOf(digit)));
      const origin = origins[Number.parseInt(binary, 2)];
      if (origin) marks.push({ row, column: offset - removedLength, origin });
      removedLength += mark.length;
      return "";
    });
  });
  return { rows, marks };
}
