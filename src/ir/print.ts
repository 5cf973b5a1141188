/** The IR as text: stable, one statement a line. Tests compare it, and `--ir` shows it. */
import {
  type Argument,
  type Block,
  type FunctionIR,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type Statement,
  type Value,
} from "./nodes.js";
import { call } from "../types/dtype.js";
import { showType } from "../types/types.js";

export function printIR(ir: KernelIR): string {
  const numbers = new Map<unknown, number>();
  const name = (value: Value): string => {
    if (value.parameter !== undefined) return value.parameter;
    if (!numbers.has(value)) numbers.set(value, numbers.size);
    return `%${numbers.get(value)}`;
  };
  const variable = (v: unknown): string => {
    if (!numbers.has(v)) numbers.set(v, numbers.size);
    return `@${numbers.get(v)}`;
  };
  const say = (argument: Argument | undefined): string => {
    if (argument === undefined) return "_";
    if (isValue(argument)) return name(argument);
    if (isList(argument)) return `[${argument.map(say).join(", ")}]`;
    if (isDType(argument)) return call(argument.dtype);
    if (isFunction(argument)) return functionName(ir, argument.function);
    if (!isLiteral(argument)) return "?";
    return typeof argument.value === "string" ? JSON.stringify(argument.value) : String(argument.value);
  };
  const lines: string[] = [];
  const put = (depth: number, text: string): void => {
    lines.push("  ".repeat(depth) + text);
  };
  const options = (statement: { readonly options: Readonly<Record<string, Argument>> }): string =>
    Object.entries(statement.options)
      .map(([key, argument]) => `, ${key}=${say(argument)}`)
      .join("");
  const block = ({ statements, yields }: Block, depth: number): void => {
    for (const statement of statements) line(statement, depth);
    if (yields.length > 0) put(depth, `yield ${yields.map(say).join(", ")}`);
  };
  const line = (statement: Statement, depth: number): void => {
    switch (statement.kind) {
      case "op": {
        const args = `${statement.operands.map(say).join(", ")}${options(statement)}`.replace(/^, /, "");
        const results = statement.results.map((value) => `${name(value)}: ${showType(value.type)}`).join(", ");
        return put(depth, `${results ? `${results} = ` : ""}${statement.op.name} ${args}`);
      }
      case "let":
        return put(depth, `let ${variable(statement.variable)} = ${say(statement.initial)}`);
      case "read":
        return put(
          depth,
          `${name(statement.result)}: ${showType(statement.result.type)} = ${variable(statement.variable)}`,
        );
      case "write":
        return put(depth, `${variable(statement.variable)} = ${say(statement.value)}`);
      case "for": {
        const bounds = [statement.start, statement.end, statement.step].map(say).join(", ");
        put(
          depth,
          `for ${name(statement.index)} in ${bounds}${options(statement)}${statement.unrolled ? " unrolled" : ""}:`,
        );
        return block(statement.body, depth + 1);
      }
      case "while":
        put(depth, `while${options(statement)}:`);
        block(statement.condition, depth + 1);
        put(depth, "do:");
        return block(statement.body, depth + 1);
      case "exit":
        return put(depth, "exit");
      case "if": {
        const results = statement.results.map((value) => `${name(value)}: ${showType(value.type)}`).join(", ");
        put(depth, `${results ? `${results} = ` : ""}if ${say(statement.condition)}:`);
        block(statement.then, depth + 1);
        put(depth, "else:");
        return block(statement.otherwise, depth + 1);
      }
      default:
        return statement satisfies never;
    }
  };
  for (const helper of ir.functions) {
    const params = helper.params.map((value) => `${name(value)}: ${showType(value.type)}`);
    put(0, `function ${functionName(ir, helper)}(${params.join(", ")})${helper.noinline ? " noinline" : ""}:`);
    block(helper.body, 1);
  }
  const params = ir.params.map((param) => `${param.name}: ${showType(param.value.type)}`);
  put(0, `kernel ${ir.name}(${params.join(", ")}):`);
  block(ir.body, 1);
  put(0, "grid:");
  block(ir.grid.block, 1);
  if (ir.requires.block.yields.length > 0) {
    put(0, "requires:");
    block(ir.requires.block, 1);
  }
  return `${lines.join("\n")}\n`;
}

/** Unique in the kernel, and the author's name where that is known. */
function functionName({ functions }: KernelIR, f: FunctionIR): string {
  return `${f.name ?? "helper"}#${functions.indexOf(f)}`;
}
