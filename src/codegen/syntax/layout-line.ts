/**
 * One logical line: a keyword or targets, an expression that may gain parentheses, and what follows. Python needs
 * brackets to break a line, so this decides between breaking the brackets that are there and adding a pair, as ruff
 * does; prettier's printer does the rest.
 */
import * as doc from "prettier/doc";
import type { Location } from "../../diagnostics/diagnostic.js";
import { ExpressionLayout, type Doc } from "./layout-expression.js";
import { canOmitParentheses, isPostfix, ownBrackets, wrapping } from "./layout-rules.js";
import type * as Py from "./py.js";

const { group, hardline, ifBreak, indent, softline } = doc.builders;

export const LINE_LENGTH = 88;
export const INDENT = 4;

/** A place in a printed line; `row` and `column` count from 0. */
export interface Mark {
  readonly row: number;
  readonly column: number;
  readonly origin: Location;
}

export interface PrintedLine {
  readonly rows: readonly string[];
  readonly marks: readonly Mark[];
}

/** Which statements let an expression that has no operator gain parentheses. */
type Style = "ifBreaks" | "assigned" | "optional" | "parenthesized";

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

  /** The line's prefix, then the expression, laid out so that what follows (`rest`) still fits beside its end. */
  append(prefix: Doc, value: Py.Expression, rest = "", style: Style = "ifBreaks"): Doc {
    const bareValue = this.expressions.expression(value, true);
    const [head, tail] = [onOneLine(prefix), onOneLine([bareValue, rest])];
    if (head !== undefined && tail !== undefined && widthOf(head + tail) <= this.width) return [head, bareValue];
    const wanted = wrapping(value);
    // A target before the value breaks only when not even the value's beginning fits beside it.
    const start = this.settled(prefix, wanted === "multiline" ? "(" : firstRow([bareValue, rest]));
    const beside = lastRow(start);
    const bare: Doc = [start, bareValue];
    if (wanted === "never" || (wanted === "bestFit" && style === "optional")) return bare;
    if (this.fits([beside, flat(this.expressions.expression(value)), rest])) return bare;
    // Ruff puts parentheses around a body without brackets only where the lambda itself is assigned or returned.
    const wraps = value.kind === "lambda" && ownBrackets(value.body) === "none";
    const omits = (value.kind === "lambda" && style === "assigned") || (canOmitParentheses(value) && !wraps);
    const best = wanted === "bestFit" && style !== "parenthesized";
    if (
      (best || omits) &&
      this.fits([beside, broken(this.expressions.expression(value, true)), rest], "outside brackets")
    ) {
      return bare;
    }
    const inside = this.expressions.expression(value);
    if (best && !this.fits([beside, "(", indent([hardline, broken(inside)]), hardline, ")", rest])) return bare;
    return [start, "(", indent([hardline, inside]), hardline, ")"];
  }

  /** `target = value`; a target with brackets of its own changes how the value breaks. */
  assignment(prefix: Doc, target: Py.Expression, operator: string, value: Py.Expression): Doc {
    const left: Doc = [prefix, this.target(target), ` ${operator} `];
    if (target.kind !== "tuple" && ownBrackets(target) === "none") return this.append(left, value, "", "assigned");
    if (wrapping(value) !== "bestFit") return this.append(left, value, "", "assigned");
    if (value.kind === "unary") return this.append(left, value, "", "assigned");
    const bareValue = this.expressions.expression(value, true);
    const bare: Doc = [left, bareValue];
    const opens = isPostfix(value) && this.fits([flat(left), firstRow(bareValue)]);
    if (opens || this.fits(flat(bare)) || !this.fits([flat(left), "("])) return bare;
    return [left, "(", indent([hardline, this.expressions.expression(value)]), hardline, ")"];
  }

  target(target: Py.Expression): Doc {
    return target.kind === "tuple" && target.items.length > 1
      ? this.expressions.bareTuple(target.items)
      : this.expressions.expression(target, true);
  }

  /** `(…)` around the whole where it does not fit on one line. */
  wrapped(content: Doc, comma: Doc = ""): Doc {
    return group([ifBreak("("), indent([softline, content, comma]), softline, ifBreak(")")]);
  }

  /** Decides how this part breaks, before the rest of the line is laid out. */
  settled(content: Doc, rest: string): Doc {
    const text = printed([content, rest], this.width);
    return doc.builders.join(hardline, text.slice(0, text.length - rest.length).split("\n"));
  }

  print(content: Doc): PrintedLine {
    return takeMarks(printed(content, this.width), this.origins);
  }

  /** Ruff lets text overflow inside brackets that it breaks anyway: parentheses around them would not help. */
  private fits(content: Doc, where: "everywhere" | "outside brackets" = "everywhere"): boolean {
    const rows = printed(content, this.width).replace(MARK, "").split("\n");
    return rows.every((row) => row.length <= this.width || (where === "outside brackets" && row.startsWith(" ")));
  }
}

function printed(content: Doc, printWidth: number): string {
  const text = onOneLine(content);
  if (text !== undefined && widthOf(text) <= printWidth) return text;
  return doc.printer.printDocToString(content, { printWidth, tabWidth: INDENT }).formatted;
}

/**
 * The document on one line; undefined if some part of it must break, or if the printer would have to count. Most lines
 * fit, and this is a small part of what the printer costs.
 */
function onOneLine(content: Doc, inGroup = false): string | undefined {
  if (typeof content === "string") return ONE_COLUMN_EACH.test(content) ? content : undefined;
  if (Array.isArray(content)) {
    let text = "";
    for (const part of content) {
      const next = onOneLine(part, inGroup);
      if (next === undefined) return undefined;
      text += next;
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
    default:
      return undefined;
  }
}

/** The columns that a text without line breaks takes. */
function widthOf(text: string): number {
  return text.includes(MARK_START) ? text.replace(MARK, "").length : text.length;
}

/** The document on one line, however long. */
function flat(content: Doc): Doc {
  return printed(group(content), Infinity);
}

/** The text before the first possible line break of the document. */
function firstRow(content: Doc): string {
  return printed(broken(content), Infinity).replace(/\n[^]*/, "");
}

function lastRow(content: Doc): string {
  return printed(content, Infinity).replace(/^[^]*\n/, "");
}

/** The document with every group broken: the narrowest that it can be. */
function broken(content: Doc): Doc {
  return doc.utils.mapDoc(content, (part) =>
    typeof part === "object" && !Array.isArray(part) && part.type === "group" ? { ...part, break: true } : part,
  );
}

/*
 * Origins travel through the printer as control characters: prettier counts them as having no width, and our Python
 * has none, because literals and comments are escaped.
 */
const MARK_START = "\u0090";
const MARK_END = "\u0091";
const MARK_DIGITS = ["\u0080", "\u0081"];
/** Printable ASCII and marks. */
const ONE_COLUMN_EACH = /^[\x20-\x7e\u0080\u0081\u0090\u0091]*$/;
const MARK = /\u0090([\u0080\u0081]+)\u0091/g;

function takeMarks(text: string, origins: readonly Location[]): PrintedLine {
  const marks: Mark[] = [];
  const rows = text.split("\n").map((marked, row) => {
    let removed = 0;
    return marked.replace(MARK, (whole: string, digits: string, offset: number) => {
      const binary = digits.replace(/./g, (digit) => String(MARK_DIGITS.indexOf(digit)));
      const origin = origins[Number.parseInt(binary, 2)];
      if (origin) marks.push({ row, column: offset - removed, origin });
      removed += whole.length;
      return "";
    });
  });
  return { rows, marks };
}
