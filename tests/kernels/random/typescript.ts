/** A kernel's IR as the TypeScript that an author would have written, for reports. */
import {
  type Argument,
  type Block,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type Param,
  type Statement,
} from "../../../src/ir/nodes.js";
import { dtypeSourceText } from "../../../src/types/dtype.js";

export function typescriptOf(ir: KernelIR): string {
  const lines: string[] = [];
  const numbers = new Map<unknown, number>();
  const numberOf = (of: unknown): number => {
    if (!numbers.has(of)) numbers.set(of, numbers.size);
    return numbers.get(of)!;
  };
  const say = (argument: Argument | undefined): string => {
    if (argument === undefined) return "undefined";
    if (isValue(argument)) return argument.parameter ?? `v${numberOf(argument)}`;
    if (isList(argument)) return `[${argument.map(say).join(", ")}]`;
    if (isDType(argument)) return dtypeSourceText(argument.dtype);
    if (isFunction(argument)) return `f${numberOf(argument.function)}`;
    if (!isLiteral(argument)) return "?";
    return JSON.stringify(argument.value, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
  };
  const optionsOf = (options: Readonly<Record<string, Argument>>): string[] => {
    const given = Object.entries(options).map(([name, argument]) => `${name}: ${say(argument)}`);
    return given.length === 0 ? [] : [`{ ${given.join(", ")} }`];
  };
  const put = (depth: number, text: string): void => void lines.push("  ".repeat(depth) + text);
  const target = (results: readonly Argument[]): string =>
    results.length === 0
      ? ""
      : `const ${results.length === 1 ? say(results[0]) : `[${results.map(say).join(", ")}]`} = `;
  const block = ({ statements, yields }: Block, depth: number): void => {
    for (const statement of statements) line(statement, depth);
    if (yields.length > 0) put(depth, `return ${yields.length === 1 ? say(yields[0]) : say(yields)};`);
  };
  const line = (statement: Statement, depth: number): void => {
    switch (statement.kind) {
      case "op": {
        const { op, operands, options, results } = statement;
        const given = operands.map((operand) => (operand === undefined ? undefined : say(operand)));
        while (given.length > 0 && given.at(-1) === undefined) given.pop();
        const args = [...given.map((each) => each ?? "undefined"), ...optionsOf(options)].join(", ");
        return put(depth, `${target(results)}tl.${op.name}(${args});`);
      }
      case "let":
        return put(depth, `const m${numberOf(statement.variable)} = tl.mut(${say(statement.initial)});`);
      case "read":
        return put(depth, `${target([statement.result])}m${numberOf(statement.variable)}.value;`);
      case "write":
        return put(depth, `m${numberOf(statement.variable)}.value = ${say(statement.value)};`);
      case "for": {
        const { start, end, step, options, unrolled, index } = statement;
        const args = [say(start), say(end), say(step), ...optionsOf(options)].join(", ");
        put(depth, `for (const ${say(index)} of tl.${unrolled ? "staticRange" : "range"}(${args})) {`);
        block(statement.body, depth + 1);
        return put(depth, "}");
      }
      case "while":
        put(depth, "tl.whileLoop(() => {");
        block(statement.condition, depth + 1);
        put(depth, "}, () => {");
        block(statement.body, depth + 1);
        return put(depth, "});");
      case "if":
        put(depth, `${target(statement.results)}tl.when(${say(statement.condition)}, () => {`);
        block(statement.then, depth + 1);
        put(depth, "}).otherwise(() => {");
        block(statement.otherwise, depth + 1);
        return put(depth, "});");
      case "exit":
        return put(depth, "tl.exit();");
      default:
        return statement satisfies never;
    }
  };
  const declared = (param: Param): string => {
    if (param.kind === "tensor")
      return `tensor${param.role === "in" ? "" : `.${param.role}`}(${dtypeSourceText(param.dtype)}, ${JSON.stringify(param.dimNames)})`;
    return param.kind === "constexpr" ? "constexpr()" : `${param.kind}(…)`;
  };
  for (const helper of ir.functions) {
    put(0, `const f${numberOf(helper)} = tl.fn((${helper.params.map(say).join(", ")}) => {`);
    block(helper.body, 1);
    put(0, "});");
  }
  const params = ir.params.filter((param) => param.kind !== "size").map((param) => `${param.name}: ${declared(param)}`);
  put(
    0,
    `kernel("${ir.name}", { params: { ${params.join(", ")} }, … }, ({ ${ir.params.map(({ name }) => name).join(", ")} }) => {`,
  );
  block(ir.body, 1);
  put(0, "});");
  return lines.join("\n");
}
