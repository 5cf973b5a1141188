/**
 * The mandatory lint of the author's source. JavaScript does some things silently: `&&` picks an object, `if` treats
 * every handle as true, an assignment in a traced loop runs once. The trace cannot detect these at run time. This pass
 * therefore interprets the author's files abstractly and computes one property of each value: whether it is traced.
 * Values that are not certainly traced are ignored, because plain JavaScript in a kernel is metaprogramming and legal.
 */
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import type { ComparisonSite } from "../ir/source-index.js";
import { evaluateCall } from "./calls.js";
import { evaluateCondition, evaluate } from "./expressions.js";
import { toEdit, startOf } from "./replacements.js";
import { createFunctions, applyAnnotation } from "./author-functions.js";
import { AuthorModules, type Files } from "./author-modules.js";
import { comparableFact } from "./abstract-values.js";
import { bind, walkStatements } from "./statements.js";
import type { ts } from "./typescript.js";
import type { Walk } from "./walk.js";

/**
 * All errors in these files, and in functions of other files that they call with traced values. Adds to `comparisons`
 * each fact that JavaScript compares, by the node that reads the fact.
 */
export function lintFiles(
  paths: readonly string[],
  files: Files,
  comparisons: Map<ts.Node, ComparisonSite>,
): readonly Diagnostic[] {
  // A function is walked once per combination of arguments, but each error is reported once.
  const diagnostics = new Map<string, Diagnostic>();
  const report = (diagnostic: Diagnostic): void => {
    const { at: location, code } = diagnostic;
    diagnostics.set(`${location?.file}:${location?.line}:${location?.column}:${code}`, diagnostic);
  };
  const functions = createFunctions(() => walk);
  const walk: Walk = {
    replaced: new WeakMap(),
    reportError: (message, node, replacement) => {
      if (replacement) walk.replaced.set(replacement.node, replacement.text);
      report(errorDiagnostic(message, startOf(node), { edit: replacement && toEdit(replacement) }));
    },
    reportWarning: (message, node) => report(warning(message, startOf(node))),
    recordComparison(value, node, operator) {
      const fact = comparableFact(value);
      if (fact) comparisons.set(fact.node, { operator, at: startOf(node) });
    },
    callees: new WeakMap(),
    evaluate: (node, frame) => evaluate(walk, node, frame),
    evaluateCondition: (node, message, frame, replacement) =>
      evaluateCondition(walk, node, message, frame, replacement),
    walkStatements: (list, frame) => walkStatements(walk, list, frame),
    bind: (name, value, frame) => bind(walk, name, value, frame),
    evaluateCall: (node, frame) => evaluateCall(walk, node, frame),
    functionValue: functions.value,
    invoke: functions.invoke,
    applyAnnotation,
  };
  const modules = new AuthorModules(files, walk);
  for (const path of paths) modules.walkFile(path);
  functions.walkUncalled();
  return [...diagnostics.values()].sort(compareLocations);
}

function compareLocations({ at: a }: Diagnostic, { at: b }: Diagnostic): number {
  if (!a || !b) return 0;
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
