/** Prints the IR as stable text, one statement per line. Tests compare this text. */
import { formatLiteral } from "../compiled/canonical-json.js";
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
import { dtypeDisplayName } from "../types/dtype.js";
import { showType } from "../types/types.js";

export function printIR(ir: KernelIR): string {
  const printer = new Printer(ir);
  for (const helper of ir.functions) {
    const signature = `${functionName(ir, helper)}(${printer.typedValues(helper.params).join(", ")})`;
    printer.section(`function ${signature}${helper.noinline ? " noinline" : ""}:`, helper.body);
  }
  const params = ir.params.map((param) => `${param.name}: ${showType(param.value.type)}`);
  printer.section(`kernel ${ir.name}(${params.join(", ")}):`, ir.body);
  printer.section("grid:", ir.grid.block);
  if (ir.requires.block.yields.length > 0) printer.section("requires:", ir.requires.block);
  return printer.text();
}

/** Numbers values and variables in order of first use, and collects lines. */
class Printer {
  private readonly numbers = new Map<unknown, number>();
  private readonly lines: string[] = [];

  constructor(private readonly ir: KernelIR) {}

  text(): string {
    return `${this.lines.join("\n")}\n`;
  }

  section(header: string, body: Block): void {
    this.writeLine(0, header);
    this.block(body, 1);
  }

  /** Formats each value with its type: `%0: int32`. */
  typedValues(values: readonly Value[]): readonly string[] {
    return values.map((value) => `${this.value(value)}: ${showType(value.type)}`);
  }

  private writeLine(depth: number, text: string): void {
    this.lines.push("  ".repeat(depth) + text);
  }

  private number(subject: unknown): number {
    const number = this.numbers.get(subject);
    if (number !== undefined) return number;
    this.numbers.set(subject, this.numbers.size);
    return this.numbers.size - 1;
  }

  private value(value: Value): string {
    return value.parameter ?? `%${this.number(value)}`;
  }

  private variable(variable: unknown): string {
    return `@${this.number(variable)}`;
  }

  private argument(argument: Argument | undefined): string {
    if (argument === undefined) return "_";
    if (isValue(argument)) return this.value(argument);
    if (isList(argument)) return `[${this.list(argument)}]`;
    if (isDType(argument)) return dtypeDisplayName(argument.dtype);
    if (isFunction(argument)) return functionName(this.ir, argument.function);
    if (!isLiteral(argument)) return "?";
    return formatLiteral(argument.value);
  }

  private list(values: readonly (Argument | undefined)[]): string {
    return values.map((each) => this.argument(each)).join(", ");
  }

  /** Formats each option with a leading comma, to follow positional arguments. */
  private options({ options }: { readonly options: Readonly<Record<string, Argument>> }): string {
    return Object.entries(options)
      .map(([key, argument]) => `, ${key}=${this.argument(argument)}`)
      .join("");
  }

  private results(values: readonly Value[]): string {
    return values.length > 0 ? `${this.typedValues(values).join(", ")} = ` : "";
  }

  private block({ statements, yields }: Block, depth: number): void {
    for (const statement of statements) this.statement(statement, depth);
    if (yields.length > 0) this.writeLine(depth, `yield ${this.list(yields)}`);
  }

  private statement(statement: Statement, depth: number): void {
    switch (statement.kind) {
      case "op": {
        const args = `${this.list(statement.operands)}${this.options(statement)}`.replace(/^, /, "");
        return this.writeLine(depth, `${this.results(statement.results)}${statement.op.name} ${args}`);
      }
      case "let":
        return this.writeLine(depth, `let ${this.variable(statement.variable)} = ${this.argument(statement.initial)}`);
      case "read":
        return this.writeLine(depth, `${this.results([statement.result])}${this.variable(statement.variable)}`);
      case "write":
        return this.writeLine(depth, `${this.variable(statement.variable)} = ${this.argument(statement.value)}`);
      case "for": {
        const bounds = `${this.list([statement.start, statement.end, statement.step])}${this.options(statement)}`;
        this.writeLine(
          depth,
          `for ${this.value(statement.index)} in ${bounds}${statement.unrolled ? " unrolled" : ""}:`,
        );
        return this.block(statement.body, depth + 1);
      }
      case "while":
        this.writeLine(depth, `while${this.options(statement)}:`);
        this.block(statement.condition, depth + 1);
        this.writeLine(depth, "do:");
        return this.block(statement.body, depth + 1);
      case "exit":
        return this.writeLine(depth, "exit");
      case "if":
        this.writeLine(depth, `${this.results(statement.results)}if ${this.argument(statement.condition)}:`);
        this.block(statement.then, depth + 1);
        this.writeLine(depth, "else:");
        return this.block(statement.otherwise, depth + 1);
      default:
        return statement satisfies never;
    }
  }
}

/** A name that is unique in the kernel, from the author's name if known. */
function functionName({ functions }: KernelIR, f: FunctionIR): string {
  return `${f.name ?? "helper"}#${functions.indexOf(f)}`;
}
