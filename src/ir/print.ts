/** Prints the IR as stable text, one statement per line. Tests compare it. */
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
    const signature = `${functionName(ir, helper)}(${printer.typed(helper.params).join(", ")})`;
    printer.section(`function ${signature}${helper.noinline ? " noinline" : ""}:`, helper.body);
  }
  const params = ir.params.map((param) => `${param.name}: ${showType(param.value.type)}`);
  printer.section(`kernel ${ir.name}(${params.join(", ")}):`, ir.body);
  printer.section("grid:", ir.grid.block);
  if (ir.requires.block.yields.length > 0) printer.section("requires:", ir.requires.block);
  return printer.text();
}

/** Numbers values and variables in the order in which they appear, and collects lines. */
class Printer {
  private readonly numbers = new Map<unknown, number>();
  private readonly lines: string[] = [];

  constructor(private readonly ir: KernelIR) {}

  text(): string {
    return `${this.lines.join("\n")}\n`;
  }

  section(header: string, body: Block): void {
    this.put(0, header);
    this.block(body, 1);
  }

  /** Each value with its type: `%0: int32`. */
  typed(values: readonly Value[]): readonly string[] {
    return values.map((value) => `${this.value(value)}: ${showType(value.type)}`);
  }

  private put(depth: number, text: string): void {
    this.lines.push("  ".repeat(depth) + text);
  }

  private number(of: unknown): number {
    const known = this.numbers.get(of);
    if (known !== undefined) return known;
    this.numbers.set(of, this.numbers.size);
    return this.numbers.size - 1;
  }

  private value(value: Value): string {
    return value.parameter ?? `%${this.number(value)}`;
  }

  private variable(of: unknown): string {
    return `@${this.number(of)}`;
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

  /** Each option with a leading comma, to follow positional arguments. */
  private options({ options }: { readonly options: Readonly<Record<string, Argument>> }): string {
    return Object.entries(options)
      .map(([key, argument]) => `, ${key}=${this.argument(argument)}`)
      .join("");
  }

  private results(values: readonly Value[]): string {
    return values.length > 0 ? `${this.typed(values).join(", ")} = ` : "";
  }

  private block({ statements, yields }: Block, depth: number): void {
    for (const statement of statements) this.statement(statement, depth);
    if (yields.length > 0) this.put(depth, `yield ${this.list(yields)}`);
  }

  private statement(statement: Statement, depth: number): void {
    switch (statement.kind) {
      case "op": {
        const args = `${this.list(statement.operands)}${this.options(statement)}`.replace(/^, /, "");
        return this.put(depth, `${this.results(statement.results)}${statement.op.name} ${args}`);
      }
      case "let":
        return this.put(depth, `let ${this.variable(statement.variable)} = ${this.argument(statement.initial)}`);
      case "read":
        return this.put(depth, `${this.results([statement.result])}${this.variable(statement.variable)}`);
      case "write":
        return this.put(depth, `${this.variable(statement.variable)} = ${this.argument(statement.value)}`);
      case "for": {
        const bounds = `${this.list([statement.start, statement.end, statement.step])}${this.options(statement)}`;
        this.put(depth, `for ${this.value(statement.index)} in ${bounds}${statement.unrolled ? " unrolled" : ""}:`);
        return this.block(statement.body, depth + 1);
      }
      case "while":
        this.put(depth, `while${this.options(statement)}:`);
        this.block(statement.condition, depth + 1);
        this.put(depth, "do:");
        return this.block(statement.body, depth + 1);
      case "exit":
        return this.put(depth, "exit");
      case "if":
        this.put(depth, `${this.results(statement.results)}if ${this.argument(statement.condition)}:`);
        this.block(statement.then, depth + 1);
        this.put(depth, "else:");
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
