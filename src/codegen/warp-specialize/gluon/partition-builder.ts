/** Writes a program statement by statement, with ops of its own beside the author's. */
import {
  type Argument,
  type Block,
  type ReadStatement,
  type Scope,
  type Statement,
  Value,
  Variable,
} from "../../../ir/nodes.js";
import type { Effect, Op } from "../../../ir/op.js";
import { none, tileType, type Type } from "../../../types/types.js";
import type { Expression } from "../../syntax/py.js";

/** What an op is in Python, given what its operands are. */
export type OpPrinter = (...operands: readonly Expression[]) => Expression;

export const INTEGER = tileType("int32", []);

export class PartitionBuilder {
  readonly built = new Map<Op, OpPrinter>();
  #nextId = -1;
  #out: Statement[] = [];

  constructor(readonly scope: Scope) {}

  block(body: () => void): Block {
    const outer = this.#out;
    this.#out = [];
    body();
    const statements = this.#out;
    this.#out = outer;
    return { statements, yields: [] };
  }

  append(...statements: readonly Statement[]): void {
    this.#out.push(...statements);
  }

  variable(hint: string, type: Type = INTEGER): Variable {
    return new Variable(this.#nextId--, type, this.scope, undefined, hint);
  }

  fresh(type: Type): Value {
    return new Value(this.#nextId--, type, this.scope, undefined, undefined, true);
  }

  let(variable: Variable, initial: Argument): void {
    this.append({ kind: "let", variable, initial, at: undefined });
  }

  read(variable: Variable): Value {
    const result = this.fresh(variable.type);
    const statement: ReadStatement = { kind: "read", variable, result, at: undefined };
    this.append(statement);
    return result;
  }

  write(variable: Variable, value: Argument): void {
    this.append({ kind: "write", variable, value, at: undefined });
  }

  value(type: Type, build: OpPrinter, ...operands: readonly Argument[]): Value {
    const result = this.fresh(type);
    const op = this.op("pure", build, operands.length);
    this.append({ kind: "op", op, operands, options: {}, results: [result], at: undefined });
    return result;
  }

  /** A statement with an effect. */
  do(build: OpPrinter, ...operands: readonly Argument[]): void {
    const op = this.op("write", build, operands.length);
    this.append({ kind: "op", op, operands, options: {}, results: [], at: undefined });
  }

  /** A value that is computed where it stands, under a name. */
  made(name: string, type: Type, build: OpPrinter, ...operands: readonly Argument[]): Value {
    const result = this.fresh(type);
    const op = this.op("write", build, operands.length, name);
    this.append({ kind: "op", op, operands, options: {}, results: [result], at: undefined });
    return result;
  }

  /** Another value in the place of one of the author's. */
  again({ type, at, parameter, anonymous, by }: Value): Value {
    return new Value(this.#nextId--, type, this.scope, at, parameter, anonymous, by);
  }

  /** `name` is that of its results. */
  op(effect: Effect, build: OpPrinter, count: number, name = "index"): Op {
    const op: Op = {
      name,
      operands: Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, "index" as const])),
      options: {},
      method: false,
      variadic: false,
      rest: false,
      effect,
      spelling: { form: "lowered" },
      infer: () => none,
      facts: {},
      needs: {},
      triton36: {},
      proof: {},
    };
    this.built.set(op, build);
    return op;
  }
}
