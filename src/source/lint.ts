/**
 * The mandatory pass over the author's source. JavaScript does some things silently: `&&` picks an object, `if`
 * takes every handle for true, an assignment in a traced loop happens once. None of this can be detected at run time,
 * so this pass walks the author's files as an interpreter would, with only one question about each value: is it traced?
 * What is not certainly traced is left alone, because plain JavaScript in a kernel is metaprogramming and legal.
 */
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import type { ComparisonSite } from "../ir/source.js";
import { annotated } from "./annotations.js";
import { evaluateCall } from "./calls.js";
import { condition, evaluate } from "./expressions.js";
import { editOf, start } from "./text-edits.js";
import { createFunctions } from "./author-functions.js";
import type { Files } from "./imports.js";
import { AuthorModules } from "./author-modules.js";
import { comparable } from "./abstract-values.js";
import type { Walk } from "./regions.js";
import { bind, statements } from "./statements.js";
import type { ts } from "./typescript.js";

/**
 * All errors in these files, and in functions of other files that they call with traced values. `compared` gets what
 * types say and JavaScript compares, by the node that reads it.
 */
export function lintFiles(
  paths: readonly string[],
  files: Files,
  compared: Map<ts.Node, ComparisonSite>,
): readonly Diagnostic[] {
  // A function is walked once for each kind of arguments, but each error is reported once.
  const found = new Map<string, Diagnostic>();
  const report = (diagnostic: Diagnostic): void => {
    const { at, code } = diagnostic;
    found.set(`${at?.file}:${at?.line}:${at?.column}:${code}`, diagnostic);
  };
  const functions = createFunctions(() => walk);
  const walk: Walk = {
    problem: (said, node, mended) => report(errorDiagnostic(said, start(node), { edit: mended && editOf(mended) })),
    warning: (said, node) => report(warning(said, start(node))),
    compared(value, node, how) {
      const fact = comparable(value);
      if (fact) compared.set(fact.node, { how, at: start(node) });
    },
    callees: new WeakMap(),
    evaluate: (node, frame) => evaluate(walk, node, frame),
    condition: (node, said, frame, mended) => condition(walk, node, said, frame, mended),
    statements: (list, frame) => statements(walk, list, frame),
    bind: (name, value, frame) => bind(walk, name, value, frame),
    evaluateCall: (node, frame) => evaluateCall(walk, node, frame),
    functionValue: functions.value,
    invoke: functions.invoke,
    annotated,
  };
  const modules = new AuthorModules(files, walk);
  for (const path of paths) modules.walkFile(path);
  functions.rest();
  return [...found.values()].sort(bySource);
}

function bySource({ at: a }: Diagnostic, { at: b }: Diagnostic): number {
  if (!a || !b || a.file !== b.file) return a && b ? (a.file < b.file ? -1 : 1) : 0;
  return a.line - b.line || a.column - b.column;
}
