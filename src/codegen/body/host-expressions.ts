/** Host expressions: arithmetic over sizes and constexprs for grids, launch-time constexprs and requirements. */
import {
  type Argument,
  type HostBlock,
  isList,
  isLiteral,
  isValue,
  type OpStatement,
  type Value,
} from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import type { Expression } from "../syntax/py.js";
import { printOp } from "./print-op.js";

/** The expressions that a host block yields. `name` returns the name of a parameter in their scope. */
export function hostExpressions(host: HostBlock, name: (value: Value) => Expression): readonly Expression[] {
  const definitions = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) definitions.set(result, statement);
  const toExpression = (argument: Argument): Expression => {
    if (isValue(argument)) {
      const statement = definitions.get(argument);
      return statement
        ? printOp(statement, printer, statement.op.spelling.host ?? statement.op.spelling)
        : name(argument);
    }
    if (isList(argument)) return py.list(...argument.map(toExpression));
    if (!isLiteral(argument)) throw new Error("a dtype stands in a host expression");
    return py.constant(argument.value);
  };
  const printer = {
    value: toExpression,
    dtype: () => {
      throw new Error("a dtype stands in a host expression");
    },
  };
  return host.block.yields.map(toExpression);
}

/** The expression of a host block that yields one value. */
export function hostExpression(host: HostBlock, name: (value: Value) => Expression): Expression {
  const [expression, extra] = hostExpressions(host, name);
  if (!expression || extra) throw new Error("a host block does not yield exactly one value");
  return expression;
}

/** The parameters that the results of a host block depend on. */
export function hostInputs(host: HostBlock): ReadonlySet<Value> {
  const definitions = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) definitions.set(result, statement);
  const inputs = new Set<Value>();
  const visited = new Set<Value>();
  const visit = (argument: Argument | undefined): void => {
    if (argument === undefined) return;
    if (isList(argument)) return argument.forEach(visit);
    if (!isValue(argument) || visited.has(argument)) return;
    visited.add(argument);
    const statement = definitions.get(argument);
    if (!statement) inputs.add(argument);
    statement?.operands.forEach(visit);
    Object.values(statement?.options ?? {}).forEach(visit);
  };
  host.block.yields.forEach(visit);
  return inputs;
}
