/** The header of each statement, without its body, as one logical line. */
import * as doc from "prettier/doc";
import { flatText, type Doc } from "./layout-expression.js";
import type { LineLayout } from "./layout-line.js";
import { LEVEL, level } from "./precedence.js";
import type * as Py from "./py.js";

const { group, ifBreak, indent, join, line, softline } = doc.builders;

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
