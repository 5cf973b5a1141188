/** Translates Python loops. Loop-carried variables become mutable variables. */
import { camelCase } from "./author-name.js";
import { type Context, makeState } from "./context.js";
import { translateCondition, translateExpression } from "./translate-expressions.js";
import { loopCarriedNames, liveAtHead, writtenNames } from "./liveness.js";
import type { Call, Expression, For, While } from "./tree.js";
import { needsUnrolling } from "./unroll-loops.js";
import { traced } from "./value.js";

type Names = ReadonlySet<string>;

const ITERATORS: Readonly<Record<string, string>> = {
  range: "range",
  "tl.range": "range",
  "tl.static_range": "staticRange",
};

/** `live` contains the names that are live after the loop. */
export function translateFor(statement: For, live: Names, context: Context): void {
  const { scope } = context;
  const { iter, target } = statement;
  if (statement.orelse.length > 0) scope.refuse("for … else", "write the statements of else after the loop", statement);
  const name = iter.kind === "Call" && iter.callee?.what === "function" ? ITERATORS[iter.callee.name] : undefined;
  if (iter.kind !== "Call" || name === undefined)
    return scope.refuse(
      "a loop over something else than a range",
      "loop over range, tl.range or tl.static_range",
      iter,
    );
  if (target.kind !== "Name") return scope.refuse("a loop with several indices", "loop over one index", target);
  if (needsUnrolling(statement))
    scope.refuse(
      "a loop whose copies differ in types or in items of a list, and whose bounds are no numbers",
      "fix them with --specialize",
      iter,
    );
  const names = carriedNames(statement, live, context);
  const head = `tl.${name}(${rangeArguments(iter, context).join(", ")})`;
  scope.block(new Set(names), () => {
    const index = scope.fresh(target.id);
    scope.emit(`for (const ${index} of ${head}) {`);
    scope.bind(target.id, traced(index, name === "staticRange"));
    emitLoopBody(statement, live, context);
    scope.emit("}");
  });
}

export function translateWhile(statement: While, live: Names, context: Context): void {
  const { scope } = context;
  const names = carriedNames(statement, live, context);
  const condition = translateCondition(statement.test, context);
  if (condition.kind === "truth")
    scope.refuse("a loop whose condition is a constant", "write what ends it as its condition", statement);
  scope.emit(`tl.whileLoop(() => ${condition.text}, () => {`);
  scope.block(new Set(names), () => emitLoopBody(statement, live, context));
  scope.emit("});");
}

function emitLoopBody(statement: For | While, live: Names, context: Context): void {
  context.scope.loops++;
  context.translate.statements(statement.body, liveAtHead(statement, live), context);
  context.scope.loops--;
}

function carriedNames(statement: For | While, live: Names, context: Context): readonly string[] {
  const { scope } = context;
  // As in Triton, a variable that only the loop defines ends with each iteration.
  // A variable that is None before the loop is changed only by code that does not run.
  const names = loopCarriedNames(statement, live).filter(
    (name) => (scope.variable(name)?.value.kind ?? "none") !== "none",
  );
  makeState(names, context);
  return writtenNames(statement.body).filter((name) => names.includes(name));
}

const isPythonRange = ({ callee }: Call): boolean => callee?.what === "function" && callee.name === "range";

function rangeArguments(iter: Call, context: Context): readonly string[] {
  const boundsByName = new Map<string, Expression>(
    iter.args.map((each, i) => [["start", "end", "step"][i] ?? "more", each]),
  );
  const options: string[] = [];
  for (const { arg, value } of iter.keywords) {
    if (arg === null)
      return context.scope.refuse("a range with ** arguments", "write the arguments of the range", iter);
    if (isPythonRange(iter)) {
      context.kernel.addTodo(`Triton takes no notice of ${arg}= of Python's range, so that it is left out`, iter.line);
      continue;
    }
    const boundName = { arg1: "start", arg2: "end", step: "step" }[arg];
    if (boundName) boundsByName.set(boundName, value);
    else {
      const { kind, text } = translateExpression(value, context);
      const option = camelCase(arg);
      if (kind !== "none") options.push(option === text ? text : `${option}: ${text}`);
    }
  }
  const positional = [...boundsByName.values()].map((each) => {
    const { kind, text } = translateExpression(each, context);
    return kind === "none" ? "undefined" : text;
  });
  return [...positional, ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : [])];
}
