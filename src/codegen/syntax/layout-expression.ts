/**
 * Expressions as prettier documents. Inside brackets, lines may break at operators. In a `bare` expression, Python
 * allows breaks only inside its own brackets.
 */
import * as doc from "prettier/doc";
import type { Location } from "../../diagnostics/diagnostic.js";
import {
  flatten,
  isCallLike,
  isFluent,
  isPostfix,
  ownBrackets,
  postfixValue,
  splitPriority,
  type FlatPart,
} from "./layout-rules.js";
import {
  conditionalOperands,
  LEVEL,
  operand,
  postfixRoot,
  unaryOperand,
  type Operand,
  escapeText,
  preferredQuote,
  splitLiteral,
  stringLiteral,
} from "./precedence.js";
import type * as Py from "./py.js";

export type Doc = doc.builders.Doc;

const { conditionalGroup, group, ifBreak, indent, join, line, softline } = doc.builders;

/** Lays out the expressions of one logical line. `mark` returns a zero-width mark for a source location, or "". */
export class ExpressionLayout {
  constructor(private readonly mark: (origin: Location) => string) {}

  /** The document of an expression inside brackets, or at the level of the statement if `bare`. */
  expression(value: Py.Expression | Py.Argument | Py.Slice, bare = false): Doc {
    const content = this.layOut(value, bare);
    return value.origin ? [this.mark(value.origin), content] : content;
  }

  /** `a, b` without brackets. Parentheses are added if it breaks. */
  bareTuple(items: Py.Tuple["items"]): Doc {
    const entries = join(
      [",", line],
      items.map((item) => this.expression(item)),
    );
    return group([ifBreak("("), indent([softline, entries, ifBreak(",")]), softline, ifBreak(")")]);
  }

  /** `(a, b=c)`: all arguments on one indented line, or else one per line. */
  args(args: readonly Py.Argument[]): Doc {
    return this.bracketedList("(", args, ")");
  }

  private layOut(value: Py.Expression | Py.Argument | Py.Slice, bare: boolean): Doc {
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
      case "comprehension":
        return this.comprehension(value);
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

  /** An operand, with its parentheses. */
  private operand({ value, isParenthesized }: Operand, bare: boolean): Doc {
    return isParenthesized
      ? group(["(", indent([softline, this.expression(value)]), softline, ")"])
      : this.expression(value, bare);
  }

  /**
   * The operators with the lowest precedence break together, before the operator. Each tighter run is a separate group.
   */
  private operators(parts: readonly FlatPart[], bare: boolean): Doc {
    const [single] = parts;
    if (parts.length === 1 && single && "value" in single) return this.operand(single, bare);
    const weakest = Math.max(...parts.map((part) => ("operator" in part ? splitPriority(part.operator) : 0)));
    const docs: Doc[] = [];
    let run: FlatPart[] = [];
    for (const part of parts) {
      if ("operator" in part && splitPriority(part.operator) === weakest) {
        docs.push(this.operators(run, bare), ...this.operator(part.operator, run, parts, bare));
        run = [];
      } else run.push(part);
    }
    docs.push(this.operators(run, bare));
    return bare ? docs : group(docs);
  }

  private operator(symbol: string, lhs: readonly FlatPart[], parts: readonly FlatPart[], bare: boolean): Doc[] {
    // Ruff omits the spaces in a power of simple operands: `x**2`.
    const rhs = parts[parts.indexOf(lhs.at(-1) as FlatPart) + 2];
    if (symbol === "**" && isSimplePower(lhs.at(-1)) && isSimplePower(rhs)) {
      return bare ? ["**"] : [softline, "**", ifBreak(" ")];
    }
    return [bare ? " " : line, symbol, " "];
  }

  /** A raw expression. An operand between brackets or commas needs no parentheses. */
  private raw({ parts }: Py.Raw): Doc {
    return parts.map((part, i) => {
      if (typeof part === "string") return part;
      const [previous, next] = [parts[i - 1] ?? "", parts[i + 1] ?? ""];
      const isDelimited =
        typeof previous === "string" &&
        typeof next === "string" &&
        /[([,]\s*$/.test(previous) &&
        /^\s*[)\],]/.test(next);
      return this.operand(operand(part, isDelimited ? LEVEL.lambda : LEVEL.postfix), false);
    });
  }

  private chain(value: Py.Attribute | Py.Call | Py.Subscript, bare: boolean): Doc {
    const isFluentChain = !bare && isFluent(value);
    const docs = this.links(value, bare, isFluentChain);
    return isFluentChain ? group(docs) : docs;
  }

  private links(value: Py.Attribute | Py.Call | Py.Subscript, bare: boolean, isFluentChain: boolean): Doc[] {
    const root = postfixRoot(postfixValue(value));
    const head =
      !root.isParenthesized && isPostfix(root.value)
        ? [root.value.origin ? this.mark(root.value.origin) : "", ...this.links(root.value, bare, isFluentChain)]
        : [this.operand(root, bare)];
    switch (value.kind) {
      case "attribute": {
        const canBreak = isFluentChain && (root.isParenthesized || isCallLike(root.value));
        return [...head, canBreak ? softline : "", ".", value.name];
      }
      case "call":
        return [...head, this.args(value.args)];
      case "subscript": {
        const [single] = value.indices;
        const index =
          value.indices.length === 1 && single && single.kind !== "starred"
            ? group(["[", indent([softline, this.expression(single)]), softline, "]"])
            : this.bracketedList("[", value.indices, "]");
        return [...head, index];
      }
      default:
        return value satisfies never;
    }
  }

  /** Ruff adds a trailing comma only to several items, one per line. */
  private bracketedList(open: string, items: readonly (Py.Argument | Py.Slice)[], close: string): Doc {
    if (items.length === 0) return open + close;
    const entries = join(
      [",", line],
      items.map((item) => this.splitText(item)),
    );
    const comma = items.length > 1 ? ifBreak(",") : "";
    return group([open, indent([softline, group([entries, comma])]), softline, close]);
  }

  /** Splits a text that is too long for a line into several literals, which Python concatenates and ruff keeps. */
  private splitText(item: Py.Argument | Py.Slice): Doc {
    const whole = this.expression(item);
    if (item.kind !== "string" && item.kind !== "fString") return whole;
    const chunks = splitLiteral(item, ({ value }) => flatText(value).length + 2).map((chunk) =>
      chunk.kind === "string" ? stringLiteral(chunk.value) : fStringLiteral(chunk),
    );
    return chunks.length <= 1 ? whole : group(ifBreak(join(line, chunks), whole));
  }

  private sequence(open: string, items: readonly Py.Argument[], close: string, comma?: string): Doc {
    if (items.length === 0) return open + close;
    const entries = join(
      [",", line],
      items.map((item) => this.expression(item)),
    );
    return group([open, indent([softline, entries, comma ?? (items.length > 1 ? ifBreak(",") : "")]), softline, close]);
  }

  private comprehension({ element, target, iterable }: Py.Comprehension): Doc {
    const targetDoc = target.kind === "tuple" ? this.bareTuple(target.items) : this.expression(target);
    const clause = group(["for ", targetDoc, " in ", this.expression(iterable)]);
    return group(["[", indent([softline, group([this.expression(element), line, clause])]), softline, "]"]);
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
    // Black treats the colon as the operator of lowest precedence, with spaces unless every operand is simple.
    const space = [lower, upper, step].every((part) => !part || isSimpleSlicePart(part)) ? "" : " ";
    return [
      lower ? [this.expression(lower), space] : "",
      ":",
      upper ? [space, this.expression(upper)] : "",
      step ? [upper ? space : "", ":", space, this.expression(step)] : "",
    ];
  }

  private conditional(value: Py.Conditional, bare: boolean): Doc {
    return bare
      ? this.conditionalParts(value, " ", bare, (operand) => operand)
      : group(this.conditionalParts(value, line, bare, group));
  }

  /** A conditional in the `else` of another one breaks together with it. Any other `else` is laid out by `otherwiseDoc`. */
  private conditionalParts(value: Py.Conditional, gap: Doc, bare: boolean, otherwiseDoc: (operand: Doc) => Doc): Doc {
    const { body, test, otherwise } = conditionalOperands(value);
    const alternative =
      otherwise.value.kind === "conditional"
        ? this.conditionalParts(otherwise.value, gap, bare, (operand) => operand)
        : otherwiseDoc(this.operand(otherwise, bare));
    return [this.operand(body, bare), gap, "if ", this.operand(test, bare), gap, "else ", alternative];
  }

  /** Ruff wraps a long body in parentheses, unless the body has its own brackets that can break. */
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

function isSimplePower(part: FlatPart | undefined): boolean {
  return part !== undefined && "value" in part && !part.isParenthesized && isSimpleOperand(part.value);
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

/** Before Python 3.12 a nested string must use the other quote and must not contain a backslash. */
function fStringLiteral({ parts }: Py.FString): string {
  const isPlain = parts.every((part) => typeof part === "string");
  if (isPlain) return stringLiteral(parts.join(""));
  const quote = preferredQuote(parts.filter((part) => typeof part === "string").join(""));
  const contents = parts.map((part) => {
    if (typeof part === "string") return escapeText(part, quote).replaceAll("{", "{{").replaceAll("}", "}}");
    const value = flatText(part.value).replace(/"((?:[^"\\'])*)"/g, quote === '"' ? "'$1'" : '"$1"');
    const guarded = value.startsWith("{") ? ` ${value}` : value;
    const safe = part.value.kind === "lambda" ? `(${guarded})` : guarded;
    return `{${safe}${part.conversion ? `!${part.conversion}` : ""}${part.format ? `:${part.format}` : ""}}`;
  });
  return `f${quote}${contents.join("")}${quote}`;
}

/** The expression on one line of any length. */
export function flatText(value: Py.Expression): string {
  const layout = new ExpressionLayout(() => "");
  return doc.printer.printDocToString(group(layout.expression(value)), { printWidth: Infinity, tabWidth: 4 }).formatted;
}
