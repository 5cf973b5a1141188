/**
 * Expressions as prettier documents. A document is laid out in one of two frames: `bracketed`, where lines may break
 * at operators, or `bare`, where Python allows a break inside brackets only.
 */
import * as doc from "prettier/doc";
import type { Location } from "../../diagnostics/diagnostic.js";
import { escapeText, preferredQuote, splitLiteral, stringLiteral } from "./literal.js";
import {
  flatten,
  isCallLike,
  isFluent,
  isPostfix,
  ownBrackets,
  postfixValue,
  splitPriority,
  type Part,
} from "./layout-rules.js";
import { conditionalOperands, LEVEL, operand, postfixRoot, unaryOperand, type Operand } from "./precedence.js";
import type * as Py from "./py.js";

export type Doc = doc.builders.Doc;

const { conditionalGroup, group, ifBreak, indent, join, line, softline } = doc.builders;

/** Lays out the expressions of one logical line. `mark` gives a zero-width mark for a place, or nothing. */
export class ExpressionLayout {
  constructor(private readonly mark: (origin: Location) => string) {}

  /** In brackets of any kind, or in `bare` at the level of the statement. */
  expression(value: Py.Expression | Py.Argument | Py.Slice, bare = false): Doc {
    const laidOut = this.unmarked(value, bare);
    return value.origin ? [this.mark(value.origin), laidOut] : laidOut;
  }

  /** `a, b` without its own brackets: parentheses appear when it is broken. */
  bareTuple(items: Py.Tuple["items"]): Doc {
    const entries = join(
      [",", line],
      items.map((item) => this.expression(item)),
    );
    return group([ifBreak("("), indent([softline, entries, ifBreak(",")]), softline, ifBreak(")")]);
  }

  /** `(a, b=c)`: first all on one indented line, then one a line. */
  args(args: readonly Py.Argument[]): Doc {
    return this.packed("(", args, ")");
  }

  private unmarked(value: Py.Expression | Py.Argument | Py.Slice, bare: boolean): Doc {
    switch (value.kind) {
      case "name":
        return value.id;
      case "number":
        return value.text;
      case "raw":
        return this.raw(value);
      case "string":
        return stringLiteral(value.value);
      case "fString":
        return fStringLiteral(value);
      case "attribute":
      case "call":
      case "subscript":
        return this.chain(value, bare);
      case "binary":
      case "compare":
      case "bool":
        return this.operators(flatten(value), bare);
      case "unary":
        return [value.operator === "not" ? "not " : value.operator, this.operand(unaryOperand(value), bare)];
      case "conditional":
        return this.conditional(value, bare);
      case "lambda":
        return this.lambda(value, bare);
      case "tuple":
        return value.items.length === 1
          ? this.sequence("(", value.items, ")", ",")
          : this.sequence("(", value.items, ")");
      case "list":
        return this.sequence("[", value.items, "]");
      case "dict":
        return this.dict(value);
      case "starred":
        return [
          value.stars,
          this.operand(operand(value.value, value.stars === "*" ? LEVEL.bitOr : LEVEL.lambda), bare),
        ];
      case "keyword":
        return [value.name, "=", this.expression(value.value)];
      case "slice":
        return this.slice(value);
      default:
        return value satisfies never;
    }
  }

  /** An operand, in parentheses when Python's grammar requires them. */
  private operand({ value, parenthesized }: Operand, bare: boolean): Doc {
    return parenthesized
      ? group(["(", indent([softline, this.expression(value)]), softline, ")"])
      : this.expression(value, bare);
  }

  /** The weakest operators of a chain break together, before the operator; each tighter run is a group of its own. */
  private operators(parts: readonly Part[], bare: boolean): Doc {
    const [only] = parts;
    if (parts.length === 1 && only && "value" in only) return this.operand(only, bare);
    const weakest = Math.max(...parts.map((part) => ("operator" in part ? splitPriority(part.operator) : 0)));
    const docs: Doc[] = [];
    let run: Part[] = [];
    for (const part of parts) {
      if ("operator" in part && splitPriority(part.operator) === weakest) {
        docs.push(this.operators(run, bare), ...this.operator(part.operator, run, parts, bare));
        run = [];
      } else run.push(part);
    }
    docs.push(this.operators(run, bare));
    return bare ? docs : group(docs);
  }

  private operator(symbol: string, left: readonly Part[], parts: readonly Part[], bare: boolean): Doc[] {
    // Ruff hugs a power of simple operands: `x**2`.
    const right = parts[parts.indexOf(left.at(-1) as Part) + 2];
    if (symbol === "**" && isSimplePower(left.at(-1)) && isSimplePower(right)) {
      return bare ? ["**"] : [softline, "**", ifBreak(" ")];
    }
    return [bare ? " " : line, symbol, " "];
  }

  /** An item between brackets and commas needs no parentheses. */
  private raw({ parts }: Py.Raw): Doc {
    return parts.map((part, i) => {
      if (typeof part === "string") return part;
      const [before, after] = [parts[i - 1] ?? "", parts[i + 1] ?? ""];
      const isAlone =
        typeof before === "string" && typeof after === "string" && /[([,]\s*$/.test(before) && /^\s*[)\],]/.test(after);
      return this.operand(operand(part, isAlone ? LEVEL.lambda : LEVEL.postfix), false);
    });
  }

  private chain(value: Py.Attribute | Py.Call | Py.Subscript, bare: boolean): Doc {
    const fluent = !bare && isFluent(value);
    const docs = this.links(value, bare, fluent);
    return fluent ? group(docs) : docs;
  }

  private links(value: Py.Attribute | Py.Call | Py.Subscript, bare: boolean, fluent: boolean): Doc[] {
    const root = postfixRoot(postfixValue(value));
    const head =
      !root.parenthesized && isPostfix(root.value)
        ? [root.value.origin ? this.mark(root.value.origin) : "", ...this.links(root.value, bare, fluent)]
        : [this.operand(root, bare)];
    switch (value.kind) {
      case "attribute": {
        const breaks = fluent && (root.parenthesized || isCallLike(root.value));
        return [...head, breaks ? softline : "", ".", value.name];
      }
      case "call":
        return [...head, this.args(value.args)];
      case "subscript": {
        const [only] = value.indices;
        const index =
          value.indices.length === 1 && only && only.kind !== "starred"
            ? group(["[", indent([softline, this.expression(only)]), softline, "]"])
            : this.packed("[", value.indices, "]");
        return [...head, index];
      }
      default:
        return value satisfies never;
    }
  }

  /** Ruff gives a trailing comma only to several items that stand one a line. */
  private packed(open: string, items: readonly (Py.Argument | Py.Slice)[], close: string): Doc {
    if (items.length === 0) return open + close;
    const entries = join(
      [",", line],
      items.map((item) => this.splitText(item)),
    );
    const comma = items.length > 1 ? ifBreak(",") : "";
    return group([open, indent([softline, group([entries, comma])]), softline, close]);
  }

  /** A text that is too long for a line becomes several literals, which Python joins and ruff keeps. */
  private splitText(item: Py.Argument | Py.Slice): Doc {
    const whole = this.expression(item);
    if (item.kind !== "string" && item.kind !== "fString") return whole;
    const chunks = splitLiteral(item).map((chunk) =>
      chunk.kind === "string" ? stringLiteral(chunk.value) : fStringLiteral(chunk),
    );
    return chunks.length === 1 ? whole : group(ifBreak(join(line, chunks), whole));
  }

  private sequence(open: string, items: readonly Py.Argument[], close: string, comma?: string): Doc {
    if (items.length === 0) return open + close;
    const entries = join(
      [",", line],
      items.map((item) => this.expression(item)),
    );
    return group([open, indent([softline, entries, comma ?? (items.length > 1 ? ifBreak(",") : "")]), softline, close]);
  }

  private dict({ entries }: Py.Dict): Doc {
    if (entries.length === 0) return "{}";
    const docs = entries.map(({ key, value }) =>
      group(
        key
          ? [this.expression(key), ": ", this.expression(value)]
          : ["**", this.operand(operand(value, LEVEL.bitOr), false)],
      ),
    );
    const comma = entries.length > 1 ? ifBreak(",") : "";
    return group(["{", indent([softline, join([",", line], docs), comma]), softline, "}"]);
  }

  private slice({ lower, upper, step }: Py.Slice): Doc {
    // Black treats the colon as the weakest operator: it has spaces unless every part is simple.
    const space = [lower, upper, step].every((part) => !part || isSimpleSlicePart(part)) ? "" : " ";
    return [
      lower ? [this.expression(lower), space] : "",
      ":",
      upper ? [space, this.expression(upper)] : "",
      step ? [upper ? space : lower || upper ? "" : "", ":", space, this.expression(step)] : "",
    ];
  }

  private conditional(value: Py.Conditional, bare: boolean): Doc {
    const { body, test, otherwise } = conditionalOperands(value);
    const gap = bare ? " " : line;
    const rest =
      otherwise.value.kind === "conditional"
        ? this.conditionalParts(otherwise.value, gap, bare)
        : bare
          ? this.operand(otherwise, bare)
          : group(this.operand(otherwise, bare));
    const docs = [this.operand(body, bare), gap, "if ", this.operand(test, bare), gap, "else ", rest];
    return bare ? docs : group(docs);
  }

  /** A conditional in the `else` part of another breaks with it. */
  private conditionalParts(value: Py.Conditional, gap: Doc, bare: boolean): Doc {
    const { body, test, otherwise } = conditionalOperands(value);
    const rest =
      otherwise.value.kind === "conditional"
        ? this.conditionalParts(otherwise.value, gap, bare)
        : this.operand(otherwise, bare);
    return [this.operand(body, bare), gap, "if ", this.operand(test, bare), gap, "else ", rest];
  }

  /** Ruff wraps a long body in parentheses, unless the body has brackets of its own that can break. */
  private lambda({ params, body }: Py.Lambda, bare: boolean): Doc {
    const head = params.length ? `lambda ${params.join(", ")}: ` : "lambda: ";
    if (isCallLike(body) && !isFluent(body)) {
      const flat = this.expression(body, bare);
      const expanded = group(this.expression(body, true), { shouldBreak: true });
      return [
        head,
        conditionalGroup([
          flat,
          expanded,
          group(["(", indent([softline, this.expression(body)]), softline, ")"], { shouldBreak: true }),
        ]),
      ];
    }
    if (ownBrackets(body) !== "none") return [head, this.expression(body, bare)];
    return [head, group([ifBreak("("), indent([softline, this.expression(body)]), softline, ifBreak(")")])];
  }
}

function isSimplePower(part: Part | undefined): boolean {
  return part !== undefined && "value" in part && !part.parenthesized && isSimpleOperand(part.value);
}

function isSimpleOperand(value: Py.Expression): boolean {
  if (value.kind === "unary") return value.operator !== "not" && isSimpleOperand(value.operand);
  if (value.kind === "attribute") return isSimpleOperand(value.value);
  return value.kind === "name" || value.kind === "number";
}

function isSimpleSlicePart(value: Py.Expression): boolean {
  if (value.kind === "unary") return value.operator !== "not" && isSimpleSlicePart(value.operand);
  return value.kind === "name" || value.kind === "number" || value.kind === "string";
}

/** Before Python 3.12 a nested string must use the other quote, and may hold no backslash. */
function fStringLiteral({ parts }: Py.FString): string {
  const plain = parts.every((part) => typeof part === "string");
  if (plain) return stringLiteral(parts.join(""));
  const quote = preferredQuote(parts.filter((part) => typeof part === "string").join(""));
  const inside = parts.map((part) => {
    if (typeof part === "string") return escapeText(part, quote).replaceAll("{", "{{").replaceAll("}", "}}");
    const value = flatText(part.value).replace(/"((?:[^"\\'])*)"/g, quote === '"' ? "'$1'" : '"$1"');
    const guarded = value.startsWith("{") ? ` ${value}` : value;
    const safe = part.value.kind === "lambda" ? `(${guarded})` : guarded;
    return `{${safe}${part.conversion ? `!${part.conversion}` : ""}${part.format ? `:${part.format}` : ""}}`;
  });
  return `f${quote}${inside.join("")}${quote}`;
}

/** The expression on one line, however long. */
export function flatText(value: Py.Expression): string {
  const layout = new ExpressionLayout(() => "");
  return doc.printer.printDocToString(group(layout.expression(value)), { printWidth: Infinity, tabWidth: 4 }).formatted;
}
