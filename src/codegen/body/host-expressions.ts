/** Arithmetic over sizes and constexprs that runs on the host: grids, launch-time constexprs, requirements. */
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

/** The expressions that a host block yields. `name` gives a parameter's name where they stand. */
export function hostExpressions(host: HostBlock, name: (value: Value) => Expression): readonly Expression[] {
  const made = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) made.set(result, statement);
  const say = (argument: Argument): Expression => {
    if (isValue(argument)) {
      const statement = made.get(argument);
      return statement
        ? printOp(statement, speaker, statement.op.spelling.host ?? statement.op.spelling)
        : name(argument);
    }
    if (isList(argument)) return py.list(...argument.map(say));
    if (!isLiteral(argument)) throw new Error("a dtype stands in a host expression");
    return py.constant(argument.value);
  };
  const speaker = {
    value: say,
    dtype: () => {
      throw new Error("a dtype stands in a host expression");
    },
  };
  return host.block.yields.map(say);
}

/** The parameters that the results of a host block depend on. */
export function hostInputs(host: HostBlock): ReadonlySet<Value> {
  const made = new Map<Value, OpStatement>();
  for (const statement of host.block.statements)
    if (statement.kind === "op") for (const result of statement.results) made.set(result, statement);
  const used = new Set<Value>();
  const seen = new Set<Value>();
  const use = (argument: Argument | undefined): void => {
    if (argument === undefined) return;
    if (isList(argument)) return argument.forEach(use);
    if (!isValue(argument) || seen.has(argument)) return;
    seen.add(argument);
    const statement = made.get(argument);
    if (!statement) used.add(argument);
    statement?.operands.forEach(use);
    Object.values(statement?.options ?? {}).forEach(use);
  };
  host.block.yields.forEach(use);
  return used;
}
